/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of calls as text. */
#include "base/cleanup.h"
#include "cli/call_tree.h"

enum {
	INDENT_DEPTH_MAX = 60 /* beyond it the depth is written as a number */
};

static void print_node(const struct report *report, const struct call_node *node, struct buf *out)
{
	uint32_t depth = node->depth;

	buf_printf(out, "%6.2f%%  ", percent_of(node->total, report->table->total));
	if (depth > INDENT_DEPTH_MAX)
		buf_printf(out, "%*s(%u) ", 2 * INDENT_DEPTH_MAX, "", depth);
	else
		buf_printf(out, "%*s", (int)(2 * depth), "");
	report_row_label(report, node->row, out);
	buf_add_char(out, '\n');
}

int report_tree(const struct report *report, double percent_limit, struct buf *out)
{
	_cleanup_(call_tree_deinit) struct call_tree tree;
	int err = call_tree_init(&tree, report, CALL_TREE_DOWN, NO_ROW);
	uint32_t node = tree.top;

	if (err)
		return err;
	while (node != NO_NODE) {
		double share = percent_of(tree.nodes[node].total, report->table->total);
		bool skip = share < percent_limit;

		if (!skip)
			print_node(report, &tree.nodes[node], out);
		node = call_tree_next(&tree, node, skip);
	}
	return out->err;
}
