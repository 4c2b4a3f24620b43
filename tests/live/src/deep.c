/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deep DEPTH MAPPINGS: spin in user mode under DEPTH frames of recursion, in a process with at
 * least MAPPINGS mappings. Compiled with -O2 and without frame pointers. Runs until killed.
 */
#include <err.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

static volatile uint64_t sink;

static __attribute__((noinline)) void spin(void)
{
	for (;;)
		sink++;
}

/* What follows the call keeps it a call; the local makes frames of different sizes. */
static __attribute__((noinline)) void descend(int depth)
{
	volatile uint64_t local[4] = {(uint64_t)depth};

	if (depth)
		descend(depth - 1);
	else
		spin();
	sink += local[depth & 3];
}

/* Neighbours with different rights are not joined. */
static void map_many(long cnt)
{
	char *at = mmap(NULL, (size_t)cnt * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		err(1, "mmap");
	for (long i = 0; i < cnt; i += 2)
		if (mprotect(at + i * PAGE, PAGE, PROT_NONE))
			err(1, "mprotect: mapping %ld", i);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		errx(2, "usage: deep DEPTH MAPPINGS");
	if (strtol(argv[2], NULL, 10))
		map_many(strtol(argv[2], NULL, 10));
	descend((int)strtol(argv[1], NULL, 10));
	return 0;
}
