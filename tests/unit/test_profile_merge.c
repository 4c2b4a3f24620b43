/* SPDX-License-Identifier: Apache-2.0 */
/* Merge and filter: nothing lost, nothing twice, in any grouping, in linear time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "profile/ledger.h"
#include "profile/profile.h"
#include "profile_dump.h"
#include "random_profile.h"
#include "sample_profile.h"

static void test_merge_into_empty(void **state)
{
	struct profile prof, copy;

	assert_int_equal(profile_init(&prof), 0);
	assert_int_equal(profile_init(&copy), 0);
	sample_profile(&prof);
	sample_set_ledger(&prof);
	assert_int_equal(prof.err, 0);
	assert_int_equal(profile_merge(&copy, &prof), 0);
	assert_same(&copy, &prof);
	profile_deinit(&prof);
	profile_deinit(&copy);
}

static void test_merge_empty(void **state)
{
	struct profile prof, copy, empty;

	assert_int_equal(profile_init(&prof), 0);
	assert_int_equal(profile_init(&copy), 0);
	assert_int_equal(profile_init(&empty), 0);
	sample_profile(&prof);
	sample_set_ledger(&prof);
	sample_profile(&copy);
	sample_set_ledger(&copy);
	profile_add_value_type(&empty, "cpu", "nanoseconds");
	profile_add_value_type(&empty, "samples", "count");
	assert_int_equal(profile_merge(&copy, &empty), 0);
	assert_same(&copy, &prof);
	profile_deinit(&prof);
	profile_deinit(&copy);
	profile_deinit(&empty);
}

static void test_merge_is_associative(void **state)
{
	for (uint64_t round = 0; round < 20; round++) {
		struct profile left, right, middle, last;

		random_profile(&left, 3 * round + 1);
		random_profile(&middle, 3 * round + 2);
		random_profile(&last, 3 * round + 3);
		assert_int_equal(profile_merge(&left, &middle), 0);
		assert_int_equal(profile_merge(&left, &last), 0);
		random_profile(&right, 3 * round + 1);
		assert_int_equal(profile_merge(&middle, &last), 0);
		assert_int_equal(profile_merge(&right, &middle), 0);
		assert_int_equal(profile_total(&left, 0), 600);
		assert_same(&left, &right);
		profile_deinit(&left);
		profile_deinit(&right);
		profile_deinit(&middle);
		profile_deinit(&last);
	}
}

static void test_merge_adds(void **state)
{
	struct profile once, twice;
	struct ledger ledger;

	assert_int_equal(profile_init(&once), 0);
	assert_int_equal(profile_init(&twice), 0);
	sample_profile(&once);
	sample_set_ledger(&once);
	assert_int_equal(profile_merge(&twice, &once), 0);
	assert_int_equal(profile_merge(&twice, &once), 0);
	assert_int_equal(twice.sample_cnt, once.sample_cnt);
	assert_int_equal(twice.location_cnt, once.location_cnt);
	for (size_t i = 0; i < once.value_cnt; i++)
		assert_true(twice.values[i] == 2 * once.values[i]);
	assert_true(twice.time_ns == once.time_ns);
	assert_true(twice.duration_ns == 2 * once.duration_ns);
	/* "made by a test" once, and one ledger with both in it */
	assert_int_equal(twice.comment_cnt, 2);
	assert_int_equal(profile_get_ledger(&twice, &ledger), 0);
	assert_int_equal(ledger.events[0].sum.ticks, 2 * 5940);
	assert_int_equal(ledger.events[0].per_cpu_cnt, 2);
	assert_true(ledger_balances(&ledger, NULL));
	ledger_deinit(&ledger);
	profile_deinit(&once);
	profile_deinit(&twice);
}

static void test_value_types(void **state)
{
	struct profile prof, turned, other;

	assert_int_equal(profile_init(&prof), 0);
	assert_int_equal(profile_init(&turned), 0);
	assert_int_equal(profile_init(&other), 0);
	sample_profile(&prof);
	sample_set_ledger(&prof);
	profile_add_value_type(&turned, "cpu", "nanoseconds");
	profile_add_value_type(&turned, "samples", "count");
	profile_sample(&turned, profile_stack(&turned, NULL, 0), profile_labels(&turned, NULL, 0),
		       (int64_t[]){1000, 1});
	assert_int_equal(profile_merge(&prof, &turned), 0);
	assert_int_equal(profile_total(&prof, 0), 10 + 3 + 4 + 5 + 1 + 2 + 1);
	/* same types, one unit differs: refused, nothing changed */
	profile_add_value_type(&other, "samples", "count");
	profile_add_value_type(&other, "cpu", "milliseconds");
	other.time_ns = 1;
	assert_int_equal(profile_merge(&prof, &other), -EINVAL);
	assert_true(prof.time_ns > 1);
	assert_int_equal(prof.err, 0);
	profile_deinit(&prof);
	profile_deinit(&turned);
	profile_deinit(&other);
}

