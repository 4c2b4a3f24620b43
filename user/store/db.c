/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite: connections, statements, transactions, errors. */
#include "store/db.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

enum {
	BUSY_TIMEOUT_MS = 10000, /* a reader beside a checkpoint, two openings at once */
	IO_PRIMARY = 0xff, /* of an extended result code */
};

/* What the kernel said where SQLite failed to read or write: errno, which our calls set to 0
 * before. SQLite (3.40) itself forgets it when a COMMIT fails. */
static int io_errno(sqlite3 *db, int fallback)
{
	int err = errno ? errno : sqlite3_system_errno(db);

	switch (err) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return -ENOSPC;
	case EROFS:
	case ENOENT:
	case EACCES:
	case EPERM:
	case EISDIR:
	case ENOTDIR:
		return -err;
	default:
		return fallback;
	}
}

int db_errno(sqlite3 *db, int code)
{
	switch (code & IO_PRIMARY) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		/* SQLite calls damage what the disk could not read, too (SQLITE_IOERR_CORRUPTFS).
		 */
		return errno == EIO || errno == ENXIO ? -EIO : -EBADMSG;
	case SQLITE_CONSTRAINT:
		return -EEXIST;
	case SQLITE_CANTOPEN:
		return io_errno(db, -ENOENT);
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_TOOBIG:
		return -E2BIG;
	case SQLITE_IOERR:
		return io_errno(db, code == SQLITE_IOERR_NOMEM ? -ENOMEM : -EIO);
	default:
		return -EIO;
	}
}

int db_exec(sqlite3 *db, const char *sql)
{
	errno = 0;
	return db_errno(db, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

sqlite3_stmt *db_prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	int err;

	errno = 0;
	err = db_errno(db, sqlite3_prepare_v2(db, sql, -1, &stmt, NULL));

	if (!err)
		return stmt;
	errno = -err;
	return NULL;
}

void db_finish(sqlite3_stmt **stmt)
{
	sqlite3_finalize(*stmt);
	*stmt = NULL;
}

int db_step(sqlite3_stmt *stmt)
{
	int code;

	if (!stmt)
		return errno ? -errno : -EIO;
	errno = 0;
	code = sqlite3_step(stmt);
	return code == SQLITE_ROW ? 1 : db_errno(sqlite3_db_handle(stmt), code);
}

void db_bind(sqlite3_stmt *stmt, int nr, uint64_t value)
{
	if (stmt)
		sqlite3_bind_int64(stmt, nr, (sqlite3_int64)value);
}

void db_bind_blob(sqlite3_stmt *stmt, int nr, const void *data, size_t len)
{
	if (stmt)
		sqlite3_bind_blob64(stmt, nr, len ? data : "", len, SQLITE_STATIC);
}

void db_bind_text(sqlite3_stmt *stmt, int nr, const char *text)
{
	if (stmt)
		sqlite3_bind_text(stmt, nr, text, -1, SQLITE_STATIC);
}

int db_number(sqlite3 *db, const char *sql, uint64_t *out)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = db_prepare(db, sql);
	int step = db_step(stmt);

	if (step < 0)
		return step;
	*out = step ? db_u64(stmt, 0) : 0;
	return 0;
}

int db_begin(sqlite3 *db, bool to_write)
{
	return db_exec(db, to_write ? "BEGIN IMMEDIATE" : "BEGIN");
}

int db_commit(sqlite3 *db)
{
	return db_exec(db, "COMMIT");
}

void db_rollback(sqlite3 **db)
{
	/* After COMMIT, and where SQLite rolled back by itself, there is none. */
	if (*db && !sqlite3_get_autocommit(*db))
		sqlite3_exec(*db, "ROLLBACK", NULL, NULL, NULL);
}

/*
 * -wal and -shm stay when the last connection closes, so that a user who may read but not write
 * the folder can open the store at any time. The page size suits blobs of a few KiB; it and
 * auto_vacuum hold from the first table on.
 */
static int set_up_writer(sqlite3 *db)
{
	int persist = 1;

	sqlite3_file_control(db, "main", SQLITE_FCNTL_PERSIST_WAL, &persist);
	return db_exec(db, "PRAGMA page_size=2048; PRAGMA auto_vacuum=INCREMENTAL;"
			   "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
			   "PRAGMA wal_autocheckpoint=1024; PRAGMA journal_size_limit=4194304;"
			   "PRAGMA cache_size=-1024; PRAGMA foreign_keys=OFF;");
}

/* Its pages are the writer's to bring from the log into the file. */
static int set_up_adder(sqlite3 *db)
{
	int persist = 1;

	sqlite3_file_control(db, "main", SQLITE_FCNTL_PERSIST_WAL, &persist);
	return db_exec(db, "PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0;"
			   "PRAGMA cache_size=-1024; PRAGMA foreign_keys=OFF;");
}

static int try_open(const char *name, int flags, sqlite3 **out)
{
	sqlite3 *db = NULL;
	int code, err;

	errno = 0;
	code = sqlite3_open_v2(name, &db, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
	err = db ? db_errno(db, code) : -ENOMEM;
	if (!err) {
		sqlite3_extended_result_codes(db, 1);
		sqlite3_busy_timeout(db, BUSY_TIMEOUT_MS);
		err = db_exec(db, "PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0;"
				  "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;");
	}
	if (!err && flags & SQLITE_OPEN_CREATE)
		err = set_up_writer(db);
	else if (!err && flags & SQLITE_OPEN_READWRITE)
		err = set_up_adder(db);
	/* The first look into the file: here is where damage, or a missing -shm, shows. */
	if (!err)
		err = db_exec(db, "SELECT 1 FROM sqlite_schema LIMIT 1");
	if (err)
		sqlite3_close(db);
	else
		*out = db;
	return err;
}

/* Has @path a log with content, which a reader must not pass over? */
static bool has_log(const char *path)
{
	char name[PATH_MAX];
	struct stat st;

	snprintf(name, sizeof(name), "%s-wal", path);
	return !stat(name, &st) && st.st_size > 0;
}

/* "file:PATH?..." with the bytes that mean something in a URI as %XX. */
static bool uri_of(const char *path, const char *query, char *out, size_t size)
{
	int len = snprintf(out, size, "file:");

	for (; *path && (size_t)len + 4 < size; path++)
		len += snprintf(out + len, size - (size_t)len,
				strchr("%?#", *path) ? "%%%02X" : "%c", (unsigned char)*path);
	len += snprintf(out + len, size - (size_t)len, "%s", query);
	return !*path && (size_t)len < size;
}

/* What runs here, and for whom, is not for everybody to read: SQLite would make it so. Its further
 * files get the mode of this one. */
static int make_private(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);

	return fd < 0 ? -errno : 0;
}

int db_open(const char *path, enum db_use use, sqlite3 **out)
{
	char name[3 * PATH_MAX];
	int err;

	if (!uri_of(path, "", name, sizeof(name)))
		return -ENAMETOOLONG;
	if (use == DB_ADD)
		return try_open(name, SQLITE_OPEN_READWRITE, out);
	if (use == DB_WRITE) {
		err = make_private(path);
		return err ? err : try_open(name, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, out);
	}
	err = try_open(name, SQLITE_OPEN_READONLY, out);
	/* A copy without its -shm, in a folder that we may not write: nobody else has it open. */
	if (err && err != -ENOENT && err != -EBADMSG && !has_log(path) &&
	    uri_of(path, "?immutable=1", name, sizeof(name)))
		err = try_open(name, SQLITE_OPEN_READONLY, out);
	return err;
}
