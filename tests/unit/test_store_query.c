/* SPDX-License-Identifier: Apache-2.0 */
/* The store's questions: by label, over time, by kind; each against sums made by hand. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store_fixture.h"

enum { WINDOWS = 12 };

struct stored {
	struct store_folder folder;
	struct store *store;
	struct profile sum; /* of all windows */
	int64_t totals[WINDOWS]; /* value 0 of each window */
};

static int set_up(void **state)
{
	struct stored *stored = calloc(1, sizeof(*stored));

	store_folder_make(&stored->folder);
	stored->store = store_must_open(&stored->folder, STORE_WRITE);
	profile_init(&stored->sum);
	for (uint64_t nr = 0; nr < WINDOWS; nr++) {
		int64_t before = stored->sum.value_type_cnt ? profile_total(&stored->sum, 0) : 0;

		store_add_random(stored->store, nr, nr + 1, &stored->sum);
		stored->totals[nr] = profile_total(&stored->sum, 0) - before;
	}
	*state = stored;
	return 0;
}

static int tear_down(void **state)
{
	struct stored *stored = *state;

	store_close(stored->store);
	profile_deinit(&stored->sum);
	store_folder_remove(&stored->folder);
	free(stored);
	return 0;
}

/* Sum of value @value of the samples that have @key=@text, and on whose stack @function is. */
static int64_t expected(const struct profile *prof, uint32_t value, const char *key,
			const char *text, const char *function)
{
	int64_t sum = 0;

	for (size_t i = 0; i < prof->sample_cnt; i++) {
		const struct profile_label_set *set = &prof->label_sets[prof->samples[i].label_set];
		const struct profile_stack *stack = &prof->stacks[prof->samples[i].stack];
		bool has_label = false, has_function = !function;

		for (uint32_t j = 0; j < set->cnt; j++) {
			const struct profile_label *label = &prof->labels[set->first + j];
			char number[24];

			snprintf(number, sizeof(number), "%" PRId64, label->num);
			has_label |=
				!strcmp(profile_str(prof, label->key), key) &&
				!strcmp(label->str == PROFILE_NONE ? number
								   : profile_str(prof, label->str),
					text);
		}
		for (uint32_t j = 0; j < stack->cnt && function; j++)
			has_function |=
				!strcmp(profile_location_name(
						prof, prof->stack_locations[stack->first + j], 0),
					function);
		if (has_label && has_function)
			sum += prof->values[i * prof->value_type_cnt + value];
	}
	return sum;
}

static void test_where(void **state)
{
	struct stored *stored = *state;
	const struct store_match x_or_none[] = {{"comm", "x*"}, {"comm", "nobody"}, {"tid", "1"}};
	const struct store_match absent[] = {{"service", "*"}}, empty[] = {{"service", ""}};
	struct store_query query = {.to_ns = UINT64_MAX, .where = x_or_none, .where_cnt = 3};
	struct profile got;
	int64_t all = 0;

	assert_int_equal(store_read(stored->store, &query, &got, NULL, NULL), 0);
	assert_true(profile_total(&got, 0) > 0);
	assert_int_equal(expected(&got, 0, "comm", "x", NULL), profile_total(&got, 0));
	assert_int_equal(expected(&got, 0, "tid", "1", NULL), profile_total(&got, 0));
	profile_deinit(&got);
	query.where_cnt = 1;
	assert_int_equal(store_read(stored->store, &query, &got, NULL, NULL), 0);
	assert_int_equal(profile_total(&got, 1), expected(&stored->sum, 1, "comm", "x", NULL));
	profile_deinit(&got);
	query.where = absent;
	assert_int_equal(store_read(stored->store, &query, &got, NULL, NULL), 0);
	assert_int_equal(got.sample_cnt, 0);
	assert_int_equal(got.value_type_cnt, 2);
	profile_deinit(&got);
	query.where = empty;
	assert_int_equal(store_read(stored->store, &query, &got, NULL, NULL), 0);
	for (size_t i = 0; i < WINDOWS; i++)
		all += stored->totals[i];
	assert_int_equal(profile_total(&got, 0), all);
	profile_deinit(&got);
}

static void test_by(void **state)
{
	struct stored *stored = *state;
	const char *const by[] = {"comm", NULL};
	const struct store_query query = {.to_ns = UINT64_MAX, .by = by};
	struct profile got;

	assert_int_equal(store_read(stored->store, &query, &got, NULL, NULL), 0);
	assert_int_equal(got.label_set_cnt, 2);
	assert_int_equal(expected(&got, 1, "comm", "y", NULL),
			 expected(&stored->sum, 1, "comm", "y", NULL));
	assert_int_equal(profile_total(&got, 1), profile_total(&stored->sum, 1));
	profile_deinit(&got);
}

struct told {
	const struct profile *sum;
	char last_key[16];
	int64_t last_total;
	int cnt;
};

