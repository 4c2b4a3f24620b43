/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first picture: what html_first.js draws while the browser still reads the profile behind it.
 * It is the flame graph of the value that is shown first, as boxes [depth, left, width, colour,
 * flags, name], one array without inner brackets, the heaviest child leftmost:
 *
 *	depth         the root's is 0; deeper than any screen is left out
 *	left, width   in parts of the whole, which is PARTS wide
 *	colour        of the style: a kind's letter, with a shade or a state ("u3", "ub", "p");
 *	              of a difference what became of it ("x4", "same": html_changes.h);
 *	              "rest": siblings that are too narrow, together
 *	flags         enum flame_flags
 *	name          0 where it would have no room; as much of it as the widest screen can show
 */
#include "encode/html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "encode/flame.h"
#include "encode/svg.h"

enum {
	PARTS = 100000,
	NARROW_SHARE = 1500, /* boxes under 1/1500 are drawn together */
	NAMED_SHARE = 150, /* under 1/150 a name has no room */
	DEPTHS = 80, /* 1,520 pixels */
	COLUMNS = 640, /* characters on the whole width: 3,840 pixels, 6 each */
};

struct place {
	uint32_t node;
	int64_t left;
};

struct picture {
	struct buf *out; /* borrowed */
	const struct flame_tree *tree; /* borrowed */
	const struct html_changes *changes; /* borrowed; NULL: it is no difference */
	struct place *waiting; /* owned: a stack, the next one last */
	size_t waiting_cnt, waiting_cap;
	bool has_boxes;
};

static bool is_narrow(const struct picture *picture, int64_t total, int share)
{
	return (double)total * share < (double)picture->tree->nodes[0].total;
}

/* @value >= 0 of the whole. */
static void add_part(const struct picture *picture, int64_t value)
{
	double share = (double)value / (double)picture->tree->nodes[0].total;

	buf_add_char(picture->out, ',');
	buf_add_u64(picture->out, (uint64_t)(share * PARTS + 0.5));
}

static void begin_box(struct picture *picture, uint32_t depth, int64_t left, int64_t width)
{
	if (picture->has_boxes)
		buf_add_char(picture->out, ',');
	picture->has_boxes = true;
	buf_add_u64(picture->out, depth);
	add_part(picture, left);
	add_part(picture, width);
}

/* As html_flame.js has it, but for names that are not ASCII or hold what is not shown. */
static unsigned shade_of(const char *name)
{
	uint32_t hash = 0x811c9dc5;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 0x01000193;
	return (hash >> 8) % SVG_SHADES;
}

static void add_kind(struct picture *picture, const struct flame_node *node)
{
	enum flame_kind state =
		node->flags & FLAME_WAKER ? FLAME_BLOCKED : flame_waits_for(picture->tree, node);

	buf_add_char(picture->out, svg_kind_letter(node->kind));
	if (svg_kind_has_shades(node->kind) && state != FLAME_KIND_CNT)
		buf_add_char(picture->out, svg_kind_letter(state));
	else if (svg_kind_has_shades(node->kind))
		buf_add_u64(picture->out, shade_of(flame_name(picture->tree, node)));
}

static void add_colour(struct picture *picture, const struct flame_node *node)
{
	size_t id = (size_t)(node - picture->tree->nodes);
	bool is_tested = node->kind != FLAME_PROCESS && node->kind != FLAME_SYNTHETIC;

	buf_add_str(picture->out, ",\"");
	if (picture->changes && is_tested)
		html_change_colour(&picture->changes->nodes[id], picture->out);
	else
		add_kind(picture, node);
	buf_add_char(picture->out, '"');
}

/* The page sees by one character more than there is room for that a name is cut. */
static void add_name(struct picture *picture, const struct flame_node *node)
{
	double share = (double)node->total / (double)picture->tree->nodes[0].total;
	size_t at = 0, rest = (size_t)(share * COLUMNS) + 1;
	_cleanup_(buf_deinit) struct buf name;

	buf_init(&name, BUF_NO_MAX);
	buf_add_str(&name, svg_label(picture->tree, node));
	if (picture->changes)
		html_change_words(picture->changes, (uint32_t)(node - picture->tree->nodes), &name);
	for (; at < name.len && rest; rest--)
		while (++at < name.len && ((uint8_t)name.data[at] & 0xc0) == 0x80)
			;
	if (at < name.len)
		name.data[at] = '\0';
	svg_add_json_str(picture->out, buf_cstr(&name));
	if (!picture->out->err)
		picture->out->err = name.err;
}

