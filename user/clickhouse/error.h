/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a ClickHouse server says when it refuses: "Code: 193, e.displayText() = DB::Exception: Wrong
 * password ..." up to 20, "Code: 516. DB::Exception: ..." since. The number tells what it is, the
 * HTTP status does not (a bad row is a 500 in one release and a 400 in another).
 */
#ifndef BPFPROF_CLICKHOUSE_ERROR_H
#define BPFPROF_CLICKHOUSE_ERROR_H

#include <stddef.h>
#include <stdint.h>

enum { CH_ERROR_TEXT_MAX = 256 };

struct ch_error {
	int err; /* negative errno, below; 0: there was none */
	uint32_t code; /* the server's; 0: it did not answer, or without one */
	uint32_t http_status; /* 0: it did not answer */
	char text[CH_ERROR_TEXT_MAX]; /* one line */
};

/*
 * What the server's number @code means for who asked:
 *
 *	-EACCES  the user, the password, or what the user may do
 *	-ENOENT  no such database or table
 *	-ENOTSUP what was asked for: the server's release, or the tables, are others than expected
 *	-EINVAL  what was sent: the same again is refused again
 *	-EAGAIN  all others: the server's state, which may pass; whether an insert was carried out
 *	         is not known
 */
int ch_error_errno(uint32_t code);

/* Find number and text in the answer @data of @len bytes, which is hostile, and set @out's err,
 * code and text by it; without a number it is -EPROTO: that was no ClickHouse. */
void ch_error_parse(const char *data, size_t len, struct ch_error *out);

#endif
