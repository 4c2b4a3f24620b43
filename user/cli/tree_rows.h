/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a call tree that are to be seen while some of its nodes are folded. */
#ifndef BPFPROF_CLI_TREE_ROWS_H
#define BPFPROF_CLI_TREE_ROWS_H

#include "cli/call_tree.h"

struct tree_rows {
	const struct call_tree *tree; /* borrowed */
	uint32_t *nodes; /* owned: those that are seen, in the order of printing */
	size_t cnt, cap;
	bool *is_open; /* owned: by node */
};

/* All folded but the top nodes' hottest beginnings: those that a single caller leads to. 0 or
 * -ENOMEM; tree_rows_deinit() in either case. */
int tree_rows_init(struct tree_rows *rows, const struct call_tree *tree);
void tree_rows_deinit(struct tree_rows *rows);

/* Has the node of @row children? */
bool tree_rows_has_children(const struct tree_rows *rows, size_t row);

/* Show the children of the node of @row, and while there is one only, its own. 0 or -ENOMEM. O(rows
 * that are seen). */
int tree_rows_open(struct tree_rows *rows, size_t row);

/* The same for all below @row. */
int tree_rows_open_all(struct tree_rows *rows, size_t row);

/* Hide what is below @row; what was open there will be again. */
void tree_rows_close(struct tree_rows *rows, size_t row);

/* Hide it, and forget what was open. */
void tree_rows_close_all(struct tree_rows *rows, size_t row);

/* The row of the node that called @row's; @row itself at the top. */
size_t tree_rows_parent(const struct tree_rows *rows, size_t row);

/* Open what hides @node; its row in *@row_out. 0 or -ENOMEM. */
int tree_rows_reveal(struct tree_rows *rows, uint32_t node, size_t *row_out);

#endif
