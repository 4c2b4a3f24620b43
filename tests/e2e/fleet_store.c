/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A local store of many small windows, and what is in it:
 *
 *	fleet_store FILE FIRST COUNT [PAUSE_MS]
 *			adds COUNT windows of 10 s, from number FIRST on, with a pause behind each;
 *			prints what was added in sum: "cpu SAMPLES NS off-cpu WAITS NS
 *			samples-of-web N"
 *	fleet_store FILE drop BYTES
 *			retention: keeps no more than that
 *	fleet_store FILE compact
 *			windows become one a minute
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "store/store.h"

/* 2026-11-20 12:00:00 UTC */
#define NOON_S UINT64_C(1795176000)

enum { WINDOW_S = 10, PERIOD_NS = 10000000, DEPTH = 4, ROWS = 40, FUNCTIONS = 300 };

static const char *const services[] = {"web", "db", "batch", "queue,1"};

static const struct store_kind kinds[] = {
	{.name = "cpu",
	 .columns = {0, 1},
	 .column_cnt = 2,
	 .default_column = 1,
	 .event = "cpu-clock"},
	{.name = "off-cpu", .columns = {2, 3, 4, 5, 6}, .column_cnt = 5, .default_column = 4},
};

/* What was added. */
struct sums {
	int64_t samples, cpu_ns, waits, off_ns, web;
};

/* A generator of its own, so that the content is the same everywhere. */
static uint32_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

static uint32_t add_stack(struct profile *prof, uint64_t *random)
{
	uint32_t locations[DEPTH];

	for (uint32_t i = 0; i < DEPTH; i++) {
		const uint32_t number = next_random(random) % FUNCTIONS;
		char name[32], build_id[41];

		snprintf(name, sizeof(name), "function_%u", number);
		snprintf(build_id, sizeof(build_id), "%040x", number % 7 + 1);
		if (number % 3) {
			const uint32_t mapping =
				profile_mapping(prof, "/usr/bin/program", build_id);
			const uint32_t function = profile_function(prof, name, name, "file.c", 10);
			const struct profile_line line = {function, number};

			locations[i] =
				profile_location_lines(prof, mapping, 0x1000 + number, 0, &line, 1);
		} else {
			locations[i] = profile_named_location(prof, name, 0);
		}
	}
	return profile_stack(prof, locations, DEPTH);
}

static uint32_t add_labels(struct profile *prof, uint32_t service, uint32_t thread)
{
	char comm[32];
	struct profile_label labels[3];
	const uint32_t none = profile_string(prof, "");

	snprintf(comm, sizeof(comm), "thread-%u", thread);
	labels[0] = (struct profile_label){.key = profile_string(prof, "service"),
					   .str = profile_string(prof, services[service]),
					   .num_unit = none};
	labels[1] = (struct profile_label){.key = profile_string(prof, "comm"),
					   .str = profile_string(prof, comm),
					   .num_unit = none};
	labels[2] = (struct profile_label){.key = profile_string(prof, "host"),
					   .str = profile_string(prof, "alpha"),
					   .num_unit = none};
	return profile_labels(prof, labels, 3);
}

static void add_row(struct profile *prof, uint64_t *random, struct sums *sums)
{
	const uint32_t stack = add_stack(prof, random);
	const uint32_t service = next_random(random) % 4;
	const uint32_t labels = add_labels(prof, service, next_random(random) % 3);
	const int64_t cnt = next_random(random) % 9 + 1;
	int64_t values[7] = {0};

	if (next_random(random) % 2) {
		values[0] = cnt;
		values[1] = cnt * PERIOD_NS;
		sums->samples += cnt;
		sums->cpu_ns += values[1];
		sums->web += service ? 0 : cnt;
	} else {
		values[2] = cnt;
		values[3] = next_random(random);
		values[4] = next_random(random) % 1000;
		values[5] = -(int64_t)(next_random(random) % 5);
		values[6] = values[3] + values[4];
		sums->waits += cnt;
		sums->off_ns += values[6];
	}
	profile_sample(prof, stack, labels, values);
}

