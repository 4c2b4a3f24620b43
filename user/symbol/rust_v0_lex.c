/* SPDX-License-Identifier: Apache-2.0 */
/* The words of Rust's v0 mangling: numbers, identifiers, lists, back-references. */
#include <string.h>

#include "symbol/rust_v0_priv.h"

enum {
	DEPTH_MAX = 128,
	STEPS_MAX = 10000,
};

bool v0_is_over(const struct v0 *v0)
{
	return v0->is_bad || v0->rd.err || v0->out->is_full;
}

void v0_fail(struct v0 *v0)
{
	v0->is_bad = true;
}

void v0_print(struct v0 *v0, const char *str)
{
	if (!v0->mute)
		name_add_str(v0->out, str);
}

void v0_print_u64(struct v0 *v0, uint64_t value)
{
	if (!v0->mute)
		name_add_u64(v0->out, value);
}

bool v0_enter(struct v0 *v0)
{
	if (++v0->depth > DEPTH_MAX || ++v0->steps > STEPS_MAX)
		v0_fail(v0);
	return !v0_is_over(v0);
}

void v0_leave(struct v0 *v0)
{
	v0->depth--;
}

bool v0_accept(struct v0 *v0, char chr)
{
	return !v0->is_bad && reader_accept(&v0->rd, chr);
}

size_t v0_print_list(struct v0 *v0, void (*print_item)(struct v0 *), const char *separator)
{
	size_t cnt = 0;

	while (!v0_is_over(v0) && !v0_accept(v0, 'E')) {
		if (cnt++)
			v0_print(v0, separator);
		print_item(v0);
	}
	return cnt;
}

static int base62_digit(uint8_t chr)
{
	if (chr >= '0' && chr <= '9')
		return chr - '0';
	if (chr >= 'a' && chr <= 'z')
		return chr - 'a' + 10;
	if (chr >= 'A' && chr <= 'Z')
		return chr - 'A' + 36;
	return -1;
}

uint64_t v0_read_base62(struct v0 *v0)
{
	uint64_t value = 0;

	if (v0_accept(v0, '_'))
		return 0;
	while (!v0_is_over(v0)) {
		int digit = base62_digit(reader_u8(&v0->rd));

		if (digit < 0 || __builtin_mul_overflow(value, 62, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			v0_fail(v0);
		else if (v0_accept(v0, '_') && !__builtin_add_overflow(value, 1, &value))
			return value;
	}
	return 0;
}

uint64_t v0_read_optional_base62(struct v0 *v0, char tag)
{
	uint64_t value;

	if (!v0_accept(v0, tag))
		return 0;
	value = v0_read_base62(v0);
	if (value == UINT64_MAX)
		v0_fail(v0);
	return value + 1;
}

struct v0_ident v0_read_plain_ident(struct v0 *v0)
{
	struct v0_ident ident = {.str = ""};

	ident.is_punycode = v0_accept(v0, 'u');
	/* A number has no leading zero: "00" are two empty names, as of a closure in a closure. */
	if (!v0_accept(v0, '0'))
		ident.len = reader_number(&v0->rd, 10);
	v0_accept(v0, '_');
	ident.str = reader_bytes(&v0->rd, ident.len);
	if (!ident.str) {
		ident.str = "";
		ident.len = 0;
	}
	return ident;
}

struct v0_ident v0_read_ident(struct v0 *v0)
{
	uint64_t disambiguator = v0_read_optional_base62(v0, 's');
	struct v0_ident ident = v0_read_plain_ident(v0);

	ident.disambiguator = disambiguator;
	return ident;
}

void v0_print_ident(struct v0 *v0, const struct v0_ident *ident)
{
	if (v0->mute)
		return;
	if (!ident->is_punycode) {
		name_add(v0->out, ident->str, ident->len);
	} else if (punycode_decode(ident->str, ident->len, v0->out)) {
		name_add_str(v0->out, "punycode{");
		name_add(v0->out, ident->str, ident->len);
		name_add_str(v0->out, "}");
	}
}

bool v0_follow_backref(struct v0 *v0, struct reader *back)
{
	size_t begin = reader_offset(&v0->rd) - 1;
	uint64_t target = v0_read_base62(v0);

	if (target >= begin)
		v0_fail(v0);
	*back = v0->rd;
	if (v0_is_over(v0) || v0->mute)
		return false;
	reader_seek(&v0->rd, target);
	return true;
}
