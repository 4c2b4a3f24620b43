/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases busy|sleep SECONDS: busy computes in phase_even() and phase_odd() in turn, 200 ms each;
 * sleep sleeps 200 ms from each half of a second on, and computes for the rest. Phases begin at
 * multiples of their length in CLOCK_REALTIME, so that what happened when is known to others.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const uint64_t phase_ns = 200000000, half_ns = 500000000;
static volatile uint64_t sink;

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

__attribute__((noinline)) static void phase_even(uint64_t until_ns)
{
	while (now_ns() < until_ns)
		for (int i = 0; i < 20000; i++)
			sink += (uint64_t)i;
}

__attribute__((noinline)) static void phase_odd(uint64_t until_ns)
{
	while (now_ns() < until_ns)
		for (int i = 0; i < 20000; i++)
			sink ^= (uint64_t)i * 3;
}

static void compute(uint64_t end_ns)
{
	for (uint64_t phase = now_ns() / phase_ns; phase * phase_ns < end_ns; phase++) {
		if (phase % 2)
			phase_odd((phase + 1) * phase_ns);
		else
			phase_even((phase + 1) * phase_ns);
	}
}

static void doze(uint64_t end_ns)
{
	const struct timespec time = {.tv_nsec = 200000000};

	while (now_ns() < end_ns) {
		phase_even((now_ns() / half_ns + 1) * half_ns);
		nanosleep(&time, NULL);
	}
}

int main(int argc, char **argv)
{
	uint64_t end_ns = now_ns();

	if (argc != 3)
		return 2;
	end_ns += strtoull(argv[2], NULL, 10) * 1000000000;
	if (!strcmp(argv[1], "sleep"))
		doze(end_ns);
	else
		compute(end_ns);
	return 0;
}
