/* SPDX-License-Identifier: Apache-2.0 */
/* Pulling values out of JSON (RFC 8259) that we did not write. */
#include "base/json_reader.h"

#include <string.h>

#include "base/parse.h"

void json_reader_init(struct json_reader *js, const void *data, size_t len)
{
	*js = (struct json_reader){.is_first = true};
	reader_init(&js->rd, data, len);
	buf_init(&js->text, BUF_NO_MAX);
}

void json_reader_deinit(struct json_reader *js)
{
	buf_deinit(&js->text);
}

char json_peek(struct json_reader *js)
{
	struct reader *rd = &js->rd;

	while (!reader_done(rd) &&
	       (*rd->pos == ' ' || *rd->pos == '\n' || *rd->pos == '\t' || *rd->pos == '\r'))
		rd->pos++;
	return reader_done(rd) ? 0 : (char)*rd->pos;
}

static void expect(struct json_reader *js, char chr)
{
	json_peek(js);
	if (!reader_accept(&js->rd, chr))
		reader_fail(&js->rd);
}

static void enter(struct json_reader *js, char bracket)
{
	expect(js, bracket);
	js->is_first = true;
}

/* Go to the next member of what ends with @bracket; false: there is none, it has been left. */
static bool next(struct json_reader *js, char bracket)
{
	bool is_first = js->is_first;

	js->is_first = false;
	if (json_peek(js) == bracket) {
		reader_skip(&js->rd, 1);
		return false;
	}
	if (!is_first) {
		expect(js, ',');
		if (json_peek(js) == bracket)
			reader_fail(&js->rd);
	}
	return !js->rd.err;
}

void json_read_array(struct json_reader *js)
{
	enter(js, '[');
}

bool json_read_item(struct json_reader *js)
{
	return next(js, ']');
}

void json_read_object(struct json_reader *js)
{
	enter(js, '{');
}

bool json_read_key(struct json_reader *js)
{
	if (!next(js, '}'))
		return false;
	json_read_str(js);
	expect(js, ':');
	return !js->rd.err;
}

bool json_text_is(const struct json_reader *js, const char *text)
{
	return js->text.len == strlen(text) && !memcmp(buf_cstr(&js->text), text, js->text.len);
}

/* --- Strings --- */

/* The four digits of "\u1234". */
static uint32_t read_unit(struct json_reader *js)
{
	uint32_t unit = 0;

	for (int i = 0; i < 4; i++) {
		uint32_t digit = digit_value((char)reader_u8(&js->rd));

		if (digit >= 16)
			return reader_fail(&js->rd);
		unit = unit << 4 | digit;
	}
	return unit;
}

static void add_code_point(struct buf *out, uint32_t code)
{
	if (code < 0x80) {
		buf_add_char(out, (char)code);
		return;
	}
	if (code < 0x800) {
		buf_add_char(out, (char)(0xc0 | code >> 6));
	} else {
		if (code < 0x10000) {
			buf_add_char(out, (char)(0xe0 | code >> 12));
		} else {
			buf_add_char(out, (char)(0xf0 | code >> 18));
			buf_add_char(out, (char)(0x80 | (code >> 12 & 0x3f)));
		}
		buf_add_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
	}
	buf_add_char(out, (char)(0x80 | (code & 0x3f)));
}

/* Behind "\u": characters beyond U+FFFF are two units. */
static void read_code_point(struct json_reader *js)
{
	uint32_t code = read_unit(js), low;

	if (code >= 0xd800 && code < 0xdc00 && reader_left(&js->rd) >= 2 &&
	    !memcmp(js->rd.pos, "\\u", 2)) {
		struct reader before = js->rd;

		reader_skip(&js->rd, 2);
		low = read_unit(js);
		if (low >= 0xdc00 && low < 0xe000)
			code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		else if (!js->rd.err)
			js->rd = before;
	}
	add_code_point(&js->text, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
}

static void read_escape(struct json_reader *js)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	char letter = (char)reader_u8(&js->rd);
	const char *found = letter ? strchr(letters, letter) : NULL;

	if (letter == 'u')
		read_code_point(js);
	else if (found)
		buf_add_char(&js->text, meant[found - letters]);
	else
		reader_fail(&js->rd);
}

const char *json_read_str(struct json_reader *js)
{
	struct reader *rd = &js->rd;

	buf_reset(&js->text);
	expect(js, '"');
	while (!rd->err && !reader_accept(rd, '"')) {
		const uint8_t *begin = rd->pos;

		while (rd->pos < rd->end && *rd->pos >= ' ' && *rd->pos != '"' && *rd->pos != '\\')
			rd->pos++;
		buf_add(&js->text, begin, (size_t)(rd->pos - begin));
		if (reader_accept(rd, '\\'))
			read_escape(js);
		else if (reader_done(rd) || *rd->pos != '"')
			reader_fail(rd);
	}
	if (js->text.err)
		rd->err = js->text.err;
	return rd->err ? "" : buf_cstr(&js->text);
}

/* --- Numbers --- */

uint64_t json_read_u64(struct json_reader *js)
{
	uint64_t number;

	json_peek(js);
	number = reader_number(&js->rd, 10);
	if (!reader_done(&js->rd) &&
	    (*js->rd.pos == '.' || *js->rd.pos == 'e' || *js->rd.pos == 'E'))
		return reader_fail(&js->rd);
	return js->rd.err ? 0 : number;
}

int64_t json_read_i64(struct json_reader *js)
{
	bool is_negative = json_peek(js) == '-' && reader_accept(&js->rd, '-');
	uint64_t number = json_read_u64(js);

	if (number > (uint64_t)INT64_MAX + is_negative)
		return reader_fail(&js->rd);
	return is_negative ? (int64_t)(0 - number) : (int64_t)number;
}

/* --- The rest --- */

/* Over a string's bytes, the opening quote having been read. */
static void skip_str(struct reader *rd)
{
	uint8_t byte;

	do {
		byte = reader_u8(rd);
		if (byte == '\\')
			reader_u8(rd);
	} while (!rd->err && byte != '"');
}

void json_read_skip(struct json_reader *js)
{
	struct reader *rd = &js->rd;
	size_t depth = 0;

	do {
		char chr = json_peek(js);

		if (!chr || (!depth && strchr(",:]}", chr))) {
			reader_fail(rd);
			return;
		}
		reader_skip(rd, 1);
		if (chr == '{' || chr == '[')
			depth++;
		else if (chr == '}' || chr == ']')
			depth--;
		else if (chr == '"')
			skip_str(rd);
		else if (chr != ',' && chr != ':')
			while (!reader_done(rd) && !strchr(" \n\t\r,:]}", (char)*rd->pos))
				rd->pos++;
	} while (!rd->err && depth);
	js->is_first = false;
}
