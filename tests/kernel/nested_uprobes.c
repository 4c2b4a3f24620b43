/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probe programs that nest on one CPU must not corrupt each other's samples.
 *
 * THREADS threads share CPU 0 and call probed() in a loop, each below a deep stack of its own
 * making, so that the uprobe's program runs long and, on a preemptible kernel, is preempted in the
 * middle by another thread's. Each thread has its own name, so afterwards every name must have
 * exactly one stack, and the samples must add up to the calls. With --plain the scratch slots are
 * not claimed: that run is expected to be corrupted where programs nest, which is what makes this
 * test one that can fail.
 *
 *	nested_uprobes [--plain] [SECONDS]
 * Exit: 0 intact, 2 corrupted, 1 trouble. The last line says the numbers.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/parse.h"
#include "capture/drain.h"
#include "capture/loader.h"
#include "capture/samplers.h"
#include "capture/rows_feed.h"

enum { THREADS = 8, DEPTH = 180 };

static atomic_bool stop;
static atomic_ulong calls;

__attribute__((noinline)) void probed(void);
void probed(void)
{
	__asm__ volatile("" ::: "memory");
}

static void descend(unsigned int pattern, int depth);

__attribute__((noinline)) static void step_even(unsigned int pattern, int depth)
{
	descend(pattern, depth);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void step_odd(unsigned int pattern, int depth)
{
	descend(pattern, depth);
	__asm__ volatile("" ::: "memory");
}

/* A stack that spells @pattern, over and over, in its return addresses. */
__attribute__((noinline)) static void descend(unsigned int pattern, int depth)
{
	if (!depth) {
		while (!stop) {
			probed();
			calls++;
		}
	} else if (pattern >> (depth % 4) & 1) {
		step_odd(pattern, depth - 1);
	} else {
		step_even(pattern, depth - 1);
	}
	__asm__ volatile("" ::: "memory");
}

static void *thread_main(void *arg)
{
	unsigned int nr = (unsigned int)(uintptr_t)arg;
	cpu_set_t cpu0;
	char name[16];

	CPU_ZERO(&cpu0);
	CPU_SET(0, &cpu0);
	sched_setaffinity(0, sizeof(cpu0), &cpu0);
	snprintf(name, sizeof(name), "nest%u", nr);
	prctl(PR_SET_NAME, name);
	descend(nr, DEPTH);
	return NULL;
}

/* The event: probed() in this program. 0 or negative errno. */
static int find_probed(struct event_site *site)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t base = 0;

	if (!maps || fscanf(maps, "%lx", &base) != 1)
		return -ENOENT;
	fclose(maps);
	*site = (struct event_site){
		.path = "/proc/self/exe",
		.file_off = (uint64_t)(uintptr_t)probed - base,
	};
	return 0;
}

/* Sample @i, which should not be there: whose, how many, how deep, and what stands at its root. */
static void print_extra(const struct profile *prof, size_t i, const char *comm)
{
	const struct profile_stack *stack = &prof->stacks[prof->samples[i].stack];
	const struct profile_location *root =
		&prof->locations[prof->stack_locations[stack->first + stack->cnt - 1]];
	const char *name = "";

	if (root->line_cnt)
		name = profile_str(prof,
				   prof->functions[prof->lines[root->first_line].function].name);
	printf("extra: '%s', %ld samples, %u frames, root 0x%lx %s\n", comm,
	       (long)prof->values[i * prof->value_type_cnt], stack->cnt,
	       (unsigned long)root->address, name);
}

/* Samples of threads called nestN: their number, and how many (name, stack) pairs there are beyond
 * one a name. */
static void judge(const struct profile *prof, uint64_t *samples, uint64_t *names, uint64_t *extra)
{
	char seen[THREADS] = {0};

	*samples = *names = *extra = 0;
	for (size_t i = 0; i < prof->sample_cnt; i++) {
		const struct profile_label_set *set = &prof->label_sets[prof->samples[i].label_set];
		const char *comm = profile_str(prof, prof->labels[set->first].str);
		unsigned int nr;

		*samples += prof->values[i * prof->value_type_cnt];
		if (sscanf(comm, "nest%u", &nr) != 1 || nr >= THREADS || seen[nr]) {
			++*extra;
			print_extra(prof, i, comm);
			continue;
		}
		++*names;
		seen[nr] = 1;
	}
}

static void add_counters(void *arg, uint32_t shard, const struct bp_event_counters *counters)
{
	struct bp_event_counters *sum = arg;

	sum->ran += counters->ran;
	sum->recorded += counters->recorded;
	for (int i = 0; i < BP_LOSS_CNT; i++)
		sum->lost[i] += counters->lost[i];
}

