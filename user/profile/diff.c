/* SPDX-License-Identifier: Apache-2.0 */
/* The differential profile: what it sums up, and how it judges the sums. Joining: diff_join.c. */
#include "profile/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "profile/significance.h"

int diff_init(struct diff *diff, const char *by, bool normalize)
{
	*diff = (struct diff){.by = by ? by : "comm", .normalize = normalize};
	hmap_init(&diff->frames);
	return profile_init(&diff->joined);
}

void diff_deinit(struct diff *diff)
{
	profile_deinit(&diff->joined);
	free(diff->entries);
	free(diff->runs);
	free(diff->rows);
	hmap_deinit(&diff->frames);
	*diff = (struct diff){0};
}

/* The sums of one group. */
struct tally {
	int64_t value[DIFF_SIDE_CNT];
	double samples[DIFF_SIDE_CNT];
	double draws[DIFF_SIDE_CNT]; /* which decide whether it is tested: samples, of one run */
	double variance[DIFF_SIDE_CNT]; /* as sampling makes it */
	double run; /* the sum of the run that is being added */
	double run_squares[DIFF_SIDE_CNT]; /* of the runs' sums */
};

static bool is_repeated(const struct diff *diff)
{
	return diff->side_runs[DIFF_BEFORE] > 1 && diff->side_runs[DIFF_AFTER] > 1;
}

static void tally_entry(const struct diff *diff, struct tally *tally, enum diff_side side,
			const struct diff_entry *entry)
{
	bool has_runs = is_repeated(diff);

	tally->value[side] = profile_value_sum(tally->value[side], entry->value);
	tally->samples[side] += entry->samples;
	tally->draws[side] += has_runs ? entry->draws : entry->samples;
	tally->variance[side] += has_runs ? entry->chance : entry->variance;
	tally->run += (double)entry->value;
}

/* All samples of @run to their groups, and to the one behind them, that of the total. */
static void tally_run(const struct diff *diff, const struct diff_run *run,
		      const struct diff_groups *groups, struct tally *tallies)
{
	for (size_t i = run->first; i < run->first + run->cnt; i++) {
		const struct diff_entry *entry = &diff->entries[i];

		for (uint32_t k = groups->first[entry->sample];
		     k < groups->first[entry->sample + 1]; k++)
			tally_entry(diff, &tallies[groups->items[k]], run->side, entry);
		tally_entry(diff, &tallies[groups->group_cnt], run->side, entry);
	}
	for (size_t i = 0; i <= groups->group_cnt; i++) {
		tallies[i].run_squares[run->side] += tallies[i].run * tallies[i].run;
		tallies[i].run = 0;
	}
}

/* What after is multiplied by. */
static double scale_of(const struct diff *diff, const struct tally *total)
{
	const int64_t *value = total->value;

	if (!diff->normalize || value[DIFF_BEFORE] <= 0 || value[DIFF_AFTER] <= 0)
		return 1;
	return (double)value[DIFF_BEFORE] / (double)value[DIFF_AFTER];
}

/*
 * The variance of a sum as sampling makes it. A share is a ratio, f / t, of a part and the whole:
 * its variance, times t^2, is var(f) (1 - 2 f / t) + (f / t)^2 var(t).
 */
static double sampling_variance(const struct diff *diff, const struct tally *tally,
				const struct tally *total, enum diff_side side)
{
	double share, variance;

	if (!diff->normalize || total->value[side] <= 0)
		return tally->variance[side];
	share = (double)tally->value[side] / (double)total->value[side];
	variance = tally->variance[side] * (1 - 2 * share) + share * share * total->variance[side];
	return variance > 0 ? variance : 0;
}

/* The variance of a sum of so many runs, by how much these differ. */
static double runs_variance(const struct tally *tally, enum diff_side side, size_t runs)
{
	double cnt = (double)runs, sum = (double)tally->value[side];
	double squares = tally->run_squares[side] - sum * sum / cnt;

	return squares > 0 ? squares * cnt / (cnt - 1) : 0;
}

/* How far the change spreads. */
struct spread {
	double variance;
	double df; /* degrees of freedom */
};

static struct spread spread_of(const struct diff *diff, const struct tally *tally,
			       const struct tally *total, double scale)
{
	struct spread spread = {.df = INFINITY};
	double by_df = 0;

	for (enum diff_side side = DIFF_BEFORE; side <= DIFF_AFTER; side++) {
		double factor = side == DIFF_AFTER ? scale * scale : 1;
		double variance = sampling_variance(diff, tally, total, side);

		if (is_repeated(diff)) {
			double runs = runs_variance(tally, side, diff->side_runs[side]);

			variance = fmax(runs, variance);
			by_df += variance * variance / (double)(diff->side_runs[side] - 1);
		}
		spread.variance += factor * variance;
	}
	if (by_df > 0)
		spread.df = spread.variance * spread.variance / by_df;
	return spread;
}

