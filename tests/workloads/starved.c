/* SPDX-License-Identifier: Apache-2.0 */
/*
 * starved SECONDS CPU: the threads starved_0, starved_1 and starved_2 share that one CPU and never
 * block: each works a third of the time, in starved_work(), and is runnable for the rest.
 */
#include "keep_frame.h"
#include "truth.h"
#include <pthread.h>
#include <sched.h>

enum { THREADS = 3 };

static int64_t until_ns;

static __attribute__((noinline)) void starved_work(void)
{
	work_until(until_ns);
	KEEP_FRAME();
}

static void *starved_run(void *arg)
{
	struct truth truth;

	truth_begin(&truth, arg);
	starved_work();
	truth_tell(&truth, "cause=none");
	return NULL;
}

int main(int argc, char **argv)
{
	static char comms[THREADS][16];
	pthread_t threads[THREADS];
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(argc > 2 ? strtoul(argv[2], NULL, 10) : 0, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		give_up("sched_setaffinity");
	until_ns = end_ns(argc, argv);
	for (int i = 0; i < THREADS; i++) {
		snprintf(comms[i], sizeof(comms[i]), "starved_%d", i);
		if (pthread_create(&threads[i], NULL, starved_run, comms[i]))
			give_up("pthread_create");
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
