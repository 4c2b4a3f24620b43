/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building the flame tree in three passes, all of them loops: every location is expanded into its
 * frames once (flame_frames.c); every sample walks from the root along its frames through one hash
 * index (parent, name, kind) -> child; then siblings are linked in the order of their names and the
 * nodes are renumbered in pre-order.
 */
#include "encode/flame.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hmap.h"
#include "encode/flame_frames.h"

/* A node before it has its place in pre-order. */
struct draft {
	int64_t self;
	struct flame_frame frame;
	uint32_t parent;
	uint32_t first_child;
	uint32_t next_sibling;
	uint32_t place; /* then */
};

struct builder {
	struct flame_frames frames;
	struct draft *drafts; /* in order of creation: a parent comes before its children */
	size_t draft_cnt, draft_cap;
	struct hmap children;
	uint32_t *leaves; /* by sample: its draft, PROFILE_NONE: none; NULL: not wanted */
	bool is_unsorted;
	int64_t total;
};

static void builder_deinit(struct builder *bld)
{
	flame_frames_deinit(&bld->frames);
	free(bld->drafts);
	free(bld->leaves);
	hmap_deinit(&bld->children);
}

struct child_key {
	struct flame_frame frame;
	uint32_t parent;
};

static bool is_child(const void *owner, uint32_t index, const void *key_ptr)
{
	const struct draft *draft = &((const struct builder *)owner)->drafts[index];
	const struct child_key *key = key_ptr;

	return draft->parent == key->parent && draft->frame.name == key->frame.name &&
	       draft->frame.kind == key->frame.kind &&
	       !((draft->frame.flags ^ key->frame.flags) & FLAME_WAKER);
}

static int new_draft(struct builder *bld, uint32_t parent, struct flame_frame frame, uint32_t *out)
{
	int err;

	if (bld->draft_cnt == FLAME_NODES_MAX)
		return -E2BIG;
	err = array_reserve(&bld->drafts, &bld->draft_cap, bld->draft_cnt + 1,
			    sizeof(*bld->drafts));
	if (err)
		return err;
	bld->drafts[bld->draft_cnt] = (struct draft){
		.frame = frame,
		.parent = parent,
		.first_child = PROFILE_NONE,
		.next_sibling = PROFILE_NONE,
	};
	*out = (uint32_t)bld->draft_cnt++;
	return 0;
}

/* Move *node to its child @frame, made when it is new. */
static int descend(struct builder *bld, struct flame_frame frame, uint32_t *node)
{
	struct child_key key = {.frame = frame, .parent = *node};
	uint64_t identity = (uint64_t)frame.name << 16 | (uint64_t)frame.kind << 8 |
			    (frame.flags & FLAME_WAKER);
	uint64_t hash = hash_mix(hash_mix(0, *node), identity);
	uint32_t known = hmap_find(&bld->children, hash, is_child, bld, &key);
	int err;

	if (known != HMAP_NONE) {
		if (!(frame.flags & FLAME_INLINED))
			bld->drafts[known].frame.flags &= (uint8_t)~FLAME_INLINED;
		*node = known;
		return 0;
	}
	err = new_draft(bld, *node, frame, node);
	return err ? err : hmap_insert(&bld->children, hash, *node);
}

static int descend_elided(struct builder *bld, uint64_t elided_cnt, uint32_t *node)
{
	struct flame_frame frame = {
		.name = flame_elided_name(&bld->frames, elided_cnt),
		.kind = FLAME_SYNTHETIC,
	};

	return frame.name == STRTAB_NONE ? -ENOMEM : descend(bld, frame, node);
}

static int descend_location(struct builder *bld, uint32_t location, const struct flame_gap *gap,
			    uint64_t *pos, uint32_t *node)
{
	uint32_t first = bld->frames.first[location], last = bld->frames.first[location + 1];
	int err = 0;

	if (*pos >= gap->from && *pos + (last - first) <= gap->to) {
		*pos += last - first;
		return 0;
	}
	for (uint32_t i = first; i < last && !err; i++, (*pos)++) {
		if (*pos == gap->to)
			err = descend_elided(bld, gap->to - gap->from, node);
		if (!err && (*pos < gap->from || *pos >= gap->to))
			err = descend(bld, bld->frames.items[i], node);
	}
	return err;
}

