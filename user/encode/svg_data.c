/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree for the script. Frames too narrow for the plain image are nowhere else, so it is the
 * whole tree, and compact: about ten bytes per node.
 *
 *	{ "scale": "count" | "time" | "bytes", "noun": "samples",
 *	  "row": 18, "margin": 16,               pixels
 *	  "kinds": [["r", 0, "all"], ...],       class letter, has shades, word; by enum flame_kind
 *	  "names": ["all", "nginx", ...],        in order of first use
 *	  "shades": "035...",                    one digit per name
 *	  "nodes": [up, frame, self, ...] }      three numbers per node, in pre-order
 *
 * `up` says how far to climb from the node before to reach the parent: 0, a child of it, 1, its
 * sibling, and so on. `frame` is name * 64 + kind * 4 + flags. A total is not written: it is the
 * sum of the selves in the subtree. Nor are shares of states: a node of kind "b" or "q" and all
 * that stands on it is blocked or runnable.
 */
#include "encode/svg.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	LINE_NODES = 16,
	LARGE = 1 << 15, /* nodes, of which a thread writes the last ones ... */
	FIRST_SHARE = 4, /* ... but for a quarter: the caller has the image to draw, too */
};

static const struct {
	char letter;
	bool has_shades;
	const char *name;
} kinds[FLAME_KIND_CNT] = {
	[FLAME_ROOT] = {'r', false, "all"},
	[FLAME_PROCESS] = {'p', false, "process"},
	[FLAME_USER] = {'u', true, "executable"},
	[FLAME_LIBRARY] = {'l', true, "library"},
	[FLAME_JIT] = {'j', true, "JIT"},
	[FLAME_KERNEL] = {'k', true, "kernel"},
	[FLAME_SYNTHETIC] = {'s', false, "incomplete stack"},
	[FLAME_BLOCKED] = {'b', false, "blocked"},
	[FLAME_RUNNABLE] = {'q', false, "runnable"},
	[FLAME_WOKEN_BY] = {'d', false, "waker"},
};

static const char *const scales[] = {
	[SVG_COUNT] = "count",
	[SVG_TIME] = "time",
	[SVG_BYTES] = "bytes",
};

char svg_kind_letter(enum flame_kind kind)
{
	return kinds[kind].letter;
}

bool svg_kind_has_shades(enum flame_kind kind)
{
	return kinds[kind].has_shades;
}

const char *svg_kind_name(enum flame_kind kind)
{
	return kinds[kind].name;
}

const char *svg_label(const struct flame_tree *tree, const struct flame_node *node)
{
	return node->kind == FLAME_WOKEN_BY ? "woken by" : flame_name(tree, node);
}

static unsigned shade_of(const char *name)
{
	return hash_bytes(name, strlen(name)) % SVG_SHADES;
}

/* Of a function the same in every graph; of one that waits, or a waker's, that of the state. */
static char shade_char(const struct flame_tree *tree, const struct flame_node *node)
{
	enum flame_kind state =
		node->flags & FLAME_WAKER ? FLAME_BLOCKED : flame_waits_for(tree, node);

	if (state != FLAME_KIND_CNT)
		return kinds[state].letter;
	return (char)('0' + shade_of(flame_name(tree, node)));
}

void svg_add_class(struct buf *out, const struct flame_tree *tree, const struct flame_node *node)
{
	buf_add_str(out, " class=\"");
	buf_add_char(out, kinds[node->kind].letter);
	if (kinds[node->kind].has_shades)
		buf_add_char(out, shade_char(tree, node));
	if (node->flags & FLAME_INLINED)
		buf_add_str(out, " i");
	if (node->flags & FLAME_WAKER)
		buf_add_str(out, " w");
	buf_add_char(out, '"');
}

static void add_kinds(struct buf *out)
{
	buf_add_str(out, "\"kinds\":[");
	for (int kind = 0; kind < FLAME_KIND_CNT; kind++)
		buf_printf(out, "%s[\"%c\",%d,\"%s\"]", kind ? "," : "", kinds[kind].letter,
			   kinds[kind].has_shades, kinds[kind].name);
	buf_add_str(out, "],\n");
}

