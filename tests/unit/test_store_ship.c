/* SPDX-License-Identifier: Apache-2.0 */
/* The store as the spool of sinks: the same windows whenever they are asked for, none without. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "sink/sink.h"
#include "store/ship.h"
#include "store/shipper.h"
#include "store_fixture.h"

enum { PER_MINUTE = 6 };

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

/* All that @window says, but what the dictionary's numbers are called. */
static void print_window(const struct sink_window *window, struct buf *out)
{
	buf_printf(out,
		   "%llu %llu %llu %llu-%llu %llu %llu gen %llu epoch %llu-%llu lost %s %llu\n",
		   (unsigned long long)window->seq, (unsigned long long)window->last_seq,
		   (unsigned long long)window->prev_seq, (unsigned long long)window->start_ns,
		   (unsigned long long)window->end_ns, (unsigned long long)window->covered_ns,
		   (unsigned long long)window->window_cnt, (unsigned long long)window->generation,
		   (unsigned long long)window->epoch, (unsigned long long)window->last_epoch,
		   window->lost ? window->lost : "-", (unsigned long long)window->lost_samples);
	for (size_t i = 0; i < window->batch_cnt; i++) {
		const struct sink_batch *batch = &window->batches[i];
		const uint32_t cnt = batch->types->value_type_cnt;

		buf_printf(out, "  %s %u\n", batch->kind, cnt);
		for (size_t k = 0; k < batch->row_cnt; k++) {
			buf_printf(out, "    %u %u", batch->rows[k].stack,
				   batch->rows[k].label_set);
			for (uint32_t v = 0; v < cnt; v++)
				buf_printf(out, " %lld", (long long)batch->values[k * cnt + v]);
			buf_add_char(out, '\n');
		}
	}
}

/* What there is after @cursor; how many shipments. */
static size_t print_all(struct store *store, uint64_t cursor, bool is_last, struct buf *out)
{
	struct store_shipment *shipment;
	size_t cnt = 0;
	int got;

	while ((got = store_ship_next(store, cursor, is_last, &shipment)) > 0) {
		const struct sink_window *window = store_shipment_window(shipment);

		print_window(window, out);
		assert_true(window->last_seq > cursor);
		cursor = window->last_seq;
		store_shipment_free(shipment);
		cnt++;
	}
	assert_int_equal(got, 0);
	return cnt;
}

static void compact(struct store *store)
{
	const struct store_limits limits = {.compact_after_ns = 1};
	int more;

	do
		more = store_maintain(store, &limits, STORE_NOON_NS + 86400 * NSEC_PER_SEC,
				      NSEC_PER_SEC);
	while (more > 0);
	assert_int_equal(more, 0);
}

/* Minutes, the last of which may still grow; the same before and after they are compacted. */
static void test_minutes(void **state)
{
	struct store *store = store_must_open(*state, STORE_WRITE), *other;
	struct buf raw, again;

	buf_init(&raw, BUF_NO_MAX);
	buf_init(&again, BUF_NO_MAX);
	store_add_random(store, 0, 5 * PER_MINUTE, NULL);
	assert_int_equal(print_all(store, 0, false, &raw), 4);
	compact(store);
	other = store_must_open(*state, STORE_SHIP);
	/* What was compacted can get nothing any more. */
	assert_int_equal(print_all(other, 0, false, &again), 5);
	assert_memory_equal(again.data, raw.data, raw.len);
	store_close(other);
	store_close(store);
	buf_deinit(&raw);
	buf_deinit(&again);
}

/* Where the rest was wanted at once, it stays apart from what came after it. */
static void test_cut(void **state)
{
	struct store *store = store_must_open(*state, STORE_WRITE);
	struct buf first, all, again;

	buf_init(&first, BUF_NO_MAX);
	buf_init(&all, BUF_NO_MAX);
	buf_init(&again, BUF_NO_MAX);
	store_add_random(store, 0, 3, NULL);
	assert_int_equal(print_all(store, 0, false, &first), 0);
	assert_int_equal(print_all(store, 0, true, &first), 1);
	store_add_random(store, 3, 2 * PER_MINUTE, NULL);
	assert_int_equal(print_all(store, 0, true, &all), 3);
	assert_memory_equal(all.data, first.data, first.len);
	compact(store);
	assert_int_equal(print_all(store, 0, false, &again), 3);
	assert_string_equal(buf_cstr(&again), buf_cstr(&all));
	store_close(store);
	buf_deinit(&first);
	buf_deinit(&all);
	buf_deinit(&again);
}

static void maintain(struct store *store, const struct store_limits *limits, uint64_t now_ns)
{
	while (store_maintain(store, limits, now_ns, NSEC_PER_SEC) > 0)
		;
}

