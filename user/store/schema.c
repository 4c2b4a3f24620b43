/* SPDX-License-Identifier: Apache-2.0 */
/* The tables, version by version. */
#include "store/schema.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "store/db.h"

/* "bpfp": marks the file as ours in its header. */
#define APPLICATION_ID "1651533424"

/*
 * seq of a window and first_seq..last_seq: more than one where windows were put together. prev_seq:
 * the last_seq of the window or tombstone before; 0: the store begins here. epochs: those of a
 * window that was put together, each as the difference to the one before. window.batches: how many
 * it has. batch.samples: sum of the first column, total: of the default one, sums: of all.
 * sink.seq: all up to here is there. cut: windows after this seq are not put together with those
 * before.
 */
static const char *const steps[SCHEMA_VERSION] = {
	"PRAGMA application_id=" APPLICATION_ID ";"
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE source(id INTEGER PRIMARY KEY, boot_id TEXT NOT NULL, instance INTEGER NOT "
	"NULL, UNIQUE(boot_id, instance));"
	"CREATE TABLE kind(id INTEGER PRIMARY KEY, name TEXT NOT NULL, types BLOB NOT NULL, "
	"UNIQUE(name, types));"
	"CREATE TABLE generation(id INTEGER PRIMARY KEY, day INTEGER NOT NULL);"
	"CREATE TABLE dict(nr INTEGER PRIMARY KEY, generation INTEGER NOT NULL, raw_bytes INTEGER "
	"NOT NULL, blob BLOB NOT NULL);"
	"CREATE INDEX dict_generation ON dict(generation, nr, raw_bytes);"
	"CREATE TABLE window(seq INTEGER PRIMARY KEY, last_seq INTEGER NOT NULL, prev_seq INTEGER "
	"NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, covered_ns INTEGER NOT "
	"NULL, "
	"windows INTEGER NOT NULL, source INTEGER NOT NULL, epoch INTEGER NOT NULL, last_epoch "
	"INTEGER NOT NULL, generation INTEGER NOT NULL, is_compact INTEGER NOT NULL, batches "
	"INTEGER NOT NULL, epochs BLOB, "
	"ledger BLOB NOT NULL);"
	"CREATE UNIQUE INDEX window_origin ON window(source, epoch);"
	"CREATE INDEX window_time ON window(generation, start_ns);"
	"CREATE INDEX window_raw ON window(seq) WHERE is_compact=0;"
	"CREATE TABLE batch(id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, kind INTEGER NOT NULL, "
	"rows "
	"INTEGER NOT NULL, samples INTEGER NOT NULL, total INTEGER NOT NULL, sums BLOB NOT NULL, "
	"blob "
	"BLOB NOT NULL);"
	"CREATE UNIQUE INDEX batch_key ON batch(seq, kind);"
	"CREATE TABLE tombstone(first_seq INTEGER PRIMARY KEY, last_seq INTEGER NOT NULL, prev_seq "
	"INTEGER NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, windows INTEGER NOT "
	"NULL, samples INTEGER NOT NULL, reason TEXT NOT NULL);",
	"CREATE TABLE sink(name TEXT PRIMARY KEY, seq INTEGER NOT NULL, seen_ns INTEGER NOT NULL, "
	"windows INTEGER NOT NULL, quarantined INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE quarantine(sink TEXT NOT NULL, seq INTEGER NOT NULL, last_seq INTEGER NOT "
	"NULL, samples INTEGER NOT NULL, reason TEXT NOT NULL, PRIMARY KEY(sink, seq)) WITHOUT "
	"ROWID;"
	"CREATE TABLE cut(seq INTEGER PRIMARY KEY);",
	/* Batches of this version stand beside those before it: batch_columns.h. */
	"",
};

int schema_version(sqlite3 *db, uint64_t *out)
{
	uint64_t application, tables = 0;
	int err = db_number(db, "PRAGMA application_id", &application);

	if (!err)
		err = db_number(db, "SELECT count(*) FROM sqlite_schema", &tables);
	if (!err)
		err = db_number(db, "PRAGMA user_version", out);
	if (!err && application != strtoull(APPLICATION_ID, NULL, 10) && tables)
		err = -EPROTO;
	return err;
}

int schema_migrate(sqlite3 *db, uint32_t version)
{
	_guard_(db_rollback) sqlite3 *guard = db;
	char text[64];
	uint64_t now;
	int err = db_begin(db, true);

	if (!err)
		err = schema_version(db, &now);
	if (!err && now > version)
		err = -EPROTO;
	if (err)
		return err;
	for (uint64_t i = now; i < version && !err; i++)
		err = db_exec(db, steps[i]);
	snprintf(text, sizeof(text), "PRAGMA user_version=%u", version);
	if (!err && now < version)
		err = db_exec(db, text);
	return err ? err : db_commit(db);
}
