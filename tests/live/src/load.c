/* SPDX-License-Identifier: Apache-2.0 */
/* A load in C that meets what makes unwinding hard: the vdso, libc's assembly, callbacks from libc,
 * signals on their own stack, arrays of variable length, realigned frames, lazy binding, threads.
 * Runs until killed.
 */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ITEMS = 2000, SIGNAL_US = 2000, ALT_STACK_BYTES = 65536 };

static volatile uint64_t sink;

static __attribute__((noinline)) int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static __attribute__((noinline)) void sort(void)
{
	uint32_t items[ITEMS];

	for (int i = 0; i < ITEMS; i++)
		items[i] = (uint32_t)i * 2654435761u;
	qsort(items, ITEMS, sizeof(items[0]), compare);
	sink += items[ITEMS / 2];
}

static __attribute__((noinline)) void strings(void)
{
	char text[256], copy[256];

	for (int i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "%d %s %.3f", i, "a line of text", sqrt(i));
		memccpy(copy, text, 0, sizeof(copy));
		sink += strlen(copy) + (uint64_t)(strchr(copy, '.') - copy) +
			(uint64_t)memcmp(copy, text, 10);
	}
}

static __attribute__((noinline)) void clocks(void)
{
	struct timespec now;

	for (int i = 0; i < 2000; i++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		sink += (uint64_t)now.tv_nsec;
	}
}

static __attribute__((noinline)) void syscalls(void)
{
	for (int i = 0; i < 500; i++)
		sink += (uint64_t)getppid();
}

static __attribute__((noinline)) void on_the_fly(int depth)
{
	char block[(depth % 7 + 1) * 40];

	memset(block, depth, 40);
	if (depth)
		on_the_fly(depth - 1);
	sink += (uint64_t)block[3];
}

/* A frame that the compiler must realign. */
static __attribute__((noinline)) void realigned(int depth)
{
	double lanes[8] __attribute__((aligned(64)));

	for (int i = 0; i < 8; i++)
		lanes[i] = sin(depth + i);
	if (depth)
		realigned(depth - 1);
	sink += (uint64_t)lanes[depth & 7];
}

static __attribute__((noinline)) void memory(void)
{
	void *blocks[100];

	for (int i = 0; i < 100; i++)
		blocks[i] = calloc(1, (size_t)i * 97 + 1);
	for (int i = 0; i < 100; i++)
		free(blocks[i]);
}

static __attribute__((noinline)) void work(void)
{
	sort();
	strings();
	clocks();
	syscalls();
	on_the_fly(40);
	realigned(20);
	memory();
}

static void on_signal(int nr)
{
	(void)nr;
	realigned(3);
	clocks();
}

static void *thread_main(void *arg)
{
	for (;;)
		work();
	return arg;
}

static void child(void)
{
	pid_t pid = fork();

	if (!pid) {
		work();
		_exit(0);
	}
	while (waitpid(pid, NULL, 0) < 0)
		;
}

static void signals_start(void)
{
	struct itimerval every = {{0, SIGNAL_US}, {0, SIGNAL_US}};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
	stack_t stack = {.ss_sp = malloc(ALT_STACK_BYTES), .ss_size = ALT_STACK_BYTES};

	sigaltstack(&stack, NULL);
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &every, NULL);
}

int main(void)
{
	pthread_t thread;

	signals_start();
	pthread_create(&thread, NULL, thread_main, NULL);
	for (;;) {
		for (int i = 0; i < 50; i++)
			work();
		child();
	}
}
