/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is gone after 5 ms of work. Compiled with -DBRIEF=NAME it works in a function of
 * that name, so that a sample tells by itself whether process name and function belong together.
 */
#include "keep_frame.h"
#include <stdint.h>
#include <time.h>

#ifndef BRIEF
#define BRIEF brief
#endif

enum { WORK_NS = 5000000, NS_PER_SEC = 1000000000, LOOPS = 60000 };

static volatile uint64_t sink;

static int64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

static __attribute__((noinline)) void BRIEF(void)
{
	KEEP_FRAME();
	for (uint64_t i = 0; i < LOOPS; i++)
		sink += i * i;
}

int main(void)
{
	int64_t until_ns = cpu_ns() + WORK_NS;

	while (cpu_ns() < until_ns)
		BRIEF();
	return 0;
}
