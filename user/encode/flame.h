/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flame tree: every stack of a profile merged from the root, for one value. What the flame
 * graph, the terminal's tree and any other view by call path draw.
 *
 * Two samples, `web` calling main > read > [k] vfs_read (3) and main > work (4), become
 *
 *	index  name       depth  parent  end  self  total
 *	    0  all            0       -    6     0      7
 *	    1  web            1       0    6     0      7
 *	    2  main           2       1    6     0      7
 *	    3  read           3       2    5     0      3
 *	    4  vfs_read       4       3    5     3      3
 *	    5  work           3       2    6     4      4
 *
 * Nodes are in pre-order, the children of a node by name, so that walking the array from 0 is
 * walking the tree: the first child of i is i + 1 (when its parent is i), the next sibling is
 * nodes[i].end, and a subtree is the range [i, nodes[i].end). No walk needs a stack, and a hostile
 * depth costs nobody recursion.
 *
 * A frame is its name and its kind: a function that is called `read` in libc and in the kernel is
 * two nodes. Inlined and not inlined is one node, marked as inlined only if it always was.
 *
 * A stack of a wait ends in its state, a node of a kind of its own; whose time it is in which state
 * is added up in `blocked` and `runnable` of all its ancestors and, where the waker's frames stand
 * on it, its descendants.
 */
#ifndef BPFPROF_ENCODE_FLAME_H
#define BPFPROF_ENCODE_FLAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strtab.h"
#include "profile/profile_calls.h"
#include "profile/profile.h"

enum {
	/*
	 * The most frames of one stack that are kept; of a deeper one the middle is replaced by
	 * "[N frames elided]". Far above what capture records: it bounds what a hostile file can
	 * ask for (a few bytes name a location with a million inlined lines, again and again), and
	 * as 18 px rows it stays below the 32,767 px that cairo can draw.
	 */
	FLAME_FRAMES_MAX = 1800,
	FLAME_NODES_MAX = 1 << 24,
};

enum flame_kind {
	FLAME_ROOT, /* "all" */
	FLAME_PROCESS, /* the --by labels; a waker's name */
	FLAME_USER, /* executable */
	FLAME_LIBRARY, /* mapping whose base name has ".so" */
	FLAME_JIT,
	FLAME_KERNEL,
	FLAME_SYNTHETIC, /* "[truncated: REASON]", "[N frames elided]", "[running: not sampled]" */
	FLAME_BLOCKED, /* "[blocked: CAUSE]" */
	FLAME_RUNNABLE, /* "[runnable: WHY]" */
	FLAME_WOKEN_BY, /* "--": the waker's frames are its descendants */
	FLAME_KIND_CNT
};

enum flame_flags {
	FLAME_INLINED = 1 << 0, /* in every sample that has this node */
	FLAME_WAKER = 1 << 1, /* of the task that woke the sampled one */
};

struct flame_node {
	int64_t total; /* self plus all descendants; > 0 but for an empty root */
	int64_t self;
	int64_t blocked, runnable; /* parts of total: off the CPU; what is left was on it */
	uint32_t name; /* string in tree->names; bytes as recorded, not cleaned */
	uint32_t parent; /* index; PROFILE_NONE for the root */
	uint32_t end; /* index behind the last descendant */
	uint16_t depth; /* root 0 */
	uint8_t kind; /* enum flame_kind */
	uint8_t flags; /* enum flame_flags */
};

struct flame_tree {
	struct strtab names;
	struct flame_node *nodes; /* owned; never empty after flame_build() */
	size_t node_cnt, node_cap;
};

/*
 * Merge the samples of @prof by their value @value (an index of a value type; PROFILE_NONE for a
 * profile that has none, which gives a tree of the root alone). @by: comma list of label keys whose
 * values, joined by '-', make the frame under the root; NULL: comm; a sample with none of them has
 * no such frame. Samples of value <= 0 have no width and are left out.
 *
 * 0; -EINVAL: no such value; -EOVERFLOW: the total exceeds an int64_t; -E2BIG: more than
 * FLAME_NODES_MAX nodes; -ENOMEM; or @prof's own err. @out is initialised by the call on success,
 * untouched on failure. O(frames in all stacks + nodes log nodes).
 */
int flame_build(const struct profile *prof, uint32_t value, const char *by, struct flame_tree *out);
void flame_deinit(struct flame_tree *tree);

/* The same, and for each sample of @prof the node that its stack ends in: *@leaves is *owned* by
 * the caller, PROFILE_NONE for samples that were left out. */
int flame_build_leaves(const struct profile *prof, uint32_t value, const char *by,
		       struct flame_tree *out, uint32_t **leaves);

/* The same, @leaves may be NULL, the children of a node in no order: O(frames in all stacks). */
int flame_build_unsorted(const struct profile *prof, uint32_t value, const char *by,
			 struct flame_tree *out, uint32_t **leaves);

/*
 * The same as flame_build() of the profile whose calls @calls are; flame_build_unsorted() where
 * @is_sorted is false. -ENOTSUP: a stack is so deep that its middle would be left out.
 */
int flame_build_calls(const struct profile_calls *calls, const char *by, bool is_sorted,
		      struct flame_tree *out);

/* Part of flame_build(): totals and states of @tree, whose nodes have their selves as totals. */
void flame_sum(struct flame_tree *tree);

/* FLAME_BLOCKED or FLAME_RUNNABLE where @node is code that is off the CPU for more than half of its
 * time, in a tree that has time on it, and mostly that; else FLAME_KIND_CNT. */
enum flame_kind flame_waits_for(const struct flame_tree *tree, const struct flame_node *node);

static inline const char *flame_name(const struct flame_tree *tree, const struct flame_node *node)
{
	return strtab_get(&tree->names, node->name);
}

#endif
