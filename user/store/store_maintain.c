/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retention and maintenance. Windows are dropped from the old end of the chain of seqs, so what was
 * dropped is one tombstone that grows, and the chain still begins at 0.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "store/ship.h"
#include "store/store_maintain.h"

enum {
	DROP_WINDOWS = 64, /* in one transaction */
	SHRINK_PAGES = 512,
};

/* Windows to drop. */
struct drop {
	uint64_t first_seq, last_row, last_seq, prev_seq, start_ns, end_ns, windows, samples;
};

static int find_drop(struct store *store, uint64_t before_ns, uint64_t held_seq, struct drop *out)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db,
			   "SELECT seq, last_seq, prev_seq, start_ns, end_ns, windows, (SELECT "
			   "sum(samples) FROM batch WHERE batch.seq=window.seq), EXISTS(SELECT 1 "
			   "FROM sink WHERE sink.seq=window.prev_seq) FROM window ORDER BY seq "
			   "LIMIT ?");
	int step;

	*out = (struct drop){.start_ns = UINT64_MAX};
	/* By bytes: few, so that not more goes than has to. */
	db_bind(stmt, 1, before_ns ? DROP_WINDOWS : DROP_WINDOWS / 8);
	while ((step = db_step(stmt)) > 0) {
		const uint64_t start_ns = db_u64(stmt, 3), end_ns = db_u64(stmt, 4);

		/* A tombstone between two windows ends what one tombstone can say, and so does a
		 * sink's cursor: what is lost to it is told apart from what it has. */
		if ((before_ns && end_ns >= before_ns) || db_u64(stmt, 1) > held_seq ||
		    (out->windows && (db_u64(stmt, 2) != out->last_seq || db_u64(stmt, 7))))
			break;
		if (!out->windows) {
			out->first_seq = db_u64(stmt, 0);
			out->prev_seq = db_u64(stmt, 2);
		}
		out->last_row = db_u64(stmt, 0);
		out->last_seq = db_u64(stmt, 1);
		out->start_ns = start_ns < out->start_ns ? start_ns : out->start_ns;
		out->end_ns = end_ns > out->end_ns ? end_ns : out->end_ns;
		out->windows += db_u64(stmt, 5);
		out->samples += db_u64(stmt, 6);
	}
	return step < 0 ? step : 0;
}

static int delete_windows(struct store *store, const struct drop *drop)
{
	static const char *const sqls[] = {
		"DELETE FROM batch WHERE seq>=? AND seq<=?",
		"DELETE FROM window WHERE seq>=? AND seq<=?",
	};
	int err = 0;

	for (size_t i = 0; i < 2 && !err; i++) {
		_cleanup_stmt_ sqlite3_stmt *stmt = db_prepare(store->db, sqls[i]);

		db_bind(stmt, 1, drop->first_seq);
		db_bind(stmt, 2, drop->last_row);
		err = db_step(stmt);
	}
	return err;
}

