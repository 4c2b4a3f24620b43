/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payloads of a dictionary's chunks, which may be damaged: every number is checked against what it
 * may refer to before it is used, every count against the bytes that are left.
 */
#include "store/dict.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "store/varint.h"

enum {
	/* Of all stacks of a generation: bounds what few bytes can become. */
	STACK_LOCATIONS_MAX = 1 << 24,
	MAPPING_FLAGS_ALL = MAPPING_HAS_FUNCTIONS | MAPPING_HAS_FILENAMES | MAPPING_HAS_LINES |
			    MAPPING_HAS_INLINES,
};

struct decoder {
	struct dict *dict;
	struct reader *rd;
	struct dict_mark base, added, end;
};

/* Room for @more in a column of the profile; false, and the reader's error, on failure. */
static bool room(struct decoder *dec, void *items, size_t *cap, size_t need, size_t elem_bytes)
{
	if (!dec->rd->err && array_reserve(items, cap, need, elem_bytes))
		dec->rd->err = -ENOMEM;
	return !dec->rd->err;
}

/* Each entry takes a byte at least. */
static uint64_t read_count(struct reader *rd)
{
	uint64_t cnt = reader_uleb128(rd);

	return cnt <= reader_left(rd) ? cnt : reader_fail(rd);
}

static void read_mark(struct reader *rd, struct dict_mark *out)
{
	out->strings = reader_uleb128(rd);
	out->mappings = reader_uleb128(rd);
	out->functions = reader_uleb128(rd);
	out->locations = reader_uleb128(rd);
	out->stacks = reader_uleb128(rd);
	out->label_sets = reader_uleb128(rd);
}

static void read_added(struct decoder *dec)
{
	struct dict_mark *added = &dec->added, *end = &dec->end;

	added->strings = read_count(dec->rd);
	added->mappings = read_count(dec->rd);
	added->functions = read_count(dec->rd);
	added->locations = read_count(dec->rd);
	added->stacks = read_count(dec->rd);
	added->label_sets = read_count(dec->rd);
	*end = (struct dict_mark){
		.strings = dec->base.strings + added->strings,
		.mappings = dec->base.mappings + added->mappings,
		.functions = dec->base.functions + added->functions,
		.locations = dec->base.locations + added->locations,
		.stacks = dec->base.stacks + added->stacks,
		.label_sets = dec->base.label_sets + added->label_sets,
	};
}

static void read_strings(struct decoder *dec)
{
	struct reader *rd = dec->rd, lens = *rd;
	const char *str;
	size_t len;

	for (uint64_t i = 0; i < dec->added.strings; i++)
		reader_uleb128(rd);
	for (uint64_t i = 0; i < dec->added.strings && !rd->err; i++) {
		len = reader_uleb128(&lens);
		str = reader_bytes(rd, len);
		if (rd->err || memchr(str, '\0', len))
			reader_fail(rd);
		else if (strtab_append(&dec->dict->prof.strings, str, len) == STRTAB_NONE)
			rd->err = -ENOMEM;
	}
}

static void read_range(struct reader *rd, struct profile_mapping *mapping)
{
	mapping->start = reader_uleb128(rd);
	mapping->limit = reader_uleb128(rd);
	mapping->file_off = reader_uleb128(rd);
	mapping->flags = read_below(rd, MAPPING_FLAGS_ALL + 1);
}

static void read_mappings(struct decoder *dec)
{
	struct profile *prof = &dec->dict->prof;
	struct reader *rd = dec->rd;
	struct profile_mapping mapping;
	uint64_t changed;
	uint32_t index;

	if (!room(dec, &prof->mappings, &prof->mapping_cap, dec->end.mappings,
		  sizeof(*prof->mappings)))
		return;
	for (uint64_t i = 0; i < dec->added.mappings && !rd->err; i++) {
		mapping = (struct profile_mapping){
			.path = read_below(rd, dec->end.strings),
			.build_id = read_below(rd, dec->end.strings),
		};
		read_range(rd, &mapping);
		if (!rd->err)
			prof->mappings[prof->mapping_cnt++] = mapping;
	}
	changed = read_count(rd);
	for (uint64_t i = 0; i < changed && !rd->err; i++) {
		index = read_below(rd, dec->base.mappings);
		if (rd->err)
			return;
		mapping = prof->mappings[index];
		read_range(rd, &mapping);
		if (!rd->err)
			prof->mappings[index] = mapping;
	}
}

