/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forkstorm SECONDS: processes that live too short for anybody to read their /proc in time. Two at
 * a time, each spins a little in storm_child() and exits. Prints how many there were.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILDREN_AT_A_TIME = 2, CHILD_CPU_NS = 10000000 };

static volatile uint64_t sink;

/* By CPU time, not by work: forking takes long in an emulator, and must not be all there is to see.
 */
static __attribute__((noinline)) void storm_child(void)
{
	struct timespec used;

	do {
		for (uint64_t i = 0; i < 10000; i++)
			sink += i * i;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	} while (used.tv_sec == 0 && used.tv_nsec < CHILD_CPU_NS);
	_exit(0);
}

static int spawn(void)
{
	pid_t pid = fork();

	if (pid == 0)
		storm_child();
	return pid < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	time_t until = time(NULL) + strtol(argc > 1 ? argv[1] : "1", NULL, 10);
	unsigned long started = 0, ended = 0;

	do {
		while (started - ended < CHILDREN_AT_A_TIME) {
			if (spawn())
				return 1;
			started++;
		}
		if (wait(NULL) > 0)
			ended++;
	} while (time(NULL) <= until);
	while (wait(NULL) > 0)
		ended++;
	printf("%lu\n", ended);
	return 0;
}
