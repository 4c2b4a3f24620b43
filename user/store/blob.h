/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a column of the database: compressed, and sealed with a checksum over them and over
 * where they belong, so that neither a flipped bit nor a blob in another row passes for data.
 *
 *	u8 format, u64 checksum, uleb128 length before compression, zstd frame
 */
#ifndef BPFPROF_STORE_BLOB_H
#define BPFPROF_STORE_BLOB_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum {
	BLOB_MAX_BYTES = 64 << 20, /* before compression */
	BLOB_LEVEL_NOW = 3, /* of zstd: for what the drain waits for */
	BLOB_LEVEL_LATER = 9, /* for what is compacted */
};

/* BLOB_SYMBOLS is of no table of a local store: fleet/fleet_symbols.h. */
enum blob_table { BLOB_BATCH = 1, BLOB_LEDGER, BLOB_DICT, BLOB_KIND, BLOB_SYMBOLS };

/* Where a blob belongs: its table and the numbers of its row. */
static inline uint64_t blob_place(enum blob_table table, uint64_t major, uint64_t minor)
{
	uint64_t place = (uint64_t)table * 0x9e3779b97f4a7c15ULL;

	place = (place ^ major) * 0xbf58476d1ce4e5b9ULL;
	return (place ^ (place >> 29) ^ minor) * 0x94d049bb133111ebULL;
}

/* Append @raw, sealed for @place, to @out. 0, -E2BIG, or -ENOMEM. */
int blob_pack(const struct buf *raw, uint64_t place, int level, struct buf *out);

/* Append what blob_pack() was given to @out. 0; -EBADMSG: it is not what was packed for @place;
 * -ENOMEM. The bytes are hostile. */
int blob_unpack(const void *data, size_t len, uint64_t place, struct buf *out);

#endif
