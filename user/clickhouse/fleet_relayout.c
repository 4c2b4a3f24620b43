/* SPDX-License-Identifier: Apache-2.0 */
#include "clickhouse/fleet_relayout.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/reader.h"
#include "clickhouse/fleet_cluster.h"

#define ASIDE "samples_before"

enum { HOURS_MAX_BYTES = 1 << 20 };

/* A part of a statement: the name of @table's part that a server has, and where it is executed. */
static void add_local(const struct ch_client *client, const char *cluster, const char *table,
		      struct buf *sql)
{
	buf_printf(sql, "`%s`.%s%s", ch_client_url(client)->database, table,
		   *cluster ? FLEET_LOCAL : "");
}

static void add_everywhere(const char *cluster, struct buf *sql)
{
	if (*cluster)
		buf_printf(sql, " ON CLUSTER '%s'", cluster);
}

/* Does the server have @table, with a column that is called @column? NULL: any. */
static int has(struct ch_client *client, const char *cluster, const char *table, const char *column,
	       bool *out)
{
	_cleanup_(buf_deinit) struct buf sql;
	uint64_t cnt = 0;
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_printf(&sql,
		   "SELECT count() FROM system.columns WHERE database = currentDatabase() AND "
		   "table = '%s%s'",
		   table, *cluster ? FLEET_LOCAL : "");
	if (column)
		buf_printf(&sql, " AND name = '%s'", column);
	err = sql.err ? sql.err : ch_client_number(client, buf_cstr(&sql), &cnt);
	*out = cnt > 0;
	return err;
}

static int run(struct ch_client *client, const struct buf *sql)
{
	return sql->err ? sql->err : ch_client_query(client, buf_cstr(sql), NULL);
}

static int step_aside(struct ch_client *client, const char *cluster)
{
	_cleanup_(buf_deinit) struct buf sql;

	buf_init(&sql, BUF_NO_MAX);
	buf_add_str(&sql, "RENAME TABLE ");
	add_local(client, cluster, "samples", &sql);
	buf_add_str(&sql, " TO ");
	add_local(client, cluster, ASIDE, &sql);
	add_everywhere(cluster, &sql);
	return run(client, &sql);
}

static int drop(struct ch_client *client, const char *cluster, const char *table)
{
	_cleanup_(buf_deinit) struct buf sql;

	buf_init(&sql, BUF_NO_MAX);
	buf_printf(&sql, "DROP TABLE IF EXISTS `%s`.%s", ch_client_url(client)->database, table);
	add_everywhere(cluster, &sql);
	return run(client, &sql);
}

int fleet_relayout_begin(struct ch_client *client, const char *cluster)
{
	bool is_there = false, is_new = false;
	int err = has(client, cluster, "samples", NULL, &is_there);

	if (!err && is_there)
		err = has(client, cluster, "samples", "minute", &is_new);
	if (err || !is_there || is_new)
		return err;
	err = step_aside(client, cluster);
	/* The one that all ask has the columns of before. */
	return err || !*cluster ? err : drop(client, cluster, "samples");
}

static void add_aside(const struct ch_client *client, const char *cluster, struct buf *sql)
{
	if (*cluster)
		buf_printf(sql, "cluster('%s', '%s', '" ASIDE FLEET_LOCAL "')", cluster,
			   ch_client_url(client)->database);
	else
		buf_add_str(sql, ASIDE);
}

static int copy_hour(struct ch_client *client, const char *cluster, uint32_t hour_s)
{
	_cleanup_(buf_deinit) struct buf sql;

	buf_init(&sql, BUF_NO_MAX);
	buf_add_str(&sql,
		    "INSERT INTO samples (service, version, kind, h, stack, src, second, host, "
		    "minute, lead, n, v1, v2, v3, v, unit) SELECT service, version, kind, h, "
		    "stack, src, toUInt8(ts % 60), host, toUInt8(intDiv(ts, 60)), lead, n, "
		    "v1, v2, v3, v, unit FROM ");
	add_aside(client, cluster, &sql);
	buf_printf(&sql, " WHERE h = toDateTime(%u, 'UTC')", hour_s);
	return run(client, &sql);
}

static int copy(struct ch_client *client, const char *cluster, uint32_t *hours)
{
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	size_t cnt;
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_init(&answer, HOURS_MAX_BYTES);
	buf_add_str(&sql, "SELECT DISTINCT toUInt32(h) AS hour FROM ");
	add_aside(client, cluster, &sql);
	buf_add_str(&sql, " ORDER BY hour FORMAT RowBinary");
	err = sql.err ? sql.err : ch_client_query(client, buf_cstr(&sql), &answer);
	cnt = answer.len / sizeof(uint32_t);
	reader_init(&rd, answer.data, answer.len);
	while (!err && !reader_done(&rd)) {
		const uint32_t hour_s = reader_u32(&rd);

		err = rd.err ? rd.err : copy_hour(client, cluster, hour_s);
		if (!err)
			log_info("store '%s': samples of %u of %zu hours are laid out anew",
				 ch_client_name(client), ++*hours, cnt);
	}
	return err;
}

int fleet_relayout_end(struct ch_client *client, const char *cluster, uint32_t *hours)
{
	bool is_there = false;
	int err = has(client, cluster, ASIDE, NULL, &is_there);

	*hours = 0;
	if (err || !is_there)
		return err;
	err = copy(client, cluster, hours);
	return err ? err : drop(client, cluster, *cluster ? ASIDE FLEET_LOCAL : ASIDE);
}
