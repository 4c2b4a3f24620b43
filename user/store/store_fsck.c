/* SPDX-License-Identifier: Apache-2.0 */
/* The proof that nothing is missing, doubled or damaged, row by row. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/blob.h"
#include "store/store_priv.h"
#include "store/varint.h"

struct fsck {
	struct store *store;
	struct buf *out;
	struct kinds kinds;
	int found;
};

__attribute__((format(printf, 2, 3))) static void finding(struct fsck *fsck, const char *fmt, ...)
{
	char line[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	buf_printf(fsck->out, "%s\n", line);
	fsck->found++;
}

/* SQLite's own pages. */
static int check_pages(struct fsck *fsck)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = db_prepare(fsck->store->db, "PRAGMA integrity_check");
	int step;

	while ((step = db_step(stmt)) > 0) {
		const char *text = (const char *)sqlite3_column_text(stmt, 0);

		if (text && strcmp(text, "ok") != 0)
			finding(fsck, "sqlite: %s", text);
	}
	if (step == -EBADMSG) {
		finding(fsck, "sqlite: pages cannot be read");
		return 0;
	}
	return step;
}

/* Every window and tombstone says which one came before it. */
static int check_chain(struct fsck *fsck)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(fsck->store->db, "SELECT seq, last_seq, prev_seq FROM window UNION ALL "
					    "SELECT first_seq, last_seq, prev_seq FROM tombstone "
					    "ORDER BY 1");
	uint64_t last = 0;
	int step;

	while ((step = db_step(stmt)) > 0) {
		const uint64_t seq = db_u64(stmt, 0), prev = db_u64(stmt, 2);

		if (prev != last)
			finding(fsck,
				"window %" PRIu64 ": follows on %" PRIu64 ", but %" PRIu64
				" is before it: windows are missing or doubled",
				seq, prev, last);
		last = db_u64(stmt, 1);
	}
	return step;
}

static const struct kind *find_kind(const struct fsck *fsck, uint64_t id)
{
	for (size_t i = 0; i < fsck->kinds.cnt; i++)
		if (fsck->kinds.items[i].id == id)
			return &fsck->kinds.items[i];
	return NULL;
}

/* A row of the table of batches, which the rest of the check is given. */
struct row {
	uint64_t seq, kind, rows;
	int64_t samples, total;
	struct reader sums;
};

static bool sums_agree(const struct kind *kind, const struct batch *batch, struct row *row)
{
	for (uint32_t i = 0; i < batch->column_cnt; i++)
		if (read_signed(&row->sums) != batch_sum(batch, i))
			return false;
	return !row->sums.err && reader_done(&row->sums) && row->rows == batch->cnt &&
	       row->samples == batch_sum(batch, 0) &&
	       row->total == batch_sum(batch, kind->types.default_value);
}

/* The batch of @stmt (seq, kind, rows, samples, total, sums, blob). */
static int check_batch(struct fsck *fsck, sqlite3_stmt *stmt, const struct dict *dict)
{
	struct row row = {
		.seq = db_u64(stmt, 0),
		.kind = db_u64(stmt, 1),
		.rows = db_u64(stmt, 2),
		.samples = sqlite3_column_int64(stmt, 3),
		.total = sqlite3_column_int64(stmt, 4),
	};
	const struct kind *kind = find_kind(fsck, row.kind);
	_cleanup_(buf_deinit) struct buf raw;
	_cleanup_(batch_deinit) struct batch batch;
	struct reader rd;
	int err;

	buf_init(&raw, BUF_NO_MAX);
	batch_init(&batch, kind ? kind->types.value_type_cnt : 0);
	if (!kind) {
		finding(fsck, "batch %" PRIu64 ": of an unknown kind %" PRIu64, row.seq, row.kind);
		return 0;
	}
	reader_init(&row.sums, sqlite3_column_blob(stmt, 5), (size_t)sqlite3_column_bytes(stmt, 5));
	err = blob_unpack(sqlite3_column_blob(stmt, 6), (size_t)sqlite3_column_bytes(stmt, 6),
			  blob_place(BLOB_BATCH, row.seq, row.kind), &raw);
	reader_init(&rd, raw.data, raw.len);
	if (!err)
		err = batch_decode(&rd, dict->saved.stacks, dict->saved.label_sets, &batch);
	if (err == -EBADMSG)
		finding(fsck,
			"batch %" PRIu64 " of %s: damaged, or its stacks are not in the dictionary",
			row.seq, kind->name);
	else if (!err && !sums_agree(kind, &batch, &row))
		finding(fsck, "batch %" PRIu64 " of %s: its sums are not those of its samples",
			row.seq, kind->name);
	return err == -EBADMSG ? 0 : err;
}

