/* SPDX-License-Identifier: Apache-2.0 */
/* The differential profile: properties that hold for any pair, and that its statistics are what
 * they say, measured on pairs drawn with a seed. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "encode/diff_report.h"
#include "encode/diff_svg.h"
#include "flame_fixture.h"
#include "profile/diff.h"
#include "profile/ledger.h"
#include "profile/significance.h"

enum { STACKS = 40, FUNCTIONS = 25, DEPTH = 5, PERIOD_NS = 10101010 };

static uint64_t random_state;

static double uniform(void) /* (0, 1) */
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return ((double)(random_state >> 11) + 0.5) / 9007199254740992.0;
}

static uint32_t below(uint32_t bound)
{
	return (uint32_t)(uniform() * bound);
}

/* Poisson-distributed, in pieces whose exponential does not vanish. */
static int64_t poisson(double mean)
{
	int64_t cnt = 0;

	for (double left = mean; left > 0; left -= 20) {
		double limit = exp(-(left < 20 ? left : 20)), product = uniform();

		for (; product > limit; product *= uniform())
			cnt++;
	}
	return cnt;
}

/* A made-up program: stacks, and how many samples each has on average. */
struct program {
	char paths[STACKS][128];
	double means[STACKS];
};

static void program_init(struct program *program, double most)
{
	for (int i = 0; i < STACKS; i++) {
		int len = snprintf(program->paths[i], sizeof(program->paths[i]), "main");

		for (uint32_t depth = below(DEPTH); depth-- > 0;)
			len += snprintf(program->paths[i] + len, sizeof(program->paths[i]) - len,
					"|f%u", below(FUNCTIONS));
		program->means[i] = 1 + uniform() * uniform() * most;
	}
}

static void sample_program(const struct program *program, struct profile *out)
{
	fixture_init(out, "samples", "count");
	for (int i = 0; i < STACKS; i++) {
		int64_t cnt = poisson(program->means[i]);

		if (cnt)
			fixture_add(out, "app", cnt, program->paths[i]);
	}
}

static void diff_pair(const struct profile *before, const struct profile *after, bool normalize,
		      struct diff *out)
{
	assert_int_equal(diff_init(out, NULL, normalize), 0);
	assert_int_equal(diff_add(out, DIFF_BEFORE, before, 0), 0);
	assert_int_equal(diff_add(out, DIFF_AFTER, after, 0), 0);
	assert_int_equal(diff_finish(out), 0);
}

static const struct diff_row *find_row(const struct diff *diff, const char *name)
{
	for (size_t i = 0; i < diff->row_cnt; i++)
		if (!strcmp(profile_location_name(&diff->joined, diff->rows[i].location, 0), name))
			return &diff->rows[i];
	fail_msg("no row '%s'", name);
	return NULL;
}

static void test_same_is_empty(void **state)
{
	random_state = 1;
	for (int round = 0; round < 50; round++) {
		struct program program;
		struct profile prof;
		struct diff diff;

		program_init(&program, 100);
		sample_program(&program, &prof);
		diff_pair(&prof, &prof, round % 2, &diff);
		assert_true(diff.row_cnt > 0);
		for (size_t i = 0; i < diff.row_cnt; i++) {
			assert_true(diff.rows[i].total.change == 0);
			assert_true(diff.rows[i].self.change == 0);
			assert_false(diff.rows[i].total.is_significant);
			assert_false(diff.rows[i].self.is_significant);
		}
		for (size_t i = 0; i < diff.joined.sample_cnt; i++)
			assert_int_equal(diff.joined.values[i * 3 + DIFF_DELTA], 0);
		diff_deinit(&diff);
		profile_deinit(&prof);
	}
}

