/* SPDX-License-Identifier: Apache-2.0 */
/* Folding: see tree_rows.h. */
#include "cli/tree_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static const struct call_node *node_at(const struct tree_rows *rows, uint32_t node)
{
	return &rows->tree->nodes[node];
}

/* Open @node, and what follows it without a branch. */
static void open_chain(struct tree_rows *rows, uint32_t node)
{
	while (node != NO_NODE && node_at(rows, node)->first_child != NO_NODE) {
		rows->is_open[node] = true;
		node = node_at(rows, node)->first_child;
		if (node_at(rows, node)->next_sibling != NO_NODE)
			break;
	}
}

/* How many rows from @row on belong to it and what is below it. */
static size_t span(const struct tree_rows *rows, size_t row)
{
	uint32_t depth = node_at(rows, rows->nodes[row])->depth;
	size_t end = row + 1;

	while (end < rows->cnt && node_at(rows, rows->nodes[end])->depth > depth)
		end++;
	return end - row;
}

/* The node behind all that is below @node. */
static uint32_t behind(const struct tree_rows *rows, uint32_t node)
{
	return call_tree_next(rows->tree, node, true);
}

/* Put the nodes from @from to before @end that are seen into the place of @old_cnt rows at @row. */
static int splice(struct tree_rows *rows, size_t row, size_t old_cnt, uint32_t from, uint32_t end)
{
	size_t new_cnt = 0, tail = rows->cnt - row - old_cnt;

	for (uint32_t node = from; node != end;
	     node = call_tree_next(rows->tree, node, !rows->is_open[node]))
		new_cnt++;
	if (array_reserve(&rows->nodes, &rows->cap, row + new_cnt + tail + 1, sizeof(*rows->nodes)))
		return -ENOMEM;
	memmove(rows->nodes + row + new_cnt, rows->nodes + row + old_cnt,
		tail * sizeof(*rows->nodes));
	rows->cnt = row + new_cnt + tail;
	for (uint32_t node = from; node != end;
	     node = call_tree_next(rows->tree, node, !rows->is_open[node]))
		rows->nodes[row++] = node;
	return 0;
}

static int redo(struct tree_rows *rows, size_t row)
{
	uint32_t node = rows->nodes[row];

	return splice(rows, row, span(rows, row), node, behind(rows, node));
}

int tree_rows_init(struct tree_rows *rows, const struct call_tree *tree)
{
	*rows = (struct tree_rows){.tree = tree};
	rows->is_open = calloc(tree->node_cnt + 1, sizeof(*rows->is_open));
	if (!rows->is_open)
		return -ENOMEM;
	if (tree->top != NO_NODE && node_at(rows, tree->top)->next_sibling == NO_NODE)
		open_chain(rows, tree->top);
	return splice(rows, 0, 0, tree->top, NO_NODE);
}

void tree_rows_deinit(struct tree_rows *rows)
{
	free(rows->nodes);
	free(rows->is_open);
	*rows = (struct tree_rows){0};
}

bool tree_rows_has_children(const struct tree_rows *rows, size_t row)
{
	return node_at(rows, rows->nodes[row])->first_child != NO_NODE;
}

int tree_rows_open(struct tree_rows *rows, size_t row)
{
	open_chain(rows, rows->nodes[row]);
	return redo(rows, row);
}

/* Open or close @row's node and all below it. */
static void set_all(struct tree_rows *rows, size_t row, bool is_open)
{
	uint32_t node = rows->nodes[row], end = behind(rows, node);

	for (; node != end; node = call_tree_next(rows->tree, node, false))
		rows->is_open[node] = is_open && node_at(rows, node)->first_child != NO_NODE;
}

int tree_rows_open_all(struct tree_rows *rows, size_t row)
{
	set_all(rows, row, true);
	return redo(rows, row);
}

/* Only rows go away: nothing is allocated. */
static void hide(struct tree_rows *rows, size_t row)
{
	size_t below = span(rows, row) - 1;

	rows->is_open[rows->nodes[row]] = false;
	memmove(rows->nodes + row + 1, rows->nodes + row + 1 + below,
		(rows->cnt - row - 1 - below) * sizeof(*rows->nodes));
	rows->cnt -= below;
}

void tree_rows_close(struct tree_rows *rows, size_t row)
{
	hide(rows, row);
}

void tree_rows_close_all(struct tree_rows *rows, size_t row)
{
	set_all(rows, row, false);
	hide(rows, row);
}

size_t tree_rows_parent(const struct tree_rows *rows, size_t row)
{
	uint32_t depth = node_at(rows, rows->nodes[row])->depth;
	size_t at = row;

	while (at && node_at(rows, rows->nodes[at])->depth >= depth)
		at--;
	return node_at(rows, rows->nodes[at])->depth < depth ? at : row;
}

int tree_rows_reveal(struct tree_rows *rows, uint32_t node, size_t *row_out)
{
	size_t row = 0;
	int err;

	for (uint32_t up = node_at(rows, node)->parent; up != NO_NODE;
	     up = node_at(rows, up)->parent)
		rows->is_open[up] = true;
	err = splice(rows, 0, rows->cnt, rows->tree->top, NO_NODE);
	if (err)
		return err;
	while (rows->nodes[row] != node)
		row++;
	*row_out = row;
	return 0;
}
