/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks and frames by their numbers. What was learnt is kept for the next question, until it is
 * old (names come later than samples) or much.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "fleet/fleet_priv.h"

enum { DEPTH_MAX = 1 << 16 /* frames of a stack; what is deeper was never recorded */ };

static const uint64_t KEPT_NS = 300 * NSEC_PER_SEC;

void fleet_dict_deinit(struct fleet_dict *dict)
{
	if (!dict->since_ns)
		return;
	profile_deinit(&dict->prof);
	id_map_deinit(&dict->stacks);
	id_map_deinit(&dict->frames);
	*dict = (struct fleet_dict){.since_ns = 0};
}

static size_t bytes_of(const struct profile *prof)
{
	return prof->strings.bytes_len + prof->stack_location_cnt * sizeof(*prof->stack_locations) +
	       prof->stack_cnt * (sizeof(*prof->stacks) + 2 * sizeof(struct hmap_slot)) +
	       prof->location_cnt * (sizeof(*prof->locations) + 2 * sizeof(struct hmap_slot)) +
	       prof->line_cnt * sizeof(*prof->lines);
}

static int refresh(struct fleet_dict *dict)
{
	const uint64_t now_ns = clock_monotonic_ns();
	int err;

	if (dict->since_ns && (now_ns - dict->since_ns > KEPT_NS || dict->prof.err ||
			       bytes_of(&dict->prof) > FLEET_DICT_BYTES_MAX))
		fleet_dict_deinit(dict);
	if (dict->since_ns)
		return 0;
	err = profile_init(&dict->prof);
	if (!err)
		dict->since_ns = now_ns;
	return err;
}

/* --- Frames --- */

struct ids {
	uint64_t *items; /* owned */
	size_t cnt, cap;
};

static int ids_add(struct ids *ids, uint64_t id)
{
	int err = array_reserve(&ids->items, &ids->cap, ids->cnt + 1, sizeof(*ids->items));

	if (!err)
		ids->items[ids->cnt++] = id;
	return err;
}

static void add_ids(const uint64_t *ids, size_t cnt, struct buf *sql)
{
	for (size_t i = 0; i < cnt; i++)
		buf_printf(sql, "%s%" PRIu64, i ? "," : "", ids[i]);
}

static uint32_t take_string(struct reader *rd, struct profile *prof)
{
	size_t len;
	const char *text = rb_text(rd, &len);

	return profile_stringn(prof, text ? text : "", len);
}

static size_t take_column(struct reader *rd, size_t element_bytes, size_t wanted)
{
	size_t cnt = rb_array(rd, element_bytes);

	if (cnt != wanted || cnt > FLEET_LINES_MAX)
		reader_fail(rd);
	return rd->err ? 0 : cnt;
}

static void read_lines(struct reader *rd, struct profile *prof, struct fleet_lines *lines)
{
	size_t cnt = rb_array(rd, 1);

	if (cnt > FLEET_LINES_MAX)
		reader_fail(rd);
	lines->cnt = rd->err ? 0 : cnt;
	for (size_t i = 0; i < lines->cnt; i++)
		lines->functions[i].name = take_string(rd, prof);
	for (size_t i = take_column(rd, 1, cnt), j = 0; j < i; j++)
		lines->functions[j].system_name = take_string(rd, prof);
	for (size_t i = take_column(rd, 1, cnt), j = 0; j < i; j++)
		lines->functions[j].file = take_string(rd, prof);
	for (size_t i = take_column(rd, 4, cnt), j = 0; j < i; j++)
		lines->items[j].line = reader_u32(rd);
	for (size_t i = take_column(rd, 4, cnt), j = 0; j < i; j++)
		lines->functions[j].start_line = reader_u32(rd);
}

/* What a module with these names may be said to have. */
static uint32_t mapping_flags(const struct profile *prof, const struct fleet_lines *lines)
{
	bool has_lines = false;

	for (size_t i = 0; i < lines->cnt; i++)
		has_lines |= lines->items[i].line || *profile_str(prof, lines->functions[i].file);
	if (!lines->cnt)
		return 0;
	return MAPPING_HAS_FUNCTIONS |
	       (has_lines ? MAPPING_HAS_FILENAMES | MAPPING_HAS_LINES | MAPPING_HAS_INLINES : 0);
}

