/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the batches of a range of time. */
#include <errno.h>

#include "base/cleanup.h"
#include "store/blob.h"
#include "store/store_priv.h"

struct scan {
	struct store *store;
	const struct store_query *query;
	const struct kinds *kinds;
	scan_fn *fn;
	void *arg;
	uint64_t *damaged;
	struct buf raw; /* scratch */
	struct batch batch; /* scratch */
};

static int read_batch(struct scan *scan, sqlite3_stmt *stmt, const struct scan_batch *found,
		      uint64_t kind)
{
	const struct dict_mark *known = &found->generation->dict.saved;
	struct reader rd;
	int err;

	buf_reset(&scan->raw);
	scan->batch.cnt = 0;
	err = blob_unpack(sqlite3_column_blob(stmt, 2), (size_t)sqlite3_column_bytes(stmt, 2),
			  blob_place(BLOB_BATCH, found->seq, kind), &scan->raw);
	if (err)
		return err;
	reader_init(&rd, scan->raw.data, scan->raw.len);
	return batch_decode(&rd, known->stacks, known->label_sets, &scan->batch);
}

static int scan_kind(struct scan *scan, const struct generation *generation, size_t kind_index)
{
	const struct kind *kind = &scan->kinds->items[kind_index];
	_cleanup_stmt_ sqlite3_stmt *stmt = db_prepare(
		scan->store->db,
		"SELECT w.seq, w.start_ns, b.blob FROM window AS w CROSS JOIN batch AS b ON "
		"b.seq=w.seq AND b.kind=? WHERE w.generation=? AND w.start_ns>=? AND w.start_ns<?");
	struct scan_batch found = {
		.generation = generation,
		.kind = kind_index,
		.batch = &scan->batch,
	};
	int step, err;

	scan->batch.column_cnt = kind->types.value_type_cnt;
	db_bind(stmt, 1, kind->id);
	db_bind(stmt, 2, generation->id);
	db_bind(stmt, 3, store_time(scan->query->from_ns));
	db_bind(stmt, 4, store_time(scan->query->to_ns));
	while ((step = db_step(stmt)) > 0) {
		found.seq = db_u64(stmt, 0);
		found.start_ns = db_u64(stmt, 1);
		err = read_batch(scan, stmt, &found, kind->id);
		if (err == -EBADMSG) {
			++*scan->damaged;
			continue;
		}
		if (!err)
			err = scan->fn(scan->arg, &found);
		if (err)
			return err;
	}
	return step;
}

/* Has generation @id windows in the range? */
static int has_windows(struct scan *scan, uint64_t id)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(scan->store->db, "SELECT 1 FROM window WHERE generation=? AND "
					    "start_ns>=? AND start_ns<? LIMIT 1");

	db_bind(stmt, 1, id);
	db_bind(stmt, 2, store_time(scan->query->from_ns));
	db_bind(stmt, 3, store_time(scan->query->to_ns));
	return db_step(stmt);
}

static int scan_generation(struct scan *scan, uint64_t id)
{
	struct generation *generation;
	int err = has_windows(scan, id);

	if (err <= 0)
		return err;
	err = store_generation(scan->store, id, &generation);
	for (size_t i = 0; i < scan->kinds->cnt && !err; i++)
		err = scan_kind(scan, generation, i);
	return err;
}

int store_scan(struct store *store, const struct store_query *query, const struct kinds *kinds,
	       scan_fn *fn, void *arg, uint64_t *damaged)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db, "SELECT id FROM generation ORDER BY id");
	struct scan scan = {
		.store = store,
		.query = query,
		.kinds = kinds,
		.fn = fn,
		.arg = arg,
		.damaged = damaged,
	};
	int step = 0, err = 0;

	buf_init(&scan.raw, BUF_NO_MAX);
	batch_init(&scan.batch, 0);
	while (!err && (step = db_step(stmt)) > 0)
		err = scan_generation(&scan, db_u64(stmt, 0));
	buf_deinit(&scan.raw);
	batch_deinit(&scan.batch);
	return err ? err : step;
}
