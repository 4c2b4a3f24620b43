/* SPDX-License-Identifier: Apache-2.0 */
#include "clickhouse/fleet_drop.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/reader.h"
#include "clickhouse/fleet_cluster.h"
#include "clickhouse/schema.h"

enum {
	LIST_MAX_BYTES = 1 << 20,
	MONTHS_END = 1000000, /* 209912 is a month, 20991231 a day */
};

struct drop {
	struct ch_client *client;
	struct fleet_drop *result;
	char cluster[FLEET_CLUSTER_MAX];
	uint32_t end; /* the first day that stays, as 20261125 */
};

static const char ledger[] = "batches";

/* The partitions of @table that any shard has. */
static int list_partitions(const struct drop *drop, const char *table, struct buf *answer)
{
	const char *database = ch_client_url(drop->client)->database;
	_cleanup_(buf_deinit) struct buf sql;

	buf_init(&sql, BUF_NO_MAX);
	buf_add_str(&sql, "SELECT DISTINCT toUInt32OrZero(partition) AS number FROM ");
	if (*drop->cluster)
		buf_printf(&sql, "cluster('%s', 'system', 'parts')", drop->cluster);
	else
		buf_add_str(&sql, "system.parts");
	buf_printf(&sql,
		   " WHERE active AND database = '%s' AND table = '%s%s' ORDER BY number FORMAT "
		   "RowBinary",
		   database, table, *drop->cluster ? FLEET_LOCAL : "");
	return sql.err ? sql.err : ch_client_query(drop->client, buf_cstr(&sql), answer);
}

static int drop_partition(const struct drop *drop, const char *table, uint32_t partition)
{
	const char *database = ch_client_url(drop->client)->database;
	_cleanup_(buf_deinit) struct buf sql;

	buf_init(&sql, BUF_NO_MAX);
	buf_printf(&sql, "ALTER TABLE `%s`.%s", database, table);
	if (*drop->cluster)
		buf_printf(&sql, FLEET_LOCAL " ON CLUSTER '%s'", drop->cluster);
	buf_printf(&sql, " DROP PARTITION %u", partition);
	return sql.err ? sql.err : ch_client_query(drop->client, buf_cstr(&sql), NULL);
}

/* Is all of the day, or of the month, before drop->end? */
static bool is_over(const struct drop *drop, uint32_t partition)
{
	return partition < (partition < MONTHS_END ? drop->end / 100 : drop->end);
}

static int drop_table(const struct drop *drop, const char *table)
{
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	int err;

	buf_init(&answer, LIST_MAX_BYTES);
	err = list_partitions(drop, table, &answer);
	reader_init(&rd, answer.data, answer.len);
	while (!err && !reader_done(&rd)) {
		const uint32_t partition = reader_u32(&rd);

		/* 0 is no number: none of ours. */
		if (rd.err || !partition || !is_over(drop, partition))
			continue;
		err = drop_partition(drop, table, partition);
		drop->result->partitions += !err;
		drop->result->days += !err && !strcmp(table, ledger);
	}
	return err ? err : rd.err;
}

int fleet_drop(struct ch_client *client, uint64_t until_ns, struct fleet_drop *out)
{
	struct drop drop = {.client = client, .result = out};
	bool is_there;
	char now[17];
	int err = fleet_cluster_find(client, drop.cluster, &is_there);

	*out = (struct fleet_drop){.partitions = 0};
	clock_format_utc(until_ns, now);
	now[8] = '\0';
	drop.end = (uint32_t)strtoul(now, NULL, 10);
	if (!err)
		err = drop_table(&drop, ledger);
	for (size_t i = 0; i < fleet_table_cnt && !err; i++)
		if (*fleet_tables[i].partition && strcmp(fleet_tables[i].name, ledger) != 0)
			err = drop_table(&drop, fleet_tables[i].name);
	return err;
}
