/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of a profile as they lie merged in a store: what a flame graph is drawn from where
 * nobody asks for a single stack. Below each label set are the calls that its samples have, each
 * with what ended in it; one call may be several nodes, of which the sum counts.
 */
#ifndef BPFPROF_PROFILE_PROFILE_CALLS_H
#define BPFPROF_PROFILE_PROFILE_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct profile_call {
	uint32_t parent; /* index, of a node before it; PROFILE_NONE: the root of a label set */
	uint32_t ref; /* location of `places`; of a root: label set of `head` */
	int64_t self; /* >= 0; of the head's value `value` */
};

struct profile_calls {
	struct profile head; /* owned: all of a profile but its samples and locations */
	const struct profile *places; /* borrowed: its locations */
	struct profile_call *nodes; /* owned */
	size_t node_cnt, node_cap;
	uint32_t value; /* index of a value type of the head */
};

int profile_calls_init(struct profile_calls *tree); /* 0 or -ENOMEM */
void profile_calls_deinit(struct profile_calls *tree);

/* Make room for @cnt more nodes at once. 0 or -ENOMEM. */
int profile_calls_reserve(struct profile_calls *tree, size_t cnt);

/* Append a node: its index, or PROFILE_NONE: no memory. */
uint32_t profile_calls_add(struct profile_calls *tree, uint32_t parent, uint32_t ref);

#endif
