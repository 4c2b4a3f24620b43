/* SPDX-License-Identifier: Apache-2.0 */
#include "clickhouse/schema.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "clickhouse/fleet_cluster.h"
#include "clickhouse/fleet_relayout.h"

#define VALUES "n Int64, v1 Int64, v2 Int64, v3 Int64, v Array(Int64)"

#define ROLLUP_COLUMNS                                                                    \
	"service LowCardinality(String), version LowCardinality(String), kind UInt64, h " \
	"DateTime('UTC'), stack UInt64, built UInt64, " VALUES

const struct fleet_table fleet_tables[] = {
	{
		.name = "samples",
		.columns =
			"service LowCardinality(String), version LowCardinality(String), "
			"kind UInt64, h DateTime('UTC'), stack UInt64, src UInt64, second UInt8, "
			"host UInt64, minute UInt8, lead UInt32, " VALUES ", unit Int64",
		.computed = ", ts UInt16 ALIAS minute * 60 + second",
		.version = "",
		.partition = "toYYYYMMDD(h)",
		.primary = "service, version, kind, h, stack",
		.order = "service, version, kind, h, stack, src, second, host, minute, lead",
		.shard = "host",
		.path = "samples_by_minute",
	},
	{
		.name = "stacks",
		.columns = "day Date, service LowCardinality(String), stack UInt64, "
			   "frames Array(UInt64)",
		.version = "",
		.partition = "toYYYYMMDD(day)",
		.primary = "service",
		.order = "service, frames",
		.shard = "stack",
	},
	{
		.name = "frames",
		.columns = "day Date, frame UInt64, flags UInt16, path String, build_id String, "
			   "address UInt64, names Array(String), system_names Array(String), "
			   "files Array(String), lines Array(UInt32), start_lines Array(UInt32), "
			   "named UInt8",
		.version = "named",
		.partition = "toYYYYMMDD(day)",
		.primary = "build_id, address",
		.order = "build_id, address, frame",
		.shard = "frame",
	},
	{
		.name = "modules",
		.columns = "module UInt64, build_id String, path String, lacking UInt64, bettered "
			   "UInt64, why String, at DateTime('UTC')",
		.version = "at",
		.partition = "",
		.primary = "build_id",
		.order = "build_id, module",
		.shard = "module",
	},
	{
		.name = "symbol_tables",
		.columns = "module UInt64, build_id String, format String, host UInt64, at "
			   "DateTime('UTC'), path String, digest UInt64, chunks UInt32, bytes "
			   "UInt64",
		.version = "at",
		.partition = "",
		.primary = "build_id",
		.order = "build_id, module, format, host",
		.shard = "module",
	},
	{
		.name = "symbol_chunks",
		.columns = "module UInt64, build_id String, digest UInt64, nr UInt32, data String",
		.version = "",
		.partition = "",
		.primary = "build_id",
		.order = "build_id, module, digest, nr",
		.shard = "module",
	},
	{
		.name = "sources",
		.columns = "day Date, host UInt64, src UInt64, service LowCardinality(String), "
			   "version LowCardinality(String), keys Array(String), vals Array(String)",
		.version = "",
		.partition = "toYYYYMMDD(day)",
		.primary = "service, version",
		.order = "service, version, host, src",
		.shard = "host",
	},
	{
		.name = "hosts",
		.columns = "host UInt64, id String, name String, seen DateTime('UTC')",
		.version = "seen",
		.partition = "",
		.primary = "host",
		.order = "host",
		.shard = "host",
	},
	{
		.name = "kinds",
		.columns = "kind UInt64, name String, types Array(String), units Array(String), "
			   "default_value UInt8, period_type String, period_unit String, "
			   "period Int64, event String",
		.version = "",
		.partition = "",
		.primary = "name, kind",
		.order = "name, kind",
		.shard = "kind",
	},
	{
		.name = "batches",
		.columns =
			"h DateTime('UTC'), host UInt64, kind UInt64, seq UInt64, last_seq UInt64, "
			"prev_seq UInt64, start_ns UInt64, end_ns UInt64, covered_ns UInt64, "
			"windows UInt64, boot_id String, instance UInt64, epoch UInt64, "
			"last_epoch UInt64, rows UInt64, " VALUES
			", recorded UInt64, lost UInt64, never_ran UInt64, lost_samples UInt64, "
			"reason String, ledger String, agent String",
		.version = "",
		.partition = "toYYYYMMDD(h)",
		.primary = "host, kind, seq",
		.order = "host, kind, seq",
		.shard = "host",
	},
	{
		.name = "rollup_1h",
		.columns = ROLLUP_COLUMNS,
		.version = "built",
		.partition = "toYYYYMM(h)",
		.primary = "service, version, kind, h",
		.order = "service, version, kind, h, stack",
		.shard = "stack",
	},
	{
		.name = "rollup_1d",
		.columns = ROLLUP_COLUMNS,
		.version = "built",
		.partition = "toYYYYMM(h)",
		.primary = "service, version, kind, h",
		.order = "service, version, kind, h, stack",
		.shard = "stack",
	},
	{
		.name = "rollups",
		.columns = "span UInt32, h DateTime('UTC'), done UInt8, built UInt64, windows "
			   "UInt64, state UInt64, rows UInt64",
		.version = "built",
		.partition = "",
		.primary = "span, h, done",
		.order = "span, h, done",
		.shard = "span",
	},
	{
		.name = "rollup_trees",
		.columns = "span UInt32, h DateTime('UTC'), tree UInt64, part UInt32, value UInt8, "
			   "service LowCardinality(String), version LowCardinality(String), kind "
			   "UInt64, built UInt64, nodes UInt64, factors Array(Int64), depths "
			   "Array(UInt32), frames Array(UInt64), selfs Array(Int64)",
		.version = "built",
		.partition = "toYYYYMM(h)",
		.primary = "span, h, tree",
		.order = "span, h, tree, part, value",
		.shard = "tree",
		.settings = "index_granularity = 128",
	},
	{
		.name = "migrations",
		.columns = "version UInt32, at DateTime('UTC'), server String",
		.version = "",
		.partition = "",
		.primary = "version",
		.order = "version",
		.shard = "version",
	},
};

