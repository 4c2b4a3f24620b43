/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: CLOCK_REALTIME of one program is stepped, and nothing else of the machine's.
 *
 * CLOCK_STEPS=AFTER:BY,...: AFTER seconds after its start the clock shows BY seconds more than it
 * would, or less, in ascending order: "3:3600,7:-3600" is an hour ahead from 3 s on and an hour
 * behind from 7 s on.
 *
 * The environment is cleared of both, so that a recorded COMMAND is left alone.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { STEPS_MAX = 8 };

static struct {
	double after_s;
	long by_s;
} steps[STEPS_MAX];
static unsigned int step_cnt;
static double start_s;

static double monotonic_s(void)
{
	struct timespec now;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

__attribute__((constructor)) static void read_steps(void)
{
	char *text = getenv("CLOCK_STEPS");

	start_s = monotonic_s();
	for (; text && *text && step_cnt < STEPS_MAX; step_cnt++) {
		steps[step_cnt].after_s = strtod(text, &text);
		text += *text == ':';
		steps[step_cnt].by_s = strtol(text, &text, 10);
		text += *text == ',';
	}
	unsetenv("CLOCK_STEPS");
	unsetenv("LD_PRELOAD");
}

static long shift_s(void)
{
	double since_s = monotonic_s() - start_s;
	long by_s = 0;

	for (unsigned int i = 0; i < step_cnt; i++)
		if (since_s >= steps[i].after_s)
			by_s = steps[i].by_s;
	return by_s;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int err = (int)syscall(SYS_clock_gettime, clock, now);

	if (!err && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		now->tv_sec += shift_s();
	return err;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	int err = (int)syscall(SYS_gettimeofday, now, zone);

	if (!err)
		now->tv_sec += shift_s();
	return err;
}

time_t time(time_t *out)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}
