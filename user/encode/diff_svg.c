/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of the differential graph: built of all samples of both sides, so that each node's
 * change is that of everything above it; then the widths that were asked for take the place of the
 * values, and what has none is left out.
 */
#include "encode/diff_svg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "encode/svg.h"

struct graph {
	const struct diff *diff;
	enum diff_width width;
	int64_t *widths; /* by sample */
	struct flame_tree tree;
	uint32_t *leaves; /* by sample */
	uint32_t *first, *items; /* groups: the nodes from each sample's leaf to the root */
	struct diff_change *changes; /* by node */
	size_t gone_cnt, new_cnt; /* nodes that only one side has, and the width does not show */
};

static void graph_deinit(struct graph *graph)
{
	free(graph->widths);
	flame_deinit(&graph->tree);
	free(graph->leaves);
	free(graph->first);
	free(graph->items);
	free(graph->changes);
}

static int64_t at_least_zero(int64_t value)
{
	return value > 0 ? value : 0;
}

static int64_t width_of(const int64_t *values, enum diff_width width)
{
	int64_t before = at_least_zero(values[DIFF_BEFORE]);
	int64_t after = at_least_zero(values[DIFF_AFTER]);

	switch (width) {
	case DIFF_WIDTH_BEFORE:
		return before;
	case DIFF_WIDTH_AFTER:
		return after;
	case DIFF_WIDTH_MAX:
		return before > after ? before : after;
	default:
		return profile_value_sum(before, after);
	}
}

/* The tree of both sides' sum. */
static int build_tree(struct graph *graph)
{
	const struct profile *joined = &graph->diff->joined;
	struct profile sums = *joined; /* its values are ours */
	int err;

	graph->widths = calloc(joined->sample_cnt + 1, sizeof(*graph->widths));
	if (!graph->widths)
		return -ENOMEM;
	for (size_t i = 0; i < joined->sample_cnt; i++)
		graph->widths[i] =
			width_of(joined->values + i * joined->value_type_cnt, DIFF_WIDTH_SUM);
	sums.values = graph->widths;
	sums.value_cnt = joined->sample_cnt;
	sums.value_type_cnt = joined->value_type_cnt ? 1 : 0;
	err = flame_build_leaves(&sums, sums.value_type_cnt ? 0 : PROFILE_NONE, graph->diff->by,
				 &graph->tree, &graph->leaves);
	for (size_t i = 0; i < joined->sample_cnt && !err; i++)
		graph->widths[i] =
			width_of(joined->values + i * joined->value_type_cnt, graph->width);
	return err;
}

static int group_samples(struct graph *graph)
{
	const struct flame_node *nodes = graph->tree.nodes;
	size_t sample_cnt = graph->diff->joined.sample_cnt, cnt = 0;

	for (size_t i = 0; i < sample_cnt; i++)
		if (graph->leaves[i] != PROFILE_NONE)
			cnt += nodes[graph->leaves[i]].depth + 1U;
	if (cnt > UINT32_MAX)
		return -E2BIG;
	graph->first = calloc(sample_cnt + 1, sizeof(*graph->first));
	graph->items = calloc(cnt + 1, sizeof(*graph->items));
	graph->changes = calloc(graph->tree.node_cnt, sizeof(*graph->changes));
	if (!graph->first || !graph->items || !graph->changes)
		return -ENOMEM;
	cnt = 0;
	for (size_t i = 0; i < sample_cnt; i++) {
		for (uint32_t node = graph->leaves[i]; node != PROFILE_NONE;
		     node = nodes[node].parent)
			graph->items[cnt++] = node;
		graph->first[i + 1] = (uint32_t)cnt;
	}
	return 0;
}

static int measure(struct graph *graph)
{
	struct diff_groups groups;
	int err = group_samples(graph);

	groups = (struct diff_groups){graph->first, graph->items, graph->tree.node_cnt};
	return err ? err : diff_measure(graph->diff, &groups, graph->changes);
}

