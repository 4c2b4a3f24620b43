/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing a store. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "store/schema.h"
#include "store/store_priv.h"

int store_fail(const struct store *store, const char *what, int err)
{
	switch (err) {
	case -ENOENT:
		log_error("store: %s '%s': there is none; bpfprof agent makes one", what,
			  store->path);
		break;
	case -EPROTO:
		log_error(
			"store: %s '%s': not a store of this version; a newer bpfprof made it, or "
			"another program",
			what, store->path);
		break;
	case -EBADMSG:
		log_error("store: %s '%s': the file is damaged; bpfprof store fsck says where",
			  what, store->path);
		break;
	case -EBUSY:
		log_error("store: %s '%s': another process is writing it", what, store->path);
		break;
	default:
		log_error("store: %s '%s': %s", what, store->path, strerror(-err));
	}
	return err;
}

const char *store_path_of(const char *path)
{
	const char scheme[] = "sqlite:";
	const size_t len = sizeof(scheme) - 1;

	return strncmp(path, scheme, len) ? path : path + len;
}

/*
 * One writer, by a lock on a file beside the store: SQLite's own locks, which end with any close()
 * of the database by this process, are left alone.
 */
static int lock_writer(struct store *store)
{
	char name[PATH_MAX];

	if (snprintf(name, sizeof(name), "%s-lock", store->path) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	store->lock_fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (store->lock_fd < 0)
		return -errno;
	if (!flock(store->lock_fd, LOCK_EX | LOCK_NB))
		return 0;
	return errno == EWOULDBLOCK ? -EBUSY : -errno;
}

/* A random UUID (version 4), which names this store's host to fleet sinks. */
static int make_host_id(struct store *store)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db, "INSERT OR IGNORE INTO meta VALUES('host', ?)");
	uint8_t bytes[16];
	char hex[33], text[STORE_BOOT_ID_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	bytes[6] = (uint8_t)((bytes[6] & 0x0f) | 0x40);
	bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80);
	hex_format(bytes, sizeof(bytes), hex);
	snprintf(text, sizeof(text), "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
		 hex + 20);
	db_bind_text(stmt, 1, text);
	return db_step(stmt);
}

int store_host_id(struct store *store, char out[static STORE_BOOT_ID_BYTES])
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db, "SELECT value FROM meta WHERE key='host'");
	int step = db_step(stmt);

	if (step < 0)
		return step;
	snprintf(out, STORE_BOOT_ID_BYTES, "%s",
		 step ? (const char *)sqlite3_column_text(stmt, 0) : "");
	return step ? 0 : -ENOENT;
}

static int find_last_seq(struct store *store)
{
	return db_number(store->db,
			 "SELECT max((SELECT coalesce(max(last_seq), 0) FROM tombstone),"
			 "coalesce((SELECT last_seq FROM window ORDER BY seq DESC LIMIT 1), 0))",
			 &store->last_seq);
}

/* The database, and for the writer what it lacks. */
static int open_database(struct store *store)
{
	uint64_t version;
	static const enum db_use uses[] = {
		[STORE_READ] = DB_READ,
		[STORE_WRITE] = DB_WRITE,
		[STORE_SHIP] = DB_ADD,
	};
	int err = db_open(store->path, uses[store->mode], &store->db);

	if (err)
		return err;
	if (store->mode == STORE_WRITE) {
		err = schema_migrate(store->db, SCHEMA_VERSION);
		if (!err)
			err = make_host_id(store);
		if (!err)
			err = find_last_seq(store);
		return err;
	}
	err = schema_version(store->db, &version);
	if (!err && version != SCHEMA_VERSION)
		err = -EPROTO;
	return err;
}

/* Rename the store and its log out of the way. */
static int set_aside(struct store *store)
{
	static const char *const suffixes[] = {"", "-wal", "-shm"};
	char utc[17], from[PATH_MAX], to[PATH_MAX];

	sqlite3_close(store->db);
	store->db = NULL;
	clock_format_utc(clock_realtime_ns(), utc);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		snprintf(from, sizeof(from), "%s%s", store->path, suffixes[i]);
		if (snprintf(to, sizeof(to), "%s.damaged-%s%s", store->path, utc, suffixes[i]) >=
		    (int)sizeof(to))
			return -ENAMETOOLONG;
		if (rename(from, to) && (errno != ENOENT || i == 0))
			return -errno;
	}
	log_warn("store: '%s' was damaged beyond use: it is now '%s.damaged-%s', and a new one was "
		 "begun",
		 store->path, store->path, utc);
	return 0;
}

int store_open(const char *path, enum store_mode mode, struct store **out)
{
	struct store *store = calloc(1, sizeof(*store));
	int err = 0;

	if (!store)
		return -ENOMEM;
	store->mode = mode;
	store->lock_fd = -1;
	store->path = strdup(store_path_of(path));
	if (!store->path)
		err = -ENOMEM;
	if (!err && mode == STORE_WRITE)
		err = lock_writer(store);
	if (!err)
		err = open_database(store);
	if (err == -EBADMSG && mode == STORE_WRITE) {
		err = set_aside(store);
		if (!err)
			err = open_database(store);
	}
	if (err) {
		if (store->path)
			store_fail(store, "open", err);
		store_close(store);
		return err;
	}
	*out = store;
	return 0;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < GENERATIONS_KEPT; i++)
		store_generation_free(store->kept[i]);
	store_drop_current(store);
	sqlite3_close(store->db);
	if (store->lock_fd >= 0)
		close(store->lock_fd);
	free(store->path);
	free(store);
}
