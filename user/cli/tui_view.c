/* SPDX-License-Identifier: Apache-2.0 */
/* Views: see tui.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tui.h"

/* --- One view --- */

static void view_clear(struct tui_view *view)
{
	top_rows_deinit(&view->top);
	tree_rows_deinit(&view->rows);
	call_tree_deinit(&view->tree);
	tui_code_deinit(&view->code);
	view->is_made = false;
}

static int make_tree(struct tui_view *view, const struct report *report)
{
	int err = call_tree_init(&view->tree, report,
				 view->kind == TUI_CALLERS ? CALL_TREE_UP : CALL_TREE_DOWN,
				 view->focus);

	return err ? err : tree_rows_init(&view->rows, &view->tree);
}

static int make(struct tui *tui, struct tui_view *view)
{
	int err = 0;

	if (view->is_made && view->value == tui->report.value)
		return 0;
	view_clear(view);
	view->value = tui->report.value;
	switch (view->kind) {
	case TUI_TOP:
		err = top_rows_init(&view->top, &tui->report, view->focus, view->sort);
		break;
	case TUI_TREE:
	case TUI_CALLERS:
		err = make_tree(view, &tui->report);
		break;
	case TUI_ANNOTATE:
		err = tui_code_init(&view->code, &tui->report, view->focus);
		break;
	case TUI_HELP:
		break;
	}
	view->is_made = true;
	return err;
}

static size_t row_cnt(const struct tui_view *view)
{
	switch (view->kind) {
	case TUI_TOP:
		return view->top.cnt;
	case TUI_TREE:
	case TUI_CALLERS:
		return view->rows.cnt;
	case TUI_ANNOTATE:
		return tui_code_cnt(&view->code);
	case TUI_HELP:
		break;
	}
	return tui_help_cnt;
}

void tui_fit_list(struct tui *tui)
{
	screen_list_resize(&tui->view->list, row_cnt(tui->view), tui->height);
}

int tui_refresh(struct tui *tui)
{
	int err = make(tui, tui->view);

	tui_fit_list(tui);
	return err;
}

/* --- All of them --- */

static void free_view(struct tui_view *view)
{
	view_clear(view);
	free(view);
}

int tui_push(struct tui *tui, enum tui_kind kind, uint32_t focus)
{
	struct tui_view *view = calloc(1, sizeof(*view));
	int err;

	if (!view)
		return -ENOMEM;
	view->kind = kind;
	view->focus = focus;
	view->sort = tui->sort;
	view->below = tui->view;
	err = make(tui, view);
	if (err) {
		free_view(view);
		return err;
	}
	tui->view = view;
	tui_fit_list(tui);
	if (kind == TUI_ANNOTATE)
		screen_list_center(&view->list, tui_code_hottest(&view->code));
	return 0;
}

void tui_pop(struct tui *tui)
{
	struct tui_view *view = tui->view;

	if (!view->below)
		return;
	tui->view = view->below;
	free_view(view);
}

int tui_replace(struct tui *tui, enum tui_kind kind)
{
	struct tui_view *old = tui->view;
	int err = tui_push(tui, kind, old->focus);

	if (err)
		return err;
	tui->view->below = old->below;
	free_view(old);
	return 0;
}

uint32_t tui_selected(const struct tui *tui)
{
	const struct tui_view *view = tui->view;
	size_t at = view->list.current;

	if (view->kind == TUI_ANNOTATE)
		return view->focus;
	if (view->kind == TUI_TOP && at < view->top.cnt)
		return view->top.order[at];
	if ((view->kind == TUI_TREE || view->kind == TUI_CALLERS) && at < view->rows.cnt)
		return view->tree.nodes[view->rows.nodes[at]].row;
	return NO_ROW;
}

void tui_set_height(struct tui *tui, size_t height)
{
	tui->height = height;
	tui_fit_list(tui);
}

int tui_set_value(struct tui *tui, uint32_t value)
{
	struct func_table table;
	int err = func_table_init(&table, tui->report.prof, value);

	if (err) {
		func_table_deinit(&table);
		return err;
	}
	/* Rows are numbered as before: they follow from the frames alone. */
	func_table_deinit(&tui->table);
	tui->table = table;
	tui->report.value = value;
	tui->report.unit = profile_str(tui->report.prof, tui->report.prof->value_types[value].unit);
	return 0;
}

/* Which functions are never called by themselves: all of their frames are inlined into others. */
static int find_inlined(struct tui *tui)
{
	const struct func_table *table = &tui->table;

	tui->is_inlined = calloc(table->row_cnt + 1, sizeof(*tui->is_inlined));
	if (!tui->is_inlined)
		return -ENOMEM;
	memset(tui->is_inlined, true, table->row_cnt);
	for (size_t i = 0; i < tui->report.prof->location_cnt; i++)
		if (table->frame_first[i] < table->frame_first[i + 1])
			tui->is_inlined[table->frames[table->frame_first[i + 1] - 1]] = false;
	return 0;
}

int tui_init(struct tui *tui, const struct profile *prof, const struct tui_opts *opts)
{
	int err;

	*tui = (struct tui){.files = opts->files, .sort = opts->sort};
	tui->report = (struct report){.prof = prof, .table = &tui->table};
	buf_init(&tui->message, BUF_NO_MAX);
	err = tui_set_value(tui, opts->value);
	if (!err)
		err = find_inlined(tui);
	return err ? err : tui_push(tui, TUI_TOP, NO_ROW);
}

void tui_deinit(struct tui *tui)
{
	while (tui->view) {
		struct tui_view *view = tui->view;

		tui->view = view->below;
		free_view(view);
	}
	row_search_deinit(&tui->search);
	func_table_deinit(&tui->table);
	free(tui->is_inlined);
	buf_deinit(&tui->message);
	*tui = (struct tui){0};
}
