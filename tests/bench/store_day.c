/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A generated day in a store: what it takes on disk, and how long reads take.
 *
 *	store_day FOLDER [WINDOWS]
 *
 * One host with 10 services and about 8.8 busy cores at 19 Hz, drained every 10 s: 167 samples of
 * each service in a window, of 5,000 stacks each whose frequency falls by Zipf's law (1.2), paths
 * of a call tree about 25 frames deep with names of 40 to 120 bytes.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/parse.h"
#include "profile/profile_priv.h"
#include "store/store.h"

enum { SERVICES = 10, STACKS = 5000, LOCATIONS = 3000, FUNCTIONS = 2000, SAMPLES = 167 };

#define DAY_START_NS (1795132800 * NSEC_PER_SEC) /* 2026-11-20 00:00 UTC */
#define WINDOW_NS (10 * NSEC_PER_SEC)
#define PERIOD_NS 52631578

static uint64_t seed = 88172645463325252;

static uint32_t random_below(uint32_t limit)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % limit;
}

struct day {
	struct profile prof;
	uint32_t stacks[SERVICES][STACKS], label_sets[SERVICES];
	double cumulated[STACKS]; /* of Zipf's law */
	int64_t samples;
};

static uint32_t make_function(struct profile *prof, int service, int nr)
{
	char name[160], system_name[160];
	int len = snprintf(name, sizeof(name), "svc%d::module%d::Worker<%d>::handle_%d", service,
			   nr / 50, nr % 7, nr);

	for (uint32_t i = random_below(80); i; i--)
		name[len++] = (char)('a' + random_below(26));
	name[len] = '\0';
	snprintf(system_name, sizeof(system_name), "_ZN%.150s", name);
	return profile_function(prof, name, system_name, "/src/service/module.cpp",
				(uint32_t)nr * 10);
}

static void make_locations(struct profile *prof, int service, uint32_t *out)
{
	uint32_t functions[FUNCTIONS], mapping;
	char path[32];

	snprintf(path, sizeof(path), "/usr/bin/svc%d", service);
	mapping = profile_mapping(prof, path, "00112233445566778899aabbccddeeff00112233");
	for (int i = 0; i < FUNCTIONS; i++)
		functions[i] = make_function(prof, service, i);
	for (int i = 0; i < LOCATIONS; i++) {
		const struct profile_line line = {
			.function = functions[random_below(FUNCTIONS)],
			.line = random_below(3000),
		};

		out[i] = profile_location_lines(prof, mapping, 0x1000 + random_below(1 << 22), 0,
						&line, 1);
	}
}

/* A tree whose nodes have a parent a little before them; each path to the root is a stack. */
static void make_stacks(struct day *day, int service)
{
	static uint32_t locations[LOCATIONS], parents[STACKS], frames[STACKS];
	uint32_t path[STACKS];

	make_locations(&day->prof, service, locations);
	for (uint32_t i = 0; i < STACKS; i++) {
		size_t cnt = 0;

		parents[i] = i > 200 ? i - 1 - random_below(200) : 0;
		frames[i] = locations[random_below(LOCATIONS)];
		for (uint32_t at = i; at; at = parents[at])
			path[cnt++] = frames[at];
		path[cnt++] = frames[0];
		day->stacks[service][i] = profile_stack(&day->prof, path, cnt);
	}
	/* What is frequent is anywhere in the tree. */
	for (uint32_t i = STACKS - 1; i; i--) {
		uint32_t other = random_below(i + 1), stack = day->stacks[service][i];

		day->stacks[service][i] = day->stacks[service][other];
		day->stacks[service][other] = stack;
	}
}

static void make_day(struct day *day)
{
	char name[32];
	double sum = 0;

	profile_init(&day->prof);
	day->prof.period = PERIOD_NS;
	profile_add_value_type(&day->prof, "samples", "count");
	profile_add_value_type(&day->prof, "cpu", "nanoseconds");
	for (int i = 0; i < SERVICES; i++) {
		struct profile_label label = {.key = profile_string(&day->prof, "service")};

		snprintf(name, sizeof(name), "svc%d", i);
		label.str = profile_string(&day->prof, name);
		day->label_sets[i] = profile_labels(&day->prof, &label, 1);
		make_stacks(day, i);
	}
	for (int i = 0; i < STACKS; i++)
		day->cumulated[i] = sum += 1 / pow(i + 1, 1.2);
	for (int i = 0; i < STACKS; i++)
		day->cumulated[i] /= sum;
}

