/* SPDX-License-Identifier: Apache-2.0 */
/* Windows on their way to sinks. */
#include "store/ship.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "store/store_group.h"
#include "store/store_priv.h"

enum { REASON_MAX = 128 };

struct store_shipment {
	struct sink_window window; /* borrows from what follows, and from the store */
	struct group group;
	struct kinds kinds;
	struct sink_batch *batches; /* owned, with rows and values */
	size_t batch_cap;
	char boot_id[STORE_BOOT_ID_BYTES];
	char reason[REASON_MAX];
	bool is_open; /* another window may become one of the group */
};

const struct sink_window *store_shipment_window(const struct store_shipment *shipment)
{
	return &shipment->window;
}

uint64_t store_shipment_samples(const struct store_shipment *shipment)
{
	const struct sink_window *window = &shipment->window;
	uint64_t sum = window->lost_samples;

	for (size_t i = 0; i < window->batch_cnt; i++)
		for (size_t k = 0; k < window->batches[i].row_cnt; k++)
			sum += (uint64_t)window->batches[i]
				       .values[k * window->batches[i].types->value_type_cnt];
	return sum;
}

static void free_batches(struct store_shipment *shipment)
{
	for (size_t i = 0; i < shipment->window.batch_cnt; i++) {
		free((void *)shipment->batches[i].rows);
		free((void *)shipment->batches[i].values);
	}
	shipment->window.batch_cnt = 0;
}

void store_shipment_free(struct store_shipment *shipment)
{
	if (!shipment)
		return;
	free_batches(shipment);
	free(shipment->batches);
	kinds_deinit(&shipment->kinds);
	group_deinit(&shipment->group);
	free(shipment);
}

/* --- A tombstone --- */

/* Of one that begins before the cursor, what comes after it. */
static void take_tombstone(struct store_shipment *shipment, sqlite3_stmt *stmt, uint64_t cursor)
{
	struct sink_window *window = &shipment->window;
	const uint64_t first = db_u64(stmt, 0);

	window->seq = first > cursor ? first : cursor + 1;
	window->prev_seq = first > cursor ? db_u64(stmt, 2) : cursor;
	window->last_seq = db_u64(stmt, 1);
	window->start_ns = db_u64(stmt, 3);
	window->end_ns = db_u64(stmt, 4);
	window->window_cnt = db_u64(stmt, 5);
	window->lost_samples = db_u64(stmt, 6);
	snprintf(shipment->reason, sizeof(shipment->reason), "%s",
		 (const char *)sqlite3_column_text(stmt, 7));
	window->lost = shipment->reason;
	window->boot_id = "";
}

/* --- Windows --- */

/* The group that begins with the first window after @cursor. */
static int find_group(struct store *store, uint64_t cursor, struct store_shipment *shipment)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = db_prepare(
		store->db, "SELECT " GROUP_COLUMNS " FROM window WHERE seq>? ORDER BY seq");
	struct group *group = &shipment->group;
	int step, err = 0;

	db_bind(stmt, 1, cursor);
	while (!err && (step = db_step(stmt)) > 0)
		err = group_add(group, stmt);
	if (err < 0)
		return err;
	if (!err && step < 0)
		return step;
	shipment->is_open = !err && !group->is_compact && !group->is_damaged;
	return 0;
}

/* A tombstone ends a group, too. */
static int look_behind(struct store *store, struct store_shipment *shipment)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db,
			   "SELECT 1 FROM tombstone WHERE first_seq>? UNION ALL SELECT 1 FROM cut "
			   "WHERE seq=?1 LIMIT 1");
	int step;

	db_bind(stmt, 1, shipment->group.last_seq);
	step = shipment->is_open ? db_step(stmt) : 0;
	if (step > 0)
		shipment->is_open = false;
	return step < 0 ? step : 0;
}

