/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The difference of two profiles, or of two sets of runs, for one value.
 *
 * Frames are matched by what they are called and whether they are the kernel's, never by ids or
 * addresses, so that another build or another machine may have made the other side. All samples of
 * both sides go into one profile, `joined`, whose values are "before", "after" and "delta"; each
 * frame is a location of its own there (inlining differs between builds), so that a location of it
 * is a function and whatever draws a profile can draw the difference.
 *
 * How sure is a change? Sampling again would give other counts: a stack of n samples, n give or
 * take chance. The bootstrap over stacks imitates that by giving each stack a Poisson-
 * distributed number of samples with mean n, and looks how far sums spread. That spread needs
 * no dice: a stack's value v made of n samples contributes v^2 / n to the variance of every sum
 * that it is in, and sums of many are normal. So the numbers here are what infinitely many
 * draws would give, the same in each run, in time linear in the profile (the unit test draws,
 * with a seed, and compares). With it
 *
 *	margin = 1.96 * sqrt(variance before + variance after)           change +- margin: 95 %
 *	p      = tail((|change| - one sample) / sqrt(...))      one sample: counts are no continuum
 *
 * Samples of one stack are of one size where the value is a multiple of their number (time by a
 * timer). Else (waits, sizes) their spread is not known and taken as that of an exponential
 * distribution, whose square is on average twice the square of its mean: the variance doubles.
 *
 * With several runs on a side, the sums of the runs tell how far they spread for whatever
 * reason, chance of sampling included; the larger of the two spreads counts, and tail and
 * margin are those of Student's t with Welch's degrees of freedom. That is so where the spread
 * of sampling is the larger one, too: a few runs may look alike by chance. (With the normal
 * distribution there, 3 runs of each that drift by 50 % had a function told in 16 % of pairs in
 * which nothing had changed.) What was recorded to the last one (waits, allocations, hits of a
 * probe) has no chance of sampling: there the runs alone decide, however few samples there are.
 * Waits of which chance left out some below a threshold q are in between: such a wait counts q at
 * most, so a sum v has at worst the variance of v / q samples of size q, q v, and that much is its
 * chance of sampling.
 *
 * Many functions are tested at once: among those called significant at most 5 % are false on
 * average (Benjamini and Hochberg). What has fewer than DIFF_SAMPLES_MIN samples on both sides
 * together is not tested.
 *
 * Two recordings differ for more reasons than sampling: what the load did in one window and not in
 * the other is a true change here. Only several runs tell it from one between versions.
 */
#ifndef BPFPROF_PROFILE_DIFF_H
#define BPFPROF_PROFILE_DIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/hmap.h"
#include "profile/profile.h"

enum diff_side { DIFF_BEFORE, DIFF_AFTER, DIFF_SIDE_CNT };

enum { DIFF_DELTA = DIFF_SIDE_CNT }; /* the third value of diff.joined */

enum { DIFF_SAMPLES_MIN = 10 };

/* A sum on both sides. */
struct diff_change {
	int64_t value[DIFF_SIDE_CNT]; /* as recorded */
	double samples[DIFF_SIDE_CNT]; /* that it is made of */
	double change; /* after - before; with normalize, after scaled to before's total */
	double margin; /* half the width of the interval, at 95 % */
	double p; /* NaN: not tested */
	double rate; /* p adjusted for the number of tests; NaN: not tested */
	bool is_significant;
};

/* A function: what it does itself, and with all that it calls. */
struct diff_row {
	uint32_t location; /* in diff.joined */
	struct diff_change self, total;
};

/* What one run had of one sample of diff.joined. */
struct diff_entry {
	uint32_t sample;
	int64_t value;
	double samples, variance; /* of one run; of how many samples, as if they came at random */
	/* Of several: the same of what was left to chance alone. Nothing was: INFINITY and 0. */
	double draws, chance;
};

struct diff_run {
	enum diff_side side;
	size_t first, cnt; /* entries */
};

struct diff {
	struct profile joined;
	uint32_t type; /* string of joined: the value that is compared, "cpu" */
	struct diff_entry *entries; /* owned; run after run */
	size_t entry_cnt, entry_cap;
	struct diff_run *runs; /* owned */
	size_t run_cnt, run_cap;
	size_t side_runs[DIFF_SIDE_CNT];
	const char *by; /* borrowed: label keys that tell samples apart, as encoder_opts.by */
	bool normalize;
	struct diff_row *rows; /* owned; functions, in the order in which they were met */
	size_t row_cnt;
	struct diff_change total;
	struct hmap frames; /* (class, name, address) -> location */
	uint64_t duration_ns[DIFF_SIDE_CNT];
};

/*
 * A difference without runs. @by: comma list of label keys by which samples are told apart beside
 * their stacks, NULL: comm; "": none. @normalize: compare shares: after is scaled to before's
 * total. 0 or -ENOMEM; release with diff_deinit() in either case.
 */
int diff_init(struct diff *diff, const char *by, bool normalize);
void diff_deinit(struct diff *diff);

/*
 * Add value @value of @prof as a run of @side. The first one decides unit and period of
 * diff.joined. 0; -E2BIG: too many frames; -ENOMEM. O(frames in its stacks).
 */
int diff_add(struct diff *diff, enum diff_side side, const struct profile *prof, uint32_t value);

/* After the last run: rows and total. 0 or -ENOMEM. */
int diff_finish(struct diff *diff);

/*
 * Sums over samples of diff.joined, grouped as one likes: sample i counts in the groups
 * items[first[i] .. first[i + 1]), once each. Group 0 to @group_cnt go to @out, tested as one
 * family. 0 or -ENOMEM.
 */
struct diff_groups {
	const uint32_t *first, *items;
	size_t group_cnt;
};
int diff_measure(const struct diff *diff, const struct diff_groups *groups,
		 struct diff_change *out);

/* @value as a whole number, as near as an int64_t can be. */
int64_t diff_round(double value);

/* By how much the change is of what was before, in percent; INFINITY: there was nothing. */
double diff_percent(const struct diff_change *change);

/*
 * The value type by which both profiles can be compared: called @name in both, with one unit; NULL:
 * CPU time where both have it, else the default of either that both have, else the first. Indices
 * go to @out. 0; -ENOENT with one line in @why that has both lists.
 */
int diff_pick_value(const struct profile *before, const struct profile *after, const char *name,
		    uint32_t out[DIFF_SIDE_CNT], struct buf *why);

/* Of how many samples a value is made. */
struct diff_counting {
	uint32_t column; /* the value type that counts them; PROFILE_NONE: derived */
	double per_sample; /* else: what one sample is worth; 0: every unit of it is one */
	double sampled; /* the share of what is counted that was sampled, 0 to 1 */
	bool is_exact; /* all of what is counted was recorded */
	double draw; /* what one draw by chance is worth at most; 0: what a sample is */
	double spread; /* of the sizes of a stack's samples: their mean square, by that of the mean
			*/
};

/* How the samples of value @value of @prof are counted: by its own count of samples, waits or
 * objects; else by the ledger's or the file's period; else every count is taken for a sample. */
struct diff_counting diff_counting_of(const struct profile *prof, uint32_t value);

#endif
