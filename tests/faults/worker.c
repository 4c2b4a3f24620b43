/* SPDX-License-Identifier: Apache-2.0 */
/* worker SECONDS: computes, allocates and sleeps in turn, for so long; it sleeps most of the time,
 * since many of it run beside each other. */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t sink;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 1);

	while (now() < end) {
		const struct timespec nap = {0, 6000000};
		void *block = malloc(1000);

		for (int i = 0; i < 1000000; i++)
			sink += (uint64_t)i;
		nanosleep(&nap, NULL);
		sink += (uintptr_t)block;
		free(block);
	}
	return 0;
}
