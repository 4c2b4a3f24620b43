/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks CPU_SECONDS: hardly ever the same stack twice. Each round calls DEPTH functions deep, and
 * each bit of a random number chooses which of two functions is called next: 2^DEPTH stacks.
 */
#include "keep_frame.h"

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { DEPTH = 24, LOOPS = 20000 };

static volatile uint64_t sink;

static uint64_t random_number(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void descend(uint64_t path, int depth);

static __attribute__((noinline)) void step_zero(uint64_t path, int depth)
{
	descend(path, depth);
	KEEP_FRAME();
}

static __attribute__((noinline)) void step_one(uint64_t path, int depth)
{
	descend(path, depth);
	KEEP_FRAME();
}

static __attribute__((noinline)) void burn(void)
{
	KEEP_FRAME();
	for (uint64_t i = 0; i < LOOPS; i++)
		sink += i * i;
}

static __attribute__((noinline)) void descend(uint64_t path, int depth)
{
	if (depth == DEPTH)
		burn();
	else if (path >> depth & 1)
		step_one(path, depth + 1);
	else
		step_zero(path, depth + 1);
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	double enough_s = argc > 1 ? strtod(argv[1], NULL) : 1;

	while ((double)clock() / CLOCKS_PER_SEC < enough_s)
		descend(random_number(), 0);
	return 0;
}
