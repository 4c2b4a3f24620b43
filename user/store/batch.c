/* SPDX-License-Identifier: Apache-2.0 */
/* Samples as columns of numbers. */
#include "store/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "store/varint.h"

enum { BATCH_VALUES_MAX = 1 << 24 /* rows times columns */ };

enum column_form { COLUMN_ZERO, COLUMN_PLAIN, COLUMN_MULTIPLE };

void batch_init(struct batch *batch, uint32_t column_cnt)
{
	*batch = (struct batch){.column_cnt = column_cnt};
}

void batch_deinit(struct batch *batch)
{
	free(batch->rows);
	free(batch->values);
	batch_init(batch, batch->column_cnt);
}

static int reserve(struct batch *batch, size_t more)
{
	const size_t need = batch->cnt + more;
	int err;

	if (need * batch->column_cnt > BATCH_VALUES_MAX)
		return -E2BIG;
	err = array_reserve(&batch->rows, &batch->cap, need, sizeof(*batch->rows));
	if (!err)
		err = array_reserve(&batch->values, &batch->value_cap, need * batch->column_cnt,
				    sizeof(*batch->values));
	return err;
}

int batch_add(struct batch *batch, struct batch_row row, const int64_t *values,
	      const uint32_t *columns)
{
	int err = reserve(batch, 1);
	int64_t *to;

	if (err)
		return err;
	to = batch->values + batch->cnt * batch->column_cnt;
	for (uint32_t i = 0; i < batch->column_cnt; i++)
		to[i] = values[columns ? columns[i] : i];
	batch->rows[batch->cnt++] = row;
	return 0;
}

struct sort_key {
	uint64_t key;
	size_t row;
};

static int compare_keys(const void *left_ptr, const void *right_ptr)
{
	const struct sort_key *left = left_ptr, *right = right_ptr;

	return (left->key > right->key) - (left->key < right->key);
}

static uint64_t key_of(struct batch_row row)
{
	return (uint64_t)row.stack << 32 | row.label_set;
}

/* The rows of @batch in the order of @keys into @out, which has room for them; their number. */
static size_t gather(const struct batch *batch, const struct sort_key *keys, struct batch *out)
{
	const uint32_t column_cnt = batch->column_cnt;
	size_t cnt = 0;

	for (size_t i = 0; i < batch->cnt; i++) {
		const int64_t *from = batch->values + keys[i].row * column_cnt;
		int64_t *to = out->values + cnt * column_cnt;

		if (i && keys[i].key == keys[i - 1].key) {
			to -= column_cnt;
			for (uint32_t j = 0; j < column_cnt; j++)
				to[j] = profile_value_sum(to[j], from[j]);
			continue;
		}
		out->rows[cnt++] = batch->rows[keys[i].row];
		memcpy(to, from, column_cnt * sizeof(*to));
	}
	return cnt;
}

int batch_sort(struct batch *batch)
{
	struct sort_key *keys = calloc(batch->cnt + 1, sizeof(*keys));
	struct batch sorted;
	int err;

	batch_init(&sorted, batch->column_cnt);
	err = keys ? reserve(&sorted, batch->cnt) : -ENOMEM;
	if (!err && batch->cnt) {
		for (size_t i = 0; i < batch->cnt; i++)
			keys[i] = (struct sort_key){.key = key_of(batch->rows[i]), .row = i};
		qsort(keys, batch->cnt, sizeof(*keys), compare_keys);
		sorted.cnt = gather(batch, keys, &sorted);
		batch_deinit(batch);
		*batch = sorted;
		batch_init(&sorted, batch->column_cnt);
	}
	batch_deinit(&sorted);
	free(keys);
	return err;
}

int64_t batch_sum(const struct batch *batch, uint32_t column)
{
	int64_t sum = 0;

	for (size_t i = 0; i < batch->cnt; i++)
		sum = profile_value_sum(sum, batch->values[i * batch->column_cnt + column]);
	return sum;
}

/* Is column @to = @factor times column @from in every row? */
static bool is_multiple(const struct batch *batch, uint32_t from, uint32_t to, int64_t *factor)
{
	const int64_t *row = batch->values;
	int64_t product;

	if (row[from] <= 0 || row[to] % row[from])
		return false;
	*factor = row[to] / row[from];
	for (size_t i = 0; i < batch->cnt; i++, row += batch->column_cnt)
		if (__builtin_mul_overflow(row[from], *factor, &product) || product != row[to])
			return false;
	return true;
}

