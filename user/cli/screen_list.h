/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a screen that are data and no terminal: which rows of a long list are seen, and a
 * line that is being typed.
 */
#ifndef BPFPROF_CLI_SCREEN_LIST_H
#define BPFPROF_CLI_SCREEN_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A list of cnt rows, height of which are seen, one of which is current. All zero: empty. */
struct screen_list {
	size_t cnt;
	size_t current; /* < cnt, or 0 */
	size_t first; /* the uppermost that is seen; current is among those seen */
	size_t height; /* rows on the screen */
};

/* The list has @cnt rows now and room for @height: current and first move no more than they must.
 */
void screen_list_resize(struct screen_list *list, size_t cnt, size_t height);

/* Make @row (the nearest there is) current, and seen. */
void screen_list_go(struct screen_list *list, size_t row);

/* Make @row current and, where the list is long enough, the middle of what is seen. */
void screen_list_center(struct screen_list *list, size_t row);

/* Move by @key (enum screen_key: arrows, page, home, end; j k as in less). False: it is none of
 * these. */
bool screen_list_key(struct screen_list *list, uint32_t key);

enum { SCREEN_PROMPT_BYTES = 256 };

/* A line of UTF-8 that is being typed. */
struct screen_prompt {
	bool is_open;
	const char *label; /* "/", "filter: "; borrowed */
	char text[SCREEN_PROMPT_BYTES];
	size_t len;
};

/* Begin to ask with @label; @text is what is there to be edited, NULL: nothing. */
void screen_prompt_open(struct screen_prompt *prompt, const char *label, const char *text);

enum screen_prompt_state {
	SCREEN_PROMPT_TYPING,
	SCREEN_PROMPT_DONE, /* Enter: text is the answer */
	SCREEN_PROMPT_LEFT, /* Esc, or Backspace in an empty line */
};

/* What @key does to an open prompt, which is closed unless typing goes on: characters append,
 * Backspace takes one away, Ctrl-U all. */
enum screen_prompt_state screen_prompt_key(struct screen_prompt *prompt, uint32_t key);

#endif
