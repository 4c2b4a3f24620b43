/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call graph of one value in Graphviz's language, for `dot -Tsvg`: functions as nodes, calls as
 * edges, both the larger the more of the value they have.
 *
 * It is made of the flame tree. A function's total is that of its nodes which have no ancestor of
 * the same function, and likewise a call's weight: recursion counts a sample once. So that a
 * picture stays readable, only the largest functions are drawn, and of the calls among them those
 * that matter; the graph's label says how many are not.
 */
#include "encode/encoder.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "encode/flame.h"
#include "encode/svg.h"
#include "encode/text.h"

enum {
	DOT_NODES_MAX = 100,
	DOT_NODE_PERMILLE = 5, /* of the graph's total; smaller functions are not drawn */
	DOT_EDGE_PERMILLE = 1,
	DOT_NAME_MAX = 120, /* bytes of a name that are drawn */
	DOT_FONT_MIN = 9,
	DOT_FONT_MAX = 36,
};

/* A function, or a call of function `callee` by function `caller`. */
struct sum {
	int64_t self, total;
	uint32_t name, caller, callee;
	uint32_t open_cnt; /* of the nodes from the root to the one at hand, those that are it */
	uint8_t kind;
	bool is_drawn;
};

struct graph {
	struct flame_tree tree;
	/* owned */
	struct sum *functions;
	size_t function_cnt, function_cap;
	struct sum *calls;
	size_t call_cnt, call_cap;
	uint32_t *of_nodes, *calls_of_nodes; /* by node of the tree: its function, the call of it */
	struct hmap function_index, call_index;
};

static void graph_deinit(struct graph *graph)
{
	flame_deinit(&graph->tree);
	free(graph->functions);
	free(graph->calls);
	free(graph->of_nodes);
	free(graph->calls_of_nodes);
	hmap_deinit(&graph->function_index);
	hmap_deinit(&graph->call_index);
}

/* --- From the tree to the graph --- */

static bool is_function(const void *owner, uint32_t index, const void *key)
{
	const struct sum *known = &((const struct graph *)owner)->functions[index], *wanted = key;

	return known->name == wanted->name && known->kind == wanted->kind;
}

static bool is_call(const void *owner, uint32_t index, const void *key)
{
	const struct sum *known = &((const struct graph *)owner)->calls[index], *wanted = key;

	return known->caller == wanted->caller && known->callee == wanted->callee;
}

static int find_function(struct graph *graph, const struct flame_node *node, uint32_t *out)
{
	const struct sum wanted = {.name = node->name, .kind = node->kind};
	uint64_t hash = hash_mix(node->name, node->kind);
	int err;

	*out = hmap_find(&graph->function_index, hash, is_function, graph, &wanted);
	if (*out != HMAP_NONE)
		return 0;
	err = array_reserve(&graph->functions, &graph->function_cap, graph->function_cnt + 1,
			    sizeof(*graph->functions));
	if (err)
		return err;
	*out = (uint32_t)graph->function_cnt;
	graph->functions[graph->function_cnt++] = wanted;
	return hmap_insert(&graph->function_index, hash, *out);
}

static int find_call(struct graph *graph, uint32_t caller, uint32_t callee, uint32_t *out)
{
	const struct sum wanted = {.caller = caller, .callee = callee};
	uint64_t hash = hash_mix(hash_mix(0, caller), callee);
	int err;

	*out = hmap_find(&graph->call_index, hash, is_call, graph, &wanted);
	if (*out != HMAP_NONE)
		return 0;
	err = array_reserve(&graph->calls, &graph->call_cap, graph->call_cnt + 1,
			    sizeof(*graph->calls));
	if (err)
		return err;
	*out = (uint32_t)graph->call_cnt;
	graph->calls[graph->call_cnt++] = wanted;
	return hmap_insert(&graph->call_index, hash, *out);
}

/* Count @node, whose ancestors are open. */
static void open_sum(struct sum *sum, const struct flame_node *node)
{
	sum->self = profile_value_sum(sum->self, node->self);
	if (!sum->open_cnt++)
		sum->total = profile_value_sum(sum->total, node->total);
}

static int open_node(struct graph *graph, uint32_t index)
{
	const struct flame_node *node = &graph->tree.nodes[index];
	uint32_t call = PROFILE_NONE, *function = &graph->of_nodes[index];
	int err = find_function(graph, node, function);

	if (!err && node->depth > 1)
		err = find_call(graph, graph->of_nodes[node->parent], *function, &call);
	if (err)
		return err;
	graph->calls_of_nodes[index] = call;
	open_sum(&graph->functions[*function], node);
	if (call != PROFILE_NONE)
		open_sum(&graph->calls[call], node);
	return 0;
}

