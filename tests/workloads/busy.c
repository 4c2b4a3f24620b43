/* SPDX-License-Identifier: Apache-2.0 */
/*
 * busy CPU_SECONDS: all of the time is spent in NAME_inlined, which is inlined into NAME. Compiled
 * with -DBUSY=NAME, so that a sample tells by itself which of several builds it is of. Tests look
 * for the line that is marked.
 *
 * -DLIBRARY: only NAME, for others to call (-shared). -DCALLS: not NAME, which a library has.
 */
#include "cpu_time.h"
#include "keep_frame.h"
#include <stdint.h>
#include <stdlib.h>

#ifndef BUSY
#define BUSY busy
#endif
#define JOIN_TOKENS(left, right) left##right
#define JOIN(left, right) JOIN_TOKENS(left, right)
#define INLINED JOIN(BUSY, _inlined)

enum { LOOPS = 400000 };

void BUSY(void);

#ifndef CALLS
static inline __attribute__((always_inline)) void INLINED(void)
{
	for (uint64_t i = 0; i < LOOPS; i++)
		__asm__ volatile("" ::"r"(i * i)); /* inlined works */
}

__attribute__((noinline)) void BUSY(void)
{
	KEEP_FRAME();
	INLINED();
}
#endif

#ifndef LIBRARY
int main(int argc, char **argv)
{
	double enough_s = argc > 1 ? strtod(argv[1], NULL) : 1;

	while (cpu_s() < enough_s)
		BUSY();
	return 0;
}
#endif
