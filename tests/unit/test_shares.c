/* SPDX-License-Identifier: Apache-2.0 */
/* What is stored of a service under a policy: as much as was asked for, and right on average. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "agent/config.h"
#include "agent/shares.h"
#include "base/clock.h"

enum { ROWS = 40, RUNS = 4000, CPU = 0, WAITS = 1 };
/* 2026-11-20T12:00:00Z, and a window of 10 s */
#define NOON_NS (1795176000 * NSEC_PER_SEC)
#define WINDOW_NS (10 * NSEC_PER_SEC)

static const struct store_kind kinds[] = {
	[CPU] = {.name = "cpu", .columns = {0, 1}, .column_cnt = 2},
	[WAITS] = {.name = "off-cpu", .columns = {2, 3, 4, 5}, .column_cnt = 4},
};

struct sums {
	int64_t values[6];
	uint64_t left_out;
	int64_t first_row; /* its nanoseconds */
};

/* Row @nr: 1 to 13 samples of 100 ns and a bit. */
static void fill(int nr, int64_t *values)
{
	const int64_t cnt = 1 + nr * 7 % 13;

	values[0] = values[2] = cnt;
	values[1] = cnt * 100 + nr;
	values[3] = cnt * 1000;
	values[4] = cnt;
	values[5] = values[3] + values[4];
}

static struct sums everything(void)
{
	struct sums sums = {.left_out = 0};
	int64_t row[6];

	for (int nr = 0; nr < ROWS; nr++) {
		fill(nr, row);
		for (int i = 0; i < 6; i++)
			sums.values[i] += row[i];
	}
	return sums;
}

/* A window's rows, all of one service. */
static struct sums run(const struct policy *policy, const char *host, uint64_t now_ns,
		       uint64_t seed)
{
	const struct shares_opts opts = {
		.policy = policy,
		.facts = {.host = host},
		.now_ns = now_ns,
		.duration_ns = WINDOW_NS,
		.clock_hz = 100,
		.waits_kind = WAITS,
		.seed = seed,
	};
	struct sums sums = {.left_out = 0};
	struct shares shares;
	int64_t row[6];
	uint32_t share;

	shares_init(&shares, &opts);
	share = shares_find(&shares, 7, "shop");
	assert_int_equal(share, 0);
	assert_int_equal(shares_find(&shares, 8, "cart"), 1);
	assert_int_equal(shares_find(&shares, 7, "shop"), 0);
	for (int nr = 0; nr < ROWS; nr++) {
		fill(nr, row);
		shares_count(&shares, share, CPU, row[0]);
	}
	for (int nr = 0; nr < ROWS; nr++) {
		fill(nr, row);
		for (uint32_t kind = CPU; kind <= WAITS; kind++)
			sums.left_out += shares_take(&shares, share, kind, &kinds[kind], row);
		assert_int_equal(row[5], row[3] + row[4]);
		for (int i = 0; i < 6; i++)
			sums.values[i] += row[i];
		if (!nr)
			sums.first_row = row[1];
	}
	shares_deinit(&shares);
	return sums;
}

static struct config parse(const char *text)
{
	struct config config;
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(config_parse_policy("p", text, strlen(text), &config, &why), 0);
	buf_deinit(&why);
	return config;
}

static struct sums run_once(const char *text)
{
	struct config config = parse(text);
	const struct sums sums = run(&config.policy, "web-1", NOON_NS, 1);

	config_deinit(&config);
	return sums;
}

static void assert_all(const struct sums *sums)
{
	const struct sums all = everything();

	assert_memory_equal(sums->values, all.values, sizeof(all.values));
	assert_int_equal(sums->left_out, 0);
}

static void test_all_is_stored(void **state)
{
	struct sums sums = run_once("");

	assert_all(&sums);
	/* What is there is less than may be, and than would be sampled. */
	sums = run_once("[policy *]\nsamples-per-hour = 1000k\nfreq = 100\n");
	assert_all(&sums);
	sums = run_once("[policy *]\nfreq = 200\n");
	assert_all(&sums);
	sums = run_once("[policy *]\nfreq = 1\nenabled = no\nsamples-per-hour = 1\n"
			"[policy service=shop]\nkeep-until = 2026-11-20T13:00:00Z\n");
	assert_all(&sums);
}

static void test_nothing_is_stored(void **state)
{
	const struct sums all = everything();
	struct sums sums = run_once("[policy service=shop]\nenabled = no\n");

	for (int i = 0; i < 6; i++)
		assert_int_equal(sums.values[i], 0);
	assert_int_equal(sums.left_out, all.values[0] + all.values[2]);
	sums = run_once("[policy service=shop]\noff-cpu = no\n");
	assert_int_equal(sums.values[1], all.values[1]);
	assert_int_equal(sums.values[2], 0);
	assert_int_equal(sums.values[5], 0);
	assert_int_equal(sums.left_out, all.values[2]);
}