static int check_generation(struct fsck *fsck, uint64_t id)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(fsck->store->db,
			   "SELECT b.seq, b.kind, b.rows, b.samples, b.total, b.sums, b.blob FROM "
			   "window AS w CROSS JOIN batch AS b ON b.seq=w.seq WHERE w.generation=?");
	struct generation *generation;
	int step = 0, err = store_generation(fsck->store, id, &generation);

	if (err)
		return err;
	if (generation->damaged_cnt)
		finding(fsck, "dictionary %" PRIu64 ": %" PRIu64 " damaged or missing chunks", id,
			generation->damaged_cnt);
	db_bind(stmt, 1, id);
	while (!err && (step = db_step(stmt)) > 0)
		err = check_batch(fsck, stmt, &generation->dict);
	return err ? err : step;
}

static int check_batches(struct fsck *fsck)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(fsck->store->db, "SELECT id FROM generation ORDER BY id");
	_cleanup_stmt_ sqlite3_stmt *orphans =
		db_prepare(fsck->store->db,
			   "SELECT 'batch', seq FROM batch WHERE NOT EXISTS (SELECT 1 FROM "
			   "window WHERE window.seq=batch.seq) UNION ALL SELECT 'window', seq "
			   "FROM window WHERE NOT EXISTS (SELECT 1 FROM generation WHERE "
			   "generation.id=window.generation)");
	int step, err = 0;

	while (!err && (step = db_step(stmt)) > 0)
		err = check_generation(fsck, db_u64(stmt, 0));
	if (err || step < 0)
		return err ? err : step;
	while ((step = db_step(orphans)) > 0)
		finding(fsck, "%s %" PRIu64 ": what it belongs to is missing",
			(const char *)sqlite3_column_text(orphans, 0), db_u64(orphans, 1));
	return step;
}

/* Do the batches of window @seq have as many samples as @ledger says were recorded? */
static int check_samples(struct fsck *fsck, uint64_t seq, const struct ledger *ledger)
{
	for (uint32_t i = 0; i < ledger->event_cnt; i++) {
		const struct ledger_event *event = &ledger->events[i];
		uint64_t samples = 0;
		bool is_stored = false;
		int step;

		for (size_t j = 0; j < fsck->kinds.cnt; j++) {
			_cleanup_stmt_ sqlite3_stmt *stmt = NULL;

			if (strcmp(fsck->kinds.items[j].event, event->name) != 0)
				continue;
			stmt = db_prepare(fsck->store->db,
					  "SELECT samples FROM batch WHERE seq=? AND kind=?");
			db_bind(stmt, 1, seq);
			db_bind(stmt, 2, fsck->kinds.items[j].id);
			step = db_step(stmt);
			if (step < 0)
				return step;
			is_stored = true;
			samples += step ? db_u64(stmt, 0) : 0;
		}
		if (is_stored && samples != event->sum.recorded)
			finding(fsck,
				"window %" PRIu64 ": %" PRIu64 " samples of %s, but its ledger has "
				"%" PRIu64,
				seq, samples, event->name, event->sum.recorded);
	}
	return 0;
}

/* The ledger of each window, and whether it has all of its batches. */
static int check_windows(struct fsck *fsck)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(fsck->store->db,
			   "SELECT seq, ledger, batches, (SELECT count(*) FROM batch "
			   "WHERE batch.seq=window.seq) FROM window ORDER BY seq");
	int step, err;

	while ((step = db_step(stmt)) > 0) {
		_cleanup_(ledger_deinit) struct ledger ledger;
		const uint64_t seq = db_u64(stmt, 0);

		ledger_init(&ledger);
		err = store_unpack_ledger(sqlite3_column_blob(stmt, 1),
					  (size_t)sqlite3_column_bytes(stmt, 1), seq, &ledger);
		if (err == -EBADMSG)
			finding(fsck, "window %" PRIu64 ": its ledger is damaged", seq);
		else if (!err)
			err = check_samples(fsck, seq, &ledger);
		if (err && err != -EBADMSG)
			return err;
		if (db_u64(stmt, 2) != db_u64(stmt, 3))
			finding(fsck,
				"window %" PRIu64 ": %" PRIu64 " batches, but it was stored "
				"with %" PRIu64,
				seq, db_u64(stmt, 3), db_u64(stmt, 2));
	}
	return step;
}

static int check_all(struct fsck *fsck)
{
	_guard_(db_rollback) sqlite3 *guard = fsck->store->db;
	int err = check_pages(fsck);

	if (!err)
		err = db_begin(fsck->store->db, false);
	if (!err)
		err = kinds_read(fsck->store, NULL, &fsck->kinds);
	if (!err)
		err = check_chain(fsck);
	if (!err)
		err = check_batches(fsck);
	if (!err)
		err = check_windows(fsck);
	/* What cannot be read at all is a finding, not a failure to look. */
	if (err == -EBADMSG) {
		finding(fsck, "sqlite: tables cannot be read to their end");
		err = 0;
	}
	return err;
}

int store_fsck(struct store *store, struct buf *out)
{
	struct fsck fsck = {.store = store, .out = out};
	int err = check_all(&fsck);

	kinds_deinit(&fsck.kinds);
	if (!err)
		err = out->err;
	return err ? store_fail(store, "check", err) : fsck.found;
}
