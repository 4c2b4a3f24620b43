/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sampling by duration, with the kernel side's own code: over many recordings, each of many waits,
 * the sums that the kept ones count as are the true ones in the mean, and the truth lies within the
 * error that is told as often as is claimed. Seeds are fixed: it passes or fails for good.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/types.h>
#include <math.h>
#include <string.h>

#include "abi.h"
#include "profile/off_cpu.h"

static __u32 bpf_get_prandom_u32(void)
{
	return 1;
}

#include "weight.bpf.h"

enum {
	SEEDS = 400,
	WAITS = 10000, /* of a recording */
	STACKS = 2,
	WALK_NS = 5000,
	BUDGET = 10, /* of 1024 */
};

/* What of a stack's waits is summed up. */
enum sum { BLOCKED, RUNNABLE, NUMBER, SUM_CNT };

/*
 * |z| beyond which a mean is wrong. Of a correct program's some hundred means, each of SEEDS
 * differences, one is beyond it with a probability of less than 1e-6.
 */
static const double z_max = 6;

/* splitmix64 (Steele, Lea, Flood, 2014). */
static uint64_t next_u64(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* In (0, 1]. */
static double next_unit(uint64_t *state)
{
	return (double)((next_u64(state) >> 11) + 1) / 0x1p53;
}

struct wait {
	uint32_t stack;
	uint64_t blocked_ns, runnable_ns;
};

/* The @i-th wait of a recording. */
typedef struct wait wait_fn(uint32_t i, uint64_t *state);

static struct wait constant(uint32_t i, uint64_t *state)
{
	return (struct wait){next_u64(state) & 1, 3000, 500};
}

static struct wait alternating(uint32_t i, uint64_t *state)
{
	return i % 2 ? (struct wait){1, 2000, 300} : (struct wait){0, 7000, 11};
}

static struct wait exponential(uint32_t i, uint64_t *state)
{
	return (struct wait){
		.stack = next_u64(state) % 4 == 0,
		.blocked_ns = (uint64_t)(-log(next_unit(state)) * 5000),
		.runnable_ns = (uint64_t)(-log(next_unit(state)) * 2000),
	};
}

/* Of infinite variance. */
static struct wait pareto(uint32_t i, uint64_t *state)
{
	return (struct wait){
		.stack = next_u64(state) & 1,
		.blocked_ns = (uint64_t)(1000 / pow(next_unit(state), 1 / 1.5)),
		.runnable_ns = next_u64(state) % 1000,
	};
}

static struct wait bimodal(uint32_t i, uint64_t *state)
{
	bool is_long = next_u64(state) % 500 == 0;

	return (struct wait){
		.stack = next_u64(state) & 1,
		.blocked_ns = is_long ? 10000000 : 1000,
		.runnable_ns = next_u64(state) % 200,
	};
}

/* What the waker sees is short, and the run queue is long; and waits that never blocked. */
static struct wait crowded(uint32_t i, uint64_t *state)
{
	return (struct wait){
		.stack = i % 3 == 0,
		.blocked_ns = i % 3 ? 1000 : 0,
		.runnable_ns = (uint64_t)(-log(next_unit(state)) * 50000),
	};
}

/* One of the stacks is seldom seen. */
static struct wait seldom(uint32_t i, uint64_t *state)
{
	return (struct wait){i % 100 == 0, 1000 + next_u64(state) % 9000, 200};
}

/* One recording: what was, and what the kept waits say. */
struct recording {
	struct bp_weight weight;
	uint64_t truth[STACKS][SUM_CNT];
	uint64_t told[STACKS][SUM_CNT];
	struct off_cpu_hist hists[STACKS];
	struct off_cpu off;
	uint64_t kept;
};

static void count(struct recording *rec, const struct wait *wait, uint32_t threshold)
{
	struct bp_counted counted =
		weight_count(&rec->weight, wait->blocked_ns, wait->runnable_ns, threshold);
	uint64_t *told = rec->told[wait->stack], ns = wait->blocked_ns + wait->runnable_ns;

	assert_true(counted.blocked_ns + counted.runnable_ns == (ns < threshold ? threshold : ns));
	told[BLOCKED] += counted.blocked_ns;
	told[RUNNABLE] += counted.runnable_ns;
	told[NUMBER] += counted.waits;
	rec->hists[wait->stack].variance += ldexp((double)counted.variance, BP_VARIANCE_SHIFT);
	rec->kept++;
}

/* The thread is back at @now_ns, after a wait that @choice was made for. */
static void end_wait(struct recording *rec, const struct wait *wait, const struct bp_choice *choice,
		     uint64_t now_ns)
{
	uint64_t *truth = rec->truth[wait->stack];

	truth[BLOCKED] += wait->blocked_ns;
	truth[RUNNABLE] += wait->runnable_ns;
	truth[NUMBER]++;
	rec->off.judged += choice->threshold_ns != 0;
	rec->off.threshold_sum_ns += choice->threshold_ns;
	if (weight_keeps(choice, wait->blocked_ns + wait->runnable_ns)) {
		count(rec, wait, choice->threshold_ns);
		weight_spend(&rec->weight, WALK_NS, now_ns, BUDGET);
	} else {
		/* The waker may not have kept it. */
		assert_false(weight_keeps(choice, wait->blocked_ns));
	}
}

/* @by_waker: a wait is chosen when its time blocked is over, and the threshold changes before its
 * thread is back. */
static void record(struct recording *rec, wait_fn *next, bool by_waker, uint64_t seed)
{
	uint64_t state = seed * 7919, now_ns = 1000000000;
	struct bp_choice choice = {0};
	struct wait wait = {0};

	*rec = (struct recording){.weight.since_ns = now_ns};
	rec->weight.random = (__u32)next_u64(&state) | 1;
	for (uint32_t i = 0; i < WAITS; i++) {
		struct wait last = wait;
		struct bp_choice chosen = choice;

		wait = next(i, &state);
		choice = weight_choose(&rec->weight);
		now_ns += wait.blocked_ns + wait.runnable_ns;
		if (!by_waker)
			end_wait(rec, &wait, &choice, now_ns);
		else if (i)
			end_wait(rec, &last, &chosen, now_ns);
	}
}

/* Of one sum, over recordings. */
struct errors {
	double sum, sum_of_squares;
};

static double mean(const struct errors *errors)
{
	return errors->sum / SEEDS;
}

static double deviation(const struct errors *errors)
{
	double square = errors->sum_of_squares / SEEDS - mean(errors) * mean(errors);

	return square > 0 ? sqrt(square * SEEDS / (SEEDS - 1)) : 0;
}

/* All recordings of one kind. */
struct series {
	struct errors errors[STACKS][SUM_CNT];
	uint64_t truth[STACKS][SUM_CNT];
	double variance[STACKS], half_width[STACKS]; /* told, summed up */
	uint32_t covered[STACKS];
	uint64_t kept;
};

static void add_recording(struct series *series, const struct recording *rec)
{
	series->kept += rec->kept;
	for (uint32_t i = 0; i < STACKS; i++) {
		double half_width = off_cpu_error_ns(&rec->off, &rec->hists[i]), error;

		for (uint32_t k = 0; k < SUM_CNT; k++) {
			error = (double)(int64_t)(rec->told[i][k] - rec->truth[i][k]);
			series->errors[i][k].sum += error;
			series->errors[i][k].sum_of_squares += error * error;
			series->truth[i][k] += rec->truth[i][k];
		}
		error = (double)(int64_t)(rec->told[i][BLOCKED] - rec->truth[i][BLOCKED]);
		series->covered[i] += fabs(error) <= half_width;
		series->half_width[i] += half_width;
		series->variance[i] += rec->hists[i].variance;
	}
}

static void run(struct series *series, wait_fn *next, bool by_waker)
{
	static struct recording rec;

	*series = (struct series){0};
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		record(&rec, next, by_waker, seed);
		add_recording(series, &rec);
	}
}