/* Age drops what every sink has, bytes drop more; what is lost to a sink is told apart. */
static void test_retention(void **state)
{
	const struct store_limits by_age = {.max_age_ns = 1}, by_bytes = {.max_bytes = 1};
	const uint64_t now_ns = STORE_NOON_NS + 3600 * NSEC_PER_SEC;
	struct store *store = store_must_open(*state, STORE_WRITE);
	const struct sink_window *window;
	struct store_shipment *shipment;
	struct store_lag lag;
	struct store_sink sink;
	uint64_t cursor;

	store_add_random(store, 0, 10 * PER_MINUTE, NULL);
	assert_int_equal(store_sink_use(store, "one", now_ns, &sink), 0);
	assert_int_equal(sink.seq, 0);
	assert_int_equal(store_ship_next(store, 0, false, &shipment), 1);
	window = store_shipment_window(shipment);
	cursor = window->last_seq;
	assert_int_equal(store_sink_acked(store, "one", window, window->window_cnt), 0);
	store_shipment_free(shipment);
	maintain(store, &by_age, now_ns);
	assert_int_equal(store_sink_lag(store, 0, &lag), 0);
	assert_int_equal(lag.windows, 9 * PER_MINUTE);
	maintain(store, &by_bytes, now_ns);
	assert_int_equal(store_sink_lag(store, 0, &lag), 0);
	assert_int_equal(lag.windows, 0);
	/* The first minute is not lost to it. */
	assert_int_equal(store_ship_next(store, cursor, false, &shipment), 1);
	window = store_shipment_window(shipment);
	assert_string_equal(window->lost, "bytes");
	assert_int_equal(window->prev_seq, cursor);
	assert_int_equal(window->window_cnt, 9 * PER_MINUTE);
	store_shipment_free(shipment);
	store_close(store);
}

/* A sink that nobody has tried to reach for a week holds nothing back. */
static void test_forgotten_sink(void **state)
{
	const struct store_limits by_age = {.max_age_ns = 1};
	const uint64_t now_ns = STORE_NOON_NS + 30 * 86400 * NSEC_PER_SEC;
	struct store *store = store_must_open(*state, STORE_WRITE);
	struct store_lag lag;

	store_add_random(store, 0, PER_MINUTE, NULL);
	assert_int_equal(store_sink_use(store, "old", STORE_NOON_NS, NULL), 0);
	maintain(store, &by_age, now_ns);
	assert_int_equal(store_sink_lag(store, 0, &lag), 0);
	assert_int_equal(lag.windows, 0);
	store_close(store);
}

/* --- A sink of the test's own --- */

struct fake {
	struct sink sink;
	struct buf got; /* the windows that it has */
	uint64_t prev_seq; /* of the last one */
	uint64_t refused_seq; /* not taken; UINT64_MAX: none is */
	bool is_dead;
	size_t calls;
};

static int fake_send(struct sink *sink, const struct sink_window *windows, size_t cnt,
		     struct buf *why)
{
	struct fake *fake = (struct fake *)sink;

	fake->calls++;
	buf_add_str(why, "no");
	if (fake->is_dead)
		return -ECONNREFUSED;
	for (size_t i = 0; i < cnt; i++)
		if (!windows[i].lost &&
		    (windows[i].seq == fake->refused_seq || fake->refused_seq == UINT64_MAX))
			return -EINVAL;
	for (size_t i = 0; i < cnt; i++) {
		assert_int_equal(windows[i].prev_seq, fake->prev_seq);
		fake->prev_seq = windows[i].last_seq;
		print_window(&windows[i], &fake->got);
	}
	return 0;
}

static void fake_close(struct sink *sink)
{
	buf_deinit(&((struct fake *)sink)->got);
}

static const struct sink_ops fake_ops = {.send = fake_send, .close = fake_close};

static struct shipper *fake_open(struct store *store, struct fake *fake)
{
	struct shipper *shipper = NULL;
	struct buf why;

	*fake = (struct fake){.sink.ops = &fake_ops};
	buf_init(&fake->got, BUF_NO_MAX);
	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(shipper_open_sink(store, &fake->sink, "fake", &shipper, &why), 0);
	buf_deinit(&why);
	return shipper;
}

static int step(struct shipper *shipper)
{
	struct buf why;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = shipper_step(shipper, true, &why);
	buf_deinit(&why);
	return err;
}

