/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crowd THREADS: so many threads, of which every second one sleeps (crowd_sleep, in crowd_nap())
 * and the others wait for what never comes (crowd_futex, in crowd_wait()), until a signal ends
 * them. "ready" is on stdout as soon as all of them wait.
 */
#include "keep_frame.h"
#include "truth.h"
#include <linux/futex.h>
#include <pthread.h>

static const size_t stack_bytes = 64 * 1024;
static uint32_t word;
static int entered;

static __attribute__((noinline)) void crowd_nap(void)
{
	struct timespec len = {.tv_sec = 3600};

	nanosleep(&len, NULL);
	KEEP_FRAME();
}

static __attribute__((noinline)) void crowd_wait(void)
{
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	KEEP_FRAME();
}

static void *crowd_run(void *arg)
{
	prctl(PR_SET_NAME, arg ? "crowd_futex" : "crowd_sleep");
	__atomic_add_fetch(&entered, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		if (arg)
			crowd_wait();
		else
			crowd_nap();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? strtol(argv[1], NULL, 10) : 2000;
	struct timespec settled = {.tv_nsec = 200 * NS_PER_MS};
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, stack_bytes);
	for (long i = 0; i < threads; i++)
		if (pthread_create(&thread, &attr, crowd_run, i % 2 ? &word : NULL))
			give_up("pthread_create");
	do {
		nanosleep(&settled, NULL);
	} while (__atomic_load_n(&entered, __ATOMIC_SEQ_CST) < threads);
	printf("ready\n");
	fflush(stdout);
	crowd_wait();
	return 0;
}