/* Widths instead of sums. */
static void apply_widths(struct graph *graph)
{
	struct flame_tree *tree = &graph->tree;

	for (size_t i = 0; i < tree->node_cnt; i++)
		tree->nodes[i].self = 0;
	for (size_t i = 0; i < graph->diff->joined.sample_cnt; i++)
		if (graph->leaves[i] != PROFILE_NONE)
			tree->nodes[graph->leaves[i]].self = profile_value_sum(
				tree->nodes[graph->leaves[i]].self, graph->widths[i]);
	for (size_t i = 0; i < tree->node_cnt; i++) {
		struct flame_node *node = &tree->nodes[i];

		node->total = node->self;
		node->blocked = node->runnable = 0;
	}
	flame_sum(tree);
}

/* Leave out the nodes without width: a subtree has none where its root has none. */
static int drop_empty(struct graph *graph)
{
	struct flame_tree *tree = &graph->tree;
	_cleanup_free_ uint32_t *places = calloc(tree->node_cnt + 1, sizeof(*places));
	size_t kept = 0;

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < tree->node_cnt; i++) {
		places[i] = (uint32_t)kept;
		if (tree->nodes[i].total > 0 || !i)
			kept++;
		else if (graph->changes[i].value[DIFF_AFTER])
			graph->new_cnt++;
		else
			graph->gone_cnt++;
	}
	places[tree->node_cnt] = (uint32_t)kept;
	for (size_t i = 0; i < tree->node_cnt; i++) {
		struct flame_node node = tree->nodes[i];

		if (node.total <= 0 && i)
			continue;
		node.parent = i ? places[node.parent] : PROFILE_NONE;
		node.end = places[node.end];
		graph->changes[places[i]] = graph->changes[i];
		tree->nodes[places[i]] = node;
	}
	tree->node_cnt = kept;
	return 0;
}

static const char *const width_names[] = {
	[DIFF_WIDTH_AFTER] = "after",
	[DIFF_WIDTH_BEFORE] = "before",
	[DIFF_WIDTH_MAX] = "the larger of both",
	[DIFF_WIDTH_SUM] = "both together",
};

static void add_subtitle(const struct graph *graph, const char *subtitle, struct buf *out)
{
	if (subtitle)
		buf_printf(out, "%s \xc2\xb7 ", subtitle);
	buf_printf(out, "width: %s", width_names[graph->width]);
	if (graph->gone_cnt)
		buf_printf(out,
			   " \xc2\xb7 %zu frames are gone, and shown with --width before, max or "
			   "sum",
			   graph->gone_cnt);
	if (graph->new_cnt)
		buf_printf(out,
			   " \xc2\xb7 %zu frames are new, and shown with --width after, max or sum",
			   graph->new_cnt);
}

static int encode(const struct graph *graph, const struct diff_svg_opts *opts, struct buf *out)
{
	const struct profile *joined = &graph->diff->joined;
	uint32_t value = joined->value_type_cnt ? (uint32_t)DIFF_AFTER : (uint32_t)PROFILE_NONE;
	struct svg_unit unit = svg_unit_of("", "");
	struct svg_diff diff = {&graph->tree, &unit, graph->changes};
	struct encoder_opts how = {.title = opts->title};
	_cleanup_(buf_deinit) struct buf subtitle;

	if (joined->value_type_cnt)
		unit = svg_unit_of(profile_str(joined, graph->diff->type),
				   profile_str(joined, joined->value_types[DIFF_AFTER].unit));
	buf_init(&subtitle, BUF_NO_MAX);
	add_subtitle(graph, opts->subtitle, &subtitle);
	how.subtitle = buf_cstr(&subtitle);
	if (subtitle.err)
		return subtitle.err;
	return svg_add_document(out, joined, &how, value, &graph->tree, &diff);
}

int diff_svg_encode(const struct diff *diff, const struct diff_svg_opts *opts, struct buf *out)
{
	_cleanup_(graph_deinit) struct graph graph = {.diff = diff, .width = opts->width};
	int err = build_tree(&graph);

	if (!err)
		err = measure(&graph);
	if (err)
		return err;
	apply_widths(&graph);
	err = drop_empty(&graph);
	return err ? err : encode(&graph, opts, out);
}
