/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compaction: neighbours in the chain of seqs that began in one minute, of one source and one
 * generation, become one window. It has the seq and prev_seq of the first and the last_seq of the
 * last, so the chain holds; the sum of their ledgers; all their epochs, so that a replayed one is
 * still known; and for each kind the sum of their batches. Chunks of dictionaries become fewer.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "store/blob.h"
#include "store/store_maintain.h"
#include "store/varint.h"

enum {
	GROUP_MAX = 1024, /* windows that become one */
	CHUNKS_MIN =
		32, /* that are put together: else the same bytes are written again and again */
	CHUNK_SMALL_BYTES = 256 << 10, /* before compression; larger ones stay */
	CHUNK_BYTES = 1 << 20, /* what they become */
};

#define COMPACT_NS (60 * NSEC_PER_SEC)

/* Windows that become one. */
struct group {
	uint64_t *seqs; /* owned */
	size_t cnt, cap;
	uint64_t last_seq, minute, source, generation;
	uint64_t last_epoch, end_ns, covered_ns, windows;
	uint64_t batches; /* that are left */
	struct buf epochs; /* differences, each to the one before */
	struct ledger ledger;
	bool is_damaged; /* its last window's ledger cannot be read */
};

static void group_deinit(struct group *group)
{
	free(group->seqs);
	buf_deinit(&group->epochs);
	ledger_deinit(&group->ledger);
}

static const char next_windows[] =
	"SELECT seq, last_seq, prev_seq, start_ns, end_ns, covered_ns, windows, source, epoch, "
	"last_epoch, generation, epochs, ledger FROM window WHERE is_compact=0 AND seq>=? ORDER BY "
	"seq";

/* Does the window of @stmt follow on those of @group? */
static bool follows(const struct group *group, sqlite3_stmt *stmt)
{
	return db_u64(stmt, 2) == group->last_seq &&
	       db_u64(stmt, 3) / COMPACT_NS == group->minute && db_u64(stmt, 7) == group->source &&
	       db_u64(stmt, 10) == group->generation && db_u64(stmt, 8) > group->last_epoch;
}

/* Its ledger into the sum. -E2BIG and -EBADMSG: it stays on its own. */
static int add_ledger(struct group *group, sqlite3_stmt *stmt)
{
	_cleanup_(ledger_deinit) struct ledger one;
	int err;

	ledger_init(&one);
	err = store_unpack_ledger(sqlite3_column_blob(stmt, 12),
				  (size_t)sqlite3_column_bytes(stmt, 12), db_u64(stmt, 0), &one);
	return err ? err : ledger_merge(&group->ledger, &one);
}

/* The window of @stmt into @group: 0; 1: the group ends before it; or negative errno. */
static int add_member(struct group *group, sqlite3_stmt *stmt)
{
	int err;

	if (group->cnt && (group->is_damaged || group->cnt == GROUP_MAX || !follows(group, stmt)))
		return 1;
	err = array_reserve(&group->seqs, &group->cap, group->cnt + 1, sizeof(*group->seqs));
	if (!err)
		err = add_ledger(group, stmt);
	if (err == -E2BIG || err == -EBADMSG) {
		if (group->cnt)
			return 1;
		group->is_damaged = true;
		err = 0;
	}
	if (err)
		return err;
	if (group->cnt)
		pb_add_varint(&group->epochs, db_u64(stmt, 8) - group->last_epoch);
	buf_add(&group->epochs, sqlite3_column_blob(stmt, 11),
		(size_t)sqlite3_column_bytes(stmt, 11));
	group->seqs[group->cnt++] = db_u64(stmt, 0);
	group->last_seq = db_u64(stmt, 1);
	group->minute = db_u64(stmt, 3) / COMPACT_NS;
	group->end_ns = db_u64(stmt, 4) > group->end_ns ? db_u64(stmt, 4) : group->end_ns;
	group->covered_ns += db_u64(stmt, 5);
	group->windows += db_u64(stmt, 6);
	group->source = db_u64(stmt, 7);
	group->last_epoch = db_u64(stmt, 9);
	group->generation = db_u64(stmt, 10);
	return group->epochs.err;
}

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
		err = add_member(out, stmt);
		if (!err)
			*seq = db_u64(stmt, 1) + 1;
	}
	if (err < 0)
		return err;
	return step < 0 ? step : 0;
}

