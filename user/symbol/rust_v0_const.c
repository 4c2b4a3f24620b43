/* SPDX-License-Identifier: Apache-2.0 */
/* Constants among the generic arguments of Rust's v0 mangling: numbers, text, and values of
 * structures. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "symbol/rust_v0_priv.h"

static bool is_hex(const char *digits, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!(digits[i] >= '0' && digits[i] <= '9') &&
		    !(digits[i] >= 'a' && digits[i] <= 'f'))
			return false;
	}
	return true;
}

/* {hex-digit} "_": borrowed digits, without leading zeros. */
static const char *read_hex(struct v0 *v0, size_t *len_out)
{
	size_t len = 0;
	const char *digits = reader_until(&v0->rd, '_', &len);

	if (!digits || !is_hex(digits, len)) {
		v0_fail(v0);
		*len_out = 0;
		return "";
	}
	while (len && digits[0] == '0') {
		digits++;
		len--;
	}
	*len_out = len;
	return digits;
}

/* Digits of at most 64 bits; the caller has seen to that. */
static uint64_t hex_value(const char *digits, size_t len)
{
	struct reader rd;

	reader_init(&rd, digits, len);
	return len ? reader_number(&rd, 16) : 0;
}

static void print_const_int(struct v0 *v0, bool is_signed)
{
	const char *digits;
	size_t len;

	if (is_signed && v0_accept(v0, 'n'))
		v0_print(v0, "-");
	digits = read_hex(v0, &len);
	if (len > 16) { /* 128 bits */
		v0_print(v0, "0x");
		if (!v0->mute)
			name_add(v0->out, digits, len);
	} else {
		v0_print_u64(v0, hex_value(digits, len));
	}
}

static void print_const_bool(struct v0 *v0)
{
	size_t len;
	const char *digits = read_hex(v0, &len);

	if (len > 1 || (len && digits[0] != '1'))
		v0_fail(v0);
	v0_print(v0, len ? "true" : "false");
}

/* One character inside @quote. */
static void print_escaped(struct v0 *v0, uint32_t code, char quote)
{
	static const char plain[] = "\t\r\n\\";
	static const char letters[] = "trn\\";
	const char *special = code && code < 0x80 ? strchr(plain, (int)code) : NULL;
	char text[16];

	if (special) {
		v0_print(v0, (char[]){'\\', letters[special - plain], '\0'});
	} else if (code == (unsigned char)quote) {
		v0_print(v0, (char[]){'\\', quote, '\0'});
	} else if (code < 0x20 || code == 0x7f) {
		snprintf(text, sizeof(text), "\\u{%" PRIx32 "}", code);
		v0_print(v0, text);
	} else if (!v0->mute) {
		name_add_utf8(v0->out, code);
	}
}

static void print_const_char(struct v0 *v0)
{
	size_t len;
	const char *digits = read_hex(v0, &len);

	if (len > 6) {
		v0_fail(v0);
		return;
	}
	v0_print(v0, "'");
	print_escaped(v0, (uint32_t)hex_value(digits, len), '\'');
	v0_print(v0, "'");
}

/* The bytes of a str, two hex digits each; its bytes are UTF-8 already. */
static void print_const_str(struct v0 *v0)
{
	size_t len = 0;
	const char *digits = reader_until(&v0->rd, '_', &len);

	if (!digits || len % 2 || !is_hex(digits, len)) {
		v0_fail(v0);
		return;
	}
	v0_print(v0, "\"");
	for (size_t i = 0; i < len && !v0_is_over(v0); i += 2) {
		uint32_t byte = (uint32_t)hex_value(digits + i, 2);

		if (byte < 0x80)
			print_escaped(v0, byte, '"');
		else
			v0_print(v0, (char[]){(char)byte, '\0'});
	}
	v0_print(v0, "\"");
}

static void print_const_item(struct v0 *v0)
{
	v0_print_const(v0, true);
}

static void print_const_field(struct v0 *v0)
{
	struct v0_ident name = v0_read_ident(v0);

	v0_print_ident(v0, &name);
	v0_print(v0, ": ");
	v0_print_const(v0, true);
}

/* V path, then U (unit), T {const} E (tuple) or S {identifier const} E (struct). */
static void print_const_adt(struct v0 *v0)
{
	v0_print_path(v0, true);
	switch (reader_u8(&v0->rd)) {
	case 'U':
		break;
	case 'T':
		v0_print(v0, "(");
		v0_print_list(v0, print_const_item, ", ");
		v0_print(v0, ")");
		break;
	case 'S':
		v0_print(v0, " { ");
		v0_print_list(v0, print_const_field, ", ");
		v0_print(v0, " }");
		break;
	default:
		v0_fail(v0);
	}
}

static void print_const_compound(struct v0 *v0, char tag)
{
	switch (tag) {
	case 'e':
		v0_print(v0, "*");
		print_const_str(v0);
		break;
	case 'R':
	case 'Q':
		v0_print(v0, tag == 'R' ? "&" : "&mut ");
		v0_print_const(v0, true);
		break;
	case 'A':
		v0_print(v0, "[");
		v0_print_list(v0, print_const_item, ", ");
		v0_print(v0, "]");
		break;
	case 'T':
		v0_print(v0, "(");
		if (v0_print_list(v0, print_const_item, ", ") == 1)
			v0_print(v0, ",");
		v0_print(v0, ")");
		break;
	case 'V':
		print_const_adt(v0);
		break;
	default:
		v0_fail(v0);
	}
}

/* A compound constant among generic arguments stands in braces. */
static void print_const_of(struct v0 *v0, char tag, bool in_value)
{
	struct reader back;

	if (tag == 'B') {
		if (v0_follow_backref(v0, &back)) {
			v0_print_const(v0, in_value);
			if (!v0->rd.err)
				v0->rd = back;
		}
	} else if (tag == 'p') {
		v0_print(v0, "_");
	} else if (tag && strchr("hmotyj", tag)) {
		print_const_int(v0, false);
	} else if (tag && strchr("alnsxi", tag)) {
		print_const_int(v0, true);
	} else if (tag == 'b') {
		print_const_bool(v0);
	} else if (tag == 'c') {
		print_const_char(v0);
	} else if (tag == 'R' && v0_accept(v0, 'e')) {
		print_const_str(v0); /* &*"text" is what one writes as "text" */
	} else {
		v0_print(v0, in_value ? "" : "{");
		print_const_compound(v0, tag);
		v0_print(v0, in_value ? "" : "}");
	}
}

void v0_print_const(struct v0 *v0, bool in_value)
{
	if (v0_enter(v0))
		print_const_of(v0, (char)reader_u8(&v0->rd), in_value);
	v0_leave(v0);
}
