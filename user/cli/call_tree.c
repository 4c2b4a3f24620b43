/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of calls: see call_tree.h. */
#include "cli/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "profile/synthetic.h"

void call_tree_deinit(struct call_tree *tree)
{
	free(tree->nodes);
	hmap_deinit(&tree->index);
	*tree = (struct call_tree){0};
}

static bool node_is(const void *owner, uint32_t index, const void *key)
{
	const struct call_tree *tree = owner;
	const struct call_node *wanted = key;

	return tree->nodes[index].parent == wanted->parent && tree->nodes[index].row == wanted->row;
}

/* The node of @row under @parent, made when it is new; NO_NODE on -ENOMEM. */
static uint32_t child_of(struct call_tree *tree, uint32_t parent, uint32_t row)
{
	struct call_node key = {.row = row, .parent = parent, .next_sibling = NO_NODE};
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

/* --- Stacks --- */

/* What stands for the comm of @sample in the place of a row; NO_ROW: it has none. */
static uint32_t comm_row(const struct report *report, uint32_t sample)
{
	const struct profile *prof = report->prof;
	const struct profile_label_set *set = &prof->label_sets[prof->samples[sample].label_set];
	uint32_t comm_key = set->cnt ? strtab_find(&prof->strings, "comm", strlen("comm")) : 0;

	for (uint32_t i = set->first; i < set->first + set->cnt; i++)
		if (prof->labels[i].key == comm_key && prof->labels[i].str != PROFILE_NONE)
			return (uint32_t)report->table->row_cnt + prof->labels[i].str;
	return NO_ROW;
}

/* What stands for the state of @sample's stack in the place of a row; NO_ROW: it has none. */
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
	return NO_ROW;
}

int64_t report_stack(const struct report *report, uint32_t sample, uint32_t **out, size_t *cap)
{
	int64_t cnt = func_table_stack(report->table, sample, out, cap);
	uint32_t comm = comm_row(report, sample), state = state_row(report, sample);

	if (cnt < 0)
		return cnt;
	if (array_reserve(out, cap, (size_t)cnt + 2, sizeof(**out)))
		return -ENOMEM;
	if (comm != NO_ROW)
		(*out)[cnt++] = comm;
	if (state != NO_ROW) {
		memmove(*out + 1, *out, (size_t)cnt++ * sizeof(**out));
		(*out)[0] = state;
	}
	return cnt;
}

int64_t report_stack_from(const uint32_t *stack, int64_t cnt, uint32_t focus)
{
	while (focus != NO_ROW && cnt && stack[cnt - 1] != focus)
		cnt--;
	return cnt;
}

int64_t report_amount(const struct report *report, uint32_t sample)
{
	const struct profile *prof = report->prof;

	return prof->values[(size_t)sample * prof->value_type_cnt + report->value];
}

void report_row_label(const struct report *report, uint32_t row, struct buf *out)
{
	uint32_t row_cnt = (uint32_t)report->table->row_cnt;

	if (row < row_cnt)
		func_table_label(report->table, row, out);
	else
		func_table_printable(profile_str(report->prof, row - row_cnt), out);
}

/* --- Trees --- */

/* Add @cnt rows of @stack, the last of which comes first, or the first where @step is 1. */
static int add_stack(struct call_tree *tree, const uint32_t *stack, int64_t cnt, int step,
		     int64_t amount)
{
	uint32_t node = NO_NODE;

	for (int64_t i = 0; i < cnt; i++) {
		node = child_of(tree, node, stack[step > 0 ? i : cnt - 1 - i]);
		if (node == NO_NODE)
			return -ENOMEM;
		tree->nodes[node].total += amount;
	}
	if (node != NO_NODE) {
		tree->nodes[node].self += amount;
		tree->total += amount;
	}
	return 0;
}

static int grow(const struct report *report, struct call_tree *tree, enum call_tree_kind kind,
		uint32_t focus)
{
	_cleanup_free_ uint32_t *stack = NULL;
	size_t cap = 0;
	int err = 0;

	for (uint32_t i = 0; i < report->prof->sample_cnt && !err; i++) {
		int64_t cnt = report_stack(report, i, &stack, &cap), kept;

		if (cnt < 0)
			return (int)cnt;
		kept = report_stack_from(stack, cnt, focus);
		if (!kept)
			continue;
		err = kind == CALL_TREE_DOWN
			      ? add_stack(tree, stack, kept, -1, report_amount(report, i))
			      : add_stack(tree, stack + kept - 1, cnt - kept + 1, 1,
					  report_amount(report, i));
	}
	return err;
}

static int compare_nodes(const void *left, const void *right, void *arg)
{
	const struct call_tree *tree = arg;
	uint32_t one = *(const uint32_t *)left, two = *(const uint32_t *)right;
	int64_t one_total = tree->nodes[one].total, two_total = tree->nodes[two].total;

	if (one_total != two_total)
		return one_total < two_total ? -1 : 1;
	return (one < two) - (one > two);
}

/* Chain siblings, heaviest first: nodes are put in front of their chain from the lightest on.
 * 0 or -ENOMEM. */
static int link_siblings(struct call_tree *tree)
{
	_cleanup_free_ uint32_t *order = calloc(tree->node_cnt + 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->node_cnt; i++)
		order[i] = i;
	qsort_r(order, tree->node_cnt, sizeof(*order), compare_nodes, tree);
	for (size_t i = 0; i < tree->node_cnt; i++) {
		struct call_node *node = &tree->nodes[order[i]];
		uint32_t *head = node->parent == NO_NODE ? &tree->top
							 : &tree->nodes[node->parent].first_child;

		node->next_sibling = *head;
		*head = order[i];
	}
	return 0;
}

int call_tree_init(struct call_tree *tree, const struct report *report, enum call_tree_kind kind,
		   uint32_t focus)
{
	int err;

	*tree = (struct call_tree){.top = NO_NODE};
	hmap_init(&tree->index);
	err = grow(report, tree, kind, focus);
	return err ? err : link_siblings(tree);
}

uint32_t call_tree_next(const struct call_tree *tree, uint32_t node, bool skip)
{
	if (!skip && tree->nodes[node].first_child != NO_NODE)
		return tree->nodes[node].first_child;
	while (node != NO_NODE && tree->nodes[node].next_sibling == NO_NODE)
		node = tree->nodes[node].parent;
	return node == NO_NODE ? NO_NODE : tree->nodes[node].next_sibling;
}
