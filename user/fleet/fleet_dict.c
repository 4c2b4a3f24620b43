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

enum {
	DEPTH_MAX = 1 << 16, /* frames of a stack; what is deeper was never recorded */
	DICT_IDS_MAX = 1 << 16, /* in one question: some 20 MiB of answer */
	SERVICES_BYTES_MAX = CH_SQL_MAX_BYTES / 4, /* each may become three in the URL */
	DAY_S = 86400,
};

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

int fleet_dict_refresh(struct fleet_dict *dict)
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

/* Stacks that are being learnt. */
struct learning {
	struct fleet_ask *ask; /* borrowed */
	struct buf stacks; /* the server's answer */
	/* Where each frame of these stacks is in dict->frames, in the answer's order */
	uint32_t *places; /* owned */
	size_t place_cnt, place_cap;
	uint64_t *wanted; /* owned: frames that nobody knows yet */
	size_t wanted_cnt, wanted_cap;
};

static struct fleet_dict *dict_of(const struct learning *learning)
{
	return &learning->ask->fleet->dict;
}

static void learning_init(struct learning *learning, struct fleet_ask *ask)
{
	*learning = (struct learning){.ask = ask};
	buf_init(&learning->stacks, FLEET_ANSWER_BYTES_MAX);
}

/* What was wanted, and not found, is asked for again by the next question. */
static void learning_deinit(struct learning *learning)
{
	struct id_map *frames = &dict_of(learning)->frames;

	for (size_t i = 0; i < learning->wanted_cnt; i++) {
		const uint32_t at = id_map_find(frames, learning->wanted[i]);

		if (frames->values[at] == FLEET_WANTED)
			frames->values[at] = PROFILE_NONE;
	}
	buf_deinit(&learning->stacks);
	free(learning->places);
	free(learning->wanted);
}

/* Each day has a row of what its samples name. */
static bool has_days(const struct fleet_ask *ask)
{
	return ask->first_hour / DAY_S != ask->last_hour / DAY_S;
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

static void read_names(struct reader *rd, struct profile *prof, struct fleet_lines *lines)
{
	size_t cnt = rb_array(rd, 1);

	if (cnt > FLEET_LINES_MAX)
		reader_fail(rd);
	lines->cnt = rd->err ? 0 : cnt;
	for (size_t i = 0; i < lines->cnt; i++)
		lines->functions[i].name = take_string(rd, prof);
}

static void read_lines(struct reader *rd, struct profile *prof, struct fleet_lines *lines)
{
	size_t cnt;

	read_names(rd, prof, lines);
	cnt = lines->cnt;
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
	struct profile *prof = &dict->prof;
	uint64_t id;
	uint32_t location = fleet_take_frame(rd, prof, lines, &id), at;

	if (location == PROFILE_NONE)
		return prof->err;
	at = id_map_intern(&dict->frames, id);
	if (at == HMAP_NONE)
		return -ENOMEM;
	dict->frames.values[at] = location;
	return 0;
}

/* The same of (frame, flags, path, address, names). */
static int read_shown(struct fleet_dict *dict, struct reader *rd, struct fleet_lines *lines)
{
	struct profile *prof = &dict->prof;
	const uint64_t id = reader_u64(rd);
	const uint16_t flags = reader_u16(rd);
	const uint32_t path = take_string(rd, prof);
	const uint64_t address = reader_u64(rd);
	uint32_t mapping = PROFILE_NONE, at;

	read_names(rd, prof, lines);
	if (rd->err || prof->err)
		return prof->err;
	if (*profile_str(prof, path))
		mapping = profile_mapping(prof, profile_str(prof, path), "");
	for (size_t i = 0; i < lines->cnt; i++)
		lines->items[i] = (struct profile_line){
			.function = profile_function(
				prof, profile_str(prof, lines->functions[i].name), "", "", 0)};
	at = id_map_intern(&dict->frames, id);
	if (at == HMAP_NONE)
		return -ENOMEM;
	dict->frames.values[at] =
		profile_location_lines(prof, mapping, address, flags, lines->items, lines->cnt);
	return prof->err;
}

/* What is learnt of frames, and who reads a row of it. */
struct frame_rows {
	struct fleet_dict *dict;
	const char *columns;
	int (*read)(struct fleet_dict *dict, struct reader *rd, struct fleet_lines *lines);
};

static int learn_frames(const struct fleet_ask *ask, const struct frame_rows *rows,
			const uint64_t *ids, size_t cnt, struct fleet_lines *lines)
{
	struct fleet *fleet = ask->fleet;
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, FLEET_ANSWER_BYTES_MAX);
	/* A row with names may be there beside one that was sent before they were known. */
	buf_printf(&sql, "SELECT %s FROM frames WHERE 1", rows->columns);
	fleet_add_days(ask, &sql);
	buf_add_str(&sql, " AND frame IN " CH_IDS " ORDER BY named DESC LIMIT 1 BY frame");
	err = fleet_query_ids(fleet, &sql, ids, cnt, &answer);
	reader_init(&rd, answer.data, answer.len);
	while (!err && !reader_done(&rd))
		err = rows->read(rows->dict, &rd, lines);
	return err ? err : fleet_read_end(fleet, &rd);
}

