/* SPDX-License-Identifier: Apache-2.0 */
/* The uppermost view on the screen: see tui.h. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/tui.h"

enum { HEAD_ROWS = 4, ROWS_BESIDE = HEAD_ROWS + 1, HOT_PERCENT = 5, INDENT_MAX_PERCENT = 50 };

/* Of one row that is being put on the screen. */
struct pen {
	struct tui *tui;
	struct screen *screen;
	int row, column;
};

static void put(struct pen *pen, unsigned int style, const char *text)
{
	pen->column =
		screen_put(pen->screen, pen->row, pen->column, pen->screen->columns, style, text);
}

/* "  57.14%"; "  ~0.07%" where that is noise; nothing where there is nothing. */
static void put_share(struct pen *pen, int64_t part, int64_t whole)
{
	bool is_noise = report_is_noise(&pen->tui->report, part);
	double percent = percent_of(part, whole);
	char share[32] = "", text[32];

	if (part)
		snprintf(share, sizeof(share), "%s%.2f%%", is_noise ? "~" : "", percent);
	snprintf(text, sizeof(text), "%8.30s", share);
	put(pen, is_noise ? SCREEN_DIM : percent >= HOT_PERCENT ? SCREEN_HOT : SCREEN_NORMAL, text);
}

static void put_amount(struct pen *pen, int64_t amount)
{
	_cleanup_(buf_deinit) struct buf text;
	char padded[64] = "";

	buf_init(&text, BUF_NO_MAX);
	if (amount)
		amount_format(amount, pen->tui->report.unit, &text);
	snprintf(padded, sizeof(padded), " %10s", buf_cstr(&text));
	put(pen, SCREEN_NORMAL, padded);
}

/* --- Names --- */

static unsigned int row_style(const struct tui *tui, uint32_t row)
{
	const struct profile *prof = tui->report.prof;
	uint16_t flags;

	if (row >= tui->table.row_cnt)
		return SCREEN_BOLD;
	flags = prof->locations[tui->table.rows[row].location].flags;
	return flags & LOCATION_KERNEL ? SCREEN_KERNEL
	       : flags & LOCATION_JIT  ? SCREEN_JIT
	       : tui->is_inlined[row]  ? SCREEN_INLINED
				       : SCREEN_USER;
}

static void put_name(struct pen *pen, uint32_t row)
{
	_cleanup_(buf_deinit) struct buf label;

	buf_init(&label, BUF_NO_MAX);
	report_row_label(&pen->tui->report, row, &label);
	put(pen,
	    row_search_has(&pen->tui->search, row) ? SCREEN_FOUND | SCREEN_BOLD | SCREEN_UNDERLINE
						   : row_style(pen->tui, row),
	    buf_cstr(&label));
}

/* --- Rows of lists --- */

static void draw_function(struct pen *pen, size_t index)
{
	const struct top_rows *top = &pen->tui->view->top;
	const struct func_row *row = &top->table.rows[top->order[index]];

	put_share(pen, row->self, pen->tui->table.total);
	put_amount(pen, row->self);
	put(pen, SCREEN_NORMAL, "  ");
	put_share(pen, row->total, pen->tui->table.total);
	put_amount(pen, row->total);
	put(pen, SCREEN_NORMAL, "  ");
	put_name(pen, top->order[index]);
}

static void draw_node(struct pen *pen, size_t index)
{
	const struct tui_view *view = pen->tui->view;
	uint32_t number = view->rows.nodes[index];
	const struct call_node *node = &view->tree.nodes[number];
	int indent_max = pen->screen->columns * INDENT_MAX_PERCENT / 100;
	char depth[32] = "";

	put_share(pen, node->total, pen->tui->table.total);
	put_amount(pen, node->total);
	put(pen, SCREEN_NORMAL, " ");
	put_share(pen, node->self, pen->tui->table.total);
	put(pen, SCREEN_NORMAL, "  ");
	if (2 * (int64_t)node->depth <= indent_max) {
		pen->column += 2 * (int)node->depth;
	} else {
		pen->column += indent_max;
		snprintf(depth, sizeof(depth), "(%u) ", node->depth);
		put(pen, SCREEN_DIM, depth);
	}
	put(pen, SCREEN_DIM,
	    !tree_rows_has_children(&view->rows, index) ? "  "
	    : view->rows.is_open[number]		? "- "
							: "+ ");
	put_name(pen, node->row);
}