static bool is_zero(const struct batch *batch, uint32_t column)
{
	for (size_t i = 0; i < batch->cnt; i++)
		if (batch->values[i * batch->column_cnt + column])
			return false;
	return true;
}

static void encode_column(const struct batch *batch, uint32_t column, struct buf *out)
{
	int64_t factor;

	if (is_zero(batch, column)) {
		pb_add_varint(out, COLUMN_ZERO);
		return;
	}
	for (uint32_t from = 0; from < column; from++) {
		if (!is_multiple(batch, from, column, &factor))
			continue;
		pb_add_varint(out, COLUMN_MULTIPLE);
		pb_add_varint(out, from);
		add_signed(out, factor);
		return;
	}
	pb_add_varint(out, COLUMN_PLAIN);
	for (size_t i = 0; i < batch->cnt; i++)
		add_signed(out, batch->values[i * batch->column_cnt + column]);
}

void batch_encode(const struct batch *batch, struct buf *out)
{
	struct batch_row last = {.stack = 0};

	pb_add_varint(out, batch->column_cnt);
	pb_add_varint(out, batch->cnt);
	for (size_t i = 0; i < batch->cnt; last = batch->rows[i++])
		pb_add_varint(out, batch->rows[i].stack - last.stack);
	last.label_set = 0;
	for (size_t i = 0; i < batch->cnt; last = batch->rows[i++])
		add_signed(out, (int64_t)batch->rows[i].label_set - last.label_set);
	for (uint32_t i = 0; i < batch->column_cnt; i++)
		encode_column(batch, i, out);
}

static void decode_rows(struct reader *rd, uint64_t stack_limit, uint64_t label_set_limit,
			struct batch_row *rows, size_t cnt)
{
	uint64_t stack = 0, label_set = 0;

	for (size_t i = 0; i < cnt; i++) {
		stack += reader_uleb128(rd);
		rows[i].stack = stack < stack_limit ? (uint32_t)stack : reader_fail(rd);
	}
	for (size_t i = 0; i < cnt; i++) {
		label_set += (uint64_t)read_signed(rd);
		rows[i].label_set =
			label_set < label_set_limit ? (uint32_t)label_set : reader_fail(rd);
		if (i && key_of(rows[i]) <= key_of(rows[i - 1]))
			reader_fail(rd);
	}
}

static void decode_column(struct reader *rd, uint32_t column, uint32_t column_cnt, size_t cnt,
			  int64_t *values)
{
	const uint64_t form = reader_uleb128(rd);
	uint32_t from;
	int64_t factor;

	if (form == COLUMN_PLAIN) {
		for (size_t i = 0; i < cnt; i++)
			values[i * column_cnt + column] = read_signed(rd);
	} else if (form == COLUMN_ZERO) {
		for (size_t i = 0; i < cnt; i++)
			values[i * column_cnt + column] = 0;
	} else if (form == COLUMN_MULTIPLE) {
		from = read_below(rd, column);
		factor = read_signed(rd);
		for (size_t i = 0; i < cnt && !rd->err; i++, values += column_cnt)
			if (__builtin_mul_overflow(values[from], factor, &values[column]))
				reader_fail(rd);
	} else {
		reader_fail(rd);
	}
}

int batch_decode(struct reader *rd, uint64_t stack_limit, uint64_t label_set_limit,
		 struct batch *batch)
{
	const uint32_t column_cnt = batch->column_cnt;
	uint64_t cnt;
	int err;

	if (reader_uleb128(rd) != column_cnt)
		return -EBADMSG;
	cnt = reader_uleb128(rd);
	if (rd->err || cnt > reader_left(rd))
		return -EBADMSG;
	err = reserve(batch, cnt);
	if (err)
		return err == -E2BIG ? -EBADMSG : err;
	decode_rows(rd, stack_limit, label_set_limit, batch->rows + batch->cnt, cnt);
	for (uint32_t i = 0; i < column_cnt; i++)
		decode_column(rd, i, column_cnt, cnt, batch->values + batch->cnt * column_cnt);
	if (rd->err || !reader_done(rd))
		return rd->err == -ENOMEM ? rd->err : -EBADMSG;
	batch->cnt += cnt;
	return 0;
}
