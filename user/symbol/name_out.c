/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded output for demangled names, and identifiers in Punycode. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "symbol/rust_demangle.h"

enum {
	/* RFC 3492 section 5 */
	PUNY_BASE = 36,
	PUNY_T_MIN = 1,
	PUNY_T_MAX = 26,
	PUNY_SKEW = 38,
	PUNY_DAMP = 700,
	PUNY_FIRST_BIAS = 72,
	PUNY_FIRST_CODE = 128,
	PUNY_CHARS_MAX = 128, /* of one identifier */
};

void name_out_init(struct name_out *out, char *buf, size_t max)
{
	*out = (struct name_out){.buf = buf, .max = max};
	buf[0] = '\0';
}

void name_add(struct name_out *out, const char *str, size_t len)
{
	size_t room = out->max - 1 - out->len;

	if (len > room) {
		len = room;
		out->is_full = true;
	}
	memcpy(out->buf + out->len, str, len);
	out->len += len;
	out->buf[out->len] = '\0';
}

void name_add_str(struct name_out *out, const char *str)
{
	name_add(out, str, strlen(str));
}

void name_add_u64(struct name_out *out, uint64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRIu64, value);
	name_add_str(out, digits);
}

void name_add_utf8(struct name_out *out, uint32_t code)
{
	char bytes[4];
	size_t len = 0;

	if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		code = 0xfffd;
	if (code < 0x80) {
		bytes[len++] = (char)code;
	} else if (code < 0x800) {
		bytes[len++] = (char)(0xc0 | code >> 6);
	} else if (code < 0x10000) {
		bytes[len++] = (char)(0xe0 | code >> 12);
		bytes[len++] = (char)(0x80 | (code >> 6 & 0x3f));
	} else {
		bytes[len++] = (char)(0xf0 | code >> 18);
		bytes[len++] = (char)(0x80 | (code >> 12 & 0x3f));
		bytes[len++] = (char)(0x80 | (code >> 6 & 0x3f));
	}
	if (code >= 0x80)
		bytes[len++] = (char)(0x80 | (code & 0x3f));
	if (out->max - 1 - out->len < len) /* never half a character */
		out->is_full = true;
	else
		name_add(out, bytes, len);
}

/* RFC 3492 section 6.1 */
static uint32_t puny_adapt(uint32_t delta, uint32_t char_cnt, bool is_first)
{
	uint32_t rounds = 0;

	delta = is_first ? delta / PUNY_DAMP : delta / 2;
	delta += delta / char_cnt;
	while (delta > (PUNY_BASE - PUNY_T_MIN) * PUNY_T_MAX / 2) {
		delta /= PUNY_BASE - PUNY_T_MIN;
		rounds += PUNY_BASE;
	}
	return rounds + (PUNY_BASE - PUNY_T_MIN + 1) * delta / (delta + PUNY_SKEW);
}

static int puny_digit(char chr)
{
	if (chr >= 'a' && chr <= 'z')
		return chr - 'a';
	if (chr >= '0' && chr <= '9')
		return 26 + chr - '0';
	return -EBADMSG;
}

/* One generalized variable-length integer (RFC 3492 section 3.3), added to *@value. How many digits
 * it took, or -EBADMSG. */
static int puny_number(const char *text, size_t len, uint32_t bias, uint32_t *value)
{
	uint32_t weight = 1;

	for (size_t i = 0; i < len; i++) {
		uint32_t k = (uint32_t)(i + 1) * PUNY_BASE;
		uint32_t threshold = k <= bias		      ? PUNY_T_MIN
				     : k >= bias + PUNY_T_MAX ? PUNY_T_MAX
							      : k - bias;
		int digit = puny_digit(text[i]);
		uint32_t step;

		if (digit < 0 || __builtin_mul_overflow((uint32_t)digit, weight, &step) ||
		    __builtin_add_overflow(*value, step, value))
			return -EBADMSG;
		if ((uint32_t)digit < threshold)
			return (int)i + 1;
		if (__builtin_mul_overflow(weight, PUNY_BASE - threshold, &weight))
			return -EBADMSG;
	}
	return -EBADMSG;
}

static int puny_insert(uint32_t *chars, uint32_t *cnt, uint32_t at, uint32_t code)
{
	if (*cnt == PUNY_CHARS_MAX)
		return -EBADMSG;
	memmove(chars + at + 1, chars + at, (*cnt - at) * sizeof(*chars));
	chars[at] = code;
	++*cnt;
	return 0;
}

int punycode_decode(const char *text, size_t len, struct name_out *out)
{
	const char *delim = memrchr(text, '_', len);
	size_t basic_len = delim ? (size_t)(delim - text) : 0;
	size_t pos = delim ? basic_len + 1 : 0;
	uint32_t chars[PUNY_CHARS_MAX];
	uint32_t cnt = 0, code = PUNY_FIRST_CODE, bias = PUNY_FIRST_BIAS, at = 0;

	if (basic_len >= PUNY_CHARS_MAX)
		return -EBADMSG;
	while (cnt < basic_len) {
		chars[cnt] = (unsigned char)text[cnt];
		cnt++;
	}
	while (pos < len) {
		uint32_t before = at;
		int used = puny_number(text + pos, len - pos, bias, &at);

		if (used < 0)
			return used;
		pos += (size_t)used;
		bias = puny_adapt(at - before, cnt + 1, before == 0);
		if (__builtin_add_overflow(code, at / (cnt + 1), &code))
			return -EBADMSG;
		at %= cnt + 1;
		if (puny_insert(chars, &cnt, at++, code))
			return -EBADMSG;
	}
	for (uint32_t i = 0; i < cnt; i++)
		name_add_utf8(out, chars[i]);
	return 0;
}
