/* SPDX-License-Identifier: Apache-2.0 */
/* A growing byte buffer with a hard maximum and a sticky error. */
#include "base/buf.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/huge_pages.h"

enum { BUF_FIRST_CAP = 64 };

void buf_init(struct buf *buf, size_t max_bytes)
{
	*buf = (struct buf){.max_bytes = max_bytes};
}

void buf_deinit(struct buf *buf)
{
	free(buf->data);
	buf_init(buf, buf->max_bytes);
}

void buf_reset(struct buf *buf)
{
	buf->len = 0;
	buf->err = 0;
	if (buf->data)
		buf->data[0] = '\0';
}

/* Room for @extra more bytes and the NUL; false, and the error set, where there is none. */
static bool buf_grow(struct buf *buf, size_t extra)
{
	size_t new_cap, need;
	char *grown;

	if (buf->err)
		return false;
	if (__builtin_add_overflow(buf->len, extra, &need) || need >= SIZE_MAX / 2) {
		buf->err = buf->max_bytes ? -EFBIG : -ENOMEM;
		return false;
	}
	if (buf->max_bytes && need > buf->max_bytes) {
		buf->err = -EFBIG;
		return false;
	}
	if (need < buf->cap)
		return true;

	new_cap = buf->cap ? buf->cap * 2 : BUF_FIRST_CAP;
	if (new_cap < need + 1)
		new_cap = need + 1;
	grown = realloc(buf->data, new_cap);
	if (!grown) {
		buf->err = -ENOMEM;
		return false;
	}
	huge_pages_prefer(grown, new_cap);
	buf->data = grown;
	buf->cap = new_cap;
	return true;
}

void buf_add(struct buf *buf, const void *data, size_t len)
{
	if (!len || !buf_grow(buf, len))
		return;
	memcpy(buf->data + buf->len, data, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void buf_add_str(struct buf *buf, const char *str)
{
	buf_add(buf, str, strlen(str));
}

void buf_add_char(struct buf *buf, char chr)
{
	buf_add(buf, &chr, 1);
}

char *decimal_put(char *out, uint64_t value)
{
	char digits[DECIMAL_DIGITS_MAX];
	size_t at = sizeof(digits);

	if (value < 10) {
		*out = (char)('0' + value);
		return out + 1;
	}
	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	memcpy(out, digits + at, sizeof(digits) - at);
	return out + (sizeof(digits) - at);
}

void buf_add_u64(struct buf *buf, uint64_t value)
{
	char digits[DECIMAL_DIGITS_MAX];
	const char *end = decimal_put(digits, value);

	buf_add(buf, digits, (size_t)(end - digits));
}

void buf_printf(struct buf *buf, const char *fmt, ...)
{
	size_t room = buf->cap - buf->len;
	va_list args;
	int len;

	if (buf->err)
		return;
	va_start(args, fmt);
	len = vsnprintf(buf->data ? buf->data + buf->len : NULL, room, fmt, args);
	va_end(args);
	if (len < 0)
		buf->err = -errno;
	else if (buf_grow(buf, (size_t)len) && (size_t)len >= room) {
		va_start(args, fmt);
		vsnprintf(buf->data + buf->len, (size_t)len + 1, fmt, args);
		va_end(args);
	}
	if (!buf->err)
		buf->len += (size_t)len;
	/* A text that was refused may have been cut into the free part already. */
	if (buf->data)
		buf->data[buf->len] = '\0';
}

const char *buf_cstr(const struct buf *buf)
{
	return buf->data ? buf->data : "";
}

const char *buf_error_text(const struct buf *why, int err)
{
	if (why->err)
		return strerror(-why->err);
	return why->len ? buf_cstr(why) : strerror(-err);
}

char *buf_take(struct buf *buf, size_t *len_out)
{
	char *taken = NULL;

	if (!buf->err && !buf->data)
		buf_grow(buf, 0);
	if (!buf->err) {
		assert(buf->data);
		taken = buf->data;
		taken[buf->len] = '\0';
		if (len_out)
			*len_out = buf->len;
		buf->data = NULL;
	}
	free(buf->data);
	*buf = (struct buf){.max_bytes = buf->max_bytes, .err = buf->err};
	return taken;
}

static const char hex_digits[] = "0123456789abcdef";

void hex_format(const uint8_t *bytes, size_t cnt, char *out)
{
	for (size_t i = 0; i < cnt; i++) {
		*out++ = hex_digits[bytes[i] >> 4];
		*out++ = hex_digits[bytes[i] & 15];
	}
	*out = '\0';
}

size_t hex_parse(const char *hex, uint8_t *out, size_t max)
{
	size_t len = strlen(hex);

	if (len % 2 || len / 2 > max)
		return 0;
	for (size_t i = 0; i < len; i += 2) {
		const char *high = strchr(hex_digits, hex[i]);
		const char *low = strchr(hex_digits, hex[i + 1]);

		if (!high || !low)
			return 0;
		out[i / 2] = (uint8_t)((high - hex_digits) << 4 | (low - hex_digits));
	}
	return len / 2;
}
