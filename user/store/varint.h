/* SPDX-License-Identifier: Apache-2.0 */
/* Signed numbers, small ones short, whichever their sign; for columns of differences. */
#ifndef BPFPROF_STORE_VARINT_H
#define BPFPROF_STORE_VARINT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/reader.h"
#include "encode/protobuf.h"

static inline void add_signed(struct buf *out, int64_t value)
{
	pb_add_varint(out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static inline int64_t read_signed(struct reader *rd)
{
	uint64_t zigzag = reader_uleb128(rd);

	return (int64_t)(zigzag >> 1 ^ (0 - (zigzag & 1)));
}

/* A number that has to be below @limit; else the reader fails. */
static inline uint32_t read_below(struct reader *rd, uint64_t limit)
{
	uint64_t value = reader_uleb128(rd);

	return value < limit ? (uint32_t)value : reader_fail(rd);
}

#endif
