/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ClickHouse's format RowBinary: rows without separators; numbers little-endian; a String (and a
 * LowCardinality(String)) its length as a varint and its bytes; an Array its length as a varint and
 * its elements; a Date its days since 1970 as u16, a DateTime its seconds as u32.
 *
 * Written into a struct buf, whose error is sticky; read by a struct reader, whose error is, too:
 * what a server sends is hostile. Numbers are read by reader_u8() .. reader_u64().
 */
#ifndef BPFPROF_CLICKHOUSE_ROWBINARY_H
#define BPFPROF_CLICKHOUSE_ROWBINARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/reader.h"

void rb_add_u8(struct buf *out, uint8_t value);
void rb_add_u16(struct buf *out, uint16_t value);
void rb_add_u32(struct buf *out, uint32_t value);
void rb_add_u64(struct buf *out, uint64_t value);
void rb_add_i64(struct buf *out, int64_t value);

/* The length of a string or of an array, whose bytes or elements follow. */
void rb_add_len(struct buf *out, uint64_t len);

void rb_add_text(struct buf *out, const char *text, size_t len);
void rb_add_str(struct buf *out, const char *str);

/* A string: borrowed, not NUL-terminated, *@len bytes; NULL and 0 where the reader fails. */
const char *rb_text(struct reader *rd, size_t *len);

/* A string into @out, with a NUL: where it is longer than @max (with that), or has one, the reader
 * fails, and @out stays what it was. */
void rb_copy_text(struct reader *rd, char *out, size_t max);

/* How many elements the array that comes has; each takes @element_bytes at least (> 0), so that a
 * number that the bytes cannot hold fails the reader: 0 then. */
size_t rb_array(struct reader *rd, size_t element_bytes);

/* The @cnt numbers of an array into @out; those above @cnt are passed over, those that are not
 * there are 0. */
void rb_i64_array(struct reader *rd, int64_t *out, size_t cnt);

#endif
