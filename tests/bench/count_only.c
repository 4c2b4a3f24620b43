/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count_only OBJECT HZ SECONDS: how many timer samples does this machine deliver to a program that
 * only counts them?
 *
 * The measure for never_ran: what is missing here is missing for every profiler. Prints "ready"
 * once it counts; at the end, or at SIGINT or SIGTERM, for each CPU and in sum ("all"):
 *
 *	CPU TICKS RAN IDLE KERNEL
 *
 * TICKS is what the event's own counter says, RAN what reached the program, IDLE those in the idle
 * task, KERNEL those in kernel mode elsewhere. OBJECT is count_only.bpf.c, compiled.
 */
#include "count_only.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct counter {
	struct bpf_object *object;
	int prog_fd, map_fd;
	unsigned long long period_ns;
	int cpu_cnt;
	int *event_fds; /* by CPU; -1: offline */
	struct counts *counts; /* by CPU */
};

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, args) : 0;
}

static int load(struct counter *counter, const char *path)
{
	counter->object = bpf_object__open_file(path, NULL);
	if (!counter->object || bpf_object__load(counter->object))
		return -1;
	counter->prog_fd =
		bpf_program__fd(bpf_object__find_program_by_name(counter->object, "count_only"));
	counter->map_fd = bpf_object__find_map_fd_by_name(counter->object, "counts");
	counter->cpu_cnt = libbpf_num_possible_cpus();
	if (counter->prog_fd < 0 || counter->map_fd < 0 || counter->cpu_cnt < 1)
		return -1;
	counter->event_fds = calloc((size_t)counter->cpu_cnt, sizeof(*counter->event_fds));
	counter->counts = calloc((size_t)counter->cpu_cnt, sizeof(*counter->counts));
	return counter->event_fds && counter->counts ? 0 : -1;
}

static int open_event(const struct counter *counter, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = counter->period_ns,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 && errno == ENODEV)
		return -1;
	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_BPF, counter->prog_fd))
		return -2;
	return fd;
}

static int open_events(struct counter *counter)
{
	for (int cpu = 0; cpu < counter->cpu_cnt; cpu++) {
		counter->event_fds[cpu] = open_event(counter, cpu);
		if (counter->event_fds[cpu] == -2)
			return -1;
	}
	return 0;
}

static int switch_events(const struct counter *counter, unsigned long request)
{
	for (int cpu = 0; cpu < counter->cpu_cnt; cpu++)
		if (counter->event_fds[cpu] >= 0 && ioctl(counter->event_fds[cpu], request, 0))
			return -1;
	return 0;
}

/* Whichever comes first: the time is over, or somebody asks. */
static void wait_for_end(double seconds)
{
	struct timespec left = {.tv_sec = (time_t)seconds,
				.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
	sigset_t enough;

	sigemptyset(&enough);
	sigaddset(&enough, SIGINT);
	sigaddset(&enough, SIGTERM);
	sigtimedwait(&enough, NULL, &left);
}

static void print_row(const char *name, unsigned long long ticks, const struct counts *counts)
{
	printf("%s %llu %llu %llu %llu\n", name, ticks, counts->ran, counts->idle, counts->kernel);
}

static int report(const struct counter *counter)
{
	unsigned long long ticks_sum = 0;
	struct counts sum = {0};
	unsigned int zero = 0;

	if (bpf_map_lookup_elem(counter->map_fd, &zero, counter->counts))
		return -1;
	for (int cpu = 0; cpu < counter->cpu_cnt; cpu++) {
		const struct counts *counts = &counter->counts[cpu];
		unsigned long long count, ticks;
		char name[16];

		if (counter->event_fds[cpu] < 0)
			continue;
		if (read(counter->event_fds[cpu], &count, sizeof(count)) != sizeof(count))
			return -1;
		ticks = count / counter->period_ns;
		snprintf(name, sizeof(name), "%d", cpu);
		print_row(name, ticks, counts);
		ticks_sum += ticks;
		sum.ran += counts->ran;
		sum.idle += counts->idle;
		sum.kernel += counts->kernel;
	}
	print_row("all", ticks_sum, &sum);
	return 0;
}

static int run(struct counter *counter, double seconds)
{
	if (open_events(counter) || switch_events(counter, PERF_EVENT_IOC_ENABLE))
		return -1;
	puts("ready");
	fflush(stdout);
	wait_for_end(seconds);
	return switch_events(counter, PERF_EVENT_IOC_DISABLE) ? -1 : report(counter);
}

int main(int argc, char **argv)
{
	unsigned long hz = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	double seconds = argc > 3 ? strtod(argv[3], NULL) : 0;
	struct counter counter = {0};
	sigset_t asks;

	if (!hz || seconds <= 0) {
		fprintf(stderr, "usage: count_only OBJECT HZ SECONDS\n");
		return 2;
	}
	sigemptyset(&asks);
	sigaddset(&asks, SIGINT);
	sigaddset(&asks, SIGTERM);
	sigprocmask(SIG_BLOCK, &asks, NULL);
	libbpf_set_print(quiet);
	counter.period_ns = 1000000000 / hz;
	if (load(&counter, argv[1]) || run(&counter, seconds)) {
		fprintf(stderr, "count_only: %s\n", strerror(errno));
		return 1;
	}
	return 0;
}
