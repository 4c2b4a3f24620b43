/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of calls: first the thread's name, where samples have one, as in a flame graph, then its
 * frames, and at the leaf the state of a thread that waited: "[blocked: futex]". Stacks of files
 * made by others may be arbitrarily deep: nothing here recurses.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "cli/report.h"
#include "profile/synthetic.h"

enum {
	NO_NODE = UINT32_MAX,
	INDENT_DEPTH_MAX = 60 /* beyond it the depth is written as a number */
};

struct node {
	uint32_t row; /* of the func_table; from its row_cnt on: row_cnt + the string id of a comm
			 or a state */
	uint32_t parent; /* NO_NODE: called by the root */
	uint32_t depth;
	uint32_t first_child, next_sibling;
	int64_t total;
};

struct tree {
	struct node *nodes; /* owned */
	size_t node_cnt, node_cap;
	struct hmap index; /* (parent, row) -> node */
};

static void tree_deinit(struct tree *tree)
{
	free(tree->nodes);
	hmap_deinit(&tree->index);
}

static bool node_is(const void *owner, uint32_t index, const void *key)
{
	const struct tree *tree = owner;
	const struct node *wanted = key;

	return tree->nodes[index].parent == wanted->parent && tree->nodes[index].row == wanted->row;
}

/* The node of @row under @parent, made when it is new; NO_NODE on -ENOMEM. */
static uint32_t child_of(struct tree *tree, uint32_t parent, uint32_t row)
{
	struct node key = {.row = row, .parent = parent, .next_sibling = NO_NODE};
	uint64_t hash = hash_mix(hash_mix(0, parent), row);
	uint32_t node = hmap_find(&tree->index, hash, node_is, tree, &key);

	if (node != HMAP_NONE)
		return node;
	node = (uint32_t)tree->node_cnt;
	if (array_reserve(&tree->nodes, &tree->node_cap, tree->node_cnt + 1,
			  sizeof(*tree->nodes)) ||
	    hmap_insert(&tree->index, hash, node))
		return NO_NODE;
	key.first_child = NO_NODE;
	key.depth = parent == NO_NODE ? 0 : tree->nodes[parent].depth + 1;
	tree->nodes[tree->node_cnt++] = key;
	return node;
}

/* What stands for the comm of @sample in the place of a row; NO_NODE: it has none. */
static uint32_t comm_row(const struct report *report, uint32_t sample, uint32_t comm_key)
{
	const struct profile *prof = report->prof;
	const struct profile_label_set *set = &prof->label_sets[prof->samples[sample].label_set];

	for (uint32_t i = set->first; i < set->first + set->cnt; i++)
		if (prof->labels[i].key == comm_key && prof->labels[i].str != PROFILE_NONE)
			return (uint32_t)report->table->row_cnt + prof->labels[i].str;
	return NO_NODE;
}

/* What stands for the state of @sample's stack in the place of a row; NO_NODE: it has none. */
static uint32_t state_row(const struct report *report, uint32_t sample)
{
	const struct profile *prof = report->prof;
	const struct profile_stack *stack = &prof->stacks[prof->samples[sample].stack];

	for (uint32_t i = 0; i < stack->cnt; i++) {
		const struct profile_location *loc =
			&prof->locations[prof->stack_locations[stack->first + i]];
		uint32_t name;

		if (!(loc->flags & LOCATION_SYNTHETIC) || loc->line_cnt != 1)
			continue;
		name = prof->functions[prof->lines[loc->first_line].function].name;
		if (synthetic_is_state(profile_str(prof, name)))
			return (uint32_t)report->table->row_cnt + name;
	}
	return NO_NODE;
}

