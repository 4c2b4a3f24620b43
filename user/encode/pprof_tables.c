/* SPDX-License-Identifier: Apache-2.0 */
/* pprof reader: the tables that samples refer to, and what all readers of messages need. */
#include "encode/pprof_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "encode/pprof.h"

int pprof_corrupt(struct pprof_reader *rdr, const char *fmt, ...)
{
	char text[160];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (rdr->why)
		buf_printf(rdr->why, "corrupt profile: %s %zu %s", rdr->what, rdr->ordinal, text);
	return -EBADMSG;
}

int pprof_malformed(struct pprof_reader *rdr)
{
	return pprof_corrupt(rdr, "is malformed or cut short");
}

int pprof_missing(struct pprof_reader *rdr, const char *kind, uint64_t id)
{
	return pprof_corrupt(rdr, "refers to %s %" PRIu64 ", which is not there", kind, id);
}

int pprof_read_scalars(struct pprof_reader *rdr, struct reader message, uint32_t last_number,
		       struct scalars *out)
{
	struct pb_field field;

	*out = (struct scalars){.values = {0}};
	while (pb_next(&message, &field)) {
		if (field.number > last_number)
			continue;
		if (field.wire != PB_VARINT)
			return pprof_malformed(rdr);
		out->values[field.number] = field.value;
		out->is_present[field.number] = true;
	}
	return message.err ? pprof_malformed(rdr) : 0;
}

int pprof_find_string(struct pprof_reader *rdr, uint64_t at, uint32_t *out)
{
	/* Writers that use no text at all may leave the table out. */
	if (at >= rdr->string_cnt && at)
		return pprof_missing(rdr, "string", at);
	*out = at ? rdr->strings[at] : STRTAB_EMPTY;
	return 0;
}

/* Remember where the entity @id of the file went. */
static int append_entity(struct pprof_reader *rdr, struct entities *entities, uint64_t id,
			 uint32_t index, uint64_t shift)
{
	int err;

	if (index == PROFILE_NONE)
		return rdr->out->err ? rdr->out->err : -ENOMEM;
	if (!id)
		return pprof_corrupt(rdr, "has id 0");
	err = array_reserve(&entities->items, &entities->cap, entities->cnt + 1,
			    sizeof(*entities->items));
	if (!err)
		entities->items[entities->cnt++] =
			(struct entity){.id = id, .shift = shift, .index = index};
	return err;
}

static int compare_entities(const void *left_ptr, const void *right_ptr)
{
	const struct entity *left = left_ptr, *right = right_ptr;

	return (left->id > right->id) - (left->id < right->id);
}

int pprof_sort_entities(struct pprof_reader *rdr, struct entities *entities, const char *what)
{
	bool is_sorted = true;

	for (size_t i = 1; i < entities->cnt; i++)
		is_sorted &= entities->items[i - 1].id <= entities->items[i].id;
	if (!is_sorted)
		qsort(entities->items, entities->cnt, sizeof(*entities->items), compare_entities);
	for (size_t i = 1; i < entities->cnt; i++) {
		if (entities->items[i - 1].id != entities->items[i].id)
			continue;
		if (rdr->why)
			buf_printf(rdr->why, "corrupt profile: there are two %ss with id %" PRIu64,
				   what, entities->items[i].id);
		return -EBADMSG;
	}
	return 0;
}

/* Ids are mostly 1, 2, 3...: look there first. */
const struct entity *pprof_find_entity(const struct entities *entities, uint64_t id)
{
	struct entity key = {.id = id};

	if (id && id <= entities->cnt && entities->items[id - 1].id == id)
		return &entities->items[id - 1];
	if (!entities->cnt)
		return NULL;
	return bsearch(&key, entities->items, entities->cnt, sizeof(key), compare_entities);
}

