/* SPDX-License-Identifier: Apache-2.0 */
#include "clickhouse/fleet_cluster.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/reader.h"
#include "clickhouse/rowbinary.h"

enum {
	ENGINE_MAX_BYTES = 64 << 10, /* of a table's definition */
	QUORUM_TIMEOUT_MS = 60000, /* below that of an insert */
	VERSION_ASYNC_INSERT = 22000, /* by then it is there */
};

bool fleet_cluster_is_name(const char *name)
{
	const size_t len = strlen(name);

	return len && len < FLEET_CLUSTER_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
		       len;
}

/* The name in "Distributed('name', ...", or "". */
static void take_name(const char *engine, size_t len, char out[static FLEET_CLUSTER_MAX])
{
	static const char head[] = "Distributed('";
	const size_t head_len = sizeof(head) - 1;
	const char *end;
	size_t cnt;

	*out = '\0';
	if (len < head_len || memcmp(engine, head, head_len) != 0)
		return;
	engine += head_len;
	end = memchr(engine, '\'', len - head_len);
	cnt = end ? (size_t)(end - engine) : 0;
	if (cnt >= FLEET_CLUSTER_MAX)
		return;
	memcpy(out, engine, cnt);
	out[cnt] = '\0';
}

int fleet_cluster_find(struct ch_client *client, char out[static FLEET_CLUSTER_MAX], bool *is_there)
{
	_cleanup_(buf_deinit) struct buf answer;
	const char *engine;
	struct reader rd;
	size_t len = 0;
	int err;

	buf_init(&answer, ENGINE_MAX_BYTES);
	err = ch_client_query(client,
			      "SELECT engine_full FROM system.tables WHERE database = "
			      "currentDatabase() AND name = 'batches' FORMAT RowBinary",
			      &answer);
	if (err)
		return err;
	reader_init(&rd, answer.data, answer.len);
	engine = answer.len ? rb_text(&rd, &len) : "";
	if (rd.err)
		return -EPROTO;
	take_name(engine, len, out);
	*is_there = answer.len > 0;
	return 0;
}

int fleet_cluster_use(struct ch_client *client, uint32_t *replicas)
{
	_cleanup_(buf_deinit) struct buf settings;
	uint64_t cnt = 0;
	uint32_t version;
	/* A shard's replicas are its rows in system.clusters. */
	int err = ch_client_number(
		client,
		"SELECT toUInt64(min(cnt)) FROM (SELECT count() AS cnt FROM system.clusters WHERE "
		"cluster IN (SELECT extract(engine_full, '^Distributed..([^,]+).,') FROM "
		"system.tables WHERE database = currentDatabase() AND name = 'batches' AND engine "
		"= 'Distributed') GROUP BY shard_num)",
		&cnt);

	if (!err)
		err = ch_client_version(client, &version);
	if (err)
		return err;
	buf_init(&settings, BUF_NO_MAX);
	if (cnt)
		buf_add_str(&settings,
			    "&distributed_product_mode=global&insert_distributed_sync=1");
	if (cnt > 1)
		buf_printf(&settings, "&insert_quorum=%u&insert_quorum_timeout=%d",
			   (uint32_t)cnt / 2 + 1, QUORUM_TIMEOUT_MS);
	if (cnt && version >= VERSION_ASYNC_INSERT)
		buf_add_str(&settings, "&async_insert=0");
	if (settings.err)
		return settings.err;
	ch_client_set(client, buf_cstr(&settings));
	*replicas = (uint32_t)cnt;
	return 0;
}

void fleet_cluster_add_local(const struct fleet_table *table, const char *database,
			     const char *cluster, struct buf *out)
{
	buf_printf(out, "CREATE TABLE IF NOT EXISTS `%s`.%s" FLEET_LOCAL " ON CLUSTER '%s'",
		   database, table->name, cluster);
	fleet_add_column_list(table, out);
	buf_printf(out,
		   " ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/%s/%s', "
		   "'{replica}'",
		   database, table->path ? table->path : table->name);
	if (*table->version)
		buf_printf(out, ", %s", table->version);
	buf_add_char(out, ')');
	fleet_add_keys(table, out);
}

void fleet_cluster_add_distributed(const struct fleet_table *table, const char *database,
				   const char *cluster, struct buf *out)
{
	buf_printf(out, "CREATE TABLE IF NOT EXISTS `%s`.%s ON CLUSTER '%s'", database, table->name,
		   cluster);
	fleet_add_column_list(table, out);
	buf_printf(out, " ENGINE = Distributed('%s', '%s', '%s" FLEET_LOCAL "', %s)", cluster,
		   database, table->name, table->shard);
}