/* The sum of what functions do themselves is the total, and so is the sum over stacks. */
static void check_totals(const struct diff *diff, int64_t before, int64_t after)
{
	int64_t self[DIFF_SIDE_CNT] = {0};

	assert_int_equal(diff->total.value[DIFF_BEFORE], before);
	assert_int_equal(diff->total.value[DIFF_AFTER], after);
	assert_true(diff->total.change == (double)(after - before));
	assert_int_equal(profile_total(&diff->joined, DIFF_BEFORE), before);
	assert_int_equal(profile_total(&diff->joined, DIFF_AFTER), after);
	assert_int_equal(profile_total(&diff->joined, DIFF_DELTA), after - before);
	for (size_t i = 0; i < diff->row_cnt; i++) {
		self[DIFF_BEFORE] += diff->rows[i].self.value[DIFF_BEFORE];
		self[DIFF_AFTER] += diff->rows[i].self.value[DIFF_AFTER];
	}
	assert_int_equal(self[DIFF_BEFORE], before);
	assert_int_equal(self[DIFF_AFTER], after);
	assert_int_equal(find_row(diff, "main")->total.value[DIFF_AFTER], after);
}

static void test_totals(void **state)
{
	random_state = 2;
	for (int round = 0; round < 100; round++) {
		struct program programs[2];
		struct profile before, after;
		struct diff diff, reversed;

		program_init(&programs[0], 200);
		program_init(&programs[1], 50);
		sample_program(&programs[0], &before);
		sample_program(&programs[1], &after);
		diff_pair(&before, &after, false, &diff);
		check_totals(&diff, profile_total(&before, 0), profile_total(&after, 0));
		diff_pair(&after, &before, false, &reversed);
		assert_int_equal(diff.row_cnt, reversed.row_cnt);
		for (size_t i = 0; i < diff.row_cnt; i++) {
			const struct diff_row *row = &diff.rows[i];
			const struct diff_row *other = find_row(
				&reversed, profile_location_name(&diff.joined, row->location, 0));

			assert_true(row->total.change == -other->total.change);
			assert_true(fabs(row->total.p - other->total.p) < 1e-12 ||
				    isnan(row->total.p));
		}
		diff_deinit(&diff);
		diff_deinit(&reversed);
		profile_deinit(&before);
		profile_deinit(&after);
	}
}

/* Other ids, addresses, build-ids, inlining: the names are the same. The kernel's `read` is not
 * libc's. */
static void test_names_match(void **state)
{
	struct profile before, after;
	struct diff diff;
	uint32_t location;
	int64_t value = 30;

	fixture_init(&before, "samples", "count");
	fixture_add(&before, "app", 20, "main|i:work|l:read|k:read");
	fixture_add(&before, "app", 30, "main|a:1000");
	fixture_init(&after, "samples", "count");
	profile_string(&after, "shifts all string ids");
	location = profile_location(&after, profile_mapping(&after, "/opt/lib/libfixture.so.1", ""),
				    0x1000, 0);
	profile_sample(
		&after,
		profile_stack(&after,
			      (uint32_t[]){location, profile_named_location(&after, "main", 0)}, 2),
		profile_labels(&after, NULL, 0), &value);
	fixture_add(&after, "app", 20, "main|work|l:read|k:read");
	diff_pair(&before, &after, false, &diff);
	assert_int_equal(diff.row_cnt, 5);
	for (size_t i = 0; i < diff.row_cnt; i++)
		assert_true(diff.rows[i].total.change == 0);
	/* The thread's name tells samples apart, where there is one. */
	assert_int_equal(diff.joined.sample_cnt, 3);
	diff_deinit(&diff);
	assert_int_equal(diff_init(&diff, "", false), 0);
	assert_int_equal(diff_add(&diff, DIFF_BEFORE, &before, 0), 0);
	assert_int_equal(diff_add(&diff, DIFF_AFTER, &after, 0), 0);
	assert_int_equal(diff.joined.sample_cnt, 2);
	diff_deinit(&diff);
	profile_deinit(&before);
	profile_deinit(&after);
}

