/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked, as SQL that 18.16 and today's servers both take.
 *
 * A sample counts if its window is complete: its (host, seq) is among those of the ledger's rows,
 * whose start_ns says to the nanosecond what is in the range. FINAL leaves one row of each key; it
 * is left out where each is there once (fleet_parts.c).
 *
 * Joins are ANY LEFT, with a name for what is joined: ANY INNER has meant one row of each key on
 * both sides since 20, and 18 knows no other way to say the rest.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "fleet/fleet_priv.h"

enum { HOUR_S = 3600, DAY_S = 86400 };

/* What a DateTime holds. */
static const uint64_t SECONDS_MAX = UINT32_MAX;

static uint32_t hour_of(uint64_t ns)
{
	uint64_t seconds = ns / NSEC_PER_SEC;

	if (seconds > SECONDS_MAX)
		seconds = SECONDS_MAX;
	return (uint32_t)(seconds - seconds % HOUR_S);
}

void fleet_ask_range(struct fleet_ask *ask, struct fleet *fleet, uint64_t from_ns, uint64_t to_ns)
{
	from_ns = from_ns < INT64_MAX ? from_ns : INT64_MAX;
	to_ns = to_ns < INT64_MAX ? to_ns : INT64_MAX;
	*ask = (struct fleet_ask){
		.fleet = fleet,
		.from_ns = from_ns,
		.to_ns = to_ns,
		.first_hour = hour_of(from_ns),
		.last_hour = hour_of(to_ns ? to_ns - 1 : 0),
	};
	buf_init(&ask->services, BUF_NO_MAX);
	buf_init(&ask->service, BUF_NO_MAX);
	buf_init(&ask->sources, BUF_NO_MAX);
	buf_init(&ask->parts, BUF_NO_MAX);
}

static uint32_t rb_string(struct reader *rd, struct profile *prof)
{
	size_t len;
	const char *text = rb_text(rd, &len);

	return profile_stringn(prof, text ? text : "", len);
}

static void read_name(struct reader *rd, char *out, size_t size)
{
	size_t len;
	const char *text = rb_text(rd, &len);

	if (text && len < size)
		memcpy(out, text, len);
	else
		reader_fail(rd);
}

/* Types, then units: as many. */
static void read_types(struct reader *rd, struct profile *prof)
{
	const size_t cnt = rb_array(rd, 1);

	if (!cnt || cnt > PROFILE_VALUES_MAX) {
		reader_fail(rd);
		return;
	}
	for (size_t i = 0; i < cnt; i++)
		prof->value_types[i].type = rb_string(rd, prof);
	if (rb_array(rd, 1) != cnt) {
		reader_fail(rd);
		return;
	}
	for (size_t i = 0; i < cnt; i++)
		prof->value_types[i].unit = rb_string(rd, prof);
	prof->value_type_cnt = (uint32_t)cnt;
}

static int read_kind(struct reader *rd, struct kinds *kinds)
{
	struct kind *kind;
	int err = array_reserve(&kinds->items, &kinds->cap, kinds->cnt + 1, sizeof(*kinds->items));

	if (err)
		return err;
	kind = &kinds->items[kinds->cnt];
	err = profile_init(&kind->types);
	if (err)
		return err;
	kinds->cnt++;
	kind->id = reader_u64(rd);
	read_name(rd, kind->name, sizeof(kind->name));
	read_types(rd, &kind->types);
	kind->types.default_value = reader_u8(rd);
	if (kind->types.default_value >= kind->types.value_type_cnt)
		reader_fail(rd);
	kind->types.period_type.type = rb_string(rd, &kind->types);
	kind->types.period_type.unit = rb_string(rd, &kind->types);
	kind->types.period = (int64_t)reader_u64(rd);
	read_name(rd, kind->event, sizeof(kind->event));
	return kind->types.err;
}

