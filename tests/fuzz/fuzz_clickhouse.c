/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a ClickHouse server answers, and where people say it is; the first byte chooses. Rows of
 * RowBinary, whose columns the bytes before the first NUL tell, encode to what decodes to the same;
 * an error is one line within its bounds; a URL that is taken prints as one that is taken, without
 * its password.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "clickhouse/error.h"
#include "clickhouse/rowbinary.h"
#include "clickhouse/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS_MAX = 1000, ARRAY_KEPT = 4 };

static void copy_array(struct reader *rd, struct buf *out)
{
	int64_t items[ARRAY_KEPT];

	rb_i64_array(rd, items, ARRAY_KEPT);
	rb_add_len(out, ARRAY_KEPT);
	for (size_t i = 0; i < ARRAY_KEPT; i++)
		rb_add_i64(out, items[i]);
}

static void copy_texts(struct reader *rd, struct buf *out)
{
	size_t len, cnt = rb_array(rd, 1);

	rb_add_len(out, cnt);
	for (size_t i = 0; i < cnt; i++) {
		const char *text = rb_text(rd, &len);

		rb_add_text(out, text ? text : "", len);
	}
}

static void copy_value(char type, struct reader *rd, struct buf *out)
{
	const char *text;
	size_t len;

	switch (type) {
	case '1':
		rb_add_u8(out, reader_u8(rd));
		break;
	case '2':
		rb_add_u16(out, reader_u16(rd));
		break;
	case '4':
		rb_add_u32(out, reader_u32(rd));
		break;
	case '8':
		rb_add_u64(out, reader_u64(rd));
		break;
	case 'a':
		copy_array(rd, out);
		break;
	case 't':
		copy_texts(rd, out);
		break;
	default:
		text = rb_text(rd, &len);
		rb_add_text(out, text ? text : "", len);
	}
}

/* 0, or the reader's error. */
static int copy_rows(const char *types, const void *data, size_t size, struct buf *out)
{
	struct reader rd;

	reader_init(&rd, data, size);
	for (size_t row = 0; row < ROWS_MAX && !reader_done(&rd); row++)
		for (const char *type = types; *type; type++)
			copy_value(*type, &rd, out);
	return rd.err;
}

static void check_rows(const uint8_t *data, size_t size)
{
	const uint8_t *types_end = size ? memchr(data, 0, size) : NULL;
	struct buf once, twice;
	size_t types_len;

	if (!types_end || types_end == data)
		return;
	types_len = (size_t)(types_end - data) + 1;
	buf_init(&once, BUF_NO_MAX);
	buf_init(&twice, BUF_NO_MAX);
	if (!copy_rows((const char *)data, data + types_len, size - types_len, &once))
		if (copy_rows((const char *)data, once.data, once.len, &twice) || once.err ||
		    once.len != twice.len ||
		    (once.len && memcmp(once.data, twice.data, once.len) != 0))
			abort();
	buf_deinit(&once);
	buf_deinit(&twice);
}

static void check_error(const uint8_t *data, size_t size)
{
	struct ch_error error = {.http_status = 500};

	ch_error_parse((const char *)data, size, &error);
	if (!memchr(error.text, 0, sizeof(error.text)) || strchr(error.text, '\n') ||
	    error.err != (error.code ? ch_error_errno(error.code) : -EPROTO))
		abort();
}

static void check_url(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, size);
	struct ch_url url, again;
	const char *why;
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	if (text && !ch_url_parse(text, &url, &why)) {
		ch_url_print(&url, &out);
		if (ch_url_parse(buf_cstr(&out), &again, &why) || url.host_cnt != again.host_cnt ||
		    strcmp(url.database, again.database) || strchr(buf_cstr(&out), '@'))
			abort();
		for (size_t i = 0; i < url.host_cnt; i++)
			if (strcmp(url.hosts[i].name, again.hosts[i].name) ||
			    url.hosts[i].port != again.hosts[i].port)
				abort();
	}
	buf_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	switch (data[0] % 3) {
	case 0:
		check_rows(data + 1, size - 1);
		break;
	case 1:
		check_error(data + 1, size - 1);
		break;
	default:
		check_url(data + 1, size - 1);
	}
	return 0;
}
