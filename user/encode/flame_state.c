/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of the flame tree: of time and of its states. They go down to the root; a state, also up to
 * all that stands on it. */
#include "encode/flame.h"

#include <stdbool.h>

static bool is_state(const struct flame_node *node)
{
	return node->kind == FLAME_BLOCKED || node->kind == FLAME_RUNNABLE;
}

/* All of @node's time is in the state that @kind is. */
static void set_state(struct flame_node *node, uint8_t kind)
{
	node->blocked = kind == FLAME_BLOCKED ? node->total : 0;
	node->runnable = kind == FLAME_RUNNABLE ? node->total : 0;
}

void flame_sum(struct flame_tree *tree)
{
	for (size_t i = tree->node_cnt; i-- > 0;) {
		struct flame_node *node = &tree->nodes[i], *parent;

		if (is_state(node))
			set_state(node, node->kind);
		if (node->parent == PROFILE_NONE)
			continue;
		parent = &tree->nodes[node->parent];
		parent->total += node->total;
		parent->blocked += node->blocked;
		parent->runnable += node->runnable;
	}
	for (uint32_t i = 0; i < tree->node_cnt; i++) {
		const struct flame_node *node = &tree->nodes[i];

		if (!is_state(node))
			continue;
		while (i + 1 < node->end)
			set_state(&tree->nodes[++i], node->kind);
	}
}

enum flame_kind flame_waits_for(const struct flame_tree *tree, const struct flame_node *node)
{
	const struct flame_node *root = &tree->nodes[0];
	bool is_code = node->kind >= FLAME_USER && node->kind <= FLAME_KERNEL;
	int64_t off_cpu = node->blocked + node->runnable;

	if (!is_code || off_cpu <= node->total - off_cpu ||
	    root->blocked + root->runnable == root->total)
		return FLAME_KIND_CNT;
	return node->blocked >= node->runnable ? FLAME_BLOCKED : FLAME_RUNNABLE;
}
