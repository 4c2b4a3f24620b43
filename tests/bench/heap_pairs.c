/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_pairs [DEPTH [LIVE]]: malloc and free for ever, under DEPTH frames (default 8), with LIVE
 * blocks kept (default 0); prints what a pair has cost, in ns of CPU time, every 200 ms. The sizes
 * are those that glibc keeps on a thread's own list, so that a pair costs 10 ns and what is added
 * is the probes'. Ends when nobody reads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../workloads/keep_frame.h"

enum { BATCH = 2000, REPORT_NS = 200000000 };

static unsigned long long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (unsigned long long)ts.tv_sec * 1000000000ULL + (unsigned long long)ts.tv_nsec;
}

static __attribute__((noinline)) void pairs(unsigned seed)
{
	for (unsigned i = 0; i < BATCH; i++) {
		void *volatile block = malloc(16 + (seed + i * 64) % 1000);

		free(block);
	}
	KEEP_FRAME();
}

static __attribute__((noinline)) void descend(unsigned depth, unsigned seed)
{
	if (depth > 3)
		descend(depth - 1, seed);
	else
		pairs(seed);
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	unsigned depth = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 8;
	unsigned live = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0, seed = 0;

	for (unsigned i = 0; i < live; i++)
		if (!malloc(32))
			return 1;
	for (;;) {
		unsigned long long start_ns = now_ns(), end_ns, cnt = 0;

		do {
			descend(depth, seed++);
			cnt += BATCH;
			end_ns = now_ns();
		} while (end_ns - start_ns < REPORT_NS);
		if (printf("%.1f\n", (double)(end_ns - start_ns) / (double)cnt) < 0 ||
		    fflush(stdout))
			return 0;
	}
}
