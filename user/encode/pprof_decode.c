/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof reader, for our files and anybody's. Fields may come in any order and refer to what comes
 * later, so the message is walked once per stage: strings; then what refers to strings only; then
 * locations; then samples. No count in the file is trusted: memory follows the bytes that are
 * there.
 */
#include "encode/pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "encode/pprof_reader.h"

static void reader_deinit(struct pprof_reader *rdr)
{
	free(rdr->strings);
	free(rdr->is_comment);
	free(rdr->mappings.items);
	free(rdr->functions.items);
	free(rdr->locations.items);
	free(rdr->ids.items);
	free(rdr->values.items);
	free(rdr->stack);
	free(rdr->labels);
	free(rdr->lines);
}

static int append_number(struct numbers *numbers, uint64_t value)
{
	int err = array_reserve(&numbers->items, &numbers->cap, numbers->cnt + 1,
				sizeof(*numbers->items));

	if (!err)
		numbers->items[numbers->cnt++] = value;
	return err;
}

/* A repeated number: one, or packed ones. */
static int append_numbers(struct pprof_reader *rdr, const struct pb_field *field,
			  struct numbers *numbers)
{
	struct reader packed = field->bytes;
	uint64_t value;
	int err = 0;

	if (field->wire == PB_VARINT)
		return append_number(numbers, field->value);
	if (field->wire != PB_BYTES)
		return pprof_malformed(rdr);
	while (!err && !reader_done(&packed)) {
		value = reader_uleb128(&packed);
		if (!packed.err)
			err = append_number(numbers, value);
	}
	return packed.err ? pprof_malformed(rdr) : err;
}

static int append_label(struct pprof_reader *rdr, const struct pb_field *field)
{
	struct profile_label label = {.str = PROFILE_NONE};
	struct scalars in;
	uint64_t str;
	int err = pprof_read_scalars(rdr, field->bytes, PPROF_LABEL_NUM_UNIT, &in);

	str = in.values[PPROF_LABEL_STR];
	if (!err)
		err = pprof_find_string(rdr, in.values[PPROF_LABEL_KEY], &label.key);
	if (err)
		return err;
	/* A 0 that is written out is meant; where nothing is written it is the number 0, because
	 * other writers leave out zeros, and a text "" says nothing. */
	if (str || (in.is_present[PPROF_LABEL_STR] && !in.is_present[PPROF_LABEL_NUM] &&
		    !in.is_present[PPROF_LABEL_NUM_UNIT])) {
		err = pprof_find_string(rdr, str, &label.str);
	} else {
		label.num = (int64_t)in.values[PPROF_LABEL_NUM];
		err = pprof_find_string(rdr, in.values[PPROF_LABEL_NUM_UNIT], &label.num_unit);
	}
	if (!err)
		err = array_reserve(&rdr->labels, &rdr->label_cap, rdr->label_cnt + 1,
				    sizeof(*rdr->labels));
	if (!err)
		rdr->labels[rdr->label_cnt++] = label;
	return err;
}

static int read_sample_fields(struct pprof_reader *rdr, struct reader message)
{
	struct pb_field field;
	int err = 0;

	rdr->ids.cnt = 0;
	rdr->values.cnt = 0;
	rdr->label_cnt = 0;
	while (!err && pb_next(&message, &field)) {
		if (field.number == PPROF_SAMPLE_LOCATION_ID)
			err = append_numbers(rdr, &field, &rdr->ids);
		else if (field.number == PPROF_SAMPLE_VALUE)
			err = append_numbers(rdr, &field, &rdr->values);
		else if (field.number == PPROF_SAMPLE_LABEL)
			err = field.wire == PB_BYTES ? append_label(rdr, &field)
						     : pprof_malformed(rdr);
	}
	if (err)
		return err;
	return message.err ? pprof_malformed(rdr) : 0;
}

