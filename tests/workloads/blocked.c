/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocked: does nothing until SIGTERM ends it; "ready" is on stdout as soon as all of it waits.
 *
 *	blocked_pause: main > pause_outer > pause_middle > pause_inner > pause
 *	blocked_read: read_run > read_outer > read_inner > read, of an empty pipe
 */
#include "keep_frame.h"
#include "truth.h"
#include <pthread.h>
#include <signal.h>

static volatile sig_atomic_t is_over;
static int fds[2];

static void on_term(int nr)
{
	(void)nr;
	is_over = 1;
}

static __attribute__((noinline)) void pause_inner(void)
{
	pause();
	KEEP_FRAME();
}

static __attribute__((noinline)) void pause_middle(void)
{
	pause_inner();
	KEEP_FRAME();
}

static __attribute__((noinline)) void pause_outer(void)
{
	pause_middle();
	KEEP_FRAME();
}

static __attribute__((noinline)) void read_inner(void)
{
	char byte;

	if (read(fds[0], &byte, 1) != 1)
		give_up("read");
	KEEP_FRAME();
}

static __attribute__((noinline)) void read_outer(void)
{
	read_inner();
	KEEP_FRAME();
}

static void *read_run(void *arg)
{
	struct truth truth;

	truth_begin(&truth, "blocked_read");
	wait_begin(&truth);
	read_outer();
	wait_end(&truth);
	truth_tell(&truth, "cause=pipe");
	return arg;
}

int main(void)
{
	struct sigaction action = {.sa_handler = on_term};
	struct timespec settled = {.tv_nsec = 100 * NS_PER_MS};
	struct truth truth;
	sigset_t term;
	pthread_t reader;

	truth_begin(&truth, "blocked_pause");
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigaction(SIGTERM, &action, NULL);
	/* The signal is the main thread's. */
	pthread_sigmask(SIG_BLOCK, &term, NULL);
	if (pipe(fds) || pthread_create(&reader, NULL, read_run, NULL))
		give_up("blocked");
	pthread_sigmask(SIG_UNBLOCK, &term, NULL);
	nanosleep(&settled, NULL);
	printf("ready\n");
	fflush(stdout);
	wait_begin(&truth);
	while (!is_over)
		pause_outer();
	wait_end(&truth);
	truth_tell(&truth, "cause=pause");
	if (write(fds[1], "", 1) != 1)
		give_up("write");
	pthread_join(reader, NULL);
	return 0;
}
