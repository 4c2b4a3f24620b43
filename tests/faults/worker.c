/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker SECONDS: computes, allocates and sleeps in turn, for so long; it sleeps most of the time,
 * since many of it run beside each other.
 *
 * Where it was linked such that its code lies at other addresses than in the file, an address that
 * is taken for the other lies in never_called().
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* More than the distance, and before the code that runs. */
__asm__(".text\n"
	".type never_called, @function\n"
	"never_called:\n"
	".zero 16384\n"
	".size never_called, 16384\n");

static volatile uint64_t sink;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static __attribute__((noinline)) void work(void)
{
	for (int i = 0; i < 1000000; i++)
		sink += (uint64_t)i;
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 1);

	while (now() < end) {
		const struct timespec nap = {0, 6000000};
		void *block = malloc(1000);

		work();
		nanosleep(&nap, NULL);
		sink += (uintptr_t)block;
		free(block);
	}
	return 0;
}