static void check_unbiased(const struct series *series)
{
	for (uint32_t i = 0; i < STACKS; i++)
		for (uint32_t k = 0; k < SUM_CNT; k++) {
			const struct errors *errors = &series->errors[i][k];
			double z_unit = deviation(errors) / sqrt(SEEDS);

			if (fabs(mean(errors)) > z_max * z_unit)
				fail_msg("stack %u, sum %u: off by %g of %g, which is %.1f sigma",
					 i, k, mean(errors), (double)series->truth[i][k] / SEEDS,
					 mean(errors) / z_unit);
		}
}

/* At least 95 of 100 hold the truth; and no more than 99.9, because an error that is told as larger
 * than it is would do so as well. */
static void check_interval(const struct series *series, uint32_t stack)
{
	double sigma = deviation(&series->errors[stack][BLOCKED]);
	double covered = (double)series->covered[stack] / SEEDS;

	if (covered < 0.95 || covered > 0.999)
		fail_msg("stack %u: %g of the intervals hold the truth", stack, covered);
	if (series->half_width[stack] / SEEDS > 1.4 * 1.96 * sigma)
		fail_msg("stack %u: an error of %g is told, of %g", stack,
			 series->half_width[stack] / SEEDS, 1.96 * sigma);
}

/* The mean of what is told as variance is the variance. Each of both is known to 10 %. */
static void check_variance(const struct series *series, uint32_t stack)
{
	double sigma = deviation(&series->errors[stack][BLOCKED]);
	double told = sqrt(series->variance[stack] / SEEDS);

	if (told < 0.85 * sigma || told > 1.15 * sigma)
		fail_msg("stack %u: a sigma of %g is told, of %g", stack, told, sigma);
}