const size_t fleet_table_cnt = sizeof(fleet_tables) / sizeof(*fleet_tables);

#define ROLLUP_CODECS                                                                            \
	" MODIFY COLUMN h DateTime('UTC') CODEC(Delta(4), ZSTD(1)), MODIFY COLUMN stack UInt64 " \
	"CODEC(ZSTD(1)), MODIFY COLUMN n Int64 CODEC(ZSTD(3)), MODIFY COLUMN v1 Int64 "          \
	"CODEC(ZSTD(3)), MODIFY COLUMN v2 Int64 CODEC(ZSTD(1)), MODIFY COLUMN v3 Int64 "         \
	"CODEC(ZSTD(1)), MODIFY COLUMN v Array(Int64) CODEC(ZSTD(1))"

/*
 * What the columns of samples and others are stored as, where the server has codecs. Those that
 * most questions read, and zstd is slow to unpack (short matches), take some more bytes instead.
 */
static const char *const codecs[] = {
	"samples MODIFY COLUMN h DateTime('UTC') CODEC(Delta(4), ZSTD(1)), "
	"MODIFY COLUMN stack UInt64 CODEC(ZSTD(1)), MODIFY COLUMN host UInt64 CODEC(LZ4HC(9)), "
	"MODIFY COLUMN src UInt64 CODEC(ZSTD(1)), "
	"MODIFY COLUMN second UInt8 CODEC(ZSTD(1)), "
	"MODIFY COLUMN minute UInt8 CODEC(Delta(1), ZSTD(1)), "
	"MODIFY COLUMN lead UInt32 CODEC(ZSTD(1)), MODIFY COLUMN kind UInt64 CODEC(ZSTD(1)), "
	"MODIFY COLUMN n Int64 CODEC(T64, ZSTD(1)), MODIFY COLUMN v1 Int64 CODEC(ZSTD(1)), "
	"MODIFY COLUMN v2 Int64 CODEC(ZSTD(1)), MODIFY COLUMN v3 Int64 CODEC(ZSTD(1)), "
	"MODIFY COLUMN v Array(Int64) CODEC(ZSTD(1)), MODIFY COLUMN unit Int64 CODEC(ZSTD(1))",
	"stacks MODIFY COLUMN stack UInt64 CODEC(ZSTD(1)), "
	"MODIFY COLUMN frames Array(UInt64) CODEC(ZSTD(3))",
	"frames MODIFY COLUMN names Array(String) CODEC(ZSTD(3)), "
	"MODIFY COLUMN system_names Array(String) CODEC(ZSTD(3)), "
	"MODIFY COLUMN files Array(String) CODEC(ZSTD(3)), "
	"MODIFY COLUMN address UInt64 CODEC(Delta(8), ZSTD(1))",
	"sources MODIFY COLUMN vals Array(String) CODEC(ZSTD(3)), "
	"MODIFY COLUMN keys Array(String) CODEC(ZSTD(3))",
	"batches MODIFY COLUMN ledger String CODEC(ZSTD(3))",
	"rollup_1h" ROLLUP_CODECS,
	"rollup_1d" ROLLUP_CODECS,
	"rollup_trees MODIFY COLUMN depths Array(UInt32) CODEC(ZSTD(1)), "
	"MODIFY COLUMN frames Array(UInt64) CODEC(ZSTD(1)), "
	"MODIFY COLUMN selfs Array(Int64) CODEC(ZSTD(1))",
};

