/* SPDX-License-Identifier: Apache-2.0 */
/* Samples from columns of numbers, in the forms of batch_columns.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "store/batch.h"
#include "store/batch_columns.h"
#include "store/batch_share.h"
#include "store/varint.h"

/* The last rows of a batch, which are being read. */
struct decoder {
	struct reader *rd;
	struct batch rows; /* borrowed */
	struct batch_share share; /* their label sets */
	int64_t *parts; /* owned: scratch, one a row */
};

static void decode_stacks(struct decoder *dec, uint64_t limit)
{
	uint64_t stack = 0;

	for (size_t i = 0; i < dec->rows.cnt; i++) {
		stack += reader_uleb128(dec->rd);
		dec->rows.rows[i].stack = stack < limit ? (uint32_t)stack : reader_fail(dec->rd);
	}
}

/* As before schema version 3. */
static void decode_label_sets_inline(struct decoder *dec, uint64_t limit)
{
	uint64_t label_set = 0;

	for (size_t i = 0; i < dec->rows.cnt; i++) {
		label_set += (uint64_t)read_signed(dec->rd);
		dec->rows.rows[i].label_set =
			label_set < limit ? (uint32_t)label_set : reader_fail(dec->rd);
	}
}

static int decode_label_sets(struct decoder *dec, uint64_t limit)
{
	const uint64_t cnt = reader_uleb128(dec->rd);
	uint64_t set = 0, place = 0;
	int err;

	if (dec->rd->err || cnt > reader_left(dec->rd))
		return -EBADMSG;
	err = batch_share_init_empty(&dec->share, cnt, dec->rows.cnt);
	if (err)
		return err;
	for (size_t i = 0; i < cnt; i++) {
		const uint64_t more = reader_uleb128(dec->rd);

		set += more;
		if (set >= limit || (i && !more))
			reader_fail(dec->rd);
		dec->share.sets[i] = (uint32_t)set;
	}
	for (size_t i = 0; i < dec->rows.cnt && !dec->rd->err; i++) {
		place += (uint64_t)read_signed(dec->rd);
		if (place >= cnt)
			return -EBADMSG;
		dec->share.set_of[i] = (uint32_t)place;
		dec->rows.rows[i].label_set = dec->share.sets[place];
	}
	return 0;
}

static bool is_sorted(const struct batch_row *rows, size_t cnt)
{
	for (size_t i = 1; i < cnt; i++)
		if (rows[i].stack < rows[i - 1].stack ||
		    (rows[i].stack == rows[i - 1].stack &&
		     rows[i].label_set <= rows[i - 1].label_set))
			return false;
	return true;
}

static void decode_multiple(struct decoder *dec, uint32_t column)
{
	const uint32_t column_cnt = dec->rows.column_cnt, from = read_below(dec->rd, column);
	const int64_t factor = read_signed(dec->rd);
	int64_t *row = dec->rows.values;

	for (size_t i = 0; i < dec->rows.cnt && !dec->rd->err; i++, row += column_cnt)
		if (__builtin_mul_overflow(row[from], factor, &row[column]))
			reader_fail(dec->rd);
}

/* The sums of the label sets; @from: by what they are shared. */
static void decode_sums(struct decoder *dec, uint32_t from, int64_t factor)
{
	struct batch_share *share = &dec->share;

	if (!batch_share_sum(share, &dec->rows, from, from))
		reader_fail(dec->rd);
	for (size_t i = 0; i < share->set_cnt; i++) {
		share->sums[i] = (int64_t)((uint64_t)share->weights[i] * (uint64_t)factor +
					   (uint64_t)read_signed(dec->rd));
		if (share->sums[i] < 0)
			reader_fail(dec->rd);
	}
}

static void decode_shares(struct decoder *dec, uint32_t column)
{
	const uint32_t from = read_below(dec->rd, column);
	const int64_t factor = read_signed(dec->rd);

	if (dec->rd->err || !dec->share.sets) {
		reader_fail(dec->rd);
		return;
	}
	decode_sums(dec, from, factor);
	if (dec->rd->err)
		return;
	batch_share_split(&dec->share, &dec->rows, from, dec->parts);
	for (size_t i = 0; i < dec->rows.cnt; i++)
		dec->rows.values[i * dec->rows.column_cnt + column] = dec->parts[i];
}

static void decode_column(struct decoder *dec, uint32_t column)
{
	const uint32_t column_cnt = dec->rows.column_cnt;
	int64_t *values = dec->rows.values;

	switch (reader_uleb128(dec->rd)) {
	case COLUMN_PLAIN:
		for (size_t i = 0; i < dec->rows.cnt; i++)
			values[i * column_cnt + column] = read_signed(dec->rd);
		return;
	case COLUMN_ZERO:
		for (size_t i = 0; i < dec->rows.cnt; i++)
			values[i * column_cnt + column] = 0;
		return;
	case COLUMN_MULTIPLE:
		decode_multiple(dec, column);
		return;
	case COLUMN_SHARES:
		decode_shares(dec, column);
		return;
	default:
		reader_fail(dec->rd);
	}
}

static int decode_rows(struct decoder *dec, uint64_t stack_limit, uint64_t label_set_limit,
		       bool has_table)
{
	int err = 0;

	decode_stacks(dec, stack_limit);
	if (has_table)
		err = decode_label_sets(dec, label_set_limit);
	else
		decode_label_sets_inline(dec, label_set_limit);
	if (!err && !dec->rd->err && !is_sorted(dec->rows.rows, dec->rows.cnt))
		err = -EBADMSG;
	for (uint32_t i = 0; i < dec->rows.column_cnt && !err; i++) {
		decode_column(dec, i);
		err = dec->rd->err;
	}
	return err;
}

static void decoder_deinit(struct decoder *dec)
{
	batch_share_deinit(&dec->share);
	free(dec->parts);
}

int batch_decode(struct reader *rd, uint64_t stack_limit, uint64_t label_set_limit,
		 struct batch *batch)
{
	_cleanup_(decoder_deinit) struct decoder dec = {.rd = rd};
	uint64_t first = reader_uleb128(rd), cnt;
	const bool has_table = first == BATCH_LABEL_SETS_IN_TABLE;
	int err;

	if (has_table)
		first = reader_uleb128(rd);
	cnt = reader_uleb128(rd);
	if (rd->err || !first || first != batch->column_cnt || cnt > reader_left(rd))
		return -EBADMSG;
	err = batch_reserve(batch, cnt);
	if (err)
		return err == -E2BIG ? -EBADMSG : err;
	dec.parts = calloc(cnt + 1, sizeof(*dec.parts));
	if (!dec.parts)
		return -ENOMEM;
	dec.rows = (struct batch){.column_cnt = batch->column_cnt, .cnt = cnt};
	/* Without rows there may be none in memory yet. */
	if (cnt) {
		dec.rows.rows = batch->rows + batch->cnt;
		dec.rows.values = batch->values + batch->cnt * batch->column_cnt;
	}
	err = decode_rows(&dec, stack_limit, label_set_limit, has_table);
	if (err || !reader_done(rd))
		return err == -ENOMEM ? err : -EBADMSG;
	batch->cnt += cnt;
	return 0;
}