static int drain_both(struct drain *drain, struct loader *loader, struct bp_event_counters *sum)
{
	for (int round = 0; round < 2; round++) {
		uint32_t epoch;
		int err = loader_flip(loader, &epoch);

		if (!err)
			err = drain_epoch(drain, epoch, add_counters, sum);
		if (err)
			return err;
		drain_give_back(drain, epoch);
	}
	return 0;
}

static bool has_rows(const struct exes *exes, const char *path)
{
	for (size_t i = 0; i < exes->cnt; i++)
		if (!strcmp(exes->items[i].module->path, path))
			return exes->items[i].rows_at == ROWS_STORED;
	return false;
}

/* Wait until this program has its unwind rows in the kernel, so that every stack is walked there.
 */
static int settle(struct drain *drain, struct rows_feed *feed)
{
	struct timespec slice = {.tv_nsec = 20 * 1000 * 1000};
	uint64_t end_ns = clock_monotonic_ns() + 20 * NSEC_PER_SEC;
	char self[256] = "";
	int err = 0;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return -errno;
	rows_feed_preload(feed);
	while (!has_rows(&drain->exes, self)) {
		nanosleep(&slice, NULL);
		err = drain_ring(drain);
		if (!err)
			err = rows_feed_ask(feed);
		if (err)
			return err;
		rows_feed_take(feed, 0);
		if (clock_monotonic_ns() > end_ns)
			return -ETIMEDOUT;
	}
	return 0;
}

static int run_threads(struct drain *drain, struct loader *loader, struct bp_event_counters *sum,
		       int seconds)
{
	pthread_t threads[THREADS];
	struct timespec slice = {.tv_nsec = 10 * 1000 * 1000};
	uint64_t end_ns = clock_monotonic_ns() + seconds * NSEC_PER_SEC;
	int err = 0;

	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread_main, (void *)i))
			return -EAGAIN;
	for (int i = 0; clock_monotonic_ns() < end_ns && !err; i++) {
		nanosleep(&slice, NULL);
		err = i % 50 && !drain->wants_flip ? drain_ring(drain)
						   : drain_both(drain, loader, sum);
	}
	stop = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return err ? err : drain_both(drain, loader, sum);
}

static int report(const struct drain *drain, const struct bp_event_counters *sum)
{
	uint64_t samples, names, extra, lost = 0;
	bool ok;

	for (int i = 0; i < BP_LOSS_CNT; i++)
		lost += sum->lost[i];
	judge(drain->prof, &samples, &names, &extra);
	ok = !extra && names == THREADS && sum->ran == calls && samples == sum->recorded &&
	     sum->ran == sum->recorded + lost;
	printf("calls %lu ran %llu recorded %llu in profile %lu lost %lu (slots busy %llu) names "
	       "%lu corrupted stacks %lu: %s\n",
	       (unsigned long)calls, sum->ran, sum->recorded, samples, lost,
	       sum->lost[BP_LOST_SLOTS_BUSY], names, extra, ok ? "intact" : "CORRUPTED");
	return ok ? 0 : 2;
}

int main(int argc, char **argv)
{
	bool plain = argc > 1 && !strcmp(argv[1], "--plain");
	int seconds = argc > 1 + plain ? (int)strtol(argv[1 + plain], NULL, 10) : 5;
	struct capture_opts opts = {.no_kernel_stacks = true, .test_plain_scratch = plain};
	struct samplers samplers = {.cnt = 1};
	struct event *event = &samplers.items[0].event;
	struct event_site site;
	struct bp_event_counters sum = {0};
	struct loader loader;
	struct rows_feed feed;
	struct drain drain;
	struct probes probes;
	int status = 1;

	*event = (struct event){.name = "probe",
				.period = 1,
				.sites = &site,
				.site_cnt = 1,
				.spec.kind = EVENT_UPROBE};
	if (find_probed(&site) || loader_open(&loader, &opts, &samplers, NULL))
		return 1;
	if (drain_init(&drain, &loader, &opts, &samplers) || drain_begin_window(&drain))
		return 1;
	if (rows_feed_init(&feed, &loader, &drain.exes))
		return 1;
	drain.snapshots.feed = &feed;
	if (settle(&drain, &feed)) {
		fprintf(stderr, "no unwind rows for this program\n");
		return 1;
	}
	if (probes_open(event, bpf_program__fd(loader.programs.samplers[0]), PROBES_AT_KIND, NULL,
			&probes))
		return 1;
	loader_set_sampling(&loader, true);
	if (!run_threads(&drain, &loader, &sum, seconds))
		status = report(&drain, &sum);
	probes_close(&probes);
	rows_feed_deinit(&feed);
	drain_deinit(&drain);
	loader_close(&loader);
	return status;
}