/* Frames without a module have neither. */
static uint32_t take_mapping(struct reader *rd, struct profile *prof)
{
	const uint32_t path = take_string(rd, prof), build_id = take_string(rd, prof);

	if (!*profile_str(prof, path) && !*profile_str(prof, build_id))
		return PROFILE_NONE;
	/* Both are in the table, which therefore does not move. */
	return profile_mapping(prof, profile_str(prof, path), profile_str(prof, build_id));
}

uint32_t fleet_take_frame(struct reader *rd, struct profile *prof, struct fleet_lines *lines,
			  uint64_t *id)
{
	uint64_t address;
	uint16_t flags;
	uint32_t mapping;

	*id = reader_u64(rd);
	flags = reader_u16(rd);
	mapping = take_mapping(rd, prof);
	address = reader_u64(rd);
	read_lines(rd, prof, lines);
	if (rd->err || prof->err)
		return PROFILE_NONE;
	for (size_t i = 0; i < lines->cnt; i++)
		lines->items[i].function = profile_function_add(prof, &lines->functions[i]);
	if (mapping != PROFILE_NONE)
		prof->mappings[mapping].flags |= mapping_flags(prof, lines);
	return profile_location_lines(prof, mapping, address, flags, lines->items, lines->cnt);
}

static int read_frame(struct fleet_dict *dict, struct reader *rd, struct fleet_lines *lines)
{
	uint64_t id;
	uint32_t location = fleet_take_frame(rd, &dict->prof, lines, &id);

	if (location == PROFILE_NONE || id_map_get(&dict->frames, id) != PROFILE_NONE)
		return dict->prof.err;
	return id_map_add(&dict->frames, id, location);
}

static int learn_frames(struct fleet_ask *ask, const uint64_t *ids, size_t cnt,
			struct fleet_lines *lines)
{
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, FLEET_ANSWER_BYTES_MAX);
	/* A row with names may be there beside one that was sent before they were known. */
	buf_add_str(&sql, "SELECT " FLEET_FRAME_COLUMNS " FROM frames WHERE 1");
	fleet_add_days(ask, &sql);
	buf_add_str(&sql, " AND frame IN (");
	add_ids(ids, cnt, &sql);
	buf_add_str(&sql, ") ORDER BY named DESC LIMIT 1 BY frame");
	err = fleet_query(ask->fleet, &sql, &answer);
	reader_init(&rd, answer.data, answer.len);
	while (!err && !reader_done(&rd))
		err = read_frame(&ask->fleet->dict, &rd, lines);
	return err ? err : fleet_read_end(ask->fleet, &rd);
}

static int compare_ids(const void *left_ptr, const void *right_ptr)
{
	const uint64_t *left = left_ptr, *right = right_ptr;

	return (*left > *right) - (*left < *right);
}

static int learn_all_frames(struct fleet_ask *ask, struct ids *ids)
{
	_cleanup_free_ struct fleet_lines *lines = calloc(1, sizeof(*lines));
	size_t cnt = 0;
	int err = 0;

	if (!lines)
		return -ENOMEM;
	if (ids->cnt)
		qsort(ids->items, ids->cnt, sizeof(*ids->items), compare_ids);
	for (size_t i = 0; i < ids->cnt; i++)
		if (!i || ids->items[i] != ids->items[i - 1])
			ids->items[cnt++] = ids->items[i];
	for (size_t i = 0; i < cnt && !err; i += FLEET_IDS_MAX)
		err = learn_frames(ask, ids->items + i,
				   cnt - i < FLEET_IDS_MAX ? cnt - i : FLEET_IDS_MAX, lines);
	return err;
}

/* --- Stacks --- */

