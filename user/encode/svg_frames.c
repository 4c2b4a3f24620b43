/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of the plain image. Each is a group of its tooltip, its box and, where there is room,
 * its label:
 *
 *	<g class="u3"><title>main (4 samples, 57.14%)</title><rect .../><text ...>main</text></g>
 */
#include "encode/svg.h"

enum {
	/* Below a tenth of a pixel nothing is to be seen; a profile that has more frames than a
	 * viewer opens at ease gets a coarser image. The script draws from the data, not from
	 * these. */
	MIN_WIDTH = 10, /* 1/100 px */
	FRAMES_MAX = 20000,
	PLOT_WIDTH = (SVG_WIDTH - 2 * SVG_MARGIN) * 100, /* 1/100 px */

	GAP = 60, /* between neighbours, where they are wide enough to lose it; 1/100 px */
	GAP_FROM = 300,
	LABEL_INDENT = 4, /* px */
	LABEL_BASELINE = 13, /* px below the top of the row */
	CHAR_WIDTH = 692, /* of the label's fixed-width font at its 11.5 px; 1/100 px */
	LABEL_COLUMNS_MIN = 3,
	TITLE_COLUMNS_MAX = 4096, /* of a tooltip; the data has the whole name */
};

/* @value's share of the plot's width, 1/100 px. */
static uint32_t width_of(const struct svg_frames *frames, int64_t value)
{
	uint64_t whole = (uint64_t)frames->tree->nodes[0].total;

	return whole ? (uint32_t)((__uint128_t)(uint64_t)value * PLOT_WIDTH / whole) : 0;
}

static uint32_t count_drawn(struct svg_frames *frames)
{
	const struct flame_tree *tree = frames->tree;
	uint32_t cnt = 0;

	frames->row_cnt = 0;
	for (size_t i = 0; i < tree->node_cnt; i++) {
		const struct flame_node *node = &tree->nodes[i];

		if (width_of(frames, node->total) < frames->min_width)
			continue;
		cnt++;
		if (node->depth >= frames->row_cnt)
			frames->row_cnt = node->depth + 1U;
	}
	return cnt;
}

void svg_frames_init(struct svg_frames *frames, const struct flame_tree *tree,
		     const struct svg_unit *unit, const struct svg_diff *diff)
{
	*frames = (struct svg_frames){
		.tree = tree,
		.unit = unit,
		.diff = diff,
		.min_width = MIN_WIDTH,
	};
	while (count_drawn(frames) > FRAMES_MAX)
		frames->min_width *= 2;
}

static void add_share(struct buf *out, const char **separator, int64_t part, int64_t whole,
		      const char *word)
{
	if (!part)
		return;
	buf_add_str(out, *separator);
	*separator = ", ";
	if (part < whole) {
		svg_add_percent(out, part, whole);
		buf_add_char(out, ' ');
	}
	buf_add_str(out, word);
}

/* In what state the time was: "; 12.00% on CPU, 88.00% blocked". A state itself has it in its name.
 */
static void add_states(struct buf *out, const struct flame_tree *tree,
		       const struct flame_node *node)
{
	int64_t off_cpu = node->blocked + node->runnable;
	const char *separator = "; ";

	if (node->flags & FLAME_WAKER)
		buf_add_str(out, "; waker");
	if (node->flags & FLAME_WAKER || node->kind > FLAME_SYNTHETIC ||
	    tree->nodes[0].blocked + tree->nodes[0].runnable == 0)
		return;
	add_share(out, &separator, node->total - off_cpu, node->total, "on CPU");
	add_share(out, &separator, node->runnable, node->total, "runnable");
	add_share(out, &separator, node->blocked, node->total, "blocked");
}