static size_t at_once(size_t left)
{
	return left < DICT_IDS_MAX ? left : DICT_IDS_MAX;
}

static int learn_ids(const struct fleet_ask *ask, const struct frame_rows *rows,
		     const uint64_t *ids, size_t cnt)
{
	_cleanup_free_ struct fleet_lines *lines = calloc(1, sizeof(*lines));
	int err = lines ? 0 : -ENOMEM;

	for (size_t i = 0; i < cnt && !err; i += DICT_IDS_MAX)
		err = learn_frames(ask, rows, ids + i, at_once(cnt - i), lines);
	return err;
}

static int learn_wanted(const struct learning *learning)
{
	const struct frame_rows rows = {dict_of(learning), FLEET_FRAME_COLUMNS, read_frame};

	return learn_ids(learning->ask, &rows, learning->wanted, learning->wanted_cnt);
}

int fleet_learn_names(struct fleet_ask *ask, const uint64_t *frames, size_t cnt)
{
	const struct frame_rows rows = {&ask->fleet->names, "frame, flags, path, address, names",
					read_shown};

	return learn_ids(ask, &rows, frames, cnt);
}

/* --- Stacks --- */

static int want(struct learning *learning, uint64_t id)
{
	int err = array_reserve(&learning->wanted, &learning->wanted_cap, learning->wanted_cnt + 1,
				sizeof(*learning->wanted));

	if (!err)
		learning->wanted[learning->wanted_cnt++] = id;
	return err;
}

static int take_frames(struct learning *learning, struct reader *rd, size_t cnt)
{
	struct id_map *frames = &dict_of(learning)->frames;
	int err = array_reserve(&learning->places, &learning->place_cap, learning->place_cnt + cnt,
				sizeof(*learning->places));

	for (size_t i = 0; i < cnt && !err; i++) {
		const uint64_t id = reader_u64(rd);
		const uint32_t at = id_map_intern(frames, id);

		if (at == HMAP_NONE)
			return -ENOMEM;
		learning->places[learning->place_cnt++] = at;
		if (frames->values[at] != PROFILE_NONE)
			continue;
		err = want(learning, id);
		if (!err)
			frames->values[at] = FLEET_WANTED;
	}
	return err;
}

/* The frames of the stacks in the answer. */
static int collect_frames(struct learning *learning)
{
	struct reader rd;
	int err = 0;

	reader_init(&rd, learning->stacks.data, learning->stacks.len);
	while (!err && !reader_done(&rd)) {
		size_t cnt;

		reader_u64(&rd);
		cnt = rb_array(&rd, sizeof(uint64_t));
		if (cnt > DEPTH_MAX)
			reader_fail(&rd);
		if (!rd.err)
			err = take_frames(learning, &rd, cnt);
	}
	return err ? err : fleet_read_end(learning->ask->fleet, &rd);
}

uint32_t fleet_location_at(struct fleet_dict *dict, uint32_t place)
{
	const uint32_t location = dict->frames.values[place];

	return location < FLEET_WANTED
		       ? location
		       : profile_named_location(&dict->prof, FLEET_LOST_FRAME, LOCATION_SYNTHETIC);
}