/* A string's number as the difference to @last. */
static uint32_t read_string_delta(struct decoder *dec, uint32_t last)
{
	uint64_t value = (uint64_t)read_signed(dec->rd) + last;

	return value < dec->end.strings ? (uint32_t)value : reader_fail(dec->rd);
}

static void read_functions(struct decoder *dec)
{
	struct profile *prof = &dec->dict->prof;
	const uint64_t base = dec->base.functions, end = dec->end.functions;
	struct profile_function *funcs;
	uint32_t last = 0;

	if (!room(dec, &prof->functions, &prof->function_cap, end, sizeof(*funcs)))
		return;
	funcs = prof->functions;
	for (uint64_t i = base; i < end; last = funcs[i++].name)
		funcs[i].name = read_string_delta(dec, last);
	for (uint64_t i = base; i < end; i++)
		funcs[i].system_name = read_string_delta(dec, funcs[i].name);
	last = 0;
	for (uint64_t i = base; i < end; last = funcs[i++].file)
		funcs[i].file = read_string_delta(dec, last);
	for (uint64_t i = base; i < end; i++)
		funcs[i].start_line = read_below(dec->rd, (uint64_t)UINT32_MAX + 1);
	if (!dec->rd->err)
		prof->function_cnt = end;
}

/* The lines of @loc, which are added to the profile's. */
static void read_lines(struct decoder *dec, struct profile_location *loc)
{
	struct profile *prof = &dec->dict->prof;
	const uint32_t cnt = read_below(dec->rd, UINT16_MAX + 1);

	if (cnt > reader_left(dec->rd) || prof->line_cnt + cnt >= PROFILE_NONE)
		reader_fail(dec->rd);
	if (!room(dec, &prof->lines, &prof->line_cap, prof->line_cnt + cnt, sizeof(*prof->lines)))
		return;
	for (uint32_t i = 0; i < cnt; i++)
		prof->lines[prof->line_cnt + i] = (struct profile_line){
			.function = read_below(dec->rd, dec->end.functions),
			.line = read_below(dec->rd, (uint64_t)UINT32_MAX + 1),
		};
	if (dec->rd->err)
		return;
	loc->first_line = (uint32_t)prof->line_cnt;
	loc->line_cnt = (uint16_t)cnt;
	prof->line_cnt += cnt;
}

static void read_names(struct decoder *dec)
{
	struct dict *dict = dec->dict;
	const uint64_t cnt = read_count(dec->rd);
	struct profile_location scratch, *loc;
	uint32_t index;

	if (!room(dec, &dict->named, &dict->named_cap, dict->named_cnt + cnt, sizeof(*dict->named)))
		return;
	for (uint64_t i = 0; i < cnt && !dec->rd->err; i++) {
		index = read_below(dec->rd, dec->end.locations);
		if (dec->rd->err)
			return;
		loc = &dict->prof.locations[index];
		if (loc->line_cnt) { /* read before */
			read_lines(dec, &scratch);
			continue;
		}
		read_lines(dec, loc);
		if (loc->line_cnt)
			dict->named[dict->named_cnt++] = index;
	}
}

static void read_locations(struct decoder *dec)
{
	struct profile *prof = &dec->dict->prof;
	const uint64_t base = dec->base.locations, end = dec->end.locations;
	struct profile_location *locs;
	uint64_t last = 0;

	if (!room(dec, &prof->locations, &prof->location_cap, end, sizeof(*locs)))
		return;
	locs = prof->locations;
	for (uint64_t i = base; i < end; i++)
		locs[i].mapping = read_below(dec->rd, dec->end.mappings + 1) - 1;
	for (uint64_t i = base; i < end; last = locs[i++].address)
		locs[i].address = (uint64_t)read_signed(dec->rd) + last;
	for (uint64_t i = base; i < end; i++)
		locs[i].flags = (uint16_t)read_below(dec->rd, UINT16_MAX + 1);
	for (uint64_t i = base; i < end; i++) {
		locs[i].line_cnt = 0;
		read_lines(dec, &locs[i]);
	}
	read_names(dec);
	if (!dec->rd->err)
		prof->location_cnt = end;
}