static int check_label(void *arg, const char *key, const char *value, int64_t total)
{
	struct told *told = arg;

	assert_int_equal(total, expected(told->sum, 0, key, value, NULL));
	if (!strcmp(told->last_key, key))
		assert_true(total <= told->last_total);
	else
		assert_true(strcmp(told->last_key, key) < 0);
	snprintf(told->last_key, sizeof(told->last_key), "%s", key);
	told->last_total = total;
	told->cnt++;
	return 0;
}

static void test_labels(void **state)
{
	struct stored *stored = *state;
	struct told told = {.sum = &stored->sum};

	assert_int_equal(store_each_label(stored->store, &store_everything, check_label, &told), 0);
	assert_int_equal(told.cnt, 2 + 2 + 1); /* comm, tid, cpu */
}

static int check_window_series(void *arg, const char *name, const int64_t *points, size_t cnt)
{
	const struct stored *stored = arg;

	assert_string_equal(name, "");
	assert_int_equal(cnt, WINDOWS + 1);
	for (size_t i = 0; i < WINDOWS; i++)
		assert_int_equal(points[i], stored->totals[i]);
	assert_int_equal(points[WINDOWS], 0);
	return 0;
}

static int check_comm_series(void *arg, const char *name, const int64_t *points, size_t cnt)
{
	struct told *told = arg;
	int64_t sum = 0;

	for (size_t i = 0; i < cnt; i++)
		sum += points[i];
	assert_int_equal(sum, expected(told->sum, 0, "comm", name, "func5"));
	assert_true(sum > 0);
	if (told->cnt++)
		assert_true(sum <= told->last_total);
	told->last_total = sum;
	return 0;
}

static void test_timeline(void **state)
{
	struct stored *stored = *state;
	struct told told = {.sum = &stored->sum};
	const struct store_query query = {
		.from_ns = STORE_NOON_NS,
		.to_ns = STORE_NOON_NS + (WINDOWS + 1) * STORE_WINDOW_NS,
	};

	assert_int_equal(store_timeline(stored->store, &query, NULL, NULL, WINDOWS + 1,
					check_window_series, stored),
			 0);
	assert_int_equal(store_timeline(stored->store, &query, "comm", "func5", 3,
					check_comm_series, &told),
			 0);
	assert_int_equal(told.cnt, 2);
	assert_int_equal(store_timeline(stored->store, &query, NULL, NULL, 0, check_window_series,
					stored),
			 -EINVAL);
}

static int check_kind(void *arg, const char *name, const struct profile_value_type *types,
		      const struct profile *strings, uint32_t type_cnt, uint32_t default_type,
		      int64_t total)
{
	const struct stored *stored = arg;

	assert_string_equal(name, "cpu");
	assert_int_equal(type_cnt, 2);
	assert_int_equal(default_type, 0);
	assert_string_equal(profile_str(strings, types[1].type), "cpu");
	assert_string_equal(profile_str(strings, types[1].unit), "nanoseconds");
	assert_int_equal(total, stored->totals[0] + stored->totals[1]);
	return 5;
}

static void test_kinds(void **state)
{
	struct stored *stored = *state;
	const struct store_query query = {.to_ns = UINT64_MAX, .kind = "heap"};
	struct profile got;

	assert_int_equal(store_each_kind(stored->store, 0, STORE_NOON_NS + 2 * STORE_WINDOW_NS,
					 check_kind, stored),
			 5);
	assert_int_equal(store_each_kind(stored->store, 0, 5, check_kind, stored), 0);
	assert_int_equal(store_read(stored->store, &query, &got, NULL, NULL), -ENOENT);
}

/* One window of the middle, with its ledger and its coverage. */
static void test_range(void **state)
{
	struct stored *stored = *state;
	const struct store_query query = {
		.from_ns = STORE_NOON_NS + 3 * STORE_WINDOW_NS,
		.to_ns = STORE_NOON_NS + 5 * STORE_WINDOW_NS,
	};
	struct store_coverage coverage;
	struct ledger ledger;
	struct profile got;

	assert_int_equal(store_add_tombstone(stored->store, query.from_ns + 1, query.from_ns + 2, 3,
					     40, "ENOSPC"),
			 0);
	assert_int_equal(store_read(stored->store, &query, &got, &ledger, &coverage), 0);
	assert_int_equal(profile_total(&got, 0), stored->totals[3] + stored->totals[4]);
	assert_int_equal(got.time_ns, query.from_ns);
	assert_int_equal(got.duration_ns, 2 * STORE_WINDOW_NS);
	assert_int_equal(ledger.events[0].sum.ticks, 2 * 5940);
	assert_int_equal(coverage.window_cnt, 2);
	assert_int_equal(coverage.last_ns, query.to_ns);
	assert_int_equal(coverage.tombstone_cnt, 1);
	assert_int_equal(coverage.tombstone_samples, 40);
	ledger_deinit(&ledger);
	profile_deinit(&got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_where, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_by, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_labels, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_timeline, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_kinds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_range, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
