/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/profile_calls.h"

#include <stdlib.h>

#include "base/array.h"

int profile_calls_init(struct profile_calls *tree)
{
	*tree = (struct profile_calls){.node_cnt = 0};
	return profile_init(&tree->head);
}

void profile_calls_deinit(struct profile_calls *tree)
{
	profile_deinit(&tree->head);
	free(tree->nodes);
	*tree = (struct profile_calls){.node_cnt = 0};
}

int profile_calls_reserve(struct profile_calls *tree, size_t cnt)
{
	return array_reserve(&tree->nodes, &tree->node_cap, tree->node_cnt + cnt,
			     sizeof(*tree->nodes));
}

uint32_t profile_calls_add(struct profile_calls *tree, uint32_t parent, uint32_t ref)
{
	if (tree->node_cnt >= PROFILE_NONE ||
	    array_reserve(&tree->nodes, &tree->node_cap, tree->node_cnt + 1, sizeof(*tree->nodes)))
		return PROFILE_NONE;
	tree->nodes[tree->node_cnt] = (struct profile_call){.parent = parent, .ref = ref};
	return (uint32_t)tree->node_cnt++;
}