/* The answer was read once, and is what was asked for. */
static int add_stacks(struct learning *learning)
{
	_cleanup_free_ uint32_t *locations = malloc(DEPTH_MAX * sizeof(*locations));
	struct fleet_dict *dict = dict_of(learning);
	const uint32_t *place = learning->places;
	struct reader rd;

	if (!locations)
		return -ENOMEM;
	reader_init(&rd, learning->stacks.data, learning->stacks.len);
	while (!reader_done(&rd)) {
		const uint32_t at = id_map_intern(&dict->stacks, reader_u64(&rd));
		const size_t cnt = rb_array(&rd, sizeof(uint64_t));

		if (at == HMAP_NONE)
			return -ENOMEM;
		reader_bytes(&rd, cnt * sizeof(uint64_t));
		/* The root comes first; here, the leaf. */
		for (size_t i = cnt; i--;)
			locations[i] = fleet_location_at(dict, *place++);
		if (dict->stacks.values[at] == PROFILE_NONE)
			dict->stacks.values[at] = profile_stack(&dict->prof, locations, cnt);
		if (dict->prof.err)
			return dict->prof.err;
	}
	return rd.err;
}

/* " AND service IN (...)", by which stacks are sorted: it need not be there, and the URL is no
 * place for many. */
static void add_services(const struct stack_id *stacks, size_t cnt, const struct strtab *names,
			 struct buf *sql)
{
	const size_t before = sql->len;

	buf_add_str(sql, " AND service IN (");
	for (size_t i = 0; i < cnt; i++) {
		const char *service = strtab_get(names, stacks[i].service);

		if (i && stacks[i].service == stacks[i - 1].service)
			continue;
		buf_add_str(sql, i ? "," : "");
		ch_add_quoted(sql, service, strlen(service));
		if (sql->len > SERVICES_BYTES_MAX) {
			sql->len = before;
			return;
		}
	}
	buf_add_char(sql, ')');
}

static int ask_stacks(struct learning *learning, const struct stack_id *stacks, size_t cnt,
		      const struct strtab *names)
{
	_cleanup_free_ uint64_t *ids = malloc(cnt * sizeof(*ids));
	_cleanup_(buf_deinit) struct buf sql;

	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		ids[i] = stacks[i].id;
	buf_init(&sql, BUF_NO_MAX);
	buf_add_str(&sql, "SELECT stack, frames FROM stacks WHERE 1");
	fleet_add_days(learning->ask, &sql);
	add_services(stacks, cnt, names, &sql);
	buf_add_str(&sql, " AND stack IN " CH_IDS);
	if (has_days(learning->ask))
		buf_add_str(&sql, " LIMIT 1 BY stack");
	return fleet_query_ids(learning->ask->fleet, &sql, ids, cnt, &learning->stacks);
}

static int learn_stacks(struct fleet_ask *ask, const struct stack_id *stacks, size_t cnt,
			const struct strtab *names)
{
	_cleanup_(learning_deinit) struct learning learning;
	int err;

	learning_init(&learning, ask);
	err = ask_stacks(&learning, stacks, cnt, names);
	if (!err)
		err = collect_frames(&learning);
	if (!err)
		err = learn_wanted(&learning);
	return err ? err : add_stacks(&learning);
}

static int compare_stacks(const void *left_ptr, const void *right_ptr)
{
	const struct stack_id *left = left_ptr, *right = right_ptr;

	if (left->service != right->service)
		return left->service < right->service ? -1 : 1;
	return (left->id > right->id) - (left->id < right->id);
}

int fleet_dict_learn(struct fleet_ask *ask, const struct strtab *names, struct stack_id *stacks,
		     size_t cnt)
{
	struct fleet_dict *dict = &ask->fleet->dict;
	size_t new_cnt = 0;
	int err = fleet_dict_refresh(dict);

	if (err)
		return err;
	if (cnt)
		qsort(stacks, cnt, sizeof(*stacks), compare_stacks);
	for (size_t i = 0; i < cnt; i++) {
		bool is_twice = new_cnt && stacks[new_cnt - 1].id == stacks[i].id;

		if (!is_twice && id_map_get(&dict->stacks, stacks[i].id) == PROFILE_NONE)
			stacks[new_cnt++] = stacks[i];
	}
	for (size_t i = 0; i < new_cnt && !err; i += DICT_IDS_MAX)
		err = learn_stacks(ask, stacks + i, at_once(new_cnt - i), names);
	return err;
}
