/* SPDX-License-Identifier: Apache-2.0 */
/* The protobuf wire format. */
#include "encode/protobuf.h"

#include <errno.h>
#include <string.h>

enum { VARINT_MAX_BYTES = 10, FIELD_MAX = (1 << 29) - 1 };

bool pb_next(struct reader *rd, struct pb_field *out)
{
	uint64_t tag;

	if (reader_done(rd))
		return false;
	tag = reader_uleb128(rd);
	*out = (struct pb_field){.number = (uint32_t)(tag >> 3), .wire = tag & 7};
	if (!(tag >> 3) || tag >> 3 > FIELD_MAX)
		rd->err = rd->err ? rd->err : -EBADMSG;
	switch (out->wire) {
	case PB_VARINT:
		out->value = reader_uleb128(rd);
		break;
	case PB_FIXED64:
		out->value = reader_u64(rd);
		break;
	case PB_BYTES:
		out->bytes = reader_sub(rd, reader_uleb128(rd));
		break;
	case PB_FIXED32:
		out->value = reader_u32(rd);
		break;
	default:
		rd->err = rd->err ? rd->err : -EBADMSG;
	}
	return !rd->err;
}

static size_t put_varint(uint8_t bytes[static VARINT_MAX_BYTES], uint64_t value)
{
	size_t len = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[len++] = (uint8_t)(value | 0x80);
	bytes[len++] = (uint8_t)value;
	return len;
}

void pb_add_varint(struct buf *out, uint64_t value)
{
	uint8_t bytes[VARINT_MAX_BYTES];

	buf_add(out, bytes, put_varint(bytes, value));
}

void pb_add_uint(struct buf *out, uint32_t number, uint64_t value)
{
	uint8_t bytes[2 * VARINT_MAX_BYTES];
	size_t len = put_varint(bytes, (uint64_t)number << 3 | PB_VARINT);

	len += put_varint(bytes + len, value);
	buf_add(out, bytes, len);
}

void pb_add_double(struct buf *out, uint32_t number, double value)
{
	uint64_t bits;
	uint8_t bytes[sizeof(bits)];

	memcpy(&bits, &value, sizeof(bits));
	for (size_t i = 0; i < sizeof(bits); i++)
		bytes[i] = (uint8_t)(bits >> 8 * i);
	pb_add_varint(out, (uint64_t)number << 3 | PB_FIXED64);
	buf_add(out, bytes, sizeof(bytes));
}

void pb_add_nonzero(struct buf *out, uint32_t number, uint64_t value)
{
	if (value)
		pb_add_uint(out, number, value);
}

void pb_add_fixed64(struct buf *out, uint32_t number, uint64_t value)
{
	uint8_t bytes[sizeof(value)];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	pb_add_varint(out, (uint64_t)number << 3 | PB_FIXED64);
	buf_add(out, bytes, sizeof(bytes));
}

void pb_add_bytes(struct buf *out, uint32_t number, const void *data, size_t len)
{
	pb_add_varint(out, (uint64_t)number << 3 | PB_BYTES);
	pb_add_varint(out, len);
	buf_add(out, data, len);
}

size_t pb_begin(struct buf *out, uint32_t number)
{
	pb_add_varint(out, (uint64_t)number << 3 | PB_BYTES);
	buf_add_char(out, '\0');
	return out->len;
}

/* One byte was left for the length; the few contents that need more are moved up. */
void pb_end(struct buf *out, size_t begin)
{
	static const uint8_t zeros[VARINT_MAX_BYTES];
	uint8_t bytes[VARINT_MAX_BYTES];
	size_t len = out->len - begin, extra;

	if (out->err)
		return;
	extra = put_varint(bytes, len) - 1;
	buf_add(out, zeros, extra);
	if (out->err)
		return;
	memmove(out->data + begin + extra, out->data + begin, len);
	memcpy(out->data + begin - 1, bytes, extra + 1);
}
