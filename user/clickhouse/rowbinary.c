/* SPDX-License-Identifier: Apache-2.0 */
#include "clickhouse/rowbinary.h"

#include <string.h>

#include "encode/protobuf.h"

/* The low @cnt bytes of @value, lowest first. */
static void add_number(struct buf *out, uint64_t value, size_t cnt)
{
	uint8_t bytes[sizeof(value)];

	for (size_t i = 0; i < cnt; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	buf_add(out, bytes, cnt);
}

void rb_add_u8(struct buf *out, uint8_t value)
{
	add_number(out, value, sizeof(value));
}

void rb_add_u16(struct buf *out, uint16_t value)
{
	add_number(out, value, sizeof(value));
}

void rb_add_u32(struct buf *out, uint32_t value)
{
	add_number(out, value, sizeof(value));
}

void rb_add_u64(struct buf *out, uint64_t value)
{
	add_number(out, value, sizeof(value));
}

void rb_add_i64(struct buf *out, int64_t value)
{
	add_number(out, (uint64_t)value, sizeof(value));
}

void rb_add_len(struct buf *out, uint64_t len)
{
	pb_add_varint(out, len);
}

void rb_add_text(struct buf *out, const char *text, size_t len)
{
	rb_add_len(out, len);
	buf_add(out, text, len);
}

void rb_add_str(struct buf *out, const char *str)
{
	rb_add_text(out, str, strlen(str));
}

const char *rb_text(struct reader *rd, size_t *len)
{
	uint64_t cnt = reader_uleb128(rd);
	const char *text = cnt <= reader_left(rd) ? reader_bytes(rd, cnt) : NULL;

	if (!text)
		reader_fail(rd);
	*len = text ? cnt : 0;
	return text;
}

void rb_copy_text(struct reader *rd, char *out, size_t max)
{
	size_t len = 0;
	const char *text = rb_text(rd, &len);

	if (rd->err || len >= max || (len && memchr(text, '\0', len))) {
		reader_fail(rd);
		return;
	}
	if (len)
		memcpy(out, text, len);
	out[len] = '\0';
}

size_t rb_array(struct reader *rd, size_t element_bytes)
{
	uint64_t cnt = reader_uleb128(rd);

	if (rd->err)
		return 0;
	return cnt <= reader_left(rd) / element_bytes ? cnt : reader_fail(rd);
}

void rb_i64_array(struct reader *rd, int64_t *out, size_t cnt)
{
	size_t len = rb_array(rd, sizeof(*out));

	for (size_t i = 0; i < len; i++) {
		int64_t value = (int64_t)reader_u64(rd);

		if (i < cnt)
			out[i] = value;
	}
	for (size_t i = len; i < cnt; i++)
		out[i] = 0;
}
