/* SPDX-License-Identifier: Apache-2.0 */
#include "clickhouse/native.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "clickhouse/client.h"
#include "clickhouse/rowbinary.h"

static const struct {
	const char *name;
	uint8_t bytes; /* of an element; 0: a string */
} types[] = {
	[NATIVE_U8] = {"UInt8", 1},
	[NATIVE_U16] = {"UInt16", 2},
	[NATIVE_U32] = {"UInt32", 4},
	[NATIVE_U64] = {"UInt64", 8},
	[NATIVE_I64] = {"Int64", 8},
	[NATIVE_DATE] = {"Date", 2},
	[NATIVE_DATETIME] = {"DateTime('UTC')", 4},
	[NATIVE_TEXT] = {"String", 0},
	[NATIVE_WORD] = {"LowCardinality(String)", 4},
	[NATIVE_U32_ARRAY] = {"Array(UInt32)", 4},
	[NATIVE_U64_ARRAY] = {"Array(UInt64)", 8},
	[NATIVE_I64_ARRAY] = {"Array(Int64)", 8},
	[NATIVE_TEXT_ARRAY] = {"Array(String)", 0},
};

const char *native_type_name(enum native_type type)
{
	return types[type].name;
}

size_t native_type_bytes(enum native_type type)
{
	return types[type].bytes;
}

bool native_type_is_array(enum native_type type)
{
	return type >= NATIVE_U32_ARRAY;
}

int native_init(struct native_block *block, const struct native_table *table)
{
	int err = 0;

	*block = (struct native_block){.table = table};
	for (size_t i = 0; i < table->column_cnt; i++) {
		buf_init(&block->data[i], BUF_NO_MAX);
		buf_init(&block->ends[i], BUF_NO_MAX);
		if (table->columns[i].type == NATIVE_WORD && !err)
			err = strtab_init(&block->words[i]);
	}
	return err;
}

void native_deinit(struct native_block *block)
{
	for (size_t i = 0; block->table && i < block->table->column_cnt; i++) {
		buf_deinit(&block->data[i]);
		buf_deinit(&block->ends[i]);
		if (block->table->columns[i].type == NATIVE_WORD)
			strtab_deinit(&block->words[i]);
	}
}

int native_reset(struct native_block *block)
{
	int err = 0;

	for (size_t i = 0; i < block->table->column_cnt; i++) {
		buf_reset(&block->data[i]);
		buf_reset(&block->ends[i]);
		block->element_cnt[i] = 0;
		if (block->table->columns[i].type != NATIVE_WORD)
			continue;
		strtab_deinit(&block->words[i]);
		err = err ? err : strtab_init(&block->words[i]);
	}
	block->row_cnt = 0;
	block->column = 0;
	return err;
}

size_t native_bytes(const struct native_block *block)
{
	size_t sum = 0;

	for (size_t i = 0; i < block->table->column_cnt; i++)
		sum += block->data[i].len + block->ends[i].len;
	return sum;
}

static void next_column(struct native_block *block)
{
	if (++block->column < block->table->column_cnt)
		return;
	block->column = 0;
	block->row_cnt++;
}

/* Its low bytes; machines that we run on have them first. */
static void add_number(struct native_block *block, uint64_t value)
{
	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "as the format has them");

	buf_add(&block->data[block->column], &value,
		types[block->table->columns[block->column].type].bytes);
}

void native_add(struct native_block *block, uint64_t value)
{
	add_number(block, value);
	next_column(block);
}

void native_add_text(struct native_block *block, const char *text, size_t len)
{
	struct buf *data = &block->data[block->column];

	if (block->table->columns[block->column].type == NATIVE_WORD) {
		uint32_t word = strtab_add(&block->words[block->column], text, len);

		if (word == STRTAB_NONE)
			data->err = -ENOMEM;
		rb_add_u32(data, word);
	} else {
		rb_add_text(data, text, len);
	}
	next_column(block);
}

void native_add_str(struct native_block *block, const char *str)
{
	native_add_text(block, str, strlen(str));
}

void native_element(struct native_block *block, uint64_t value)
{
	add_number(block, value);
	block->element_cnt[block->column]++;
}

void native_element_str(struct native_block *block, const char *str)
{
	rb_add_str(&block->data[block->column], str);
	block->element_cnt[block->column]++;
}

void native_end_array(struct native_block *block)
{
	rb_add_u64(&block->ends[block->column], block->element_cnt[block->column]);
	next_column(block);
}

static void add_words(const struct strtab *words, uint64_t row_cnt, struct buf *out)
{
	rb_add_u64(out, NATIVE_WORDS_VERSION);
	rb_add_u64(out, NATIVE_WORDS_FLAGS);
	rb_add_u64(out, words->cnt);
	for (uint32_t i = 0; i < words->cnt; i++)
		rb_add_str(out, strtab_get(words, i));
	rb_add_u64(out, row_cnt);
}

int native_encode(const struct native_block *block, struct buf *out)
{
	const struct native_table *table = block->table;
	int err = 0;

	rb_add_len(out, table->column_cnt);
	rb_add_len(out, block->row_cnt);
	for (size_t i = 0; i < table->column_cnt; i++) {
		const struct buf *data = &block->data[i], *ends = &block->ends[i];

		rb_add_str(out, table->columns[i].name);
		rb_add_str(out, types[table->columns[i].type].name);
		if (table->columns[i].type == NATIVE_WORD)
			add_words(&block->words[i], block->row_cnt, out);
		buf_add(out, ends->data, ends->len);
		buf_add(out, data->data, data->len);
		if (data->err || ends->err)
			err = data->err ? data->err : ends->err;
	}
	return err ? err : out->err;
}

void native_add_insert(const struct native_table *table, struct buf *out)
{
	buf_printf(out, "INSERT INTO %s (", table->name);
	for (size_t i = 0; i < table->column_cnt; i++)
		buf_printf(out, "%s%s", i ? ", " : "", table->columns[i].name);
	buf_add_str(out, ") FORMAT Native");
}

int native_insert(const struct native_block *block, struct ch_client *client)
{
	_cleanup_(buf_deinit) struct buf sql = {0};
	_cleanup_(buf_deinit) struct buf rows = {0};
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_init(&rows, BUF_NO_MAX);
	if (!block->row_cnt)
		return 0;
	native_add_insert(block->table, &sql);
	err = native_encode(block, &rows);
	if (err || sql.err)
		return err ? err : sql.err;
	return ch_client_insert(client, buf_cstr(&sql), rows.data, rows.len);
}