int fleet_read_kinds(struct fleet *fleet, const char *name, struct kinds *out)
{
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	int err;

	*out = (struct kinds){.cnt = 0};
	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, FLEET_ANSWER_BYTES_MAX);
	buf_add_str(&sql, "SELECT kind, name, types, units, default_value, period_type, "
			  "period_unit, period, event FROM kinds FINAL");
	if (name) {
		buf_add_str(&sql, " WHERE name = ");
		ch_add_quoted(&sql, name, strlen(name));
	}
	buf_add_str(&sql, " ORDER BY name, kind");
	err = fleet_query(fleet, &sql, &answer);
	if (err)
		return err;
	reader_init(&rd, answer.data, answer.len);
	while (!err && !reader_done(&rd))
		err = read_kind(&rd, out);
	return err ? err : fleet_read_end(fleet, &rd);
}

int fleet_ask_init(struct fleet_ask *ask, struct fleet *fleet, const struct store_query *query)
{
	int err;

	fleet_ask_range(ask, fleet, query->from_ns, query->to_ns);
	ask->query = query;
	err = fleet_read_kinds(fleet, query->kind ? query->kind : "cpu", &ask->kinds);
	if (!err && !ask->kinds.cnt)
		return -ENOENT;
	for (size_t i = 0; i < ask->kinds.cnt; i++)
		if (ask->kinds.items[i].types.value_type_cnt > ask->value_cnt)
			ask->value_cnt = ask->kinds.items[i].types.value_type_cnt;
	return err ? err : fleet_match(ask);
}

void fleet_ask_deinit(struct fleet_ask *ask)
{
	kinds_deinit(&ask->kinds);
	buf_deinit(&ask->services);
	buf_deinit(&ask->service);
	buf_deinit(&ask->sources);
	buf_deinit(&ask->parts);
}

/* --- SQL --- */

void fleet_add_days(const struct fleet_ask *ask, struct buf *sql)
{
	buf_printf(sql, " AND day >= toDate(%u) AND day <= toDate(%u)", ask->first_hour / DAY_S,
		   ask->last_hour / DAY_S);
}

static void add_hours(uint32_t first_hour, uint32_t last_hour, struct buf *sql)
{
	buf_printf(sql, "h >= toDateTime(%u, 'UTC') AND h <= toDateTime(%u, 'UTC')", first_hour,
		   last_hour);
}

void fleet_add_windows(const struct fleet_ask *ask, uint32_t first_hour, uint32_t last_hour,
		       struct buf *sql)
{
	buf_add_str(sql, "batches WHERE ");
	add_hours(first_hour, last_hour, sql);
	buf_printf(sql,
		   " AND kind = %d AND reason = '' AND start_ns >= toUInt64(%" PRIu64
		   ") AND start_ns < toUInt64(%" PRIu64 ")",
		   FLEET_WINDOW_KIND, ask->from_ns, ask->to_ns);
}

void fleet_add_kinds(const struct fleet_ask *ask, struct buf *sql)
{
	buf_add_str(sql, "kind IN (");
	for (size_t i = 0; i < ask->kinds.cnt; i++)
		buf_printf(sql, "%s%" PRIu64, i ? ", " : "", ask->kinds.items[i].id);
	buf_add_char(sql, ')');
}

void fleet_add_rows(const struct fleet_ask *ask, uint32_t first_hour, uint32_t last_hour,
		    struct buf *sql)
{
	buf_add_str(sql, ask->part_cnt ? "samples WHERE " : "samples FINAL WHERE ");
	fleet_add_kinds(ask, sql);
	buf_add_str(sql, " AND ");
	add_hours(first_hour, last_hour, sql);
	if (ask->part_cnt)
		buf_printf(sql, " AND _part IN (%s)", buf_cstr(&ask->parts));
	buf_add_str(sql, buf_cstr(&ask->services));
}

void fleet_add_samples(const struct fleet_ask *ask, uint32_t first_hour, uint32_t last_hour,
		       struct buf *sql)
{
	fleet_add_rows(ask, first_hour, last_hour, sql);
	buf_add_str(sql, " AND (host, " FLEET_SAMPLE_SEQ ") IN (SELECT host, seq FROM ");
	fleet_add_windows(ask, first_hour, last_hour, sql);
	buf_add_char(sql, ')');
	buf_add_str(sql, buf_cstr(&ask->sources));
}

