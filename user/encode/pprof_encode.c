/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof writer. Ids are indices + 1, strings keep their ids, so what is written depends on nothing
 * but the profile. Messages are collected and handed to the compressor piece by piece: the
 * uncompressed file never stands in memory as a whole.
 */
#include "encode/pprof.h"

#include <errno.h>
#include <string.h>

#include "encode/encoder.h"
#include "encode/gzip.h"
#include "encode/protobuf.h"
#include "encode/text.h"
#include "profile/synthetic.h"

enum { FLUSH_BYTES = 64 << 10 };

struct pprof_writer {
	const struct profile *prof;
	struct buf messages; /* not yet compressed */
	struct gzip_writer gzip;
};

uint16_t pprof_implied_flags(const struct profile *prof, uint32_t mapping, const char *name)
{
	const char *path;

	if (mapping != PROFILE_NONE) {
		path = profile_str(prof, prof->mappings[mapping].path);
		if (!strncmp(path, "[kernel", strlen("[kernel")))
			return LOCATION_KERNEL;
		return profile_path_is_anon(path) ? LOCATION_JIT : 0;
	}
	return synthetic_of(name, strlen(name)) == SYNTHETIC_NOT ? 0 : LOCATION_SYNTHETIC;
}

static void flush(struct pprof_writer *writer, size_t at_least)
{
	if (writer->messages.len < at_least && !writer->messages.err)
		return;
	if (writer->messages.err && !writer->gzip.err)
		writer->gzip.err = writer->messages.err;
	gzip_writer_add(&writer->gzip, writer->messages.data, writer->messages.len);
	buf_reset(&writer->messages);
}

/* The id of an entity or "none" in the file. */
static uint64_t file_id(uint32_t index)
{
	return index == PROFILE_NONE ? 0 : (uint64_t)index + 1;
}

static uint64_t file_string(uint32_t id)
{
	return id == PROFILE_NONE ? 0 : id;
}

static void add_value_type(struct buf *out, uint32_t field, struct profile_value_type value_type)
{
	size_t begin = pb_begin(out, field);

	pb_add_nonzero(out, PPROF_VALUE_TYPE_TYPE, file_string(value_type.type));
	pb_add_nonzero(out, PPROF_VALUE_TYPE_UNIT, file_string(value_type.unit));
	pb_end(out, begin);
}

/*
 * proto3 cannot tell a number 0 from a text "" when defaults are left out: the field that says
 * which kind it is always stands.
 */
static void add_label(struct buf *out, const struct profile_label *label)
{
	size_t begin = pb_begin(out, PPROF_SAMPLE_LABEL);

	pb_add_nonzero(out, PPROF_LABEL_KEY, file_string(label->key));
	if (label->str != PROFILE_NONE) {
		pb_add_uint(out, PPROF_LABEL_STR, file_string(label->str));
	} else {
		pb_add_uint(out, PPROF_LABEL_NUM, (uint64_t)label->num);
		pb_add_nonzero(out, PPROF_LABEL_NUM_UNIT, file_string(label->num_unit));
	}
	pb_end(out, begin);
}

static void add_sample(struct buf *out, const struct profile *prof, size_t index)
{
	const struct profile_sample *sample = &prof->samples[index];
	const struct profile_stack *stack = &prof->stacks[sample->stack];
	const struct profile_label_set *set = &prof->label_sets[sample->label_set];
	const int64_t *values = prof->values + index * prof->value_type_cnt;
	size_t begin = pb_begin(out, PPROF_SAMPLE), packed;

	if (stack->cnt) {
		packed = pb_begin(out, PPROF_SAMPLE_LOCATION_ID);
		for (uint32_t i = 0; i < stack->cnt; i++)
			pb_add_varint(out, file_id(prof->stack_locations[stack->first + i]));
		pb_end(out, packed);
	}
	packed = pb_begin(out, PPROF_SAMPLE_VALUE);
	for (uint32_t i = 0; i < prof->value_type_cnt; i++)
		pb_add_varint(out, (uint64_t)values[i]);
	pb_end(out, packed);
	for (uint32_t i = 0; i < set->cnt; i++)
		add_label(out, &prof->labels[set->first + i]);
	pb_end(out, begin);
}

static void add_mapping(struct buf *out, const struct profile *prof, size_t index)
{
	const struct profile_mapping *mapping = &prof->mappings[index];
	size_t begin = pb_begin(out, PPROF_MAPPING);

	pb_add_uint(out, PPROF_MAPPING_ID, index + 1);
	pb_add_nonzero(out, PPROF_MAPPING_START, mapping->start);
	pb_add_nonzero(out, PPROF_MAPPING_LIMIT, mapping->limit);
	pb_add_nonzero(out, PPROF_MAPPING_OFFSET, mapping->file_off);
	pb_add_nonzero(out, PPROF_MAPPING_FILENAME, file_string(mapping->path));
	pb_add_nonzero(out, PPROF_MAPPING_BUILD_ID, file_string(mapping->build_id));
	pb_add_nonzero(out, PPROF_MAPPING_HAS_FUNCTIONS,
		       !!(mapping->flags & MAPPING_HAS_FUNCTIONS));
	pb_add_nonzero(out, PPROF_MAPPING_HAS_FILENAMES,
		       !!(mapping->flags & MAPPING_HAS_FILENAMES));
	pb_add_nonzero(out, PPROF_MAPPING_HAS_LINE_NUMBERS, !!(mapping->flags & MAPPING_HAS_LINES));
	pb_add_nonzero(out, PPROF_MAPPING_HAS_INLINE_FRAMES,
		       !!(mapping->flags & MAPPING_HAS_INLINES));
	pb_end(out, begin);
}