static void close_node(struct graph *graph, uint32_t index)
{
	uint32_t call = graph->calls_of_nodes[index];

	graph->functions[graph->of_nodes[index]].open_cnt--;
	if (call != PROFILE_NONE)
		graph->calls[call].open_cnt--;
}

/* In pre-order; a node stays open until one comes that is not below it. The root is no function. */
static int sum_up(struct graph *graph)
{
	const struct flame_node *nodes = graph->tree.nodes;
	size_t cnt = graph->tree.node_cnt;
	int err = 0;

	graph->of_nodes = calloc(cnt, sizeof(*graph->of_nodes));
	graph->calls_of_nodes = calloc(cnt, sizeof(*graph->calls_of_nodes));
	if (!graph->of_nodes || !graph->calls_of_nodes)
		return -ENOMEM;
	for (uint32_t i = 1; i < cnt && !err; i++) {
		for (uint32_t last = i - 1; last && last != nodes[i].parent;
		     last = nodes[last].parent)
			close_node(graph, last);
		err = open_node(graph, i);
	}
	return err;
}

/* --- What is drawn --- */

static int compare_totals(const void *left_ptr, const void *right_ptr, void *sums)
{
	const uint32_t *left = left_ptr, *right = right_ptr;
	int64_t left_total = ((const struct sum *)sums)[*left].total;
	int64_t right_total = ((const struct sum *)sums)[*right].total;

	if (left_total != right_total)
		return left_total > right_total ? -1 : 1;
	return (*left > *right) - (*left < *right);
}

static bool is_large(int64_t total, int64_t whole, int permille)
{
	return (__int128_t)total * 1000 >= (__int128_t)whole * permille;
}

/* Mark the functions that are drawn; their number, or -ENOMEM. */
static int choose_functions(struct graph *graph)
{
	_cleanup_free_ uint32_t *order = calloc(graph->function_cnt + 1, sizeof(*order));
	int cnt = 0;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->function_cnt; i++)
		order[i] = i;
	qsort_r(order, graph->function_cnt, sizeof(*order), compare_totals, graph->functions);
	for (size_t i = 0; i < graph->function_cnt && cnt < DOT_NODES_MAX; i++) {
		struct sum *function = &graph->functions[order[i]];

		if (!is_large(function->total, graph->tree.nodes[0].total, DOT_NODE_PERMILLE))
			break;
		function->is_drawn = true;
		cnt++;
	}
	return cnt;
}

static int choose_calls(struct graph *graph)
{
	int cnt = 0;

	for (size_t i = 0; i < graph->call_cnt; i++) {
		struct sum *call = &graph->calls[i];

		call->is_drawn =
			graph->functions[call->caller].is_drawn &&
			graph->functions[call->callee].is_drawn &&
			is_large(call->total, graph->tree.nodes[0].total, DOT_EDGE_PERMILLE);
		cnt += call->is_drawn;
	}
	return cnt;
}

/* --- Text --- */

/* Inside of quotes; '&' begins an entity, '\' an escape. At most @max bytes, then U+2026. */
static void add_text(struct buf *out, const char *str, size_t max)
{
	_cleanup_(buf_deinit) struct buf clean;
	size_t len = strnlen(str, max + 1), seq;

	buf_init(&clean, BUF_NO_MAX);
	text_add_line(&clean, str, len > max ? max : len);
	for (size_t i = 0; i < clean.len; i += seq) {
		seq = text_utf8_len(clean.data + i, clean.len - i);
		if (clean.data[i] == '"' || clean.data[i] == '\\')
			buf_add_char(out, '\\');
		buf_add(out, clean.data + i, seq);
		if (clean.data[i] == '&')
			buf_add_str(out, "amp;");
	}
	if (len > max)
		buf_add_str(out, "\xe2\x80\xa6");
	if (clean.err)
		out->err = clean.err;
}

static void add_value(struct buf *out, const struct svg_unit *unit, int64_t value)
{
	_cleanup_(buf_deinit) struct buf text;

	buf_init(&text, BUF_NO_MAX);
	svg_add_value(&text, unit, value);
	add_text(out, buf_cstr(&text), DOT_NAME_MAX);
}

static void add_share(struct buf *out, const struct svg_unit *unit, int64_t part, int64_t whole)
{
	add_value(out, unit, part);
	buf_add_str(out, " (");
	svg_add_percent(out, part, whole);
	buf_add_char(out, ')');
}

static double share(int64_t part, int64_t whole)
{
	return whole > 0 ? (double)part / (double)whole : 0;
}

