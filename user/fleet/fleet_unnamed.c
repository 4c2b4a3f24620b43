/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/fleet_unnamed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "clickhouse/fleet_frame.h"
#include "fleet/fleet_priv.h"

enum {
	LIST_BYTES_MAX = 64 << 20,
	DAYS_AT_ONCE = 50, /* of one insert: each is a partition, of which servers take 100 */
	/* Their names are their hosts' alone. */
	NOT_IN_A_FILE = LOCATION_KERNEL | LOCATION_JIT | LOCATION_SYNTHETIC,
};

struct fleet_days fleet_days_of(uint64_t from_ns, uint64_t to_ns)
{
	const uint64_t day_ns = 86400 * NSEC_PER_SEC;
	const uint64_t first = from_ns / day_ns, last = to_ns / day_ns;

	return (struct fleet_days){
		.first = first < UINT16_MAX ? (uint16_t)first : UINT16_MAX,
		.last = last < UINT16_MAX ? (uint16_t)last : UINT16_MAX,
	};
}

/* --- Which files --- */

void fleet_modules_deinit(struct fleet_modules *modules)
{
	for (size_t i = 0; i < modules->cnt; i++) {
		free(modules->items[i].build_id);
		free(modules->items[i].path);
	}
	free(modules->items);
}

/* Append " FROM frames WHERE ...": those of files, of @days and the @cnt @modules (0: all). */
static void add_frames(const struct fleet_days *days, const struct fleet_module *modules,
		       size_t cnt, struct buf *sql)
{
	buf_printf(sql,
		   " FROM frames WHERE day >= toDate(%u) AND day <= toDate(%u) AND bitAnd(flags, "
		   "%d) = 0 AND build_id ",
		   days->first, days->last, NOT_IN_A_FILE);
	buf_add_str(sql, cnt ? "IN (" : "!= ''");
	for (size_t i = 0; i < cnt; i++) {
		buf_add_str(sql, i ? "," : "");
		ch_add_quoted(sql, modules[i].build_id, strlen(modules[i].build_id));
	}
	buf_add_str(sql, cnt ? ")" : "");
}

/* Append what makes groups of rows, by day, of what lacks something. Rows before version 3 of the
 * schema may have lines whatever their number is. */
static void add_lacking(struct buf *sql)
{
	buf_printf(sql,
		   " GROUP BY day, build_id, frame HAVING max(named) < %d AND max(arraySum(lines)) "
		   "= 0",
		   FLEET_NAMED_ASKED);
}

static char *take_text(struct reader *rd)
{
	size_t len;
	const char *text = rb_text(rd, &len);

	return strndup(text ? text : "", len);
}

int fleet_modules_take(struct fleet_modules *modules, struct reader *rd)
{
	int err = array_reserve(&modules->items, &modules->cap, modules->cnt + 1,
				sizeof(*modules->items));
	struct fleet_module *module;

	if (err)
		return err;
	module = &modules->items[modules->cnt++];
	module->build_id = take_text(rd);
	module->path = take_text(rd);
	module->lacking = reader_u64(rd);
	module->why = "";
	return module->build_id && module->path ? 0 : -ENOMEM;
}

int fleet_unnamed_modules(struct ch_client *client, const struct fleet_days *days,
			  struct fleet_modules *out)
{
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	int err;

	*out = (struct fleet_modules){.cnt = 0};
	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, LIST_BYTES_MAX);
	buf_add_str(&sql, "SELECT build_id, any(file), count() AS lacking FROM (SELECT build_id, "
			  "any(path) AS file");
	add_frames(days, NULL, 0, &sql);
	add_lacking(&sql);
	buf_add_str(&sql, ") GROUP BY build_id ORDER BY lacking DESC, build_id FORMAT RowBinary");
	err = sql.err ? sql.err : ch_client_query(client, buf_cstr(&sql), &answer);
	reader_init(&rd, answer.data, answer.len);
	while (!err && !reader_done(&rd))
		err = fleet_modules_take(out, &rd);
	return err ? err : rd.err ? -EPROTO : 0;
}

/* --- Their frames --- */

void fleet_unnamed_deinit(struct fleet_unnamed *unnamed)
{
	profile_deinit(&unnamed->prof);
	free(unnamed->frames);
}

static int take_frame(struct fleet_unnamed *unnamed, struct reader *rd, struct fleet_lines *lines)
{
	struct fleet_unnamed_frame frame;
	int err = array_reserve(&unnamed->frames, &unnamed->cap, unnamed->cnt + 1,
				sizeof(*unnamed->frames));

	frame.location = fleet_take_frame(rd, &unnamed->prof, lines, &frame.frame);
	frame.day = reader_u16(rd);
	frame.named = reader_u8(rd);
	if (err || unnamed->prof.err)
		return err ? err : unnamed->prof.err;
	/* It was asked for frames of files. */
	if (!rd->err && unnamed->prof.locations[frame.location].mapping == PROFILE_NONE)
		reader_fail(rd);
	if (!rd->err)
		unnamed->frames[unnamed->cnt++] = frame;
	return 0;
}

static int read_frames(const struct buf *answer, struct fleet_unnamed *out)
{
	_cleanup_free_ struct fleet_lines *lines = calloc(1, sizeof(*lines));
	struct reader rd;
	int err = lines ? 0 : -ENOMEM;

	reader_init(&rd, answer->data, answer->len);
	while (!err && !reader_done(&rd))
		err = take_frame(out, &rd, lines);
	for (size_t i = 0; i < out->prof.mapping_cnt; i++)
		out->prof.mappings[i].flags = 0;
	return err ? err : rd.err ? -EPROTO : 0;
}