/* What counts as a function, and how often. */
static void test_recursion_and_states(void **state)
{
	struct profile before, after;
	struct diff diff;

	fixture_init(&before, "samples", "count");
	fixture_add(&before, "app", 7, "main|fib|fib|fib");
	fixture_init(&after, "samples", "count");
	fixture_add(&after, "app", 9, "main|fib|fib");
	fixture_add(&after, "app", 4, "main|k:wait|s:[blocked: lock]|s:--|w:unlock|n:other");
	diff_pair(&before, &after, false, &diff);
	assert_int_equal(diff.row_cnt, 3);
	assert_int_equal(find_row(&diff, "fib")->total.value[DIFF_BEFORE], 7);
	assert_int_equal(find_row(&diff, "fib")->total.value[DIFF_AFTER], 9);
	assert_int_equal(find_row(&diff, "fib")->self.value[DIFF_AFTER], 9);
	assert_int_equal(find_row(&diff, "wait")->self.value[DIFF_AFTER], 4);
	assert_int_equal(find_row(&diff, "main")->self.value[DIFF_AFTER], 0);
	diff_deinit(&diff);
	profile_deinit(&before);
	profile_deinit(&after);
}

static int64_t drawn_total(const struct diff *diff, enum diff_width width)
{
	struct diff_svg_opts opts = {.width = width, .title = "t"};
	const char *at;
	struct buf svg;
	int64_t total;

	buf_init(&svg, BUF_NO_MAX);
	assert_int_equal(diff_svg_encode(diff, &opts, &svg), 0);
	at = strstr(buf_cstr(&svg), "data-total=\"");
	assert_non_null(at);
	total = strtoll(at + strlen("data-total=\""), NULL, 10);
	buf_deinit(&svg);
	return total;
}

/* The graph is as wide as what its width was asked to be. */
static void test_widths(void **state)
{
	struct program programs[2];
	struct profile profiles[DIFF_SIDE_CNT];
	int64_t before, after, larger = 0;
	struct diff diff;

	random_state = 8;
	for (int side = 0; side < DIFF_SIDE_CNT; side++) {
		program_init(&programs[side], 50);
		sample_program(&programs[side], &profiles[side]);
	}
	before = profile_total(&profiles[DIFF_BEFORE], 0);
	after = profile_total(&profiles[DIFF_AFTER], 0);
	diff_pair(&profiles[DIFF_BEFORE], &profiles[DIFF_AFTER], false, &diff);
	for (size_t i = 0; i < diff.joined.sample_cnt; i++) {
		const int64_t *values = diff.joined.values + 3 * i;

		larger += values[DIFF_BEFORE] > values[DIFF_AFTER] ? values[DIFF_BEFORE]
								   : values[DIFF_AFTER];
	}
	assert_int_equal(drawn_total(&diff, DIFF_WIDTH_BEFORE), before);
	assert_int_equal(drawn_total(&diff, DIFF_WIDTH_AFTER), after);
	assert_int_equal(drawn_total(&diff, DIFF_WIDTH_SUM), before + after);
	assert_int_equal(drawn_total(&diff, DIFF_WIDTH_MAX), larger);
	diff_deinit(&diff);
	profile_deinit(&profiles[DIFF_BEFORE]);
	profile_deinit(&profiles[DIFF_AFTER]);
}

/* Nothing on one side, or on both. */
static void test_empty(void **state)
{
	struct profile nothing, something;
	struct diff diff;

	fixture_init(&nothing, "samples", "count");
	fixture_init(&something, "samples", "count");
	fixture_add(&something, "app", 40, "main|work");
	diff_pair(&nothing, &nothing, true, &diff);
	assert_int_equal(diff.row_cnt, 0);
	assert_int_equal(drawn_total(&diff, DIFF_WIDTH_AFTER), 0);
	diff_deinit(&diff);
	diff_pair(&nothing, &something, false, &diff);
	assert_true(isinf(diff_percent(&find_row(&diff, "work")->total)));
	assert_true(find_row(&diff, "work")->total.is_significant);
	assert_int_equal(drawn_total(&diff, DIFF_WIDTH_BEFORE), 0);
	assert_int_equal(drawn_total(&diff, DIFF_WIDTH_AFTER), 40);
	diff_deinit(&diff);
	profile_deinit(&nothing);
	profile_deinit(&something);
}

