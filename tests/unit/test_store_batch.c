/* SPDX-License-Identifier: Apache-2.0 */
/* Batches: encoded and decoded, what rows share, what is no batch. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/batch.h"
#include "store/batch_columns.h"
#include "store/varint.h"

enum { PERIOD_NS = 52631578 };

static void add(struct batch *batch, uint32_t stack, uint32_t label_set, int64_t first,
		int64_t second)
{
	const int64_t values[] = {first, second};

	assert_int_equal(batch_add(batch, (struct batch_row){stack, label_set}, values, NULL), 0);
}

static void make(struct batch *batch)
{
	batch_init(batch, 2);
}

static int decode(const struct buf *raw, struct batch *out)
{
	struct reader rd;

	reader_init(&rd, raw->data, raw->len);
	return batch_decode(&rd, 1000, 1000, out);
}

/* It comes back as it is; how many bytes it took. */
static size_t must_come_back(const struct batch *batch)
{
	struct batch again;
	struct buf raw;
	size_t len;

	buf_init(&raw, BUF_NO_MAX);
	batch_init(&again, batch->column_cnt);
	batch_encode(batch, &raw);
	assert_int_equal(raw.err, 0);
	assert_int_equal(decode(&raw, &again), 0);
	assert_int_equal(again.cnt, batch->cnt);
	for (size_t i = 0; i < batch->cnt; i++) {
		assert_int_equal(again.rows[i].stack, batch->rows[i].stack);
		assert_int_equal(again.rows[i].label_set, batch->rows[i].label_set);
	}
	if (batch->cnt)
		assert_memory_equal(again.values, batch->values,
				    batch->cnt * batch->column_cnt * sizeof(*batch->values));
	len = raw.len;
	batch_deinit(&again);
	buf_deinit(&raw);
	return len;
}

static void test_comes_back(void **state)
{
	struct batch batch;

	make(&batch);
	must_come_back(&batch);
	add(&batch, 7, 3, 1, -5);
	add(&batch, 2, 900, INT64_MAX, INT64_MIN);
	add(&batch, 2, 0, -1, 77);
	assert_int_equal(batch_sort(&batch), 0);
	must_come_back(&batch);
	batch_deinit(&batch);
}

/* Rows 1..6 of a label set, @stray: one has a value that no sharing gives. */
static size_t bytes_of_shared(bool stray)
{
	struct batch batch;
	size_t len;

	make(&batch);
	for (uint32_t i = 1; i <= 6; i++) {
		add(&batch, i, 1, i, 0);
		add(&batch, i, 2, 1, i == 1 ? 1000000007 : 0);
	}
	batch.values[1] = 123456789012;
	assert_int_equal(batch_sort(&batch), 0);
	assert_int_equal(batch_spread(&batch, 1, 0), 0);
	if (stray)
		batch.values[3] += 5000;
	len = must_come_back(&batch);
	batch_deinit(&batch);
	return len;
}

static void test_shares_take_a_sum_each(void **state)
{
	assert_true(bytes_of_shared(false) + 20 < bytes_of_shared(true));
}

static int64_t sum_of_set(const struct batch *batch, uint32_t set)
{
	int64_t sum = 0;

	for (size_t i = 0; i < batch->cnt; i++)
		if (batch->rows[i].label_set == set)
			sum += batch->values[i * 2 + 1];
	return sum;
}

static void test_spread(void **state)
{
	struct batch batch;

	make(&batch);
	add(&batch, 1, 4, 0, 100); /* seen in no sample */
	add(&batch, 2, 4, 1, PERIOD_NS);
	add(&batch, 3, 4, 2, 2 * PERIOD_NS);
	add(&batch, 1, 5, 0, 31); /* never seen */
	add(&batch, 9, 6, 3, 3 * PERIOD_NS);
	assert_int_equal(batch_sort(&batch), 0);
	assert_int_equal(batch_spread(&batch, 1, 0), 0);
	assert_int_equal(batch.cnt, 4);
	assert_int_equal(batch.rows[0].label_set, 5);
	assert_int_equal(batch.values[1], 31);
	assert_int_equal(batch.values[2 * 1 + 1], PERIOD_NS + 33);
	assert_int_equal(batch.values[2 * 2 + 1], 2 * PERIOD_NS + 67);
	assert_int_equal(batch.values[2 * 3 + 1], 3 * PERIOD_NS);
	assert_int_equal(sum_of_set(&batch, 4), 3 * PERIOD_NS + 100);
	assert_int_equal(batch_sum(&batch, 0), 6);
	must_come_back(&batch);
	batch_deinit(&batch);
}

/* Sums beyond 64 bits on the way, and values that cannot be shared. */
static void test_spread_at_the_ends(void **state)
{
	const int64_t large = INT64_MAX / 2;
	struct batch batch;

	make(&batch);
	add(&batch, 1, 1, large, large);
	add(&batch, 2, 1, large, 1);
	assert_int_equal(batch_spread(&batch, 1, 0), 0);
	assert_int_equal(batch.values[1], (large + 1) / 2);
	assert_int_equal(batch.values[3], large + 1 - (large + 1) / 2);
	must_come_back(&batch);
	batch.values[1] = -1;
	assert_int_equal(batch_spread(&batch, 1, 0), 0);
	assert_int_equal(batch.values[1], -1);
	must_come_back(&batch);
	batch_deinit(&batch);
}

