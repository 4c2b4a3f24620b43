/* SPDX-License-Identifier: Apache-2.0 */
/* What keys do: see tui.h, and tui_help.c for people. */
#include <errno.h>
#include <string.h>

#include "cli/tui.h"

static bool is_tree(const struct tui *tui)
{
	return tui->view->kind == TUI_TREE || tui->view->kind == TUI_CALLERS;
}

/* --- Folding --- */

static bool is_open(const struct tui_view *view)
{
	return view->rows.is_open[view->rows.nodes[view->list.current]];
}

/* Fold; where nothing is open, go to the caller; at the top, back. */
static void go_left(struct tui *tui)
{
	struct tui_view *view = tui->view;
	size_t at = view->list.current, parent;

	if (is_open(view)) {
		tree_rows_close(&view->rows, at);
		return;
	}
	parent = tree_rows_parent(&view->rows, at);
	if (parent == at)
		tui_pop(tui);
	else
		screen_list_go(&view->list, parent);
}

static int toggle(struct tui_view *view)
{
	if (!is_open(view))
		return tree_rows_open(&view->rows, view->list.current);
	tree_rows_close(&view->rows, view->list.current);
	return 0;
}

/* Keys of trees. False: @key is none of them. */
static bool fold_key(struct tui *tui, uint32_t key, int *err)
{
	struct tui_view *view = tui->view;
	size_t at = view->list.current;

	if (!is_tree(tui) || at >= view->rows.cnt)
		return false;
	switch (key) {
	case SCREEN_KEY_RIGHT:
	case '+':
		*err = tree_rows_open(&view->rows, at);
		break;
	case SCREEN_KEY_ENTER:
		*err = toggle(view);
		break;
	case '-':
		tree_rows_close(&view->rows, at);
		break;
	case SCREEN_KEY_LEFT:
		go_left(tui);
		break;
	case 'E':
		*err = tree_rows_open_all(&view->rows, at);
		break;
	case 'C':
		tree_rows_close_all(&view->rows, at);
		break;
	default:
		return false;
	}
	tui_fit_list(tui);
	return true;
}

/* --- Views --- */

/* Show @kind of the selected function. */
static int show_selected(struct tui *tui, enum tui_kind kind)
{
	uint32_t row = tui_selected(tui);

	if (row == NO_ROW)
		return 0;
	if (kind == TUI_ANNOTATE && row >= tui->table.row_cnt) {
		buf_add_str(&tui->message, "a thread's name or state has no code to annotate");
		return 0;
	}
	return tui_push(tui, kind, row);
}

/* The selected function as the root of what is shown, tree or table. */
static int zoom(struct tui *tui)
{
	return show_selected(tui, tui->view->kind == TUI_TOP ? TUI_TOP : TUI_TREE);
}

/* Between the table and the tree. */
static int switch_view(struct tui *tui)
{
	if (tui->view->kind == TUI_TOP)
		return tui_replace(tui, TUI_TREE);
	if (tui->view->kind == TUI_TREE)
		return tui_replace(tui, TUI_TOP);
	return tui_push(tui, TUI_TOP, NO_ROW);
}

static int next_order(struct tui *tui)
{
	struct tui_view *view = tui->view;

	if (view->kind != TUI_TOP)
		return 0;
	view->sort = view->sort == FUNC_BY_SELF	   ? FUNC_BY_TOTAL
		     : view->sort == FUNC_BY_TOTAL ? FUNC_BY_NAME
						   : FUNC_BY_SELF;
	tui->sort = view->sort;
	screen_list_go(&view->list, 0);
	return top_rows_sort(&view->top, view->sort);
}

static int next_value(struct tui *tui)
{
	uint32_t cnt = tui->report.prof->value_type_cnt;

	if (cnt == 1) {
		buf_add_str(&tui->message, "the profile has one value only");
		return 0;
	}
	return tui_set_value(tui, (tui->report.value + 1) % cnt);
}

/* Keys that open views or change them. False: @key is none of them. */
static bool view_key(struct tui *tui, uint32_t key, int *err)
{
	switch (key) {
	case SCREEN_KEY_ENTER:
	case SCREEN_KEY_RIGHT:
		*err = tui->view->kind == TUI_TOP ? show_selected(tui, TUI_CALLERS) : 0;
		return true;
	case 'r':
		*err = show_selected(tui, TUI_CALLERS);
		return true;
	case 'e':
		*err = show_selected(tui, TUI_TREE);
		return true;
	case 'z':
		*err = zoom(tui);
		return true;
	case 'a':
		*err = tui->view->kind == TUI_ANNOTATE ? 0 : show_selected(tui, TUI_ANNOTATE);
		return true;
	case 't':
		*err = switch_view(tui);
		return true;
	case 's':
		*err = next_order(tui);
		return true;
	case 'v':
		*err = next_value(tui);
		return true;
	default:
		return false;
	}
}

/* Keys of the annotated function. */
static bool code_key(struct tui *tui, uint32_t key)
{
	struct tui_view *view = tui->view;

	if (view->kind != TUI_ANNOTATE)
		return false;
	if (key == 's' || key == SCREEN_KEY_TAB) {
		view->code.by_insn = !view->code.by_insn;
		tui_fit_list(tui);
	} else if (key != 'H') {
		return false;
	}
	screen_list_center(&view->list, tui_code_hottest(&view->code));
	return true;
}

/* --- All keys --- */

static int prompt_key(struct tui *tui, uint32_t key)
{
	if (screen_prompt_key(&tui->prompt, key) != SCREEN_PROMPT_DONE || !tui->prompt.len)
		return 0;
	return tui_search_text(tui, tui->prompt.text);
}

static int common_key(struct tui *tui, uint32_t key)
{
	switch (key) {
	case 'q':
	case SCREEN_KEY_STOP:
		tui->is_done = true;
		return 0;
	case 'h':
	case '?':
		return tui->view->kind == TUI_HELP ? 0 : tui_push(tui, TUI_HELP, NO_ROW);
	case SCREEN_KEY_ESCAPE:
	case SCREEN_KEY_BACKSPACE:
	case SCREEN_KEY_LEFT:
	case 'u':
		tui_pop(tui);
		return 0;
	case '/':
		screen_prompt_open(&tui->prompt, "/", NULL);
		return 0;
	case 'n':
		return tui_find(tui, 1);
	case 'N':
		return tui_find(tui, -1);
	case '#':
		return tui_search_same(tui);
	default:
		return 0;
	}
}

int tui_key(struct tui *tui, uint32_t key)
{
	int err = 0;

	buf_reset(&tui->message);
	if (tui->prompt.is_open && key != SCREEN_KEY_STOP)
		err = prompt_key(tui, key);
	else if (!screen_list_key(&tui->view->list, key) && !fold_key(tui, key, &err) &&
		 !code_key(tui, key) && !view_key(tui, key, &err))
		err = common_key(tui, key);
	return err ? err : tui_refresh(tui);
}
