/* SPDX-License-Identifier: Apache-2.0 */
/* The store: what is read is what was stored, whoever reads and whenever. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile_dump.h"
#include "store_fixture.h"

static int set_up(void **state)
{
	static struct store_folder folder;

	store_folder_make(&folder);
	*state = &folder;
	return 0;
}

static int tear_down(void **state)
{
	store_folder_remove(*state);
	return 0;
}

/* @store holds the samples of @sum, and nothing else. */
static void assert_holds(struct store *store, struct profile *sum)
{
	struct store_coverage coverage;
	struct profile got;

	assert_int_equal(store_read(store, &store_everything, &got, NULL, &coverage), 0);
	assert_int_equal(coverage.damaged_cnt, 0);
	store_forget_header(&got);
	store_forget_header(sum);
	assert_same(sum, &got);
	profile_deinit(&got);
}

static void test_round_trip(void **state)
{
	struct store *store = store_must_open(*state, STORE_WRITE), *reader;
	struct profile sum;

	profile_init(&sum);
	store_add_random(store, 0, 40, &sum);
	assert_holds(store, &sum);
	reader = store_must_open(*state, STORE_READ);
	assert_holds(reader, &sum);
	/* What the reader has read of the dictionary is added to. */
	store_add_random(store, 40, 60, &sum);
	assert_holds(reader, &sum);
	store_close(store);
	store_add_random(store = store_must_open(*state, STORE_WRITE), 60, 80, &sum);
	assert_holds(reader, &sum);
	store_close(reader);
	store_close(store);
	profile_deinit(&sum);
}

static void test_replay(void **state)
{
	struct store *store = store_must_open(*state, STORE_WRITE);
	struct profile sum, prof;

	profile_init(&sum);
	store_add_random(store, 0, 5, &sum);
	random_profile(&prof, 1);
	assert_int_equal(store_add_nr(store, &prof, 3), -EEXIST);
	store_close(store);
	store = store_must_open(*state, STORE_WRITE);
	assert_int_equal(store_add_nr(store, &prof, 0), -EEXIST);
	assert_holds(store, &sum);
	store_close(store);
	profile_deinit(&prof);
	profile_deinit(&sum);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_replay, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
