/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sleeps SECONDS: threads that do nothing but sleep, sleep_100us for 100 us each time, and so on.
 * Their truth has `asked`, the sum of what was asked for; what is above it is the timers' lateness.
 */
#include "keep_frame.h"
#include "truth.h"
#include <pthread.h>

struct sleeper {
	const char *comm;
	int64_t len_ns;
};

static const struct sleeper sleepers[] = {
	{"sleep_100us", 100 * NS_PER_US}, {"sleep_1ms", NS_PER_MS},
	{"sleep_10ms", 10 * NS_PER_MS},	  {"sleep_50ms", 50 * NS_PER_MS},
	{"sleep_300ms", 300 * NS_PER_MS},
};

enum { SLEEPERS = sizeof(sleepers) / sizeof(sleepers[0]) };

static int64_t until_ns;

static __attribute__((noinline)) void sleep_here(int64_t len_ns)
{
	struct timespec len = {.tv_sec = 0, .tv_nsec = len_ns};

	nanosleep(&len, NULL);
	KEEP_FRAME();
}

static void *sleeper_run(void *arg)
{
	const struct sleeper *sleeper = arg;
	struct truth truth;

	truth_begin(&truth, sleeper->comm);
	prctl(PR_SET_TIMERSLACK, 1);
	while (now_ns() < until_ns) {
		wait_begin(&truth);
		sleep_here(sleeper->len_ns);
		wait_end(&truth);
	}
	truth_tell(&truth, "cause=sleep asked=%lld", (long long)sleeper->len_ns * truth.calls);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[SLEEPERS];

	until_ns = end_ns(argc, argv);
	for (int i = 0; i < SLEEPERS; i++)
		if (pthread_create(&threads[i], NULL, sleeper_run, (void *)&sleepers[i]))
			give_up("pthread_create");
	for (int i = 0; i < SLEEPERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
