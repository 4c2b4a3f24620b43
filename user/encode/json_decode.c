/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reader of our own JSON; json_profile.h has the layout. Keys may come in any order (tools that
 * sort them exist): the first pass notes where each section is, the second reads them, what is
 * referred to first.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/json_reader.h"
#include "base/parse.h"
#include "encode/decode.h"
#include "encode/json_profile.h"

/* What an index of the file is in the profile. */
struct ids {
	uint32_t *items; /* owned */
	size_t cnt, cap;
};

struct json_profile_reader {
	struct json_reader js;
	struct profile *out;
	struct buf *why; /* may be NULL */
	const char *what; /* is being read: "sample" 3 */
	size_t ordinal;
	struct ids mappings, functions, locations, stacks, label_sets;
	uint64_t *shifts; /* owned: by mapping of the file, what its addresses need added */
	size_t shift_cap;
	/* scratch, owned */
	struct profile_line *lines;
	size_t line_cnt, line_cap;
	struct ids stack;
	struct profile_label *labels;
	size_t label_cnt, label_cap;
};

static void deinit(struct json_profile_reader *rdr)
{
	json_reader_deinit(&rdr->js);
	free(rdr->mappings.items);
	free(rdr->functions.items);
	free(rdr->locations.items);
	free(rdr->stacks.items);
	free(rdr->label_sets.items);
	free(rdr->shifts);
	free(rdr->lines);
	free(rdr->stack.items);
	free(rdr->labels);
}

__attribute__((format(printf, 2, 3))) static int corrupt(struct json_profile_reader *rdr,
							 const char *fmt, ...)
{
	char text[160];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (rdr->why && !rdr->why->len)
		buf_printf(rdr->why, "corrupt profile: %s %zu %s", rdr->what, rdr->ordinal, text);
	return -EBADMSG;
}

/* The error of what was read so far. */
static int check(struct json_profile_reader *rdr)
{
	if (rdr->out->err)
		return rdr->out->err;
	if (rdr->js.rd.err == -EBADMSG)
		return corrupt(rdr, "is malformed or cut short");
	return rdr->js.rd.err;
}

static int add_id(struct json_profile_reader *rdr, struct ids *ids, uint32_t id)
{
	int err = check(rdr);

	if (!err)
		err = array_reserve(&ids->items, &ids->cap, ids->cnt + 1, sizeof(*ids->items));
	if (!err)
		ids->items[ids->cnt++] = id;
	return err;
}

/* The next number as an index of @ids, into *@out what it is in the profile. */
static int read_index(struct json_profile_reader *rdr, const struct ids *ids, const char *kind,
		      uint32_t *out)
{
	uint64_t index = json_read_u64(&rdr->js);
	int err = check(rdr);

	if (!err && index >= ids->cnt)
		err = corrupt(rdr, "refers to %s %" PRIu64 ", which is not there", kind, index);
	if (!err)
		*out = ids->items[index];
	return err;
}

static uint32_t read_string(struct json_profile_reader *rdr)
{
	json_read_str(&rdr->js);
	return profile_stringn(rdr->out, buf_cstr(&rdr->js.text), rdr->js.text.len);
}

/* "0x12ab" */
static uint64_t read_address(struct json_profile_reader *rdr)
{
	const char *text = json_read_str(&rdr->js);
	uint64_t address = 0;

	if (!rdr->js.rd.err && (strncmp(text, "0x", 2) || parse_u64(text, &address)))
		reader_fail(&rdr->js.rd);
	return address;
}

/* Line numbers of other tools may be anything; what is none is unknown. */
static uint32_t read_line_number(struct json_profile_reader *rdr)
{
	uint64_t number = json_read_u64(&rdr->js);

	return number <= INT32_MAX ? (uint32_t)number : 0;
}

static uint32_t read_flags(struct json_profile_reader *rdr, const struct json_flag *names)
{
	uint32_t flags = 0;

	json_read_array(&rdr->js);
	while (json_read_item(&rdr->js)) {
		json_read_str(&rdr->js);
		for (const struct json_flag *flag = names; flag->name; flag++)
			if (json_text_is(&rdr->js, flag->name))
				flags |= flag->bit;
	}
	return flags;
}

/* --- What samples refer to --- */

static void read_value_type(struct json_profile_reader *rdr, struct profile_value_type *out)
{
	struct json_reader *js = &rdr->js;

	json_read_object(js);
	while (json_read_key(js)) {
		if (json_text_is(js, "type"))
			out->type = read_string(rdr);
		else if (json_text_is(js, "unit"))
			out->unit = read_string(rdr);
		else
			json_read_skip(js);
	}
}