/* As stores have it that were written before label sets had a table. */
static void test_before_version_3(void **state)
{
	static const uint8_t bytes[] = {
		2,
		3, /* columns, rows */
		5,
		0,
		4, /* stacks 5, 5, 9 */
		4,
		2,
		5, /* label sets 2, 3, 0 */
		COLUMN_PLAIN,
		2,
		4,
		6, /* 1, 2, 3 */
		COLUMN_MULTIPLE,
		0,
		20, /* ten times that */
	};
	struct buf raw;
	struct batch batch;

	make(&batch);
	buf_init(&raw, BUF_NO_MAX);
	buf_add(&raw, bytes, sizeof(bytes));
	assert_int_equal(decode(&raw, &batch), 0);
	assert_int_equal(batch.cnt, 3);
	assert_int_equal(batch.rows[1].stack, 5);
	assert_int_equal(batch.rows[1].label_set, 3);
	assert_int_equal(batch.rows[2].stack, 9);
	assert_int_equal(batch.rows[2].label_set, 0);
	assert_int_equal(batch.values[2 * 2 + 1], 30);
	must_come_back(&batch);
	batch_deinit(&batch);
	buf_deinit(&raw);
}

/* Two rows of two label sets, then @column. What batch_decode() says of it. */
static int decode_with(const uint8_t *column, size_t len)
{
	static const uint8_t rows[] = {BATCH_LABEL_SETS_IN_TABLE,
				       2,
				       2,
				       1,
				       1,
				       2,
				       3,
				       4,
				       0,
				       2,
				       COLUMN_PLAIN,
				       2 /* 1 */,
				       6 /* 3 */};
	struct batch batch;
	struct buf raw;
	int err;

	make(&batch);
	buf_init(&raw, BUF_NO_MAX);
	buf_add(&raw, rows, sizeof(rows));
	buf_add(&raw, column, len);
	err = decode(&raw, &batch);
	if (!err) {
		assert_int_equal(batch.rows[1].label_set, 7);
		assert_int_equal(batch.values[1], 10);
		assert_int_equal(batch.values[3], 31);
	} else {
		assert_int_equal(batch.cnt, 0);
	}
	batch_deinit(&batch);
	buf_deinit(&raw);
	return err;
}

static void test_no_shares(void **state)
{
	static const uint8_t good[] = {COLUMN_SHARES, 0, 20, 0, 2};
	static const uint8_t later[] = {COLUMN_SHARES, 1, 20, 0, 2};
	static const uint8_t negative[] = {COLUMN_SHARES, 0, 20, 21, 2};
	static const uint8_t unknown[] = {COLUMN_SHARES + 1, 0, 20, 0, 2};

	assert_int_equal(decode_with(good, sizeof(good)), 0);
	assert_int_equal(decode_with(good, sizeof(good) - 1), -EBADMSG);
	assert_int_equal(decode_with(later, sizeof(later)), -EBADMSG);
	assert_int_equal(decode_with(negative, sizeof(negative)), -EBADMSG);
	assert_int_equal(decode_with(unknown, sizeof(unknown)), -EBADMSG);
}

static int decode_rows(const uint8_t *bytes, size_t len)
{
	struct batch batch;
	struct buf raw;
	int err;

	make(&batch);
	buf_init(&raw, BUF_NO_MAX);
	buf_add(&raw, bytes, len);
	err = decode(&raw, &batch);
	batch_deinit(&batch);
	buf_deinit(&raw);
	return err;
}

static void test_no_rows(void **state)
{
	/* mark, columns, rows, stacks, label sets: how many, which; places; columns of zeros */
	static const uint8_t good[] = {0, 2, 2, 1, 0, 2, 3, 4, 0, 2, 0, 0};
	static const uint8_t twice_a_set[] = {0, 2, 2, 1, 0, 2, 3, 0, 0, 2, 0, 0};
	static const uint8_t no_such_set[] = {0, 2, 2, 1, 0, 2, 3, 4, 0, 4, 0, 0};
	static const uint8_t twice_a_row[] = {0, 2, 2, 1, 0, 2, 3, 4, 0, 0, 0, 0};
	static const uint8_t set_beyond[] = {0, 2, 2, 1, 0, 2, 3, 0xe5, 0x07, 0, 2, 0, 0};
	static const uint8_t stack_beyond[] = {0, 2, 2, 1, 0xe7, 0x07, 2, 3, 4, 0, 2, 0, 0};
	static const uint8_t more_sets_than_bytes[] = {0, 2, 2, 1, 0, 90, 3, 4, 0, 2, 0, 0};
	static const uint8_t other_columns[] = {0, 3, 2, 1, 0, 2, 3, 4, 0, 2, 0, 0, 0};

	assert_int_equal(decode_rows(good, sizeof(good)), 0);
	assert_int_equal(decode_rows(twice_a_set, sizeof(twice_a_set)), -EBADMSG);
	assert_int_equal(decode_rows(no_such_set, sizeof(no_such_set)), -EBADMSG);
	assert_int_equal(decode_rows(twice_a_row, sizeof(twice_a_row)), -EBADMSG);
	assert_int_equal(decode_rows(set_beyond, sizeof(set_beyond)), -EBADMSG);
	assert_int_equal(decode_rows(stack_beyond, sizeof(stack_beyond)), -EBADMSG);
	assert_int_equal(decode_rows(more_sets_than_bytes, sizeof(more_sets_than_bytes)), -EBADMSG);
	assert_int_equal(decode_rows(other_columns, sizeof(other_columns)), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_comes_back),
		cmocka_unit_test(test_shares_take_a_sum_each),
		cmocka_unit_test(test_spread),
		cmocka_unit_test(test_spread_at_the_ends),
		cmocka_unit_test(test_before_version_3),
		cmocka_unit_test(test_no_shares),
		cmocka_unit_test(test_no_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
