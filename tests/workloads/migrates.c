/* SPDX-License-Identifier: Apache-2.0 */
/*
 * migrates SECONDS: the thread `migrator` sleeps 5 ms at a time, each time on another CPU than the
 * last. Before every second sleep it moves itself; during the others the thread `mover` changes
 * where it may run, so that it falls asleep on one CPU and wakes up on another. Its truth has
 * `moves`, how many sleeps ended on another CPU than the one that it had worked on before.
 */
#include "keep_frame.h"
#include "truth.h"
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>

static const int64_t nap_ns = 5 * NS_PER_MS;

static sem_t is_asleep;
static volatile bool is_over;
static int64_t until_ns;
static long migrator_tid;
static volatile int next_cpu;

static void nap(int64_t len_ns)
{
	struct timespec len = {.tv_sec = 0, .tv_nsec = len_ns};

	nanosleep(&len, NULL);
}

static __attribute__((noinline)) void migrator_sleep(void)
{
	nap(nap_ns);
	KEEP_FRAME();
}

static void allow_only(long tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity((pid_t)tid, sizeof(set), &set))
		give_up("sched_setaffinity");
}

/* The CPU after @cpu that this process may use. */
static int cpu_after(const cpu_set_t *allowed, int cpu)
{
	do {
		cpu = (cpu + 1) % CPU_SETSIZE;
	} while (!CPU_ISSET((size_t)cpu, allowed));
	return cpu;
}

static void *migrator_run(void *arg)
{
	const cpu_set_t *allowed = arg;
	struct truth truth;
	long moves = 0;

	truth_begin(&truth, "migrator");
	migrator_tid = syscall(SYS_gettid);
	for (int i = 0; now_ns() < until_ns; i++) {
		int cpu = sched_getcpu();

		next_cpu = cpu_after(allowed, cpu);
		if (i % 2)
			allow_only(0, next_cpu);
		else
			sem_post(&is_asleep);
		wait_begin(&truth);
		migrator_sleep();
		wait_end_of_sleep(&truth, nap_ns);
		moves += sched_getcpu() != cpu;
	}
	is_over = true;
	sem_post(&is_asleep);
	truth_tell(&truth, "cause=sleep moves=%ld", moves);
	return NULL;
}

static void *mover_run(void *arg)
{
	prctl(PR_SET_NAME, "mover");
	for (;;) {
		while (sem_wait(&is_asleep))
			;
		if (is_over)
			return arg;
		nap(nap_ns / 4);
		allow_only(migrator_tid, next_cpu);
	}
}

int main(int argc, char **argv)
{
	pthread_t migrator, mover;
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	sem_init(&is_asleep, 0, 0);
	until_ns = end_ns(argc, argv);
	if (pthread_create(&migrator, NULL, migrator_run, &allowed) ||
	    pthread_create(&mover, NULL, mover_run, NULL))
		give_up("pthread_create");
	pthread_join(migrator, NULL);
	pthread_join(mover, NULL);
	return 0;
}
