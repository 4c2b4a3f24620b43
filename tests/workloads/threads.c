/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads CPU_SECONDS: two threads that work for that long, thread_a in loop_a() and thread_b in
 * loop_b(). The first line on stdout is their two thread ids; the main thread only waits.
 */
#include "keep_frame.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink[2];
static double enough_s;
static long tids[2];
static pthread_barrier_t both_known;

static double thread_cpu_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static __attribute__((noinline)) void loop_a(void)
{
	KEEP_FRAME();
	for (uint64_t i = 0; i < 100000; i++)
		sink[0] += i * i;
}

static __attribute__((noinline)) void loop_b(void)
{
	KEEP_FRAME();
	for (uint64_t i = 0; i < 100000; i++)
		sink[1] += i * i;
}

static void run(int nr, const char *name, void (*loop)(void))
{
	prctl(PR_SET_NAME, name);
	tids[nr] = syscall(SYS_gettid);
	pthread_barrier_wait(&both_known);
	while (thread_cpu_s() < enough_s)
		loop();
}

static void *thread_a(void *arg)
{
	(void)arg;
	run(0, "thread_a", loop_a);
	return NULL;
}

static void *thread_b(void *arg)
{
	(void)arg;
	run(1, "thread_b", loop_b);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	enough_s = argc > 1 ? strtod(argv[1], NULL) : 1;
	pthread_barrier_init(&both_known, NULL, 3);
	if (pthread_create(&a, NULL, thread_a, NULL) || pthread_create(&b, NULL, thread_b, NULL))
		return 1;
	pthread_barrier_wait(&both_known);
	printf("%ld %ld\n", tids[0], tids[1]);
	fflush(stdout);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