static int add_sample(struct builder *bld, uint32_t id, int64_t value)
{
	const struct profile *prof = bld->frames.prof;
	const struct profile_sample *sample = &prof->samples[id];
	const struct profile_stack *stack = &prof->stacks[sample->stack];
	const uint32_t *locations = stack->cnt ? prof->stack_locations + stack->first : NULL;
	struct flame_gap gap = flame_stack_gap(&bld->frames, locations, stack->cnt);
	struct flame_frame process = {
		.name = bld->frames.process_names[sample->label_set],
		.kind = FLAME_PROCESS,
	};
	uint32_t node = 0;
	uint64_t pos = 0;
	int err = 0;

	if (__builtin_add_overflow(bld->total, value, &bld->total))
		return -EOVERFLOW;
	if (process.name != STRTAB_EMPTY)
		err = descend(bld, process, &node);
	for (uint32_t i = stack->cnt; i-- > 0 && !err;)
		err = descend_location(bld, locations[i], &gap, &pos, &node);
	if (!err)
		bld->drafts[node].self += value;
	if (!err && bld->leaves)
		bld->leaves[id] = node;
	return err;
}

static int add_root(struct builder *bld)
{
	struct flame_frame root = {.kind = FLAME_ROOT};
	uint32_t node;

	root.name = strtab_add(&bld->frames.names, "all", strlen("all"));
	return root.name == STRTAB_NONE ? -ENOMEM : new_draft(bld, PROFILE_NONE, root, &node);
}

static int add_samples(struct builder *bld, uint32_t value)
{
	const struct profile *prof = bld->frames.prof;
	int err = add_root(bld);

	for (uint32_t i = 0; i < prof->sample_cnt && value != PROFILE_NONE && !err; i++) {
		int64_t weight = prof->values[(size_t)i * prof->value_type_cnt + value];

		if (weight > 0)
			err = add_sample(bld, i, weight);
	}
	return err;
}

struct ordered {
	uint64_t key; /* name's rank, kind, flags */
	uint32_t node;
};

static int compare_ordered(const void *left_ptr, const void *right_ptr)
{
	const struct ordered *left = left_ptr, *right = right_ptr;

	return left->key < right->key ? -1 : left->key > right->key;
}

static void link_child(struct builder *bld, uint32_t id)
{
	struct draft *draft = &bld->drafts[id], *parent;

	if (draft->parent == PROFILE_NONE)
		return;
	parent = &bld->drafts[draft->parent];
	draft->next_sibling = parent->first_child;
	parent->first_child = id;
}

/*
 * Link siblings by name: all nodes are sorted once, and each is pushed to the front of its parent's
 * list, the last name first.
 */
static int link_sorted(struct builder *bld)
{
	_cleanup_free_ uint32_t *ranks = strtab_ranks(&bld->frames.names);
	_cleanup_free_ struct ordered *order = calloc(bld->draft_cnt, sizeof(*order));

	if (!ranks || !order)
		return -ENOMEM;
	for (uint32_t i = 0; i < bld->draft_cnt; i++) {
		struct flame_frame frame = bld->drafts[i].frame;

		order[i].key = (uint64_t)ranks[frame.name] << 16 | (uint64_t)frame.kind << 8 |
			       (frame.flags & FLAME_WAKER);
		order[i].node = i;
	}
	qsort(order, bld->draft_cnt, sizeof(*order), compare_ordered);
	for (size_t i = bld->draft_cnt; i-- > 0;)
		link_child(bld, order[i].node);
	return 0;
}

static int link_children(struct builder *bld)
{
	if (!bld->is_unsorted)
		return link_sorted(bld);
	for (size_t i = bld->draft_cnt; i-- > 0;)
		link_child(bld, (uint32_t)i);
	return 0;
}

/* Append the node of draft @id under the node @parent. */
static void number_node(const struct builder *bld, uint32_t id, uint32_t parent,
			struct flame_tree *tree)
{
	struct draft *draft = &bld->drafts[id];

