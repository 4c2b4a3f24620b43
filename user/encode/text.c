/* SPDX-License-Identifier: Apache-2.0 */
/* Text that anybody may have chosen, made fit for a file format. */
#include "encode/text.h"

#include <stdint.h>
#include <string.h>

size_t text_utf8_len(const char *str, size_t left)
{
	const uint8_t *bytes = (const uint8_t *)str;
	uint8_t lead = bytes[0];
	size_t len = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

	/* continuation bytes, overlong two-byte forms, beyond U+10FFFF */
	if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4 || len > left)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
	}
	/* overlong three- and four-byte forms, surrogates, beyond U+10FFFF */
	if ((lead == 0xe0 && bytes[1] < 0xa0) || (lead == 0xf0 && bytes[1] < 0x90) ||
	    (lead == 0xed && bytes[1] >= 0xa0) || (lead == 0xf4 && bytes[1] >= 0x90))
		return 0;
	return len;
}

/* Nearly all names are ASCII: how many of the bytes from the start are, at least. */
static size_t ascii_len(const char *str, size_t len)
{
	size_t at = 0;
	uint64_t word;

	for (; at + sizeof(word) <= len; at += sizeof(word)) {
		memcpy(&word, str + at, sizeof(word));
		if (word & 0x8080808080808080ULL)
			break;
	}
	return at;
}

bool text_is_utf8(const char *str, size_t len)
{
	size_t seq;

	for (size_t i = ascii_len(str, len); i < len; i += seq) {
		seq = text_utf8_len(str + i, len - i);
		if (!seq)
			return false;
	}
	return true;
}

void text_add_utf8(struct buf *out, const char *str, size_t len)
{
	size_t seq, plain = 0;

	for (size_t i = 0; i < len; i += seq ? seq : 1) {
		seq = text_utf8_len(str + i, len - i);
		if (seq)
			continue;
		buf_add(out, str + plain, i - plain);
		buf_add_char(out, '?');
		plain = i + 1;
	}
	buf_add(out, str + plain, len - plain);
}

void text_add_line(struct buf *out, const char *str, size_t len)
{
	size_t begin = out->len;

	text_add_utf8(out, str, len);
	for (size_t i = begin; i < out->len; i++) {
		if ((uint8_t)out->data[i] < ' ' || out->data[i] == 0x7f)
			out->data[i] = '?';
	}
}

void text_add_frame(struct buf *out, const char *str, size_t len)
{
	size_t begin = out->len;

	text_add_line(out, str, len);
	for (size_t i = begin; i < out->len; i++) {
		if (out->data[i] == ';')
			out->data[i] = ':';
	}
}

void text_add_code(struct buf *out, const char *str)
{
	buf_add_char(out, '`');
	for (; *str; str++) {
		if (*str == '|')
			buf_add_str(out, "\\|");
		else
			buf_add_char(out, *str == '`' ? '\'' : *str);
	}
	buf_add_char(out, '`');
}
