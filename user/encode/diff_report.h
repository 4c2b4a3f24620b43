/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `diff` and `compare` tell: the difference with what is known of its two sides, as text, as
 * markdown and as JSON.
 */
#ifndef BPFPROF_ENCODE_DIFF_REPORT_H
#define BPFPROF_ENCODE_DIFF_REPORT_H

#include <stdbool.h>

#include "base/buf.h"
#include "encode/diff_svg.h"
#include "profile/diff.h"
#include "profile/significance.h"

/* Something that is known of the sides: "kernel", "host", "period". */
struct diff_fact {
	char *key; /* owned */
	char *value[DIFF_SIDE_CNT]; /* owned; NULL: not known of this side */
};

/* What was measured of runs beside their profiles. */
struct diff_timing {
	const char *name; /* "wall time" */
	struct significance_shift shift; /* seconds */
};

enum { DIFF_TIMINGS_MAX = 2 };

/* Lines of text, all owned. */
struct diff_lines {
	char **items;
	size_t cnt, cap;
};

enum diff_sort {
	DIFF_BY_CHANGE, /* of the total, the larger the earlier */
	DIFF_BY_SELF, /* change of it */
	DIFF_BY_PERCENT,
	DIFF_BY_BEFORE,
	DIFF_BY_AFTER,
	DIFF_BY_NAME,
};

struct diff_report {
	const struct diff *diff; /* borrowed; finished */
	const char *names[DIFF_SIDE_CNT]; /* borrowed: files or commands */
	char *type,
		*unit; /* owned, as the joined profile's strings may move: "cpu", "nanoseconds" */
	struct diff_fact *facts; /* owned */
	size_t fact_cnt, fact_cap;
	struct diff_timing timings[DIFF_TIMINGS_MAX];
	size_t timing_cnt;
	uint32_t *order; /* owned: rows of the diff that changed */
	size_t order_cnt;
	bool is_of_grown; /* diff_report_keep_grown() has left them */
	uint64_t limit; /* lines of the table */
	double fail_above; /* percent; negative: not asked for */
	struct diff_lines warnings, regressions;
};

/* Let diff.joined say in a comment what its sides are called. 0 or -ENOMEM. */
int diff_note_names(struct diff *diff, const char *const names[DIFF_SIDE_CNT]);

/* A report on @diff. 0 or -ENOMEM; release with diff_report_deinit() in either case. */
int diff_report_init(struct diff_report *report, const struct diff *diff, enum diff_sort sort);
void diff_report_deinit(struct diff_report *report);

/* Keep of the rows what significantly grew, itself or with what it calls. */
void diff_report_keep_grown(struct diff_report *report);

/*
 * Collect what @prof tells of how it was recorded: its ledger (and whose version wrote it), its
 * period, and the comment
 * "bpfprof-host: {JSON object}", whose strings, numbers and booleans become facts under their keys.
 * The first that is told under a key counts. 0 or -ENOMEM.
 */
int diff_report_facts(struct diff_report *report, enum diff_side side, const struct profile *prof);

/*
 * After facts, timings and fail_above: what must be warned of, and --fail-above: the whole, then
 * every function whose growth is significant and more than fail_above percent of the whole before,
 * as "regression: F +5.10 % of all (+25.0 % of itself)". 0 or -ENOMEM.
 */
int diff_report_conclude(struct diff_report *report);

void diff_report_text(const struct diff_report *report, struct buf *out);
void diff_report_markdown(const struct diff_report *report, struct buf *out);

/*
 * { "value": "cpu", "unit": "nanoseconds", "normalized": false, "level": 0.05,
 *   "before": { "name", "duration_s", "runs", "facts": { KEY: "..." } }, "after": { ... },
 *   "warnings": ["..."], "regressions": ["..."],
 *   "timings": [{ "name", "before_s", "after_s", "change_s", "low_s", "high_s", "p" }],
 *   "total": CHANGE,
 *   "functions": [{ "name", "module", "total": CHANGE, "self": CHANGE }] }
 *
 * CHANGE is { "before", "after", "change", "margin", "samples_before", "samples_after", "p",
 * "rate", "significant" }; p and rate are null where nothing was tested. Functions that did not
 * change are not there; the limit does not count.
 */
void diff_report_json(const struct diff_report *report, struct buf *out);

/* The same without the line's end, as a part of something. */
void diff_report_object(const struct diff_report *report, struct buf *out);

/* One line for a graph's subtitle: both names, the total's change. */
void diff_report_line(const struct diff_report *report, struct buf *out);

/* A row's function, "malloc  [libc.so.6]", fit for a terminal. */
void diff_report_function(const struct diff_report *report, uint32_t row, struct buf *out);

/* Of one run on average, with the unit; in percent of the whole before where shares are compared.
 */
void diff_report_amount(const struct diff_report *report, double amount, struct buf *out);

#endif
