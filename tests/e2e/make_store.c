/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store of known content:
 *
 *	make_store FILE TRUTH		two hours from 2026-11-20 12:00:00 UTC, a window a minute,
 *					none of them from 12:40 to 12:50; TRUTH gets a line for each
 *					sample that is stored: window's start in seconds, kind,
 *					service, host, comm, stack (root first), count, nanoseconds
 *	make_store FILE TRUTH NR	the same of another host: NR stands behind the names of its
 *					hosts, each sample is there NR times as often, windows begin
 *					NR * 170 ms later
 *	make_store FILE - MINUTES	has the store open and adds a window more each 20 ms, up to
 *					MINUTES of them from 15:00 on; says when the first is there
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "store/store.h"

#define NOON_S UINT64_C(1795176000)

enum {
	WINDOW_S = 60,
	WINDOWS = 120,
	GAP_FIRST = 40,
	GAP_END = 50,
	LATER = 180, /* minutes after noon */
	PERIOD_NS = 10000000,
	DEPTH_MAX = 4,
};

/* Names that mean harm to a terminal, a table, a page, a line of folded text. */
static const char hostile_comm[] = "sh;\x1b[31m|`<b>\n\xff";
static const char hostile_name[] = "<script>alert(1)</script>;\x1b]0;x\x07|`";

/* What each window has: `early` samples in the first hour, `late` afterwards. */
static const struct row {
	const char *kind, *service, *host, *comm;
	const char *stack[DEPTH_MAX]; /* leaf first */
	int early, late;
} rows[] = {
	{"cpu", "web", "alpha", "nginx", {"parse", "handle", "main"}, 3, 9},
	{"cpu", "web", "alpha", "nginx", {"handle", "main"}, 1, 1},
	{"cpu", "web", "beta", "nginx", {"send", "handle", "main"}, 2, 2},
	{"cpu", "db,1", "beta", "postgres", {"read", "query", "main"}, 4, 4},
	{"cpu", "batch", "beta", "job", {"sort", "main"}, 0, 5},
	{"cpu", NULL, "alpha", hostile_comm, {hostile_name, "main"}, 1, 1},
	{"off-cpu", "web", "alpha", "nginx", {"poll", "handle", "main"}, 7, 7},
	{"off-cpu", "db,1", "beta", "postgres", {"fsync", "query", "main"}, 2, 3},
};

enum { ROW_CNT = sizeof(rows) / sizeof(*rows), LATER_NS = 170000000 /* a host after another */ };

/* Which of several hosts, or 0: the only one. */
static unsigned int host_nr;

struct host_name {
	char text[16];
};

static struct host_name host_of(const struct row *row)
{
	struct host_name name;

	if (host_nr)
		snprintf(name.text, sizeof(name.text), "%s%u", row->host, host_nr);
	else
		snprintf(name.text, sizeof(name.text), "%s", row->host);
	return name;
}

static const struct store_kind kinds[] = {
	{.name = "cpu",
	 .columns = {0, 1},
	 .column_cnt = 2,
	 .default_column = 1,
	 .event = "cpu-clock"},
	{.name = "off-cpu", .columns = {2, 3}, .column_cnt = 2, .default_column = 1},
};

static int count_of(const struct row *row, uint64_t minute)
{
	return (minute < WINDOWS / 2 ? row->early : row->late) * (host_nr ? (int)host_nr : 1);
}

static void add_label(struct profile *prof, struct profile_label *labels, size_t *cnt,
		      const char *key, const char *value)
{
	if (value)
		labels[(*cnt)++] = (struct profile_label){
			.key = profile_string(prof, key),
			.str = profile_string(prof, value),
			.num_unit = profile_string(prof, ""),
		};
}

static void add_row(struct profile *prof, const struct row *row, int cnt)
{
	uint32_t locations[DEPTH_MAX], depth = 0;
	struct profile_label labels[4];
	int64_t values[4] = {0};
	size_t label_cnt = 0, first = strcmp(row->kind, "cpu") ? 2 : 0;

	for (; depth < DEPTH_MAX && row->stack[depth]; depth++)
		locations[depth] = profile_named_location(prof, row->stack[depth], 0);
	add_label(prof, labels, &label_cnt, "service", row->service);
	add_label(prof, labels, &label_cnt, "host", host_of(row).text);
	add_label(prof, labels, &label_cnt, "comm", row->comm);
	values[first] = cnt;
	values[first + 1] = (int64_t)cnt * PERIOD_NS;
	profile_sample(prof, profile_stack(prof, locations, depth),
		       profile_labels(prof, labels, label_cnt), values);
}

