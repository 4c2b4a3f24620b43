/* SPDX-License-Identifier: Apache-2.0 */
#include "clickhouse/native_read.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "clickhouse/rowbinary.h"

static size_t width_of(const struct native_block *block, size_t column)
{
	return native_type_bytes(block->table->columns[column].type);
}

/* --- Reading --- */

/* Is @wanted the text that comes? */
static void expect_text(struct reader *rd, const char *wanted)
{
	size_t len = 0;
	const char *text = rb_text(rd, &len);

	if (!rd->err && (len != strlen(wanted) || memcmp(text, wanted, len) != 0))
		reader_fail(rd);
}

static void expect_number(struct reader *rd, uint64_t wanted)
{
	if (reader_u64(rd) != wanted)
		reader_fail(rd);
}

/* @cnt elements of @width bytes (0: texts), as they stand, onto @out. */
static void take_elements(struct reader *rd, uint64_t cnt, size_t width, struct buf *out)
{
	const uint8_t *begin = rd->pos;
	size_t len = 0;

	if (width && cnt > reader_left(rd) / width)
		reader_fail(rd);
	else if (width)
		reader_skip(rd, cnt * width);
	for (uint64_t i = 0; !width && i < cnt && !rd->err; i++)
		rb_text(rd, &len);
	if (!rd->err)
		buf_add(out, begin, (size_t)(rd->pos - begin));
}

/* Words get the numbers that the block gives them. */
static int take_words(struct reader *rd, uint64_t row_cnt, size_t column,
		      struct native_block *block)
{
	_cleanup_free_ uint32_t *words = NULL;
	uint64_t cnt;

	expect_number(rd, NATIVE_WORDS_VERSION);
	expect_number(rd, NATIVE_WORDS_FLAGS);
	cnt = reader_u64(rd);
	/* Each is of some row, but for "", which is always there. */
	if (rd->err || cnt > row_cnt + 1 || cnt > reader_left(rd))
		return -EBADMSG;
	words = calloc(cnt + 1, sizeof(*words));
	if (!words)
		return -ENOMEM;
	for (uint64_t i = 0; i < cnt; i++) {
		size_t len = 0;
		const char *text = rb_text(rd, &len);

		if (rd->err || (len && memchr(text, '\0', len)))
			return -EBADMSG;
		words[i] = strtab_add(&block->words[column], text, len);
		if (words[i] == STRTAB_NONE)
			return -ENOMEM;
	}
	expect_number(rd, row_cnt);
	for (uint64_t i = 0; i < row_cnt && !rd->err; i++) {
		const uint32_t word = reader_u32(rd);

		if (rd->err || word >= cnt)
			return -EBADMSG;
		rb_add_u32(&block->data[column], words[word]);
	}
	return rd->err;
}

/* Ends of arrays never fall. */
static uint64_t take_ends(struct reader *rd, uint64_t row_cnt, struct buf *out)
{
	const uint8_t *begin = rd->pos;
	uint64_t end = 0;

	for (uint64_t i = 0; i < row_cnt && !rd->err; i++) {
		const uint64_t next = reader_u64(rd);

		if (next < end)
			reader_fail(rd);
		end = next;
	}
	if (!rd->err)
		buf_add(out, begin, (size_t)(rd->pos - begin));
	return rd->err ? 0 : end;
}

static int take_column(struct reader *rd, uint64_t row_cnt, size_t column,
		       struct native_block *block)
{
	const struct native_column *is = &block->table->columns[column];
	uint64_t cnt = row_cnt;

	expect_text(rd, is->name);
	expect_text(rd, native_type_name(is->type));
	if (rd->err)
		return rd->err;
	if (is->type == NATIVE_WORD)
		return take_words(rd, row_cnt, column, block);
	if (native_type_is_array(is->type))
		cnt = take_ends(rd, row_cnt, &block->ends[column]);
	block->element_cnt[column] = native_type_is_array(is->type) ? cnt : 0;
	take_elements(rd, cnt, width_of(block, column), &block->data[column]);
	return rd->err;
}

/* What a row takes at least. */
static size_t row_bytes_min(const struct native_table *table)
{
	size_t sum = 0;

	for (size_t i = 0; i < table->column_cnt; i++) {
		const enum native_type type = table->columns[i].type;

		if (native_type_is_array(type))
			sum += sizeof(uint64_t);
		else
			sum += native_type_bytes(type) ? native_type_bytes(type) : 1;
	}
	assert(sum); /* no table is without columns */
	return sum;
}