/* Names in order of first use; their numbers go to @numbers, by name. */
static void add_names(struct buf *out, const struct flame_tree *tree, uint32_t *numbers)
{
	struct buf shades;
	uint32_t cnt = 0;

	buf_init(&shades, BUF_NO_MAX);
	buf_add_str(out, "\"names\":[");
	memset(numbers, 0xff, tree->names.cnt * sizeof(*numbers));
	for (size_t i = 0; i < tree->node_cnt; i++) {
		const struct flame_node *node = &tree->nodes[i];

		if (numbers[node->name] != UINT32_MAX)
			continue;
		if (cnt)
			buf_add_str(out, ",\n");
		numbers[node->name] = cnt++;
		svg_add_json_str(out, flame_name(tree, node));
		buf_add_char(&shades, (char)('0' + shade_of(flame_name(tree, node))));
	}
	buf_printf(out, "],\n\"shades\":\"%s\",\n", buf_cstr(&shades));
	if (!out->err)
		out->err = shades.err;
	buf_deinit(&shades);
}

static char *put_node(char *out, const struct flame_node *node, unsigned up, uint64_t name)
{
	out = decimal_put(out, up);
	*out++ = ',';
	out = decimal_put(out, name * 64 + node->kind * 4U + node->flags);
	*out++ = ',';
	return decimal_put(out, (uint64_t)node->self);
}

/* Nodes [begin, end), a line at a time: there are many. */
static void add_nodes(struct buf *out, const struct svg_data *data, size_t begin, size_t end)
{
	const struct flame_tree *tree = data->tree;
	char line[LINE_NODES * 3 * (DECIMAL_DIGITS_MAX + 1) + 1], *at = line;

	for (size_t i = begin; i < end; i++) {
		const struct flame_node *node = &tree->nodes[i];

		if (i)
			*at++ = ',';
		if (i && i % LINE_NODES == 0) {
			*at++ = '\n';
			buf_add(out, line, (size_t)(at - line));
			at = line;
		}
		at = put_node(at, node, i ? tree->nodes[i - 1].depth + 1U - node->depth : 0,
			      data->numbers[node->name]);
	}
	buf_add(out, line, (size_t)(at - line));
}

static void add_second(void *arg)
{
	struct svg_data *data = arg;

	add_nodes(&data->second, data, data->first_cnt, data->tree->node_cnt);
}

int svg_data_begin(struct svg_data *data, const struct flame_tree *tree)
{
	*data = (struct svg_data){.tree = tree, .first_cnt = tree->node_cnt};
	buf_init(&data->names, BUF_NO_MAX);
	buf_init(&data->second, BUF_NO_MAX);
	data->numbers = malloc(tree->names.cnt * sizeof(*data->numbers));
	if (!data->numbers)
		return -ENOMEM;
	add_names(&data->names, tree, data->numbers);
	if (tree->node_cnt >= LARGE) {
		data->first_cnt = tree->node_cnt / FIRST_SHARE;
		task_begin(&data->task, add_second, data);
	}
	return data->names.err;
}

int svg_data_end(struct svg_data *data, struct buf *out, const struct svg_unit *unit,
		 const struct svg_diff *diff)
{
	buf_printf(out, "{\"scale\":\"%s\",\"noun\":", scales[unit->scale]);
	svg_add_json_str(out, unit->noun);
	buf_printf(out, ",\"row\":%d,\"margin\":%d,\n", SVG_ROW, SVG_MARGIN);
	add_kinds(out);
	buf_add(out, data->names.data, data->names.len);
	buf_add_str(out, "\"nodes\":[");
	add_nodes(out, data, 0, data->first_cnt);
	if (data->task.work)
		task_end(&data->task);
	buf_add(out, data->second.data, data->second.len);
	buf_add_char(out, ']');
	if (diff)
		svg_diff_add_data(out, diff);
	buf_add_char(out, '}');
	return data->second.err;
}

void svg_data_deinit(struct svg_data *data)
{
	if (data->task.is_running)
		task_end(&data->task);
	free(data->numbers);
	buf_deinit(&data->names);
	buf_deinit(&data->second);
}
