/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flame tree of calls that lie merged, from the root down: what has one caller is sorted, so
 * that those of one frame, which become one node, lie side by side. Nodes come out in pre-order,
 * and all that is touched on the way lies near what was touched before.
 *
 * Of a large tree a thread builds what stands on the root from its last node on, while the caller
 * does from the first one on, until they meet.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/huge_pages.h"
#include "base/task.h"
#include "encode/flame.h"
#include "encode/flame_frames.h"

enum {
	INSERTION_MAX = 16, /* that are sorted without a call for each comparison */
	LARGE = 1 << 15, /* calls */
};

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

/* What is built, and by what; not changed meanwhile. */
struct plan {
	const struct profile_calls *calls;
	struct flame_frames frames;
	uint32_t *ranks; /* owned: by name; NULL: any order will do */
	struct call_links *links; /* owned: by call; one more has the roots as children */
	size_t node_max; /* more than there will be */
};

struct builder {
	const struct plan *plan;
	struct item *items; /* owned: a stack of levels' items */
	size_t item_cnt, item_cap;
	struct level *levels; /* owned: a stack */
	size_t level_cnt, level_cap;
	struct flame_tree tree; /* nodes alone */
};

static void plan_deinit(struct plan *plan)
{
	flame_frames_deinit(&plan->frames);
	free(plan->ranks);
	free(plan->links);
}

static void builder_deinit(struct builder *bld)
{
	free(bld->items);
	free(bld->levels);
	free(bld->tree.nodes);
}

static size_t frame_cnt(const struct plan *plan, const struct profile_call *call)
{
	const uint32_t *first = plan->frames.first + call->ref;

	return call->parent == PROFILE_NONE ? 1 : first[1] - first[0];
}

/* From the last call to the first: a call's own ones have been linked before it. */
static int link_calls(struct plan *plan)
{
	const struct profile_calls *calls = plan->calls;
	const size_t cnt = calls->node_cnt;
	int64_t total = 0;

	plan->links = malloc((cnt + 1) * sizeof(*plan->links));
	if (!plan->links)
		return -ENOMEM;
	huge_pages_prefer(plan->links, (cnt + 1) * sizeof(*plan->links));
	memset(plan->links, 0xff, (cnt + 1) * sizeof(*plan->links));
	for (size_t i = cnt; i-- > 0;) {
		const struct profile_call *call = &calls->nodes[i];
		struct call_links *parent =
			&plan->links[call->parent == PROFILE_NONE ? cnt : call->parent];

		if (__builtin_add_overflow(total, call->self, &total))
			return -EOVERFLOW;
		if (!call->self && plan->links[i].first_child == PROFILE_NONE)
			continue;
		plan->node_max += frame_cnt(plan, call);
		plan->links[i].next_sibling = parent->first_child;
		parent->first_child = (uint32_t)i;
	}
	return 0;
}

static struct flame_frame frame_of(const struct builder *bld, uint32_t call, uint32_t frame)
{
	if (frame != PROFILE_NONE)
		return bld->plan->frames.items[frame];
	return (struct flame_frame){
		.name = bld->plan->frames.process_names[bld->plan->calls->nodes[call].ref],
		.kind = FLAME_PROCESS,
	};
}

static int push_item(struct builder *bld, uint32_t call, uint32_t frame)
{
	const struct flame_frame shown = frame_of(bld, call, frame);
	const uint32_t order = bld->plan->ranks ? bld->plan->ranks[shown.name] : shown.name;
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

	for (uint32_t i = bld->plan->links[call].first_child; i != PROFILE_NONE && !err;
	     i = bld->plan->links[i].next_sibling)
		err = push_item(bld, i, bld->plan->frames.first[bld->plan->calls->nodes[i].ref]);
	return err;
}

static bool is_last_frame(const struct builder *bld, const struct item *item)
{
	return item->frame == PROFILE_NONE ||
	       item->frame + 1 ==
		       bld->plan->frames.first[bld->plan->calls->nodes[item->call].ref + 1];
}

