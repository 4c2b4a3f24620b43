/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pthread_clockjoin_np() for programs under ThreadSanitizer, whose runtime knows the older ways to
 * wait for a thread only: it would take what is read of a thread that has been joined so for a
 * race. Only those programs are linked with it (Makefile).
 */
#include <errno.h>
#include <pthread.h>
#include <time.h>

static const long ROUND_NS = 1000000;

static int is_past(clockid_t clock, const struct timespec *until)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec > until->tv_sec ||
	       (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec);
}

/* The C library forgets the id of a thread that has ended. */
static int has_ended(pthread_t thread)
{
	clockid_t clock;

	return pthread_getcpuclockid(thread, &clock) == ESRCH;
}

int pthread_clockjoin_np(pthread_t thread, void **value, clockid_t clock,
			 const struct timespec *until)
{
	const struct timespec round = {.tv_nsec = ROUND_NS};

	while (!has_ended(thread)) {
		if (is_past(clock, until))
			return ETIMEDOUT;
		nanosleep(&round, NULL);
	}
	return pthread_join(thread, value);
}
