/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compaction: neighbours in the chain of seqs that began in one minute, of one source and one
 * generation, become one window. It has the seq and prev_seq of the first and the last_seq of the
 * last, so the chain holds; the sum of their ledgers; all their epochs, so that a replayed one is
 * still known; and for each kind the sum of their batches. Chunks of dictionaries become fewer.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "store/blob.h"
#include "store/store_group.h"
#include "store/store_maintain.h"

enum {
	CHUNKS_MIN =
		32, /* that are put together: else the same bytes are written again and again */
	CHUNK_SMALL_BYTES = 256 << 10, /* before compression; larger ones stay */
	CHUNK_BYTES = 1 << 20, /* what they become */
};

#define COMPACT_NS (60 * NSEC_PER_SEC)

static const char next_windows[] =
	"SELECT " GROUP_COLUMNS " FROM window WHERE is_compact=0 AND seq>=? ORDER BY seq";

/* The first windows from *@seq on that may become one, *@seq those after. 0, or negative errno. */
static int find_group(struct store *store, uint64_t before_ns, uint64_t *seq, struct group *out)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = db_prepare(store->db, next_windows);
	int step, err = 0;

	db_bind(stmt, 1, *seq);
	while (!err && (step = db_step(stmt)) > 0) {
		if (db_u64(stmt, 3) >= before_ns) {
			if (out->cnt)
				break;
			continue;
		}
		err = group_add(out, stmt);
		if (!err)
			*seq = db_u64(stmt, 1) + 1;
	}
	if (err < 0)
		return err;
	return step < 0 ? step : 0;
}

static int delete_batches(struct store *store, const struct group *group, uint64_t kind)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db, "DELETE FROM batch WHERE seq>=? AND seq<=? AND kind=?");

	db_bind(stmt, 1, group->seqs[0]);
	db_bind(stmt, 2, group->seqs[group->cnt - 1]);
	db_bind(stmt, 3, kind);
	return db_step(stmt);
}

/* The batches of @kind in @group as one; *@cnt grows where there are any. -EBADMSG: one is damaged.
 */
static int merge_kind(struct store *store, const struct group *group, const struct kind *kind,
		      uint64_t *cnt)
{
	_cleanup_(batch_deinit) struct batch batch;
	int err = group_batch(store, group, kind, &batch);

	if (err)
		return err > 0 ? 0 : err;
	++*cnt;
	err = delete_batches(store, group, kind->id);
	return err ? err
		   : store_write_batch(store, group->seqs[0], kind->id, kind->types.default_value,
				       &batch, BLOB_LEVEL_LATER);
}

static int write_window(struct store *store, const struct group *group, uint64_t batch_cnt)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db,
			   "UPDATE window SET last_seq=?, end_ns=?, covered_ns=?, windows=?, "
			   "last_epoch=?, is_compact=1, batches=?, epochs=?, ledger=? WHERE seq=?");
	_cleanup_(buf_deinit) struct buf ledger;
	int err;

	buf_init(&ledger, BUF_NO_MAX);
	err = store_pack_ledger(&group->ledger, group->seqs[0], BLOB_LEVEL_LATER, &ledger);
	if (err)
		return err;
	db_bind(stmt, 1, group->last_seq);
	db_bind(stmt, 2, group->end_ns);
	db_bind(stmt, 3, group->covered_ns);
	db_bind(stmt, 4, group->windows);
	db_bind(stmt, 5, group->last_epoch);
	db_bind(stmt, 6, batch_cnt);
	db_bind_blob(stmt, 7, group->epochs.data, group->epochs.len);
	db_bind_blob(stmt, 8, ledger.data, ledger.len);
	db_bind(stmt, 9, group->seqs[0]);
	return db_step(stmt);
}

static int delete_members(struct store *store, const struct group *group)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db, "DELETE FROM window WHERE seq>? AND seq<=?");

	db_bind(stmt, 1, group->seqs[0]);
	db_bind(stmt, 2, group->seqs[group->cnt - 1]);
	return db_step(stmt);
}

/* The first window of a group that cannot become one stays as it is, and is not looked at again. */
static int leave_first(struct store *store, const struct group *group)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db, "UPDATE window SET is_compact=1 WHERE seq=?");

	db_bind(stmt, 1, group->seqs[0]);
	return db_step(stmt);
}

/* *@seq: where the next group begins. */
static int merge_group(struct store *store, const struct group *group, const struct kinds *kinds,
		       uint64_t *seq)
{
	_guard_(db_rollback) sqlite3 *guard = store->db;
	int err = group->is_damaged ? -EBADMSG : db_begin(store->db, true);
	uint64_t batch_cnt = 0;

	for (size_t i = 0; i < kinds->cnt && !err; i++)
		err = merge_kind(store, group, &kinds->items[i], &batch_cnt);
	if (!err)
		err = delete_members(store, group);
	if (!err)
		err = write_window(store, group, batch_cnt);
	if (!err)
		return db_commit(store->db);
	if (err != -EBADMSG && err != -E2BIG)
		return err;
	db_rollback(&guard);
	*seq = group->seqs[0] + 1;
	return leave_first(store, group);
}

