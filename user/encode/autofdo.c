/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample profile as text, which clang -fprofile-sample-use= and llvm-profdata merge --sample read
 * (clang's manual, "Sample Profile Text Format"): functions by the names that the linker knows, and
 * in each of them the samples of its lines, counted from the line where it starts.
 *
 *	work:13:0		13 samples in work() and what is inlined there
 *	 7: 4			4 of them 7 lines below its first one
 *	 23: parse:9		9 in parse(), inlined into that line
 *	  1: 9
 *
 * Counted is where a sample was taken, the innermost frame; callers are not, as their lines were
 * not running. What stands at a line is the count of the one of its instructions that has most, as
 * in AutoFDO (Chen, Li, Moseley, CGO 2016): the sum would grow with how many instructions a line
 * has. The totals of functions are sums of samples. How often a function was entered nobody knows
 * without branch records: 0. Discriminators, which tell parts of one line from each other, are no
 * part of a profile: all are 0.
 *
 * A function is its name: of two programs that have the same one the samples are added.
 */
#include "encode/encoder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "encode/text.h"

enum {
	INLINES_MAX = 64, /* nested; what is deeper is not written */
	OFFSET_MASK = 0xffff, /* all that the format holds of a line's number */
	NO_NODE = UINT32_MAX,
};

/* A function, or what of one is inlined at a line of another. */
struct node {
	uint32_t parent; /* NO_NODE: not inlined */
	uint32_t offset; /* of the call, in the parent */
	uint32_t name; /* string of the profile */
	int64_t total;
};

/* Samples of a line. */
struct body {
	uint32_t node, offset;
	int64_t value;
};

struct writer {
	const struct profile *prof;
	struct buf *out;
	struct node *nodes; /* owned; a parent before what is in it */
	size_t node_cnt, node_cap;
	struct body *bodies; /* owned */
	size_t body_cnt, body_cap;
	struct hmap node_index, body_index;
	uint32_t *order; /* owned: nodes, those of one parent together, see compare_nodes() */
	uint32_t *first_child, *first_body; /* owned: by node into order and bodies; one more entry
					       closes the last range */
	int64_t counted, uncounted;
};

static void writer_deinit(struct writer *writer)
{
	free(writer->nodes);
	free(writer->bodies);
	hmap_deinit(&writer->node_index);
	hmap_deinit(&writer->body_index);
	free(writer->order);
	free(writer->first_child);
	free(writer->first_body);
}

/* --- Counting --- */

static bool is_node(const void *owner, uint32_t index, const void *key)
{
	const struct node *known = &((const struct writer *)owner)->nodes[index];
	const struct node *wanted = key;

	return known->parent == wanted->parent && known->offset == wanted->offset &&
	       known->name == wanted->name;
}

static int find_node(struct writer *writer, const struct node *wanted, uint32_t *out)
{
	uint64_t hash = hash_mix(hash_mix(wanted->parent, wanted->offset), wanted->name);
	int err;

	*out = hmap_find(&writer->node_index, hash, is_node, writer, wanted);
	if (*out != HMAP_NONE)
		return 0;
	if (writer->node_cnt + 1 >= NO_NODE)
		return -E2BIG;
	err = array_reserve(&writer->nodes, &writer->node_cap, writer->node_cnt + 1,
			    sizeof(*writer->nodes));
	if (!err)
		err = hmap_insert(&writer->node_index, hash, (uint32_t)writer->node_cnt);
	if (err)
		return err;
	*out = (uint32_t)writer->node_cnt;
	writer->nodes[writer->node_cnt++] = *wanted;
	return 0;
}

static bool is_body(const void *owner, uint32_t index, const void *key)
{
	const struct body *known = &((const struct writer *)owner)->bodies[index];
	const struct body *wanted = key;

	return known->node == wanted->node && known->offset == wanted->offset;
}

static int add_body(struct writer *writer, const struct body *wanted)
{
	uint64_t hash = hash_mix(wanted->node, wanted->offset);
	uint32_t at = hmap_find(&writer->body_index, hash, is_body, writer, wanted);
	int err;

	if (at != HMAP_NONE) {
		if (writer->bodies[at].value < wanted->value)
			writer->bodies[at].value = wanted->value;
		return 0;
	}
	if (writer->body_cnt + 1 >= NO_NODE)
		return -E2BIG;
	err = array_reserve(&writer->bodies, &writer->body_cap, writer->body_cnt + 1,
			    sizeof(*writer->bodies));
	if (!err)
		err = hmap_insert(&writer->body_index, hash, (uint32_t)writer->body_cnt);
	if (!err)
		writer->bodies[writer->body_cnt++] = *wanted;
	return err;
}

/* The linker's name, as far as it is known. */
static uint32_t name_of(const struct profile *prof, const struct profile_line *line)
{
	const struct profile_function *function = &prof->functions[line->function];

	return function->system_name == STRTAB_EMPTY ? function->name : function->system_name;
}

static uint32_t offset_of(const struct profile *prof, const struct profile_line *line)
{
	return (line->line - prof->functions[line->function].start_line) & OFFSET_MASK;
}

/* Can it be written: are the lines known, and is each name what a reader takes for one? */
static bool is_known(const struct profile *prof, const struct profile_location *loc)
{
	if (!loc->line_cnt || loc->line_cnt > INLINES_MAX)
		return false;
	for (uint32_t i = 0; i < loc->line_cnt; i++) {
		const struct profile_line *line = &prof->lines[loc->first_line + i];
		unsigned char first = (unsigned char)*profile_str(prof, name_of(prof, line));

		if (!line->line || !prof->functions[line->function].start_line)
			return false;
		if (first <= ' ' || first == '#' || first == '!' || (first >= '0' && first <= '9'))
			return false;
	}
	return true;
}

/* @value samples were taken at @location. */
static int count_location(struct writer *writer, uint32_t location, int64_t value)
{
	const struct profile *prof = writer->prof;
	const struct profile_location *loc = &prof->locations[location];
	struct node node = {.parent = NO_NODE};
	struct body body = {.value = value};
	int err = 0;

	if (!is_known(prof, loc)) {
		writer->uncounted = profile_value_sum(writer->uncounted, value);
		return 0;
	}
	for (uint32_t i = loc->line_cnt; i-- > 0 && !err;) {
		const struct profile_line *line = &prof->lines[loc->first_line + i];

		node.name = name_of(prof, line);
		err = find_node(writer, &node, &body.node);
		node.parent = body.node;
		node.offset = body.offset = offset_of(prof, line);
	}
	if (err)
		return err;
	writer->counted = profile_value_sum(writer->counted, value);
	writer->nodes[body.node].total = profile_value_sum(writer->nodes[body.node].total, value);
	return add_body(writer, &body);
}

static int count_samples(struct writer *writer, uint32_t value)
{
	const struct profile *prof = writer->prof;
	_cleanup_free_ int64_t *values = calloc(prof->location_cnt + 1, sizeof(*values));
	int err = 0;

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < prof->sample_cnt; i++) {
		const struct profile_stack *stack = &prof->stacks[prof->samples[i].stack];
		int64_t more = prof->values[i * prof->value_type_cnt + value];
		uint32_t leaf;

		if (!stack->cnt || more <= 0)
			continue;
		leaf = prof->stack_locations[stack->first];
		values[leaf] = profile_value_sum(values[leaf], more);
	}
	for (uint32_t i = 0; i < prof->location_cnt && !err; i++)
		if (values[i])
			err = count_location(writer, i, values[i]);
	for (size_t i = writer->node_cnt; i-- > 0;) {
		struct node *node = &writer->nodes[i];

		if (node->parent != NO_NODE)
			writer->nodes[node->parent].total =
				profile_value_sum(writer->nodes[node->parent].total, node->total);
	}
	return err;
}