static int note_cut(struct store *store, uint64_t seq)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db, "INSERT OR IGNORE INTO cut(seq) VALUES(?)");

	db_bind(stmt, 1, seq);
	return db_step(stmt);
}

static int read_source(struct store *store, struct store_shipment *shipment)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db, "SELECT boot_id, instance FROM source WHERE id=?");
	int step;

	db_bind(stmt, 1, shipment->group.source);
	step = db_step(stmt);
	if (step > 0) {
		snprintf(shipment->boot_id, sizeof(shipment->boot_id), "%s",
			 (const char *)sqlite3_column_text(stmt, 0));
		shipment->window.instance = db_u64(stmt, 1);
	}
	shipment->window.boot_id = shipment->boot_id;
	return step < 0 ? step : 0;
}

/* Do the rows of @batch have numbers that the dictionary has? */
static bool is_within(const struct batch *batch, const struct dict_mark *known)
{
	for (size_t i = 0; i < batch->cnt; i++)
		if (batch->rows[i].stack >= known->stacks ||
		    batch->rows[i].label_set >= known->label_sets)
			return false;
	return true;
}

static int add_batch(struct store_shipment *shipment, const struct kind *kind, struct batch *batch)
{
	struct sink_window *window = &shipment->window;
	struct sink_row *rows;
	int err = array_reserve(&shipment->batches, &shipment->batch_cap, window->batch_cnt + 1,
				sizeof(*shipment->batches));

	if (err)
		return err;
	rows = calloc(batch->cnt + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < batch->cnt; i++)
		rows[i] = (struct sink_row){batch->rows[i].stack, batch->rows[i].label_set};
	shipment->batches[window->batch_cnt++] = (struct sink_batch){
		.kind = kind->name,
		.event = kind->event,
		.types = &kind->types,
		.rows = rows,
		.values = take_ptr(batch->values),
		.row_cnt = batch->cnt,
	};
	window->batches = shipment->batches;
	return 0;
}

static int read_batches(struct store *store, struct store_shipment *shipment,
			const struct dict_mark *known)
{
	int err = 0;

	for (size_t i = 0; i < shipment->kinds.cnt && !err; i++) {
		const struct kind *kind = &shipment->kinds.items[i];
		_cleanup_(batch_deinit) struct batch batch;

		err = group_batch(store, &shipment->group, kind, &batch);
		if (!err && !is_within(&batch, known))
			err = -EBADMSG;
		if (!err)
			err = add_batch(shipment, kind, &batch);
		else if (err > 0)
			err = 0;
	}
	return err;
}

/* What the group is as a whole. */
static void take_group(struct store_shipment *shipment)
{
	const struct group *group = &shipment->group;
	struct sink_window *window = &shipment->window;

	window->seq = group->seqs[0];
	window->last_seq = group->last_seq;
	window->prev_seq = group->prev_seq;
	window->start_ns = group->start_ns;
	window->end_ns = group->end_ns;
	window->covered_ns = group->covered_ns;
	window->window_cnt = group->windows;
	window->epoch = group->epoch;
	window->last_epoch = group->last_epoch;
	window->generation = group->generation;
	window->ledger = &group->ledger;
}

/* The group of one window alone: what compaction leaves of one that is damaged. */
static int keep_first(struct store *store, struct store_shipment *shipment)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db, "SELECT " GROUP_COLUMNS " FROM window WHERE seq=?");
	const uint64_t seq = shipment->group.seqs[0];
	int step;

	group_deinit(&shipment->group);
	group_init(&shipment->group);
	db_bind(stmt, 1, seq);
	step = db_step(stmt);
	return step > 0 ? group_add(&shipment->group, stmt) : step < 0 ? step : -EBADMSG;
}