int native_decode(struct reader *rd, struct native_block *block)
{
	const size_t column_cnt = block->table->column_cnt;
	int err = 0;
	uint64_t row_cnt;

	assert(!block->row_cnt && !block->column);
	if (reader_uleb128(rd) != column_cnt)
		reader_fail(rd);
	row_cnt = reader_uleb128(rd);
	if (rd->err || row_cnt > reader_left(rd) / row_bytes_min(block->table))
		return -EBADMSG;
	for (size_t i = 0; i < column_cnt && !err; i++) {
		err = take_column(rd, row_cnt, i, block);
		if (!err)
			err = block->data[i].err ? block->data[i].err : block->ends[i].err;
	}
	block->row_cnt = err ? 0 : row_cnt;
	return err;
}

/* --- Looking --- */

size_t native_column_of(const struct native_table *table, const char *name)
{
	size_t column = 0;

	while (column < table->column_cnt && strcmp(table->columns[column].name, name) != 0)
		column++;
	assert(column < table->column_cnt);
	return column;
}

uint64_t native_number(const struct native_block *block, size_t column, uint64_t row)
{
	const size_t width = width_of(block, column);
	uint64_t value = 0;

	assert(row < block->row_cnt);
	memcpy(&value, block->data[column].data + row * width, width);
	return value;
}

const char *native_word(const struct native_block *block, size_t column, uint64_t row)
{
	return strtab_get(&block->words[column], (uint32_t)native_number(block, column, row));
}

struct reader native_texts(const struct native_block *block, size_t column)
{
	struct reader rd;

	reader_init(&rd, buf_cstr(&block->data[column]), block->data[column].len);
	return rd;
}

uint64_t native_array_end(const struct native_block *block, size_t column, uint64_t row)
{
	uint64_t end;

	memcpy(&end, block->ends[column].data + row * sizeof(end), sizeof(end));
	return end;
}

/* --- Adding --- */

/* The next @cnt elements of @from's column, or past them. */
static void copy_elements(struct native_block *to, size_t column, struct reader *from, uint64_t cnt,
			  bool is_kept)
{
	const uint8_t *begin = from->pos;
	const size_t width = width_of(to, column);
	size_t len = 0;

	if (width)
		reader_skip(from, cnt * width);
	for (uint64_t i = 0; !width && i < cnt; i++)
		rb_text(from, &len);
	if (is_kept)
		buf_add(&to->data[column], begin, (size_t)(from->pos - begin));
}

static int append_words(struct native_block *to, const struct native_block *from, size_t column,
			const bool *keep)
{
	const struct strtab *words = &from->words[column];
	_cleanup_free_ uint32_t *numbers = malloc((words->cnt + 1) * sizeof(*numbers));

	if (!numbers)
		return -ENOMEM;
	memset(numbers, 0xff, words->cnt * sizeof(*numbers)); /* STRTAB_NONE */
	for (uint64_t i = 0; i < from->row_cnt; i++) {
		const uint32_t word = (uint32_t)native_number(from, column, i);
		const char *text = strtab_get(words, word);

		if (keep && !keep[i])
			continue;
		if (numbers[word] == STRTAB_NONE)
			numbers[word] = strtab_add(&to->words[column], text, strlen(text));
		if (numbers[word] == STRTAB_NONE)
			return -ENOMEM;
		rb_add_u32(&to->data[column], numbers[word]);
	}
	return to->data[column].err;
}

static int append_column(struct native_block *to, const struct native_block *from, size_t column,
			 const bool *keep)
{
	const bool is_array = native_type_is_array(to->table->columns[column].type);
	struct reader elements = native_texts(from, column);
	uint64_t begin = 0;

	if (!keep && !is_array) {
		buf_add(&to->data[column], from->data[column].data, from->data[column].len);
		return to->data[column].err;
	}
	for (uint64_t i = 0; i < from->row_cnt; i++) {
		const bool is_kept = !keep || keep[i];
		const uint64_t end = is_array ? native_array_end(from, column, i) : begin + 1;

		copy_elements(to, column, &elements, end - begin, is_kept);
		if (is_kept && is_array) {
			to->element_cnt[column] += end - begin;
			rb_add_u64(&to->ends[column], to->element_cnt[column]);
		}
		begin = end;
	}
	return to->data[column].err ? to->data[column].err : to->ends[column].err;
}

int native_append(struct native_block *to, const struct native_block *from, const bool *keep)
{
	uint64_t kept = 0;
	int err = 0;

	assert(to->table == from->table && !to->column && !from->column);
	for (uint64_t i = 0; i < from->row_cnt; i++)
		kept += !keep || keep[i];
	for (size_t i = 0; kept && i < to->table->column_cnt && !err; i++)
		err = to->table->columns[i].type == NATIVE_WORD ? append_words(to, from, i, keep)
								: append_column(to, from, i, keep);
	to->row_cnt += err ? 0 : kept;
	return err;
}
