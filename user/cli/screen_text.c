/* SPDX-License-Identifier: Apache-2.0 */
/* Text made fit for a terminal: see screen_text.h. */
#include "cli/screen_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <wctype.h>

#include "encode/text.h"

/* Zero width, direction overrides and isolates, line separators, the byte order mark: they can make
 * a name look like another one. */
static bool is_invisible(uint32_t chr)
{
	return (chr >= 0x200b && chr <= 0x200f) || (chr >= 0x2028 && chr <= 0x202e) ||
	       (chr >= 0x2060 && chr <= 0x206f) || chr == 0xfeff || chr == 0x061c ||
	       (chr >= 0xfff9 && chr <= 0xfffb) || chr >= 0xe0000;
}

/* The character that @text, not at its end, begins with and its length in bytes; '?' for what is
 * not to be shown. */
static wchar_t next_char(const char *text, size_t *len_out, int *width_out)
{
	/* strnlen: text_utf8_len() looks at no byte behind the NUL. */
	size_t len = text_utf8_len(text, strnlen(text, 4));
	uint32_t chr = (uint8_t)text[0];
	int width;

	*len_out = len ? len : 1;
	*width_out = 1;
	if (!len)
		return L'?';
	if (len > 1) {
		chr &= 0x7fu >> len;
		for (size_t i = 1; i < len; i++)
			chr = chr << 6 | ((uint8_t)text[i] & 0x3f);
	}
	width = wcwidth((wchar_t)chr);
	if (width < 0 || !iswprint((wint_t)chr) || is_invisible(chr))
		return L'?';
	*width_out = width;
	return (wchar_t)chr;
}

/* Up to @columns of @text; false: not all of it. */
static bool take(const char *text, int columns, struct screen_text *out)
{
	const size_t room = sizeof(out->chars) / sizeof(out->chars[0]) - 1;
	bool is_whole = true;

	out->len = 0;
	out->columns = 0;
	while (*text) {
		size_t len;
		int width;
		wchar_t chr = next_char(text, &len, &width);

		/* A combining character needs one to combine with. */
		if (!width && !out->len) {
			chr = L'?';
			width = 1;
		}
		if (out->columns + width > columns || out->len == room) {
			is_whole = false;
			break;
		}
		out->chars[out->len++] = chr;
		out->columns += width;
		text += len;
	}
	out->chars[out->len] = 0;
	return is_whole;
}

void screen_text_fit(const char *text, int columns, struct screen_text *out)
{
	if (columns > SCREEN_COLUMNS_MAX)
		columns = SCREEN_COLUMNS_MAX;
	if (columns < 0)
		columns = 0;
	if (take(text, columns, out) || !columns)
		return;
	take(text, columns - 1, out);
	if (out->len == sizeof(out->chars) / sizeof(out->chars[0]) - 1)
		out->len--;
	out->chars[out->len++] = wcwidth(L'…') == 1 ? L'…' : L'~';
	out->chars[out->len] = 0;
	out->columns++;
}

int screen_text_columns(const char *text)
{
	struct screen_text all;

	take(text, SCREEN_COLUMNS_MAX, &all);
	return all.columns;
}