static void add_line(struct buf *out, const struct profile_line *line)
{
	size_t begin = pb_begin(out, PPROF_LOCATION_LINE);

	pb_add_uint(out, PPROF_LINE_FUNCTION_ID, file_id(line->function));
	pb_add_nonzero(out, PPROF_LINE_LINE, line->line);
	pb_end(out, begin);
}

static void add_location(struct buf *out, const struct profile *prof, size_t index)
{
	const struct profile_location *loc = &prof->locations[index];
	const char *name = "";
	size_t begin = pb_begin(out, PPROF_LOCATION);

	if (loc->line_cnt == 1)
		name = profile_location_name(prof, (uint32_t)index, 0);
	pb_add_uint(out, PPROF_LOCATION_ID, index + 1);
	pb_add_nonzero(out, PPROF_LOCATION_MAPPING_ID, file_id(loc->mapping));
	pb_add_nonzero(out, PPROF_LOCATION_ADDRESS, loc->address);
	for (uint32_t i = 0; i < loc->line_cnt; i++)
		add_line(out, &prof->lines[loc->first_line + i]);
	if (loc->flags != pprof_implied_flags(prof, loc->mapping, name))
		pb_add_uint(out, PPROF_LOCATION_BPFPROF_FLAGS, loc->flags);
	pb_end(out, begin);
}

static void add_function(struct buf *out, const struct profile *prof, size_t index)
{
	const struct profile_function *function = &prof->functions[index];
	size_t begin = pb_begin(out, PPROF_FUNCTION);

	pb_add_uint(out, PPROF_FUNCTION_ID, index + 1);
	pb_add_nonzero(out, PPROF_FUNCTION_NAME, file_string(function->name));
	pb_add_nonzero(out, PPROF_FUNCTION_SYSTEM_NAME, file_string(function->system_name));
	pb_add_nonzero(out, PPROF_FUNCTION_FILENAME, file_string(function->file));
	pb_add_nonzero(out, PPROF_FUNCTION_START_LINE, function->start_line);
	pb_end(out, begin);
}

/* proto3 strings are UTF-8, and strict readers refuse the whole file for one bad byte. */
static void add_string(struct buf *out, const struct profile *prof, size_t index)
{
	const char *str = profile_str(prof, (uint32_t)index);
	size_t len = strlen(str), begin;

	if (text_is_utf8(str, len)) {
		pb_add_bytes(out, PPROF_STRING_TABLE, str, len);
		return;
	}
	begin = pb_begin(out, PPROF_STRING_TABLE);
	text_add_utf8(out, str, len);
	pb_end(out, begin);
}

typedef void add_fn(struct buf *out, const struct profile *prof, size_t index);

static void add_all(struct pprof_writer *writer, size_t cnt, add_fn *add)
{
	for (size_t i = 0; i < cnt && !writer->gzip.err; i++) {
		add(&writer->messages, writer->prof, i);
		flush(writer, FLUSH_BYTES);
	}
}

static void add_header(struct pprof_writer *writer)
{
	const struct profile *prof = writer->prof;
	struct buf *out = &writer->messages;

	pb_add_nonzero(out, PPROF_TIME_NANOS, prof->time_ns);
	pb_add_nonzero(out, PPROF_DURATION_NANOS, prof->duration_ns);
	if (prof->period_type.type != STRTAB_EMPTY || prof->period_type.unit != STRTAB_EMPTY)
		add_value_type(out, PPROF_PERIOD_TYPE, prof->period_type);
	pb_add_nonzero(out, PPROF_PERIOD, (uint64_t)prof->period);
	for (size_t i = 0; i < prof->comment_cnt; i++)
		pb_add_uint(out, PPROF_COMMENT, file_string(prof->comments[i]));
	if (prof->default_value < prof->value_type_cnt)
		pb_add_nonzero(out, PPROF_DEFAULT_SAMPLE_TYPE,
			       file_string(prof->value_types[prof->default_value].type));
}

static int pprof_encode(const struct profile *prof, const struct encoder_opts *opts,
			struct buf *out)
{
	struct pprof_writer writer = {.prof = prof};
	int err;

	if (prof->err)
		return prof->err;
	buf_init(&writer.messages, BUF_NO_MAX);
	gzip_writer_init(&writer.gzip, out);
	for (uint32_t i = 0; i < prof->value_type_cnt; i++)
		add_value_type(&writer.messages, PPROF_SAMPLE_TYPE, prof->value_types[i]);
	add_all(&writer, prof->sample_cnt, add_sample);
	add_all(&writer, prof->mapping_cnt, add_mapping);
	add_all(&writer, prof->location_cnt, add_location);
	add_all(&writer, prof->function_cnt, add_function);
	add_all(&writer, prof->strings.cnt, add_string);
	add_header(&writer);
	flush(&writer, 0);
	err = gzip_writer_finish(&writer.gzip);
	buf_deinit(&writer.messages);
	return err;
}

const struct encoder encoder_pprof = {
	.name = "pprof",
	.extension = ".pb.gz",
	.help = "pprof profile: every value, mappings with build-ids, inlines, labels, the ledger",
	.encode = pprof_encode,
};
