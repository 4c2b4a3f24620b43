/* SPDX-License-Identifier: Apache-2.0 */
#include "clickhouse/fleet_relayout.h"

#include <stdbool.h>
#include <stdint.h>

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
	bool is_before = false;
	int err = fleet_lacks_column(client, *cluster ? "samples" FLEET_LOCAL : "samples", "minute",
				     &is_before);

	if (err || !is_before)
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

static int copy(struct ch_client *client, const char *cluster)
{
	_cleanup_(buf_deinit) struct buf sql;
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	size_t cnt, done = 0;
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
			log_info("store '%s': samples of %zu of %zu hours are laid out anew",
				 ch_client_name(client), ++done, cnt);
	}
	return err;
}

int fleet_relayout_end(struct ch_client *client, const char *cluster)
{
	const char *aside = *cluster ? ASIDE FLEET_LOCAL : ASIDE;
	bool is_there = false;
	int err = fleet_has_table(client, aside, &is_there);

	if (err || !is_there)
		return err;
	err = copy(client, cluster);
	return err ? err : drop(client, cluster, aside);
}