void fleet_add_value(const struct fleet_ask *ask, enum fleet_rows rows, uint32_t column,
		     struct buf *sql)
{
	if (column == 1 && rows == FLEET_STORED && ask->fleet->version >= FLEET_SCHEMA_UNITS)
		buf_add_str(sql, FLEET_SECOND_VALUE);
	else if (!column)
		buf_add_char(sql, 'n');
	else if (column < FLEET_VALUE_COLUMNS)
		buf_printf(sql, "v%u", column);
	else
		buf_printf(sql, "v[%u]", column - FLEET_VALUE_COLUMNS + 1);
}

void fleet_add_columns(const struct fleet_ask *ask, enum fleet_rows rows, struct buf *sql)
{
	for (uint32_t i = 0; i < ask->value_cnt && i < FLEET_VALUE_COLUMNS; i++) {
		buf_add_str(sql, ", ");
		fleet_add_value(ask, rows, i, sql);
		buf_add_str(sql, i == 1 ? " AS v1" : "");
	}
	buf_add_str(sql, ask->value_cnt > FLEET_VALUE_COLUMNS ? ", v" : "");
}

void fleet_add_default_sum(const struct fleet_ask *ask, enum fleet_rows rows, struct buf *sql)
{
	const struct kind *kinds = ask->kinds.items;

	buf_add_str(sql, "sum(");
	for (size_t i = 1; i < ask->kinds.cnt; i++) {
		buf_printf(sql, "if(kind = %" PRIu64 ", ", kinds[i].id);
		fleet_add_value(ask, rows, kinds[i].types.default_value, sql);
		buf_add_str(sql, ", ");
	}
	fleet_add_value(ask, rows, kinds[0].types.default_value, sql);
	for (size_t i = 0; i < ask->kinds.cnt; i++)
		buf_add_char(sql, ')');
}

bool fleet_is_column(const char *key)
{
	return !strcmp(key, "service") || !strcmp(key, "version");
}

void fleet_add_label(const char *key, struct buf *sql)
{
	if (fleet_is_column(key)) {
		buf_printf(sql, "if(%s = '', '', concat('=', toString(%s)))", key, key);
		return;
	}
	buf_add_str(sql, "if(has(keys, ");
	ch_add_quoted(sql, key, strlen(key));
	buf_add_str(sql, "), concat('=', vals[indexOf(keys, ");
	ch_add_quoted(sql, key, strlen(key));
	buf_add_str(sql, ")]), '')");
}

/* --- Parts --- */

static int add_hour(struct fleet_plan *plan, uint32_t hour, bool is_apart, uint64_t window_cnt,
		    uint64_t *sum)
{
	int err;

	if (plan->cnt && !is_apart && *sum + window_cnt <= FLEET_WINDOWS_MAX) {
		*sum += window_cnt;
		plan->items[plan->cnt - 1].last = hour;
		return 0;
	}
	err = array_reserve(&plan->items, &plan->cap, plan->cnt + 1, sizeof(*plan->items));
	if (err)
		return err;
	plan->items[plan->cnt++] = (struct fleet_hours){.first = hour, .last = hour};
	*sum = window_cnt;
	return 0;
}

int fleet_plan_init(struct fleet_plan *plan, const struct fleet_ask *ask,
		    const struct fleet_rolled *rolled)
{
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	uint64_t sum = 0;
	bool is_apart = false; /* sums lie between the hours */
	int err;

	*plan = (struct fleet_plan){.cnt = 0};
	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, FLEET_ANSWER_BYTES_MAX);
	buf_add_str(&sql, "SELECT toUInt32(h) AS hour, count() FROM ");
	fleet_add_windows(ask, ask->first_hour, ask->last_hour, &sql);
	buf_add_str(&sql, " GROUP BY hour ORDER BY hour");
	err = fleet_query(ask->fleet, &sql, &answer);
	reader_init(&rd, answer.data, answer.len);
	while (!err && !reader_done(&rd)) {
		uint32_t hour = reader_u32(&rd);
		uint64_t window_cnt = reader_u64(&rd);

		if (rd.err)
			break;
		if (rolled && fleet_rolled_has(rolled, hour)) {
			is_apart = true;
			continue;
		}
		err = add_hour(plan, hour, is_apart, window_cnt, &sum);
		is_apart = false;
	}
	return err ? err : fleet_read_end(ask->fleet, &rd);
}