/* The location ids of the sample at hand as a stack of the profile. */
static int resolve_stack(struct pprof_reader *rdr, uint32_t *out)
{
	const struct entity *location;
	int err = array_reserve(&rdr->stack, &rdr->stack_cap, rdr->ids.cnt, sizeof(*rdr->stack));

	if (err)
		return err;
	for (size_t i = 0; i < rdr->ids.cnt; i++) {
		location = pprof_find_entity(&rdr->locations, rdr->ids.items[i]);
		if (!location)
			return pprof_missing(rdr, "location", rdr->ids.items[i]);
		rdr->stack[i] = location->index;
	}
	*out = profile_stack(rdr->out, rdr->stack, rdr->ids.cnt);
	return rdr->out->err;
}

static int read_sample(struct pprof_reader *rdr, const struct pb_field *field)
{
	int64_t values[PROFILE_VALUES_MAX];
	uint32_t stack = PROFILE_NONE, label_set;
	int err = read_sample_fields(rdr, field->bytes);

	if (err)
		return err;
	if (!rdr->values.cnt || rdr->values.cnt != rdr->out->value_type_cnt)
		return pprof_corrupt(rdr,
				     "has %zu values where the profile has %" PRIu32 " value types",
				     rdr->values.cnt, rdr->out->value_type_cnt);
	err = resolve_stack(rdr, &stack);
	if (err)
		return err;
	for (size_t i = 0; i < rdr->values.cnt; i++)
		values[i] = (int64_t)rdr->values.items[i];
	label_set = profile_labels(rdr->out, rdr->labels, rdr->label_cnt);
	profile_sample(rdr->out, stack, label_set, values);
	return rdr->out->err;
}

/* Times before 1970 and durations below 0 are unknown. */
static uint64_t positive(uint64_t value)
{
	return value <= INT64_MAX ? value : 0;
}

static int read_time(struct pprof_reader *rdr, const struct pb_field *field)
{
	rdr->out->time_ns = positive(field->value);
	return 0;
}

static int read_duration(struct pprof_reader *rdr, const struct pb_field *field)
{
	rdr->out->duration_ns = positive(field->value);
	return 0;
}

static int read_period(struct pprof_reader *rdr, const struct pb_field *field)
{
	rdr->out->period = (int64_t)field->value;
	return 0;
}

static int read_default_type(struct pprof_reader *rdr, const struct pb_field *field)
{
	return pprof_find_string(rdr, field->value, &rdr->default_type);
}

/*
 * Each text once, as pprof's own merge keeps them: a few bytes could otherwise name a large ledger
 * again and again.
 */
static int add_comment(struct pprof_reader *rdr, uint32_t text)
{
	if (!rdr->is_comment) {
		rdr->is_comment = calloc(rdr->out->strings.cnt, sizeof(*rdr->is_comment));
		if (!rdr->is_comment)
			return -ENOMEM;
	}
	if (rdr->is_comment[text])
		return 0;
	rdr->is_comment[text] = true;
	profile_add_comment(rdr->out, profile_str(rdr->out, text));
	return rdr->out->err;
}

static int read_comments(struct pprof_reader *rdr, const struct pb_field *field)
{
	uint32_t text;
	int err;

	rdr->ids.cnt = 0;
	err = append_numbers(rdr, field, &rdr->ids);
	for (size_t i = 0; !err && i < rdr->ids.cnt; i++) {
		err = pprof_find_string(rdr, rdr->ids.items[i], &text);
		if (!err)
			err = add_comment(rdr, text);
	}
	return err;
}

enum { STAGE_STRINGS, STAGE_TABLES, STAGE_LOCATIONS, STAGE_SAMPLES, STAGE_CNT };

enum { ANY_WIRE = UINT32_MAX };

