/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums by hour and by day, for questions that are not about hosts: samples of the windows that the
 * ledger has, added up by (service, version, kind, stack).
 *
 * The sums of an hour are a function of which windows the ledger has in it: these only become more,
 * and what a window has never changes. So a state of the ledger is told by how many windows there
 * are and the sum of their keys' hashes, and table rollups says of which state a span's sums are. A
 * reader compares that with the ledger, and takes the samples where they differ.
 *
 *	begun  a row of rollups with done 0 says that rows of build `built` may be there
 *	rows   INSERT ... SELECT; they replace those of the build before, of which each has a
 *	       successor, as there is nothing less in an hour than before
 *	done   a row with done 1: state and number of rows
 *
 * Sums are good where the last build that was begun is done, and made of what the ledger has now.
 * Whoever is killed between them leaves a span that is read from samples, and made anew by the next
 * job. Two jobs at once do no harm: the later build has to be done before it is used.
 *
 * A day is made of its hours when all of them are good. Its state is the sum of theirs. Sums that
 * are done get trees (rollup_trees.h), by whichever job finds them without.
 */
#ifndef BPFPROF_CLICKHOUSE_ROLLUP_H
#define BPFPROF_CLICKHOUSE_ROLLUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "clickhouse/client.h"

enum { ROLLUP_HOUR_S = 3600, ROLLUP_DAY_S = 86400 };

/* An hour or a day (UTC), and what the ledger has in it, or its sums are made of. */
struct rollup_span {
	uint32_t start_s, length_s;
	uint64_t windows, state;
	uint64_t built, rows; /* of sums */
};

struct rollup_spans {
	struct rollup_span *items; /* owned: free() */
	size_t cnt, cap;
};

/* Append a span: 0 or -ENOMEM. */
int rollup_spans_add(struct rollup_spans *spans, const struct rollup_span *span);

/* The one of @spans, which are sorted by start, that begins there; or NULL. Borrowed. */
const struct rollup_span *rollup_spans_find(const struct rollup_spans *spans, uint32_t start_s);

/* Append to @out what @sql, to which it adds, asks for: spans of that length, rows of (start,
 * windows, state, built, rows). 0 or negative errno as ch_client_query(). */
int rollup_ask(struct ch_client *client, struct buf *sql, uint32_t length_s,
	       struct rollup_spans *out);

/*
 * Append to @out what the ledger has of each hour in [@from_s, @to_s) that has windows; of windows
 * that start in [@from_ns, @to_ns) alone. Sorted. 0 or negative errno as ch_client_query().
 */
int rollup_ledger(struct ch_client *client, uint32_t from_s, uint32_t to_s, uint64_t from_ns,
		  uint64_t to_ns, struct rollup_spans *out);

/* Append to @out the spans of that length in [@from_s, @to_s) whose last build is done, sorted. 0
 * or negative errno. */
int rollup_done(struct ch_client *client, uint32_t length_s, uint32_t from_s, uint32_t to_s,
		struct rollup_spans *out);

/* Are these sums made of what the ledger has? @sums: NULL, there are none. */
bool rollup_is_good(const struct rollup_span *sums, const struct rollup_span *ledger);

/* What of @hours (of the ledger, sorted) is in the day that begins at @day_s, in sum. */
struct rollup_span rollup_day_of(const struct rollup_spans *hours, uint32_t day_s);

/* The table that spans of that length are in. */
const char *rollup_table(uint32_t length_s);

/* What the job did. */
struct rollup_result {
	uint64_t hours_made, hours_good; /* good: there was nothing to do */
	uint64_t days_made, days_good;
	uint64_t rows; /* that were made */
	uint64_t trees; /* spans whose trees were made (rollup_trees.h) */
	uint64_t left; /* spans that could not be made: a line each in the job's @out */
};

/*
 * Make what is missing of the hours and days that are over at @now_ns, of the days from that of
 * @from_ns to that of @to_ns (UTC; UINT64_MAX: all that there are). 0 or negative errno as
 * ch_client_query(); what was done until then stays.
 */
int rollup_run(struct ch_client *client, uint64_t from_ns, uint64_t to_ns, uint64_t now_ns,
	       struct rollup_result *result, struct buf *out);

/*
 * Compare the good sums of [@from_s, @to_s), whole days, with what they were made of, and their
 * trees with them. A line in @out for each of both that differs, *@checked and *@differ: how many
 * were compared, and differ (added). 0 or negative errno as ch_client_query().
 */
int rollup_check(struct ch_client *client, uint32_t from_s, uint32_t to_s, struct buf *out,
		 uint64_t *checked, uint64_t *differ);

#endif