struct outcome {
	size_t tested, rejected, told; /* functions; told: after the control of many tests */
	size_t pairs, false_pairs; /* pairs in which any function was told */
};

static void count_outcome(const struct diff *diff, struct outcome *out)
{
	size_t told = 0;

	for (size_t i = 0; i < diff->row_cnt; i++) {
		const struct diff_change *change = &diff->rows[i].total;

		if (isnan(change->p))
			continue;
		out->tested++;
		out->rejected += change->p <= SIGNIFICANCE_LEVEL;
		told += change->is_significant;
	}
	out->told += told;
	out->pairs++;
	out->false_pairs += told > 0;
}

/* Where nothing changed but chance, 5 in 100 tests reject, and a function is told in at most 5 of
 * 100 pairs: four standard deviations beyond would be a bug. */
static void test_false_positives(void **state)
{
	for (int normalize = 0; normalize < 2; normalize++) {
		struct outcome outcome = {0};
		double rejected, false_pairs;

		random_state = 3;
		for (int round = 0; round < 600; round++) {
			struct program program;
			struct profile before, after;
			struct diff diff;

			program_init(&program, round % 3 ? 60 : 600);
			sample_program(&program, &before);
			sample_program(&program, &after);
			diff_pair(&before, &after, normalize, &diff);
			count_outcome(&diff, &outcome);
			diff_deinit(&diff);
			profile_deinit(&before);
			profile_deinit(&after);
		}
		rejected = (double)outcome.rejected / (double)outcome.tested;
		false_pairs = (double)outcome.false_pairs / (double)outcome.pairs;
		print_message("null pairs%s: %.2f %% of %zu tests reject, %.1f %% of %zu pairs "
			      "have a function told\n",
			      normalize ? ", normalized" : "", 100 * rejected, outcome.tested,
			      100 * false_pairs, outcome.pairs);
		assert_true(outcome.tested > 10000);
		assert_true(rejected > 0.025 && rejected < 0.06);
		assert_true(false_pairs < 0.05 + 4 * sqrt(0.05 * 0.95 / (double)outcome.pairs));
	}
}

/* A change that is there is found, and lies in the interval that is told. */
static void test_power(void **state)
{
	int found = 0, covered = 0, rounds = 300;

	random_state = 4;
	for (int round = 0; round < rounds; round++) {
		struct program program;
		struct profile before, after;
		const struct diff_change *change;
		struct diff diff;

		program_init(&program, 200);
		snprintf(program.paths[0], sizeof(program.paths[0]), "main|planted");
		program.means[0] = 400;
		sample_program(&program, &before);
		program.means[0] = 600;
		sample_program(&program, &after);
		diff_pair(&before, &after, false, &diff);
		change = &find_row(&diff, "planted")->total;
		found += change->is_significant && change->change > 0;
		covered += fabs(change->change - 200) <= change->margin;
		diff_deinit(&diff);
		profile_deinit(&before);
		profile_deinit(&after);
	}
	print_message("400 samples become 600: told in %d of %d, interval holds 200 in %d\n", found,
		      rounds, covered);
	assert_true(found >= rounds * 98 / 100);
	assert_true(covered >= rounds * 91 / 100 && covered <= rounds * 99 / 100);
}

/* The variance that is computed is that of a bootstrap that draws: stacks resampled by Poisson
 * numbers of their samples. */