static void check(wait_fn *next)
{
	struct series series;

	for (uint32_t by_waker = 0; by_waker < 2; by_waker++) {
		run(&series, next, by_waker);
		assert_true(series.kept < (uint64_t)SEEDS * WAITS / 10);
		check_unbiased(&series);
		for (uint32_t i = 0; i < STACKS; i++) {
			check_variance(&series, i);
			check_interval(&series, i);
		}
	}
}

static void test_constant(void **state)
{
	check(constant);
}

static void test_alternating(void **state)
{
	check(alternating);
}

static void test_exponential(void **state)
{
	check(exponential);
}

static void test_pareto(void **state)
{
	check(pareto);
}

static void test_bimodal(void **state)
{
	check(bimodal);
}

/* Here the error may be told as larger than it is. */
static void test_crowded(void **state)
{
	struct series series;

	for (uint32_t by_waker = 0; by_waker < 2; by_waker++) {
		run(&series, crowded, by_waker);
		check_unbiased(&series);
		check_variance(&series, 0);
		assert_true(series.covered[0] >= 0.95 * SEEDS);
		assert_true(series.covered[1] == SEEDS);
	}
}

/* Of the seldom one, two or three are kept of a hundred, and in some recordings none. */
static void test_seldom(void **state)
{
	struct series series;

	run(&series, seldom, false);
	check_unbiased(&series);
	assert_true(series.covered[1] >= 0.95 * SEEDS);
}

static void test_no_threshold(void **state)
{
	static const uint64_t lengths[] = {0, 1, 2, UINT32_MAX, 1ULL << 32, 1ULL << 62};
	struct bp_weight weight = {.random = 1};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct bp_choice choice = weight_choose(&weight);
		struct bp_counted counted = weight_count(&weight, lengths[i], lengths[i] / 2, 0);

		assert_true(choice.draw);
		assert_int_equal(choice.threshold_ns, 0);
		assert_true(weight_keeps(&choice, lengths[i]));
		assert_true(counted.blocked_ns == lengths[i]);
		assert_true(counted.runnable_ns == lengths[i] / 2);
		assert_int_equal(counted.waits, 1);
		assert_int_equal(counted.variance, 0);
	}
	assert_true(off_cpu_error_ns(&(struct off_cpu){0}, &(struct off_cpu_hist){0}) == 0);
}

static void test_long_waits(void **state)
{
	static const uint32_t thresholds[] = {1, 2, WEIGHT_FIRST_NS, 12345, WEIGHT_MAX_NS};
	static const uint64_t more[] = {0, 1, UINT32_MAX - 1ULL, UINT32_MAX, 1ULL << 62};
	struct bp_weight weight = {.random = 1};

	for (size_t i = 0; i < sizeof(thresholds) / sizeof(*thresholds); i++)
		for (size_t k = 0; k < sizeof(more) / sizeof(*more); k++) {
			struct bp_choice choice = {UINT32_MAX, thresholds[i]};
			uint64_t ns = thresholds[i] + more[k];
			struct bp_counted counted = weight_count(&weight, ns, 0, thresholds[i]);

			assert_true(weight_keeps(&choice, ns));
			assert_true(counted.blocked_ns == ns);
			assert_int_equal(counted.runnable_ns, 0);
			assert_int_equal(counted.waits, 1);
			assert_int_equal(counted.variance, 0);
		}
}

/* Of the 2^32 numbers that may be drawn, those below 2^32 d/q keep a wait. */
static void test_draws(void **state)
{
	static const uint32_t thresholds[] = {2, 3, 1000, 65537, WEIGHT_MAX_NS - 1, WEIGHT_MAX_NS};
	static const uint32_t lengths[] = {1, 2, 999, 65536, WEIGHT_MAX_NS - 2, WEIGHT_MAX_NS - 1};

	for (size_t i = 0; i < sizeof(thresholds) / sizeof(*thresholds); i++) {
		struct bp_choice choice = {1, thresholds[i]};

		assert_false(weight_keeps(&choice, 0));
		for (size_t k = 0; k < sizeof(lengths) / sizeof(*lengths); k++) {
			uint64_t first =
				(((uint64_t)lengths[k] << 32) + thresholds[i] - 1) / thresholds[i];

			if (lengths[k] >= thresholds[i])
				continue;
			choice.draw = (uint32_t)(first - 1);
			assert_true(weight_keeps(&choice, lengths[k]));
			choice.draw = (uint32_t)first;
			assert_false(weight_keeps(&choice, lengths[k]));
		}
	}
}

