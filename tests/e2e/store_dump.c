/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_dump PATH KIND [KEY=GLOB]: what a store holds of a kind, a fact a line:
 *
 *	windows N			tombstones N		covered NS
 *	recorded EVENT N		of the ledgers, in sum
 *	lost EVENT N			... with, behind each, lost_to REASON N
 *	absent EVENT NS			... and for how long it was not recorded
 *	balanced yes|no			... of one event that was sampled
 *	total TYPE N			of the samples
 *	label KEY VALUE N		the kind's first value under each label
 *	frame NAME			each function that was named
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/store.h"

static void print_labels(const struct profile *prof)
{
	for (size_t i = 0; i < prof->sample_cnt; i++) {
		const struct profile_label_set set = prof->label_sets[prof->samples[i].label_set];

		for (uint32_t k = set.first; k < set.first + set.cnt; k++)
			if (prof->labels[k].str != PROFILE_NONE)
				printf("label %s %s %" PRId64 "\n",
				       profile_str(prof, prof->labels[k].key),
				       profile_str(prof, prof->labels[k].str),
				       prof->values[i * prof->value_type_cnt]);
			else
				printf("number %s\n", profile_str(prof, prof->labels[k].key));
	}
}

static void print_lost(const struct ledger_event *event)
{
	printf("lost %s %" PRIu64 "\n", event->name, ledger_reasons_sum(&event->sum.lost));
	for (uint32_t i = 0; i < event->sum.lost.cnt; i++)
		printf("lost_to %s %" PRIu64 "\n", event->sum.lost.items[i].name,
		       event->sum.lost.items[i].cnt);
}

static void print_ledger(const struct ledger *ledger)
{
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	for (uint32_t i = 0; i < ledger->event_cnt; i++) {
		printf("recorded %s %" PRIu64 "\n", ledger->events[i].name,
		       ledger->events[i].sum.recorded);
		print_lost(&ledger->events[i]);
		printf("absent %s %" PRIu64 "\n", ledger->events[i].name,
		       ledger->events[i].absent_ns);
	}
	printf("balanced %s\n", ledger_balances(ledger, &why) ? "yes" : buf_cstr(&why));
	buf_deinit(&why);
}

static int dump(struct store *store, const struct store_query *query)
{
	struct store_coverage coverage;
	struct ledger ledger;
	struct profile prof;
	int err = store_read(store, query, &prof, &ledger, &coverage);

	if (err) {
		fprintf(stderr, "store_read: %s\n", strerror(-err));
		return 1;
	}
	printf("windows %" PRIu64 "\ntombstones %" PRIu64 "\ncovered %" PRIu64 "\n",
	       coverage.window_cnt, coverage.tombstone_cnt, coverage.covered_ns);
	print_ledger(&ledger);
	for (uint32_t i = 0; i < prof.value_type_cnt; i++)
		printf("total %s %" PRId64 "\n", profile_str(&prof, prof.value_types[i].type),
		       profile_total(&prof, i));
	print_labels(&prof);
	for (size_t i = 0; i < prof.function_cnt; i++)
		printf("frame %s\n", profile_str(&prof, prof.functions[i].name));
	profile_deinit(&prof);
	ledger_deinit(&ledger);
	return 0;
}

int main(int argc, char **argv)
{
	struct store_query query = {.to_ns = UINT64_MAX};
	struct store_match match;
	struct store *store;
	char *equals;
	int status;

	if (argc < 3 || store_open(argv[1], STORE_READ, &store))
		return 2;
	query.kind = argv[2];
	equals = argc > 3 ? strchr(argv[3], '=') : NULL;
	if (equals) {
		*equals = '\0';
		match = (struct store_match){argv[3], equals + 1};
		query.where = &match;
		query.where_cnt = 1;
	}
	status = dump(store, &query);
	store_close(store);
	return status;
}
