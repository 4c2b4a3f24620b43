/* SPDX-License-Identifier: Apache-2.0 */
/* gzip in memory. */
#include "encode/gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>

#include "base/cleanup.h"

enum {
	GZIP_WINDOW_BITS = 15 + 16, /* largest window; +16 asks zlib for gzip framing */
	GZIP_MEMORY_LEVEL = 8, /* zlib's default */
	/*
	 * Somebody waits for it: profiles take less than half of the time of zlib's default (6),
	 * and are 7 to 16 % larger. What a profile repeats is mostly the long beginning of a name
	 * that was just there: few candidates are compared, and the insides of matches are noted up
	 * to a larger length than level 3 does it. That takes a tenth less time, for a file that is
	 * not larger.
	 */
	GZIP_LEVEL = 3,
	TUNE_GOOD = 4, /* as level 3: not used by it */
	TUNE_INSERT = 32, /* bytes: level 3 has 6 */
	TUNE_NICE = 32, /* bytes: as level 3 */
	TUNE_CHAIN = 4, /* candidates: level 3 has 32 */
	CHUNK_BYTES = 64 << 10
};

bool gzip_is(const void *data, size_t len)
{
	const uint8_t *bytes = data;

	return len >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

/* zlib counts in unsigned int: feed it what does not fit piece by piece. */
static void feed(z_stream *stream, const uint8_t **data, size_t *left)
{
	size_t len = *left < UINT_MAX ? *left : UINT_MAX;

	if (stream->avail_in)
		return;
	stream->next_in = (Bytef *)*data;
	stream->avail_in = (uInt)len;
	*data += len;
	*left -= len;
}

static void end_inflate(z_stream *stream)
{
	inflateEnd(stream);
}

/* Next member, when another one follows. Z_STREAM_END when nothing does. */
static int next_member(z_stream *stream, size_t left)
{
	return stream->avail_in || left ? inflateReset(stream) : Z_STREAM_END;
}

int gzip_inflate(const void *data, size_t len, struct buf *out)
{
	_cleanup_(end_inflate) z_stream stream = {.zalloc = Z_NULL};
	_cleanup_free_ uint8_t *chunk = malloc(CHUNK_BYTES);
	const uint8_t *pos = data;
	int status;

	if (!chunk || inflateInit2(&stream, GZIP_WINDOW_BITS) != Z_OK)
		return -ENOMEM;
	do {
		feed(&stream, &pos, &len);
		stream.next_out = chunk;
		stream.avail_out = CHUNK_BYTES;
		status = inflate(&stream, Z_NO_FLUSH);
		buf_add(out, chunk, CHUNK_BYTES - stream.avail_out);
		if (out->err)
			return out->err;
		if (status == Z_STREAM_END)
			status = next_member(&stream, len);
	} while (status == Z_OK);
	if (status == Z_STREAM_END)
		return 0;
	/* Z_BUF_ERROR: all input is used and no end was seen. */
	return status == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

void gzip_writer_init(struct gzip_writer *writer, struct buf *out)
{
	*writer = (struct gzip_writer){.out = out};
	if (deflateInit2(&writer->stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS,
			 GZIP_MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		writer->err = -ENOMEM;
	else
		deflateTune(&writer->stream, TUNE_GOOD, TUNE_INSERT, TUNE_NICE, TUNE_CHAIN);
}

static void drain(struct gzip_writer *writer, int flush)
{
	uint8_t chunk[16 << 10];
	int status;

	do {
		writer->stream.next_out = chunk;
		writer->stream.avail_out = sizeof(chunk);
		status = deflate(&writer->stream, flush);
		buf_add(writer->out, chunk, sizeof(chunk) - writer->stream.avail_out);
		if (!writer->err)
			writer->err = writer->out->err;
	} while (!writer->err && status == Z_OK && !writer->stream.avail_out);
}

void gzip_writer_add(struct gzip_writer *writer, const void *data, size_t len)
{
	const uint8_t *pos = data;

	while (!writer->err && len) {
		feed(&writer->stream, &pos, &len);
		drain(writer, Z_NO_FLUSH);
	}
}

int gzip_writer_finish(struct gzip_writer *writer)
{
	if (!writer->err)
		drain(writer, Z_FINISH);
	deflateEnd(&writer->stream);
	return writer->err;
}