static void add_box(struct picture *picture, const struct flame_node *node, int64_t left)
{
	begin_box(picture, node->depth, left, node->total);
	add_colour(picture, node);
	buf_add_char(picture->out, ',');
	buf_add_u64(picture->out, node->flags);
	buf_add_char(picture->out, ',');
	if (is_narrow(picture, node->total, NAMED_SHARE))
		buf_add_char(picture->out, '0');
	else
		add_name(picture, node);
}

static int by_total(const void *one_ptr, const void *two_ptr, void *tree_ptr)
{
	const struct place *one = one_ptr, *two = two_ptr;
	const struct flame_tree *tree = tree_ptr;
	const struct flame_node *left = &tree->nodes[one->node], *right = &tree->nodes[two->node];
	int order;

	if (left->total != right->total)
		return left->total < right->total ? -1 : 1;
	order = strcmp(flame_name(tree, right), flame_name(tree, left));
	return order ? order : one->node > two->node ? -1 : 1;
}

/* The children of @at to the end of what waits, the heaviest last; narrow ones as one box. */
static int push_children(struct picture *picture, struct place at)
{
	const struct flame_node *nodes = picture->tree->nodes;
	size_t first = picture->waiting_cnt;
	int64_t left = at.left, narrow = 0;

	for (uint32_t child = at.node + 1; child < nodes[at.node].end; child = nodes[child].end) {
		if (is_narrow(picture, nodes[child].total, NARROW_SHARE)) {
			narrow += nodes[child].total;
			continue;
		}
		if (array_reserve(&picture->waiting, &picture->waiting_cap,
				  picture->waiting_cnt + 1, sizeof(*picture->waiting)))
			return -ENOMEM;
		picture->waiting[picture->waiting_cnt++] = (struct place){child, 0};
	}
	if (picture->waiting_cnt > first)
		qsort_r(picture->waiting + first, picture->waiting_cnt - first,
			sizeof(*picture->waiting), by_total, (void *)picture->tree);
	for (size_t i = picture->waiting_cnt; i-- > first;) {
		picture->waiting[i].left = left;
		left += nodes[picture->waiting[i].node].total;
	}
	if (narrow && !is_narrow(picture, narrow, NARROW_SHARE)) {
		begin_box(picture, nodes[at.node].depth + 1u, left, narrow);
		buf_add_str(picture->out, ",\"rest\",0,0");
	}
	return 0;
}

static int add_boxes(struct picture *picture)
{
	struct place at = {0, 0};
	int err;

	for (;;) {
		const struct flame_node *node = &picture->tree->nodes[at.node];

		add_box(picture, node, at.left);
		err = node->depth + 1 < DEPTHS ? push_children(picture, at) : 0;
		if (err || !picture->waiting_cnt)
			return err;
		at = picture->waiting[--picture->waiting_cnt];
	}
}

static int add_picture(struct picture *picture)
{
	int err = 0;

	buf_add_char(picture->out, '[');
	if (picture->tree->nodes[0].total > 0)
		err = add_boxes(picture);
	buf_add_char(picture->out, ']');
	free(picture->waiting);
	return err;
}

int html_add_first(struct buf *out, const struct profile *prof, uint32_t value, const char *by)
{
	struct flame_tree tree;
	int err = flame_build_unsorted(prof, value, by, &tree, NULL);

	if (err)
		return err;
	err = html_add_first_tree(out, &tree);
	flame_deinit(&tree);
	return err;
}

int html_add_first_tree(struct buf *out, const struct flame_tree *tree)
{
	struct picture picture = {.out = out, .tree = tree};

	return add_picture(&picture);
}

int html_add_first_changes(struct buf *out, const struct html_changes *changes)
{
	struct picture picture = {.out = out, .tree = &changes->tree, .changes = changes};

	return add_picture(&picture);
}