static void test_too_many_events(void **state)
{
	struct profile left, right;
	struct ledger ledger;

	assert_int_equal(profile_init(&left), 0);
	assert_int_equal(profile_init(&right), 0);
	sample_profile(&left);
	sample_set_ledger(&left);
	sample_profile(&right);
	sample_set_ledger(&right);
	ledger_init(&ledger);
	for (; ledger.event_cnt < LEDGER_EVENTS_MAX; ledger.event_cnt++)
		snprintf(ledger.events[ledger.event_cnt].name, LEDGER_NAME_MAX, "event-%u",
			 ledger.event_cnt);
	assert_int_equal(profile_set_ledger(&right, &ledger), 0);
	assert_int_equal(profile_merge(&left, &right), -E2BIG);
	assert_int_equal(profile_total(&left, 0), 25);
	profile_deinit(&left);
	profile_deinit(&right);
}

static bool keep_web(const struct profile *prof, uint32_t sample, void *arg)
{
	const struct profile_label_set *set = &prof->label_sets[prof->samples[sample].label_set];

	(*(int *)arg)++;
	for (uint32_t i = 0; i < set->cnt; i++) {
		const struct profile_label *label = &prof->labels[set->first + i];

		if (!strcmp(profile_str(prof, label->key), "comm") &&
		    !strcmp(profile_str(prof, label->str), "web"))
			return true;
	}
	return false;
}

static void test_filter(void **state)
{
	struct profile prof, web;
	struct ledger ledger;
	int asked = 0;

	assert_int_equal(profile_init(&prof), 0);
	assert_int_equal(profile_init(&web), 0);
	sample_profile(&prof);
	sample_set_ledger(&prof);
	assert_int_equal(profile_filter(&prof, keep_web, &asked, &web), 0);
	assert_int_equal(asked, prof.sample_cnt);
	assert_int_equal(profile_total(&web, 0), 10 + 3 + 4);
	assert_int_equal(web.sample_cnt, 3);
	assert_int_equal(web.label_set_cnt, 2);
	assert_true(web.time_ns == prof.time_ns && web.duration_ns == prof.duration_ns);
	assert_int_equal(web.period, prof.period);
	/* only what is needed came along */
	assert_int_equal(strtab_find(&web.strings, "wake_up", 7), STRTAB_NONE);
	assert_int_equal(profile_get_ledger(&web, &ledger), 0);
	assert_int_equal(ledger.events[0].sum.ticks, 5940);
	ledger_deinit(&ledger);
	profile_deinit(&prof);
	profile_deinit(&web);
}

/* @cnt distinct stacks of ten frames. */
static void many_stacks(struct profile *prof, uint32_t cnt, uint32_t salt)
{
	uint32_t map, stack[10];

	assert_int_equal(profile_init(prof), 0);
	profile_add_value_type(prof, "samples", "count");
	map = profile_mapping(prof, "/bin/many", "");
	for (uint32_t i = 0; i < cnt; i++) {
		for (uint32_t j = 0; j < 10; j++)
			stack[j] =
				profile_location(prof, map, (i * 7 + j * 13 + salt) % (cnt + j), 0);
		stack[0] = profile_location(prof, map, i + salt, 0);
		profile_sample(prof, profile_stack(prof, stack, 10), profile_labels(prof, NULL, 0),
			       (int64_t[]){1});
	}
	assert_int_equal(prof->err, 0);
}

static uint64_t merge_cost_ns(uint32_t cnt)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 3; i++) {
		struct profile left, right;
		uint64_t start, cost;

		many_stacks(&left, cnt, 0);
		many_stacks(&right, cnt, cnt / 2);
		start = clock_process_cpu_ns();
		assert_int_equal(profile_merge(&left, &right), 0);
		cost = clock_process_cpu_ns() - start;
		assert_int_equal(profile_total(&left, 0), 2 * cnt);
		if (cost < best)
			best = cost;
		profile_deinit(&left);
		profile_deinit(&right);
	}
	return best;
}

/* Eight times the stacks: 8 times the time when linear, 64 times when quadratic. Half way between,
 * on a logarithmic scale, there is room for caches and a busy machine. */
static void test_merge_is_linear(void **state)
{
	uint64_t small = merge_cost_ns(12500), large = merge_cost_ns(100000);

	print_message("# merging 100,000 stacks: %.1f ms\n", (double)large / 1e6);
	assert_true(large < small * 23 + NSEC_PER_MSEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merge_into_empty),
		cmocka_unit_test(test_merge_empty),
		cmocka_unit_test(test_merge_is_associative),
		cmocka_unit_test(test_merge_adds),
		cmocka_unit_test(test_value_types),
		cmocka_unit_test(test_too_many_events),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_merge_is_linear),
	};

	return cmocka_run_group_tests_name("profile/merge", tests, NULL, NULL);
}
