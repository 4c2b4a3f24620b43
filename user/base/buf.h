/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing byte buffer with a hard maximum and a sticky error, so that an encoder appends freely
 * and checks once at its end: after the first failure (-ENOMEM, or -EFBIG beyond max) appends do
 * nothing. The content is always followed by a NUL byte that is not counted in len.
 */
#ifndef BPFPROF_BASE_BUF_H
#define BPFPROF_BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	char *data; /* owned; NULL while empty */
	size_t len;
	size_t cap;
	size_t max_bytes;
	int err; /* 0 or the first failure, negative errno */
};

enum { BUF_NO_MAX = 0 };

/* @max_bytes: the most that may be held, BUF_NO_MAX for no bound but memory. Allocates nothing yet.
 */
void buf_init(struct buf *buf, size_t max_bytes);
void buf_deinit(struct buf *buf);

/* Forget the content and the error, keep the memory. */
void buf_reset(struct buf *buf);

void buf_add(struct buf *buf, const void *data, size_t len);
void buf_add_str(struct buf *buf, const char *str);
void buf_add_char(struct buf *buf, char chr);
void buf_add_u64(struct buf *buf, uint64_t value); /* decimal */
enum { DECIMAL_DIGITS_MAX = 20 /* of 2^64 - 1 */ };
/* @value's digits into @out, without a NUL: where they end. */
char *decimal_put(char *out, uint64_t value);
/* @cnt bytes as lower-case hexadecimal into @out: 2 * cnt characters and a NUL. */
void hex_format(const uint8_t *bytes, size_t cnt, char *out);
/* The inverse: how many bytes, at most @max, went into @out; 0: @hex is longer, empty, or not what
 * hex_format() writes. */
size_t hex_parse(const char *hex, uint8_t *out, size_t max);

void buf_printf(struct buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The content as a C string, "" when empty; borrowed until the next change. */
const char *buf_cstr(const struct buf *buf);

/*
 * For a message: what @why says; where it says nothing, or had no memory for all of it, what its
 * own error or @err (negative errno) means. Borrowed until the next change, or the next
 * strerror(3).
 */
const char *buf_error_text(const struct buf *why, int err);

/* The content, *owned* by the caller (free()); @buf is empty afterwards. NULL when buf->err is set.
 */
char *buf_take(struct buf *buf, size_t *len_out);

#endif