/* A stack of @fresh new frames above the last @kept ones of @last. */
static void read_stack(struct decoder *dec, struct profile_stack *last, uint64_t kept,
		       uint64_t fresh)
{
	struct profile *prof = &dec->dict->prof;
	struct profile_stack stack = {.first = (uint32_t)prof->stack_location_cnt};
	uint32_t *locations;

	if (kept > last->cnt || fresh > reader_left(dec->rd) ||
	    prof->stack_location_cnt + kept + fresh > STACK_LOCATIONS_MAX)
		reader_fail(dec->rd);
	if (!room(dec, &prof->stack_locations, &prof->stack_location_cap,
		  prof->stack_location_cnt + kept + fresh, sizeof(*locations)))
		return;
	locations = prof->stack_locations + stack.first;
	for (uint64_t i = 0; i < fresh; i++)
		locations[i] = read_below(dec->rd, dec->end.locations);
	if (kept)
		memcpy(locations + fresh, prof->stack_locations + last->first + last->cnt - kept,
		       kept * sizeof(*locations));
	if (dec->rd->err)
		return;
	stack.cnt = (uint32_t)(kept + fresh);
	prof->stack_location_cnt += stack.cnt;
	prof->stacks[prof->stack_cnt++] = *last = stack;
}

static void read_stacks(struct decoder *dec)
{
	struct profile *prof = &dec->dict->prof;
	struct reader kept = *dec->rd;
	struct profile_stack last = {.cnt = 0};

	if (!room(dec, &prof->stacks, &prof->stack_cap, dec->end.stacks, sizeof(*prof->stacks)))
		return;
	for (uint64_t i = 0; i < dec->added.stacks; i++)
		reader_uleb128(dec->rd);
	for (uint64_t i = 0; i < dec->added.stacks && !dec->rd->err; i++)
		read_stack(dec, &last, reader_uleb128(&kept), reader_uleb128(dec->rd));
}

static void read_label(struct decoder *dec, struct profile_label *out)
{
	struct reader *rd = dec->rd;

	*out = (struct profile_label){.key = read_below(rd, dec->end.strings)};
	out->str = read_below(rd, dec->end.strings + 1) - 1;
	if (out->str != PROFILE_NONE)
		return;
	out->num = read_signed(rd);
	out->num_unit = read_below(rd, dec->end.strings);
}

static void read_label_sets(struct decoder *dec)
{
	struct profile *prof = &dec->dict->prof;
	struct profile_label_set set;
	uint64_t cnt;

	if (!room(dec, &prof->label_sets, &prof->label_set_cap, dec->end.label_sets,
		  sizeof(*prof->label_sets)))
		return;
	for (uint64_t i = 0; i < dec->added.label_sets && !dec->rd->err; i++) {
		cnt = read_count(dec->rd);
		if (prof->label_cnt + cnt >= PROFILE_NONE)
			reader_fail(dec->rd);
		if (!room(dec, &prof->labels, &prof->label_cap, prof->label_cnt + cnt,
			  sizeof(*prof->labels)))
			return;
		set = (struct profile_label_set){.first = (uint32_t)prof->label_cnt,
						 .cnt = (uint32_t)cnt};
		for (uint64_t j = 0; j < cnt; j++)
			read_label(dec, &prof->labels[set.first + j]);
		if (dec->rd->err)
			return;
		prof->label_cnt += cnt;
		prof->label_sets[prof->label_set_cnt++] = set;
	}
}

/* Is all that @end counts there already? */
static bool is_known(const struct dict_mark *end, const struct dict_mark *now)
{
	return end->strings <= now->strings && end->mappings <= now->mappings &&
	       end->functions <= now->functions && end->locations <= now->locations &&
	       end->stacks <= now->stacks && end->label_sets <= now->label_sets;
}

static void decode_payload(struct decoder *dec)
{
	read_strings(dec);
	read_mappings(dec);
	read_functions(dec);
	read_locations(dec);
	read_stacks(dec);
	read_label_sets(dec);
}

/* One payload. */
static int decode_next(struct dict *dict, struct reader rd)
{
	struct decoder dec = {.dict = dict, .rd = &rd};
	struct dict_mark now = dict_mark_of(dict);

	read_mark(&rd, &dec.base);
	read_added(&dec);
	if (rd.err)
		return rd.err;
	if (memcmp(&dec.base, &now, sizeof(now)) != 0)
		return is_known(&dec.end, &now) ? 0 : -EBADMSG;
	decode_payload(&dec);
	if (!reader_done(&rd))
		reader_fail(&rd);
	if (!rd.err)
		dict->saved = dec.end;
	return rd.err;
}

int dict_decode(struct dict *dict, struct reader *rd)
{
	int err = 0;

	while (!err && !reader_done(rd))
		err = decode_next(dict, reader_sub(rd, reader_uleb128(rd)));
	return err ? err : rd->err;
}