/* The mean of what RUNS seeds make is that of everything, within four of its standard errors; each
 * run stores the next integer to its share, and waits are as they were. */
static void assert_right_on_average(const char *text, double wanted)
{
	const struct sums all = everything();
	struct config config = parse(text);
	double sum = 0, squares = 0, first = 0, first_squares = 0, cnt = 0;
	int64_t row[6];

	fill(0, row);
	for (uint64_t seed = 0; seed < RUNS; seed++) {
		const struct sums sums = run(&config.policy, "web-1", NOON_NS, seed);
		const double off = (double)(sums.values[1] - all.values[1]);
		const double first_off = (double)(sums.first_row - row[1]);

		assert_true(fabs((double)sums.values[0] - wanted) < 1);
		assert_int_equal(sums.left_out, all.values[0] - sums.values[0]);
		assert_int_equal(sums.values[5], all.values[5]);
		sum += off;
		squares += off * off;
		first += first_off;
		first_squares += first_off * first_off;
		cnt += (double)sums.values[0];
	}
	assert_true(fabs(sum / RUNS) < 4 * sqrt(squares) / RUNS);
	/* Also of each row, by itself. */
	assert_true(fabs(first / RUNS) < 4 * sqrt(first_squares) / RUNS);
	assert_true(fabs(cnt / RUNS - wanted) < 4 * sqrt(0.25 / RUNS));
	config_deinit(&config);
}

static void test_a_rate_is_right_on_average(void **state)
{
	assert_right_on_average("[policy service=s*]\nfreq = 7\n",
				0.07 * (double)everything().values[0]);
}

static void test_a_target_is_held_and_right_on_average(void **state)
{
	/* A 360th of an hour: 30.5 samples, and 0.05. */
	assert_right_on_average("[policy *]\nsamples-per-hour = 10980\n", 30.5);
	assert_right_on_average("[policy *]\nsamples-per-hour = 18\nfreq = 99\n", 0.05);
}

/* Hosts that record some hours stand for those that do not. */
static void test_hours_are_right_on_average(void **state)
{
	const struct sums all = everything();
	struct config config = parse("[policy *]\nhours = 25%\n");
	double sums_of[6] = {0};
	int chosen = 0;

	for (uint64_t i = 0; i < RUNS; i++) {
		const struct sums sums =
			run(&config.policy, "web-1", NOON_NS + i * 3600 * NSEC_PER_SEC, i);

		for (int k = 0; k < 6; k++)
			sums_of[k] += (double)sums.values[k];
		if (!sums.values[1])
			continue;
		chosen++;
		assert_int_equal(sums.values[0], all.values[0]);
		assert_true(fabs((double)(sums.values[1] - 4 * all.values[1])) <= 1);
		assert_true(fabs((double)(sums.values[5] - 4 * all.values[5])) <= 2);
	}
	assert_true(fabs(chosen - 0.25 * RUNS) < 4 * sqrt(RUNS * 0.25 * 0.75));
	/* Four times 0.25 as many: a relative standard error of sqrt(3 / RUNS). */
	for (int k = 1; k < 6; k += k == 1 ? 2 : 1)
		assert_true(fabs(sums_of[k] / RUNS / (double)all.values[k] - 1) <
			    4 * sqrt(3.0 / RUNS));
	config_deinit(&config);
}

/* Sums stop at the end of their type, and a row without samples keeps its time. */
static void test_ends(void **state)
{
	struct config config = parse("[policy *]\nfreq = 1\n");
	const struct shares_opts opts = {
		.policy = &config.policy,
		.facts = {.host = "web-1"},
		.clock_hz = 100,
		.waits_kind = PROFILE_NONE,
	};
	int64_t rows[2][6] = {{0, 500}, {100, INT64_MAX}};
	struct shares shares;

	shares_init(&shares, &opts);
	shares_find(&shares, 1, "");
	shares_count(&shares, 0, CPU, -5);
	assert_int_equal(shares_take(&shares, 0, CPU, &kinds[CPU], rows[0]), 0);
	assert_in_range(rows[0][1], 500, 501);
	assert_int_equal(shares_take(&shares, 0, CPU, &kinds[CPU], rows[1]), 99);
	assert_int_equal(rows[1][1], INT64_MAX);
	shares_deinit(&shares);
	config_deinit(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_is_stored),
		cmocka_unit_test(test_nothing_is_stored),
		cmocka_unit_test(test_a_rate_is_right_on_average),
		cmocka_unit_test(test_a_target_is_held_and_right_on_average),
		cmocka_unit_test(test_hours_are_right_on_average),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
