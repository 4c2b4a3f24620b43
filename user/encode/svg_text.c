/* SPDX-License-Identifier: Apache-2.0 */
/* Text in the SVG: cleaning and quoting of names that anybody may have chosen, and fitting them. */
#include "encode/svg.h"

#include <stdbool.h>
#include <string.h>

#include "encode/text.h"

enum { REPLACEMENT = 0xfffd, ELLIPSIS_COLUMNS = 1 };

#define ELLIPSIS "\xe2\x80\xa6"

enum quoting { QUOTE_XML, QUOTE_JSON, QUOTE_NOTHING };

/* Characters with an effect of their own on the line they stand in: controls, line and paragraph
 * separators, and the marks, embeddings and isolates that turn the reading direction. */
static bool is_control(uint32_t chr)
{
	return chr < 0x20 || (chr >= 0x7f && chr <= 0x9f) || chr == 0x61c || chr == 0x200e ||
	       chr == 0x200f || (chr >= 0x2028 && chr <= 0x202e) ||
	       (chr >= 0x2066 && chr <= 0x2069);
}

/* The character at *pos, which moves behind it. Each byte that is not part of one is a REPLACEMENT.
 */
static uint32_t decode(const char **pos, const char *end)
{
	const unsigned char *bytes = (const unsigned char *)*pos;
	size_t len = text_utf8_len(*pos, (size_t)(end - *pos));
	uint32_t chr = bytes[0];

	*pos += len ? len : 1;
	if (len <= 1)
		return len ? chr : REPLACEMENT;
	chr &= 0x7fU >> len;
	for (size_t i = 1; i < len; i++)
		chr = chr << 6 | (bytes[i] & 0x3f);
	return chr;
}

/* decode(), cleaned. */
static uint32_t next_char(const char **pos, const char *end)
{
	uint32_t chr = decode(pos, end);

	if (is_control(chr))
		return '?';
	return (chr & 0xfffe) == 0xfffe ? REPLACEMENT : chr;
}

/* The replacement of a character that means something in the syntax around, or NULL. */
static const char *quoted(uint32_t chr, enum quoting quoting)
{
	if (quoting == QUOTE_NOTHING)
		return NULL;
	switch (chr) {
	case '<':
		return quoting == QUOTE_XML ? "&lt;" : "\\u003c";
	case '>':
		return quoting == QUOTE_XML ? "&gt;" : "\\u003e";
	case '&':
		return quoting == QUOTE_XML ? "&amp;" : "\\u0026";
	case '"':
		return quoting == QUOTE_XML ? "&quot;" : "\\\"";
	case '\\':
		return quoting == QUOTE_XML ? NULL : "\\\\";
	default:
		return NULL;
	}
}

/* Nearly all of all names: printable ASCII without a meaning in either syntax. */
static bool is_plain(unsigned char byte)
{
	return byte >= 0x20 && byte < 0x7f && byte != '<' && byte != '>' && byte != '&' &&
	       byte != '"' && byte != '\\';
}

static void add_clean(struct buf *out, const char *str, size_t len, enum quoting quoting)
{
	const char *end = str + len;

	while (str < end) {
		const char *start = str, *instead;
		uint32_t chr;

		while (str < end && is_plain((unsigned char)*str))
			str++;
		buf_add(out, start, (size_t)(str - start));
		if (str == end)
			break;
		start = str;
		chr = next_char(&str, end);
		instead = quoted(chr, quoting);
		if (instead)
			buf_add_str(out, instead);
		else if (chr == REPLACEMENT)
			buf_add_str(out, "\xef\xbf\xbd");
		else if (chr == '?')
			buf_add_char(out, '?');
		else
			buf_add(out, start, (size_t)(str - start));
	}
}

/* East Asian wide characters take two columns; near enough for cutting labels. */
static uint32_t char_columns(uint32_t chr)
{
	return chr >= 0x1100 && (chr <= 0x115f || (chr >= 0x2e80 && chr <= 0xd7a3) ||
				 (chr >= 0xf900 && chr <= 0xfaff) ||
				 (chr >= 0xfe30 && chr <= 0xfe6f) ||
				 (chr >= 0xff00 && chr <= 0xff60) || chr >= 0x1f300)
		       ? 2
		       : 1;
}

/* How many bytes of @str fill at most @columns. */
static size_t fitting_len(const char *str, size_t len, uint32_t columns)
{
	const char *pos = str, *end = str + len;

	/* No character has more columns than bytes. */
	if (len <= columns)
		return len;
	while (pos < end) {
		const char *next = pos;
		uint32_t width = char_columns(next_char(&next, end));

		if (width > columns)
			break;
		columns -= width;
		pos = next;
	}
	return (size_t)(pos - str);
}

/* How many bytes of @str go on a line: up to the last space that fits, or what fits of a long word.
 */
static size_t line_len(const char *str, size_t len, uint32_t columns)
{
	size_t fits = fitting_len(str, len, columns);

	if (fits == len)
		return len;
	for (size_t i = fits; i > 0; i--)
		if (str[i] == ' ')
			return i;
	return fits;
}

void svg_add_text(struct buf *out, const char *str)
{
	add_clean(out, str, strlen(str), QUOTE_XML);
}

void svg_add_clean(struct buf *out, const char *str)
{
	add_clean(out, str, strlen(str), QUOTE_NOTHING);
}

void svg_add_json_str(struct buf *out, const char *str)
{
	buf_add_char(out, '"');
	add_clean(out, str, strlen(str), QUOTE_JSON);
	buf_add_char(out, '"');
}

void svg_add_fitted(struct buf *out, const char *str, uint32_t columns)
{
	size_t len = strlen(str);

	if (fitting_len(str, len, columns) == len) {
		add_clean(out, str, len, QUOTE_XML);
	} else if (columns > ELLIPSIS_COLUMNS) {
		len = fitting_len(str, len, columns - ELLIPSIS_COLUMNS);
		add_clean(out, str, len, QUOTE_XML);
		buf_add_str(out, ELLIPSIS);
	}
}

uint32_t svg_add_paragraph(struct buf *out, const char *cls, const char *str, uint32_t y,
			   uint32_t leading, uint32_t columns, uint32_t max_lines)
{
	size_t left = strlen(str);
	uint32_t line = 0;

	buf_printf(out, "<text class=\"%s\">", cls);
	for (; left > 0 && line < max_lines; line++) {
		size_t len = line_len(str, left, columns);

		buf_printf(out, "<tspan x=\"%d\" y=\"%u\">", SVG_MARGIN, y + line * leading);
		if (line + 1 == max_lines)
			svg_add_fitted(out, str, columns);
		else
			add_clean(out, str, len, QUOTE_XML);
		buf_add_str(out, "</tspan>");
		while (len < left && str[len] == ' ')
			len++;
		str += len;
		left -= len;
	}
	buf_add_str(out, "</text>\n");
	return line;
}
