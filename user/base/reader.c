/* SPDX-License-Identifier: Apache-2.0 */
/* The one way to read bytes that we did not write. */
#include "base/reader.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/parse.h"

void reader_init(struct reader *rd, const void *data, size_t len)
{
	/* NULL + 0 is undefined in C, and an empty buffer has no memory. */
	static const uint8_t nothing[1];

	if (!data) {
		data = nothing;
		len = 0;
	}
	*rd = (struct reader){.start = data, .pos = data};
	rd->end = rd->start + len;
}

uint8_t reader_fail(struct reader *rd)
{
	if (!rd->err)
		rd->err = -EBADMSG;
	return 0;
}

const void *reader_bytes(struct reader *rd, size_t len)
{
	const uint8_t *bytes = rd->pos;

	if (rd->err || len > reader_left(rd)) {
		reader_fail(rd);
		return NULL;
	}
	rd->pos += len;
	return bytes;
}

/* The next @len bytes into @out; those of a failed read are 0, so that its value is too. */
static void reader_copy(struct reader *rd, void *out, size_t len)
{
	const void *bytes = reader_bytes(rd, len);

	if (bytes)
		memcpy(out, bytes, len);
	else
		memset(out, 0, len);
}

uint16_t reader_u16(struct reader *rd)
{
	uint16_t value;

	reader_copy(rd, &value, sizeof(value));
	return rd->big_endian ? be16toh(value) : le16toh(value);
}

uint32_t reader_u32(struct reader *rd)
{
	uint32_t value;

	reader_copy(rd, &value, sizeof(value));
	return rd->big_endian ? be32toh(value) : le32toh(value);
}

uint64_t reader_u64(struct reader *rd)
{
	uint64_t value;

	reader_copy(rd, &value, sizeof(value));
	return rd->big_endian ? be64toh(value) : le64toh(value);
}

uint64_t reader_uleb128_long(struct reader *rd)
{
	const uint8_t *pos = rd->pos;
	uint64_t value = 0;

	for (unsigned int shift = 0; !rd->err && shift < 64 && pos < rd->end; shift += 7) {
		uint8_t byte = *pos++;

		/* The tenth byte has room for one bit, and may not continue. */
		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			rd->pos = pos;
			return value;
		}
	}
	reader_fail(rd);
	return 0;
}

int64_t reader_sleb128(struct reader *rd)
{
	const uint8_t *pos = rd->pos;
	uint64_t value = 0;

	for (unsigned int shift = 0; !rd->err && shift < 64 && pos < rd->end; shift += 7) {
		uint8_t byte = *pos++;

		/* Of the tenth byte one bit is left: the others must repeat it, the sign. */
		if (shift == 63 && byte != 0x00 && byte != 0x7f)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			if ((byte & 0x40) && shift + 7 < 64)
				value |= ~UINT64_C(0) << (shift + 7);
			rd->pos = pos;
			return (int64_t)value;
		}
	}
	reader_fail(rd);
	return 0;
}

const char *reader_cstr(struct reader *rd, size_t *len_out)
{
	const char *str = (const char *)rd->pos;
	const uint8_t *nul = rd->err ? NULL : memchr(rd->pos, '\0', reader_left(rd));

	if (len_out)
		*len_out = nul ? (size_t)(nul - rd->pos) : 0;
	if (!nul) {
		reader_fail(rd);
		return NULL;
	}
	rd->pos = nul + 1;
	return str;
}

const char *reader_until(struct reader *rd, char delim, size_t *len_out)
{
	const char *str = (const char *)rd->pos;
	const uint8_t *stop;

	*len_out = 0;
	if (reader_done(rd))
		return NULL;
	stop = memchr(rd->pos, delim, reader_left(rd));
	*len_out = stop ? (size_t)(stop - rd->pos) : reader_left(rd);
	rd->pos = stop ? stop + 1 : rd->end;
	return str;
}

void reader_skip(struct reader *rd, size_t len)
{
	reader_bytes(rd, len);
}

void reader_seek(struct reader *rd, size_t offset)
{
	if (rd->err || offset > (size_t)(rd->end - rd->start))
		reader_fail(rd);
	else
		rd->pos = rd->start + offset;
}

struct reader reader_sub(struct reader *rd, size_t len)
{
	const void *bytes = reader_bytes(rd, len);
	struct reader sub;

	reader_init(&sub, bytes, len);
	sub.big_endian = rd->big_endian;
	sub.err = rd->err;
	return sub;
}

uint64_t reader_number(struct reader *rd, int base)
{
	const uint8_t *pos = rd->pos;
	uint64_t value = 0;

	for (; !rd->err && pos < rd->end; pos++) {
		uint32_t digit = digit_value((char)*pos);

		if (digit >= (uint32_t)base)
			break;
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, digit, &value)) {
			reader_fail(rd);
			return 0;
		}
	}
	if (pos == rd->pos)
		reader_fail(rd);
	rd->pos = pos;
	return value;
}

bool reader_accept(struct reader *rd, char chr)
{
	if (reader_done(rd) || *rd->pos != (uint8_t)chr)
		return false;
	rd->pos++;
	return true;
}
