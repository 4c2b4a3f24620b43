/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building the flame tree in three passes, all of them loops: every location is expanded into its
 * frames once; every sample walks from the root along its frames through one hash index (parent,
 * name, kind) -> child; then siblings are linked in the order of their names and the nodes are
 * renumbered in pre-order.
 */
#include "encode/flame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hmap.h"
#include "profile/synthetic.h"

/* One frame that a location stands for. */
struct frame {
	uint32_t name;
	uint8_t kind;
	uint8_t flags;
};

/* A node before it has its place in pre-order. */
struct draft {
	int64_t self;
	struct frame frame;
	uint32_t parent;
	uint32_t first_child;
	uint32_t next_sibling;
};

struct builder {
	const struct profile *prof;
	struct strtab names;
	struct frame *frames; /* of all locations, root-most first within each */
	size_t frame_cnt, frame_cap;
	uint32_t *first_frame; /* by location; one more entry closes the last range */
	uint32_t *process_names; /* by label set; STRTAB_EMPTY: none */
	struct draft *drafts; /* in order of creation: a parent comes before its children */
	size_t draft_cnt, draft_cap;
	struct hmap children;
	int64_t total;
};

static void builder_deinit(struct builder *bld)
{
	strtab_deinit(&bld->names);
	free(bld->frames);
	free(bld->first_frame);
	free(bld->process_names);
	free(bld->drafts);
	hmap_deinit(&bld->children);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *mapping_path(const struct profile *prof, const struct profile_location *loc)
{
	return loc->mapping == PROFILE_NONE ? ""
					    : profile_str(prof, prof->mappings[loc->mapping].path);
}

static uint8_t synthetic_kind(const char *name)
{
	static const uint8_t kinds[] = {
		[SYNTHETIC_NOT] = FLAME_SYNTHETIC,     [SYNTHETIC_INCOMPLETE] = FLAME_SYNTHETIC,
		[SYNTHETIC_RUNNING] = FLAME_SYNTHETIC, [SYNTHETIC_BLOCKED] = FLAME_BLOCKED,
		[SYNTHETIC_RUNNABLE] = FLAME_RUNNABLE, [SYNTHETIC_WAKER] = FLAME_WOKEN_BY,
	};

	return kinds[synthetic_of(name, strlen(name))];
}

static uint8_t location_kind(const struct profile *prof, uint32_t location)
{
	const struct profile_location *loc = &prof->locations[location];
	const char *path = mapping_path(prof, loc);

	if (loc->flags & LOCATION_SYNTHETIC)
		return synthetic_kind(profile_location_name(prof, location, 0));
	/* Profiles of other tools say "kernel" only by the mapping's name. */
	if (loc->flags & LOCATION_KERNEL || !strncmp(path, "[kernel", strlen("[kernel")))
		return FLAME_KERNEL;
	if (loc->flags & LOCATION_JIT)
		return FLAME_JIT;
	return strstr(base_name(path), ".so") ? FLAME_LIBRARY : FLAME_USER;
}

/* "[module+0x1234]" for code that has no symbol; brackets of the module's own name are not doubled.
 */
static uint32_t intern_address(struct builder *bld, const struct profile_location *loc)
{
	static const char deleted[] = " (deleted)";
	const char *base = base_name(mapping_path(bld->prof, loc));
	size_t len = strlen(base), tail = strlen(deleted);
	struct buf name;
	uint32_t id;

	if (len > tail && !strcmp(base + len - tail, deleted))
		len -= tail;
	if (len > 2 && base[0] == '[' && base[len - 1] == ']') {
		base++;
		len -= 2;
	}
	buf_init(&name, BUF_NO_MAX);
	buf_add_char(&name, '[');
	if (len)
		buf_add(&name, base, len);
	else
		buf_add_str(&name, "unknown");
	buf_printf(&name, "+0x%" PRIx64 "]", loc->address);
	id = name.err ? STRTAB_NONE : strtab_add(&bld->names, buf_cstr(&name), name.len);
	buf_deinit(&name);
	return id;
}

static uint32_t intern_line(struct builder *bld, uint32_t location, uint32_t line)
{
	const char *name = profile_location_name(bld->prof, location, line);

	return *name ? strtab_add(&bld->names, name, strlen(name))
		     : intern_address(bld, &bld->prof->locations[location]);
}

static int push_frame(struct builder *bld, struct frame frame)
{
	int err = array_reserve(&bld->frames, &bld->frame_cap, bld->frame_cnt + 1,
				sizeof(*bld->frames));

	if (err)
		return err;
	bld->frames[bld->frame_cnt++] = frame;
	return frame.name == STRTAB_NONE ? -ENOMEM : 0;
}

/* A location's lines are innermost first; all but the last were inlined into the one after them. */
static int expand_location(struct builder *bld, uint32_t location)
{
	const struct profile_location *loc = &bld->prof->locations[location];
	struct frame frame = {
		.kind = location_kind(bld->prof, location),
		.flags = loc->flags & LOCATION_WAKER ? FLAME_WAKER : 0,
	};
	int err = 0;

	for (uint32_t line = loc->line_cnt ? loc->line_cnt : 1; line-- > 0 && !err;) {
		frame.name = intern_line(bld, location, line);
		err = push_frame(bld, frame);
		frame.flags |= FLAME_INLINED;
	}
	return err;
}

/* A stack that ends in the waker's frames has its name at the leaf. */
static void mark_waker_names(struct builder *bld)
{
	const struct profile *prof = bld->prof;

	for (size_t i = 0; i < prof->stack_cnt; i++) {
		const struct profile_stack *stack = &prof->stacks[i];
		const struct profile_location *leaf;
		uint32_t location;

		if (!stack->cnt)
			continue;
		location = prof->stack_locations[stack->first];
		leaf = &prof->locations[location];
		if (leaf->flags == LOCATION_WAKER && leaf->mapping == PROFILE_NONE &&
		    leaf->line_cnt == 1)
			bld->frames[bld->first_frame[location]].kind = FLAME_PROCESS;
	}
}

static int expand_locations(struct builder *bld)
{
	size_t cnt = bld->prof->location_cnt;

	bld->first_frame = calloc(cnt + 1, sizeof(*bld->first_frame));
	if (!bld->first_frame)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt; i++) {
		int err = expand_location(bld, i);

		if (err)
			return err;
		if (bld->frame_cnt > UINT32_MAX)
			return -E2BIG;
		bld->first_frame[i + 1] = (uint32_t)bld->frame_cnt;
	}
	mark_waker_names(bld);
	return 0;
}

