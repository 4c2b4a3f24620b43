/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples without FINAL. It merges rows by their whole key, which takes a server several times as
 * long as to add them up, and is for the few that came twice. Where none did is found out by
 * parts, in which a server keeps rows:
 *
 * - One that was merged has each row once; a part as it was inserted may not (level 0).
 * - Copies of a row are copies of its window: they are in two parts only if the window is.
 * - Parts never change, and no name comes back. Those that were looked at and are still active when
 *   all is read are what was read.
 *
 * Whoever asks a cluster sees no parts, and a user may not: there, FINAL it is.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "fleet/fleet_priv.h"

enum { PARTS_MAX = 1000, NAME_BYTES_MAX = 200 };

/* The active parts of the days that @plan is about. */
struct found {
	size_t cnt;
	bool is_shared; /* a day has several */
	bool is_raw; /* one was never merged */
};

/* @columns of these parts. */
static void add_question(const struct fleet_plan *plan, const char *columns, struct buf *sql)
{
	buf_printf(sql,
		   "SELECT %s FROM system.parts WHERE database = currentDatabase() AND table = "
		   "'samples' AND active AND partition >= toString(toYYYYMMDD(toDateTime(%u, "
		   "'UTC'))) AND partition <= toString(toYYYYMMDD(toDateTime(%u, 'UTC')))",
		   columns, plan->items[0].first, plan->items[plan->cnt - 1].last);
}

static void read_part(struct fleet_ask *ask, struct reader *rd, struct buf *last,
		      struct found *found)
{
	size_t partition_len, name_len;
	const char *partition = rb_text(rd, &partition_len), *name = rb_text(rd, &name_len);
	const uint64_t level = reader_u64(rd);

	if (!rd->err && name_len > NAME_BYTES_MAX)
		reader_fail(rd);
	if (rd->err)
		return;
	found->is_shared |= found->cnt && last->len == partition_len &&
			    !memcmp(buf_cstr(last), partition, partition_len);
	found->is_raw |= !level;
	buf_reset(last);
	buf_add(last, partition, partition_len);
	buf_add_str(&ask->parts, found->cnt++ ? ", " : "");
	ch_add_quoted(&ask->parts, name, name_len);
}

static int find(struct fleet_ask *ask, const struct fleet_plan *plan, struct found *found)
{
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	_cleanup_(buf_deinit) struct buf last;
	struct reader rd;
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, FLEET_ANSWER_BYTES_MAX);
	buf_init(&last, BUF_NO_MAX);
	add_question(plan, "partition, name, toUInt64(level)", &sql);
	buf_printf(&sql, " ORDER BY partition, name LIMIT %d", PARTS_MAX + 1);
	err = fleet_query(ask->fleet, &sql, &answer);
	reader_init(&rd, answer.data, answer.len);
	while (!err && !reader_done(&rd))
		read_part(ask, &rd, &last, found);
	if (err)
		return err;
	err = fleet_read_end(ask->fleet, &rd);
	return err ? err : last.err ? last.err : ask->parts.err;
}

static int ask_number(struct fleet *fleet, struct buf *sql, uint64_t *out)
{
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	int err;

	buf_init(&answer, FLEET_ANSWER_BYTES_MAX);
	err = fleet_query(fleet, sql, &answer);
	reader_init(&rd, answer.data, answer.len);
	*out = reader_u64(&rd);
	return err ? err : fleet_read_end(fleet, &rd);
}

/* How many windows of these hours lie in several parts? */
static int count_shared(const struct fleet_ask *ask, const struct fleet_hours *hours, uint64_t *cnt)
{
	_cleanup_(buf_deinit) struct buf sql;

	buf_init(&sql, BUF_NO_MAX);
	buf_add_str(&sql, "SELECT toUInt64(count()) FROM (SELECT host, " FLEET_SAMPLE_SEQ
			  " AS seq, min(_part_index) AS first, max(_part_index) AS last FROM ");
	fleet_add_rows(ask, hours->first, hours->last, &sql);
	buf_add_str(&sql, buf_cstr(&ask->sources));
	buf_add_str(&sql, " GROUP BY host, seq HAVING first != last)");
	return ask_number(ask->fleet, &sql, cnt);
}

/* All that there are become ask->parts if each row is in them once. */
static int choose(struct fleet_ask *ask, const struct fleet_plan *plan)
{
	struct found found = {.cnt = 0};
	uint64_t shared_cnt = 0;
	int err;

	buf_reset(&ask->parts);
	err = find(ask, plan, &found);
	if (err == -EACCES) {
		log_debug("fleet: this user may not see parts: FINAL it is");
		return 0;
	}
	if (err || found.is_raw || found.cnt > PARTS_MAX)
		return err;
	ask->part_cnt = found.cnt;
	for (size_t i = 0; i < plan->cnt && found.is_shared && !err && !shared_cnt; i++)
		err = count_shared(ask, &plan->items[i], &shared_cnt);
	if (shared_cnt)
		ask->part_cnt = 0;
	return err;
}

/* Are all of ask->parts, some, active still? */
static int check(const struct fleet_ask *ask, const struct fleet_plan *plan, bool *is_good)
{
	_cleanup_(buf_deinit) struct buf sql;
	uint64_t cnt;
	int err;

	buf_init(&sql, BUF_NO_MAX);
	add_question(plan, "toUInt64(count())", &sql);
	buf_printf(&sql, " AND name IN (%s)", buf_cstr(&ask->parts));
	err = ask_number(ask->fleet, &sql, &cnt);
	*is_good = cnt == ask->part_cnt;
	return err;
}

static int read_all(const struct fleet_plan *plan, fleet_hours_fn *read, void *arg)
{
	int err = 0;

	for (size_t i = 0; i < plan->cnt && !err; i++)
		err = read(arg, &plan->items[i]);
	return err;
}

int fleet_parts_read(struct fleet_ask *ask, const struct fleet_plan *plan, fleet_hours_fn *read,
		     void (*forget)(void *arg), void *arg)
{
	bool is_good = true;
	int err;

	if (!plan->cnt)
		return 0;
	err = choose(ask, plan);
	if (!err)
		err = read_all(plan, read, arg);
	if (!err && ask->part_cnt)
		err = check(ask, plan, &is_good);
	ask->part_cnt = 0;
	if (err || is_good)
		return err;
	log_debug("fleet: parts were merged while they were read: once more, with FINAL");
	forget(arg);
	return read_all(plan, read, arg);
}