static uint32_t zipf(const struct day *day)
{
	double wanted = random_below(1 << 30) / (double)(1 << 30);
	uint32_t low = 0, high = STACKS - 1;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (day->cumulated[middle] < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void make_window(struct day *day)
{
	const int64_t values[] = {1, PERIOD_NS};
	struct profile_sample *samples;
	int64_t *old;
	size_t cnt;

	profile_take_samples(&day->prof, &samples, &old, &cnt);
	free(samples);
	free(old);
	for (int service = 0; service < SERVICES; service++)
		for (int i = 0; i < SAMPLES; i++)
			profile_sample(&day->prof, day->stacks[service][zipf(day)],
				       day->label_sets[service], values);
	day->samples += SERVICES * SAMPLES;
}

/* As an agent's on 16 CPUs; the numbers differ from window to window. */
static void make_ledger(struct ledger *ledger, uint64_t nr)
{
	struct ledger_event *event = &ledger->events[0];

	ledger_init(ledger);
	ledger->event_cnt = 1;
	ledger_copy_name(ledger->kernel, sizeof(ledger->kernel), "6.1.0-32-amd64");
	ledger_copy_name(ledger->arch, sizeof(ledger->arch), "x86_64");
	ledger_copy_name(event->name, sizeof(event->name), "cpu-clock");
	ledger_copy_name(event->unit, sizeof(event->unit), "samples");
	ledger->duration_s = 10.0 + random_below(1000) / 1e6;
	event->period = PERIOD_NS;
	event->sum.cpu = -1;
	for (int32_t cpu = 0; cpu < 16; cpu++) {
		struct ledger_row *row = ledger_row(event, cpu);

		row->ticks = 190;
		row->ran = row->recorded = 80 + random_below(60);
		row->never_ran_idle = row->ticks - row->ran;
		ledger_reason_add(&row->lost, "map_full", 0);
	}
	ledger_sum(ledger);
	ledger->stacks.complete = SERVICES * SAMPLES - random_below(30);
	ledger->stacks.distinct = 900 + random_below(200);
	ledger->cost.bpf_run_ns = 8000000 + random_below(1000000);
	ledger->cost.bpf_runs = event->sum.ran + nr % 3;
}

static int add_window(struct store *store, struct day *day, uint64_t nr)
{
	static const struct store_kind kind = {
		.name = "cpu", .columns = {0, 1}, .column_cnt = 2, .default_column = 1};
	struct store_window window = {
		.origin = {.boot_id = "0f0f0f0f-0000-4000-8000-000000000001", .epoch = nr},
		.start_ns = DAY_START_NS + nr * WINDOW_NS,
		.end_ns = DAY_START_NS + (nr + 1) * WINDOW_NS,
		.prof = &day->prof,
		.kinds = &kind,
		.kind_cnt = 1,
	};
	struct ledger ledger;
	int err;

	make_window(day);
	make_ledger(&ledger, nr);
	window.ledger = &ledger;
	err = store_add(store, &window, NULL);
	ledger_deinit(&ledger);
	return err;
}

static int print_sizes(struct store *store, const char *when)
{
	struct store_sizes sizes;
	int err = store_sizes(store, &sizes);

	if (err)
		return err;
	printf("%s: file %.2f MB; samples %.2f MB in %llu rows, dictionary %.2f MB, ledger %.2f "
	       "MB; "
	       "%.3f bytes per sample, %.3f with all of the file\n",
	       when, (double)sizes.file_bytes / 1e6, (double)sizes.kinds[0].bytes / 1e6,
	       (unsigned long long)sizes.kinds[0].rows, (double)sizes.dictionary_bytes / 1e6,
	       (double)sizes.ledger_bytes / 1e6,
	       (double)sizes.kinds[0].bytes / (double)sizes.kinds[0].samples,
	       (double)sizes.file_bytes / (double)sizes.kinds[0].samples);
	return 0;
}

/* Open, read [from, to), close: the time of all. */
static int time_read(const char *path, const char *what, uint64_t from_ns, uint64_t to_ns)
{
	const struct store_query query = {.from_ns = from_ns, .to_ns = to_ns};
	const uint64_t start_ns = clock_monotonic_ns(), cpu_ns = clock_process_cpu_ns();
	struct store *store;
	struct ledger ledger;
	struct profile prof;
	int err = store_open(path, STORE_READ, &store);

	if (err)
		return err;
	err = store_read(store, &query, &prof, &ledger, NULL);
	if (!err) {
		printf("%s: %.1f ms, %.1f of CPU time, %lld samples, %zu rows\n", what,
		       (double)(clock_monotonic_ns() - start_ns) / 1e6,
		       (double)(clock_process_cpu_ns() - cpu_ns) / 1e6,
		       (long long)profile_total(&prof, 0), prof.sample_cnt);
		profile_deinit(&prof);
		ledger_deinit(&ledger);
	}
	store_close(store);
	return err;
}

static int write_day(struct store *store, struct day *day, uint64_t window_cnt)
{
	struct rusage before, after;
	uint64_t start_ns = clock_monotonic_ns(), cpu_ns = clock_process_cpu_ns();
	int err = 0;

	getrusage(RUSAGE_SELF, &before);
	for (uint64_t nr = 0; nr < window_cnt && !err; nr++)
		err = add_window(store, day, nr);
	getrusage(RUSAGE_SELF, &after);
	printf("%llu windows: %.2f ms each, %.2f ms of CPU time (making them included); memory "
	       "grew "
	       "by %.1f MiB\n",
	       (unsigned long long)window_cnt,
	       (double)(clock_monotonic_ns() - start_ns) / 1e6 / (double)window_cnt,
	       (double)(clock_process_cpu_ns() - cpu_ns) / 1e6 / (double)window_cnt,
	       (double)(after.ru_maxrss - before.ru_maxrss) / 1024);
	return err;
}

static int compact(struct store *store)
{
	static const struct store_limits limits = {.compact_after_ns = 1};
	const uint64_t start_ns = clock_monotonic_ns(), cpu_ns = clock_process_cpu_ns();
	int more;

	while ((more = store_maintain(store, &limits, DAY_START_NS + 90000 * NSEC_PER_SEC,
				      100 * NSEC_PER_MSEC)) > 0)
		;
	printf("compaction: %.2f s, %.2f of CPU time\n",
	       (double)(clock_monotonic_ns() - start_ns) / 1e9,
	       (double)(clock_process_cpu_ns() - cpu_ns) / 1e9);
	return more;
}

static int read_day(const char *path, uint64_t window_cnt)
{
	const uint64_t noon_ns = DAY_START_NS + window_cnt / 2 * WINDOW_NS / (60 * NSEC_PER_SEC) *
							(60 * NSEC_PER_SEC);
	int err = time_read(path, "a minute", noon_ns, noon_ns + 60 * NSEC_PER_SEC);

	if (!err)
		err = time_read(path, "an hour", noon_ns, noon_ns + 3600 * NSEC_PER_SEC);
	if (!err)
		err = time_read(path, "everything", 0, UINT64_MAX);
	return err;
}

int main(int argc, char **argv)
{
	static struct day day;
	struct store *store;
	uint64_t window_cnt = 8640;
	char path[256];
	int err;

	if (argc < 2 || (argc > 2 && parse_u64(argv[2], &window_cnt))) {
		fprintf(stderr, "usage: store_day FOLDER [WINDOWS]\n");
		return 2;
	}
	snprintf(path, sizeof(path), "%s/day.db", argv[1]);
	make_day(&day);
	err = store_open(path, STORE_WRITE, &store);
	if (err)
		return 1;
	err = write_day(store, &day, window_cnt);
	if (!err)
		err = print_sizes(store, "as drained");
	if (!err)
		err = read_day(path, window_cnt);
	if (!err)
		err = compact(store);
	if (!err)
		err = print_sizes(store, "compacted");
	if (!err)
		err = read_day(path, window_cnt);
	store_close(store);
	profile_deinit(&day.prof);
	return err != 0;
}
