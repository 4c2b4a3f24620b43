/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flame tree of calls that lie merged, from the root down: what has one caller is sorted, so
 * that those of one frame, which become one node, lie side by side. Nodes come out in pre-order,
 * and all that is touched on the way lies near what was touched before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "encode/flame.h"
#include "encode/flame_frames.h"

enum { INSERTION_MAX = 16 /* that are sorted without a call for each comparison */ };

/* A frame of a call. */
struct item {
	uint64_t key; /* those of one caller with the same key are one node */
	uint32_t call;
	uint32_t frame; /* index into frames.items; PROFILE_NONE: the label set's process */
};

/* What has one caller, in the order of keys: items [at, end) of the stack are yet to come. */
struct level {
	size_t begin, at, end;
	uint32_t node;
	uint32_t frame_cnt; /* down to the node, without its process */
};

struct call_links {
	uint32_t first_child, next_sibling; /* without those that nothing ended in or below */
};

struct builder {
	const struct profile_calls *calls;
	struct flame_frames frames;
	uint32_t *ranks; /* owned: by name; NULL: any order will do */
	struct call_links *links; /* owned: by call; one more has the roots as children */
	size_t node_max; /* more than there will be */
	struct item *items; /* owned: a stack of levels' items */
	size_t item_cnt, item_cap;
	struct level *levels; /* owned: a stack */
	size_t level_cnt, level_cap;
	struct flame_tree tree;
};

static void builder_deinit(struct builder *bld)
{
	flame_frames_deinit(&bld->frames);
	free(bld->ranks);
	free(bld->links);
	free(bld->items);
	free(bld->levels);
	free(bld->tree.nodes);
}

static size_t frame_cnt(const struct builder *bld, const struct profile_call *call)
{
	const uint32_t *first = bld->frames.first + call->ref;

	return call->parent == PROFILE_NONE ? 1 : first[1] - first[0];
}

/* From the last call to the first: a call's own ones have been linked before it. */
static int link_calls(struct builder *bld)
{
	const struct profile_calls *calls = bld->calls;
	const size_t cnt = calls->node_cnt;
	int64_t total = 0;

	bld->links = malloc((cnt + 1) * sizeof(*bld->links));
	if (!bld->links)
		return -ENOMEM;
	memset(bld->links, 0xff, (cnt + 1) * sizeof(*bld->links));
	for (size_t i = cnt; i-- > 0;) {
		const struct profile_call *call = &calls->nodes[i];
		struct call_links *parent =
			&bld->links[call->parent == PROFILE_NONE ? cnt : call->parent];

		if (__builtin_add_overflow(total, call->self, &total))
			return -EOVERFLOW;
		if (!call->self && bld->links[i].first_child == PROFILE_NONE)
			continue;
		bld->node_max += frame_cnt(bld, call);
		bld->links[i].next_sibling = parent->first_child;
		parent->first_child = (uint32_t)i;
	}
	return 0;
}

static struct flame_frame frame_of(const struct builder *bld, uint32_t call, uint32_t frame)
{
	if (frame != PROFILE_NONE)
		return bld->frames.items[frame];
	return (struct flame_frame){
		.name = bld->frames.process_names[bld->calls->nodes[call].ref],
		.kind = FLAME_PROCESS,
	};
}

static int push_item(struct builder *bld, uint32_t call, uint32_t frame)
{
	const struct flame_frame shown = frame_of(bld, call, frame);
	const uint32_t order = bld->ranks ? bld->ranks[shown.name] : shown.name;
	int err =
		array_reserve(&bld->items, &bld->item_cap, bld->item_cnt + 1, sizeof(*bld->items));

	if (err)
		return err;
	bld->items[bld->item_cnt++] = (struct item){
		.key = (uint64_t)order << 16 | (uint64_t)shown.kind << 8 |
		       (shown.flags & FLAME_WAKER),
		.call = call,
		.frame = frame,
	};
	return 0;
}

/* What @call calls: the first frame of each. */
static int push_callees(struct builder *bld, uint32_t call)
{
	int err = 0;

	for (uint32_t i = bld->links[call].first_child; i != PROFILE_NONE && !err;
	     i = bld->links[i].next_sibling)
		err = push_item(bld, i, bld->frames.first[bld->calls->nodes[i].ref]);
	return err;
}

static bool is_last_frame(const struct builder *bld, const struct item *item)
{
	return item->frame == PROFILE_NONE ||
	       item->frame + 1 == bld->frames.first[bld->calls->nodes[item->call].ref + 1];
}

/* What stands on @item, of the last node: the next frame of its call, or what that calls. */
static int push_next(struct builder *bld, struct item item)
{
	struct flame_node *node = &bld->tree.nodes[bld->tree.node_cnt - 1];

	if (!is_last_frame(bld, &item))
		return push_item(bld, item.call, item.frame + 1);
	node->self += bld->calls->nodes[item.call].self;
	node->total = node->self;
	return push_callees(bld, item.call);
}

static int compare_keys(const void *left_ptr, const void *right_ptr)
{
	const struct item *left = left_ptr, *right = right_ptr;

	return left->key < right->key ? -1 : left->key > right->key;
}

