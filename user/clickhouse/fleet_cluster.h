/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fleet's store on a cluster. Each table of schema.h is two there, on every server:
 *
 *	samples_local  ReplicatedReplacingMergeTree: the rows of the server's shard. Its path in
 *	               ZooKeeper has the server's macros {shard} and {replica}
 *	samples        Distributed: what all ask, and insert into
 *
 * The shard is computed from the row's key (fleet_table.shard), so a row that is sent twice,
 * through whichever servers, meets itself, and FINAL leaves one. What has a host lies where the
 * host does: samples and their row of the ledger are on one shard.
 *
 * Reads and writes are as on a single server but for settings. Subqueries over other tables
 * are asked once and their answer is sent to all shards (distributed_product_mode=global). An
 * insert returns when all shards have it (insert_distributed_sync), each on more than half of its
 * replicas (insert_quorum): so of two replicas both have what was acknowledged, and while one is
 * dead nothing is taken; of three one can be missing. Whether the servers recognise
 * what comes twice (replicated_deduplication_window) is of no importance.
 */
#ifndef BPFPROF_CLICKHOUSE_FLEET_CLUSTER_H
#define BPFPROF_CLICKHOUSE_FLEET_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "clickhouse/client.h"
#include "clickhouse/schema.h"

/* Behind the name of a table: the part of it that a server has. */
#define FLEET_LOCAL "_local"

/* May a cluster be called that? Letters, digits, '_', '-' and '.', not too many. */
bool fleet_cluster_is_name(const char *name);

/*
 * Of which cluster are the tables that are there? @out is its name, "" where they are of a single
 * server or there are none, which *@is_there tells. 0 or negative errno as ch_client_query().
 */
int fleet_cluster_find(struct ch_client *client, char out[static FLEET_CLUSTER_MAX],
		       bool *is_there);

/*
 * Give @client the settings that the tables take. *@replicas is how many the shard has that has
 * fewest, 0: it is a single server, which takes none. 0 or negative errno as ch_client_query().
 */
int fleet_cluster_use(struct ch_client *client, uint32_t *replicas);

/* Append the statements that make @table's two in @database on all servers of @cluster. */
void fleet_cluster_add_local(const struct fleet_table *table, const char *database,
			     const char *cluster, struct buf *out);
void fleet_cluster_add_distributed(const struct fleet_table *table, const char *database,
				   const char *cluster, struct buf *out);

#endif