static int grow(const struct report *report, struct tree *tree)
{
	const struct profile *prof = report->prof;
	uint32_t comm_key = strtab_find(&prof->strings, "comm", strlen("comm"));
	_cleanup_free_ uint32_t *stack = NULL;
	size_t cap = 0;

	for (uint32_t i = 0; i < prof->sample_cnt; i++) {
		int64_t amount = prof->values[(size_t)i * prof->value_type_cnt + report->value];
		int64_t left = func_table_stack(report->table, i, &stack, &cap);
		uint32_t comm = comm_row(report, i, comm_key), state = state_row(report, i);
		uint32_t node = NO_NODE;

		if (left < 0)
			return (int)left;
		if (array_reserve(&stack, &cap, (size_t)left + 2, sizeof(*stack)))
			return -ENOMEM;
		if (comm != NO_NODE)
			stack[left++] = comm;
		if (state != NO_NODE) {
			memmove(stack + 1, stack, (size_t)left++ * sizeof(*stack));
			stack[0] = state;
		}
		while (left--) {
			node = child_of(tree, node, stack[left]);
			if (node == NO_NODE)
				return -ENOMEM;
			tree->nodes[node].total += amount;
		}
	}
	return 0;
}

static int compare_nodes(const void *left, const void *right, void *arg)
{
	const struct tree *tree = arg;
	uint32_t one = *(const uint32_t *)left, two = *(const uint32_t *)right;
	int64_t one_total = tree->nodes[one].total, two_total = tree->nodes[two].total;

	if (one_total != two_total)
		return one_total < two_total ? -1 : 1;
	return (one < two) - (one > two);
}

/* Chain siblings, heaviest first: nodes are put in front of their chain from the lightest on.
 * *@top_out is the first without a parent. 0 or -ENOMEM. */
static int link_siblings(struct tree *tree, uint32_t *top_out)
{
	_cleanup_free_ uint32_t *order = calloc(tree->node_cnt + 1, sizeof(*order));
	uint32_t top = NO_NODE;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->node_cnt; i++)
		order[i] = i;
	qsort_r(order, tree->node_cnt, sizeof(*order), compare_nodes, tree);
	for (size_t i = 0; i < tree->node_cnt; i++) {
		struct node *node = &tree->nodes[order[i]];
		uint32_t *head =
			node->parent == NO_NODE ? &top : &tree->nodes[node->parent].first_child;

		node->next_sibling = *head;
		*head = order[i];
	}
	*top_out = top;
	return 0;
}

static void print_node(const struct report *report, const struct node *node, struct buf *out)
{
	uint32_t depth = node->depth;

	buf_printf(out, "%6.2f%%  ", percent_of(node->total, report->table->total));
	if (depth > INDENT_DEPTH_MAX)
		buf_printf(out, "%*s(%u) ", 2 * INDENT_DEPTH_MAX, "", depth);
	else
		buf_printf(out, "%*s", (int)(2 * depth), "");
	if (node->row < report->table->row_cnt)
		func_table_label(report->table, node->row, out);
	else
		func_table_printable(profile_str(report->prof,
						 node->row - (uint32_t)report->table->row_cnt),
				     out);
	buf_add_char(out, '\n');
}

/* The node after @node in the order of printing, its children left out when @skip. */
static uint32_t next_node(const struct tree *tree, uint32_t node, bool skip)
{
	if (!skip && tree->nodes[node].first_child != NO_NODE)
		return tree->nodes[node].first_child;
	while (node != NO_NODE && tree->nodes[node].next_sibling == NO_NODE)
		node = tree->nodes[node].parent;
	return node == NO_NODE ? NO_NODE : tree->nodes[node].next_sibling;
}

int report_tree(const struct report *report, double percent_limit, struct buf *out)
{
	_cleanup_(tree_deinit) struct tree tree = {0};
	uint32_t node;
	int err;

	hmap_init(&tree.index);
	err = grow(report, &tree);
	if (!err)
		err = link_siblings(&tree, &node);
	if (err)
		return err;
	while (node != NO_NODE) {
		double share = percent_of(tree.nodes[node].total, report->table->total);
		bool skip = share < percent_limit;

		if (!skip)
			print_node(report, &tree.nodes[node], out);
		node = next_node(&tree, node, skip);
	}
	return out->err;
}