static void test_bootstrap(void **state)
{
	enum { DRAWS = 4000 };
	struct profile profiles[DIFF_SIDE_CNT];
	struct program program;
	struct diff diff;
	double sum = 0, squares = 0, drawn;
	const struct diff_change *change;

	random_state = 5;
	program_init(&program, 80);
	for (int side = 0; side < DIFF_SIDE_CNT; side++)
		sample_program(&program, &profiles[side]);
	diff_pair(&profiles[DIFF_BEFORE], &profiles[DIFF_AFTER], false, &diff);
	change = &find_row(&diff, "f1")->total;
	for (int draw = 0; draw < DRAWS; draw++) {
		double value = 0;

		for (size_t i = 0; i < diff.joined.sample_cnt; i++) {
			const struct profile_stack *stack =
				&diff.joined.stacks[diff.joined.samples[i].stack];
			const int64_t *values = diff.joined.values + 3 * i;
			bool has = false;

			for (uint32_t k = 0; k < stack->cnt; k++)
				has |= !strcmp(
					profile_location_name(
						&diff.joined,
						diff.joined.stack_locations[stack->first + k], 0),
					"f1");
			if (has)
				value += (double)(poisson((double)values[DIFF_AFTER]) -
						  poisson((double)values[DIFF_BEFORE]));
		}
		sum += value;
		squares += value * value;
	}
	drawn = sqrt(squares / DRAWS - sum / DRAWS * (sum / DRAWS));
	print_message("bootstrap of %d draws: change %.1f +- %.2f; computed: %.0f +- %.2f\n", DRAWS,
		      sum / DRAWS, 1.96 * drawn, change->change, change->margin);
	assert_true(fabs(1.96 * drawn / change->margin - 1) < 0.06);
	assert_true(fabs(sum / DRAWS - change->change) < 4 * drawn / sqrt(DRAWS));
	diff_deinit(&diff);
	for (int side = 0; side < DIFF_SIDE_CNT; side++)
		profile_deinit(&profiles[side]);
}

/* Twice as long a recording of the same: everything doubled, no share changed. */
static void test_normalize(void **state)
{
	struct program program;
	struct profile before, after;
	struct diff diff;

	random_state = 6;
	program_init(&program, 100);
	sample_program(&program, &before);
	fixture_init(&after, "samples", "count");
	assert_int_equal(profile_merge(&after, &before), 0);
	assert_int_equal(profile_merge(&after, &before), 0);
	diff_pair(&before, &after, false, &diff);
	assert_true(diff.total.is_significant);
	assert_true(diff_percent(&diff.total) == 100);
	diff_deinit(&diff);
	diff_pair(&before, &after, true, &diff);
	for (size_t i = 0; i < diff.row_cnt; i++) {
		assert_true(fabs(diff.rows[i].total.change) < 1e-6);
		assert_false(diff.rows[i].total.is_significant);
	}
	assert_int_equal(profile_total(&diff.joined, DIFF_DELTA), 0);
	diff_deinit(&diff);
	profile_deinit(&before);
	profile_deinit(&after);
}

static void add_values(struct profile *prof, const char *name, int64_t count, int64_t value)
{
	uint32_t location = profile_named_location(prof, name, 0);

	profile_sample(prof, profile_stack(prof, &location, 1), profile_labels(prof, NULL, 0),
		       (int64_t[]){count, value});
}

