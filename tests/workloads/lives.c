/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lives SECONDS: processes that come and go. `lives_parent` forks four lives_child at a time, waits
 * for them in parent_wait(), and so on; each sleeps 20, 40, 60 or 80 ms in child_sleep(), and
 * exits. Their truth is one line, the sum, with pid and tid 0, `lives` and `asked`.
 *
 * Meanwhile `before_exec` sleeps 1 s in before_sleep(), executes this program anew, calls itself
 * `after_exec`, and sleeps 2 s in after_sleep(): one thread, and a line for each name.
 */
#include "keep_frame.h"
#include "truth.h"
#include <sys/mman.h>
#include <sys/wait.h>

enum { BATCH = 4 };

static const int64_t child_ns = 20 * NS_PER_MS;
static const int64_t before_ns = NS_PER_SEC;
static const int64_t after_ns = 2LL * NS_PER_SEC;

static void nap(int64_t len_ns)
{
	struct timespec len = {.tv_sec = len_ns / NS_PER_SEC, .tv_nsec = len_ns % NS_PER_SEC};

	nanosleep(&len, NULL);
}

static __attribute__((noinline)) void child_sleep(int64_t len_ns)
{
	nap(len_ns);
	KEEP_FRAME();
}

static __attribute__((noinline)) void before_sleep(void)
{
	nap(before_ns);
	KEEP_FRAME();
}

static __attribute__((noinline)) void after_sleep(void)
{
	nap(after_ns);
	KEEP_FRAME();
}

static void child_run(struct truth *out, int64_t len_ns)
{
	struct truth truth;

	truth_begin(&truth, "lives_child");
	prctl(PR_SET_TIMERSLACK, 1);
	wait_begin(&truth);
	child_sleep(len_ns);
	wait_end(&truth);
	truth_end(&truth);
	*out = truth;
	_exit(0);
}

static __attribute__((noinline)) void parent_wait(pid_t pid)
{
	if (waitpid(pid, NULL, 0) != pid)
		give_up("waitpid");
	KEEP_FRAME();
}

static void batch_run(struct truth *parent, struct truth *shared)
{
	pid_t pids[BATCH];

	for (int i = 0; i < BATCH; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			give_up("fork");
		if (!pids[i])
			child_run(&shared[i], (i + 1) * child_ns);
	}
	wait_begin(parent);
	for (int i = 0; i < BATCH; i++)
		parent_wait(pids[i]);
	wait_end(parent);
}

static void truth_add(struct truth *sum, const struct truth *part)
{
	moment_add(&sum->life, &part->life);
	moment_add(&sum->in_calls, &part->in_calls);
	sum->waits += part->waits;
	sum->preempted += part->preempted;
	sum->calls += part->calls;
}

static pid_t renamed_start(const char *path)
{
	pid_t pid = fork();
	struct truth truth;

	if (pid)
		return pid;
	truth_begin(&truth, "before_exec");
	prctl(PR_SET_TIMERSLACK, 1);
	wait_begin(&truth);
	before_sleep();
	wait_end(&truth);
	truth_tell(&truth, "cause=sleep asked=%lld", (long long)before_ns);
	execl(path, path, "--after", (char *)NULL);
	_exit(127);
}

static int after_exec(void)
{
	struct truth truth;

	truth_begin(&truth, "after_exec");
	wait_begin(&truth);
	after_sleep();
	wait_end(&truth);
	truth_tell(&truth, "cause=sleep asked=%lld", (long long)after_ns);
	return 0;
}

int main(int argc, char **argv)
{
	int64_t until_ns = end_ns(argc, argv);
	struct truth truth, children = {.calls = 0}, *shared;
	int64_t asked_ns = 0;
	pid_t renamed;

	if (argc > 1 && !strcmp(argv[1], "--after"))
		return after_exec();
	shared = mmap(NULL, sizeof(*shared) * BATCH, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		give_up("mmap");
	renamed = renamed_start("/proc/self/exe");
	truth_begin(&truth, "lives_parent");
	while (now_ns() < until_ns) {
		batch_run(&truth, shared);
		for (int i = 0; i < BATCH; i++) {
			truth_add(&children, &shared[i]);
			asked_ns += (i + 1) * child_ns;
		}
	}
	if (renamed > 0)
		waitpid(renamed, NULL, 0);
	truth_tell(&truth, "cause=child");
	truth_write(&children, "lives_child", 0, 0, "cause=sleep lives=%ld asked=%lld",
		    children.calls, (long long)asked_ns);
	return 0;
}