/* The area of a name follows what the function itself has. The darker, the larger its total. */
static void add_function(struct buf *out, const struct graph *graph, size_t index,
			 const struct svg_unit *unit)
{
	const struct sum *function = &graph->functions[index];
	int64_t whole = graph->tree.nodes[0].total;
	int font = DOT_FONT_MIN +
		   (int)((DOT_FONT_MAX - DOT_FONT_MIN) * sqrt(share(function->self, whole)));
	int light = 97 - (int)(30 * share(function->total, whole));

	buf_printf(out, "\tn%zu [label=\"", index);
	add_text(out, strtab_get(&graph->tree.names, function->name), DOT_NAME_MAX);
	buf_add_str(out, "\\n");
	if (function->self) {
		add_share(out, unit, function->self, whole);
		buf_add_str(out, function->self == function->total ? "" : "\\nof ");
	}
	if (function->self != function->total)
		add_share(out, unit, function->total, whole);
	buf_printf(out, "\" tooltip=\"%s\" fontsize=%d fillcolor=\"0.07 0.%02d 0.%02d\"%s];\n",
		   svg_kind_name(function->kind), font, 100 - light, light,
		   function->kind == FLAME_PROCESS ? " shape=ellipse" : "");
}

static void add_call(struct buf *out, const struct graph *graph, const struct sum *call,
		     const struct svg_unit *unit)
{
	double part = share(call->total, graph->tree.nodes[0].total);

	buf_printf(out, "\tn%u -> n%u [label=\" ", call->caller, call->callee);
	add_value(out, unit, call->total);
	/* in integers: the same in every locale */
	buf_printf(out, "\" weight=%d penwidth=%d.%d];\n", 1 + (int)(part * 100),
		   (int)(part * 60) / 10 + 1, (int)(part * 60) % 10);
}

static void add_label(struct buf *out, const struct graph *graph, const char *title, int functions,
		      int calls, const struct svg_unit *unit)
{
	buf_add_str(out, "\tlabel=\"");
	add_text(out, title, DOT_NAME_MAX);
	buf_add_str(out, "\\l");
	add_value(out, unit, graph->tree.nodes[0].total);
	if (!graph->function_cnt)
		buf_add_str(out, ": empty, nothing was sampled");
	buf_printf(out, "\\l%zu functions", graph->function_cnt);
	if ((size_t)functions < graph->function_cnt)
		buf_printf(out, ", the %zu smallest not shown",
			   graph->function_cnt - (size_t)functions);
	buf_printf(out, "\\l%zu calls", graph->call_cnt);
	if ((size_t)calls < graph->call_cnt)
		buf_printf(out, ", %zu not shown (small, or of functions that are not)",
			   graph->call_cnt - (size_t)calls);
	buf_add_str(out, "\\l\";\n");
}

static int draw(struct graph *graph, const struct encoder_opts *opts, const struct svg_unit *unit,
		struct buf *out)
{
	int functions = choose_functions(graph), calls = choose_calls(graph);

	if (functions < 0)
		return functions;
	buf_add_str(out, "digraph bpfprof {\n"
			 "\tlabelloc=t; labeljust=l; fontname=\"sans-serif\"; rankdir=TB;\n"
			 "\tnode [shape=box style=filled fontname=\"sans-serif\" color=gray40];\n"
			 "\tedge [fontname=\"sans-serif\" fontsize=9 color=gray40];\n");
	add_label(out, graph, opts->title ? opts->title : "bpfprof", functions, calls, unit);
	for (size_t i = 0; i < graph->function_cnt; i++)
		if (graph->functions[i].is_drawn)
			add_function(out, graph, i, unit);
	for (size_t i = 0; i < graph->call_cnt; i++)
		if (graph->calls[i].is_drawn)
			add_call(out, graph, &graph->calls[i], unit);
	buf_add_str(out, "}\n");
	return out->err;
}

static int encode(const struct profile *prof, const struct encoder_opts *opts, struct buf *out)
{
	_cleanup_(graph_deinit) struct graph graph = {.function_cnt = 0};
	struct svg_unit unit = svg_unit_of("", "");
	uint32_t value;
	int err = encoder_pick_value(prof, opts, &value);

	if (!err)
		err = flame_build(prof, value, opts->by, &graph.tree);
	if (!err)
		err = sum_up(&graph);
	if (err)
		return err;
	if (value != PROFILE_NONE)
		unit = svg_unit_of(profile_str(prof, prof->value_types[value].type),
				   profile_str(prof, prof->value_types[value].unit));
	return draw(&graph, opts, &unit, out);
}

const struct encoder encoder_dot = {
	.name = "dot",
	.extension = ".dot",
	.help = "call graph for Graphviz (dot -Tsvg): functions, calls, their shares",
	.is_one_value = true,
	.encode = encode,
};