int pprof_read_string(struct pprof_reader *rdr, const struct pb_field *field)
{
	size_t len = reader_left(&field->bytes);
	uint32_t id = profile_stringn(rdr->out, (const char *)field->bytes.pos, len);
	int err;

	if (id == PROFILE_NONE)
		return rdr->out->err;
	if (!rdr->string_cnt && len)
		return pprof_corrupt(rdr, "should be empty");
	err = array_reserve(&rdr->strings, &rdr->string_cap, rdr->string_cnt + 1,
			    sizeof(*rdr->strings));
	if (!err)
		rdr->strings[rdr->string_cnt++] = id;
	return err;
}

static int read_value_type(struct pprof_reader *rdr, struct reader message,
			   struct profile_value_type *out)
{
	struct scalars scalars;
	int err = pprof_read_scalars(rdr, message, PPROF_VALUE_TYPE_UNIT, &scalars);

	if (!err)
		err = pprof_find_string(rdr, scalars.values[PPROF_VALUE_TYPE_TYPE], &out->type);
	if (!err)
		err = pprof_find_string(rdr, scalars.values[PPROF_VALUE_TYPE_UNIT], &out->unit);
	return err;
}

int pprof_read_sample_type(struct pprof_reader *rdr, const struct pb_field *field)
{
	struct profile_value_type value_type;
	int err = read_value_type(rdr, field->bytes, &value_type);

	if (err)
		return err;
	if (rdr->out->value_type_cnt == PROFILE_VALUES_MAX)
		return pprof_corrupt(rdr, "is one more than the %d that are supported",
				     PROFILE_VALUES_MAX);
	rdr->out->value_types[rdr->out->value_type_cnt++] = value_type;
	return 0;
}

int pprof_read_period_type(struct pprof_reader *rdr, const struct pb_field *field)
{
	return read_value_type(rdr, field->bytes, &rdr->out->period_type);
}

int pprof_read_mapping(struct pprof_reader *rdr, const struct pb_field *field)
{
	struct profile_mapping mapping;
	struct scalars in;
	uint64_t shift = 0;
	uint32_t index;
	int err = pprof_read_scalars(rdr, field->bytes, PPROF_MAPPING_HAS_INLINE_FRAMES, &in);

	if (err)
		return err;
	mapping = (struct profile_mapping){
		.start = in.values[PPROF_MAPPING_START],
		.limit = in.values[PPROF_MAPPING_LIMIT],
		.file_off = in.values[PPROF_MAPPING_OFFSET],
		.flags = (in.values[PPROF_MAPPING_HAS_FUNCTIONS] ? MAPPING_HAS_FUNCTIONS : 0) |
			 (in.values[PPROF_MAPPING_HAS_FILENAMES] ? MAPPING_HAS_FILENAMES : 0) |
			 (in.values[PPROF_MAPPING_HAS_LINE_NUMBERS] ? MAPPING_HAS_LINES : 0) |
			 (in.values[PPROF_MAPPING_HAS_INLINE_FRAMES] ? MAPPING_HAS_INLINES : 0),
	};
	err = pprof_find_string(rdr, in.values[PPROF_MAPPING_FILENAME], &mapping.path);
	if (!err)
		err = pprof_find_string(rdr, in.values[PPROF_MAPPING_BUILD_ID], &mapping.build_id);
	if (err)
		return err;
	index = profile_mapping_add(rdr->out, &mapping, &shift);
	return append_entity(rdr, &rdr->mappings, in.values[PPROF_MAPPING_ID], index, shift);
}

/* Line numbers are int64 in the file; what cannot be one is unknown. */
static uint32_t line_number(uint64_t value)
{
	return value <= INT32_MAX ? (uint32_t)value : 0;
}

int pprof_read_function(struct pprof_reader *rdr, const struct pb_field *field)
{
	struct profile_function function = {.name = 0};
	struct scalars in;
	int err = pprof_read_scalars(rdr, field->bytes, PPROF_FUNCTION_START_LINE, &in);

	if (!err)
		err = pprof_find_string(rdr, in.values[PPROF_FUNCTION_NAME], &function.name);
	if (!err)
		err = pprof_find_string(rdr, in.values[PPROF_FUNCTION_SYSTEM_NAME],
					&function.system_name);
	if (!err)
		err = pprof_find_string(rdr, in.values[PPROF_FUNCTION_FILENAME], &function.file);
	if (err)
		return err;
	function.start_line = line_number(in.values[PPROF_FUNCTION_START_LINE]);
	return append_entity(rdr, &rdr->functions, in.values[PPROF_FUNCTION_ID],
			     profile_function_add(rdr->out, &function), 0);
}