/* One long wait is one sample, however many nanoseconds; a timer's are counted by its period. */
static void test_counting(void **state)
{
	struct profile before = {0}, after = {0};
	struct diff diff;

	profile_init(&before);
	profile_add_value_type(&before, "waits", "count");
	profile_add_value_type(&before, "off_cpu", "nanoseconds");
	profile_init(&after);
	assert_int_equal(profile_merge(&after, &before), 0);
	add_values(&after, "rare", 1, 5000000000);
	add_values(&after, "often", 1000, 5000000000);
	assert_int_equal(diff_init(&diff, NULL, false), 0);
	assert_int_equal(diff_add(&diff, DIFF_BEFORE, &before, 1), 0);
	assert_int_equal(diff_add(&diff, DIFF_AFTER, &after, 1), 0);
	assert_int_equal(diff_finish(&diff), 0);
	assert_false(find_row(&diff, "rare")->total.is_significant);
	assert_true(find_row(&diff, "rare")->total.margin > 5e9);
	assert_true(find_row(&diff, "often")->total.is_significant);
	assert_true(find_row(&diff, "often")->total.samples[DIFF_AFTER] == 1000);
	diff_deinit(&diff);
	profile_deinit(&before);
	profile_deinit(&after);

	profile_init(&before);
	profile_add_value_type(&before, "samples", "count");
	before.period_type =
		before.value_types[profile_add_value_type(&before, "cpu", "nanoseconds")];
	before.period = PERIOD_NS;
	add_values(&before, "work", 25, 25LL * PERIOD_NS);
	assert_int_equal(diff_init(&diff, NULL, false), 0);
	assert_int_equal(diff_add(&diff, DIFF_BEFORE, &before, 1), 0);
	assert_true(fabs(diff.entries[0].samples - 25) < 1e-9);
	diff_deinit(&diff);
	profile_deinit(&before);
}

/* So many runs of each side, whose stacks differ from run to run by up to @drift, without a cause.
 */
static void measure_runs(int run_cnt, double drift, struct outcome *out)
{
	for (int round = 0; round < 150; round++) {
		struct program program;
		struct diff diff;

		program_init(&program, 300);
		assert_int_equal(diff_init(&diff, NULL, false), 0);
		for (int run = 0; run < 2 * run_cnt; run++) {
			struct program disturbed = program;
			struct profile prof;

			for (int i = 0; i < STACKS; i++)
				disturbed.means[i] *= 1 - drift + 2 * drift * uniform();
			sample_program(&disturbed, &prof);
			assert_int_equal(
				diff_add(&diff, run % 2 ? DIFF_AFTER : DIFF_BEFORE, &prof, 0), 0);
			profile_deinit(&prof);
		}
		assert_int_equal(diff_finish(&diff), 0);
		count_outcome(&diff, out);
		diff_deinit(&diff);
	}
}

/* Runs that differ by more than sampling: sums alone would tell changes that are none. */
static void test_runs(void **state)
{
	static const int run_cnts[] = {2, 3, 5, 10};
	static const double drifts[] = {0, 0.15, 0.5};

	random_state = 7;
	for (size_t i = 0; i < sizeof(run_cnts) / sizeof(*run_cnts); i++) {
		for (size_t k = 0; k < sizeof(drifts) / sizeof(*drifts); k++) {
			struct outcome outcome = {0};
			double rejected, false_pairs;

			measure_runs(run_cnts[i], drifts[k], &outcome);
			rejected = (double)outcome.rejected / (double)outcome.tested;
			false_pairs = (double)outcome.false_pairs / (double)outcome.pairs;
			print_message("%d runs of each, drift %.2f: %.2f %% of %zu tests reject, "
				      "%.1f %% of pairs have a function told\n",
				      run_cnts[i], drifts[k], 100 * rejected, outcome.tested,
				      100 * false_pairs);
			assert_true(rejected < 0.06);
			assert_true(false_pairs < 0.05 + 4 * sqrt(0.05 * 0.95 / 150));
		}
	}
}

/* Waits: one that is longer in every other run, which is of the other side, and one that is so in
 * runs of both. */
static void run_init(struct profile *prof, int run)
{
	profile_init(prof);
	profile_add_value_type(prof, "waits", "count");
	profile_add_value_type(prof, "off_cpu", "nanoseconds");
	add_values(prof, "sleeps", 1, (run % 2 ? 200000000 : 100000000) + run * 100000);
	add_values(prof, "locks", 1, 50000000 + (run / 2 % 2) * 40000000);
}

