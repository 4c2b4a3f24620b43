/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callgrind's format (valgrind's manual, "Callgrind Format Specification"), which
 * callgrind_annotate and KCachegrind read: for each function the cost of its lines and of its
 * calls.
 *
 *	ob=(1) /bin/app			the sample `app` main > work, 5 ns, as main's part
 *	fl=(1) main.c
 *	fn=(1) main
 *	cfi=(2) work.c
 *	cfn=(2) work
 *	calls=1 20			where the called function begins
 *	12 5				line of the call, inclusive cost
 *
 * Inlined calls are calls. Function and file names stand once, then their numbers do. How often a
 * function was called a profile does not know: each call is written as one.
 *
 * Recursion: readers take the sum of all calls of a function as its inclusive cost, so that a
 * sample which is in a function twice would count twice. The call of a function that is on the
 * stack already is written with cost 0; hence every function's inclusive cost is that of the
 * samples it is in, each once, and the call graph still has the cycle.
 *
 * For the same reason each stack begins with a frame that nothing calls: the --by frame, or "[all]"
 * where there is none, both in the file "[process]".
 */
#include "encode/encoder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "encode/frame_name.h"
#include "encode/frames.h"
#include "encode/text.h"

enum { NO_CALLEE = UINT32_MAX };

struct function {
	uint32_t object, file, name; /* in names; STRTAB_EMPTY unknown */
	uint32_t start_line;
};

/* Cost of a function's line: its own, or of a call from there. */
struct cost {
	uint32_t function, line;
	uint32_t callee; /* or NO_CALLEE */
	int64_t value;
};

struct writer {
	struct frames frames;
	struct buf *out;
	struct strtab names; /* as written */
	struct buf scratch;
	uint32_t *of_items; /* owned: by item its function; the last one is "[all]" */
	struct function *functions; /* owned */
	size_t function_cnt, function_cap;
	struct cost *costs; /* owned */
	size_t cost_cnt, cost_cap;
	uint32_t *seen; /* owned: by function the last sample, counted from 1, that it was in */
	bool *is_named[3]; /* owned: by name, is it written already as object, file, function? */
	struct hmap function_index, cost_index;
	int64_t total;
};

static void writer_deinit(struct writer *writer)
{
	frames_deinit(&writer->frames);
	strtab_deinit(&writer->names);
	buf_deinit(&writer->scratch);
	free(writer->of_items);
	free(writer->functions);
	free(writer->costs);
	free(writer->seen);
	for (int i = 0; i < 3; i++)
		free(writer->is_named[i]);
	hmap_deinit(&writer->function_index);
	hmap_deinit(&writer->cost_index);
}

/* --- Functions --- */

/* A text that fits in a line. */
static uint32_t intern(struct writer *writer, const char *str, size_t len)
{
	buf_reset(&writer->scratch);
	text_add_line(&writer->scratch, str, len);
	if (writer->scratch.err)
		return STRTAB_NONE;
	return strtab_add(&writer->names, buf_cstr(&writer->scratch), writer->scratch.len);
}

/* A function without a known file is told from others of its name by its module: readers know a
 * function by file and name alone. */
static uint32_t intern_file(struct writer *writer, const struct frame *frame, const char *path)
{
	const char *file =
		frame->is_process ? "[process]" : profile_str(writer->frames.prof, frame->file);
	size_t len = strlen(file);

	if (!len)
		file = frame_module(path, &len);
	return intern(writer, file, len);
}

static bool is_function(const void *owner, uint32_t index, const void *key)
{
	const struct function *known = &((const struct writer *)owner)->functions[index];
	const struct function *wanted = key;

	return known->name == wanted->name && known->file == wanted->file &&
	       known->object == wanted->object;
}

static int find_function(struct writer *writer, const struct function *wanted, uint32_t *out)
{
	uint64_t hash = hash_mix(hash_mix(wanted->name, wanted->file), wanted->object);
	int err;

	*out = hmap_find(&writer->function_index, hash, is_function, writer, wanted);
	if (*out != HMAP_NONE)
		return 0;
	if (wanted->name == STRTAB_NONE || wanted->file == STRTAB_NONE ||
	    wanted->object == STRTAB_NONE)
		return -ENOMEM;
	err = array_reserve(&writer->functions, &writer->function_cap, writer->function_cnt + 1,
			    sizeof(*writer->functions));
	if (err)
		return err;
	*out = (uint32_t)writer->function_cnt;
	writer->functions[writer->function_cnt++] = *wanted;
	return hmap_insert(&writer->function_index, hash, *out);
}