static int read_sample_type(struct json_profile_reader *rdr)
{
	struct profile_value_type type = {.type = STRTAB_EMPTY, .unit = STRTAB_EMPTY};
	struct profile *out = rdr->out;

	if (out->value_type_cnt == PROFILE_VALUES_MAX)
		return corrupt(rdr, "is one more than the %d that are supported",
			       PROFILE_VALUES_MAX);
	read_value_type(rdr, &type);
	out->value_types[out->value_type_cnt++] = type;
	return check(rdr);
}

static int read_comment(struct json_profile_reader *rdr)
{
	json_read_str(&rdr->js);
	if (!rdr->js.rd.err)
		profile_add_comment(rdr->out, buf_cstr(&rdr->js.text));
	return check(rdr);
}

static int read_mapping(struct json_profile_reader *rdr)
{
	struct profile_mapping mapping = {.path = STRTAB_EMPTY, .build_id = STRTAB_EMPTY};
	struct json_reader *js = &rdr->js;
	uint64_t shift = 0;
	int err;

	json_read_object(js);
	while (json_read_key(js)) {
		if (json_text_is(js, "path"))
			mapping.path = read_string(rdr);
		else if (json_text_is(js, "build_id"))
			mapping.build_id = read_string(rdr);
		else if (json_text_is(js, "start"))
			mapping.start = read_address(rdr);
		else if (json_text_is(js, "limit"))
			mapping.limit = read_address(rdr);
		else if (json_text_is(js, "file_offset"))
			mapping.file_off = read_address(rdr);
		else if (json_text_is(js, "has"))
			mapping.flags = read_flags(rdr, json_mapping_flags);
		else
			json_read_skip(js);
	}
	err = check(rdr);
	if (!err)
		err = array_reserve(&rdr->shifts, &rdr->shift_cap, rdr->mappings.cnt + 1,
				    sizeof(*rdr->shifts));
	if (!err)
		err = add_id(rdr, &rdr->mappings, profile_mapping_add(rdr->out, &mapping, &shift));
	if (!err)
		rdr->shifts[rdr->mappings.cnt - 1] = shift;
	return err ? err : check(rdr);
}

static int read_function(struct json_profile_reader *rdr)
{
	struct profile_function function = {.name = STRTAB_EMPTY};
	struct json_reader *js = &rdr->js;
	int err;

	json_read_object(js);
	while (json_read_key(js)) {
		if (json_text_is(js, "name"))
			function.name = read_string(rdr);
		else if (json_text_is(js, "system_name"))
			function.system_name = read_string(rdr);
		else if (json_text_is(js, "file"))
			function.file = read_string(rdr);
		else if (json_text_is(js, "start_line"))
			function.start_line = read_line_number(rdr);
		else
			json_read_skip(js);
	}
	err = check(rdr);
	return err ? err : add_id(rdr, &rdr->functions, profile_function_add(rdr->out, &function));
}

static int read_line(struct json_profile_reader *rdr)
{
	struct profile_line line = {.function = PROFILE_NONE};
	struct json_reader *js = &rdr->js;
	int err = 0;

	json_read_object(js);
	while (!err && json_read_key(js)) {
		if (json_text_is(js, "function"))
			err = read_index(rdr, &rdr->functions, "function", &line.function);
		else if (json_text_is(js, "line"))
			line.line = read_line_number(rdr);
		else
			json_read_skip(js);
	}
	err = err ? err : check(rdr);
	if (!err && line.function == PROFILE_NONE)
		err = corrupt(rdr, "has a line without a function");
	if (!err && rdr->line_cnt == UINT16_MAX)
		err = corrupt(rdr, "has more than %u lines", UINT16_MAX);
	if (!err)
		err = array_reserve(&rdr->lines, &rdr->line_cap, rdr->line_cnt + 1,
				    sizeof(*rdr->lines));
	if (!err)
		rdr->lines[rdr->line_cnt++] = line;
	return err;
}

static int read_lines(struct json_profile_reader *rdr)
{
	int err = 0;

	rdr->line_cnt = 0;
	json_read_array(&rdr->js);
	while (!err && json_read_item(&rdr->js))
		err = read_line(rdr);
	return err;
}