static const struct top_field {
	const char *what;
	uint32_t stage;
	uint32_t wire;
	int (*read)(struct pprof_reader *rdr, const struct pb_field *field);
} top_fields[] = {
	[PPROF_SAMPLE_TYPE] = {"sample type", STAGE_TABLES, PB_BYTES, pprof_read_sample_type},
	[PPROF_SAMPLE] = {"sample", STAGE_SAMPLES, PB_BYTES, read_sample},
	[PPROF_MAPPING] = {"mapping", STAGE_TABLES, PB_BYTES, pprof_read_mapping},
	[PPROF_LOCATION] = {"location", STAGE_LOCATIONS, PB_BYTES, pprof_read_location},
	[PPROF_FUNCTION] = {"function", STAGE_TABLES, PB_BYTES, pprof_read_function},
	[PPROF_STRING_TABLE] = {"string", STAGE_STRINGS, PB_BYTES, pprof_read_string},
	[PPROF_TIME_NANOS] = {"time", STAGE_TABLES, PB_VARINT, read_time},
	[PPROF_DURATION_NANOS] = {"duration", STAGE_TABLES, PB_VARINT, read_duration},
	[PPROF_PERIOD_TYPE] = {"period type", STAGE_TABLES, PB_BYTES, pprof_read_period_type},
	[PPROF_PERIOD] = {"period", STAGE_TABLES, PB_VARINT, read_period},
	[PPROF_COMMENT] = {"comment", STAGE_TABLES, ANY_WIRE, read_comments},
	[PPROF_DEFAULT_SAMPLE_TYPE] = {"default sample type", STAGE_TABLES, PB_VARINT,
				       read_default_type},
};

enum { TOP_FIELD_CNT = sizeof(top_fields) / sizeof(top_fields[0]) };

static int read_stage(struct pprof_reader *rdr, struct reader message, uint32_t stage)
{
	size_t ordinals[TOP_FIELD_CNT] = {0};
	const struct top_field *top;
	struct pb_field field;
	int err = 0;

	while (!err && pb_next(&message, &field)) {
		if (field.number >= TOP_FIELD_CNT)
			continue;
		top = &top_fields[field.number];
		if (!top->read || top->stage != stage)
			continue;
		rdr->what = top->what;
		rdr->ordinal = ordinals[field.number]++;
		if (top->wire != ANY_WIRE && field.wire != top->wire)
			return pprof_malformed(rdr);
		err = top->read(rdr, &field);
	}
	if (!err && message.err) {
		rdr->what = "byte";
		rdr->ordinal = reader_offset(&message);
		return pprof_malformed(rdr);
	}
	return err;
}

/* pprof's rule: the named one, else the last. */
static void choose_default(struct pprof_reader *rdr)
{
	struct profile *out = rdr->out;

	if (!out->value_type_cnt)
		return;
	out->default_value = out->value_type_cnt - 1;
	for (uint32_t i = out->value_type_cnt; i-- > 0 && rdr->default_type;) {
		if (out->value_types[i].type == rdr->default_type)
			out->default_value = i;
	}
}

int pprof_read(const void *data, size_t len, struct profile *out, struct buf *why)
{
	_cleanup_(reader_deinit) struct pprof_reader rdr = {.out = out, .why = why};
	struct reader message;
	int err = 0;

	if (!len) {
		if (why)
			buf_add_str(why, "corrupt profile: it is empty");
		return -EBADMSG;
	}
	reader_init(&message, data, len);
	for (uint32_t stage = 0; !err && stage < STAGE_CNT; stage++) {
		err = read_stage(&rdr, message, stage);
		if (!err && stage == STAGE_TABLES)
			err = pprof_sort_entities(&rdr, &rdr.mappings, "mapping");
		if (!err && stage == STAGE_TABLES)
			err = pprof_sort_entities(&rdr, &rdr.functions, "function");
		if (!err && stage == STAGE_LOCATIONS)
			err = pprof_sort_entities(&rdr, &rdr.locations, "location");
	}
	if (!err)
		choose_default(&rdr);
	return err ? err : out->err;
}
