/* SPDX-License-Identifier: Apache-2.0 */
/* ages: 50 blocks of 1,000 bytes in early(), half a second, 30 of 10 bytes in late(); none is
 * freed. */
#include <stdlib.h>
#include <unistd.h>

#include "keep_frame.h"

static __attribute__((noinline)) void *early(void)
{
	void *volatile block = malloc(1000);

	KEEP_FRAME();
	return block;
}

static __attribute__((noinline)) void *late(void)
{
	void *volatile block = malloc(10);

	KEEP_FRAME();
	return block;
}

int main(void)
{
	for (int i = 0; i < 50; i++)
		if (!early())
			return 1;
	usleep(600000);
	for (int i = 0; i < 30; i++)
		if (!late())
			return 1;
	return 0;
}