/* The mapping's index in the profile, and what it does to addresses. */
static int read_mapping_index(struct json_profile_reader *rdr, uint32_t *out, uint64_t *shift)
{
	struct reader before = rdr->js.rd;
	int err = read_index(rdr, &rdr->mappings, "mapping", out);

	if (err)
		return err;
	rdr->js.rd = before;
	*shift = rdr->shifts[json_read_u64(&rdr->js)];
	return 0;
}

static int read_location(struct json_profile_reader *rdr)
{
	uint32_t mapping = PROFILE_NONE, flags = 0;
	uint64_t address = 0, shift = 0;
	struct json_reader *js = &rdr->js;
	int err = 0;

	rdr->line_cnt = 0;
	json_read_object(js);
	while (!err && json_read_key(js)) {
		if (json_text_is(js, "mapping"))
			err = read_mapping_index(rdr, &mapping, &shift);
		else if (json_text_is(js, "address"))
			address = read_address(rdr);
		else if (json_text_is(js, "flags"))
			flags = read_flags(rdr, json_location_flags);
		else if (json_text_is(js, "lines"))
			err = read_lines(rdr);
		else
			json_read_skip(js);
	}
	err = err ? err : check(rdr);
	if (err)
		return err;
	return add_id(rdr, &rdr->locations,
		      profile_location_lines(rdr->out, mapping, address + shift, (uint16_t)flags,
					     rdr->lines, rdr->line_cnt));
}

static int read_stack(struct json_profile_reader *rdr)
{
	uint32_t location = 0;
	int err = 0;

	rdr->stack.cnt = 0;
	json_read_array(&rdr->js);
	while (!err && json_read_item(&rdr->js)) {
		err = read_index(rdr, &rdr->locations, "location", &location);
		if (!err)
			err = add_id(rdr, &rdr->stack, location);
	}
	if (err)
		return err;
	return add_id(rdr, &rdr->stacks, profile_stack(rdr->out, rdr->stack.items, rdr->stack.cnt));
}

static int read_label(struct json_profile_reader *rdr)
{
	struct profile_label label = {.str = PROFILE_NONE};
	struct json_reader *js = &rdr->js;
	int err;

	json_read_object(js);
	while (json_read_key(js)) {
		if (json_text_is(js, "key"))
			label.key = read_string(rdr);
		else if (json_text_is(js, "str"))
			label.str = read_string(rdr);
		else if (json_text_is(js, "num"))
			label.num = json_read_i64(js);
		else if (json_text_is(js, "unit"))
			label.num_unit = read_string(rdr);
		else
			json_read_skip(js);
	}
	if (label.str != PROFILE_NONE) {
		label.num = 0;
		label.num_unit = STRTAB_EMPTY;
	}
	err = check(rdr);
	if (!err)
		err = array_reserve(&rdr->labels, &rdr->label_cap, rdr->label_cnt + 1,
				    sizeof(*rdr->labels));
	if (!err)
		rdr->labels[rdr->label_cnt++] = label;
	return err;
}

static int read_label_set(struct json_profile_reader *rdr)
{
	int err = 0;

	rdr->label_cnt = 0;
	json_read_array(&rdr->js);
	while (!err && json_read_item(&rdr->js))
		err = read_label(rdr);
	if (err)
		return err;
	return add_id(rdr, &rdr->label_sets, profile_labels(rdr->out, rdr->labels, rdr->label_cnt));
}

/* --- Samples --- */

static int read_values(struct json_profile_reader *rdr, int64_t *values)
{
	uint32_t cnt = 0;

	json_read_array(&rdr->js);
	while (json_read_item(&rdr->js)) {
		if (cnt == rdr->out->value_type_cnt)
			return corrupt(rdr, "has more values than there are value types");
		values[cnt++] = json_read_i64(&rdr->js);
	}
	if (!rdr->js.rd.err && cnt < rdr->out->value_type_cnt)
		return corrupt(rdr, "has fewer values than there are value types");
	return 0;
}

static int read_sample(struct json_profile_reader *rdr)
{
	uint32_t stack = PROFILE_NONE, labels = PROFILE_NONE;
	int64_t values[PROFILE_VALUES_MAX] = {0};
	struct json_reader *js = &rdr->js;
	int err = 0;

	json_read_object(js);
	while (!err && json_read_key(js)) {
		if (json_text_is(js, "stack"))
			err = read_index(rdr, &rdr->stacks, "stack", &stack);
		else if (json_text_is(js, "labels"))
			err = read_index(rdr, &rdr->label_sets, "label set", &labels);
		else if (json_text_is(js, "values"))
			err = read_values(rdr, values);
		else
			json_read_skip(js);
	}
	err = err ? err : check(rdr);
	if (!err && (stack == PROFILE_NONE || labels == PROFILE_NONE))
		err = corrupt(rdr, "has no stack or no labels");
	if (!err && !rdr->out->value_type_cnt)
		err = corrupt(rdr, "is there without value types");
	if (!err)
		profile_sample(rdr->out, stack, labels, values);
	return err ? err : rdr->out->err;
}

