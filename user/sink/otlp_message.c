/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What profiles refer to is brought into a profile of its own (profile_import.h), whose indices + 1
 * are those of the dictionary's tables; an attribute is a label set of one label there.
 */
#include "sink/otlp_message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sha256.h"
#include "encode/protobuf.h"
#include "encode/text.h"
#include "profile/profile_import.h"

#ifndef BPFPROF_VERSION
#define BPFPROF_VERSION "unknown"
#endif

enum { PROFILE_ID_BYTES = 16 };

enum request_field { REQUEST_RESOURCE_PROFILES = 1, REQUEST_DICTIONARY = 2 };
enum resource_field { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPES = 2 };
enum { RESOURCE_ATTRIBUTES = 1 };
enum scope_field { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILES = 2 };
enum { SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum key_value_field { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2 };
enum any_value_field { ANY_STRING = 1, ANY_INT = 3 };
enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLES = 2,
	PROFILE_TIME = 3,
	PROFILE_DURATION = 4,
	PROFILE_PERIOD_TYPE = 5,
	PROFILE_PERIOD = 6,
	PROFILE_ID = 7,
};
enum value_type_field { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum sample_field { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES = 2, SAMPLE_VALUES = 4 };
enum dictionary_field {
	DICTIONARY_MAPPINGS = 1,
	DICTIONARY_LOCATIONS = 2,
	DICTIONARY_FUNCTIONS = 3,
	DICTIONARY_LINKS = 4,
	DICTIONARY_STRINGS = 5,
	DICTIONARY_ATTRIBUTES = 6,
	DICTIONARY_STACKS = 7,
};
enum mapping_field {
	MAPPING_MEMORY_START = 1,
	MAPPING_MEMORY_LIMIT = 2,
	MAPPING_FILE_OFFSET = 3,
	MAPPING_FILENAME = 4,
	MAPPING_ATTRIBUTES = 5,
};
enum { STACK_LOCATIONS = 1 };
enum location_field {
	LOCATION_MAPPING = 1,
	LOCATION_ADDRESS = 2,
	LOCATION_LINES = 3,
	LOCATION_ATTRIBUTES = 4,
};
enum line_field { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum function_field {
	FUNCTION_NAME = 1,
	FUNCTION_SYSTEM_NAME = 2,
	FUNCTION_FILENAME = 3,
	FUNCTION_START_LINE = 4,
};
enum table_attribute_field { TABLE_ATTRIBUTE_KEY = 1, TABLE_ATTRIBUTE_VALUE = 2 };

/* Labels that semantic conventions have another name for. */
static const struct {
	const char *key, *attribute;
} attributes[] = {
	{"service", "service.name"},   {"version", "service.version"}, {"host", "host.name"},
	{"container", "container.id"}, {"pod", "k8s.pod.uid"},	       {"comm", "thread.name"},
	{"tid", "thread.id"},	       {"pid", "process.pid"},
};

struct request {
	const struct sink_window *window;
	const char *host_id;
	struct profile names; /* what the dictionary is made of */
	struct profile_import import;
	struct buf *out;
	int profile_cnt;
};

static const char *attribute_of(const char *key)
{
	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++)
		if (!strcmp(attributes[i].key, key))
			return attributes[i].attribute;
	return key;
}

/* A string field: texts are UTF-8. */
static void add_text(struct buf *out, uint32_t field, const char *text)
{
	size_t begin = pb_begin(out, field);

	text_add_utf8(out, text, strlen(text));
	pb_end(out, begin);
}

/* --- Resources --- */

static void add_key_value(struct buf *out, const char *key, const char *text)
{
	size_t attribute = pb_begin(out, RESOURCE_ATTRIBUTES), value;

	add_text(out, KEY_VALUE_KEY, key);
	value = pb_begin(out, KEY_VALUE_VALUE);
	add_text(out, ANY_STRING, text);
	pb_end(out, value);
	pb_end(out, attribute);
}

/* Is a label before the one at @end of the same attribute? The user may have chosen its name. */
static bool is_told(const struct profile *dict, const struct profile_label_set *set, uint32_t end)
{
	const char *name = attribute_of(profile_str(dict, dict->labels[end].key));

	if (!strcmp(name, "service.name") || !strcmp(name, "host.name") || !strcmp(name, "host.id"))
		return true;
	for (uint32_t i = set->first; i < end; i++)
		if (!strcmp(attribute_of(profile_str(dict, dict->labels[i].key)), name))
			return true;
	return false;
}

static void add_resource(const struct request *request, const struct sink_piece *piece)
{
	const struct profile *dict = request->window->dict;
	const struct profile_label_set *set = &dict->label_sets[piece->label_set];
	const char *service = sink_label_str(dict, piece->label_set, "service");
	const char *host = sink_label_str(dict, piece->label_set, "host");
	struct buf *out = request->out;
	size_t resource = pb_begin(out, RESOURCE_PROFILES_RESOURCE);

	add_key_value(out, "service.name", *service ? service : "unknown_service");
	add_key_value(out, "host.name", *host ? host : request->host_id);
	add_key_value(out, "host.id", request->host_id);
	for (uint32_t i = set->first; i < set->first + set->cnt; i++) {
		const struct profile_label *label = &dict->labels[i];

		if (sink_label_is_series(dict, label) && !is_told(dict, set, i) &&
		    *profile_str(dict, label->key))
			add_key_value(out, attribute_of(profile_str(dict, label->key)),
				      profile_str(dict, label->str));
	}
	pb_end(out, resource);
}

/* --- Samples --- */

/* The index of a label in the table of attributes. */
static uint32_t add_attribute(struct request *request, struct profile_label label)
{
	return profile_labels(&request->names, &label, 1) + 1;
}

static uint32_t text_attribute(struct request *request, const char *key, const char *text)
{
	return add_attribute(request, (struct profile_label){
					      .key = profile_string(&request->names, key),
					      .str = profile_string(&request->names, text),
				      });
}

static void add_sample_attributes(struct request *request, uint32_t label_set)
{
	const struct profile *dict = request->window->dict;
	const struct profile_label_set *set = &dict->label_sets[label_set];
	size_t begin = pb_begin(request->out, SAMPLE_ATTRIBUTES);

	for (uint32_t i = set->first; i < set->first + set->cnt; i++) {
		const struct profile_label *label = &dict->labels[i];
		const char *key = attribute_of(profile_str(dict, label->key));

		if (sink_label_is_series(dict, label) || !*key)
			continue;
		pb_add_varint(request->out,
			      add_attribute(request,
					    (struct profile_label){
						    .key = profile_string(&request->names, key),
						    .str = profile_import_string(&request->import,
										 label->str),
						    .num = label->num,
					    }));
	}
	pb_end(request->out, begin);
}

static void add_sample(struct request *request, const struct sink_row *row, int64_t value)
{
	size_t begin = pb_begin(request->out, PROFILE_SAMPLES), packed;

	pb_add_uint(request->out, SAMPLE_STACK,
		    (uint64_t)profile_import_stack(&request->import, row->stack) + 1);
	add_sample_attributes(request, row->label_set);
	packed = pb_begin(request->out, SAMPLE_VALUES);
	pb_add_varint(request->out, (uint64_t)value);
	pb_end(request->out, packed);
	pb_end(request->out, begin);
}

/* --- Profiles --- */

static int64_t value_at(const struct sink_piece *piece, size_t index, uint32_t value)
{
	return piece->batch
		->values[(size_t)piece->rows[index] * piece->batch->types->value_type_cnt + value];
}

/* Is value @time of each sample what value @cnt of it makes in periods? */
static bool follows(const struct sink_piece *piece, uint32_t time, uint32_t cnt)
{
	const int64_t period = piece->batch->types->period;

	for (size_t i = 0; i < piece->row_cnt; i++) {
		int64_t product;

		if (__builtin_mul_overflow(value_at(piece, i, cnt), period, &product) ||
		    product != value_at(piece, i, time))
			return false;
	}
	return true;
}

static void add_value_type(struct request *request, uint32_t field, const char *type,
			   const char *unit)
{
	size_t begin = pb_begin(request->out, field);

	pb_add_nonzero(request->out, VALUE_TYPE_TYPE, profile_string(&request->names, type));
	pb_add_nonzero(request->out, VALUE_TYPE_UNIT, profile_string(&request->names, unit));
	pb_end(request->out, begin);
}

/* What a value is called: every kind has "samples", which only of the kind cpu says what it is. */
static void name_type(const struct sink_piece *piece, const char *type, struct buf *out)
{
	if (!strcmp(type, "samples") && strcmp(piece->batch->kind, "cpu") != 0) {
		sink_add_name(out, piece->batch->kind);
		buf_add_char(out, '_');
	}
	buf_add_str(out, type);
}

static void add_types(struct request *request, const struct sink_piece *piece, uint32_t value,
		      bool has_period)
{
	const struct profile *types = piece->batch->types;
	const struct profile_value_type *type = &types->value_types[value];
	const struct profile_value_type *period = &types->period_type;
	_cleanup_(buf_deinit) struct buf name;

	buf_init(&name, BUF_NO_MAX);
	name_type(piece, profile_str(types, type->type), &name);
	add_value_type(request, PROFILE_SAMPLE_TYPE, buf_cstr(&name),
		       profile_str(types, type->unit));
	add_value_type(request, PROFILE_PERIOD_TYPE,
		       has_period ? profile_str(types, period->type) : "",
		       has_period ? profile_str(types, period->unit) : "");
	pb_add_nonzero(request->out, PROFILE_PERIOD, has_period ? (uint64_t)types->period : 0);
}

static void add_id(const struct request *request, const struct sink_piece *piece, uint32_t value)
{
	_cleanup_(buf_deinit) struct buf key;
	uint8_t hash[SHA256_BYTES];

	buf_init(&key, BUF_NO_MAX);
	buf_printf(&key, "%s %llu %zu %zu %u", request->host_id,
		   (unsigned long long)request->window->seq, piece->place, piece->row_cnt, value);
	sha256(buf_cstr(&key), key.len, hash);
	/* One of zeroes is none. */
	hash[0] |= 1;
	pb_add_bytes(request->out, PROFILE_ID, hash, PROFILE_ID_BYTES);
}

static void add_profile(struct request *request, const struct sink_piece *piece, uint32_t value,
			bool has_period)
{
	struct buf *out = request->out;
	size_t begin = pb_begin(out, SCOPE_PROFILES_PROFILES);

	add_types(request, piece, value, has_period);
	/* No two of a window at the same nanosecond: Pyroscope would take them for one. */
	pb_add_fixed64(out, PROFILE_TIME,
		       request->window->start_ns + piece->place * PROFILE_VALUES_MAX + value);
	pb_add_nonzero(out, PROFILE_DURATION, request->window->covered_ns);
	add_id(request, piece, value);
	for (size_t i = 0; i < piece->row_cnt; i++) {
		const int64_t amount = value_at(piece, i, value);

		if (amount)
			add_sample(request, &piece->batch->rows[piece->rows[i]], amount);
	}
	pb_end(out, begin);
	request->profile_cnt++;
}

static bool is_empty(const struct sink_piece *piece, uint32_t value)
{
	for (size_t i = 0; i < piece->row_cnt; i++)
		if (value_at(piece, i, value))
			return false;
	return true;
}

/* The values that a piece is sent with, as bits: not what follows from another one, nor nothing. */
static uint32_t sent_values(const struct sink_piece *piece, uint32_t time, uint32_t cnt)
{
	const struct profile *types = piece->batch->types;
	uint32_t bits = 0;

	for (uint32_t i = 0; i < types->value_type_cnt; i++)
		if (!is_empty(piece, i))
			bits |= 1U << i;
	if (time != PROFILE_NONE && cnt != PROFILE_NONE && follows(piece, time, cnt))
		bits &= ~(1U << time);
	return bits;
}

static void add_piece(struct request *request, const struct sink_piece *piece)
{
	const struct profile *types = piece->batch->types;
	const uint32_t time = sink_period_value(types), cnt = profile_find_value(types, "samples");
	const uint32_t values = sent_values(piece, time, cnt);
	struct buf *out = request->out;
	size_t resource, scopes, scope;

	if (!values)
		return;
	resource = pb_begin(out, REQUEST_RESOURCE_PROFILES);
	add_resource(request, piece);
	scopes = pb_begin(out, RESOURCE_PROFILES_SCOPES);
	scope = pb_begin(out, SCOPE_PROFILES_SCOPE);
	add_text(out, SCOPE_NAME, "bpfprof");
	add_text(out, SCOPE_VERSION, BPFPROF_VERSION);
	pb_end(out, scope);
	for (uint32_t i = 0; i < PROFILE_VALUES_MAX; i++)
		if (values & 1U << i)
			add_profile(request, piece, i,
				    time != PROFILE_NONE && (i == time || i == cnt));
	pb_end(out, scopes);
	pb_end(out, resource);
}

/* --- The dictionary --- */

static void add_mapping(struct request *request, const struct profile_mapping *mapping)
{
	const struct profile *names = &request->names;
	const char *build_id = profile_str(names, mapping->build_id);
	size_t begin = pb_begin(request->out, DICTIONARY_MAPPINGS), packed;

	pb_add_nonzero(request->out, MAPPING_MEMORY_START, mapping->start);
	pb_add_nonzero(request->out, MAPPING_MEMORY_LIMIT, mapping->limit);
	pb_add_nonzero(request->out, MAPPING_FILE_OFFSET, mapping->file_off);
	pb_add_nonzero(request->out, MAPPING_FILENAME, mapping->path);
	if (*build_id) {
		packed = pb_begin(request->out, MAPPING_ATTRIBUTES);
		pb_add_varint(request->out,
			      add_attribute(request,
					    (struct profile_label){
						    .key = profile_string(
							    &request->names,
							    "process.executable.build_id.gnu"),
						    .str = mapping->build_id,
					    }));
		pb_end(request->out, packed);
	}
	pb_end(request->out, begin);
}

static void add_location(struct request *request, const struct profile_location *loc)
{
	const struct profile *names = &request->names;
	struct buf *out = request->out;
	size_t begin = pb_begin(out, DICTIONARY_LOCATIONS), inner;

	if (loc->mapping != PROFILE_NONE)
		pb_add_uint(out, LOCATION_MAPPING, (uint64_t)loc->mapping + 1);
	pb_add_nonzero(out, LOCATION_ADDRESS, loc->address);
	for (uint32_t i = 0; i < loc->line_cnt; i++) {
		const struct profile_line *line = &names->lines[loc->first_line + i];

		inner = pb_begin(out, LOCATION_LINES);
		pb_add_uint(out, LINE_FUNCTION, (uint64_t)line->function + 1);
		pb_add_nonzero(out, LINE_LINE, line->line);
		pb_end(out, inner);
	}
	if (loc->flags & LOCATION_KERNEL) {
		inner = pb_begin(out, LOCATION_ATTRIBUTES);
		pb_add_varint(out, text_attribute(request, "profile.frame.type", "kernel"));
		pb_end(out, inner);
	}
	pb_end(out, begin);
}

static void add_functions(struct request *request)
{
	const struct profile *names = &request->names;

	for (size_t i = 0; i < names->function_cnt; i++) {
		const struct profile_function *func = &names->functions[i];
		size_t begin = pb_begin(request->out, DICTIONARY_FUNCTIONS);

		pb_add_nonzero(request->out, FUNCTION_NAME, func->name);
		pb_add_nonzero(request->out, FUNCTION_SYSTEM_NAME, func->system_name);
		pb_add_nonzero(request->out, FUNCTION_FILENAME, func->file);
		pb_add_nonzero(request->out, FUNCTION_START_LINE, func->start_line);
		pb_end(request->out, begin);
	}
}

static void add_stacks(struct request *request)
{
	const struct profile *names = &request->names;

	for (size_t i = 0; i < names->stack_cnt; i++) {
		const struct profile_stack *stack = &names->stacks[i];
		size_t begin = pb_begin(request->out, DICTIONARY_STACKS);
		size_t packed = pb_begin(request->out, STACK_LOCATIONS);

		for (uint32_t k = 0; k < stack->cnt; k++)
			pb_add_varint(request->out,
				      (uint64_t)names->stack_locations[stack->first + k] + 1);
		pb_end(request->out, packed);
		pb_end(request->out, begin);
	}
}

static void add_attributes(struct request *request)
{
	const struct profile *names = &request->names;
	struct buf *out = request->out;

	for (size_t i = 0; i < names->label_set_cnt; i++) {
		const struct profile_label *label = &names->labels[names->label_sets[i].first];
		size_t begin = pb_begin(out, DICTIONARY_ATTRIBUTES), value;

		pb_add_uint(out, TABLE_ATTRIBUTE_KEY, label->key);
		value = pb_begin(out, TABLE_ATTRIBUTE_VALUE);
		if (label->str != PROFILE_NONE)
			add_text(out, ANY_STRING, profile_str(names, label->str));
		else
			pb_add_uint(out, ANY_INT, (uint64_t)label->num);
		pb_end(out, value);
		pb_end(out, begin);
	}
}

/* Mappings and locations name attributes, so that these come after them; strings are the last. */
static void add_dictionary(struct request *request)
{
	const struct profile *names = &request->names;
	struct buf *out = request->out;
	size_t begin = pb_begin(out, REQUEST_DICTIONARY);

	pb_add_bytes(out, DICTIONARY_MAPPINGS, "", 0);
	for (size_t i = 0; i < names->mapping_cnt; i++)
		add_mapping(request, &names->mappings[i]);
	pb_add_bytes(out, DICTIONARY_LOCATIONS, "", 0);
	for (size_t i = 0; i < names->location_cnt; i++)
		add_location(request, &names->locations[i]);
	pb_add_bytes(out, DICTIONARY_FUNCTIONS, "", 0);
	add_functions(request);
	pb_add_bytes(out, DICTIONARY_LINKS, "", 0);
	pb_add_bytes(out, DICTIONARY_STACKS, "", 0);
	add_stacks(request);
	pb_add_bytes(out, DICTIONARY_ATTRIBUTES, "", 0);
	add_attributes(request);
	for (uint32_t i = 0; i < names->strings.cnt; i++)
		add_text(out, DICTIONARY_STRINGS, profile_str(names, i));
	pb_end(out, begin);
}

int otlp_encode(const struct sink_window *window, const struct sink_piece *pieces, size_t cnt,
		const char *host_id, struct buf *out)
{
	struct request request = {.window = window, .host_id = host_id, .out = out};
	int err = profile_init(&request.names);

	if (err)
		return err;
	err = profile_import_init(&request.import, &request.names, window->dict);
	if (!err) {
		for (size_t i = 0; i < cnt; i++)
			add_piece(&request, &pieces[i]);
		add_dictionary(&request);
		profile_import_deinit(&request.import);
		err = request.names.err ? request.names.err : out->err;
	}
	profile_deinit(&request.names);
	return err ? err : request.profile_cnt;
}