/* What stands on @item, of the last node: the next frame of its call, or what that calls. */
static int push_next(struct builder *bld, struct item item)
{
	struct flame_node *node = &bld->tree.nodes[bld->tree.node_cnt - 1];

	if (!is_last_frame(bld, &item))
		return push_item(bld, item.call, item.frame + 1);
	node->self += bld->plan->calls->nodes[item.call].self;
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

	tree->node_cap =
		bld->plan->node_max < FLAME_NODES_MAX ? bld->plan->node_max + 1 : FLAME_NODES_MAX;
	tree->nodes = malloc(tree->node_cap * sizeof(*tree->nodes));
	if (!tree->nodes)
		return -ENOMEM;
	huge_pages_prefer(tree->nodes, tree->node_cap * sizeof(*tree->nodes));
	return 0;
}

/* All that stands on the levels. */
static int build(struct builder *bld)
{
	int err = 0;

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

/* --- The root, and what stands on it --- */

/* Items [firsts[i], firsts[i + 1]) of the root are its node i. */
struct root_nodes {
	size_t *firsts; /* owned */
	size_t cnt;
	pthread_mutex_t lock;
	size_t begin, end; /* of those that nobody has built yet */
};

/* Nodes of the root from the last one on. */
struct back {
	struct builder bld; /* a root of its own, and these in the order they were built in */
	struct root_nodes *nodes; /* borrowed */
	size_t *firsts; /* owned: where each begins */
	size_t cnt;
	int err;
};

/* Label sets without a process stand for what they call. */
static int add_root(struct builder *bld, uint32_t name)
{
	const struct flame_frame root = {.name = name, .kind = FLAME_ROOT};
	const uint32_t none = (uint32_t)bld->plan->calls->node_cnt;
	int err = reserve_nodes(bld);

	if (!err)
		err = new_node(bld, PROFILE_NONE, root);
	for (uint32_t i = bld->plan->links[none].first_child; i != PROFILE_NONE && !err;
	     i = bld->plan->links[i].next_sibling) {
		const struct item process = {.call = i, .frame = PROFILE_NONE};

		err = frame_of(bld, i, PROFILE_NONE).name == STRTAB_EMPTY
			      ? push_next(bld, process)
			      : push_item(bld, i, PROFILE_NONE);
	}
	sort_items(bld->items, bld->item_cnt);
	return err;
}

static int find_root_nodes(struct root_nodes *nodes, const struct builder *bld)
{
	nodes->firsts = malloc((bld->item_cnt + 1) * sizeof(*nodes->firsts));
	if (!nodes->firsts)
		return -ENOMEM;
	for (size_t i = 0; i < bld->item_cnt; i++)
		if (!i || bld->items[i].key != bld->items[i - 1].key)
			nodes->firsts[nodes->cnt++] = i;
	nodes->firsts[nodes->cnt] = bld->item_cnt;
	nodes->end = nodes->cnt;
	return 0;
}

/* The next one from an end, into *@out; false: there is none left. */
static bool take_node(struct root_nodes *nodes, bool is_last, size_t *out)
{
	bool is_there;

	pthread_mutex_lock(&nodes->lock);
	is_there = nodes->begin < nodes->end;
	if (is_there)
		*out = is_last ? --nodes->end : nodes->begin++;
	pthread_mutex_unlock(&nodes->lock);
	return is_there;
}

/* Node @number of the root, and all that stands on it. */
static int build_node(struct builder *bld, const struct root_nodes *nodes, size_t number)
{
	int err = array_reserve(&bld->levels, &bld->level_cap, 1, sizeof(*bld->levels));

	if (err)
		return err;
	bld->levels[bld->level_cnt++] = (struct level){
		.begin = bld->item_cnt,
		.at = nodes->firsts[number],
		.end = nodes->firsts[number + 1],
	};
	return build(bld);
}

static int build_front(struct builder *bld, struct root_nodes *nodes)
{
	size_t number;
	int err = 0;

	while (!err && take_node(nodes, false, &number))
		err = build_node(bld, nodes, number);
	return err;
}

static void build_back(void *arg)
{
	struct back *back = arg;
	size_t number;

	while (!back->err && take_node(back->nodes, true, &number)) {
		back->firsts[back->cnt++] = back->bld.tree.node_cnt;
		back->err = build_node(&back->bld, back->nodes, number);
	}
}

static int back_init(struct back *back, const struct builder *front, struct root_nodes *nodes)
{
	*back = (struct back){.bld.plan = front->plan, .nodes = nodes};
	back->firsts = malloc(nodes->cnt * sizeof(*back->firsts));
	return back->firsts ? add_root(&back->bld, front->tree.nodes->name) : -ENOMEM;
}

static void back_deinit(struct back *back)
{
	builder_deinit(&back->bld);
	free(back->firsts);
}

/* @cnt nodes, whose root is the first of theirs, behind those of @tree. */
static int append_nodes(struct flame_tree *tree, const struct flame_tree *from, size_t first,
			size_t cnt)
{
	const uint32_t shift = (uint32_t)(tree->node_cnt - first);

	if (cnt > tree->node_cap - tree->node_cnt)
		return -E2BIG;
	for (size_t i = first; i < first + cnt; i++) {
		struct flame_node *node = &tree->nodes[tree->node_cnt++];

		*node = from->nodes[i];
		node->parent += node->parent ? shift : 0;
		node->end += shift;
	}
	return 0;
}

static int append_back(struct builder *bld, const struct back *back)
{
	size_t end = back->bld.tree.node_cnt;
	int err = 0;

	for (size_t i = back->cnt; i-- > 0 && !err; end = back->firsts[i])
		err = append_nodes(&bld->tree, &back->bld.tree, back->firsts[i],
				   end - back->firsts[i]);
	return err;
}

static int build_from_both(struct builder *bld, struct root_nodes *nodes)
{
	struct task task;
	struct back back;
	int err = back_init(&back, bld, nodes), front_err;

	if (!err) {
		task_begin(&task, build_back, &back);
		front_err = build_front(bld, nodes);
		task_end(&task);
		err = front_err ? front_err : back.err;
	}
	if (!err)
		err = append_back(bld, &back);
	back_deinit(&back);
	return err;
}

static int build_all(struct builder *bld, uint32_t root_name)
{
	struct root_nodes nodes = {.lock = PTHREAD_MUTEX_INITIALIZER};
	int err = add_root(bld, root_name);

	if (!err)
		err = find_root_nodes(&nodes, bld);
	if (!err)
		err = nodes.cnt > 1 && bld->plan->calls->node_cnt >= LARGE
			      ? build_from_both(bld, &nodes)
			      : build_front(bld, &nodes);
	if (!err)
		bld->tree.nodes->end = (uint32_t)bld->tree.node_cnt;
	free(nodes.firsts);
	return err;
}

static int plan_init(struct plan *plan, const struct profile_calls *calls, const char *by,
		     bool is_sorted)
{
	int err;

	*plan = (struct plan){.calls = calls};
	err = flame_frames_init_calls(&plan->frames, calls, by);
	if (!err && is_sorted) {
		plan->ranks = strtab_ranks(&plan->frames.names);
		err = plan->ranks ? 0 : -ENOMEM;
	}
	return err ? err : link_calls(plan);
}

int flame_build_calls(const struct profile_calls *calls, const char *by, bool is_sorted,
		      struct flame_tree *out)
{
	struct plan plan;
	struct builder bld = {.plan = &plan};
	int err = plan_init(&plan, calls, by, is_sorted);
	uint32_t root_name;

	if (!err) {
		root_name = strtab_add(&plan.frames.names, "all", strlen("all"));
		err = root_name == STRTAB_NONE ? -ENOMEM : build_all(&bld, root_name);
	}
	if (!err) {
		flame_sum(&bld.tree);
		*out = bld.tree;
		out->names = plan.frames.names;
		bld.tree = (struct flame_tree){.node_cnt = 0};
		plan.frames.names = (struct strtab){0};
	}
	builder_deinit(&bld);
	plan_deinit(&plan);
	return err;
}
