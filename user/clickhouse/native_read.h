/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks in the format Native as others sent them (native.h writes them): taken apart again, looked
 * at, and added up to larger ones. What is read is hostile.
 */
#ifndef BPFPROF_CLICKHOUSE_NATIVE_READ_H
#define BPFPROF_CLICKHOUSE_NATIVE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"
#include "clickhouse/native.h"

/*
 * Read a block of block->table's columns, as native_encode() writes it, into @block, which has no
 * rows. 0; -EBADMSG: it is none, or has other columns; -ENOMEM. After a failure @block is to be
 * reset. O(bytes).
 */
int native_decode(struct reader *rd, struct native_block *block);

/*
 * Add the rows of @from, a block of the same table, for which @keep (NULL: all) is true, to @to. 0
 * or -ENOMEM: @to is to be reset then.
 */
int native_append(struct native_block *to, const struct native_block *from, const bool *keep);

/* Which of @table's columns is called @name; it has one. */
size_t native_column_of(const struct native_table *table, const char *name);

/* The number in @row (below block->row_cnt) of @column, which is of numbers or dates; negative ones
 * in two's complement. */
uint64_t native_number(const struct native_block *block, size_t column, uint64_t row);

/* The word in @row of @column, which is of words. Borrowed until the block changes. */
const char *native_word(const struct native_block *block, size_t column, uint64_t row);

/* The texts of @column, which is of texts or of arrays of them, one after the other: rb_text()
 * reads each. */
struct reader native_texts(const struct native_block *block, size_t column);

/* Where the elements of @row of @column, which is of arrays, end: those of all rows up to it. */
uint64_t native_array_end(const struct native_block *block, size_t column, uint64_t row);

#endif
