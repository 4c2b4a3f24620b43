/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds: which value types are stored together. What a kind consists of may change (another rate,
 * another value type): it is then another row of the same name, and reads put them together.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "store/store_priv.h"
#include "store/varint.h"

static void add_text(struct buf *out, const char *text)
{
	pb_add_varint(out, strlen(text));
	buf_add_str(out, text);
}

static void encode_kind(const struct store_kind *kind, const struct profile *prof, struct buf *out)
{
	const struct profile_value_type *type;

	pb_add_varint(out, kind->column_cnt);
	for (uint32_t i = 0; i < kind->column_cnt; i++) {
		type = &prof->value_types[kind->columns[i]];
		add_text(out, profile_str(prof, type->type));
		add_text(out, profile_str(prof, type->unit));
	}
	pb_add_varint(out, kind->default_column);
	add_text(out, profile_str(prof, prof->period_type.type));
	add_text(out, profile_str(prof, prof->period_type.unit));
	add_signed(out, prof->period);
	add_text(out, kind->event);
}

static uint32_t read_text(struct reader *rd, struct profile *prof)
{
	size_t len = reader_uleb128(rd);
	const char *text = reader_bytes(rd, len);

	return profile_stringn(prof, text, text ? len : 0);
}

static int decode_kind(struct reader *rd, struct kind *kind)
{
	struct profile *prof = &kind->types;
	const char *event;
	size_t len;
	const uint32_t cnt = read_below(rd, PROFILE_VALUES_MAX + 1);

	for (uint32_t i = 0; i < cnt && !rd->err; i++) {
		prof->value_types[i].type = read_text(rd, prof);
		prof->value_types[i].unit = read_text(rd, prof);
	}
	prof->value_type_cnt = cnt;
	prof->default_value = read_below(rd, cnt);
	prof->period_type.type = read_text(rd, prof);
	prof->period_type.unit = read_text(rd, prof);
	prof->period = read_signed(rd);
	len = reader_uleb128(rd);
	event = reader_bytes(rd, len);
	if (len >= sizeof(kind->event))
		reader_fail(rd);
	else if (len && event)
		memcpy(kind->event, event, len);
	if (prof->err)
		return prof->err;
	return rd->err ? -EBADMSG : 0;
}

static int add_kind(sqlite3_stmt *stmt, struct kinds *kinds)
{
	struct kind *kind;
	struct reader rd;
	int err = array_reserve(&kinds->items, &kinds->cap, kinds->cnt + 1, sizeof(*kinds->items));

	if (err)
		return err;
	kind = &kinds->items[kinds->cnt];
	kind->id = db_u64(stmt, 0);
	snprintf(kind->name, sizeof(kind->name), "%s", (const char *)sqlite3_column_text(stmt, 1));
	err = profile_init(&kind->types);
	if (err)
		return err;
	kinds->cnt++;
	reader_init(&rd, sqlite3_column_blob(stmt, 2), (size_t)sqlite3_column_bytes(stmt, 2));
	return decode_kind(&rd, kind);
}

int kinds_read(struct store *store, const char *name, struct kinds *out)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = db_prepare(
		store->db, name ? "SELECT id, name, types FROM kind WHERE name=? ORDER BY id DESC"
				: "SELECT id, name, types FROM kind ORDER BY name, id DESC");
	int step, err = 0;

	*out = (struct kinds){.cnt = 0};
	if (name)
		db_bind_text(stmt, 1, name);
	while (!err && (step = db_step(stmt)) > 0)
		err = add_kind(stmt, out);
	if (!err)
		err = step;
	if (!err && name && !out->cnt)
		err = -ENOENT;
	if (err)
		kinds_deinit(out);
	return err;
}

int kind_id(struct store *store, const struct store_kind *kind, const struct profile *prof,
	    uint64_t *out)
{
	static const char *const sqls[] = {"INSERT OR IGNORE INTO kind(name, types) VALUES(?, ?)",
					   "SELECT id FROM kind WHERE name=? AND types=?"};
	_cleanup_(buf_deinit) struct buf types;
	int step = 0;

	buf_init(&types, BUF_NO_MAX);
	encode_kind(kind, prof, &types);
	if (types.err)
		return types.err;
	/* Look first: it is there but once. */
	for (int i = 0; i < 3 && !step; i++) {
		_cleanup_stmt_ sqlite3_stmt *stmt = db_prepare(store->db, sqls[i != 1]);

		db_bind_text(stmt, 1, kind->name);
		db_bind_blob(stmt, 2, types.data, types.len);
		step = db_step(stmt);
		if (step > 0)
			*out = db_u64(stmt, 0);
	}
	return step < 0 ? step : 0;
}
