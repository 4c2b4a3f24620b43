/* SPDX-License-Identifier: Apache-2.0 */
/* Finding rows: see tui.h. */
#include <errno.h>

#include "base/cleanup.h"
#include "cli/tui.h"

/* The number of the next row that is found among @cnt, from behind @from on and around; SIZE_MAX:
 * none. */
typedef bool is_found_fn(struct tui *tui, size_t row);

static size_t find_row(struct tui *tui, size_t cnt, size_t from, int step, is_found_fn *is_found)
{
	size_t row = from;

	for (size_t i = 0; i < cnt; i++) {
		row = step > 0 ? (row + 1) % cnt : (row + cnt - 1) % cnt;
		if (is_found(tui, row))
			return row;
	}
	return SIZE_MAX;
}

static bool is_function_found(struct tui *tui, size_t row)
{
	return row_search_has(&tui->search, tui->view->top.order[row]);
}

static bool is_code_found(struct tui *tui, size_t index)
{
	struct tui_code_row row;
	bool is_found;

	buf_init(&row.text, BUF_NO_MAX);
	tui_code_get(&tui->view->code, index, &row);
	is_found = row_search_has_text(&tui->search, buf_cstr(&row.text));
	buf_deinit(&row.text);
	return is_found;
}

/* In a tree all nodes count, folded or not: the next after the current one in the order of
 * printing; the last before it. */
static uint32_t find_node(struct tui *tui, uint32_t current, int step)
{
	const struct call_tree *tree = &tui->view->tree;
	uint32_t before = NO_NODE, after = NO_NODE, first = NO_NODE, last = NO_NODE;
	bool is_behind = false;

	for (uint32_t node = tree->top; node != NO_NODE; node = call_tree_next(tree, node, false)) {
		if (row_search_has(&tui->search, tree->nodes[node].row)) {
			if (first == NO_NODE)
				first = node;
			if (!is_behind && node != current)
				before = node;
			if (is_behind && after == NO_NODE)
				after = node;
			last = node;
		}
		is_behind |= node == current;
	}
	if (step > 0)
		return after != NO_NODE ? after : first;
	return before != NO_NODE ? before : last;
}

static int find_in_tree(struct tui *tui, int step, size_t *row_out)
{
	struct tui_view *view = tui->view;
	uint32_t node;

	if (!view->rows.cnt)
		return 0;
	node = find_node(tui, view->rows.nodes[view->list.current], step);
	return node == NO_NODE ? 0 : tree_rows_reveal(&view->rows, node, row_out);
}

int tui_find(struct tui *tui, int step)
{
	struct tui_view *view = tui->view;
	size_t row = SIZE_MAX;
	int err = 0;

	if (!tui->search.found) {
		buf_add_str(&tui->message, "no search yet: / asks for one");
		return 0;
	}
	if (view->kind == TUI_TOP)
		row = find_row(tui, view->top.cnt, view->list.current, step, is_function_found);
	else if (view->kind == TUI_ANNOTATE)
		row = find_row(tui, view->list.cnt, view->list.current, step, is_code_found);
	else if (view->kind != TUI_HELP)
		err = find_in_tree(tui, step, &row);
	tui_fit_list(tui);
	if (row == SIZE_MAX)
		buf_add_str(&tui->message, "nothing found");
	else
		screen_list_go(&view->list, row);
	return err;
}

int tui_search_text(struct tui *tui, const char *text)
{
	_cleanup_(buf_deinit) struct buf why;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = row_search_set(&tui->search, &tui->report, text, &why);
	if (err == -EINVAL) {
		buf_printf(&tui->message, "not a regular expression: %s", buf_cstr(&why));
		return 0;
	}
	return err ? err : tui_find(tui, 1);
}

int tui_search_same(struct tui *tui)
{
	uint32_t row = tui_selected(tui);
	int err = row == NO_ROW ? 0 : row_search_same(&tui->search, &tui->report, row);

	return err || row == NO_ROW ? err : tui_find(tui, 1);
}
