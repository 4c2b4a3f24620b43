/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Massif's text, which ms_print and massif-visualizer read: the heap at moments, each with a tree
 * that begins with what allocates and goes on with its callers. A profile knows two moments, when
 * there was most and the end; of one that is no heap's, the value asked for is the most.
 *
 * As valgrind's own: nodes below 1 % of a moment's sum are put together, and trees have 30 levels.
 */
#include "encode/encoder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "encode/text.h"

enum { DEPTH_MAX = 30, THRESHOLD_PERMILLE = 10 };

/* A sample with something of the value. Its frames are those of its locations, leaf first, inlined
 * calls before what they were inlined into. */
struct row {
	uint32_t stack;
	int64_t value;
};

/* Where in a stack the tree stands. */
struct frame {
	uint32_t location, line;
};

/* Rows [lo, hi) have the same frames so far. */
struct child {
	size_t lo, hi;
	int64_t value;
	struct frame frame;
};

struct tree {
	const struct profile *prof;
	struct buf *out;
	struct row *rows; /* owned; sorted by frames */
	size_t cnt;
	int64_t sum;
};

/* Frame @depth of @stack. False: it has no more. */
static bool frame_at(const struct profile *prof, uint32_t stack, uint32_t depth, struct frame *out)
{
	const struct profile_stack *frames = &prof->stacks[stack];

	for (uint32_t i = 0; i < frames->cnt; i++) {
		uint32_t location = prof->stack_locations[frames->first + i];
		uint32_t lines = prof->locations[location].line_cnt;

		lines = lines ? lines : 1;
		if (depth < lines) {
			*out = (struct frame){location, depth};
			return true;
		}
		depth -= lines;
	}
	return false;
}

static int row_cmp(const void *left, const void *right, void *arg)
{
	const struct row *lhs = left, *rhs = right;

	for (uint32_t depth = 0; depth < DEPTH_MAX; depth++) {
		struct frame a, b;
		bool has_a = frame_at(arg, lhs->stack, depth, &a);
		bool has_b = frame_at(arg, rhs->stack, depth, &b);

		if (!has_a || !has_b)
			return has_a - has_b;
		if (a.location != b.location)
			return a.location < b.location ? -1 : 1;
		if (a.line != b.line)
			return a.line < b.line ? -1 : 1;
	}
	return 0;
}

static int collect_rows(struct tree *tree, uint32_t value)
{
	const struct profile *prof = tree->prof;

	tree->rows = calloc(prof->sample_cnt + 1, sizeof(*tree->rows));
	if (!tree->rows)
		return -ENOMEM;
	for (size_t i = 0; i < prof->sample_cnt; i++) {
		int64_t number = prof->values[i * prof->value_type_cnt + value];

		if (number <= 0)
			continue;
		tree->rows[tree->cnt++] = (struct row){prof->samples[i].stack, number};
		tree->sum = profile_value_sum(tree->sum, number);
	}
	qsort_r(tree->rows, tree->cnt, sizeof(*tree->rows), row_cmp, (void *)prof);
	return 0;
}

static int child_cmp(const void *left, const void *right)
{
	const struct child *lhs = left, *rhs = right;

	if (lhs->value != rhs->value)
		return lhs->value > rhs->value ? -1 : 1;
	return (lhs->lo > rhs->lo) - (lhs->lo < rhs->lo);
}

/* The groups of @node's rows by their frame at @depth, largest first. Owned; NULL on -ENOMEM. */
static struct child *split(const struct tree *tree, const struct child *node, uint32_t depth,
			   size_t *cnt_out)
{
	struct child *children = calloc(node->hi - node->lo + 1, sizeof(*children));
	size_t cnt = 0;

	for (size_t i = node->lo; children && i < node->hi; i++) {
		struct child *last = cnt ? &children[cnt - 1] : NULL;
		struct frame frame;

		if (!frame_at(tree->prof, tree->rows[i].stack, depth, &frame))
			continue;
		if (!last || last->frame.location != frame.location ||
		    last->frame.line != frame.line) {
			last = &children[cnt++];
			*last = (struct child){.lo = i, .frame = frame};
		}
		last->hi = i + 1;
		last->value = profile_value_sum(last->value, tree->rows[i].value);
	}
	if (children)
		qsort(children, cnt, sizeof(*children), child_cmp);
	*cnt_out = cnt;
	return children;
}