/* What chance may round is a whole number at most: nothing overflows. */
static void test_scale(void **state)
{
	static const uint32_t lengths[] = {1, 2, 3, 1000, 12345678, WEIGHT_MAX_NS - 1};
	struct bp_weight weight = {.random = 1};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		uint32_t ns = lengths[i];

		for (uint32_t part = ns; part; part /= 3) {
			double exact = (double)part * WEIGHT_MAX_NS / ns;
			double got = (double)weight_scale(&weight, part, ns, WEIGHT_MAX_NS);

			assert_true(got > exact - 1 && got < exact + 1);
		}
		assert_int_equal(weight_scale(&weight, 0, ns, WEIGHT_MAX_NS), 0);
		assert_int_equal(weight_scale(&weight, ns, ns, WEIGHT_MAX_NS), WEIGHT_MAX_NS);
	}
	assert_int_equal(weight_scale(&weight, 0, 0, WEIGHT_MAX_NS), 0);
}

/* Never less than it is, and hardly more. */
static void test_variance(void **state)
{
	static const uint32_t thresholds[] = {2, 1000, 65537, 10000000, WEIGHT_MAX_NS};

	for (size_t i = 0; i < sizeof(thresholds) / sizeof(*thresholds); i++)
		for (uint32_t ns = thresholds[i] - 1; ns; ns /= 2) {
			double q = thresholds[i], exact = q * (q - ns) / 0x1p20;
			uint64_t got = weight_variance(thresholds[i], ns, thresholds[i]);

			assert_true((double)got >= exact);
			assert_true((double)got <= exact + q / 0x1p20 + 2);
		}
	assert_int_equal(weight_variance(5, 0, 0), 0);
}

static void test_adapt(void **state)
{
	uint32_t threshold = 0;

	/* Idle: chance has no part. */
	assert_int_equal(weight_adapt(0, 0, WEIGHT_PERIOD_NS, BUDGET), 0);
	/* From 0 to the first, and by no more than a factor at a time up to the last. */
	for (int i = 0; i < 20; i++) {
		uint32_t next = weight_adapt(threshold, WEIGHT_PERIOD_NS, WEIGHT_PERIOD_NS, BUDGET);

		assert_true(next > threshold || next == WEIGHT_MAX_NS);
		assert_true(next <= WEIGHT_MAX_NS);
		assert_true(next <= (uint64_t)threshold * WEIGHT_STEP || next == WEIGHT_FIRST_NS);
		threshold = next;
	}
	assert_int_equal(threshold, WEIGHT_MAX_NS);
	/* Just what it may: it stays. */
	assert_int_equal(weight_adapt(5000, 95000, WEIGHT_PERIOD_NS, BUDGET), 5000);
	for (int i = 0; i < 200; i++)
		threshold = weight_adapt(threshold, 0, WEIGHT_PERIOD_NS, BUDGET);
	assert_int_equal(threshold, 0);
}

/* A CPU that was up for years without a wait; a walk that a hypervisor has stretched to hours. */
static void test_adapt_extremes(void **state)
{
	uint64_t hour_ns = 3600 * 1000000000ULL, years_ns = 30000 * hour_ns;

	assert_int_equal(weight_adapt(8000, hour_ns, years_ns, 1024), 4000);
	for (uint32_t budget = 1; budget <= 1024; budget *= 2) {
		uint32_t next = weight_adapt(WEIGHT_MAX_NS - 1, hour_ns, hour_ns, budget);

		if (budget == 1024)
			assert_true(next <= WEIGHT_MAX_NS && next >= WEIGHT_MAX_NS - 2);
		else
			assert_int_equal(next, WEIGHT_MAX_NS);
	}
	assert_int_equal(weight_adapt(0, 2, 0, 0), WEIGHT_FIRST_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_constant),    cmocka_unit_test(test_alternating),
		cmocka_unit_test(test_exponential), cmocka_unit_test(test_pareto),
		cmocka_unit_test(test_bimodal),	    cmocka_unit_test(test_crowded),
		cmocka_unit_test(test_seldom),	    cmocka_unit_test(test_no_threshold),
		cmocka_unit_test(test_long_waits),  cmocka_unit_test(test_draws),
		cmocka_unit_test(test_scale),	    cmocka_unit_test(test_variance),
		cmocka_unit_test(test_adapt),	    cmocka_unit_test(test_adapt_extremes),
	};

	return cmocka_run_group_tests_name("weight", tests, NULL, NULL);
}