/* The rows of the batch of (@seq, @kind) into @out. 0, 1: there is none, -EBADMSG, ... */
static int add_batch(struct store *store, uint64_t seq, uint64_t kind, struct batch *out)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db, "SELECT blob FROM batch WHERE seq=? AND kind=?");
	_cleanup_(buf_deinit) struct buf raw;
	struct reader rd;
	int step, err;

	buf_init(&raw, BUF_NO_MAX);
	db_bind(stmt, 1, seq);
	db_bind(stmt, 2, kind);
	step = db_step(stmt);
	if (step <= 0)
		return step < 0 ? step : 1;
	err = blob_unpack(sqlite3_column_blob(stmt, 0), (size_t)sqlite3_column_bytes(stmt, 0),
			  blob_place(BLOB_BATCH, seq, kind), &raw);
	reader_init(&rd, raw.data, raw.len);
	return err ? err : batch_decode(&rd, UINT32_MAX, UINT32_MAX, out);
}

static int delete_batch(struct store *store, uint64_t seq, uint64_t kind)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db, "DELETE FROM batch WHERE seq=? AND kind=?");

	db_bind(stmt, 1, seq);
	db_bind(stmt, 2, kind);
	return db_step(stmt);
}

/* The batches of @kind in @group as one. -EBADMSG: one is damaged. */
static int merge_kind(struct store *store, struct group *group, const struct kind *kind)
{
	struct batch batch;
	bool any = false;
	int err = 0;

	batch_init(&batch, kind->types.value_type_cnt);
	for (size_t i = 0; i < group->cnt && err >= 0; i++) {
		err = add_batch(store, group->seqs[i], kind->id, &batch);
		if (err)
			continue;
		any = true;
		err = delete_batch(store, group->seqs[i], kind->id);
	}
	if (err > 0)
		err = 0;
	group->batches += any;
	if (!err && any)
		err = batch_sort(&batch);
	if (!err && any)
		err = store_write_batch(store, group->seqs[0], kind->id, kind->types.default_value,
					&batch, BLOB_LEVEL_LATER);
	batch_deinit(&batch);
	return err;
}

static int write_window(struct store *store, const struct group *group)
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
	db_bind(stmt, 6, group->batches);
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

/* @group as it is: what is damaged is not touched, and not looked at again. */
static int leave_group(struct store *store, const struct group *group)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db, "UPDATE window SET is_compact=1 WHERE seq>=? AND seq<=?");

	db_bind(stmt, 1, group->seqs[0]);
	db_bind(stmt, 2, group->seqs[group->cnt - 1]);
	return db_step(stmt);
}

static int merge_group(struct store *store, struct group *group, const struct kinds *kinds)
{
	_guard_(db_rollback) sqlite3 *guard = store->db;
	int err = group->is_damaged ? -EBADMSG : db_begin(store->db, true);

	for (size_t i = 0; i < kinds->cnt && !err; i++)
		err = merge_kind(store, group, &kinds->items[i]);
	if (!err)
		err = delete_members(store, group);
	if (!err)
		err = write_window(store, group);
	if (!err)
		return db_commit(store->db);
	if (err != -EBADMSG && err != -E2BIG)
		return err;
	db_rollback(&guard);
	return leave_group(store, group);
}

int store_compact_step(struct store *store, const struct kinds *kinds, uint64_t before_ns,
		       uint64_t *seq)
{
	_cleanup_(group_deinit) struct group group = {.cnt = 0};
	/* Whole minutes. */
	const uint64_t minute_ns = before_ns / COMPACT_NS * COMPACT_NS;
	int err;

	ledger_init(&group.ledger);
	buf_init(&group.epochs, BUF_NO_MAX);
	err = find_group(store, minute_ns, seq, &group);
	if (!err && group.cnt)
		err = merge_group(store, &group, kinds);
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
