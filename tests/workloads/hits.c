/* SPDX-License-Identifier: Apache-2.0 */
/* Calls hit() so many times, so many a second, and says when it has: COUNT PER_SECOND. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PERIODS_PER_S = 100 };

__attribute__((noinline)) void hit(void);
void hit(void)
{
	__asm__ volatile("" ::: "memory");
}

static void burst(long cnt)
{
	for (long i = 0; i < cnt; i++)
		hit();
}

int main(int argc, char **argv)
{
	struct timespec next;
	long left, per_period;

	if (argc != 3)
		return 2;
	left = atol(argv[1]);
	per_period = atol(argv[2]) / PERIODS_PER_S;
	clock_gettime(CLOCK_MONOTONIC, &next);
	while (left > 0) {
		long cnt = left < per_period ? left : per_period;

		burst(cnt);
		left -= cnt;
		next.tv_nsec += 1000000000 / PERIODS_PER_S;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	printf("done\n");
	return 0;
}