int fleet_unnamed_read(struct ch_client *client, const struct fleet_days *days,
		       const struct fleet_module *modules, size_t cnt, struct fleet_unnamed *out)
{
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	int err;

	*out = (struct fleet_unnamed){.cnt = 0};
	err = profile_init(&out->prof);
	if (err)
		return err;
	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, FLEET_ANSWER_BYTES_MAX);
	buf_add_str(&sql, "SELECT " FLEET_FRAME_COLUMNS ", day, named");
	add_frames(days, modules, cnt, &sql);
	buf_add_str(&sql, " AND (day, frame) IN (SELECT day, frame");
	add_frames(days, modules, cnt, &sql);
	add_lacking(&sql);
	/* The best of the rows that the server has not merged yet. */
	buf_add_str(&sql,
		    ") ORDER BY day, build_id, frame, named DESC LIMIT 1 BY day, frame FORMAT "
		    "RowBinary");
	err = sql.err ? sql.err : ch_client_query(client, buf_cstr(&sql), &answer);
	return err ? err : read_frames(&answer, out);
}

/* --- Their names --- */

/* What `named` of @frame's row is to be. */
static uint8_t named_of(const struct profile *prof, const struct fleet_unnamed_frame *frame)
{
	const struct profile_location *loc = &prof->locations[frame->location];
	const uint8_t now = fleet_frame_named(prof, frame->location);

	return now < FLEET_NAMED_ASKED && (prof->mappings[loc->mapping].flags & MAPPING_HAS_LINES)
		       ? FLEET_NAMED_ASKED
		       : now;
}

/* The row that @frame is to have, where it is another one. */
static void add_row(const struct profile *prof, const struct fleet_unnamed_frame *frame,
		    struct native_block *block)
{
	const struct profile_location *loc = &prof->locations[frame->location];
	const struct profile_mapping *mapping = &prof->mappings[loc->mapping];
	const struct fleet_frame row = {
		.day = frame->day,
		.named = named_of(prof, frame),
		.frame = frame->frame,
		.address = loc->address,
		.path = profile_str(prof, mapping->path),
		.build_id = profile_str(prof, mapping->build_id),
	};

	if (row.named > frame->named)
		fleet_frame_add(block, &row, prof, frame->location);
}

static int write_frames(struct ch_client *client, const struct fleet_unnamed *unnamed,
			struct native_block *block)
{
	size_t days = 0;
	int err = 0;

	for (size_t i = 0; i < unnamed->cnt && !err; i++) {
		const struct fleet_unnamed_frame *frame = &unnamed->frames[i];

		/* They come sorted by day. */
		days += i && frame->day != frame[-1].day;
		if (days == DAYS_AT_ONCE) {
			days = 0;
			err = native_insert(block, client);
			if (!err)
				err = native_reset(block);
		}
		add_row(&unnamed->prof, frame, block);
	}
	return err ? err : native_insert(block, client);
}

static void count_bettered(const struct fleet_unnamed *unnamed, struct fleet_module *modules,
			   size_t cnt)
{
	const struct profile *prof = &unnamed->prof;

	for (size_t i = 0; i < cnt; i++)
		modules[i].bettered = 0;
	for (size_t i = 0; i < unnamed->cnt; i++) {
		const struct fleet_unnamed_frame *frame = &unnamed->frames[i];
		const uint32_t mapping = prof->locations[frame->location].mapping;
		const char *build_id = profile_str(prof, prof->mappings[mapping].build_id);

		if (fleet_frame_named(prof, frame->location) <= frame->named)
			continue;
		for (size_t k = 0; k < cnt; k++)
			modules[k].bettered += !strcmp(modules[k].build_id, build_id);
	}
}

static int note_modules(struct ch_client *client, struct native_block *block,
			const struct fleet_module *modules, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct fleet_module *module = &modules[i];

		native_add(block, hash_bytes(module->build_id, strlen(module->build_id)));
		native_add_str(block, module->build_id);
		native_add_str(block, module->path);
		native_add(block, module->lacking);
		native_add(block, module->bettered);
		native_add_str(block, module->why);
		native_add(block, clock_realtime_ns() / NSEC_PER_SEC);
	}
	return native_insert(block, client);
}

int fleet_unnamed_write(struct ch_client *client, struct fleet_unnamed *unnamed,
			struct fleet_module *modules, size_t cnt)
{
	static const struct native_table frames = {"frames", fleet_frame_columns,
						   FLEET_FRAME_COLUMN_CNT};
	static const struct native_column columns[] = {
		{"module", NATIVE_U64},	 {"build_id", NATIVE_TEXT}, {"path", NATIVE_TEXT},
		{"lacking", NATIVE_U64}, {"bettered", NATIVE_U64},  {"why", NATIVE_TEXT},
		{"at", NATIVE_DATETIME},
	};
	static const struct native_table notes = {"modules", columns,
						  sizeof(columns) / sizeof(*columns)};
	struct native_block block;
	int err = native_init(&block, &notes);

	count_bettered(unnamed, modules, cnt);
	if (!err)
		err = note_modules(client, &block, modules, cnt);
	native_deinit(&block);
	if (err)
		return err;
	err = native_init(&block, &frames);
	if (!err)
		err = write_frames(client, unnamed, &block);
	native_deinit(&block);
	return err;
}