static void draw_code(struct pen *pen, size_t index)
{
	const struct tui_code *code = &pen->tui->view->code;
	struct tui_code_row row;
	char at[32] = "?";

	buf_init(&row.text, BUF_NO_MAX);
	tui_code_get(code, index, &row);
	put_share(pen, row.self, code->lines.total);
	put_amount(pen, row.self);
	put(pen, SCREEN_NORMAL, " ");
	put_share(pen, row.total, code->lines.total);
	if (row.at)
		snprintf(at, sizeof(at), code->by_insn ? "%llx" : "%llu",
			 (unsigned long long)row.at);
	pen->column += 12 - (int)strlen(at) > 0 ? 12 - (int)strlen(at) : 1;
	put(pen, SCREEN_DIM, at);
	put(pen, SCREEN_NORMAL, "  ");
	put(pen,
	    row_search_has_text(&pen->tui->search, buf_cstr(&row.text))
		    ? SCREEN_FOUND | SCREEN_UNDERLINE
	    : row.self ? SCREEN_BOLD
		       : SCREEN_NORMAL,
	    buf_cstr(&row.text));
	buf_deinit(&row.text);
}

static void draw_help(struct pen *pen, size_t index)
{
	const struct tui_help_row *row = &tui_help_rows[index];

	if (!*row->keys) {
		put(pen, SCREEN_BOLD, row->what);
		return;
	}
	pen->column = 2;
	put(pen, SCREEN_TITLE, row->keys);
	pen->column = 22;
	put(pen, SCREEN_NORMAL, row->what);
}

static void draw_row(struct pen *pen, size_t index)
{
	switch (pen->tui->view->kind) {
	case TUI_TOP:
		draw_function(pen, index);
		break;
	case TUI_TREE:
	case TUI_CALLERS:
		draw_node(pen, index);
		break;
	case TUI_ANNOTATE:
		draw_code(pen, index);
		break;
	case TUI_HELP:
		draw_help(pen, index);
		break;
	}
}

static void draw_list(struct pen *pen)
{
	const struct screen_list *list = &pen->tui->view->list;

	for (size_t i = 0; i < list->height && list->first + i < list->cnt; i++) {
		pen->row = HEAD_ROWS + (int)i;
		pen->column = 0;
		draw_row(pen, list->first + i);
		if (list->first + i == list->current)
			screen_mark(pen->screen, pen->row, 0, pen->screen->columns, SCREEN_REVERSE);
	}
}

/* --- Around the list --- */

static void add_value(const struct tui *tui, struct buf *out)
{
	const struct report *report = &tui->report;
	const struct profile *prof = report->prof;
	int64_t cnt = report_sample_cnt(report, tui->table.total);

	buf_printf(out, "%s (%s)  total ", profile_str(prof, prof->value_types[report->value].type),
		   report->unit);
	amount_format(tui->table.total, report->unit, out);
	if (cnt >= 0)
		buf_printf(out, "  %lld samples", (long long)cnt);
	if (prof->value_type_cnt > 1)
		buf_printf(out, "  value %u of %u", report->value + 1, prof->value_type_cnt);
}

