/* SPDX-License-Identifier: Apache-2.0 */
/* The whole profile as JSON; json_profile.h has the layout. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "encode/encoder.h"
#include "encode/json_profile.h"
#include "profile/ledger.h"

const struct json_flag json_mapping_flags[] = {
	{"functions", MAPPING_HAS_FUNCTIONS},
	{"files", MAPPING_HAS_FILENAMES},
	{"lines", MAPPING_HAS_LINES},
	{"inlines", MAPPING_HAS_INLINES},
	{NULL},
};

const struct json_flag json_location_flags[] = {
	{"kernel", LOCATION_KERNEL},
	{"jit", LOCATION_JIT},
	{"waker", LOCATION_WAKER},
	{"synthetic", LOCATION_SYNTHETIC},
	{NULL},
};

static void add_string(struct json *js, const struct profile *prof, const char *key, uint32_t id)
{
	const char *str = profile_str(prof, id);

	if (*str)
		json_kv_str(js, key, str);
}

static void add_address(struct json *js, const char *key, uint64_t address)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	json_kv_str(js, key, text);
}

static void add_nonzero(struct json *js, const char *key, uint64_t number)
{
	if (number)
		json_kv_u64(js, key, number);
}

static void add_flags(struct json *js, const char *key, uint32_t flags,
		      const struct json_flag *names)
{
	if (!flags)
		return;
	json_key(js, key);
	json_array_begin(js);
	for (; names->name; names++)
		if (flags & names->bit)
			json_str(js, names->name);
	json_array_end(js);
}

static void add_value_type(struct json *js, const struct profile *prof,
			   const struct profile_value_type *type)
{
	json_object_begin(js);
	json_kv_str(js, "type", profile_str(prof, type->type));
	json_kv_str(js, "unit", profile_str(prof, type->unit));
	json_object_end(js);
}

static void add_mapping(struct json *js, const struct profile *prof, size_t index)
{
	const struct profile_mapping *mapping = &prof->mappings[index];

	json_object_begin(js);
	json_kv_str(js, "path", profile_str(prof, mapping->path));
	add_string(js, prof, "build_id", mapping->build_id);
	add_address(js, "start", mapping->start);
	add_address(js, "limit", mapping->limit);
	add_address(js, "file_offset", mapping->file_off);
	add_flags(js, "has", mapping->flags, json_mapping_flags);
	json_object_end(js);
}

static void add_function(struct json *js, const struct profile *prof, size_t index)
{
	const struct profile_function *function = &prof->functions[index];

	json_object_begin(js);
	json_kv_str(js, "name", profile_str(prof, function->name));
	add_string(js, prof, "system_name", function->system_name);
	add_string(js, prof, "file", function->file);
	add_nonzero(js, "start_line", function->start_line);
	json_object_end(js);
}

static void add_lines(struct json *js, const struct profile *prof,
		      const struct profile_location *loc)
{
	json_key(js, "lines");
	json_array_begin(js);
	for (uint32_t i = 0; i < loc->line_cnt; i++) {
		const struct profile_line *line = &prof->lines[loc->first_line + i];

		json_object_begin(js);
		json_kv_u64(js, "function", line->function);
		add_nonzero(js, "line", line->line);
		json_object_end(js);
	}
	json_array_end(js);
}

static void add_location(struct json *js, const struct profile *prof, size_t index)
{
	const struct profile_location *loc = &prof->locations[index];

	json_object_begin(js);
	if (loc->mapping != PROFILE_NONE)
		json_kv_u64(js, "mapping", loc->mapping);
	add_address(js, "address", loc->address);
	add_flags(js, "flags", loc->flags, json_location_flags);
	if (loc->line_cnt)
		add_lines(js, prof, loc);
	json_object_end(js);
}

static void add_stack(struct json *js, const struct profile *prof, size_t index)
{
	const struct profile_stack *stack = &prof->stacks[index];

	json_array_begin(js);
	for (uint32_t i = 0; i < stack->cnt; i++)
		json_u64(js, prof->stack_locations[stack->first + i]);
	json_array_end(js);
}

static void add_label_set(struct json *js, const struct profile *prof, size_t index)
{
	const struct profile_label_set *set = &prof->label_sets[index];

	json_array_begin(js);
	for (uint32_t i = 0; i < set->cnt; i++) {
		const struct profile_label *label = &prof->labels[set->first + i];

		json_object_begin(js);
		json_kv_str(js, "key", profile_str(prof, label->key));
		if (label->str != PROFILE_NONE)
			json_kv_str(js, "str", profile_str(prof, label->str));
		else
			json_kv_i64(js, "num", label->num);
		if (label->str == PROFILE_NONE)
			add_string(js, prof, "unit", label->num_unit);
		json_object_end(js);
	}
	json_array_end(js);
}

static void add_sample(struct json *js, const struct profile *prof, size_t index)
{
	const int64_t *values = prof->values + index * prof->value_type_cnt;

	json_object_begin(js);
	json_kv_u64(js, "stack", prof->samples[index].stack);
	json_kv_u64(js, "labels", prof->samples[index].label_set);
	json_key(js, "values");
	json_array_begin(js);
	for (uint32_t i = 0; i < prof->value_type_cnt; i++)
		json_i64(js, values[i]);
	json_array_end(js);
	json_object_end(js);
}

static void add_comment(struct json *js, const struct profile *prof, size_t index)
{
	json_str(js, profile_str(prof, prof->comments[index]));
}

static void add_sample_type(struct json *js, const struct profile *prof, size_t index)
{
	add_value_type(js, prof, &prof->value_types[index]);
}

typedef void add_fn(struct json *js, const struct profile *prof, size_t index);

/* An entity a line. */
static void add_section(struct json *js, const struct profile *prof, const char *key, size_t cnt,
			add_fn *add)
{
	json_break(js);
	json_key(js, key);
	json_array_begin(js);
	for (size_t i = 0; i < cnt && !js->out->err; i++) {
		json_break(js);
		add(js, prof, i);
	}
	json_array_end(js);
}

