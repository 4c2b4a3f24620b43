/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that wait for a store which takes none for a while. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/spool.h"

struct fake_store {
	int err; /* what it answers; 0: it takes what comes */
	int window_err; /* of the window with epoch @bad_epoch */
	uint64_t bad_epoch;
	uint64_t epochs[64];
	size_t cnt, tries;
	struct spool_dropped told; /* sum of tombstones */
};

static int add(void *arg, const struct agent_window *window)
{
	struct fake_store *store = arg;

	store->tries++;
	if (store->err)
		return store->err;
	if (store->window_err && window->origin.epoch == store->bad_epoch)
		return store->window_err;
	store->epochs[store->cnt++] = window->origin.epoch;
	return 0;
}

static int add_tombstone(void *arg, uint64_t start_ns, uint64_t end_ns, uint64_t window_cnt,
			 uint64_t sample_cnt, const char *reason)
{
	struct fake_store *store = arg;

	if (store->err)
		return store->err;
	if (!store->told.window_cnt)
		store->told.start_ns = start_ns;
	store->told.end_ns = end_ns;
	store->told.window_cnt += window_cnt;
	store->told.sample_cnt += sample_cnt;
	strncpy(store->told.reason, reason, SPOOL_REASON_MAX - 1);
	return 0;
}

static void put(struct spool *spool, uint64_t epoch, uint64_t now_ns)
{
	struct agent_window window = {
		.prof = malloc(sizeof(*window.prof)),
		.ledger = malloc(sizeof(*window.ledger)),
		.origin.epoch = epoch,
		.start_ns = 1000 * epoch,
		.end_ns = 1000 * epoch + 1000,
		.sample_cnt = 10,
	};

	assert_int_equal(profile_init(window.prof), 0);
	ledger_init(window.ledger);
	spool_add(spool, &window, now_ns);
	assert_null(window.prof);
}

static void begin(struct spool *spool, struct fake_store *store, size_t max_bytes)
{
	const struct spool_sink sink = {store, add, add_tombstone};

	*store = (struct fake_store){.err = 0};
	spool_init(spool, &sink, max_bytes);
}

static void test_a_good_store_takes_all(void **state)
{
	struct fake_store store;
	struct spool spool;

	begin(&spool, &store, SPOOL_MAX_BYTES);
	for (uint64_t i = 0; i < 5; i++)
		put(&spool, i, i);
	assert_int_equal(store.cnt, 5);
	assert_int_equal(spool.cnt, 0);
	assert_int_equal(spool.bytes, 0);
	assert_int_equal(spool.stored_samples, 50);
	spool_deinit(&spool);
}

static void test_kept_and_stored_in_order(void **state)
{
	struct fake_store store;
	struct spool spool;

	begin(&spool, &store, SPOOL_MAX_BYTES);
	store.err = -ENOSPC;
	for (uint64_t i = 0; i < 5; i++)
		put(&spool, i, i * 10 * NSEC_PER_SEC);
	assert_int_equal(spool.err, -ENOSPC);
	assert_int_equal(spool.cnt, 5);
	store.err = 0;
	assert_int_equal(spool_flush(&spool, 0, true), 0);
	assert_int_equal(store.cnt, 5);
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(store.epochs[i], i);
	assert_int_equal(spool.dropped_windows, 0);
	spool_deinit(&spool);
}

static void test_tries_come_later_and_later(void **state)
{
	struct fake_store store;
	struct spool spool;

	begin(&spool, &store, SPOOL_MAX_BYTES);
	store.err = -EIO;
	put(&spool, 0, 0);
	for (uint64_t second = 1; second <= 600; second++)
		spool_flush(&spool, second * NSEC_PER_SEC, false);
	/* 1, 2, 4, ... 32, then every 60 s. */
	assert_in_range(store.tries, 12, 18);
	spool_deinit(&spool);
}

static void test_the_oldest_go_and_are_told(void **state)
{
	struct fake_store store;
	struct spool spool;
	size_t one;

	begin(&spool, &store, SPOOL_MAX_BYTES);
	store.err = -EROFS;
	put(&spool, 0, 0);
	one = spool.bytes;
	spool.max_bytes = 3 * one;
	for (uint64_t i = 1; i < 10; i++)
		put(&spool, i, i);
	assert_int_equal(spool.cnt, 3);
	assert_true(spool.bytes <= spool.max_bytes);
	assert_int_equal(spool.dropped_windows, 7);
	assert_int_equal(store.told.window_cnt, 0);
	store.err = 0;
	assert_int_equal(spool_flush(&spool, 100, true), 0);
	assert_int_equal(store.told.window_cnt, 7);
	assert_int_equal(store.told.sample_cnt, 70);
	assert_int_equal(store.told.start_ns, 0);
	assert_int_equal(store.told.end_ns, 7000);
	assert_string_equal(store.told.reason, "EROFS");
	assert_int_equal(store.cnt, 3);
	assert_int_equal(store.epochs[0], 7);
	spool_deinit(&spool);
}

static void test_one_bad_window_holds_up_nobody(void **state)
{
	struct fake_store store;
	struct spool spool;

	begin(&spool, &store, SPOOL_MAX_BYTES);
	store.window_err = -EINVAL;
	store.bad_epoch = 1;
	for (uint64_t i = 0; i < 4; i++)
		put(&spool, i, i);
	assert_int_equal(store.cnt, 3);
	assert_int_equal(store.told.window_cnt, 1);
	assert_string_equal(store.told.reason, "EINVAL");
	assert_int_equal(spool.err, 0);
	spool_deinit(&spool);
}

static void test_known_windows_are_not_counted_twice(void **state)
{
	struct fake_store store;
	struct spool spool;

	begin(&spool, &store, SPOOL_MAX_BYTES);
	store.window_err = -EEXIST;
	put(&spool, 0, 0);
	assert_int_equal(spool.cnt, 0);
	assert_int_equal(spool.stored_windows, 0);
	assert_int_equal(spool.dropped_windows, 0);
	spool_deinit(&spool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_good_store_takes_all),
		cmocka_unit_test(test_kept_and_stored_in_order),
		cmocka_unit_test(test_tries_come_later_and_later),
		cmocka_unit_test(test_the_oldest_go_and_are_told),
		cmocka_unit_test(test_one_bad_window_holds_up_nobody),
		cmocka_unit_test(test_known_windows_are_not_counted_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
