/* SPDX-License-Identifier: Apache-2.0 */
/* The rate's closed loop against loads whose cost is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/rate.h"

#define WINDOW_NS (10 * NSEC_PER_SEC)

/* What a window costs on a load: shares of the machine. Stacks of waits take what they may. */
struct load {
	double fixed, per_hz, switches;
	double stacks_max; /* there are no more of them; 0: as many as may be */
	double per_second; /* context switches; 0: not known */
};

struct run {
	struct rate rate;
	uint64_t now_ns;
	struct rate_cost last; /* of the window before */
	unsigned int above; /* windows above the bound */
	unsigned int ups, downs;
};

/* Waits get a quarter of the bound, as the agent has it. */
static struct run start(uint64_t hz, double max_share)
{
	struct run run = {.now_ns = 1000 * NSEC_PER_SEC};
	const struct rate_opts opts = {
		.max_hz = hz,
		.max_share = max_share,
		.max_permille = max_share < 0.004 ? 1 : (uint32_t)(max_share * 250),
	};

	rate_init(&run.rate, &opts);
	return run;
}

static struct rate_cost cost_of(const struct rate *rate, const struct load *load)
{
	double stacks = (double)rate->permille / 1000;
	struct rate_cost cost = {
		.clock = load->per_hz * (double)rate->hz,
		.switches = load->per_second,
	};

	if (load->stacks_max > 0 && stacks > load->stacks_max)
		stacks = load->stacks_max;
	if (rate->permille)
		cost.waits = load->switches + stacks;
	cost.all = load->fixed + cost.clock + cost.waits;
	return cost;
}

static void windows(struct run *run, const struct load *load, unsigned int cnt)
{
	run->above = run->ups = run->downs = 0;
	for (unsigned int i = 0; i < cnt; i++) {
		enum rate_step step;

		run->last = cost_of(&run->rate, load);
		run->above += run->last.all > run->rate.opts.max_share;
		run->now_ns += WINDOW_NS;
		step = rate_step(&run->rate, run->now_ns, &run->last, false);
		run->ups += step == RATE_RAISED || step == RATE_WAITS_ON || step == RATE_WAITS_MORE;
		run->downs +=
			step == RATE_LOWERED || step == RATE_WAITS_OFF || step == RATE_WAITS_LESS;
		assert_in_range(run->rate.hz, RATE_MIN_HZ, run->rate.opts.max_hz);
		assert_in_range(run->rate.permille, 0, run->rate.opts.max_permille);
	}
}

static void test_light_load_keeps_the_rate(void **state)
{
	struct run run = start(19, 0.01);

	windows(&run, &(const struct load){0.001, 0.0001, 0.001, 0}, 1000);
	assert_int_equal(run.rate.hz, 19);
	assert_int_equal(run.rate.permille, 2);
	assert_int_equal(run.ups + run.downs, 0);
}

static void test_heavy_load_halves_until_it_fits(void **state)
{
	const struct load load = {0.0005, 0.001, 0, 0.001};
	struct run run = start(64, 0.01);

	/* 64 -> 32 -> 16 -> 8: 0.05 % + 0.8 % + 0.1 % of waits. */
	windows(&run, &load, 3);
	assert_int_equal(run.rate.hz, 8);
	assert_int_equal(run.above, 3);
	windows(&run, &load, 360);
	assert_true(run.rate.hz <= 8);
	assert_int_equal(run.rate.permille, 2);
	assert_int_equal(run.above, 0);
}

static void test_the_rate_comes_back_slowly(void **state)
{
	struct run run = start(97, 0.01);

	windows(&run, &(const struct load){0, 0.01, 0, 0.0001}, 10);
	assert_int_equal(run.rate.hz, 1);
	/* The load is gone: by half each 30 s. */
	windows(&run, &(const struct load){0, 0.00001, 0, 0.00001}, 8);
	assert_in_range(run.rate.hz, 2, 3);
	windows(&run, &(const struct load){0, 0.00001, 0, 0.00001}, 100);
	assert_int_equal(run.rate.permille, 2);
	assert_int_equal(run.rate.hz, 97);
	assert_int_equal(run.above, 0);
}