/* How many samples the table says that damaged batches had. */
static int count_lost(struct store *store, struct store_shipment *shipment)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db, "SELECT sum(samples) FROM batch WHERE seq=?");
	int step;

	db_bind(stmt, 1, shipment->group.seqs[0]);
	step = db_step(stmt);
	if (step > 0)
		shipment->window.lost_samples = db_u64(stmt, 0);
	shipment->window.lost = "damaged in the local store";
	return step < 0 ? step : 0;
}

static int fill_windows(struct store *store, struct store_shipment *shipment)
{
	struct generation *generation;
	int err = store_generation(store, shipment->group.generation, &generation);

	if (!err)
		err = read_batches(store, shipment, &generation->dict.saved);
	/* As compaction does it. */
	if ((err == -EBADMSG || err == -E2BIG) && shipment->group.cnt > 1) {
		free_batches(shipment);
		err = keep_first(store, shipment);
		if (!err)
			err = read_batches(store, shipment, &generation->dict.saved);
	}
	if (err == -EBADMSG || err == -E2BIG) {
		free_batches(shipment);
		err = count_lost(store, shipment);
	}
	if (err)
		return err;
	take_group(shipment);
	shipment->window.dict = &generation->dict.prof;
	shipment->window.named = generation->dict.named;
	shipment->window.named_cnt = generation->dict.named_cnt;
	return read_source(store, shipment);
}

/* 1: it is there; 0: it may grow. @cuts: within a transaction that writes, end it here then. */
static int ship_windows(struct store *store, uint64_t cursor, bool cuts,
			struct store_shipment *shipment)
{
	int err = find_group(store, cursor, shipment);

	if (!err)
		err = look_behind(store, shipment);
	if (err)
		return err;
	if (shipment->is_open && !cuts)
		return 0;
	if (shipment->is_open)
		err = note_cut(store, shipment->group.last_seq);
	if (!err)
		err = kinds_read(store, NULL, &shipment->kinds);
	if (!err)
		err = fill_windows(store, shipment);
	return err ? err : 1;
}

/* The first of both that ends after the cursor, within a transaction. */
static int find_next(struct store *store, uint64_t cursor, bool cuts,
		     struct store_shipment *shipment)
{
	_cleanup_stmt_ sqlite3_stmt *tombstone =
		db_prepare(store->db, "SELECT first_seq, last_seq, prev_seq, start_ns, end_ns, "
				      "windows, samples, reason FROM tombstone WHERE last_seq>? "
				      "ORDER BY first_seq LIMIT 1");
	_cleanup_stmt_ sqlite3_stmt *window =
		db_prepare(store->db, "SELECT seq FROM window WHERE seq>? ORDER BY seq LIMIT 1");
	int lost, there;

	db_bind(tombstone, 1, cursor);
	db_bind(window, 1, cursor);
	lost = db_step(tombstone);
	there = db_step(window);
	if (lost < 0 || there < 0)
		return lost < 0 ? lost : there;
	if (lost && (!there || db_u64(tombstone, 0) < db_u64(window, 0))) {
		take_tombstone(shipment, tombstone, cursor);
		return 1;
	}
	return there ? ship_windows(store, cursor, cuts, shipment) : 0;
}

/* In one transaction: a cut belongs to what was read with it. */
static int read_next(struct store *store, uint64_t cursor, bool cuts, struct store_shipment **out)
{
	_guard_(db_rollback) sqlite3 *guard = store->db;
	struct store_shipment *shipment = calloc(1, sizeof(*shipment));
	int err;

	if (!shipment)
		return -ENOMEM;
	group_init(&shipment->group);
	err = db_begin(store->db, cuts);
	if (!err)
		err = find_next(store, cursor, cuts, shipment);
	if (err > 0 && cuts) {
		int committed = db_commit(store->db);

		err = committed ? committed : err;
	}
	if (err > 0)
		*out = shipment;
	else
		store_shipment_free(shipment);
	return err;
}

