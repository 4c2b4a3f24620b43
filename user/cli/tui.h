/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The full-screen `bpfprof report`: a stack of views, of which the uppermost is shown. Keys change
 * views (tui_key()), which know no terminal; tui_draw() puts the uppermost on the screen.
 *
 *	report_tui.c	the loop, and what is common to all views
 *	tui_view.c	views: what they are made of, moving in them
 *	tui_keys.c	what keys do
 *	tui_search.c	finding
 *	tui_annotate.c	one function by line or instruction
 *	tui_draw.c, tui_help.c	what is seen
 */
#ifndef BPFPROF_CLI_TUI_H
#define BPFPROF_CLI_TUI_H

#include "cli/annotate.h"
#include "cli/call_tree.h"
#include "cli/disasm.h"
#include "cli/function_code.h"
#include "cli/row_search.h"
#include "cli/screen.h"
#include "cli/screen_list.h"
#include "cli/source_text.h"
#include "cli/top_rows.h"
#include "cli/tree_rows.h"

enum tui_kind {
	TUI_TOP,
	TUI_TREE, /* from the root, or from focus: its callees */
	TUI_CALLERS, /* of focus */
	TUI_ANNOTATE, /* focus */
	TUI_HELP,
};

/* One function by line or by instruction. */
struct tui_code {
	bool by_insn;
	struct annotation lines, addresses;
	struct source_text source;
	struct function_code function;
	struct disasm disasm;
	struct buf source_why, code_why; /* why there is none; empty: there is */
};

/* A row of tui_code as it is shown. */
struct tui_code_row {
	uint64_t at; /* line or vaddr; 0: unknown */
	int64_t self, total;
	struct buf text; /* appended to; the caller's */
};

struct tui_view {
	struct tui_view *below; /* owned */
	enum tui_kind kind;
	uint32_t focus; /* row, NO_ROW: none */
	uint32_t value; /* what was counted */
	enum func_sort sort; /* TUI_TOP */
	bool is_made; /* what follows is there */
	struct screen_list list;
	struct top_rows top; /* TUI_TOP */
	struct call_tree tree; /* TUI_TREE, TUI_CALLERS */
	struct tree_rows rows;
	struct tui_code code; /* TUI_ANNOTATE */
};

struct tui {
	struct report report; /* of the value that is shown */
	struct func_table table; /* owned; what report.table points to */
	bool *is_inlined; /* owned, by row: the function is only ever inlined into others */
	const char *files; /* borrowed: what was read */
	struct tui_view *view; /* owned: the uppermost */
	enum func_sort sort;
	struct row_search search;
	struct screen_prompt prompt;
	struct buf message; /* for the last line, until the next key */
	size_t height; /* rows that lists have on the screen */
	bool is_done;
};

/* What is shown at first; borrowed. */
struct tui_opts {
	const char *files; /* what was read */
	uint32_t value;
	enum func_sort sort;
};

/* Views of @prof (borrowed), starting with the table of functions. 0 or -ENOMEM; tui_deinit() in
 * either case. */
int tui_init(struct tui *tui, const struct profile *prof, const struct tui_opts *opts);
void tui_deinit(struct tui *tui);

/* Lists have @height rows from now on. */
void tui_set_height(struct tui *tui, size_t height);

/* What @key (enum screen_key) does. 0 or -ENOMEM. */
int tui_key(struct tui *tui, uint32_t key);

/* Show @kind of @focus above what is shown. 0 or -ENOMEM, and nothing has changed. */
int tui_push(struct tui *tui, enum tui_kind kind, uint32_t focus);

/* Go back to what was shown before; the last view stays. */
void tui_pop(struct tui *tui);

/* Show @kind with the same focus instead of what is shown. 0 or -ENOMEM. */
int tui_replace(struct tui *tui, enum tui_kind kind);

/* Count again what is shown, if it is of another value. 0 or -ENOMEM. */
int tui_refresh(struct tui *tui);

/* Count value @value from now on. 0 or -ENOMEM. */
int tui_set_value(struct tui *tui, uint32_t value);

/* The list of the view is of as many rows as it has. */
void tui_fit_list(struct tui *tui);

/* The row of the report on the current row; NO_ROW: none. */
uint32_t tui_selected(const struct tui *tui);

/* Make the next (@step 1) or the last (-1) row that the search finds current, from the current one
 * on and around the end; folded ones are opened. 0 or -ENOMEM; a message where there is none. */
int tui_find(struct tui *tui, int step);

/* Search for what was typed, or for what is called as the selected row, and go to the next. */
int tui_search_text(struct tui *tui, const char *text);
int tui_search_same(struct tui *tui);

/* Count @row's parts and read its source and code. 0 or -ENOMEM; tui_code_deinit() in either case.
 */
int tui_code_init(struct tui_code *code, const struct report *report, uint32_t row);
void tui_code_deinit(struct tui_code *code);

size_t tui_code_cnt(const struct tui_code *code);
void tui_code_get(const struct tui_code *code, size_t index, struct tui_code_row *out);

/* The row of the line or instruction with the most. */
size_t tui_code_hottest(const struct tui_code *code);

/* Why what is shown is not complete, "" when it is. Borrowed. */
const char *tui_code_why(const struct tui_code *code);

/* Row @index of the help. */
struct tui_help_row {
	const char *keys; /* "": a heading, or an empty line */
	const char *what;
};
extern const struct tui_help_row tui_help_rows[];
extern const size_t tui_help_cnt;

/* Put what is shown on @screen; lists take the height that it has now. */
void tui_draw(struct tui *tui, struct screen *screen);

/*
 * Let a person look at @prof on the terminal. 0 when they have left; -ENOTTY:
 * there is no terminal for it, and nothing was shown; negative errno.
 */
int report_tui(const struct profile *prof, const struct tui_opts *opts);

#endif
