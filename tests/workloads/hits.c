/* SPDX-License-Identifier: Apache-2.0 */
/* Calls hit() COUNT times, PER_SECOND a second, from DEPTHS different depths in turn (compiled in),
 * and says when it has. */
#include <stdio.h>
#include <time.h>

#include "keep_frame.h"

enum { PERIODS_PER_S = 100, PERIOD_NS = 1000000000 / PERIODS_PER_S };

__attribute__((noinline)) void hit(void);
void hit(void)
{
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void descend(long depth)
{
	if (depth)
		descend(depth - 1);
	else
		hit();
	KEEP_FRAME();
}

static void burst(long cnt)
{
	static long nr;

	for (long i = 0; i < cnt; i++)
		descend(nr++ % DEPTHS);
}

int main(void)
{
	struct timespec next;
	long left = COUNT;

	clock_gettime(CLOCK_MONOTONIC, &next);
	while (left > 0) {
		long cnt = left < PER_SECOND / PERIODS_PER_S ? left : PER_SECOND / PERIODS_PER_S;

		burst(cnt);
		left -= cnt;
		next.tv_nsec += PERIOD_NS;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	printf("done\n");
	return 0;
}