static void add_title(struct buf *out, const struct svg_frames *frames,
		      const struct flame_node *node)
{
	buf_add_str(out, "><title>");
	if (frames->diff) {
		svg_diff_add_words(out, frames->diff, (uint32_t)(node - frames->tree->nodes));
		buf_add_str(out, "</title>");
		return;
	}
	svg_add_fitted(out, flame_name(frames->tree, node), TITLE_COLUMNS_MAX);
	buf_add_str(out, " (");
	svg_add_value(out, frames->unit, node->total);
	buf_add_str(out, ", ");
	svg_add_percent(out, node->total, frames->tree->nodes[0].total);
	add_states(out, frames->tree, node);
	buf_add_str(out, ")</title>");
}

/* Neighbours and rows are kept apart; an inlined frame sits on its caller without a gap. */
static void add_box(struct buf *out, const struct flame_node *node, uint32_t left, uint32_t width,
		    uint32_t y)
{
	buf_add_str(out, "<rect x=\"");
	svg_add_fixed(out, left);
	buf_printf(out, "\" y=\"%u\" width=\"", y);
	svg_add_fixed(out, width < GAP_FROM ? width : width - GAP);
	buf_printf(out, "\" height=\"%d\"/>", node->flags & FLAME_INLINED ? SVG_ROW : SVG_ROW - 1);
}

static void add_label(struct buf *out, const char *name, uint32_t left, uint32_t width, uint32_t y)
{
	uint32_t indents = 2 * LABEL_INDENT * 100;
	uint32_t columns = width > indents ? (width - indents) / CHAR_WIDTH : 0;

	if (columns < LABEL_COLUMNS_MIN)
		return;
	buf_add_str(out, "<text x=\"");
	svg_add_fixed(out, left + LABEL_INDENT * 100);
	buf_printf(out, "\" y=\"%u\">", y + LABEL_BASELINE);
	svg_add_fitted(out, name, columns);
	buf_add_str(out, "</text>");
}

static void add_node_label(struct buf *out, const struct svg_frames *frames,
			   const struct flame_node *node, uint32_t left, uint32_t width, uint32_t y)
{
	struct buf text;

	if (!frames->diff) {
		add_label(out, svg_label(frames->tree, node), left, width, y);
		return;
	}
	buf_init(&text, BUF_NO_MAX);
	svg_diff_add_label(&text, frames->diff, (uint32_t)(node - frames->tree->nodes));
	add_label(out, buf_cstr(&text), left, width, y);
	if (!out->err)
		out->err = text.err;
	buf_deinit(&text);
}

static void add_frame(struct buf *out, const struct svg_frames *frames,
		      const struct flame_node *node, uint32_t left, uint32_t width, uint32_t top)
{
	uint32_t y = top + (frames->row_cnt - 1 - node->depth) * SVG_ROW;

	buf_add_str(out, "<g");
	if (frames->diff)
		svg_diff_add_class(out, frames->diff, (uint32_t)(node - frames->tree->nodes));
	else
		svg_add_class(out, frames->tree, node);
	add_title(out, frames, node);
	add_box(out, node, left, width, y);
	add_node_label(out, frames, node, left, width, y);
	buf_add_str(out, "</g>\n");
}

/*
 * Where a node starts: its parent's start plus the totals of the siblings before it. In pre-order
 * that is one running sum: all selves of nodes that are complete. A node's own self lies to the
 * right of its children, so it counts only once the node is left.
 */
static int64_t leave_nodes(const struct flame_tree *tree, uint32_t node, uint32_t next)
{
	int64_t passed = 0;

	for (; node != PROFILE_NONE && tree->nodes[node].end <= next;
	     node = tree->nodes[node].parent)
		passed += tree->nodes[node].self;
	return passed;
}

void svg_add_frames(struct buf *out, const struct svg_frames *frames, uint32_t top)
{
	const struct flame_tree *tree = frames->tree;
	int64_t start = 0;

	for (uint32_t i = 0; i < tree->node_cnt; i++) {
		const struct flame_node *node = &tree->nodes[i];
		uint32_t width = width_of(frames, node->total);

		if (width >= frames->min_width)
			add_frame(out, frames, node, SVG_MARGIN * 100 + width_of(frames, start),
				  width, top);
		start += leave_nodes(tree, i, i + 1);
	}
}