static void add_label(const struct profile *prof, const struct profile_label *label,
		      struct buf *name)
{
	if (label->str != PROFILE_NONE)
		buf_add_str(name, profile_str(prof, label->str));
	else
		buf_printf(name, "%" PRId64, label->num);
}

static const struct profile_label *find_label(const struct profile *prof,
					      const struct profile_label_set *set, const char *key,
					      size_t key_len)
{
	uint32_t id = strtab_find(&prof->strings, key, key_len);

	for (uint32_t i = 0; key_len && i < set->cnt && id != STRTAB_NONE; i++)
		if (prof->labels[set->first + i].key == id)
			return &prof->labels[set->first + i];
	return NULL;
}

/* The values of the labels in @by, joined by '-'; "?" where all are empty, "" where there are none.
 */
static void add_process_name(const struct profile *prof, const struct profile_label_set *set,
			     const char *by, struct buf *name)
{
	bool is_found = false;

	for (size_t len; *by; by += len + (by[len] == ',')) {
		const struct profile_label *label;

		len = strcspn(by, ",");
		label = find_label(prof, set, by, len);
		if (!label)
			continue;
		if (is_found)
			buf_add_char(name, '-');
		add_label(prof, label, name);
		is_found = true;
	}
	if (is_found && !name->len)
		buf_add_char(name, '?');
}

static int name_processes(struct builder *bld, const char *by)
{
	const struct profile *prof = bld->prof;
	struct buf name;
	int err = 0;

	bld->process_names = calloc(prof->label_set_cnt + 1, sizeof(*bld->process_names));
	if (!bld->process_names)
		return -ENOMEM;
	buf_init(&name, BUF_NO_MAX);
	for (size_t i = 0; i < prof->label_set_cnt && !err; i++) {
		buf_reset(&name);
		add_process_name(prof, &prof->label_sets[i], by, &name);
		bld->process_names[i] = strtab_add(&bld->names, buf_cstr(&name), name.len);
		if (name.err || bld->process_names[i] == STRTAB_NONE)
			err = -ENOMEM;
	}
	buf_deinit(&name);
	return err;
}

struct child_key {
	struct frame frame;
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

static int new_draft(struct builder *bld, uint32_t parent, struct frame frame, uint32_t *out)
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
static int descend(struct builder *bld, struct frame frame, uint32_t *node)
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
	struct frame frame = {.kind = FLAME_SYNTHETIC};
	char name[48];
	int len = snprintf(name, sizeof(name), "[%" PRIu64 " frames elided]", elided_cnt);

	frame.name = strtab_add(&bld->names, name, (size_t)len);
	return frame.name == STRTAB_NONE ? -ENOMEM : descend(bld, frame, node);
}

/* The frames of a stack, counted from the root, that are left out: [from, to), mostly empty. */
struct gap {
	uint64_t from, to;
};

static struct gap stack_gap(const struct builder *bld, const uint32_t *locations, uint32_t cnt)
{
	uint64_t frame_cnt = 0;

	for (uint32_t i = 0; i < cnt; i++)
		frame_cnt += bld->first_frame[locations[i] + 1] - bld->first_frame[locations[i]];
	if (frame_cnt <= FLAME_FRAMES_MAX)
		return (struct gap){UINT64_MAX, UINT64_MAX};
	return (struct gap){FLAME_FRAMES_MAX / 2, frame_cnt - FLAME_FRAMES_MAX / 2};
}

