/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the pprof reader: what pprof_decode.c (the walk, samples) and pprof_tables.c (what
 * samples refer to) share. Not for others. */
#ifndef BPFPROF_ENCODE_PPROF_READER_H
#define BPFPROF_ENCODE_PPROF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/reader.h"
#include "encode/protobuf.h"
#include "profile/profile.h"

enum {
	SCALARS_MAX = 11 /* above every field number of the messages that hold only numbers */
};

/* An entity of the file: where it went in the profile. */
struct entity {
	uint64_t id;
	uint64_t shift; /* mappings: what has to be added to addresses */
	uint32_t index;
};

struct entities {
	struct entity *items; /* owned; sorted by id after sort_entities() */
	size_t cnt, cap;
};

/* A column of numbers that is used again for each message. */
struct numbers {
	uint64_t *items; /* owned */
	size_t cnt, cap;
};

struct pprof_reader {
	struct profile *out;
	struct buf *why; /* may be NULL */
	/* what is being read: "sample" 3, for messages */
	const char *what;
	size_t ordinal;

	uint32_t *strings; /* owned: index in the file -> string id */
	size_t string_cnt, string_cap;
	struct entities mappings, functions, locations;
	uint32_t default_type; /* string id */
	bool *is_comment; /* owned: by string id, as many as there are after the strings */

	/* scratch, owned */
	struct numbers ids, values;
	uint32_t *stack;
	size_t stack_cap;
	struct profile_label *labels;
	size_t label_cnt, label_cap;
	struct profile_line *lines;
	size_t line_cnt, line_cap;
};

/* The fields of a message that holds only numbers, by field number. */
struct scalars {
	uint64_t values[SCALARS_MAX];
	bool is_present[SCALARS_MAX];
};

/* Say what is wrong with the entity at hand: "is malformed". Always -EBADMSG. */
int pprof_corrupt(struct pprof_reader *rdr, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int pprof_malformed(struct pprof_reader *rdr);
int pprof_missing(struct pprof_reader *rdr, const char *kind, uint64_t id);

/* The numbers in @message, whose fields up to @last_number are known to be numbers; others are
 * skipped. 0 or -EBADMSG. */
int pprof_read_scalars(struct pprof_reader *rdr, struct reader message, uint32_t last_number,
		       struct scalars *out);

/* The string id of the file's string @at. 0 or -EBADMSG. */
int pprof_find_string(struct pprof_reader *rdr, uint64_t at, uint32_t *out);

/* Sort by id, which nearly all files are already, and refuse (-EBADMSG) an id that stands twice;
 * @what names the entities. To be done before pprof_find_entity(), which gives NULL for none. */
int pprof_sort_entities(struct pprof_reader *rdr, struct entities *entities, const char *what);
const struct entity *pprof_find_entity(const struct entities *entities, uint64_t id);

/* Readers of one field of the Profile message each: 0, -EBADMSG with the reason in rdr->why, or
 * -ENOMEM. */
int pprof_read_string(struct pprof_reader *rdr, const struct pb_field *field);
int pprof_read_sample_type(struct pprof_reader *rdr, const struct pb_field *field);
int pprof_read_period_type(struct pprof_reader *rdr, const struct pb_field *field);
int pprof_read_mapping(struct pprof_reader *rdr, const struct pb_field *field);
int pprof_read_function(struct pprof_reader *rdr, const struct pb_field *field);
int pprof_read_location(struct pprof_reader *rdr, const struct pb_field *field);

#endif