/* "0xADDRESS: FUNCTION (FILE:LINE)", or "(in MODULE)". */
static void add_frame(const struct tree *tree, const struct frame *frame)
{
	const struct profile *prof = tree->prof;
	const struct profile_location *location = &prof->locations[frame->location];
	const char *name = profile_location_name(prof, frame->location, frame->line);
	const char *file = "";
	uint32_t line = 0;

	if (frame->line < location->line_cnt) {
		const struct profile_line *at = &prof->lines[location->first_line + frame->line];

		line = at->line;
		file = profile_str(prof, prof->functions[at->function].file);
	}
	buf_printf(tree->out, "0x%" PRIX64 ": ", location->address);
	text_add_line(tree->out, *name ? name : "???", *name ? strlen(name) : 3);
	if (*file) {
		buf_add_str(tree->out, " (");
		text_add_line(tree->out, file, strlen(file));
		buf_printf(tree->out, ":%u)", line);
	} else if (location->mapping != PROFILE_NONE) {
		const char *path = profile_str(prof, prof->mappings[location->mapping].path);

		buf_add_str(tree->out, " (in ");
		text_add_line(tree->out, path, strlen(path));
		buf_add_str(tree->out, ")");
	}
}

/* Children of a tree's node that are printed one by one: the others are one line together. */
static size_t large_cnt(const struct tree *tree, const struct child *children, size_t cnt)
{
	size_t i = 0;

	while (i < cnt && children[i].value >= tree->sum / 1000 * THRESHOLD_PERMILLE)
		i++;
	return i;
}

static int add_node(const struct tree *tree, const struct child *node, uint32_t depth);

static int add_children(const struct tree *tree, const struct child *children, size_t cnt,
			size_t large, uint32_t depth)
{
	int64_t rest = 0;
	int err = 0;

	for (size_t i = 0; i < large && !err; i++)
		err = add_node(tree, &children[i], depth);
	for (size_t i = large; i < cnt; i++)
		rest = profile_value_sum(rest, children[i].value);
	if (large < cnt)
		buf_printf(tree->out,
			   "%*sn0: %" PRId64 " in %zu place%s, %sbelow massif's threshold "
			   "(1.00%%)\n",
			   (int)depth, "", rest, cnt - large, cnt - large == 1 ? "" : "s",
			   cnt - large == 1 ? "" : "all ");
	return err;
}

/* @depth 0: the root, which is no frame. */
static int add_node(const struct tree *tree, const struct child *node, uint32_t depth)
{
	size_t cnt = 0, large;
	_cleanup_free_ struct child *children =
		depth < DEPTH_MAX ? split(tree, node, depth, &cnt) : calloc(1, sizeof(*children));

	if (!children)
		return -ENOMEM;
	large = large_cnt(tree, children, cnt);
	buf_printf(tree->out, "%*sn%zu: %" PRId64 " ", (int)depth, "", large + (large < cnt),
		   node->value);
	if (depth)
		add_frame(tree, &node->frame);
	else
		buf_add_str(tree->out, "(heap allocation functions) malloc/new/new[], "
				       "--alloc-fns, etc.");
	buf_add_str(tree->out, "\n");
	return add_children(tree, children, cnt, large, depth + 1);
}

static void add_head(struct buf *out, unsigned number, uint64_t time_ms, int64_t bytes,
		     const char *tree)
{
	buf_printf(out,
		   "#-----------\nsnapshot=%u\n#-----------\ntime=%" PRIu64 "\nmem_heap_B=%" PRId64
		   "\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
		   number, time_ms, bytes, tree);
}

/* The heap as it was when @value of each stack was there. */
static int add_snapshot(const struct profile *prof, uint32_t value, unsigned number,
			uint64_t time_ms, const char *kind, struct buf *out)
{
	struct tree tree = {.prof = prof, .out = out};
	int err = collect_rows(&tree, value);
	struct child root = {.hi = tree.cnt, .value = tree.sum};

	if (!err)
		add_head(out, number, time_ms, tree.sum, tree.cnt ? kind : "empty");
	if (!err && tree.cnt)
		err = add_node(&tree, &root, 0);
	free(tree.rows);
	return err;
}

static int encode(const struct profile *prof, const struct encoder_opts *opts, struct buf *out)
{
	uint32_t asked = opts->value == PROFILE_NONE ? prof->default_value : opts->value;
	uint32_t peak = profile_find_value(prof, "peak_space");
	uint32_t inuse = profile_find_value(prof, "inuse_space");
	uint64_t end_ms = prof->duration_ns / 1000000;
	int err = 0;

	buf_add_str(out, "desc: (recorded by bpfprof)\ncmd: ");
	text_add_line(out, opts->title ? opts->title : "bpfprof",
		      strlen(opts->title ? opts->title : "bpfprof"));
	buf_add_str(out, "\ntime_unit: ms\n");
	add_head(out, 0, 0, 0, "empty");
	if (peak == PROFILE_NONE)
		peak = asked < prof->value_type_cnt ? asked : PROFILE_NONE;
	/* When it was, is not known: somewhere between. */
	if (peak != PROFILE_NONE)
		err = add_snapshot(prof, peak, 1, end_ms / 2, "peak", out);
	if (!err && inuse != PROFILE_NONE)
		err = add_snapshot(prof, inuse, 2, end_ms, "detailed", out);
	return err ? err : out->err;
}

const struct encoder encoder_massif = {
	.name = "massif",
	.extension = ".massif",
	.help = "massif's text, for ms_print: the heap at its peak and at the end",
	.encode = encode,
};