/* The frames of the stacks in @answer that are new. */
static int collect_frames(struct fleet_ask *ask, const struct buf *answer, struct ids *out)
{
	struct reader rd;
	int err = 0;

	reader_init(&rd, answer->data, answer->len);
	while (!err && !reader_done(&rd)) {
		size_t cnt;

		reader_u64(&rd);
		cnt = rb_array(&rd, sizeof(uint64_t));
		for (size_t i = 0; i < cnt && !err; i++) {
			uint64_t id = reader_u64(&rd);

			if (id_map_get(&ask->fleet->dict.frames, id) == PROFILE_NONE)
				err = ids_add(out, id);
		}
	}
	return err ? err : fleet_read_end(ask->fleet, &rd);
}

static uint32_t location_of(struct fleet_dict *dict, uint64_t frame)
{
	uint32_t location = id_map_get(&dict->frames, frame);

	return location != PROFILE_NONE
		       ? location
		       : profile_named_location(&dict->prof, FLEET_LOST_FRAME, LOCATION_SYNTHETIC);
}

static int add_stacks(struct fleet_dict *dict, const struct buf *answer)
{
	_cleanup_free_ uint32_t *locations = malloc(DEPTH_MAX * sizeof(*locations));
	struct reader rd;
	int err = locations ? 0 : -ENOMEM;

	reader_init(&rd, answer->data, answer->len);
	while (!err && !reader_done(&rd)) {
		uint64_t id = reader_u64(&rd);
		size_t cnt = rb_array(&rd, sizeof(uint64_t));

		if (cnt > DEPTH_MAX)
			return -EBADMSG;
		/* The root comes first; here, the leaf. */
		for (size_t i = cnt; i--;)
			locations[i] = location_of(dict, reader_u64(&rd));
		err = id_map_add(&dict->stacks, id, profile_stack(&dict->prof, locations, cnt));
		if (!err)
			err = dict->prof.err;
	}
	return err ? err : rd.err;
}

static int learn_stacks(struct fleet_ask *ask, const struct stack_id *stacks, size_t cnt)
{
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct ids frames = {.cnt = 0};
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, FLEET_ANSWER_BYTES_MAX);
	buf_add_str(&sql, "SELECT stack, frames FROM stacks WHERE 1");
	fleet_add_days(ask, &sql);
	buf_add_str(&sql, " AND service IN (");
	for (size_t i = 0; i < cnt; i++) {
		if (i && !strcmp(stacks[i].service, stacks[i - 1].service))
			continue;
		buf_add_str(&sql, i ? "," : "");
		ch_add_quoted(&sql, stacks[i].service, strlen(stacks[i].service));
	}
	buf_add_str(&sql, ") AND stack IN (");
	for (size_t i = 0; i < cnt; i++)
		buf_printf(&sql, "%s%" PRIu64, i ? "," : "", stacks[i].id);
	buf_add_str(&sql, ") LIMIT 1 BY stack");
	err = fleet_query(ask->fleet, &sql, &answer);
	if (!err)
		err = collect_frames(ask, &answer, &frames);
	if (!err)
		err = learn_all_frames(ask, &frames);
	if (!err)
		err = add_stacks(&ask->fleet->dict, &answer);
	free(frames.items);
	return err;
}

static int compare_stacks(const void *left_ptr, const void *right_ptr)
{
	const struct stack_id *left = left_ptr, *right = right_ptr;
	int order = strcmp(left->service, right->service);

	return order ? order : (left->id > right->id) - (left->id < right->id);
}

int fleet_dict_learn(struct fleet_ask *ask, struct stack_id *stacks, size_t cnt)
{
	struct fleet_dict *dict = &ask->fleet->dict;
	size_t new_cnt = 0;
	int err = refresh(dict);

	if (err)
		return err;
	if (cnt)
		qsort(stacks, cnt, sizeof(*stacks), compare_stacks);
	for (size_t i = 0; i < cnt; i++) {
		bool is_twice = new_cnt && stacks[new_cnt - 1].id == stacks[i].id;

		if (!is_twice && id_map_get(&dict->stacks, stacks[i].id) == PROFILE_NONE)
			stacks[new_cnt++] = stacks[i];
	}
	for (size_t i = 0; i < new_cnt && !err; i += FLEET_IDS_MAX)
		err = learn_stacks(ask, stacks + i,
				   new_cnt - i < FLEET_IDS_MAX ? new_cnt - i : FLEET_IDS_MAX);
	return err;
}