static void declare_values(struct profile *prof)
{
	prof->period = PERIOD_NS;
	profile_add_value_type(prof, "samples", "count");
	profile_add_value_type(prof, "cpu", "nanoseconds");
	prof->period_type = prof->value_types[1];
	prof->period = PERIOD_NS;
	profile_add_value_type(prof, "waits", "count");
	profile_add_value_type(prof, "blocked", "nanoseconds");
	profile_add_value_type(prof, "runnable", "nanoseconds");
	profile_add_value_type(prof, "balance", "count");
	profile_add_value_type(prof, "off_cpu", "nanoseconds");
}

static int add_window(struct store *store, uint64_t nr, struct sums *sums)
{
	struct profile prof;
	struct ledger ledger;
	struct store_window window = {
		.origin = {.boot_id = "0f0f0f0f-0000-4000-8000-000000000001",
			   .instance = 7,
			   .epoch = nr},
		.start_ns = (NOON_S + nr * WINDOW_S) * NSEC_PER_SEC,
		.end_ns = (NOON_S + (nr + 1) * WINDOW_S) * NSEC_PER_SEC,
		.prof = &prof,
		.ledger = &ledger,
		.kinds = kinds,
		.kind_cnt = sizeof(kinds) / sizeof(*kinds),
	};
	uint64_t random = nr * 7919 + 1;
	int64_t before = sums->samples;
	int err = profile_init(&prof);

	if (err)
		return err;
	ledger_init(&ledger);
	declare_values(&prof);
	/* Some have nothing. */
	for (int i = 0; i < ROWS && nr % 17; i++)
		add_row(&prof, &random, sums);
	ledger.event_cnt = 1;
	ledger_copy_name(ledger.events[0].name, sizeof(ledger.events[0].name), "cpu-clock");
	ledger.events[0].sum.cpu = -1;
	ledger.events[0].sum.recorded = (uint64_t)(sums->samples - before);
	err = prof.err ? prof.err : store_add(store, &window, NULL);
	ledger_deinit(&ledger);
	profile_deinit(&prof);
	return err;
}

static int add_windows(struct store *store, uint64_t first, uint64_t cnt, long pause_ms)
{
	struct sums sums = {0};
	int err = 0;

	for (uint64_t i = 0; i < cnt && !err; i++) {
		err = add_window(store, first + i, &sums);
		if (pause_ms)
			nanosleep(&(const struct timespec){.tv_nsec = pause_ms * 1000000}, NULL);
	}
	printf("cpu %lld %lld off-cpu %lld %lld samples-of-web %lld\n", (long long)sums.samples,
	       (long long)sums.cpu_ns, (long long)sums.waits, (long long)sums.off_ns,
	       (long long)sums.web);
	return err;
}

static int maintain(struct store *store, const struct store_limits *limits)
{
	int more;

	do
		more = store_maintain(store, limits, clock_realtime_ns(), NSEC_PER_SEC);
	while (more > 0);
	return more;
}

int main(int argc, char **argv)
{
	struct store_limits limits = {0};
	struct store *store;
	int err;

	if (argc < 3 || store_open(argv[1], STORE_WRITE, &store))
		return 1;
	if (!strcmp(argv[2], "drop") && argc == 4) {
		limits.max_bytes = strtoull(argv[3], NULL, 10);
		err = maintain(store, &limits);
	} else if (!strcmp(argv[2], "compact")) {
		limits.compact_after_ns = 1;
		err = maintain(store, &limits);
	} else {
		err = argc < 4 ? -1
			       : add_windows(store, strtoull(argv[2], NULL, 10),
					     strtoull(argv[3], NULL, 10),
					     argc > 4 ? strtol(argv[4], NULL, 10) : 0);
	}
	store_close(store);
	return err != 0;
}