/* What was recorded to the last one differs by what the runs did, and by nothing else. */
static void test_exact_runs(void **state)
{
	struct diff diff;

	assert_int_equal(diff_init(&diff, NULL, false), 0);
	for (int run = 0; run < 8; run++) {
		struct profile prof = {0};

		run_init(&prof, run);
		assert_int_equal(diff_add(&diff, run % 2 ? DIFF_AFTER : DIFF_BEFORE, &prof, 1), 0);
		profile_deinit(&prof);
	}
	assert_int_equal(diff_finish(&diff), 0);
	for (size_t i = 0; i < diff.entry_cnt; i++)
		assert_true(diff.entries[i].chance == 0);
	assert_true(find_row(&diff, "sleeps")->total.is_significant);
	assert_true(find_row(&diff, "sleeps")->total.margin < 4 * 2000000);
	assert_false(find_row(&diff, "locks")->total.is_significant);
	diff_deinit(&diff);
}

/* Runs of which chance left out some short waits: only what may have been short spreads by it. */
static void test_thinned_runs(void **state)
{
	struct diff diff;

	assert_int_equal(diff_init(&diff, NULL, false), 0);
	for (int run = 0; run < 8; run++) {
		struct ledger ledger;
		struct profile prof = {0};

		run_init(&prof, run);
		add_values(&prof, "short", 1 + run % 2, (1 + run % 2) * 1000000LL);
		ledger_init(&ledger);
		ledger.event_cnt = 1;
		snprintf(ledger.events[0].name, sizeof(ledger.events[0].name), "off-cpu");
		snprintf(ledger.events[0].unit, sizeof(ledger.events[0].unit), "waits");
		ledger.events[0].sum.recorded = 20;
		/* In one of the runs, chance had no say. */
		ledger.events[0].thinned = run ? 100 : 0;
		ledger.events[0].thinned_below_ns = run ? 1000000 : 0;
		assert_int_equal(profile_set_ledger(&prof, &ledger), 0);
		ledger_deinit(&ledger);
		assert_int_equal(diff_add(&diff, run % 2 ? DIFF_AFTER : DIFF_BEFORE, &prof, 1), 0);
		profile_deinit(&prof);
	}
	assert_int_equal(diff_finish(&diff), 0);
	assert_true(find_row(&diff, "sleeps")->total.is_significant);
	assert_false(find_row(&diff, "locks")->total.is_significant);
	/* 3 waits, then 8, each of 1 ms: sqrt(11) = 3.3 of them are chance. */
	assert_false(find_row(&diff, "short")->total.is_significant);
	assert_true(find_row(&diff, "short")->total.margin > 1.96 * 3.3 * 1000000);
	diff_deinit(&diff);
}

static void test_values_match(void **state)
{
	struct profile before, after;
	uint32_t picked[DIFF_SIDE_CNT];
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	fixture_init(&before, "samples", "count");
	profile_add_value_type(&before, "cpu", "nanoseconds");
	fixture_init(&after, "cpu", "nanoseconds");
	profile_add_value_type(&after, "samples", "count");
	assert_int_equal(diff_pick_value(&before, &after, NULL, picked, &why), 0);
	assert_int_equal(picked[DIFF_BEFORE], 1);
	assert_int_equal(picked[DIFF_AFTER], 0);
	assert_int_equal(diff_pick_value(&before, &after, "samples", picked, &why), 0);
	assert_int_equal(picked[DIFF_AFTER], 1);
	assert_int_equal(diff_pick_value(&before, &after, "heap", picked, &why), -ENOENT);
	assert_string_equal(buf_cstr(&why), "no value 'heap' (--value) of one unit in both: BEFORE "
					    "has samples/count, cpu/nanoseconds; AFTER has "
					    "cpu/nanoseconds, samples/count");
	profile_deinit(&after);
	fixture_init(&after, "samples", "bytes");
	assert_int_equal(diff_pick_value(&before, &after, NULL, picked, &why), -ENOENT);
	profile_deinit(&before);
	profile_deinit(&after);
	buf_deinit(&why);
}

