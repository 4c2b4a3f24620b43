/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waiter SECONDS: sleeps of 20 ms, one after another, in waiter_sleep(); beside it a child that
 * waits all the time for a pipe in waiter_blocked(), and one that computes in waiter_busy().
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int sink;

__attribute__((noinline)) static void waiter_sleep(void)
{
	const struct timespec time = {.tv_nsec = 20000000};

	nanosleep(&time, NULL);
	sink++;
}

__attribute__((noinline)) static void waiter_blocked(int fd)
{
	char byte;

	if (read(fd, &byte, 1) < 0)
		sink++;
	sink++;
}

__attribute__((noinline)) static void waiter_busy(void)
{
	for (;;)
		sink++;
}

__attribute__((noinline)) static void waiter_outer(double seconds)
{
	time_t end = time(NULL) + (time_t)seconds;

	while (time(NULL) < end)
		waiter_sleep();
	sink++;
}

int main(int argc, char **argv)
{
	pid_t blocked, busy;
	int fds[2];

	if (pipe(fds))
		return 1;
	blocked = fork();
	if (!blocked) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		waiter_blocked(fds[0]);
		_exit(0);
	}
	busy = fork();
	if (!busy) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		waiter_busy();
	}
	waiter_outer(argc > 1 ? atof(argv[1]) : 10);
	kill(blocked, SIGKILL);
	kill(busy, SIGKILL);
	while (wait(NULL) > 0)
		;
	return 0;
}