/* What one draw is worth on average: counts step by it. */
static double step_of(const struct tally *tally, double scale)
{
	double value = fabs((double)tally->value[DIFF_BEFORE]) +
		       scale * fabs((double)tally->value[DIFF_AFTER]);
	double draws = tally->draws[DIFF_BEFORE] + tally->draws[DIFF_AFTER];

	return draws > 0 ? value / draws : 0;
}

static void judge(const struct diff *diff, const struct tally *tally, const struct tally *total,
		  struct diff_change *out)
{
	double scale = scale_of(diff, total), beyond;
	struct spread spread = spread_of(diff, tally, total, scale);

	*out = (struct diff_change){.p = NAN, .rate = NAN};
	for (int side = 0; side < DIFF_SIDE_CNT; side++) {
		out->value[side] = tally->value[side];
		out->samples[side] = tally->samples[side];
	}
	out->change = scale == 1
			      ? (double)tally->value[DIFF_AFTER] - (double)tally->value[DIFF_BEFORE]
			      : scale * (double)tally->value[DIFF_AFTER] -
					(double)tally->value[DIFF_BEFORE];
	out->margin = significance_bound(spread.df) * sqrt(spread.variance);
	if (tally->draws[DIFF_BEFORE] + tally->draws[DIFF_AFTER] < DIFF_SAMPLES_MIN)
		return;
	beyond = fabs(out->change) - step_of(tally, scale);
	out->p = beyond > 0 ? significance_tail(beyond / sqrt(spread.variance), spread.df) : 1;
}

/* Many were tested: which are to be believed? */
static int judge_family(struct diff_change *changes, size_t cnt)
{
	_cleanup_free_ double *rates = calloc(cnt + 1, sizeof(*rates));
	int err;

	if (!rates)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		rates[i] = changes[i].p;
	err = significance_adjust(rates, cnt);
	for (size_t i = 0; i < cnt && !err; i++) {
		changes[i].rate = rates[i];
		changes[i].is_significant = rates[i] <= SIGNIFICANCE_LEVEL;
	}
	return err;
}

static int measure(const struct diff *diff, const struct diff_groups *groups,
		   struct diff_change *out, struct diff_change *total)
{
	_cleanup_free_ struct tally *tallies = calloc(groups->group_cnt + 1, sizeof(*tallies));

	if (!tallies)
		return -ENOMEM;
	for (size_t i = 0; i < diff->run_cnt; i++)
		tally_run(diff, &diff->runs[i], groups, tallies);
	for (size_t i = 0; i < groups->group_cnt; i++)
		judge(diff, &tallies[i], &tallies[groups->group_cnt], &out[i]);
	if (total) {
		judge(diff, &tallies[groups->group_cnt], &tallies[groups->group_cnt], total);
		total->is_significant = total->p <= SIGNIFICANCE_LEVEL;
		total->rate = total->p;
	}
	return judge_family(out, groups->group_cnt);
}

int diff_measure(const struct diff *diff, const struct diff_groups *groups, struct diff_change *out)
{
	return measure(diff, groups, out, NULL);
}

/* Which functions are in which stack. All owned. */
struct functions {
	uint32_t *row_of; /* by location; PROFILE_NONE: it is no function */
	uint32_t *first, *items; /* groups of whole stacks */
	uint32_t *self_first, *self_items; /* and of the function that a stack ends in */
	uint32_t *last; /* by row: 1 + the sample that has it */
	size_t item_cnt, row_cnt;
};

static void functions_deinit(struct functions *functions)
{
	free(functions->row_of);
	free(functions->first);
	free(functions->items);
	free(functions->self_first);
	free(functions->self_items);
	free(functions->last);
}