/* --- Order --- */

/* Functions that are not inlined first, the largest of them first; the others by parent and line.
 */
static int compare_nodes(const void *left_ptr, const void *right_ptr, void *writer_ptr)
{
	const struct writer *writer = writer_ptr;
	const struct node *left = &writer->nodes[*(const uint32_t *)left_ptr];
	const struct node *right = &writer->nodes[*(const uint32_t *)right_ptr];

	if (left->parent != right->parent)
		return left->parent + 1 < right->parent + 1 ? -1 : 1;
	if (left->offset != right->offset)
		return left->offset < right->offset ? -1 : 1;
	if (left->total != right->total)
		return left->total > right->total ? -1 : 1;
	return strcmp(profile_str(writer->prof, left->name),
		      profile_str(writer->prof, right->name));
}

static int compare_bodies(const void *left_ptr, const void *right_ptr)
{
	const struct body *left = left_ptr, *right = right_ptr;

	if (left->node != right->node)
		return left->node < right->node ? -1 : 1;
	return (left->offset > right->offset) - (left->offset < right->offset);
}

/* Part of sort(): where the range of each node begins, from how many it has at [i + 1]. */
static void sum_up(uint32_t *first, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		first[i + 1] += first[i];
}

static int sort(struct writer *writer)
{
	size_t cnt = writer->node_cnt;
	uint32_t root_cnt = 0;

	writer->order = calloc(cnt + 1, sizeof(*writer->order));
	writer->first_child = calloc(cnt + 1, sizeof(*writer->first_child));
	writer->first_body = calloc(cnt + 1, sizeof(*writer->first_body));
	if (!writer->order || !writer->first_child || !writer->first_body)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt; i++) {
		writer->order[i] = i;
		if (writer->nodes[i].parent == NO_NODE)
			root_cnt++;
		else
			writer->first_child[writer->nodes[i].parent + 1]++;
	}
	for (size_t i = 0; i < writer->body_cnt; i++)
		writer->first_body[writer->bodies[i].node + 1]++;
	writer->first_child[0] = root_cnt;
	sum_up(writer->first_child, cnt);
	sum_up(writer->first_body, cnt);
	if (cnt)
		qsort_r(writer->order, cnt, sizeof(*writer->order), compare_nodes, writer);
	if (writer->body_cnt)
		qsort(writer->bodies, writer->body_cnt, sizeof(*writer->bodies), compare_bodies);
	return 0;
}

