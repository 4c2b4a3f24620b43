/* SPDX-License-Identifier: Apache-2.0 */
/* Streaming JSON writer (RFC 8259) into a struct buf. */
#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

void json_init(struct json *js, struct buf *out)
{
	*js = (struct json){.out = out};
}

/* Whatever comes next is one more value: put the comma where one is due. */
static void begin_value(struct json *js)
{
	if (!js->after_key && js->has_items[js->depth])
		buf_add_char(js->out, ',');
	if (js->at_break)
		buf_add_char(js->out, '\n');
	js->has_items[js->depth] = true;
	js->after_key = false;
	js->at_break = false;
}

static void begin_scope(struct json *js, char bracket)
{
	begin_value(js);
	buf_add_char(js->out, bracket);
	js->depth++;
	assert(js->depth < JSON_DEPTH_MAX);
	js->has_items[js->depth] = false;
}

static void end_scope(struct json *js, char bracket)
{
	assert(js->depth > 0 && !js->after_key);
	js->depth--;
	buf_add_char(js->out, bracket);
}

void json_object_begin(struct json *js)
{
	begin_scope(js, '{');
}

void json_object_end(struct json *js)
{
	end_scope(js, '}');
}

void json_array_begin(struct json *js)
{
	begin_scope(js, '[');
}

void json_array_end(struct json *js)
{
	end_scope(js, ']');
}

/*
 * The length of the well-formed UTF-8 sequence at @str, or 0. After Unicode 15 table 3-7: only the
 * second byte has a range of its own, which excludes overlong forms, surrogates and what is beyond
 * U+10FFFF.
 */
static size_t utf8_len(const uint8_t *str, size_t left)
{
	uint8_t lead = str[0], low = 0x80, high = 0xbf;
	size_t len;

	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4)
		return 0;
	len = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	if (left < len)
		return 0;
	if (lead == 0xe0)
		low = 0xa0;
	else if (lead == 0xf0)
		low = 0x90;
	else if (lead == 0xed)
		high = 0x9f;
	else if (lead == 0xf4)
		high = 0x8f;
	if (str[1] < low || str[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++) {
		if ((str[i] & 0xc0) != 0x80)
			return 0;
	}
	return len;
}

static bool is_plain(uint8_t chr)
{
	return chr >= 0x20 && chr < 0x80 && chr != '"' && chr != '\\';
}

static void add_escaped(struct buf *out, uint8_t chr)
{
	static const char raw[] = "\"\\\n\t\r\b\f";
	static const char letters[] = "\"\\ntrbf";
	const char *found = chr ? strchr(raw, chr) : NULL;

	if (found) {
		buf_add_char(out, '\\');
		buf_add_char(out, letters[found - raw]);
	} else {
		buf_printf(out, "\\u%04x", chr);
	}
}

static void add_quoted(struct buf *out, const char *value, size_t len)
{
	const uint8_t *str = (const uint8_t *)value;
	size_t plain, seq;

	buf_add_char(out, '"');
	for (size_t i = 0; i < len;) {
		for (plain = 0; i + plain < len && is_plain(str[i + plain]);)
			plain++;
		buf_add(out, str + i, plain);
		i += plain;
		if (i == len)
			break;
		seq = utf8_len(str + i, len - i);
		if (seq == 1)
			add_escaped(out, str[i]);
		else if (seq)
			buf_add(out, str + i, seq);
		else
			buf_add_str(out, "\xef\xbf\xbd");
		i += seq ? seq : 1;
	}
	buf_add_char(out, '"');
}

void json_key(struct json *js, const char *key)
{
	assert(!js->after_key);
	begin_value(js);
	add_quoted(js->out, key, strlen(key));
	buf_add_char(js->out, ':');
	js->after_key = true;
}

void json_str(struct json *js, const char *value)
{
	json_strn(js, value, strlen(value));
}

void json_strn(struct json *js, const char *value, size_t len)
{
	begin_value(js);
	add_quoted(js->out, value, len);
}

void json_u64(struct json *js, uint64_t value)
{
	begin_value(js);
	buf_add_u64(js->out, value);
}

void json_i64(struct json *js, int64_t value)
{
	begin_value(js);
	buf_printf(js->out, "%" PRId64, value);
}

void json_double(struct json *js, double value)
{
	begin_value(js);
	if (isfinite(value))
		buf_printf(js->out, "%.6g", value);
	else
		buf_add_str(js->out, "null");
}

void json_bool(struct json *js, bool value)
{
	begin_value(js);
	buf_add_str(js->out, value ? "true" : "false");
}

void json_break(struct json *js)
{
	js->at_break = true;
}

void json_encoded(struct json *js, const char *value, size_t len)
{
	begin_value(js);
	buf_add(js->out, value, len);
}

void json_kv_str(struct json *js, const char *key, const char *value)
{
	json_key(js, key);
	json_str(js, value);
}

void json_kv_u64(struct json *js, const char *key, uint64_t value)
{
	json_key(js, key);
	json_u64(js, value);
}

void json_kv_i64(struct json *js, const char *key, int64_t value)
{
	json_key(js, key);
	json_i64(js, value);
}

void json_kv_double(struct json *js, const char *key, double value)
{
	json_key(js, key);
	json_double(js, value);
}
