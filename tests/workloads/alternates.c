/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alternates TIMES: sleeps of 200 us, in turn called by by_one() and by_two(), TIMES each, from the
 * same depth of the stack: only the return addresses tell them apart. Every 16th goes through a
 * library call that is as deep in the kernel elsewhere: a poll of nothing.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile int sink;

__attribute__((noinline)) static void leaf(int is_poll)
{
	const struct timespec time = {.tv_nsec = 200000};

	if (is_poll)
		poll(NULL, 0, 1);
	else
		nanosleep(&time, NULL);
	sink++;
}

__attribute__((noinline)) static void by_one(int is_poll)
{
	leaf(is_poll);
	sink++;
}

__attribute__((noinline)) static void by_two(int is_poll)
{
	leaf(is_poll);
	sink += 2;
}

int main(int argc, char **argv)
{
	long times = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;

	for (long i = 0; i < times; i++) {
		by_one(i % 16 == 15);
		by_two(i % 16 == 15);
	}
	printf("%ld\n", times);
	return 0;
}