void fleet_add_keys(const struct fleet_table *table, struct buf *out)
{
	if (*table->partition)
		buf_printf(out, " PARTITION BY %s", table->partition);
	buf_printf(out, " PRIMARY KEY (%s) ORDER BY (%s)", table->primary, table->order);
	if (table->settings)
		buf_printf(out, " SETTINGS %s", table->settings);
}

void fleet_add_column_list(const struct fleet_table *table, struct buf *out)
{
	buf_printf(out, " (%s%s)", table->columns, table->computed ? table->computed : "");
}

void fleet_add_create(const struct fleet_table *table, struct buf *out)
{
	buf_printf(out, "CREATE TABLE IF NOT EXISTS %s", table->name);
	fleet_add_column_list(table, out);
	buf_add_str(out, " ENGINE = ReplacingMergeTree");
	if (*table->version)
		buf_printf(out, "(%s)", table->version);
	fleet_add_keys(table, out);
}

/* A statement without an answer; @sql is freed of what it held. */
static int run(struct ch_client *client, struct buf *sql)
{
	int err = sql->err ? sql->err : ch_client_query(client, buf_cstr(sql), NULL);

	buf_reset(sql);
	return err;
}

static int make_database(struct ch_client *client, struct fleet_init *init)
{
	_cleanup_(buf_deinit) struct buf sql;
	const char *database = ch_client_url(client)->database;
	int err;

	buf_init(&sql, BUF_NO_MAX);
	err = ch_client_query(client, "SELECT 1", NULL);
	/* Whether the others have it is not known. */
	if (err != -ENOENT && !(*init->cluster && !err))
		return err;
	init->database_made = err == -ENOENT;
	buf_printf(&sql, "CREATE DATABASE IF NOT EXISTS `%s`", database);
	if (*init->cluster)
		buf_printf(&sql, " ON CLUSTER '%s'", init->cluster);
	return sql.err ? sql.err : ch_client_query_server(client, buf_cstr(&sql), NULL);
}

int fleet_has_table(struct ch_client *client, const char *name, bool *out)
{
	_cleanup_(buf_deinit) struct buf sql;
	uint64_t cnt = 0;
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_printf(&sql,
		   "SELECT count() FROM system.tables WHERE database = currentDatabase() AND name "
		   "= '%s'",
		   name);
	err = sql.err ? sql.err : ch_client_number(client, buf_cstr(&sql), &cnt);
	if (!err)
		*out = cnt > 0;
	return err;
}

int fleet_lacks_column(struct ch_client *client, const char *table, const char *column, bool *out)
{
	_cleanup_(buf_deinit) struct buf sql;
	uint64_t lacks = 0;
	int err;

	buf_init(&sql, BUF_NO_MAX);
	buf_printf(&sql,
		   "SELECT toUInt64(count() > 0 AND countIf(name = '%s') = 0) FROM system.columns "
		   "WHERE database = currentDatabase() AND table = '%s'",
		   column, table);
	err = sql.err ? sql.err : ch_client_number(client, buf_cstr(&sql), &lacks);
	*out = lacks;
	return err;
}

static int make_table(struct ch_client *client, const struct fleet_table *table,
		      struct fleet_init *init)
{
	_cleanup_(buf_deinit) struct buf sql = {0};
	const char *database = ch_client_url(client)->database;
	bool is_there = false;
	int err = fleet_has_table(client, table->name, &is_there);

	buf_init(&sql, BUF_NO_MAX);
	if (!err && *init->cluster) {
		/* Whether the others have it is not known. */
		fleet_cluster_add_local(table, database, init->cluster, &sql);
		err = run(client, &sql);
		fleet_cluster_add_distributed(table, database, init->cluster, &sql);
	} else if (!err && !is_there) {
		fleet_add_create(table, &sql);
	}
	if (!err && sql.len)
		err = run(client, &sql);
	init->tables_made += !err && !is_there;
	return err;
}

/* What version 1 has not, which knew no clusters. */
static int add_units(struct ch_client *client)
{
	bool is_without = false;
	int err = fleet_lacks_column(client, "samples", "unit", &is_without);

	return err || !is_without
		       ? err
		       : ch_client_query(client, "ALTER TABLE samples ADD COLUMN unit Int64", NULL);
}

