/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets that do what a profiler had better survive. Each computes in odd_work(), whose stack is
 * known.
 *
 *	oddly short CNT		CNT processes, one after the other, each gone after 50 us of work
 *	oddly living CNT	CNT that live at once; each works for 0.2 ms, in turns, for ever
 *	oddly exec SECONDS	one process that executes itself again after every 2 ms
 *	oddly elsewhere DIR	in pid and mount name spaces of its own, in the root DIR, for ever
 *	oddly maps CNT		CNT mappings that the kernel cannot merge, for ever
 *
 * What goes on for ever says "ready" when it is there, and ends with its parent or by a signal.
 */
#include "keep_frame.h"
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_MS = 1000000, LOOPS = 2000 };

static volatile uint64_t sink;

static int64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000 * NS_PER_MS + ts.tv_nsec;
}

static __attribute__((noinline)) void odd_work(int64_t span_ns)
{
	int64_t until_ns = now_ns(CLOCK_MONOTONIC) + span_ns;

	KEEP_FRAME();
	do {
		for (uint64_t i = 0; i < LOOPS; i++)
			sink += i * i;
	} while (now_ns(CLOCK_MONOTONIC) < until_ns);
}

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

static int short_ones(long cnt)
{
	for (long i = 0; i < cnt; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return fail("fork");
		if (!pid) {
			odd_work(NS_PER_MS / 20);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return 0;
}

/* From when the gate, a pipe, is closed: who works while the others are made delays them. */
static void live(long nth, long cnt, int gate_fd)
{
	char none;
	const struct timespec turn = {5, 0};
	const struct timespec first = {nth * 5 / cnt, nth * 5000 / cnt % 1000 * NS_PER_MS};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(gate_fd, &none, 1) > 0)
		;
	nanosleep(&first, NULL);
	for (;;) {
		odd_work(NS_PER_MS / 5);
		nanosleep(&turn, NULL);
	}
}

static int living_ones(long cnt)
{
	int gate[2];

	if (pipe(gate))
		return fail("pipe");
	for (long i = 0; i < cnt; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return fail("fork");
		if (!pid) {
			close(gate[1]);
			live(i, cnt, gate[0]);
		}
	}
	close(gate[1]);
	ready();
	pause();
	return 0;
}

static int exec_again(char **argv)
{
	char until[32];
	int64_t until_ns =
		argv[3] ? strtoll(argv[3], NULL, 10)
			: now_ns(CLOCK_MONOTONIC) + strtol(argv[2], NULL, 10) * 1000 * NS_PER_MS;

	odd_work(2 * NS_PER_MS);
	if (now_ns(CLOCK_MONOTONIC) >= until_ns)
		return 0;
	snprintf(until, sizeof(until), "%lld", (long long)until_ns);
	execl("/proc/self/exe", "oddly", "exec", argv[2], until, NULL);
	return fail("exec");
}

static int work_elsewhere(const char *root)
{
	pid_t pid;

	if (unshare(CLONE_NEWNS | CLONE_NEWPID))
		return fail("unshare");
	pid = fork();
	if (pid < 0)
		return fail("fork");
	if (pid) {
		waitpid(pid, NULL, 0);
		return 0;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (chroot(root) || chdir("/"))
		return fail("chroot");
	ready();
	for (;;)
		odd_work(100 * NS_PER_MS);
}

static int map_much(long cnt)
{
	for (long i = 0; i < cnt; i++)
		if (mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			return fail("mmap");
	ready();
	for (;;)
		odd_work(100 * NS_PER_MS);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";

	if (!strcmp(mode, "short"))
		return short_ones(strtol(argv[2], NULL, 10));
	if (!strcmp(mode, "living"))
		return living_ones(strtol(argv[2], NULL, 10));
	if (!strcmp(mode, "exec"))
		return exec_again(argv);
	if (!strcmp(mode, "elsewhere"))
		return work_elsewhere(argv[2]);
	if (!strcmp(mode, "maps"))
		return map_much(strtol(argv[2], NULL, 10));
	fprintf(stderr, "usage: oddly short|living|exec|elsewhere|maps ARG\n");
	return 2;
}