static int add_ledger(struct json *js, const struct profile *prof)
{
	_cleanup_(buf_deinit) struct buf text;
	struct ledger ledger;
	int err;

	buf_init(&text, BUF_NO_MAX);
	err = profile_get_ledger(prof, &ledger);
	if (err)
		return err == -ENOMEM ? err : 0;
	ledger_to_json(&ledger, &text);
	ledger_deinit(&ledger);
	json_break(js);
	json_key(js, "ledger");
	json_encoded(js, buf_cstr(&text), text.len);
	return text.err;
}

static void add_header(struct json *js, const struct profile *prof)
{
	json_kv_str(js, "format", JSON_PROFILE_FORMAT);
	json_kv_u64(js, "version", JSON_PROFILE_VERSION);
	json_kv_u64(js, "time_ns", prof->time_ns);
	json_kv_u64(js, "duration_ns", prof->duration_ns);
	json_kv_i64(js, "period", prof->period);
	json_key(js, "period_type");
	add_value_type(js, prof, &prof->period_type);
	add_section(js, prof, "value_types", prof->value_type_cnt, add_sample_type);
	json_kv_u64(js, "default_value", prof->default_value);
	add_section(js, prof, "comments", prof->comment_cnt, add_comment);
}

static int encode(const struct profile *prof, const struct encoder_opts *opts, struct buf *out)
{
	struct json js;
	int err;

	if (prof->err)
		return prof->err;
	json_init(&js, out);
	json_object_begin(&js);
	add_header(&js, prof);
	err = add_ledger(&js, prof);
	add_section(&js, prof, "mappings", prof->mapping_cnt, add_mapping);
	add_section(&js, prof, "functions", prof->function_cnt, add_function);
	add_section(&js, prof, "locations", prof->location_cnt, add_location);
	add_section(&js, prof, "stacks", prof->stack_cnt, add_stack);
	add_section(&js, prof, "label_sets", prof->label_set_cnt, add_label_set);
	add_section(&js, prof, "samples", prof->sample_cnt, add_sample);
	json_object_end(&js);
	buf_add_char(out, '\n');
	return err ? err : out->err;
}

const struct encoder encoder_json = {
	.name = "json",
	.extension = ".json",
	.help = "everything that the profile knows, for programs (and bpfprof reads it back)",
	.encode = encode,
};