static void test_a_steady_load_makes_no_seesaw(void **state)
{
	/* What a step up costs is more than it should: each is taken back. */
	struct run run = start(64, 0.01);
	unsigned int day = 24 * 360, above = 0;

	for (unsigned int i = 0; i < day; i++) {
		const struct load load = {0.001, run.rate.hz > 16 ? 0.01 : 0.0003, 0, 0.001};

		windows(&run, &load, 1);
		above += run.above;
	}
	/* Quiet times double up to a quarter of an hour. */
	assert_in_range(above, 2, 60);
}

/* A storm of switches costs 5 % whatever the frequency is: the clock is left alone. */
static void test_what_costs_more_goes_first(void **state)
{
	struct run run = start(19, 0.01);

	windows(&run, &(const struct load){0.001, 0.0001, 0.05, 0}, 1);
	assert_int_equal(run.rate.permille, 0);
	assert_int_equal(run.rate.hz, 19);
	/* It is not over, and tried again ever later. */
	windows(&run, &(const struct load){0.001, 0.0001, 0.05, 0}, 360);
	assert_int_equal(run.rate.hz, 19);
	assert_in_range(run.above, 2, 8);
	/* It is. */
	windows(&run, &(const struct load){0.001, 0.0001, 0.001, 0}, 400);
	assert_int_equal(run.rate.permille, 2);
	assert_int_equal(run.rate.hz, 19);
}

/* What a switch cost is known, and how many there are: nothing is tried while the storm lasts. */
static void test_a_known_storm_is_sat_out(void **state)
{
	struct run run = start(19, 0.01);

	windows(&run, &(const struct load){0.001, 0.0001, 0.05, 0, 500000}, 720);
	assert_int_equal(run.rate.permille, 0);
	assert_int_equal(run.rate.hz, 19);
	assert_int_equal(run.above, 1);
	windows(&run, &(const struct load){0.001, 0.0001, 0.0002, 0, 2000}, 8);
	assert_int_equal(run.rate.permille, 2);
	assert_int_equal(run.above, 0);
}

/* Hours in which each step up was one too early do not keep all low when they are over. */
static void test_after_hours_of_changes_all_comes_back(void **state)
{
	const struct load storm = {0.002, 0.002, 0.02, 0, 200000};
	const struct load calm = {0.002, 0.0001, 0.0001, 0.0001, 1000};
	struct run run = start(19, 0.01);

	/* A storm comes just after each step up, whenever that is. */
	for (int i = 0; i < 720; i++)
		windows(&run, run.ups ? &storm : &calm, 1);
	windows(&run, &storm, 2);
	assert_int_equal(run.rate.permille, 0);
	/* Half an hour at most. */
	windows(&run, &(const struct load){0.0002, 0.00002, 0.0001, 0.0001, 1000}, 180);
	assert_int_equal(run.rate.hz, 19);
	assert_int_equal(run.rate.permille, 2);
	assert_int_equal(run.above, 0);
}

/* A clock that may go up does not wait for waits that may not. */
static void test_each_comes_back_by_itself(void **state)
{
	struct run run = start(19, 0.01);

	windows(&run, &(const struct load){0.001, 0.002, 0.05, 0, 500000}, 10);
	assert_int_equal(run.rate.permille, 0);
	assert_true(run.rate.hz < 19);
	windows(&run, &(const struct load){0.001, 0.0001, 0.05, 0, 500000}, 30);
	assert_int_equal(run.rate.permille, 0);
	assert_int_equal(run.rate.hz, 19);
	assert_int_equal(run.above, 0);
}

/* Where stacks make the cost, fewer of them do. */
static void test_waits_are_thinned(void **state)
{
	const struct load load = {0.02, 0.001, 0.055, 0};
	struct run run = start(19, 0.1);

	/* 2 % + 1.9 % + 5.5 % + 2.5 %, then 1.2 %. */
	assert_int_equal(run.rate.permille, 25);
	windows(&run, &load, 1);
	assert_int_equal(run.rate.permille, 12);
	windows(&run, &load, 1);
	assert_int_equal(run.rate.permille, 6);
	assert_int_equal(run.above, 1);
	windows(&run, &load, 360);
	assert_int_equal(run.rate.hz, 19);
	assert_int_equal(run.rate.permille, 6);
	assert_int_equal(run.above, 0);
}