/* --- The file --- */

typedef int read_fn(struct json_profile_reader *rdr);

/* In the order in which they are read. */
static const struct section {
	const char *key;
	const char *what;
	read_fn *read;
} sections[] = {
	{"value_types", "value type", read_sample_type}, {"comments", "comment", read_comment},
	{"mappings", "mapping", read_mapping},		 {"functions", "function", read_function},
	{"locations", "location", read_location},	 {"stacks", "stack", read_stack},
	{"label_sets", "label set", read_label_set},	 {"samples", "sample", read_sample},
};

enum { SECTION_CNT = sizeof(sections) / sizeof(sections[0]) };

struct layout {
	size_t offsets[SECTION_CNT]; /* of the arrays; 0: not there */
	uint64_t version, default_value;
	bool is_ours;
};

static void note_section(struct json_profile_reader *rdr, struct layout *layout)
{
	for (int i = 0; i < SECTION_CNT; i++) {
		if (json_text_is(&rdr->js, sections[i].key)) {
			json_peek(&rdr->js);
			layout->offsets[i] = reader_offset(&rdr->js.rd);
		}
	}
	json_read_skip(&rdr->js);
}

/* The first pass: what is not a list is read. */
static int read_outline(struct json_profile_reader *rdr, struct layout *layout)
{
	struct json_reader *js = &rdr->js;
	struct profile *out = rdr->out;

	rdr->what = "object";
	json_read_object(js);
	while (json_read_key(js)) {
		if (json_text_is(js, "format"))
			layout->is_ours = !strcmp(json_read_str(js), JSON_PROFILE_FORMAT);
		else if (json_text_is(js, "version"))
			layout->version = json_read_u64(js);
		else if (json_text_is(js, "time_ns"))
			out->time_ns = json_read_u64(js);
		else if (json_text_is(js, "duration_ns"))
			out->duration_ns = json_read_u64(js);
		else if (json_text_is(js, "period"))
			out->period = json_read_i64(js);
		else if (json_text_is(js, "period_type"))
			read_value_type(rdr, &out->period_type);
		else if (json_text_is(js, "default_value"))
			layout->default_value = json_read_u64(js);
		else
			note_section(rdr, layout);
	}
	json_peek(js);
	if (!js->rd.err && !reader_done(&js->rd))
		reader_fail(&js->rd);
	return check(rdr);
}

static int judge(struct json_profile_reader *rdr, const struct layout *layout)
{
	if (layout->is_ours && layout->version == JSON_PROFILE_VERSION)
		return 0;
	if (rdr->why && layout->is_ours)
		buf_printf(rdr->why, "JSON of version %" PRIu64 ", only %d is known",
			   layout->version, JSON_PROFILE_VERSION);
	else if (rdr->why)
		buf_printf(rdr->why, "JSON, but no profile of ours (\"format\" is not \"%s\")",
			   JSON_PROFILE_FORMAT);
	return -EBADMSG;
}

static int read_section(struct json_profile_reader *rdr, const struct section *section,
			size_t offset)
{
	int err = 0;

	if (!offset)
		return 0;
	rdr->what = section->what;
	rdr->ordinal = 0;
	reader_seek(&rdr->js.rd, offset);
	json_read_array(&rdr->js);
	while (!err && json_read_item(&rdr->js)) {
		err = section->read(rdr);
		rdr->ordinal++;
	}
	return err ? err : check(rdr);
}

int json_decode(const void *data, size_t len, struct profile *out, struct buf *why)
{
	_cleanup_(deinit) struct json_profile_reader rdr = {.out = out, .why = why};
	struct layout layout = {.version = 0};
	int err;

	json_reader_init(&rdr.js, data, len);
	err = read_outline(&rdr, &layout);
	if (!err)
		err = judge(&rdr, &layout);
	for (int i = 0; i < SECTION_CNT && !err; i++)
		err = read_section(&rdr, &sections[i], layout.offsets[i]);
	if (!err && layout.default_value < out->value_type_cnt)
		out->default_value = (uint32_t)layout.default_value;
	return err;
}