	draft->place = (uint32_t)tree->node_cnt;
	tree->nodes[tree->node_cnt++] = (struct flame_node){
		.total = draft->self,
		.self = draft->self,
		.name = draft->frame.name,
		.parent = parent,
		.depth = parent == PROFILE_NONE ? 0 : (uint16_t)(tree->nodes[parent].depth + 1),
		.kind = draft->frame.kind,
		.flags = draft->frame.flags,
	};
}

static void number_nodes(const struct builder *bld, struct flame_tree *tree)
{
	uint32_t draft = 0, node = 0;

	number_node(bld, draft, PROFILE_NONE, tree);
	while (draft != PROFILE_NONE) {
		uint32_t next = bld->drafts[draft].first_child;

		/* Climb until there is a next sibling; what is left behind is complete. */
		while (next == PROFILE_NONE && draft != PROFILE_NONE) {
			tree->nodes[node].end = (uint32_t)tree->node_cnt;
			next = bld->drafts[draft].next_sibling;
			draft = bld->drafts[draft].parent;
			node = tree->nodes[node].parent;
		}
		if (next == PROFILE_NONE)
			break;
		number_node(bld, next, node, tree);
		draft = next;
		node = (uint32_t)tree->node_cnt - 1;
	}
	flame_sum(tree);
}

/* Nodes, in pre-order, of the drafts. */
static int finish(struct builder *bld, struct flame_tree *out)
{
	struct flame_tree tree = {0};
	int err = link_children(bld);

	if (!err)
		err = array_reserve(&tree.nodes, &tree.node_cap, bld->draft_cnt,
				    sizeof(*tree.nodes));
	if (err)
		return err;
	number_nodes(bld, &tree);
	tree.names = bld->frames.names;
	bld->frames.names = (struct strtab){0};
	*out = tree;
	return 0;
}

static int build(struct builder *bld, uint32_t value, struct flame_tree *out)
{
	int err = add_samples(bld, value);

	if (!err)
		err = finish(bld, out);
	for (size_t i = 0; !err && bld->leaves && i < bld->frames.prof->sample_cnt; i++)
		if (bld->leaves[i] != PROFILE_NONE)
			bld->leaves[i] = bld->drafts[bld->leaves[i]].place;
	return err;
}

static int want_leaves(struct builder *bld)
{
	size_t bytes = (bld->frames.prof->sample_cnt + 1) * sizeof(*bld->leaves);

	bld->leaves = malloc(bytes);
	if (!bld->leaves)
		return -ENOMEM;
	memset(bld->leaves, 0xff, bytes);
	return 0;
}

static int build_tree(struct builder *bld, const struct profile *prof, uint32_t value,
		      const char *by, struct flame_tree *out, uint32_t **leaves)
{
	int err;

	if (prof->err)
		return prof->err;
	if (value == PROFILE_NONE ? prof->value_type_cnt > 0 : value >= prof->value_type_cnt)
		return -EINVAL;
	hmap_init(&bld->children);
	err = flame_frames_init(&bld->frames, prof, by);
	if (!err && leaves)
		err = want_leaves(bld);
	if (!err)
		err = build(bld, value, out);
	if (!err && leaves)
		*leaves = take_ptr(bld->leaves);
	builder_deinit(bld);
	return err;
}

int flame_build_leaves(const struct profile *prof, uint32_t value, const char *by,
		       struct flame_tree *out, uint32_t **leaves)
{
	struct builder bld = {.draft_cnt = 0};

	return build_tree(&bld, prof, value, by, out, leaves);
}

int flame_build_unsorted(const struct profile *prof, uint32_t value, const char *by,
			 struct flame_tree *out, uint32_t **leaves)
{
	struct builder bld = {.is_unsorted = true};

	return build_tree(&bld, prof, value, by, out, leaves);
}

int flame_build(const struct profile *prof, uint32_t value, const char *by, struct flame_tree *out)
{
	return flame_build_leaves(prof, value, by, out, NULL);
}

void flame_deinit(struct flame_tree *tree)
{
	strtab_deinit(&tree->names);
	free(tree->nodes);
	*tree = (struct flame_tree){0};
}