static void test_shipper(void **state)
{
	struct store *writer = store_must_open(*state, STORE_WRITE), *store;
	struct shipper *shipper;
	struct fake fake;
	struct buf all;

	buf_init(&all, BUF_NO_MAX);
	store_add_random(writer, 0, 100 * PER_MINUTE, NULL);
	print_all(writer, 0, true, &all);
	store = store_must_open(*state, STORE_SHIP);
	shipper = fake_open(store, &fake);
	fake.is_dead = true;
	assert_int_equal(step(shipper), -ECONNREFUSED);
	assert_int_equal(shipper_status(shipper)->lag.windows, 600);
	fake.is_dead = false;
	assert_int_equal(step(shipper), 1);
	assert_int_equal(step(shipper), 1);
	assert_int_equal(step(shipper), 0);
	assert_string_equal(buf_cstr(&fake.got), buf_cstr(&all));
	assert_int_equal(shipper_status(shipper)->windows, 600);
	assert_int_equal(shipper_status(shipper)->batches, 100);
	assert_int_equal(shipper_status(shipper)->failures, 1);
	assert_int_equal(shipper_status(shipper)->lag.windows, 0);
	shipper_close(shipper);
	/* The cursor is on the disk. */
	shipper = fake_open(store, &fake);
	assert_int_equal(step(shipper), 0);
	shipper_close(shipper);
	store_close(store);
	store_close(writer);
	buf_deinit(&all);
}

/* One that is refused is told as lost, and the others are there. */
static void test_refused(void **state)
{
	struct store *store = store_must_open(*state, STORE_WRITE);
	const struct shipper_status *status;
	struct store_sink known;
	struct shipper *shipper;
	struct fake fake;
	int err, tries = 0;

	store_add_random(store, 0, 20 * PER_MINUTE, NULL);
	shipper = fake_open(store, &fake);
	fake.refused_seq = STORE_NOON_NS / NSEC_PER_SEC + 5 * 60;
	while ((err = step(shipper)) != 0 && tries < 100)
		tries++;
	assert_int_equal(err, 0);
	status = shipper_status(shipper);
	assert_int_equal(status->windows, 19 * PER_MINUTE);
	assert_int_equal(status->quarantined, PER_MINUTE);
	assert_int_equal(status->tombstones, PER_MINUTE);
	assert_non_null(strstr(buf_cstr(&fake.got), "lost refused by the sink"));
	assert_int_equal(store_sink_use(store, "fake", 0, &known), 0);
	assert_int_equal(known.quarantined, PER_MINUTE);
	shipper_close(shipper);
	store_close(store);
}

/* A sink that refuses everything has something else: no more than a few are put aside. */
static void test_everything_refused(void **state)
{
	struct store *store = store_must_open(*state, STORE_WRITE);
	struct shipper *shipper;
	struct fake fake;

	store_add_random(store, 0, 20 * PER_MINUTE, NULL);
	shipper = fake_open(store, &fake);
	fake.refused_seq = UINT64_MAX;
	for (int i = 0; i < 100; i++)
		step(shipper);
	assert_int_equal(step(shipper), -EINVAL);
	assert_int_equal(shipper_status(shipper)->quarantined, 3 * PER_MINUTE);
	fake.refused_seq = 0;
	while (step(shipper) > 0)
		;
	assert_int_equal(shipper_status(shipper)->windows, 17 * PER_MINUTE);
	shipper_close(shipper);
	store_close(store);
}

static void run_sql(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* A damaged batch is lost with its window alone, and told. */
static void test_damaged(void **state)
{
	const struct store_folder *folder = *state;
	struct store *store = store_must_open(folder, STORE_WRITE);
	struct shipper *shipper;
	struct fake fake;
	struct buf again;
	int err;

	buf_init(&again, BUF_NO_MAX);
	store_add_random(store, 0, 3 * PER_MINUTE, NULL);
	store_close(store);
	run_sql(folder->path, "UPDATE batch SET blob=zeroblob(length(blob)) WHERE id=8");
	store = store_must_open(folder, STORE_WRITE);
	shipper = fake_open(store, &fake);
	while ((err = step(shipper)) > 0)
		;
	assert_int_equal(err, 0);
	assert_int_equal(shipper_status(shipper)->windows, 3 * PER_MINUTE - 1);
	assert_int_equal(shipper_status(shipper)->quarantined, 1);
	assert_non_null(strstr(buf_cstr(&fake.got), "lost damaged in the local store"));
	compact(store);
	print_all(store, 0, false, &again);
	assert_string_equal(buf_cstr(&again), buf_cstr(&fake.got));
	buf_deinit(&again);
	shipper_close(shipper);
	store_close(store);
}

static void test_backoff(void **state)
{
	for (int i = 0; i < 100; i++) {
		assert_in_range(shipper_backoff_ns(1), 250 * NSEC_PER_MSEC, 500 * NSEC_PER_MSEC);
		assert_in_range(shipper_backoff_ns(3), NSEC_PER_SEC, 2 * NSEC_PER_SEC);
		assert_in_range(shipper_backoff_ns(1000), 30 * NSEC_PER_SEC, 60 * NSEC_PER_SEC);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_minutes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cut, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_retention, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_forgotten_sink, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_shipper, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_everything_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damaged, set_up, tear_down),
		cmocka_unit_test(test_backoff),
	};

	return cmocka_run_group_tests_name("store_ship", tests, NULL, NULL);
}