static int fill(struct profile *prof, struct ledger *ledger, uint64_t minute)
{
	struct ledger_event *event = &ledger->events[0];

	ledger_init(ledger);
	ledger_copy_name(ledger->kernel, sizeof(ledger->kernel), "6.1.0");
	ledger->duration_s = WINDOW_S;
	ledger->event_cnt = 1;
	ledger_copy_name(event->name, sizeof(event->name), "cpu-clock");
	ledger_copy_name(event->unit, sizeof(event->unit), "samples");
	event->period = PERIOD_NS;
	prof->period = PERIOD_NS;
	profile_add_value_type(prof, "samples", "count");
	profile_add_value_type(prof, "cpu", "nanoseconds");
	profile_add_value_type(prof, "waits", "count");
	profile_add_value_type(prof, "off_cpu", "nanoseconds");
	for (size_t i = 0; i < ROW_CNT; i++) {
		int cnt = count_of(&rows[i], minute);

		if (!cnt)
			continue;
		add_row(prof, &rows[i], cnt);
		if (!strcmp(rows[i].kind, "cpu"))
			event->sum.recorded += (uint64_t)cnt;
	}
	event->sum.cpu = -1;
	event->sum.ticks = event->sum.ran = event->sum.recorded;
	ledger->stacks.complete = event->sum.recorded;
	return prof->err;
}

static int add_window(struct store *store, uint64_t minute)
{
	struct profile prof;
	struct ledger ledger;
	struct store_window window = {
		.origin = {.boot_id = "0f0f0f0f-0000-4000-8000-000000000001",
			   .instance = 7,
			   .epoch = minute},
		.start_ns = (NOON_S + minute * WINDOW_S) * NSEC_PER_SEC + host_nr * LATER_NS,
		.end_ns = (NOON_S + (minute + 1) * WINDOW_S) * NSEC_PER_SEC + host_nr * LATER_NS,
		.prof = &prof,
		.ledger = &ledger,
		.kinds = kinds,
		.kind_cnt = sizeof(kinds) / sizeof(*kinds),
	};
	int err = profile_init(&prof);

	if (err)
		return err;
	err = fill(&prof, &ledger, minute);
	if (!err)
		err = store_add(store, &window, NULL);
	ledger_deinit(&ledger);
	profile_deinit(&prof);
	return err;
}

/* Backslashes, tabs and line ends would break the truth's lines: the rows are told by their number
 * where they have such. */
static void write_truth(FILE *truth, uint64_t minute)
{
	for (size_t i = 0; i < ROW_CNT; i++) {
		const struct row *row = &rows[i];
		int cnt = count_of(row, minute);

		if (!cnt)
			continue;
		fprintf(truth, "%llu\t%s\t%s\t%s\t%s\t",
			(unsigned long long)(NOON_S + minute * WINDOW_S), row->kind,
			row->service ? row->service : "", host_of(row).text,
			row->comm == hostile_comm ? "HOSTILE" : row->comm);
		for (int depth = DEPTH_MAX; depth--;)
			if (row->stack[depth])
				fprintf(truth, "%s%s",
					row->stack[depth] == hostile_name ? "HOSTILE"
									  : row->stack[depth],
					depth ? ";" : "");
		fprintf(truth, "\t%d\t%lld\n", cnt, (long long)cnt * PERIOD_NS);
	}
}

static int make(struct store *store, const char *path)
{
	FILE *truth = fopen(path, "w");
	int err = 0;

	if (!truth)
		return -errno;
	for (uint64_t minute = 0; minute < WINDOWS && !err; minute++) {
		if (minute == GAP_FIRST)
			err = store_add_tombstone(store,
						  (NOON_S + GAP_FIRST * WINDOW_S) * NSEC_PER_SEC,
						  (NOON_S + GAP_END * WINDOW_S) * NSEC_PER_SEC, 10,
						  110, "ENOSPC");
		if (err || (minute >= GAP_FIRST && minute < GAP_END))
			continue;
		err = add_window(store, minute);
		write_truth(truth, minute);
	}
	return fclose(truth) && !err ? -EIO : err;
}

static int go_on(struct store *store, uint64_t minutes)
{
	const struct timespec pause = {.tv_nsec = 20000000};
	int err = 0;

	for (uint64_t minute = 0; minute < minutes && !err; minute++) {
		err = add_window(store, LATER + minute);
		if (!minute && !err)
			puts("open");
		fflush(stdout);
		nanosleep(&pause, NULL);
	}
	return err;
}

int main(int argc, char **argv)
{
	struct store *store;
	int err;

	if (argc < 3) {
		fprintf(stderr, "usage: make_store FILE TRUTH [NR] | make_store FILE - MINUTES\n");
		return 2;
	}
	err = store_open(argv[1], STORE_WRITE, &store);
	if (err)
		return 1;
	if (!strcmp(argv[2], "-")) {
		err = go_on(store, argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
	} else {
		host_nr = argc > 3 ? (unsigned int)strtoul(argv[3], NULL, 10) : 0;
		err = make(store, argv[2]);
	}
	store_close(store);
	if (err)
		fprintf(stderr, "make_store: %s: %s\n", argv[1], strerror(-err));
	return err ? 1 : 0;
}