static int name_frame(struct writer *writer, const struct frame *frame, const char *name,
		      uint32_t *out)
{
	const struct profile *prof = writer->frames.prof;
	const char *path = frame->mapping == PROFILE_NONE
				   ? ""
				   : profile_str(prof, prof->mappings[frame->mapping].path);
	struct function function = {
		.object = intern(writer, path, strlen(path)),
		.file = intern_file(writer, frame, path),
		.name = intern(writer, name, strlen(name)),
		.start_line = frame->start_line,
	};

	return find_function(writer, &function, out);
}

static int name_functions(struct writer *writer)
{
	const struct frame all = {.mapping = PROFILE_NONE, .is_process = true};
	const struct frames *frames = &writer->frames;
	int err = 0;

	writer->of_items = calloc(frames->cnt + 1, sizeof(*writer->of_items));
	if (!writer->of_items)
		return -ENOMEM;
	for (size_t i = 0; i < frames->cnt && !err; i++)
		err = name_frame(writer, &frames->items[i], frames_name(frames, &frames->items[i]),
				 &writer->of_items[i]);
	if (!err)
		err = name_frame(writer, &all, "[all]", &writer->of_items[frames->cnt]);
	writer->seen = calloc(writer->function_cnt + 1, sizeof(*writer->seen));
	return err || writer->seen ? err : -ENOMEM;
}

/* --- Costs --- */

static bool is_cost(const void *owner, uint32_t index, const void *key)
{
	const struct cost *known = &((const struct writer *)owner)->costs[index], *wanted = key;

	return known->function == wanted->function && known->line == wanted->line &&
	       known->callee == wanted->callee;
}

static int add_cost(struct writer *writer, const struct cost *cost)
{
	uint64_t hash = hash_mix(hash_mix(cost->function, cost->line), cost->callee);
	uint32_t known = hmap_find(&writer->cost_index, hash, is_cost, writer, cost);
	int err;

	if (known != HMAP_NONE) {
		writer->costs[known].value =
			profile_value_sum(writer->costs[known].value, cost->value);
		return 0;
	}
	if (writer->cost_cnt >= HMAP_NONE)
		return -E2BIG;
	err = array_reserve(&writer->costs, &writer->cost_cap, writer->cost_cnt + 1,
			    sizeof(*writer->costs));
	if (err)
		return err;
	writer->costs[writer->cost_cnt] = *cost;
	return hmap_insert(&writer->cost_index, hash, (uint32_t)writer->cost_cnt++);
}

/* The frames of a sample are called one by the other from "[all]" or the --by frame on; the last
 * one has the cost of its own. @ordinal: of the sample, from 1. */
static int add_stack(struct writer *writer, uint32_t ordinal, int64_t value)
{
	const struct frames *frames = &writer->frames;
	struct cost cost = {.callee = NO_CALLEE, .value = value};
	size_t at = 0;
	int err = 0;

	if (frames->stack_cnt && frames->items[frames->stack[0]].is_process)
		cost.function = writer->of_items[frames->stack[at++]];
	else
		cost.function = writer->of_items[frames->cnt];
	writer->seen[cost.function] = ordinal;
	for (; at < frames->stack_cnt && !err; at++) {
		cost.callee = writer->of_items[frames->stack[at]];
		cost.value = writer->seen[cost.callee] == ordinal ? 0 : value;
		writer->seen[cost.callee] = ordinal;
		err = add_cost(writer, &cost);
		cost.function = cost.callee;
		cost.line = frames->items[frames->stack[at]].line;
	}
	cost.callee = NO_CALLEE;
	cost.value = value;
	return err ? err : add_cost(writer, &cost);
}

static int add_samples(struct writer *writer, uint32_t value)
{
	const struct profile *prof = writer->frames.prof;
	int err = 0;

	for (uint32_t i = 0; i < prof->sample_cnt && !err; i++) {
		int64_t cost = prof->values[(size_t)i * prof->value_type_cnt + value];

		if (cost <= 0)
			continue;
		err = frames_stack(&writer->frames, &prof->samples[i]);
		if (!err)
			err = add_stack(writer, i + 1, cost);
		writer->total = profile_value_sum(writer->total, cost);
	}
	return err;
}

/* A function's own lines come before its calls. */
static int compare_costs(const void *left_ptr, const void *right_ptr)
{
	const struct cost *left = left_ptr, *right = right_ptr;
	bool left_calls = left->callee != NO_CALLEE, right_calls = right->callee != NO_CALLEE;

	if (left->function != right->function)
		return left->function < right->function ? -1 : 1;
	if (left_calls != right_calls)
		return left_calls - right_calls;
	if (left->line != right->line)
		return left->line < right->line ? -1 : 1;
	return (left->callee > right->callee) - (left->callee < right->callee);
}

