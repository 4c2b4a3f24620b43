/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof top` on the terminal: two lines of header, the columns' names, rows, a line of help. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/top.h"

enum { HEADER_ROWS = 3, FOOTER_ROWS = 1 };

static const char *const help_lines[] = {
	"up down page home end, j k   move",
	"Enter                        who calls the function; Esc or left: back",
	"s t o O                      order by self, total, off-CPU, off-CPU total; > < : the next",
	"/                            only rows that match a regular expression; empty: all",
	"z                            the last interval alone, or older ones fading",
	"c                            forget what was before",
	"K U                          without kernel, without user functions",
	"m                            CPU time as a share of all CPUs, or in ms per second",
	"f space                      freeze the table; sampling goes on",
	"h ?                          this help; any key: back",
	"q                            quit",
};

int top_screen_open(struct top_screen *top, int wake_fd)
{
	int err = screen_open(&top->screen, wake_fd);

	if (err)
		return err;
	top->is_open = true;
	/* A message would be written over the table. */
	top->log_level = log_get_level();
	log_set_level(LOG_QUIET);
	return 0;
}

void top_screen_close(struct top_screen *top)
{
	if (top->is_open) {
		screen_close(&top->screen);
		log_set_level(top->log_level);
	}
	top->is_open = false;
	free(top->callers);
	top->callers = NULL;
	top->caller_cnt = 0;
}

/* --- What is shown --- */

static size_t shown_cnt(const struct top_screen *top, const struct top_view *view)
{
	return top->callee == (uint32_t)TOP_NONE ? view->cnt : top->caller_cnt;
}

static void resize(struct top_screen *top, const struct top_view *view)
{
	int height = top->screen.rows - HEADER_ROWS - FOOTER_ROWS;

	screen_list_resize(&top->list, shown_cnt(top, view), height > 0 ? (size_t)height : 0);
}

/* The row of the table that is current, of the table's or of the callers' list; TOP_NONE: none. */
static uint32_t current_row(const struct top_screen *top, const struct top_view *view)
{
	size_t at = top->list.current;

	if (at >= shown_cnt(top, view))
		return TOP_NONE;
	return top->callee == (uint32_t)TOP_NONE ? view->rows[at] : top->callers[at].row;
}

static void find_callers(struct top_screen *top, const struct top_view *view,
			 struct top_table *table)
{
	free(top->callers);
	top->callers = top_table_callers(table, top->callee, view->is_last, &top->caller_cnt);
}

void top_screen_refresh(struct top_screen *top, struct top_view *view, struct top_table *table)
{
	if (top->callee != (uint32_t)TOP_NONE)
		find_callers(top, view, table);
	resize(top, view);
}

/* Choose the rows anew: the order or what is left out has changed. */
static void choose(struct top_screen *top, struct top_view *view, struct top_table *table)
{
	if (top_view_update(view, table))
		snprintf(top->message, sizeof(top->message), "out of memory");
	top_screen_refresh(top, view, table);
}

/* --- Keys --- */

static void enter_callers(struct top_screen *top, struct top_view *view, struct top_table *table)
{
	uint32_t row = current_row(top, view);

	if (row == (uint32_t)TOP_NONE)
		return;
	top->callee = row;
	find_callers(top, view, table);
	screen_list_go(&top->list, 0);
	resize(top, view);
}

/* Back to the table, with the function whose callers were shown as the current one. */
static void leave_callers(struct top_screen *top, struct top_view *view)
{
	uint32_t callee = top->callee;

	top->callee = TOP_NONE;
	resize(top, view);
	for (size_t i = 0; i < view->cnt; i++)
		if (view->rows[i] == callee)
			screen_list_center(&top->list, i);
}

static void answer_prompt(struct top_screen *top, struct top_view *view, struct top_table *table,
			  uint32_t key)
{
	_cleanup_(buf_deinit) struct buf why;

	buf_init(&why, BUF_NO_MAX);
	if (screen_prompt_key(&top->prompt, key) != SCREEN_PROMPT_DONE)
		return;
	if (top_view_filter(view, top->prompt.text, &why))
		snprintf(top->message, sizeof(top->message), "%s", buf_cstr(&why));
	choose(top, view, table);
}

/* Keys that change which rows are shown, and in which order. */
static bool view_key(struct top_view *view, uint32_t key)
{
	const uint32_t cnt = view->has_off_cpu ? TOP_ORDER_CNT : TOP_BY_OFF_SELF;

	if (key == 's')
		view->order = TOP_BY_SELF;
	else if (key == 't')
		view->order = TOP_BY_TOTAL;
	else if (key == 'o' && view->has_off_cpu)
		view->order = TOP_BY_OFF_SELF;
	else if (key == 'O' && view->has_off_cpu)
		view->order = TOP_BY_OFF_TOTAL;
	else if (key == '>')
		view->order = (view->order + 1) % cnt;
	else if (key == '<')
		view->order = (view->order + cnt - 1) % cnt;
	else if (key == 'z')
		view->is_last = !view->is_last;
	else if (key == 'K')
		view->hide_kernel = !view->hide_kernel;
	else if (key == 'U')
		view->hide_user = !view->hide_user;
	else if (key == 'm')
		view->in_ms = !view->in_ms;
	else
		return false;
	return true;
}

static void plain_key(struct top_screen *top, struct top_view *view, struct top_table *table,
		      uint32_t key)
{
	bool is_back =
		key == SCREEN_KEY_ESCAPE || key == SCREEN_KEY_LEFT || key == SCREEN_KEY_BACKSPACE;

	if (key == 'q' || key == SCREEN_KEY_STOP)
		top->wants_end = true;
	else if (key == 'h' || key == '?')
		top->is_help = true;
	else if (key == 'f' || key == ' ')
		top->is_frozen = !top->is_frozen;
	else if (key == 'c')
		top->wants_clear = true;
	else if (key == '/')
		screen_prompt_open(&top->prompt, "filter: ", view->filter_text);
	else if (key == SCREEN_KEY_ENTER)
		enter_callers(top, view, table);
	else if (is_back && top->callee != (uint32_t)TOP_NONE)
		leave_callers(top, view);
	else if (view_key(view, key))
		choose(top, view, table);
	else
		screen_list_key(&top->list, key);
}

bool top_screen_keys(struct top_screen *top, struct top_view *view, struct top_table *table)
{
	bool has_changed = false;
	uint32_t key;

	while ((key = screen_key(&top->screen, 0)) != SCREEN_KEY_NONE && key != SCREEN_KEY_WAKE) {
		has_changed = true;
		top->message[0] = '\0';
		if (key == SCREEN_KEY_STOP)
			plain_key(top, view, table, key);
		else if (key == SCREEN_KEY_RESIZE)
			screen_begin(&top->screen);
		else if (top->is_help)
			top->is_help = false;
		else if (top->prompt.is_open)
			answer_prompt(top, view, table, key);
		else
			plain_key(top, view, table, key);
		if (top->wants_end)
			return false;
	}
	return has_changed;
}

/* --- Drawing --- */

static unsigned int style_of(const struct top_view *view, const struct top_table *table,
			     uint32_t row)
{
	const double share = top_view_rate(view, table->sums[row].self.cpu) / 10 / view->cpu_cnt;

	if (share >= 5)
		return SCREEN_HOT;
	if (share >= 0.5)
		return SCREEN_WARM;
	return SCREEN_NORMAL;
}

static void draw_row(struct top_screen *top, const struct top_view *view,
		     const struct top_table *table, size_t at, int line)
{
	_cleanup_(buf_deinit) struct buf text;
	unsigned int style = SCREEN_NORMAL;

	buf_init(&text, BUF_NO_MAX);
	if (top->callee == (uint32_t)TOP_NONE) {
		top_print_row(view, table, view->rows[at], &text);
		style = style_of(view, table, view->rows[at]);
	} else {
		top_print_caller(view, table, &top->callers[at], &text);
	}
	screen_line(&top->screen, line, style, buf_cstr(&text));
	if (at == top->list.current)
		screen_mark(&top->screen, line, 0, top->screen.columns, SCREEN_REVERSE);
}

static void draw_help(struct top_screen *top)
{
	size_t cnt = sizeof(help_lines) / sizeof(*help_lines);

	screen_line(&top->screen, 0, SCREEN_TITLE | SCREEN_BOLD, "bpfprof top: keys");
	for (size_t i = 0; i < cnt; i++)
		screen_line(&top->screen, (int)i + 2, SCREEN_NORMAL, help_lines[i]);
}

static void draw_header(struct top_screen *top, const struct top_view *view,
			const struct top_table *table, const struct top_state *state)
{
	_cleanup_(buf_deinit) struct buf text;

	buf_init(&text, BUF_NO_MAX);
	if (!state->time_ns)
		buf_add_str(&text, "bpfprof top: the first interval");
	else
		top_print_header(view, state, 0, &text);
	screen_line(&top->screen, 0, SCREEN_TITLE, buf_cstr(&text));
	buf_reset(&text);
	if (state->time_ns)
		top_print_header(view, state, 1, &text);
	screen_line(&top->screen, 1, SCREEN_NORMAL, buf_cstr(&text));
	buf_reset(&text);
	top_print_columns(view, table, &text);
	screen_line(&top->screen, 2, SCREEN_BOLD | SCREEN_REVERSE, buf_cstr(&text));
}

static void draw_footer(struct top_screen *top, const struct top_table *table)
{
	_cleanup_(buf_deinit) struct buf text;
	int line = top->screen.rows - 1;

	buf_init(&text, BUF_NO_MAX);
	if (top->prompt.is_open) {
		screen_show_prompt(&top->screen, line, &top->prompt);
		return;
	}
	if (top->is_frozen)
		buf_add_str(&text, "FROZEN (f: go on)  ");
	if (top->message[0]) {
		buf_add_str(&text, top->message);
	} else if (top->callee != (uint32_t)TOP_NONE) {
		buf_add_str(&text, "callers of ");
		top_print_name(table, top->callee, &text);
		buf_add_str(&text, "  (Esc: back)");
	} else {
		buf_add_str(&text, "h help  q quit  / filter  s t o O order  z K U m f  Enter "
				   "callers");
	}
	screen_line(&top->screen, line, SCREEN_DIM, buf_cstr(&text));
}

void top_screen_draw(struct top_screen *top, const struct top_view *view,
		     const struct top_table *table, const struct top_state *state)
{
	screen_begin(&top->screen);
	resize(top, view);
	if (top->is_help) {
		draw_help(top);
	} else {
		draw_header(top, view, table, state);
		for (size_t i = 0; i < top->list.height && top->list.first + i < top->list.cnt; i++)
			draw_row(top, view, table, top->list.first + i, HEADER_ROWS + (int)i);
		draw_footer(top, table);
	}
	screen_end(&top->screen);
}
