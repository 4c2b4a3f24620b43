/* SPDX-License-Identifier: Apache-2.0 */
/* The rate's closed loop against loads whose cost is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/rate.h"

#define WINDOW_NS (10 * NSEC_PER_SEC)

/* What a window costs on a load: shares of the machine. */
struct load {
	double fixed, per_hz, waits;
};

struct run {
	struct rate rate;
	uint64_t now_ns;
	double last; /* share of the window before */
	unsigned int above; /* windows above the bound */
	unsigned int ups, downs;
};

static struct run start(uint64_t hz, double max_share)
{
	struct run run = {.now_ns = 1000 * NSEC_PER_SEC};
	const struct rate_opts opts = {.max_hz = hz, .max_share = max_share, .has_waits = true};

	rate_init(&run.rate, &opts);
	return run;
}

static void windows(struct run *run, const struct load *load, unsigned int cnt)
{
	run->above = run->ups = run->downs = 0;
	for (unsigned int i = 0; i < cnt; i++) {
		enum rate_step step;

		run->last = load->fixed + load->per_hz * (double)run->rate.hz +
			    (run->rate.waits ? load->waits : 0);
		run->above += run->last > run->rate.opts.max_share;
		run->now_ns += WINDOW_NS;
		step = rate_step(&run->rate, run->now_ns, run->last, false);
		run->ups += step == RATE_RAISED || step == RATE_WAITS_ON;
		run->downs += step == RATE_LOWERED || step == RATE_WAITS_OFF;
		assert_in_range(run->rate.hz, RATE_MIN_HZ, run->rate.opts.max_hz);
	}
}

static void test_light_load_keeps_the_rate(void **state)
{
	struct run run = start(19, 0.01);

	windows(&run, &(const struct load){0.001, 0.0001, 0.001}, 1000);
	assert_int_equal(run.rate.hz, 19);
	assert_int_equal(run.ups + run.downs, 0);
}

static void test_heavy_load_halves_until_it_fits(void **state)
{
	const struct load load = {0.002, 0.001, 0};
	struct run run = start(64, 0.01);

	/* 64 -> 32 -> 16 -> 8: 0.2 % + 0.8 % is the bound. */
	windows(&run, &load, 3);
	assert_int_equal(run.rate.hz, 8);
	assert_int_equal(run.above, 3);
	windows(&run, &load, 360);
	assert_true(run.rate.hz <= 8);
	assert_int_equal(run.above, 0);
}

static void test_the_rate_comes_back_slowly(void **state)
{
	struct run run = start(97, 0.01);

	windows(&run, &(const struct load){0, 0.01, 0}, 10);
	assert_int_equal(run.rate.hz, 1);
	/* The load is gone: by half each 30 s. */
	windows(&run, &(const struct load){0, 0.00001, 0}, 4);
	assert_in_range(run.rate.hz, 2, 3);
	windows(&run, &(const struct load){0, 0.00001, 0}, 100);
	assert_int_equal(run.rate.hz, 97);
	assert_int_equal(run.above, 0);
}

static void test_a_steady_load_makes_no_seesaw(void **state)
{
	/* What a step up costs is more than it should: each is taken back. */
	struct run run = start(64, 0.01);
	unsigned int day = 24 * 360, above = 0;

	for (unsigned int i = 0; i < day; i++) {
		const struct load load = {0.002, run.rate.hz > 16 ? 0.01 : 0.0003, 0};

		windows(&run, &load, 1);
		above += run.above;
	}
	/* Quiet times double up to an hour: some 30 tries in a day. */
	assert_in_range(above, 2, 60);
}

static void test_waits_go_last_and_come_first(void **state)
{
	struct run run = start(19, 0.01);

	/* A storm of switches costs 5 % whatever the frequency is. */
	windows(&run, &(const struct load){0.001, 0.0001, 0.05}, 6);
	assert_false(run.rate.waits);
	assert_int_equal(run.rate.hz, RATE_MIN_HZ);
	windows(&run, &(const struct load){0.001, 0.0001, 0.001}, 5);
	assert_true(run.rate.waits);
	assert_int_equal(run.rate.hz, RATE_MIN_HZ);
	windows(&run, &(const struct load){0.001, 0.0001, 0.001}, 200);
	assert_int_equal(run.rate.hz, 19);
}

static void test_stuck_is_told_once(void **state)
{
	struct run run = start(4, 0.01);
	unsigned int told = 0;

	for (int i = 0; i < 100; i++) {
		run.now_ns += WINDOW_NS;
		told += rate_step(&run.rate, run.now_ns, 0.5, false) == RATE_STUCK;
	}
	assert_int_equal(told, 1);
}

static void test_memory_lowers_too(void **state)
{
	struct run run = start(19, 1);

	assert_int_equal(rate_step(&run.rate, run.now_ns, 0.9, false), RATE_KEEP);
	assert_int_equal(rate_step(&run.rate, run.now_ns, 0, true), RATE_LOWERED);
	assert_int_equal(run.rate.hz, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_light_load_keeps_the_rate),
		cmocka_unit_test(test_heavy_load_halves_until_it_fits),
		cmocka_unit_test(test_the_rate_comes_back_slowly),
		cmocka_unit_test(test_a_steady_load_makes_no_seesaw),
		cmocka_unit_test(test_waits_go_last_and_come_first),
		cmocka_unit_test(test_stuck_is_told_once),
		cmocka_unit_test(test_memory_lowers_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
