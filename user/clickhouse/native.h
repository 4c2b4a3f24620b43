/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ClickHouse's format Native, to insert: a block of columns, each with its name and type, one
 * behind the other. What repeats in a column lies together, so that it compresses to less than half
 * of the same rows in RowBinary; what is sent as String may be a LowCardinality(String) there.
 */
#ifndef BPFPROF_CLICKHOUSE_NATIVE_H
#define BPFPROF_CLICKHOUSE_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/strtab.h"

enum native_type {
	NATIVE_U8,
	NATIVE_U16,
	NATIVE_U32,
	NATIVE_U64,
	NATIVE_I64,
	NATIVE_DATE, /* days since 1970, as u16 */
	NATIVE_DATETIME, /* seconds since 1970, as u32 */
	NATIVE_TEXT,
	NATIVE_WORD, /* a LowCardinality(String) */
	/* From here on arrays. */
	NATIVE_U32_ARRAY,
	NATIVE_U64_ARRAY,
	NATIVE_I64_ARRAY,
	NATIVE_TEXT_ARRAY,
};

const char *native_type_name(enum native_type type); /* of ClickHouse; static */
size_t native_type_bytes(enum native_type type); /* of an element; 0: a text */
bool native_type_is_array(enum native_type type);

/*
 * How words are written (ClickHouse's SerializationLowCardinality): the version, and that their
 * numbers are u32 (2), of words that come with the block (1 << 9), and all of them (1 << 10).
 */
enum { NATIVE_WORDS_VERSION = 1, NATIVE_WORDS_FLAGS = 2 | 1 << 9 | 1 << 10 };

struct native_column {
	const char *name;
	enum native_type type;
};

/* What a table's rows consist of: the columns in the order in which their values are added. */
struct native_table {
	const char *name;
	const struct native_column *columns;
	size_t column_cnt;
};

enum { NATIVE_COLUMNS_MAX = 32 };

struct native_block {
	const struct native_table *table; /* borrowed */
	struct buf data[NATIVE_COLUMNS_MAX]; /* elements; of words: their numbers, as u32 */
	struct strtab words[NATIVE_COLUMNS_MAX]; /* of columns of them */
	struct buf ends[NATIVE_COLUMNS_MAX]; /* of arrays: where each row's end */
	uint64_t element_cnt[NATIVE_COLUMNS_MAX];
	uint64_t row_cnt; /* that are whole */
	size_t column; /* that comes next */
};

int native_init(struct native_block *block, const struct native_table *table); /* 0 or -ENOMEM */
void native_deinit(struct native_block *block);

/* Forget the rows, keep the memory. 0 or -ENOMEM. */
int native_reset(struct native_block *block);

/* Bytes of the rows. */
size_t native_bytes(const struct native_block *block);

/*
 * The next column's value; behind the last one the next row begins. Numbers of every width, dates
 * too, are added as u64 (negative ones in two's complement), words as text. An array: its elements,
 * then its end. Errors (memory) show in native_encode().
 */
void native_add(struct native_block *block, uint64_t value);
void native_add_text(struct native_block *block, const char *text, size_t len);
void native_add_str(struct native_block *block, const char *str);
void native_element(struct native_block *block, uint64_t value);
void native_element_str(struct native_block *block, const char *str);
void native_end_array(struct native_block *block);

/* Append the block, whose last row is whole, to @out; 0 or -ENOMEM. */
int native_encode(const struct native_block *block, struct buf *out);

struct ch_client;

/* Insert the rows, if there are any. 0 or negative errno as ch_client_insert(). */
int native_insert(const struct native_block *block, struct ch_client *client);

/* Append "INSERT INTO TABLE (columns) FORMAT Native". */
void native_add_insert(const struct native_table *table, struct buf *out);

#endif
