/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed and sealed bytes. */
#include "store/blob.h"

#include <errno.h>
#include <endian.h>
#include <string.h>

#include <zstd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hmap.h"
#include "base/reader.h"
#include "encode/protobuf.h"

enum { BLOB_FORMAT = 1, CHECKSUM_AT = 1, BODY_AT = CHECKSUM_AT + sizeof(uint64_t) };

static uint64_t checksum(const void *body, size_t len, uint64_t place)
{
	return hash_mix(hash_bytes(body, len), place);
}

/* Room for @more bytes behind the content of @buf; false, and its sticky error, on failure. */
static bool reserve(struct buf *buf, size_t more)
{
	if (!buf->err)
		buf->err = array_reserve(&buf->data, &buf->cap, buf->len + more + 1, 1);
	return !buf->err;
}

int blob_pack(const struct buf *raw, uint64_t place, int level, struct buf *out)
{
	const size_t start = out->len, bound = ZSTD_compressBound(raw->len);
	uint64_t sum = 0;
	size_t len;

	if (raw->err)
		return raw->err;
	if (raw->len > BLOB_MAX_BYTES)
		return -E2BIG;
	buf_add_char(out, BLOB_FORMAT);
	buf_add(out, &sum, sizeof(sum));
	pb_add_varint(out, raw->len);
	if (!reserve(out, bound))
		return out->err;
	len = ZSTD_compress(out->data + out->len, bound, raw->len ? raw->data : "", raw->len,
			    level);
	if (ZSTD_isError(len))
		return -ENOMEM;
	out->len += len;
	out->data[out->len] = '\0';
	sum = htole64(checksum(out->data + start + BODY_AT, out->len - start - BODY_AT, place));
	memcpy(out->data + start + CHECKSUM_AT, &sum, sizeof(sum));
	return 0;
}

int blob_unpack(const void *data, size_t len, uint64_t place, struct buf *out)
{
	struct reader rd;
	uint64_t sum, raw_len;
	size_t got;

	reader_init(&rd, data, len);
	if (reader_u8(&rd) != BLOB_FORMAT)
		return -EBADMSG;
	sum = reader_u64(&rd);
	if (rd.err || sum != checksum(rd.pos, reader_left(&rd), place))
		return -EBADMSG;
	raw_len = reader_uleb128(&rd);
	if (rd.err || raw_len > BLOB_MAX_BYTES)
		return -EBADMSG;
	if (!reserve(out, raw_len))
		return out->err;
	got = ZSTD_decompress(out->data + out->len, raw_len, rd.pos, reader_left(&rd));
	if (ZSTD_isError(got) || got != raw_len)
		return -EBADMSG;
	out->len += raw_len;
	out->data[out->len] = '\0';
	return 0;
}