static int add_codecs(struct ch_client *client, const struct fleet_init *init)
{
	_cleanup_(buf_deinit) struct buf sql;
	int err = 0;

	buf_init(&sql, BUF_NO_MAX);
	for (size_t i = 0; i < sizeof(codecs) / sizeof(*codecs) && !err; i++) {
		const size_t name_len = strcspn(codecs[i], " ");

		buf_printf(&sql, "ALTER TABLE %.*s", (int)name_len, codecs[i]);
		if (*init->cluster)
			buf_printf(&sql, FLEET_LOCAL " ON CLUSTER '%s'", init->cluster);
		buf_add_str(&sql, codecs[i] + name_len);
		err = run(client, &sql);
	}
	return err;
}

static int note_version(struct ch_client *client, uint32_t server)
{
	_cleanup_(buf_deinit) struct buf sql;

	buf_init(&sql, BUF_NO_MAX);
	buf_printf(&sql,
		   "INSERT INTO migrations (version, at, server) SELECT toUInt32(%u), now(), "
		   "'%u.%u'",
		   FLEET_SCHEMA_VERSION, server / 1000, server % 1000);
	return run(client, &sql);
}

int fleet_schema_version(struct ch_client *client, uint32_t *out)
{
	uint64_t version = 0;
	uint32_t replicas;
	bool is_there = false;
	int err = fleet_has_table(client, "migrations", &is_there);

	if (!err && is_there)
		err = fleet_cluster_use(client, &replicas);
	if (!err && is_there)
		err = ch_client_number(client, "SELECT toUInt64(max(version)) FROM migrations",
				       &version);
	if (err)
		return err;
	if (!version)
		return -ENOENT;
	*out = version <= UINT32_MAX ? (uint32_t)version : UINT32_MAX;
	return 0;
}

int fleet_schema_check(struct ch_client *client, struct buf *why)
{
	uint32_t version = 0;
	int err = fleet_schema_version(client, &version);

	if (!err && version == FLEET_SCHEMA_VERSION)
		return 0;
	if (!err)
		buf_printf(why, "its tables are of version %u, this program's of version %u: %s",
			   version, FLEET_SCHEMA_VERSION,
			   version > FLEET_SCHEMA_VERSION
				   ? "a newer bpfprof made them, and is needed here"
				   : "bpfprof store migrate --store URL brings them up");
	else if (err == -ENOENT && !ch_client_error(client)->code)
		buf_add_str(why, "it has no tables of ours: bpfprof store init --store URL makes "
				 "them");
	else
		ch_client_explain(client, why);
	return err ? err : -ENOTSUP;
}

/* Which cluster the tables are of, or will be. */
static int check_cluster(struct ch_client *client, const char *wanted, struct fleet_init *init)
{
	bool is_there = false;
	int err = fleet_cluster_find(client, init->cluster, &is_there);

	if (err == -ENOENT)
		err = 0;
	if (err || !wanted)
		return err;
	if (is_there && strcmp(init->cluster, wanted) != 0)
		return -EEXIST;
	snprintf(init->cluster, sizeof(init->cluster), "%s", wanted);
	return 0;
}

static int check_versions(struct ch_client *client, const char *cluster, struct fleet_init *init)
{
	int err = ch_client_version(client, &init->server_version);

	if (!err && init->server_version < CH_VERSION_MIN)
		err = -EPROTONOSUPPORT;
	if (!err)
		err = check_cluster(client, cluster, init);
	if (!err)
		err = make_database(client, init);
	if (!err)
		err = fleet_schema_version(client, &init->version_before);
	if (err == -ENOENT)
		err = 0;
	if (!err && init->version_before > FLEET_SCHEMA_VERSION)
		err = -EPROTO;
	return err;
}

int fleet_schema_init(struct ch_client *client, const char *cluster, struct fleet_init *out)
{
	struct fleet_init init = {.replicas = 0};
	int err = check_versions(client, cluster, &init);

	if (!err && init.version_before && init.version_before < FLEET_SCHEMA_UNITS)
		err = add_units(client);
	if (!err && init.version_before && init.version_before < FLEET_SCHEMA_MINUTES)
		err = fleet_relayout_begin(client, init.cluster);
	for (size_t i = 0; i < fleet_table_cnt && !err; i++)
		err = make_table(client, &fleet_tables[i], &init);
	init.has_codecs = init.server_version >= CH_VERSION_CODECS;
	if (!err && init.has_codecs && init.version_before < FLEET_SCHEMA_VERSION)
		err = add_codecs(client, &init);
	if (!err && init.version_before && init.version_before < FLEET_SCHEMA_MINUTES)
		err = fleet_relayout_end(client, init.cluster);
	if (!err)
		err = fleet_cluster_use(client, &init.replicas);
	/* Last: a version that is noted is all there. */
	if (!err && init.version_before < FLEET_SCHEMA_VERSION)
		err = note_version(client, init.server_version);
	if (!err || init.server_version)
		*out = init;
	return err;
}
