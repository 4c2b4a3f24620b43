/* SPDX-License-Identifier: Apache-2.0 */
/* Samples as rows of numbers. */
#include "store/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "store/batch_share.h"

enum { BATCH_VALUES_MAX = 1 << 24 /* rows times columns */ };

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

int batch_reserve(struct batch *batch, size_t more)
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
	int err = batch_reserve(batch, 1);
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
	err = keys ? batch_reserve(&sorted, batch->cnt) : -ENOMEM;
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

static bool is_empty_row(const int64_t *values, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (values[i])
			return false;
	return true;
}

static void drop_empty_rows(struct batch *batch)
{
	const uint32_t column_cnt = batch->column_cnt;
	size_t cnt = 0;

	for (size_t i = 0; i < batch->cnt; i++) {
		const int64_t *from = batch->values + i * column_cnt;

		if (is_empty_row(from, column_cnt))
			continue;
		batch->rows[cnt] = batch->rows[i];
		memmove(batch->values + cnt++ * column_cnt, from, column_cnt * sizeof(*from));
	}
	batch->cnt = cnt;
}

int batch_spread(struct batch *batch, uint32_t column, uint32_t by)
{
	_cleanup_(batch_share_deinit) struct batch_share share;
	_cleanup_free_ int64_t *parts = NULL;
	int err = batch_share_init(&share, batch);

	if (err)
		return err;
	if (!batch->cnt || !batch_share_sum(&share, batch, column, by))
		return 0;
	parts = calloc(batch->cnt, sizeof(*parts));
	if (!parts)
		return -ENOMEM;
	batch_share_split(&share, batch, by, parts);
	for (size_t i = 0; i < batch->cnt; i++)
		batch->values[i * batch->column_cnt + column] = parts[i];
	drop_empty_rows(batch);
	return 0;
}
