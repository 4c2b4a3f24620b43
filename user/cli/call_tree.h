/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of calls of a report: first the thread's name, where samples have one, as in a flame
 * graph, then its frames, and at the leaf the state of a thread that waited: "[blocked: futex]".
 * Or, of one row, what it calls (its subtree in all stacks together) or who calls it (upside down).
 *
 * A row is one of the func_table, or, from its row_cnt on, row_cnt + the string id of a thread's
 * name or a state.
 */
#ifndef BPFPROF_CLI_CALL_TREE_H
#define BPFPROF_CLI_CALL_TREE_H

#include "base/hmap.h"
#include "cli/report.h"

enum {
	NO_NODE = UINT32_MAX,
	NO_ROW = UINT32_MAX,
};

struct call_node {
	uint32_t row;
	uint32_t parent; /* NO_NODE: a top one */
	uint32_t depth;
	uint32_t first_child, next_sibling; /* heaviest first */
	int64_t self, total;
};

struct call_tree {
	struct call_node *nodes; /* owned; parents before their children */
	size_t node_cnt, node_cap;
	uint32_t top; /* the first of the top nodes */
	int64_t total; /* of all top nodes */
	struct hmap index; /* (parent, row) -> node */
};

enum call_tree_kind {
	CALL_TREE_DOWN, /* from the root, or from focus, to what is called */
	CALL_TREE_UP, /* from focus to its callers */
};

/*
 * The tree of @report's value; @focus: a row, NO_ROW only for the whole, downwards. A stack in
 * which the focus recurses counts once, from its outermost call. 0 or -ENOMEM; call_tree_deinit()
 * in either case. Time: frames of all samples, plus sorting. Stacks of files made by others may be
 * arbitrarily deep: nothing here recurses.
 */
int call_tree_init(struct call_tree *tree, const struct report *report, enum call_tree_kind kind,
		   uint32_t focus);
void call_tree_deinit(struct call_tree *tree);

/* The node after @node in the order of printing, its children left out when @skip; NO_NODE at the
 * end. */
uint32_t call_tree_next(const struct call_tree *tree, uint32_t node, bool skip);

/* The rows of @sample's stack, leaf first, with state and thread's name at its ends: as
 * func_table_stack(). */
int64_t report_stack(const struct report *report, uint32_t sample, uint32_t **out, size_t *cap);

/* The part of a stack of @cnt rows that is below @focus and its outermost call, which is its last:
 * how many; 0: the focus is not in it. NO_ROW: all. */
int64_t report_stack_from(const uint32_t *stack, int64_t cnt, uint32_t focus);

/* What stands for @row: the function and its module, or the text. Printable. */
void report_row_label(const struct report *report, uint32_t row, struct buf *out);

/* The value of @sample that @report is of. */
int64_t report_amount(const struct report *report, uint32_t sample);

#endif