/* The tombstone before is made longer where it is of the same reason, and no sink stands there. */
static int write_tombstone(struct store *store, const struct drop *drop, const char *reason)
{
	static const char *const sqls[] = {
		"UPDATE tombstone SET last_seq=?2, start_ns=min(start_ns, ?4), end_ns=max(end_ns, "
		"?5), "
		"windows=windows+?6, samples=samples+?7 WHERE last_seq=?3 AND reason=?8 AND ?1>0 "
		"AND NOT EXISTS(SELECT 1 FROM sink WHERE sink.seq=?3) RETURNING 1",
		"INSERT INTO tombstone(first_seq, last_seq, prev_seq, start_ns, end_ns, windows, "
		"samples, reason) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	};
	int step = 0;

	for (size_t i = 0; i < 2 && !step; i++) {
		_cleanup_stmt_ sqlite3_stmt *stmt = db_prepare(store->db, sqls[i]);

		db_bind(stmt, 1, drop->first_seq);
		db_bind(stmt, 2, drop->last_seq);
		db_bind(stmt, 3, drop->prev_seq);
		db_bind(stmt, 4, drop->start_ns);
		db_bind(stmt, 5, drop->end_ns);
		db_bind(stmt, 6, drop->windows);
		db_bind(stmt, 7, drop->samples);
		db_bind_text(stmt, 8, reason);
		step = db_step(stmt);
		if (step > 0)
			step = db_step(stmt) < 0 ? -EIO : 1;
	}
	return step < 0 ? step : 0;
}

/* Dictionaries and sources without windows; the newest generation is being written. */
static const char delete_unused[] =
	"DELETE FROM dict WHERE generation < (SELECT max(id) FROM generation) AND NOT EXISTS "
	"(SELECT "
	"1 FROM window WHERE window.generation=dict.generation);"
	"DELETE FROM generation WHERE id < (SELECT max(id) FROM generation) AND NOT EXISTS (SELECT "
	"1 "
	"FROM window WHERE window.generation=generation.id);"
	"DELETE FROM source WHERE NOT EXISTS (SELECT 1 FROM window WHERE window.source=source.id);"
	"DELETE FROM cut WHERE seq < (SELECT min(seq) FROM window);"
	"DELETE FROM quarantine WHERE last_seq < (SELECT min(seq) FROM window);";

int store_drop_step(struct store *store, uint64_t before_ns, uint64_t held_seq, const char *reason)
{
	_guard_(db_rollback) sqlite3 *guard = store->db;
	struct drop drop;
	int err = find_drop(store, before_ns, held_seq, &drop);

	if (err || !drop.windows)
		return err;
	err = db_begin(store->db, true);
	if (!err)
		err = delete_windows(store, &drop);
	if (!err)
		err = write_tombstone(store, &drop, reason);
	if (!err)
		err = db_exec(store->db, delete_unused);
	if (!err)
		err = db_commit(store->db);
	return err ? err : 1;
}

static int free_pages(struct store *store, uint64_t *out)
{
	return db_number(store->db, "PRAGMA freelist_count", out);
}

int store_used_bytes(struct store *store, uint64_t *out)
{
	uint64_t pages, free_cnt, page_bytes;
	int err = db_number(store->db, "PRAGMA page_count", &pages);

	if (!err)
		err = free_pages(store, &free_cnt);
	if (!err)
		err = db_number(store->db, "PRAGMA page_size", &page_bytes);
	if (!err)
		*out = (pages - free_cnt) * page_bytes;
	return err;
}

int store_shrink_step(struct store *store)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	uint64_t before, after;
	int step, err = free_pages(store, &before);

	if (err || !before)
		return err;
	stmt = db_prepare(store->db, "PRAGMA incremental_vacuum(512)");
	_Static_assert(SHRINK_PAGES == 512, "as in the statement");
	do
		step = db_step(stmt);
	while (step > 0);
	err = step < 0 ? step : free_pages(store, &after);
	if (err)
		return err;
	/* The file is cut when the log is brought into it. */
	if (after)
		return after < before;
	/* Passive: it waits for no reader. */
	return db_exec(store->db, "PRAGMA wal_checkpoint(PASSIVE)");
}

struct maintaining {
	struct store *store;
	const struct store_limits *limits;
	uint64_t now_ns;
	struct kinds kinds;
	uint64_t held_seq; /* age drops nothing behind it */
	uint64_t compact_seq; /* where the next group begins */
};

/* Up to which seq every sink that is in use has the windows. */
static int find_held(struct store *store, uint64_t now_ns, uint64_t *out)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db, "SELECT min(seq) FROM sink WHERE seen_ns>?");
	int step;

	db_bind(stmt, 1,
		now_ns > STORE_SINK_FORGOTTEN_NS ? store_time(now_ns - STORE_SINK_FORGOTTEN_NS)
						 : 0);
	step = db_step(stmt);
	if (step > 0)
		*out = sqlite3_column_type(stmt, 0) == SQLITE_NULL ? UINT64_MAX : db_u64(stmt, 0);
	return step < 0 ? step : 0;
}

static uint64_t ago(uint64_t now_ns, uint64_t age_ns)
{
	return now_ns > age_ns ? now_ns - age_ns : 1;
}

/* One piece of work: 1, 0: there is none; or negative errno. */
static int work(struct maintaining *work)
{
	const struct store_limits *limits = work->limits;
	uint64_t used;
	int done = 0;

	if (limits->max_age_ns)
		done = store_drop_step(work->store, ago(work->now_ns, limits->max_age_ns),
				       work->held_seq, "age");
	if (!done && limits->max_bytes) {
		done = store_used_bytes(work->store, &used);
		if (!done && used > limits->max_bytes)
			done = store_drop_step(work->store, 0, UINT64_MAX, "bytes");
	}
	if (!done && limits->compact_after_ns)
		done = store_compact_step(work->store, &work->kinds,
					  ago(work->now_ns, limits->compact_after_ns),
					  &work->compact_seq);
	if (!done && limits->compact_after_ns)
		done = store_compact_dict(work->store);
	if (!done)
		done = store_shrink_step(work->store);
	return done;
}

int store_maintain(struct store *store, const struct store_limits *limits, uint64_t now_ns,
		   uint64_t budget_ns)
{
	const uint64_t start_ns = clock_monotonic_ns();
	struct maintaining maintaining = {.store = store, .limits = limits, .now_ns = now_ns};
	int done = store->mode == STORE_WRITE ? 0 : -EINVAL;

	if (!done)
		done = find_held(store, now_ns, &maintaining.held_seq);
	if (!done)
		done = kinds_read(store, NULL, &maintaining.kinds);
	if (done)
		return store_fail(store, "maintain", done);
	do
		done = work(&maintaining);
	while (done > 0 && clock_monotonic_ns() - start_ns < budget_ns);
	kinds_deinit(&maintaining.kinds);
	return done < 0 ? store_fail(store, "maintain", done) : done;
}
