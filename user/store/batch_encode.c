/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples as columns of numbers, in the form of batch_columns.h. A column takes the first form that
 * says all of it.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "store/batch.h"
#include "store/batch_columns.h"
#include "store/batch_share.h"
#include "store/varint.h"

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

static int compare_factors(const void *left_ptr, const void *right_ptr)
{
	const int64_t left = *(const int64_t *)left_ptr, right = *(const int64_t *)right_ptr;

	return (left > right) - (left < right);
}

/* What a label set's sum is most like, per one of what it was spread by. -ENOMEM. */
static int64_t middle_factor(const struct batch_share *share)
{
	_cleanup_free_ int64_t *factors = calloc(share->set_cnt + 1, sizeof(*factors));
	size_t cnt = 0;

	if (!factors)
		return -ENOMEM;
	for (size_t i = 0; i < share->set_cnt; i++)
		if (share->weights[i])
			factors[cnt++] = share->sums[i] / share->weights[i];
	qsort(factors, cnt, sizeof(*factors), compare_factors);
	return cnt ? factors[cnt / 2] : 0;
}

/* Is column @to what batch_share_split() makes of its sums and column @from? */
static bool is_shared(struct batch_share *share, const struct batch *batch, uint32_t from,
		      uint32_t to, int64_t *parts)
{
	if (!batch_share_sum(share, batch, to, from))
		return false;
	batch_share_split(share, batch, from, parts);
	for (size_t i = 0; i < batch->cnt; i++)
		if (parts[i] != batch->values[i * batch->column_cnt + to])
			return false;
	return true;
}

static void encode_shares(const struct batch_share *share, uint32_t from, struct buf *out)
{
	const int64_t factor = middle_factor(share);

	if (factor < 0) {
		out->err = (int)factor;
		return;
	}
	pb_add_varint(out, COLUMN_SHARES);
	pb_add_varint(out, from);
	add_signed(out, factor);
	/* It wraps where it has to, as it does on the way back. */
	for (size_t i = 0; i < share->set_cnt; i++)
		add_signed(out, (int64_t)((uint64_t)share->sums[i] -
					  (uint64_t)share->weights[i] * (uint64_t)factor));
}

/* @parts: scratch, one a row. */
static void encode_column(struct batch_share *share, const struct batch *batch, uint32_t column,
			  int64_t *parts, struct buf *out)
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
	for (uint32_t from = 0; from < column; from++) {
		if (!is_shared(share, batch, from, column, parts))
			continue;
		encode_shares(share, from, out);
		return;
	}
	pb_add_varint(out, COLUMN_PLAIN);
	for (size_t i = 0; i < batch->cnt; i++)
		add_signed(out, batch->values[i * batch->column_cnt + column]);
}

void batch_encode(const struct batch *batch, struct buf *out)
{
	_cleanup_(batch_share_deinit) struct batch_share share;
	_cleanup_free_ int64_t *parts = calloc(batch->cnt + 1, sizeof(*parts));
	uint32_t last = 0;
	int err = batch_share_init(&share, batch);

	if (err || !parts) {
		out->err = -ENOMEM;
		return;
	}
	pb_add_varint(out, BATCH_LABEL_SETS_IN_TABLE);
	pb_add_varint(out, batch->column_cnt);
	pb_add_varint(out, batch->cnt);
	for (size_t i = 0; i < batch->cnt; last = batch->rows[i++].stack)
		pb_add_varint(out, batch->rows[i].stack - last);
	pb_add_varint(out, share.set_cnt);
	last = 0;
	for (size_t i = 0; i < share.set_cnt; last = share.sets[i++])
		pb_add_varint(out, share.sets[i] - last);
	last = 0;
	for (size_t i = 0; i < batch->cnt; last = share.set_of[i++])
		add_signed(out, (int64_t)share.set_of[i] - last);
	for (uint32_t i = 0; i < batch->column_cnt; i++)
		encode_column(&share, batch, i, parts, out);
}