static int functions_init(struct functions *functions, const struct profile *prof)
{
	size_t frames = 0;

	for (size_t i = 0; i < prof->sample_cnt; i++)
		frames += prof->stacks[prof->samples[i].stack].cnt;
	*functions = (struct functions){
		.row_of = calloc(prof->location_cnt + 1, sizeof(uint32_t)),
		.first = calloc(prof->sample_cnt + 1, sizeof(uint32_t)),
		.items = calloc(frames + 1, sizeof(uint32_t)),
		.self_first = calloc(prof->sample_cnt + 1, sizeof(uint32_t)),
		.self_items = calloc(prof->sample_cnt + 1, sizeof(uint32_t)),
		.last = calloc(prof->location_cnt + 1, sizeof(uint32_t)),
	};
	if (!functions->row_of || !functions->first || !functions->items ||
	    !functions->self_first || !functions->self_items || !functions->last)
		return -ENOMEM;
	return frames > UINT32_MAX ? -E2BIG : 0;
}

/* Once each, however often it recurs; the first one is where the stack ends. */
static void add_stack(struct functions *functions, const struct profile *prof, uint32_t sample)
{
	const struct profile_stack *stack = &prof->stacks[prof->samples[sample].stack];
	uint32_t self = functions->self_first[sample];
	bool has_self = false;

	for (uint32_t i = 0; i < stack->cnt; i++) {
		uint32_t row = functions->row_of[prof->stack_locations[stack->first + i]];

		if (row == PROFILE_NONE)
			continue;
		if (!has_self)
			functions->self_items[self++] = row;
		has_self = true;
		if (functions->last[row] == sample + 1)
			continue;
		functions->last[row] = sample + 1;
		functions->items[functions->item_cnt++] = row;
	}
	functions->first[sample + 1] = (uint32_t)functions->item_cnt;
	functions->self_first[sample + 1] = self;
}

/* Frames that are no code, and those of a waker, whose time it is not, are no functions. */
static int make_rows(struct diff *diff, struct functions *functions)
{
	const struct profile *prof = &diff->joined;

	diff->rows = calloc(prof->location_cnt + 1, sizeof(*diff->rows));
	if (!diff->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < prof->location_cnt; i++) {
		functions->row_of[i] = PROFILE_NONE;
		if (prof->locations[i].flags & (LOCATION_SYNTHETIC | LOCATION_WAKER))
			continue;
		functions->row_of[i] = (uint32_t)diff->row_cnt;
		diff->rows[diff->row_cnt++].location = i;
	}
	return 0;
}

static int measure_rows(struct diff *diff, const struct functions *functions)
{
	struct diff_groups whole = {functions->first, functions->items, diff->row_cnt};
	struct diff_groups self = {functions->self_first, functions->self_items, diff->row_cnt};
	_cleanup_free_ struct diff_change *changes = calloc(diff->row_cnt + 1, sizeof(*changes));
	int err = changes ? measure(diff, &whole, changes, &diff->total) : -ENOMEM;

	for (size_t i = 0; i < diff->row_cnt && !err; i++)
		diff->rows[i].total = changes[i];
	if (!err)
		err = measure(diff, &self, changes, NULL);
	for (size_t i = 0; i < diff->row_cnt && !err; i++)
		diff->rows[i].self = changes[i];
	return err;
}

/* What is drawn and written is what was compared. */
static void scale_joined(struct diff *diff)
{
	struct profile *prof = &diff->joined;
	int64_t before = profile_total(prof, DIFF_BEFORE), after = profile_total(prof, DIFF_AFTER);

	if (!diff->normalize || before <= 0 || after <= 0)
		return;
	for (size_t i = 0; i < prof->sample_cnt; i++) {
		int64_t *values = prof->values + i * prof->value_type_cnt;

		values[DIFF_AFTER] =
			diff_round((double)values[DIFF_AFTER] * ((double)before / (double)after));
		values[DIFF_DELTA] =
			profile_value_difference(values[DIFF_AFTER], values[DIFF_BEFORE]);
	}
}

int diff_finish(struct diff *diff)
{
	_cleanup_(functions_deinit) struct functions functions = {0};
	int err = functions_init(&functions, &diff->joined);

	if (!err)
		err = make_rows(diff, &functions);
	for (uint32_t i = 0; i < diff->joined.sample_cnt && !err; i++)
		add_stack(&functions, &diff->joined, i);
	if (!err)
		err = measure_rows(diff, &functions);
	if (!err)
		scale_joined(diff);
	return err;
}

int64_t diff_round(double value)
{
	/* The largest double below 2^63. */
	const double most = 9223372036854774784.0;

	if (isnan(value))
		return 0;
	return llround(value > most ? most : value < -most ? -most : value);
}

double diff_percent(const struct diff_change *change)
{
	double before = (double)change->value[DIFF_BEFORE];

	if (change->change == 0)
		return 0;
	return before > 0 ? 100 * change->change / before : INFINITY;
}