/* --- Text --- */

/* "fn=(7) main", and from the second time on "fn=(7)". */
static void add_name(struct writer *writer, const char *key, bool *is_named, uint32_t name)
{
	buf_printf(writer->out, "%s=(%u)", key, name + 1);
	if (!is_named[name])
		buf_printf(writer->out, " %s",
			   name == STRTAB_EMPTY ? "???" : strtab_get(&writer->names, name));
	is_named[name] = true;
	buf_add_char(writer->out, '\n');
}

static void add_function(struct writer *writer, uint32_t index, const char *const keys[3])
{
	const struct function *function = &writer->functions[index];

	add_name(writer, keys[0], writer->is_named[0], function->object);
	add_name(writer, keys[1], writer->is_named[1], function->file);
	add_name(writer, keys[2], writer->is_named[2], function->name);
}

static void add_body(struct writer *writer)
{
	static const char *const own_keys[] = {"ob", "fl", "fn"};
	static const char *const call_keys[] = {"cob", "cfi", "cfn"};

	for (size_t i = 0; i < writer->cost_cnt; i++) {
		const struct cost *cost = &writer->costs[i];

		if (!i || cost->function != cost[-1].function) {
			buf_add_char(writer->out, '\n');
			add_function(writer, cost->function, own_keys);
		}
		if (cost->callee != NO_CALLEE) {
			add_function(writer, cost->callee, call_keys);
			buf_printf(writer->out, "calls=1 %u\n",
				   writer->functions[cost->callee].start_line);
		}
		buf_printf(writer->out, "%u %" PRId64 "\n", cost->line, cost->value);
	}
}

/* An event's name is one word of letters and digits. */
static void add_event(struct buf *out, const char *type)
{
	if (!*type)
		buf_add_str(out, "samples");
	for (; *type; type++)
		buf_add_char(out, strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789_-",
					 *type)
					  ? *type
					  : '_');
}

static void add_head(struct writer *writer, const struct encoder_opts *opts, uint32_t value)
{
	const struct profile *prof = writer->frames.prof;
	const char *title = opts->title ? opts->title : "bpfprof", *unit = "";
	struct buf *out = writer->out;

	buf_add_str(out, "# callgrind format\nversion: 1\ncreator: bpfprof\npid: 0\ncmd: ");
	text_add_line(out, title, strlen(title));
	buf_add_str(out, "\npart: 1\n\ndesc: Note: sampled; a call written once may be many\n");
	if (!writer->total)
		buf_add_str(out, "desc: Note: empty, nothing was sampled\n");
	if (value != PROFILE_NONE)
		unit = profile_str(prof, prof->value_types[value].unit);
	buf_add_str(out, "desc: Unit: ");
	text_add_line(out, unit, strlen(unit));
	buf_add_str(out, "\n\npositions: line\nevents: ");
	add_event(out,
		  value == PROFILE_NONE ? "" : profile_str(prof, prof->value_types[value].type));
	buf_printf(out, "\nsummary: %" PRId64 "\n", writer->total);
}

static int fill(struct writer *writer, const struct encoder_opts *opts, uint32_t value)
{
	int err = frames_init(&writer->frames, writer->frames.prof, opts->by);

	if (!err)
		err = strtab_init(&writer->names);
	if (!err)
		err = name_functions(writer);
	if (!err && value != PROFILE_NONE)
		err = add_samples(writer, value);
	for (int i = 0; i < 3 && !err; i++) {
		writer->is_named[i] = calloc(writer->names.cnt + 1, sizeof(**writer->is_named));
		err = writer->is_named[i] ? 0 : -ENOMEM;
	}
	return err;
}

static int encode(const struct profile *prof, const struct encoder_opts *opts, struct buf *out)
{
	_cleanup_(writer_deinit) struct writer writer = {.frames = {.prof = prof}, .out = out};
	uint32_t value;
	int err = encoder_pick_value(prof, opts, &value);

	buf_init(&writer.scratch, BUF_NO_MAX);
	if (!err)
		err = fill(&writer, opts, value);
	if (err)
		return err;
	if (writer.cost_cnt)
		qsort(writer.costs, writer.cost_cnt, sizeof(*writer.costs), compare_costs);
	add_head(&writer, opts, value);
	add_body(&writer);
	buf_printf(out, "\ntotals: %" PRId64 "\n", writer.total);
	return out->err;
}

const struct encoder encoder_callgrind = {
	.name = "callgrind",
	.extension = ".callgrind",
	.help = "for callgrind_annotate and KCachegrind: lines, calls with inclusive costs, "
		"inlines",
	.is_one_value = true,
	.encode = encode,
};
