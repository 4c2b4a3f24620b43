/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As much of XML as errors have: elements, text with entities, comments, declarations. Attributes
 * are skipped; what could make text of nothing (document types, CDATA) is no error of S3's.
 */
#include "sink/s3_answer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/parse.h"
#include "base/reader.h"
#include "encode/text.h"

enum { DEPTH_MAX = 16, ENTITY_MAX = 8 };

enum token { TOKEN_END, TOKEN_OPEN, TOKEN_CLOSE, TOKEN_EMPTY, TOKEN_TEXT };

/* @len bytes of the answer. */
struct text {
	const char *begin;
	size_t len;
};

static const struct {
	const char *name;
	size_t offset, size;
} fields[] = {
#define FIELD(name, member)                                                                       \
	{                                                                                         \
		name, offsetof(struct s3_answer, member), sizeof(((struct s3_answer *)0)->member) \
	}
	FIELD("Code", code),
	FIELD("Message", message),
	FIELD("Region", region),
	FIELD("Endpoint", endpoint),
	FIELD("RequestTime", request_time),
	FIELD("ServerTime", server_time),
#undef FIELD
};

/* --- Tokens --- */

static bool begins_with(const struct reader *rd, const char *text)
{
	return reader_left(rd) >= strlen(text) && !memcmp(rd->pos, text, strlen(text));
}

/* Skip all up to and with @end. */
static void skip_past(struct reader *rd, const char *end)
{
	while (!rd->err && !begins_with(rd, end))
		reader_skip(rd, 1);
	reader_skip(rd, strlen(end));
}

/* A tag behind its '<'; its name into @out. */
static enum token take_tag(struct reader *rd, struct text *out)
{
	const bool is_close = reader_accept(rd, '/');
	uint8_t chr = 0, last = 0, quote = 0;

	out->begin = (const char *)rd->pos;
	while (rd->pos<rd->end && * rd->pos> ' ' && *rd->pos != '>' && *rd->pos != '/')
		reader_skip(rd, 1);
	out->len = (size_t)((const char *)rd->pos - out->begin);
	while (!rd->err && (quote || chr != '>')) {
		last = chr;
		chr = reader_u8(rd);
		if (quote)
			quote = chr == quote ? 0 : quote;
		else if (chr == '"' || chr == '\'')
			quote = chr;
	}
	if (rd->err || !out->len)
		return TOKEN_END;
	if (is_close)
		return TOKEN_CLOSE;
	return last == '/' ? TOKEN_EMPTY : TOKEN_OPEN;
}

/* The next one; TOKEN_END at the end, and where it is no XML (rd->err). */
static enum token next_token(struct reader *rd, struct text *out)
{
	while (!reader_done(rd)) {
		out->begin = (const char *)rd->pos;
		if (*rd->pos != '<') {
			while (rd->pos < rd->end && *rd->pos != '<')
				reader_skip(rd, 1);
			out->len = (size_t)((const char *)rd->pos - out->begin);
			return TOKEN_TEXT;
		}
		if (begins_with(rd, "<!--")) {
			skip_past(rd, "-->");
		} else if (begins_with(rd, "<?")) {
			skip_past(rd, "?>");
		} else if (begins_with(rd, "<!")) {
			reader_fail(rd);
		} else {
			reader_skip(rd, 1);
			return take_tag(rd, out);
		}
	}
	return TOKEN_END;
}

/* --- Text --- */

/* Of "&NAME;" what is between; numbers that are not of ASCII, and what has no such name, are '?'.
 */
static char entity(const char *name, size_t len)
{
	static const struct {
		const char *name;
		char chr;
	} known[] = {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
	const uint32_t base = len > 1 && name[1] == 'x' ? 16 : 10;
	uint32_t number = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (len == strlen(known[i].name) && !memcmp(name, known[i].name, len))
			return known[i].chr;
	if (len < 2 || name[0] != '#')
		return '?';
	for (size_t i = base == 16 ? 2 : 1; i < len; i++) {
		const uint32_t digit = digit_value(name[i]);

		if (digit >= base)
			return '?';
		number = number * base + digit;
	}
	return number >= ' ' && number <= '~' ? (char)number : '?';
}

static void add_text(struct buf *out, struct text text)
{
	for (size_t i = 0; i < text.len; i++) {
		const char *name = text.begin + i + 1;
		const size_t left = text.len - i - 1;
		const char *end = NULL;

		if (text.begin[i] == '&')
			end = memchr(name, ';', left < ENTITY_MAX ? left : ENTITY_MAX);
		if (!end) {
			buf_add_char(out, text.begin[i]);
			continue;
		}
		buf_add_char(out, entity(name, (size_t)(end - name)));
		i += (size_t)(end - name) + 1;
	}
}

/* @text as one line of UTF-8 into @out, as much of it as has room. */
static int copy_line(const struct buf *text, char *out, size_t size)
{
	_cleanup_(buf_deinit) struct buf line;
	size_t len;

	buf_init(&line, BUF_NO_MAX);
	text_add_line(&line, buf_cstr(text), text->len);
	if (text->err || line.err)
		return -ENOMEM;
	len = line.len < size ? line.len : size - 1;
	/* No sequence is cut in its middle. */
	while (len && len < line.len && ((unsigned char)line.data[len] & 0xc0) == 0x80)
		len--;
	memcpy(out, buf_cstr(&line), len);
	out[len] = '\0';
	return 0;
}

/* --- The answer --- */

/* The field that the element @name is; NULL: none of ours, or it is there already. */
static char *field_of(struct s3_answer *answer, struct text name, size_t *size)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		char *field = (char *)answer + fields[i].offset;

		*size = fields[i].size;
		if (name.len == strlen(fields[i].name) &&
		    !memcmp(name.begin, fields[i].name, name.len))
			return *field ? NULL : field;
	}
	return NULL;
}

/* What is in <Error>, behind it. 0, -EBADMSG or -ENOMEM. */
static int read_fields(struct reader *rd, struct s3_answer *out)
{
	_cleanup_(buf_deinit) struct buf content;
	size_t depth = 1, size = 0;
	char *field = NULL;
	struct text text;
	int err = 0;

	buf_init(&content, BUF_NO_MAX);
	while (!err && depth) {
		switch (next_token(rd, &text)) {
		case TOKEN_OPEN:
			if (++depth > DEPTH_MAX)
				return -EBADMSG;
			field = depth == 2 ? field_of(out, text, &size) : NULL;
			buf_reset(&content);
			break;
		case TOKEN_TEXT:
			if (field)
				add_text(&content, text);
			break;
		case TOKEN_CLOSE:
			if (field)
				err = copy_line(&content, field, size);
			field = NULL;
			depth--;
			break;
		case TOKEN_EMPTY:
			break;
		case TOKEN_END:
			return -EBADMSG;
		}
	}
	return err;
}

int s3_answer_read(const void *data, size_t len, struct s3_answer *out)
{
	struct reader rd;
	struct text text;
	enum token token;
	int err = -EBADMSG;

	*out = (struct s3_answer){.code = ""};
	reader_init(&rd, data, len);
	do {
		token = next_token(&rd, &text);
	} while (token == TOKEN_TEXT);
	if (token == TOKEN_OPEN && text.len == 5 && !memcmp(text.begin, "Error", 5))
		err = read_fields(&rd, out);
	if (!err && !*out->code)
		err = -EBADMSG;
	if (err)
		*out = (struct s3_answer){.code = ""};
	return err;
}
