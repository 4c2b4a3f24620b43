/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite as the store needs it: connections, statements, transactions, and errors as errno. */
#ifndef BPFPROF_STORE_DB_H
#define BPFPROF_STORE_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "base/cleanup.h"

enum db_use {
	DB_READ,
	DB_WRITE, /* and make it where it is missing */
	DB_ADD, /* write some rows beside the writer, which clears up */
};

/* A connection to @path. 0 or negative errno; not logged. */
int db_open(const char *path, enum db_use use, sqlite3 **out);

/* The errno, negative, for what the last call on @db said; 0 where that was no failure. */
int db_errno(sqlite3 *db, int code);

/* Statements without results; several, separated by ';'. 0 or negative errno. */
int db_exec(sqlite3 *db, const char *sql);

/* @sql, which is ours, as a statement: *owned* (db_finish()). NULL + errno. */
sqlite3_stmt *db_prepare(sqlite3 *db, const char *sql);
void db_finish(sqlite3_stmt **stmt);

/* The next row: 1, 0 at the end, or negative errno. NULL is db_prepare()'s failure, whose errno is
 * then still there. */
int db_step(sqlite3_stmt *stmt);

/* Parameter @nr (from 1 on). Failures show in db_step(): SQLite then sees a NULL that no column of
 * ours takes, or says so itself. Blobs and texts stay where they are until the statement ends. */
void db_bind(sqlite3_stmt *stmt, int nr, uint64_t value);
void db_bind_blob(sqlite3_stmt *stmt, int nr, const void *data, size_t len);
void db_bind_text(sqlite3_stmt *stmt, int nr, const char *text);

static inline uint64_t db_u64(sqlite3_stmt *stmt, int column)
{
	return (uint64_t)sqlite3_column_int64(stmt, column);
}

/* The one number that @sql answers, 0 where there is none or it is NULL. 0 or negative errno. */
int db_number(sqlite3 *db, const char *sql, uint64_t *out);

/*
 * A transaction, rolled back by db_rollback() unless db_commit() ended it well. A reader's sees the
 * store as it was at its first statement; a writer's has the lock from the start.
 */
int db_begin(sqlite3 *db, bool to_write);
int db_commit(sqlite3 *db);
void db_rollback(sqlite3 **db);

#define _cleanup_stmt_ _cleanup_(db_finish)

#endif