static int descend_location(struct builder *bld, uint32_t location, const struct gap *gap,
			    uint64_t *pos, uint32_t *node)
{
	uint32_t first = bld->first_frame[location], last = bld->first_frame[location + 1];
	int err = 0;

	if (*pos >= gap->from && *pos + (last - first) <= gap->to) {
		*pos += last - first;
		return 0;
	}
	for (uint32_t i = first; i < last && !err; i++, (*pos)++) {
		if (*pos == gap->to)
			err = descend_elided(bld, gap->to - gap->from, node);
		if (!err && (*pos < gap->from || *pos >= gap->to))
			err = descend(bld, bld->frames[i], node);
	}
	return err;
}

static int add_sample(struct builder *bld, const struct profile_sample *sample, int64_t value)
{
	const struct profile_stack *stack = &bld->prof->stacks[sample->stack];
	const uint32_t *locations = bld->prof->stack_locations + stack->first;
	struct gap gap = stack_gap(bld, locations, stack->cnt);
	struct frame process = {
		.name = bld->process_names[sample->label_set],
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
	return err;
}

static int add_samples(struct builder *bld, uint32_t value)
{
	const struct profile *prof = bld->prof;
	struct frame root = {.kind = FLAME_ROOT};
	uint32_t node;
	int err;

	root.name = strtab_add(&bld->names, "all", strlen("all"));
	err = root.name == STRTAB_NONE ? -ENOMEM : new_draft(bld, PROFILE_NONE, root, &node);
	for (size_t i = 0; i < prof->sample_cnt && value != PROFILE_NONE && !err; i++) {
		int64_t weight = prof->values[i * prof->value_type_cnt + value];

		if (weight > 0)
			err = add_sample(bld, &prof->samples[i], weight);
	}
	return err;
}

static int compare_names(const void *left, const void *right, void *names)
{
	return strcmp(strtab_get(names, *(const uint32_t *)left),
		      strtab_get(names, *(const uint32_t *)right));
}

/* Position of every name in alphabetical order, by name; owned by the caller, NULL without memory.
 */
static uint32_t *rank_names(struct strtab *names)
{
	_cleanup_free_ uint32_t *order = calloc(names->cnt, sizeof(*order));
	uint32_t *ranks = calloc(names->cnt, sizeof(*ranks));

	if (!order || !ranks) {
		free(ranks);
		return NULL;
	}
	for (uint32_t i = 0; i < names->cnt; i++)
		order[i] = i;
	qsort_r(order, names->cnt, sizeof(*order), compare_names, names);
	for (uint32_t i = 0; i < names->cnt; i++)
		ranks[order[i]] = i;
	return ranks;
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

/*
 * Link siblings by name: all nodes are sorted once, and each is pushed to the front of its parent's
 * list, the last name first.
 */
static int link_children(struct builder *bld)
{
	_cleanup_free_ uint32_t *ranks = rank_names(&bld->names);
	_cleanup_free_ struct ordered *order = calloc(bld->draft_cnt, sizeof(*order));

	if (!ranks || !order)
		return -ENOMEM;
	for (uint32_t i = 0; i < bld->draft_cnt; i++) {
		struct frame frame = bld->drafts[i].frame;

		order[i].key = (uint64_t)ranks[frame.name] << 16 | (uint64_t)frame.kind << 8 |
			       (frame.flags & FLAME_WAKER);
		order[i].node = i;
	}
	qsort(order, bld->draft_cnt, sizeof(*order), compare_ordered);
	for (size_t i = bld->draft_cnt; i-- > 0;) {
		struct draft *draft = &bld->drafts[order[i].node];
		struct draft *parent;

		if (draft->parent == PROFILE_NONE)
			continue;
		parent = &bld->drafts[draft->parent];
		draft->next_sibling = parent->first_child;
		parent->first_child = order[i].node;
	}
	return 0;
}

/* Append the node of draft @id under the node @parent. */
static void number_node(const struct builder *bld, uint32_t id, uint32_t parent,
			struct flame_tree *tree)
{
	const struct draft *draft = &bld->drafts[id];

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

static int build(struct builder *bld, uint32_t value, const char *by, struct flame_tree *out)
{
	struct flame_tree tree = {0};
	int err = expand_locations(bld);

	if (!err)
		err = name_processes(bld, by);
	if (!err)
		err = add_samples(bld, value);
	if (!err)
		err = link_children(bld);
	if (!err)
		err = array_reserve(&tree.nodes, &tree.node_cap, bld->draft_cnt,
				    sizeof(*tree.nodes));
	if (err)
		return err;
	number_nodes(bld, &tree);
	tree.names = bld->names;
	bld->names = (struct strtab){0};
	*out = tree;
	return 0;
}

int flame_build(const struct profile *prof, uint32_t value, const char *by, struct flame_tree *out)
{
	struct builder bld = {.prof = prof};
	int err;

	if (prof->err)
		return prof->err;
	if (value == PROFILE_NONE ? prof->value_type_cnt > 0 : value >= prof->value_type_cnt)
		return -EINVAL;
	err = strtab_init(&bld.names);
	if (err)
		return err;
	hmap_init(&bld.children);
	err = build(&bld, value, by ? by : "comm", out);
	builder_deinit(&bld);
	return err;
}

void flame_deinit(struct flame_tree *tree)
{
	strtab_deinit(&tree->names);
	free(tree->nodes);
	*tree = (struct flame_tree){0};
}