/* --- Writing --- */

static void indent(struct buf *out, unsigned int depth)
{
	for (; depth > 0; depth--)
		buf_add_char(out, ' ');
}

static void add_name(struct writer *writer, uint32_t name)
{
	const char *text = profile_str(writer->prof, name);

	text_add_line(writer->out, text, strlen(text));
}

/* The lines of @node, which stand at @depth, and what is inlined there: INLINES_MAX deep at most.
 */
static void add_lines(struct writer *writer, uint32_t node, unsigned int depth)
{
	for (uint32_t i = writer->first_body[node]; i < writer->first_body[node + 1]; i++) {
		indent(writer->out, depth);
		buf_printf(writer->out, "%" PRIu32 ": %" PRId64 "\n", writer->bodies[i].offset,
			   writer->bodies[i].value);
	}
	for (uint32_t i = writer->first_child[node]; i < writer->first_child[node + 1]; i++) {
		const struct node *inlined = &writer->nodes[writer->order[i]];

		indent(writer->out, depth);
		buf_printf(writer->out, "%" PRIu32 ": ", inlined->offset);
		add_name(writer, inlined->name);
		buf_printf(writer->out, ":%" PRId64 "\n", inlined->total);
		add_lines(writer, writer->order[i], depth + 1);
	}
}

static void add_file(struct writer *writer)
{
	uint32_t root_cnt = writer->node_cnt ? writer->first_child[0] : 0;

	buf_printf(writer->out,
		   "# bpfprof: %" PRId64 " counted, %" PRId64
		   " in code whose lines are not known\n",
		   writer->counted, writer->uncounted);
	for (uint32_t i = 0; i < root_cnt; i++) {
		const struct node *function = &writer->nodes[writer->order[i]];

		add_name(writer, function->name);
		buf_printf(writer->out, ":%" PRId64 ":0\n", function->total);
		add_lines(writer, writer->order[i], 1);
	}
}

/* Samples, where the profile has them and nothing else was asked for. */
static int pick_value(const struct profile *prof, const struct encoder_opts *opts, uint32_t *out)
{
	struct encoder_opts own = *opts;

	if (own.value == PROFILE_NONE)
		own.value = profile_find_value(prof, "samples");
	return encoder_pick_value(prof, &own, out);
}

static int encode(const struct profile *prof, const struct encoder_opts *opts, struct buf *out)
{
	_cleanup_(writer_deinit) struct writer writer = {.prof = prof, .out = out};
	uint32_t value;
	int err = prof->err ? prof->err : pick_value(prof, opts, &value);

	hmap_init(&writer.node_index);
	hmap_init(&writer.body_index);
	if (!err && value != PROFILE_NONE)
		err = count_samples(&writer, value);
	if (!err)
		err = sort(&writer);
	if (err)
		return err;
	add_file(&writer);
	return out->err;
}

const struct encoder encoder_autofdo = {
	.name = "autofdo",
	.extension = ".afdo.txt",
	.help = "for clang -fprofile-sample-use=: samples of lines, from each function's first one",
	.is_one_value = true,
	.encode = encode,
};