/* Thinning cannot do: at once none. */
static void test_thinning_that_cannot_do_is_not_tried(void **state)
{
	struct run run = start(19, 0.1);

	windows(&run, &(const struct load){0.02, 0.001, 0.09, 0}, 1);
	assert_int_equal(run.rate.permille, 0);
	assert_int_equal(run.rate.hz, 19);
}

/* Each costs too much for itself: both go down, until it fits. */
static void test_both_go_down(void **state)
{
	struct run run = start(64, 0.01);

	windows(&run, &(const struct load){0.001, 0.001, 0.04, 0}, 10);
	assert_int_equal(run.rate.permille, 0);
	assert_in_range(run.rate.hz, 1, 8);
	assert_true(run.last.all <= 0.01);
}

/* At the lowest rate waits go, though they cost less. */
static void test_waits_go_when_nothing_else_is_left(void **state)
{
	struct run run = start(2, 0.01);

	windows(&run, &(const struct load){0.004, 0.005, 0.002, 0}, 3);
	assert_int_equal(run.rate.hz, 1);
	assert_int_equal(run.rate.permille, 0);
}

/* Under the least bound there is, too, both come back. */
static void test_the_least_bound(void **state)
{
	struct run run = start(19, 0.001);

	windows(&run, &(const struct load){0, 0.001, 0.01, 0}, 20);
	assert_int_equal(run.rate.permille, 0);
	assert_int_equal(run.rate.hz, 1);
	windows(&run, &(const struct load){0.0001, 0.00001, 0.00001, 0.00001}, 800);
	assert_int_equal(run.rate.permille, 1);
	assert_int_equal(run.rate.hz, 19);
}

/* Nobody asked for them. */
static void test_without_waits(void **state)
{
	struct run run = start(19, 0.01);

	run.rate.opts.max_permille = run.rate.permille = 0;
	windows(&run, &(const struct load){0.001, 0.01, 0.05, 0}, 10);
	assert_int_equal(run.rate.hz, 1);
	windows(&run, &(const struct load){0.0001, 0.0001, 0.05, 0}, 200);
	assert_int_equal(run.rate.hz, 19);
	assert_int_equal(run.rate.permille, 0);
}

static void test_stuck_is_told_once(void **state)
{
	struct run run = start(4, 0.01);
	const struct rate_cost cost = {.all = 0.5};
	unsigned int told = 0;

	for (int i = 0; i < 100; i++) {
		run.now_ns += WINDOW_NS;
		told += rate_step(&run.rate, run.now_ns, &cost, false) == RATE_STUCK;
	}
	assert_int_equal(told, 1);
}

static void test_memory_lowers_too(void **state)
{
	struct run run = start(19, 1);
	struct rate_cost cost = {.all = 0.9, .clock = 0.2, .waits = 0.1};

	assert_int_equal(rate_step(&run.rate, run.now_ns, &cost, false), RATE_KEEP);
	assert_int_equal(rate_step(&run.rate, run.now_ns, &cost, true), RATE_LOWERED);
	assert_int_equal(run.rate.hz, 9);
	cost.waits = 0.3;
	assert_int_equal(rate_step(&run.rate, run.now_ns, &cost, true), RATE_WAITS_LESS);
	assert_int_equal(run.rate.permille, 125);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_light_load_keeps_the_rate),
		cmocka_unit_test(test_heavy_load_halves_until_it_fits),
		cmocka_unit_test(test_the_rate_comes_back_slowly),
		cmocka_unit_test(test_a_steady_load_makes_no_seesaw),
		cmocka_unit_test(test_what_costs_more_goes_first),
		cmocka_unit_test(test_a_known_storm_is_sat_out),
		cmocka_unit_test(test_after_hours_of_changes_all_comes_back),
		cmocka_unit_test(test_each_comes_back_by_itself),
		cmocka_unit_test(test_waits_are_thinned),
		cmocka_unit_test(test_thinning_that_cannot_do_is_not_tried),
		cmocka_unit_test(test_both_go_down),
		cmocka_unit_test(test_waits_go_when_nothing_else_is_left),
		cmocka_unit_test(test_the_least_bound),
		cmocka_unit_test(test_without_waits),
		cmocka_unit_test(test_stuck_is_told_once),
		cmocka_unit_test(test_memory_lowers_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
