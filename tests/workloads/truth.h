/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread did with its time, told by itself: elapsed = cpu + runnable + blocked.
 *
 *	elapsed		CLOCK_MONOTONIC
 *	cpu		CLOCK_THREAD_CPUTIME_ID
 *	runnable	the second number of /proc/thread-self/schedstat: queued, but not running
 *	blocked		what is left
 *
 * So a late timer or a slow wake-up is part of the truth. It begins when the thread gets its name:
 * until then it has its parent's. Beside the whole life there is the time inside the calls that a
 * workload waits in, between wait_begin() and wait_end(). All in ns.
 *
 * One line for each thread, in one write:
 *
 *	truth comm=sleep_1ms pid=12 tid=13 elapsed=... cpu=... runnable=... blocked=... waits=...
 *	preempted=... calls=... in_calls=... blocked_in_calls=... cause=sleep
 *
 * waits: switches away from the thread because it blocked; preempted: all others.
 */
#ifndef BPFPROF_TRUTH_H
#define BPFPROF_TRUTH_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_US = 1000, NS_PER_MS = 1000000, NS_PER_SEC = 1000000000 };

struct moment {
	int64_t elapsed_ns, cpu_ns, runnable_ns;
};

struct truth {
	struct moment begin, call; /* of the thread, of the call that it is in */
	struct moment life, in_calls;
	int64_t misplaced_ns; /* by the kernel, see wait_end_of_sleep() */
	long waits, preempted, calls;
	int schedstat_fd;
};

static inline int64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

static inline int64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline __attribute__((noreturn)) void give_up(const char *what)
{
	perror(what);
	exit(1);
}

static inline int64_t runnable_ns(const struct truth *truth)
{
	char text[64], *runnable;
	ssize_t len = pread(truth->schedstat_fd, text, sizeof(text) - 1, 0);

	if (len <= 0)
		give_up("/proc/thread-self/schedstat");
	text[len] = '\0';
	runnable = strchr(text, ' ');
	return runnable ? strtoll(runnable, NULL, 10) : 0;
}

/* The three belong to one moment: whoever was made to wait between them reads them again. */
static inline struct moment moment_now(const struct truth *truth)
{
	struct moment now = {.runnable_ns = runnable_ns(truth)};
	int64_t before_ns;

	do {
		before_ns = now.runnable_ns;
		now.elapsed_ns = now_ns();
		now.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		now.runnable_ns = runnable_ns(truth);
	} while (now.runnable_ns != before_ns);
	return now;
}

static inline struct moment moment_since(const struct truth *truth, const struct moment *begin)
{
	struct moment now = moment_now(truth);

	return (struct moment){now.elapsed_ns - begin->elapsed_ns, now.cpu_ns - begin->cpu_ns,
			       now.runnable_ns - begin->runnable_ns};
}

static inline void moment_add(struct moment *sum, const struct moment *part)
{
	sum->elapsed_ns += part->elapsed_ns;
	sum->cpu_ns += part->cpu_ns;
	sum->runnable_ns += part->runnable_ns;
}

static inline int64_t moment_blocked_ns(const struct moment *moment)
{
	return moment->elapsed_ns - moment->cpu_ns - moment->runnable_ns;
}

/* The calling thread is called @comm, and its truth begins. */
static inline void truth_begin(struct truth *truth, const char *comm)
{
	prctl(PR_SET_NAME, comm);
	memset(truth, 0, sizeof(*truth));
	truth->schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	truth->begin = moment_now(truth);
}

static inline void wait_begin(struct truth *truth)
{
	truth->call = moment_now(truth);
}

static inline void wait_end(struct truth *truth)
{
	struct moment call = moment_since(truth, &truth->call);

	moment_add(&truth->in_calls, &call);
	truth->calls++;
}

/*
 * Ends a wait that was a sleep of @asked_ns, so the thread was blocked for no less. Since
 * Linux 6.12 a thread that falls asleep may stay in its queue for a while (sched_delayed); one that
 * is moved to another CPU meanwhile is "queued" by schedstat from the move until it runs again, all
 * its sleep.
 */
static inline void wait_end_of_sleep(struct truth *truth, int64_t asked_ns)
{
	struct moment call = moment_since(truth, &truth->call);
	int64_t missing_ns = asked_ns - moment_blocked_ns(&call);

	if (missing_ns > 0) {
		call.runnable_ns -= missing_ns;
		truth->misplaced_ns += missing_ns;
	}
	moment_add(&truth->in_calls, &call);
	truth->calls++;
}

static inline void truth_end(struct truth *truth)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	truth->waits = usage.ru_nvcsw;
	truth->preempted = usage.ru_nivcsw;
	truth->life = moment_since(truth, &truth->begin);
	truth->life.runnable_ns -= truth->misplaced_ns;
	close(truth->schedstat_fd);
}

/* @more, a format: further "key=value" of the workload. */
static inline __attribute__((format(printf, 5, 6))) void
truth_write(const struct truth *truth, const char *comm, long pid, long tid, const char *more, ...)
{
	char line[1024];
	va_list args;
	int len;

	len = snprintf(line, sizeof(line),
		       "truth comm=%s pid=%ld tid=%ld elapsed=%lld cpu=%lld runnable=%lld "
		       "blocked=%lld waits=%ld preempted=%ld calls=%ld in_calls=%lld "
		       "blocked_in_calls=%lld ",
		       comm, pid, tid, (long long)truth->life.elapsed_ns,
		       (long long)truth->life.cpu_ns, (long long)truth->life.runnable_ns,
		       (long long)moment_blocked_ns(&truth->life), truth->waits, truth->preempted,
		       truth->calls, (long long)truth->in_calls.elapsed_ns,
		       (long long)moment_blocked_ns(&truth->in_calls));
	va_start(args, more);
	len += vsnprintf(line + len, sizeof(line) - (size_t)len - 1, more, args);
	va_end(args);
	line[len++] = '\n';
	if (write(STDOUT_FILENO, line, (size_t)len) != len)
		give_up("stdout");
}

/*
 * The calling thread's line; @more is a format, with which the line ends: "cause=sleep". From then
 * on it is called `told`: its end, in which it may be preempted for long, is not part of the truth.
 */
#define truth_tell(truth, ...)                                                               \
	do {                                                                                 \
		char comm_[16];                                                              \
                                                                                             \
		prctl(PR_GET_NAME, comm_);                                                   \
		truth_end(truth);                                                            \
		prctl(PR_SET_NAME, "told");                                                  \
		truth_write(truth, comm_, (long)getpid(), syscall(SYS_gettid), __VA_ARGS__); \
	} while (0)

/* How long to go on: the first argument, in seconds. */
static inline int64_t end_ns(int argc, char **argv)
{
	return now_ns() + (int64_t)((argc > 1 ? strtod(argv[1], NULL) : 1) * NS_PER_SEC);
}

/* Works until the clock on the wall says so, whether there is a CPU or not. */
static inline void work_until(int64_t until_ns)
{
	while (now_ns() < until_ns)
		for (volatile int i = 0; i < 1000; i++)
			;
}

#endif
