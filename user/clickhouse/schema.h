/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a fleet store. What a host stored (store/store.h) goes into them window by window,
 * and a second time changes nothing: every row's key tells which batch it is of, and the tables
 * keep one row of each key (ReplacingMergeTree). So they are read FINAL, or grouped by their key.
 *
 *	samples   sorted by stack within the hour, so that what is the same in many rows lies
 *	          together: a column costs where it changes. `h` is the hour (UTC) of the window's
 *	          start, `minute` and `second` the moment within it: a host's windows begin at the
 *	          same second of each minute, so that seconds lie together, too. `ts` is both, in
 *	          seconds, and h + ts + lead is the window's `seq`: lead is
 *	          0 but for windows that began within one second, or after the clock was set back.
 *	          (host, h, ts, lead) is one window, (kind, host, h, ts, lead) one batch.
 *	          n is the kind's first value (a count), v1 .. v3 the next three, v those behind.
 *	          unit is what one of n is in the second value where that is all of it (CPU time
 *	          is samples times the period), and v1 is 0 then; else v1 is the value, and unit 0:
 *	          so the value is FLEET_SECOND_VALUE
 *	kinds     what the values of a kind are: kind is a hash of name, types, units, default,
 *	          period, event, so that another rate is another kind of the same name
 *	stacks    frames, root first; stack is a hash of (service, frames)
 *	frames    code, by its place; names innermost inlined call first, as lines. A row with names
 *	          replaces one without, and one with lines both (`named`: fleet_frame.h)
 *	modules   executables whose frames lacked something, `lacking` many, when debug files were
 *	          looked for last: how many got better names, and why not all did (''; a word)
 *	symbol_tables, symbol_chunks	what hosts upload of executables (fleet/fleet_symbols.h)
 *	sources   the labels that samples of (host, src) have, keys sorted. The same labels have
 *	          another src each day
 *	hosts     host is a hash of the id that the host's store was given when it was made
 *	batches   the ledger. kind 0 is the window itself, written when all of it is there; each of
 *	          its batches has a row with rows and sums, and the window's rows are theirs in
 *	          sum. reason != '' is a tombstone: windows
 *	          seq..last_seq are lost. prev_seq is the last_seq of what came before, so that
 *	          the chain has no hole where nothing is missing
 *	rollup_1h sums by hour, without hosts; rollup_1d by day. Of the rows with one key that with
 *	          the latest build counts
 *	rollups   what of them there is: spans (seconds), the build that was begun last (done 0) and
 *	          that which is done, and what of the ledger it was made of (rollup.h)
 *	rollup_trees	the same sums as trees of calls (rollup_trees.h)
 *
 * stacks, frames and sources are there for each day (UTC) on which samples name them, so that a day
 * is dropped as a whole. Columns are what 18.16 and today's releases both have; where there are
 * codecs, they are given some after that.
 */
#ifndef BPFPROF_CLICKHOUSE_SCHEMA_H
#define BPFPROF_CLICKHOUSE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "clickhouse/client.h"

enum {
	FLEET_SCHEMA_VERSION = 5,
	FLEET_SCHEMA_ROLLUPS = 2, /* from that version on there are roll-ups (rollup.h) */
	FLEET_SCHEMA_UNITS = 2, /* and samples have units */
	FLEET_SCHEMA_TREES = 4, /* roll-ups have trees (rollup_trees.h) */
	FLEET_SCHEMA_MINUTES = 5, /* samples have minutes and seconds (fleet_relayout.h) */
	FLEET_VALUE_COLUMNS = 4, /* n, v1 .. v3 */
	FLEET_WINDOW_KIND = 0, /* of batches: the window itself */
	FLEET_CLUSTER_MAX = 64, /* bytes of a cluster's name, with the NUL */
};

/* Of samples; batches and roll-ups have it in v1. */
#define FLEET_SECOND_VALUE "(v1 + n * unit)"
/* Of samples: the seq of the row's window. */
#define FLEET_SAMPLE_SEQ "toUInt64(toUInt32(h)) + ts + lead"

struct fleet_table {
	const char *name;
	const char *columns; /* "name Type, ..." */
	const char *computed; /* likewise, not stored: ", name Type ALIAS ..."; NULL: none */
	const char *version; /* of the rows with one key the one with the largest stays; "": the
				last */
	const char *partition; /* an expression; "": one */
	const char *primary, *order; /* lists of columns */
	const char *shard; /* of a cluster: a column of the key, or that follows from it; a hash */
	const char *path; /* in a cluster's ZooKeeper; NULL: the name */
	const char *settings; /* of the engine, "name = value, ..."; NULL: the server's own */
};

extern const struct fleet_table fleet_tables[];
extern const size_t fleet_table_cnt;

/* Append " (name Type, ...)". */
void fleet_add_column_list(const struct fleet_table *table, struct buf *out);

/* Append the statement that makes @table, where it is not there, on a single server. */
void fleet_add_create(const struct fleet_table *table, struct buf *out);

/* Append " PARTITION BY ... ORDER BY (...)", and the settings. */
void fleet_add_keys(const struct fleet_table *table, struct buf *out);

/* Does the server have a table that is called @name? 0 or negative errno as ch_client_query(). */
int fleet_has_table(struct ch_client *client, const char *name, bool *out);

/* Does it have @table, without @column? Likewise. */
int fleet_lacks_column(struct ch_client *client, const char *table, const char *column, bool *out);

/* What fleet_schema_init() did. */
struct fleet_init {
	char cluster[FLEET_CLUSTER_MAX]; /* whose tables they are; "": of a single server */
	uint32_t replicas; /* of the cluster's shard that has fewest */
	uint32_t server_version; /* ch_client_version() */
	uint32_t version_before; /* of the schema; 0: there was none */
	uint32_t tables_made;
	bool database_made, has_codecs;
};

/*
 * Make what is missing of the database and its tables, and bring the schema to
 * FLEET_SCHEMA_VERSION; once more changes nothing. @cluster: fleet_cluster.h, on all servers of
 * that one; NULL: where the tables are, and without tables on one server. 0 or negative errno as
 * ch_client_query(); -EPROTONOSUPPORT: the server is older than CH_VERSION_MIN; -EPROTO: a newer
 * bpfprof made it; -EEXIST: there are tables, and not of @cluster.
 */
int fleet_schema_init(struct ch_client *client, const char *cluster, struct fleet_init *out);

/*
 * Is the schema there, and this program's? 0, or negative errno with the reason and the fix in
 * @why: -ENOENT, -ENOTSUP, or as ch_client_query().
 */
int fleet_schema_check(struct ch_client *client, struct buf *why);

/* The version of the schema that is there, and the client's settings for it
 * (fleet_cluster_use()). 0; -ENOENT: none, fleet_schema_init() makes it; or
 * negative errno. */
int fleet_schema_version(struct ch_client *client, uint32_t *out);

#endif