/* What the view is of: "callers of parse  [app]". */
static void add_view(const struct tui *tui, struct buf *out)
{
	static const char *const orders[] = {
		[FUNC_BY_SELF] = "functions by self",
		[FUNC_BY_TOTAL] = "functions by total",
		[FUNC_BY_NAME] = "functions by name",
	};
	const struct tui_view *view = tui->view;
	int64_t part = view->kind == TUI_TOP ? view->top.total : view->tree.total;

	buf_add_str(out, view->kind == TUI_TOP	      ? orders[view->sort]
			 : view->kind == TUI_TREE     ? "calls"
			 : view->kind == TUI_HELP     ? "keys"
			 : view->kind != TUI_ANNOTATE ? "callers"
			 : view->code.by_insn	      ? "instructions"
						      : "source lines");
	if (view->focus == NO_ROW)
		return;
	buf_add_str(out, view->kind == TUI_TOP || view->kind == TUI_TREE ? " from " : " of ");
	report_row_label(&tui->report, view->focus, out);
	if (view->kind == TUI_ANNOTATE)
		part = view->code.lines.total;
	buf_printf(out, ": %.2f%%", percent_of(part, tui->table.total));
}

static const char *columns_of(const struct tui *tui)
{
	switch (tui->view->kind) {
	case TUI_TOP:
		return "   self%       self    total%      total  function";
	case TUI_TREE:
	case TUI_CALLERS:
		return "  total%      total    self%  function";
	case TUI_ANNOTATE:
		return tui->view->code.by_insn
			       ? "   self%       self   total%     address  instruction"
			       : "   self%       self   total%        line  source";
	case TUI_HELP:
		break;
	}
	return "";
}

static void draw_head(const struct tui *tui, struct screen *screen)
{
	_cleanup_(buf_deinit) struct buf text;

	buf_init(&text, BUF_NO_MAX);
	buf_add_str(&text, "bpfprof report  ");
	buf_add_str(&text, tui->files);
	screen_line(screen, 0, SCREEN_TITLE | SCREEN_BOLD, buf_cstr(&text));
	buf_reset(&text);
	add_value(tui, &text);
	screen_line(screen, 1, SCREEN_NORMAL, buf_cstr(&text));
	buf_reset(&text);
	add_view(tui, &text);
	screen_line(screen, 2, SCREEN_BOLD, buf_cstr(&text));
	screen_line(screen, 3, SCREEN_DIM | SCREEN_UNDERLINE, columns_of(tui));
}

static const char *hint_of(const struct tui *tui)
{
	switch (tui->view->kind) {
	case TUI_TOP:
		return "h help  q quit  Enter callers  e callees  a annotate  t tree  s sort  / "
		       "search";
	case TUI_TREE:
	case TUI_CALLERS:
		return "h help  q quit  Esc back  Enter unfold  E all  a annotate  t table  / "
		       "search";
	case TUI_ANNOTATE:
		return "h help  q quit  Esc back  s source/instructions  H hottest  / search";
	case TUI_HELP:
		break;
	}
	return "q quit  Esc back";
}

static void draw_foot(const struct tui *tui, struct screen *screen)
{
	int row = screen->rows - 1;

	if (tui->prompt.is_open)
		screen_show_prompt(screen, row, &tui->prompt);
	else if (tui->message.len)
		screen_line(screen, row, SCREEN_BOLD, buf_cstr(&tui->message));
	else if (tui->view->kind == TUI_ANNOTATE && *tui_code_why(&tui->view->code))
		screen_line(screen, row, SCREEN_BOLD, tui_code_why(&tui->view->code));
	else
		screen_line(screen, row, SCREEN_REVERSE, hint_of(tui));
}

void tui_draw(struct tui *tui, struct screen *screen)
{
	struct pen pen = {.tui = tui, .screen = screen};

	screen_begin(screen);
	tui_set_height(tui, screen->rows > ROWS_BESIDE ? (size_t)(screen->rows - ROWS_BESIDE) : 0);
	draw_head(tui, screen);
	draw_list(&pen);
	draw_foot(tui, screen);
	screen_end(screen);
}
