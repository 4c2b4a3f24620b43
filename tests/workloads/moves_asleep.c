/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moves_asleep SECONDS [MS]: the thread `moved` works for some ms and sleeps for MS (150), in turn.
 * It works on a CPU whose other thread, `mover`, yields to it, so that it often falls asleep when
 * it has had more than its part: kernels since 6.12 then leave it on the run queue for a while
 * (DELAY_DEQUEUE). Meanwhile the mover lets it run on another CPU alone: the kernel moves it
 * there, and takes it for one that was woken, as /proc/PID/schedstat shows. Its truth has `misled`,
 * the number of its sleeps that the kernel's account of its time on run queues took for that.
 */
#include "keep_frame.h"
#include "truth.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static int64_t until_ns, nap_ns = 150 * NS_PER_MS;
static int first_cpu, other_cpu;
static _Atomic long moved_tid; /* while it is about to sleep; 0: it is not */

static void nap(int64_t len_ns)
{
	struct timespec len = {.tv_sec = len_ns / NS_PER_SEC, .tv_nsec = len_ns % NS_PER_SEC};

	nanosleep(&len, NULL);
}

static __attribute__((noinline)) void moved_sleep(void)
{
	nap(nap_ns);
	KEEP_FRAME();
}

static void allow_only(long tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity((pid_t)tid, sizeof(set), &set))
		give_up("sched_setaffinity");
}

static void *moved_run(void *arg)
{
	struct truth truth;
	long misled = 0;

	truth_begin(&truth, "moved");
	for (int i = 0; now_ns() < until_ns; i++) {
		int64_t before_ns;

		allow_only(0, first_cpu);
		work_until(now_ns() + (1 + i % 7) * (int64_t)NS_PER_MS);
		before_ns = runnable_ns(&truth);
		wait_begin(&truth);
		moved_tid = syscall(SYS_gettid);
		moved_sleep();
		moved_tid = 0;
		wait_end(&truth);
		misled += runnable_ns(&truth) - before_ns > nap_ns / 2;
	}
	truth_tell(&truth, "cause=sleep misled=%ld", misled);
	return arg;
}

/* The state in /proc, a letter; asking a thread that does not run does not wake it. */
static char state_of(long tid)
{
	char path[64], text[128] = "", *state;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%ld/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return '\0';
	if (read(fd, text, sizeof(text) - 1) < 0)
		give_up(path);
	close(fd);
	state = strstr(text, ") ");
	return state ? state[2] : '\0';
}

static void *mover_run(void *arg)
{
	prctl(PR_SET_NAME, "mover");
	allow_only(0, first_cpu);
	while (now_ns() < until_ns) {
		long tid = moved_tid;

		if (!tid || state_of(tid) != 'S') {
			sched_yield();
			continue;
		}
		allow_only(tid, other_cpu);
		while (moved_tid && now_ns() < until_ns)
			;
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t moved, mover;
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	if (CPU_COUNT(&allowed) < 2)
		give_up("a second CPU");
	while (!CPU_ISSET((size_t)first_cpu, &allowed))
		first_cpu++;
	other_cpu = first_cpu + 1;
	while (!CPU_ISSET((size_t)other_cpu, &allowed))
		other_cpu++;
	until_ns = end_ns(argc, argv);
	if (argc > 2)
		nap_ns = strtoll(argv[2], NULL, 10) * NS_PER_MS;
	if (pthread_create(&moved, NULL, moved_run, NULL) ||
	    pthread_create(&mover, NULL, mover_run, NULL))
		give_up("pthread_create");
	pthread_join(moved, NULL);
	pthread_join(mover, NULL);
	return 0;
}
