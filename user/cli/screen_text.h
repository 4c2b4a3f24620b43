/* SPDX-License-Identifier: Apache-2.0 */
/* Text made fit for a terminal: what could steer it replaced, cut to a number of columns. */
#ifndef BPFPROF_CLI_SCREEN_TEXT_H
#define BPFPROF_CLI_SCREEN_TEXT_H

#include <stddef.h>
#include <wchar.h>

enum { SCREEN_COLUMNS_MAX = 1024 };

/* A piece of a line: printable characters of known widths. */
struct screen_text {
	wchar_t chars[2 * SCREEN_COLUMNS_MAX + 1]; /* combining ones included; ends with 0 */
	size_t len;
	int columns; /* that it takes on the screen */
};

/*
 * The beginning of the UTF-8 text @text that fits in @columns (at most SCREEN_COLUMNS_MAX), "…" as
 * its last character where something was left out ("~" in a locale that has no ellipsis). Control
 * bytes, malformed UTF-8, characters that the locale cannot print and those that steer the
 * direction of writing or are invisible become '?', so that nothing in @text acts on the terminal.
 * Wide characters count as two columns and are never halved. Depends on LC_CTYPE.
 */
void screen_text_fit(const char *text, int columns, struct screen_text *out);

/* How many columns the whole of @text takes, at most SCREEN_COLUMNS_MAX. */
int screen_text_columns(const char *text);

#endif