int store_ship_next(struct store *store, uint64_t cursor, bool is_last, struct store_shipment **out)
{
	int err = read_next(store, cursor, false, out);

	/* Only for the last one, as it keeps others from writing. */
	if (!err && is_last)
		err = read_next(store, cursor, true, out);
	return err < 0 ? store_fail(store, "read", err) : err;
}

/* --- Cursors --- */

static int read_sink(struct store *store, const char *name, struct store_sink *out)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db, "SELECT seq, windows, quarantined FROM sink WHERE name=?");
	int step;

	db_bind_text(stmt, 1, name);
	step = db_step(stmt);
	if (step > 0)
		*out = (struct store_sink){
			.seq = db_u64(stmt, 0),
			.windows = db_u64(stmt, 1),
			.quarantined = db_u64(stmt, 2),
		};
	return step > 0 ? 0 : step < 0 ? step : -ENOENT;
}

int store_sink_use(struct store *store, const char *name, uint64_t now_ns, struct store_sink *out)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db, "INSERT INTO sink(name, seq, seen_ns, windows, quarantined) "
				      "VALUES(?, 0, ?, 0, 0) ON CONFLICT(name) DO UPDATE SET "
				      "seen_ns=max(seen_ns, excluded.seen_ns)");
	struct store_sink sink;
	int err;

	db_bind_text(stmt, 1, name);
	db_bind(stmt, 2, store_time(now_ns));
	err = db_step(stmt);
	if (!err)
		err = read_sink(store, name, &sink);
	if (err)
		return store_fail(store, "write", err);
	if (out)
		*out = sink;
	return 0;
}

int store_sink_lag(struct store *store, uint64_t seq, struct store_lag *out)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db, "SELECT sum(windows), min(end_ns) FROM window WHERE seq>?");
	int step;

	db_bind(stmt, 1, seq);
	step = db_step(stmt);
	if (step < 0)
		return store_fail(store, "read", step);
	*out = (struct store_lag){.windows = db_u64(stmt, 0), .oldest_ns = db_u64(stmt, 1)};
	return 0;
}

int store_sink_acked(struct store *store, const char *name, const struct sink_window *window,
		     uint64_t windows)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db, "UPDATE sink SET windows=windows+?2, seq=?1 WHERE name=?3 "
				      "AND seq<?1");
	int err;

	db_bind(stmt, 1, window->last_seq);
	db_bind(stmt, 2, windows);
	db_bind_text(stmt, 3, name);
	err = db_step(stmt);
	return err ? store_fail(store, "write", err) : 0;
}

static int add_quarantined(struct store *store, const char *name, const struct sink_window *window,
			   uint64_t samples, const char *reason)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db, "INSERT OR IGNORE INTO quarantine(sink, seq, last_seq, "
				      "samples, reason) VALUES(?, ?, ?, ?, ?) RETURNING 1");
	int step;

	db_bind_text(stmt, 1, name);
	db_bind(stmt, 2, window->seq);
	db_bind(stmt, 3, window->last_seq);
	db_bind(stmt, 4, samples);
	db_bind_text(stmt, 5, reason);
	step = db_step(stmt);
	if (step > 0)
		step = db_step(stmt) < 0 ? -EIO : 1;
	return step;
}

int store_sink_quarantine(struct store *store, const char *name, const struct sink_window *window,
			  uint64_t samples, const char *reason)
{
	_guard_(db_rollback) sqlite3 *guard = store->db;
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db, "UPDATE sink SET quarantined=quarantined+? WHERE name=?");
	int err = db_begin(store->db, true);
	bool is_new = false;

	if (!err) {
		int step = add_quarantined(store, name, window, samples, reason);

		is_new = step > 0;
		err = step < 0 ? step : 0;
	}
	db_bind(stmt, 1, window->window_cnt);
	db_bind_text(stmt, 2, name);
	if (!err && is_new)
		err = db_step(stmt);
	if (!err)
		err = db_commit(store->db);
	return err ? store_fail(store, "write", err) : is_new;
}