static void sort_items(struct item *items, size_t cnt)
{
	if (cnt > INSERTION_MAX) {
		qsort(items, cnt, sizeof(*items), compare_keys);
		return;
	}
	for (size_t i = 1; i < cnt; i++) {
		const struct item item = items[i];
		size_t to = i;

		for (; to > 0 && items[to - 1].key > item.key; to--)
			items[to] = items[to - 1];
		items[to] = item;
	}
}

/* The items from @begin on are what the last node calls. */
static int push_level(struct builder *bld, size_t begin, uint32_t frame_cnt)
{
	int err = array_reserve(&bld->levels, &bld->level_cap, bld->level_cnt + 1,
				sizeof(*bld->levels));

	if (err)
		return err;
	if (frame_cnt > FLAME_FRAMES_MAX)
		return -ENOTSUP;
	sort_items(bld->items + begin, bld->item_cnt - begin);
	bld->levels[bld->level_cnt++] = (struct level){
		.begin = begin,
		.at = begin,
		.end = bld->item_cnt,
		.node = (uint32_t)bld->tree.node_cnt - 1,
		.frame_cnt = frame_cnt,
	};
	return 0;
}

static int new_node(struct builder *bld, uint32_t parent, struct flame_frame frame)
{
	struct flame_tree *tree = &bld->tree;

	if (tree->node_cnt == tree->node_cap)
		return -E2BIG;
	tree->nodes[tree->node_cnt++] = (struct flame_node){
		.name = frame.name,
		.parent = parent,
		.depth = parent == PROFILE_NONE ? 0 : (uint16_t)(tree->nodes[parent].depth + 1),
		.kind = frame.kind,
		.flags = frame.flags,
	};
	return 0;
}

/* The next node of @level, and the level that stands on it. */
static int add_node(struct builder *bld, struct level *level)
{
	const struct item *item = &bld->items[level->at];
	const uint64_t key = item->key;
	const bool is_process = item->frame == PROFILE_NONE;
	const uint32_t depth = level->frame_cnt + !is_process;
	const size_t end = level->end, begin = bld->item_cnt;
	size_t at = level->at;
	int err = new_node(bld, level->node, frame_of(bld, item->call, item->frame));

	for (; at < end && bld->items[at].key == key && !err; at++) {
		const struct item same = bld->items[at];

		if (!(frame_of(bld, same.call, same.frame).flags & FLAME_INLINED))
			bld->tree.nodes[bld->tree.node_cnt - 1].flags &= (uint8_t)~FLAME_INLINED;
		err = push_next(bld, same);
	}
	level->at = at;
	return err ? err : push_level(bld, begin, depth);
}

/* Room for all nodes at once, which costs nothing until they are there. */
static int reserve_nodes(struct builder *bld)
{
	struct flame_tree *tree = &bld->tree;

	tree->node_cap = bld->node_max < FLAME_NODES_MAX ? bld->node_max + 1 : FLAME_NODES_MAX;
	tree->nodes = malloc(tree->node_cap * sizeof(*tree->nodes));
	return tree->nodes ? 0 : -ENOMEM;
}

/* Label sets without a process stand for what they call. */
static int add_root(struct builder *bld)
{
	const uint32_t none = (uint32_t)bld->calls->node_cnt;
	struct flame_frame root = {.kind = FLAME_ROOT};
	int err;

	root.name = strtab_add(&bld->frames.names, "all", strlen("all"));
	err = root.name == STRTAB_NONE ? -ENOMEM : new_node(bld, PROFILE_NONE, root);
	for (uint32_t i = bld->links[none].first_child; i != PROFILE_NONE && !err;
	     i = bld->links[i].next_sibling) {
		const struct item process = {.call = i, .frame = PROFILE_NONE};

		err = frame_of(bld, i, PROFILE_NONE).name == STRTAB_EMPTY
			      ? push_next(bld, process)
			      : push_item(bld, i, PROFILE_NONE);
	}
	return err ? err : push_level(bld, 0, 0);
}

static int build(struct builder *bld)
{
	int err = link_calls(bld);

	if (!err)
		err = reserve_nodes(bld);
	if (!err)
		err = add_root(bld);
	while (bld->level_cnt && !err) {
		struct level *level = &bld->levels[bld->level_cnt - 1];

		if (level->at < level->end) {
			err = add_node(bld, level);
			continue;
		}
		bld->tree.nodes[level->node].end = (uint32_t)bld->tree.node_cnt;
		bld->item_cnt = level->begin;
		bld->level_cnt--;
	}
	return err;
}

int flame_build_calls(const struct profile_calls *calls, const char *by, bool is_sorted,
		      struct flame_tree *out)
{
	struct builder bld = {.calls = calls};
	int err = flame_frames_init_calls(&bld.frames, calls, by);

	if (!err && is_sorted) {
		bld.ranks = strtab_ranks(&bld.frames.names);
		err = bld.ranks ? 0 : -ENOMEM;
	}
	if (!err)
		err = build(&bld);
	if (!err) {
		flame_sum(&bld.tree);
		*out = bld.tree;
		out->names = bld.frames.names;
		bld.tree = (struct flame_tree){.node_cnt = 0};
		bld.frames.names = (struct strtab){0};
	}
	builder_deinit(&bld);
	return err;
}
