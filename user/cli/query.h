/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `bpfprof query`: what a local store holds of a range of time. The options become a question
 * (query_ask.c), the store's answer to it a profile (query_answer.c), and that a view.
 */
#ifndef BPFPROF_CLI_QUERY_H
#define BPFPROF_CLI_QUERY_H

#include "cli/cli.h"
#include "cli/diff_outputs.h"
#include "cli/rendering.h"
#include "cli/report.h"
#include "profile/ledger.h"
#include "store/key_list.h"
#include "store/match_list.h"
#include "store/source.h"

/* The fields that the option table fills. */
struct query_opts {
	const char *store, *since, *until, *before_since, *before_until, *kind, *sort;
	struct opts_list select, before_select;
	struct rendering render;
	struct opts_choices format; /* enum report_format */
	struct opts_choices width; /* enum diff_width */
	uint64_t limit;
	double fail_above; /* negative: not given */
	bool normalize;
	struct opts_args args;
};

struct query_range {
	uint64_t from_ns, to_ns; /* UTC */
};

struct query {
	const struct query_opts *opts;
	const char *url; /* borrowed: of the store, or the name of its file */
	char *name; /* owned: the same without a password */
	const char *kind; /* borrowed */
	struct query_range range, before;
	struct match_list where, before_where; /* before_where: empty: the same */
	struct key_list by;
	struct store_source *store; /* owned */
};

/*
 * What @opts ask for, without a store yet. 0; -EINVAL: wrong usage, with one line in @why, or with
 * none after log_error(); -ENOMEM. Release with query_deinit() in either case.
 */
int query_init(struct query *query, const struct query_opts *opts, struct buf *why);
void query_deinit(struct query *query);

/* @query as the store takes it, for @range; @keep: labels that stay (NULL: all). Borrows from both.
 */
struct store_query query_for_store(const struct query *query, const struct query_range *range,
				   const char *const *keep);

/* "2026-11-20 12:00 to 13:00 UTC", with seconds where there are some. */
void query_add_range(const struct query_range *range, struct buf *out);

/* The conditions on the labels of samples of @range. */
const struct match_list *query_where(const struct query *query, const struct query_range *range);

/* "service=web*,host=a", as --select has it; nothing where there is no condition. */
void query_add_selection(const struct match_list *where, struct buf *out);

/* --- Answers --- */

struct query_answer {
	struct query_range range; /* that was asked for */
	struct profile prof;
	struct profile_calls calls; /* with nodes: in the place of prof, query_read_calls() */
	struct ledger ledger;
	struct store_coverage coverage;
};

/*
 * Read @range, keeping the labels @keep. 0, also where nothing was sampled; -ENODATA after
 * log_error(): nothing is stored at all; or negative errno after log_error(). @out is initialised
 * by the call on success; query_answer_deinit() is fine on a zeroed one.
 */
int query_read(const struct query *query, const struct query_range *range, const char *const *keep,
	       struct query_answer *out);
void query_answer_deinit(struct query_answer *answer);

/* The same of the calls alone that a flame graph of --value shows, from a store that has them
 * merged. -ENOTSUP: it has not, query_read() does it. */
int query_read_calls(const struct query *query, const struct query_range *range,
		     const char *const *keep, struct query_answer *out);

/* The profile that was read, or the head of the calls. Borrowed. */
static inline struct profile *query_profile(struct query_answer *answer)
{
	return answer->calls.node_cnt ? &answer->calls.head : &answer->prof;
}

/* One log_info() about what of @range is stored and what is missing, and one with @ledger (may be
 * NULL). */
void query_summarize(const struct query_range *range, const struct store_coverage *coverage,
		     const struct ledger *ledger);

/* Why @range has no samples, and what may help, appended in one line. */
void query_explain_empty(const struct query *query, const struct query_range *range,
			 struct buf *out);

/* The same as a log_error(); returns CLI_NOTHING_SAMPLED. */
int query_refuse_empty(const struct query *query, const struct query_range *range);

/* The kind that is asked for was never stored: say what there is. -ENODATA: nothing at all; else
 * -ENOENT; or another negative errno. */
int query_refuse_kind(const struct query *query);

/* The exit status for what the functions here return: of a negative errno that was logged. */
int query_status(int err);

/* --- Views: each prints or writes one and returns the exit status --- */

int query_top(const struct query *query);
/* @outputs are named, and opened once there is something to write. */
int query_flame(const struct query *query, struct output_set *outputs, struct viewer *viewer);
/* Also of what has grown alone, as @opts say. */
int query_diff(const struct query *query, const struct diff_opts *opts,
	       struct diff_outputs *outputs);
int query_labels(const struct query *query);
int query_kinds(const struct query *query);

#endif
