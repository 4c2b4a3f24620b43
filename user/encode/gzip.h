/* SPDX-License-Identifier: Apache-2.0 */
/* gzip (RFC 1952) in memory, by zlib. Equal input gives equal bytes: no times, no names. */
#ifndef BPFPROF_ENCODE_GZIP_H
#define BPFPROF_ENCODE_GZIP_H

#include <stdbool.h>
#include <stddef.h>

#include <zlib.h>

#include "base/buf.h"

/* Does @data begin as a gzip file does? */
bool gzip_is(const void *data, size_t len);

/*
 * Append the content of @data, one or more gzip members, to @out; out->max_bytes bounds it. 0;
 * -EBADMSG: corrupt, truncated, or followed by something else; -EFBIG; -ENOMEM.
 */
int gzip_inflate(const void *data, size_t len, struct buf *out);

/* Compression piece by piece: errors are sticky and returned by gzip_writer_finish(). */
struct gzip_writer {
	z_stream stream;
	struct buf *out; /* borrowed */
	int err;
};

void gzip_writer_init(struct gzip_writer *writer, struct buf *out);
void gzip_writer_add(struct gzip_writer *writer, const void *data, size_t len);

/* Write what is left and release everything; to be called exactly once. 0 or the first failure. */
int gzip_writer_finish(struct gzip_writer *writer);

#endif