static void near(double value, double expected, double tolerance)
{
	if (fabs(value - expected) > tolerance)
		fail_msg("%.10g instead of %.10g", value, expected);
}

/* Against printed tables, and the distribution counted by hand. */
static void test_significance(void **state)
{
	double rates[] = {0.01, NAN, 0.04, 0.03, 0.005};
	double before[] = {1, 2, 3, 4, 5}, after[] = {11, 12, 13, 14, 15};
	struct significance_shift shift;

	near(significance_tail(1.959964, INFINITY), 0.05, 1e-6);
	near(significance_tail(2.776445, 4), 0.05, 1e-6);
	near(significance_tail(1, 1), 0.5, 1e-9);
	near(significance_tail(4.587, 10), 0.001, 2e-6);
	near(significance_tail(0, 7), 1, 1e-12);
	near(significance_bound(4), 2.776445, 1e-5);
	near(significance_bound(INFINITY), 1.959964, 1e-6);
	assert_int_equal(significance_adjust(rates, 5), 0);
	near(rates[0], 0.02, 1e-12);
	assert_true(isnan(rates[1]));
	near(rates[2], 0.04, 1e-12);
	near(rates[3], 0.04, 1e-12);
	near(rates[4], 0.02, 1e-12);
	assert_int_equal(significance_compare(before, 5, after, 5, &shift), 0);
	near(shift.p, 2.0 / 252, 1e-12);
	near(shift.shift, 10, 1e-12);
	near(shift.before, 3, 1e-12);
	assert_true(shift.low > 6 && shift.high < 14 && shift.low < 10);
	assert_int_equal(significance_compare(before, 5, before, 5, &shift), 0);
	near(shift.p, 1, 1e-12);
	assert_int_equal(significance_compare(before, 2, after, 3, &shift), 0);
	near(shift.p, 0.2, 1e-12);
	assert_true(isnan(shift.low) && isnan(shift.high));
}

/* What the joined profile is told after the report was begun may move its strings. */
static void test_names_come_late(void **state)
{
	static char name[1 << 20];
	const char *const names[DIFF_SIDE_CNT] = {"before", name};
	struct profile before, after;
	struct diff_report report;
	struct diff diff;

	fixture_init(&before, "off_cpu", "nanoseconds");
	fixture_add(&before, "app", 100, "main|read");
	fixture_init(&after, "off_cpu", "nanoseconds");
	fixture_add(&after, "app", 300, "main|read");
	diff_pair(&before, &after, false, &diff);
	assert_int_equal(diff_report_init(&report, &diff, DIFF_BY_CHANGE), 0);
	memset(name, 'x', sizeof(name) - 1);
	assert_int_equal(diff_note_names(&diff, names), 0);
	assert_string_equal(report.type, "off_cpu");
	assert_string_equal(report.unit, "nanoseconds");
	diff_report_deinit(&report);
	diff_deinit(&diff);
	profile_deinit(&before);
	profile_deinit(&after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_is_empty),	cmocka_unit_test(test_totals),
		cmocka_unit_test(test_names_match),	cmocka_unit_test(test_recursion_and_states),
		cmocka_unit_test(test_widths),		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_false_positives), cmocka_unit_test(test_power),
		cmocka_unit_test(test_bootstrap),	cmocka_unit_test(test_normalize),
		cmocka_unit_test(test_counting),	cmocka_unit_test(test_runs),
		cmocka_unit_test(test_exact_runs),	cmocka_unit_test(test_thinned_runs),
		cmocka_unit_test(test_values_match),	cmocka_unit_test(test_significance),
		cmocka_unit_test(test_names_come_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