int store_compact_step(struct store *store, const struct kinds *kinds, uint64_t before_ns,
		       uint64_t *seq)
{
	_cleanup_(group_deinit) struct group group;
	/* Whole minutes. */
	const uint64_t minute_ns = before_ns / COMPACT_NS * COMPACT_NS;
	int err;

	group_init(&group);
	err = find_group(store, minute_ns, seq, &group);
	if (!err && group.cnt)
		err = merge_group(store, &group, kinds, seq);
	return err ? err : group.cnt > 0;
}

/* Chunks that become one. */
struct chunks {
	struct buf raw;
	uint64_t generation, first_nr, last_nr;
	size_t cnt;
};

/* The first run of small chunks of a generation that is long enough. 0 or negative errno. */
static int find_chunks(struct store *store, struct chunks *out)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = db_prepare(
		store->db, "SELECT generation, nr, raw_bytes FROM dict ORDER BY generation, nr");
	uint64_t bytes = 0;
	int step;

	while ((step = db_step(stmt)) > 0) {
		const uint64_t generation = db_u64(stmt, 0), raw_bytes = db_u64(stmt, 2);

		if (out->cnt && (generation != out->generation || raw_bytes > CHUNK_SMALL_BYTES ||
				 bytes + raw_bytes > CHUNK_BYTES)) {
			if (out->cnt >= CHUNKS_MIN)
				break;
			out->cnt = 0;
		}
		if (raw_bytes > CHUNK_SMALL_BYTES)
			continue;
		if (!out->cnt++) {
			out->first_nr = db_u64(stmt, 1);
			out->generation = generation;
			bytes = 0;
		}
		out->last_nr = db_u64(stmt, 1);
		bytes += raw_bytes;
	}
	if (out->cnt < CHUNKS_MIN)
		out->cnt = 0;
	return step < 0 ? step : 0;
}

/* Their payloads, one behind the other. */
static int join_chunks(struct store *store, struct chunks *chunks)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = db_prepare(
		store->db,
		"SELECT nr, blob FROM dict WHERE generation=? AND nr>=? AND nr<=? ORDER BY nr");
	int step, err = 0;

	db_bind(stmt, 1, chunks->generation);
	db_bind(stmt, 2, chunks->first_nr);
	db_bind(stmt, 3, chunks->last_nr);
	while (!err && (step = db_step(stmt)) > 0)
		err = blob_unpack(sqlite3_column_blob(stmt, 1),
				  (size_t)sqlite3_column_bytes(stmt, 1),
				  blob_place(BLOB_DICT, chunks->generation, db_u64(stmt, 0)),
				  &chunks->raw);
	return err ? err : step;
}

static int replace_chunks(struct store *store, const struct chunks *chunks)
{
	_cleanup_stmt_ sqlite3_stmt *drop =
		db_prepare(store->db, "DELETE FROM dict WHERE generation=? AND nr>=? AND nr<?");
	_cleanup_stmt_ sqlite3_stmt *put =
		db_prepare(store->db, "UPDATE dict SET raw_bytes=?, blob=? WHERE nr=?");
	_cleanup_(buf_deinit) struct buf packed;
	int err;

	buf_init(&packed, BUF_NO_MAX);
	err = blob_pack(&chunks->raw, blob_place(BLOB_DICT, chunks->generation, chunks->last_nr),
			BLOB_LEVEL_LATER, &packed);
	if (err)
		return err;
	db_bind(drop, 1, chunks->generation);
	db_bind(drop, 2, chunks->first_nr);
	db_bind(drop, 3, chunks->last_nr);
	err = db_step(drop);
	if (err)
		return err;
	db_bind(put, 1, chunks->raw.len);
	db_bind_blob(put, 2, packed.data, packed.len);
	db_bind(put, 3, chunks->last_nr);
	return db_step(put);
}

int store_compact_dict(struct store *store)
{
	_guard_(db_rollback) sqlite3 *guard = store->db;
	struct chunks chunks = {.cnt = 0};
	int err = db_begin(store->db, true);

	buf_init(&chunks.raw, BUF_NO_MAX);
	if (!err)
		err = find_chunks(store, &chunks);
	if (!err && chunks.cnt) {
		err = join_chunks(store, &chunks);
		if (!err)
			err = replace_chunks(store, &chunks);
		if (!err)
			err = db_commit(store->db);
		/* Reads tell of it. */
		if (err == -EBADMSG)
			err = chunks.cnt = 0;
	}
	buf_deinit(&chunks.raw);
	return err ? err : chunks.cnt > 0;
}
