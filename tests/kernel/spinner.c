/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spinner SECONDS [EXIT_STATUS]: a load with a stack that is known by name.
 *
 *	main > spinner_outer > spinner_middle > spinner_hot	about 3/4 of the time
 *	main > spinner_outer > spinner_syscalls > the kernel	about 1/4
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_SEC = 1000000000, HOT_NS = 30000000, SYSCALLS_NS = 10000000 };

static volatile uint64_t sink;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* The empty asm keeps each caller's frame: without it the last call would become a jump. */
static __attribute__((noinline)) void spinner_hot(void)
{
	for (uint64_t i = 0; i < 100000; i++)
		sink += i * i;
}

static __attribute__((noinline)) void spinner_middle(uint64_t until_ns)
{
	while (now_ns() < until_ns)
		spinner_hot();
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void spinner_syscalls(uint64_t until_ns)
{
	while (now_ns() < until_ns)
		for (int i = 0; i < 100; i++)
			sink += (uint64_t)syscall(SYS_getppid);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void spinner_outer(void)
{
	spinner_middle(now_ns() + HOT_NS);
	spinner_syscalls(now_ns() + SYSCALLS_NS);
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	uint64_t until_ns = now_ns() + strtoull(argc > 1 ? argv[1] : "1", NULL, 10) * NS_PER_SEC;

	while (now_ns() < until_ns)
		spinner_outer();
	return argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
}