static int append_line(struct pprof_reader *rdr, const struct pb_field *field)
{
	const struct entity *function;
	struct scalars in;
	int err = pprof_read_scalars(rdr, field->bytes, PPROF_LINE_LINE, &in);

	if (err)
		return err;
	function = pprof_find_entity(&rdr->functions, in.values[PPROF_LINE_FUNCTION_ID]);
	if (!function)
		return pprof_missing(rdr, "function", in.values[PPROF_LINE_FUNCTION_ID]);
	if (rdr->line_cnt == UINT16_MAX)
		return pprof_corrupt(rdr, "has more than %u lines", UINT16_MAX);
	err = array_reserve(&rdr->lines, &rdr->line_cap, rdr->line_cnt + 1, sizeof(*rdr->lines));
	if (!err)
		rdr->lines[rdr->line_cnt++] = (struct profile_line){
			.function = function->index,
			.line = line_number(in.values[PPROF_LINE_LINE]),
		};
	return err;
}

/* A location's own fields, before its references are resolved. */
struct raw_location {
	uint64_t id, mapping_id, address, flags;
	bool has_flags;
};

static int read_location_fields(struct pprof_reader *rdr, struct reader message,
				struct raw_location *out)
{
	struct pb_field field;
	int err = 0;

	rdr->line_cnt = 0;
	while (!err && pb_next(&message, &field)) {
		bool is_line = field.number == PPROF_LOCATION_LINE;
		bool is_ours = field.number == PPROF_LOCATION_BPFPROF_FLAGS;

		if (field.number > PPROF_LOCATION_LINE && !is_ours)
			continue;
		if (field.wire != (is_line ? PB_BYTES : PB_VARINT))
			return pprof_malformed(rdr);
		if (is_line)
			err = append_line(rdr, &field);
		else if (field.number == PPROF_LOCATION_ID)
			out->id = field.value;
		else if (field.number == PPROF_LOCATION_MAPPING_ID)
			out->mapping_id = field.value;
		else if (field.number == PPROF_LOCATION_ADDRESS)
			out->address = field.value;
		else
			out->flags = field.value;
		out->has_flags |= is_ours;
	}
	if (err)
		return err;
	return message.err ? pprof_malformed(rdr) : 0;
}

static uint16_t location_flags(const struct pprof_reader *rdr, const struct raw_location *raw,
			       uint32_t mapping)
{
	const uint64_t known = LOCATION_KERNEL | LOCATION_JIT | LOCATION_WAKER | LOCATION_SYNTHETIC;
	const char *name = "";

	if (raw->has_flags)
		return (uint16_t)(raw->flags & known);
	if (rdr->line_cnt == 1)
		name = profile_str(rdr->out, rdr->out->functions[rdr->lines[0].function].name);
	return pprof_implied_flags(rdr->out, mapping, name);
}

int pprof_read_location(struct pprof_reader *rdr, const struct pb_field *field)
{
	struct raw_location raw = {.id = 0};
	const struct entity *mapping = NULL;
	uint32_t mapping_index = PROFILE_NONE, index;
	int err = read_location_fields(rdr, field->bytes, &raw);

	if (err)
		return err;
	if (raw.mapping_id) {
		mapping = pprof_find_entity(&rdr->mappings, raw.mapping_id);
		if (!mapping)
			return pprof_missing(rdr, "mapping", raw.mapping_id);
		mapping_index = mapping->index;
		raw.address += mapping->shift;
	}
	index = profile_location_lines(rdr->out, mapping_index, raw.address,
				       location_flags(rdr, &raw, mapping_index), rdr->lines,
				       rdr->line_cnt);
	return append_entity(rdr, &rdr->locations, raw.id, index, 0);
}
