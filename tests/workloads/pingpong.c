/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pingpong SECONDS: two processes, `ping` and `pong`, hand a byte to and fro through pipes. ping
 * thinks 2 ms before it writes, pong 6 ms, and meanwhile the other waits, in ping_read() or
 * pong_read().
 */
#include "keep_frame.h"
#include "truth.h"
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

enum { PING_NS = 2 * NS_PER_MS, PONG_NS = 6 * NS_PER_MS };

static __attribute__((noinline)) bool ping_read(int fd, char *byte)
{
	bool got = read(fd, byte, 1) == 1;

	KEEP_FRAME();
	return got;
}

static __attribute__((noinline)) bool pong_read(int fd, char *byte)
{
	bool got = read(fd, byte, 1) == 1;

	KEEP_FRAME();
	return got;
}

static __attribute__((noinline)) bool think_and_write(int fd, int64_t think_ns)
{
	bool was_written;

	work_until(now_ns() + think_ns);
	was_written = write(fd, "", 1) == 1;
	KEEP_FRAME();
	return was_written;
}

static bool timed_read(struct truth *truth, bool (*fn)(int fd, char *byte), int fd)
{
	char byte;
	bool got;

	wait_begin(truth);
	got = fn(fd, &byte);
	wait_end(truth);
	return got;
}

static __attribute__((noinline)) void pong_run(int in_fd, int out_fd)
{
	struct truth truth;

	truth_begin(&truth, "pong");
	while (timed_read(&truth, pong_read, in_fd) && think_and_write(out_fd, PONG_NS))
		;
	truth_tell(&truth, "cause=pipe");
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	int64_t until_ns = end_ns(argc, argv);
	struct truth truth;
	int to_pong[2], to_ping[2];
	pid_t pong;

	if (pipe(to_pong) || pipe(to_ping))
		give_up("pipe");
	pong = fork();
	if (pong < 0)
		give_up("fork");
	if (!pong) {
		close(to_pong[1]);
		close(to_ping[0]);
		pong_run(to_pong[0], to_ping[1]);
		return 0;
	}
	close(to_pong[0]);
	close(to_ping[1]);
	signal(SIGPIPE, SIG_IGN);
	truth_begin(&truth, "ping");
	while (now_ns() < until_ns && think_and_write(to_pong[1], PING_NS) &&
	       timed_read(&truth, ping_read, to_ping[0]))
		;
	truth_tell(&truth, "cause=pipe");
	close(to_pong[1]);
	waitpid(pong, NULL, 0);
	return 0;
}
