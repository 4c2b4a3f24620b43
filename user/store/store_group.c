/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_group.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "store/blob.h"
#include "store/varint.h"

enum { GROUP_MAX = 1024 /* windows that become one */ };

#define GROUP_NS (60 * NSEC_PER_SEC)

void group_init(struct group *group)
{
	*group = (struct group){.cnt = 0};
	ledger_init(&group->ledger);
	buf_init(&group->epochs, BUF_NO_MAX);
}

void group_deinit(struct group *group)
{
	free(group->seqs);
	buf_deinit(&group->epochs);
	ledger_deinit(&group->ledger);
}

/* Does the window of @stmt follow on those of @group? */
static bool follows(const struct group *group, sqlite3_stmt *stmt)
{
	return !group->is_damaged && !group->is_compact && group->cnt < GROUP_MAX &&
	       !db_u64(stmt, 13) && !db_u64(stmt, 14) && db_u64(stmt, 2) == group->last_seq &&
	       db_u64(stmt, 3) / GROUP_NS == group->minute && db_u64(stmt, 7) == group->source &&
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

static void take_first(struct group *group, sqlite3_stmt *stmt)
{
	group->prev_seq = db_u64(stmt, 2);
	group->start_ns = db_u64(stmt, 3);
	group->minute = group->start_ns / GROUP_NS;
	group->source = db_u64(stmt, 7);
	group->epoch = db_u64(stmt, 8);
	group->generation = db_u64(stmt, 10);
	group->is_compact = db_u64(stmt, 13);
}

int group_add(struct group *group, sqlite3_stmt *stmt)
{
	int err;

	if (group->cnt && !follows(group, stmt))
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
	else
		take_first(group, stmt);
	buf_add(&group->epochs, sqlite3_column_blob(stmt, 11),
		(size_t)sqlite3_column_bytes(stmt, 11));
	group->seqs[group->cnt++] = db_u64(stmt, 0);
	group->last_seq = db_u64(stmt, 1);
	group->end_ns = db_u64(stmt, 4) > group->end_ns ? db_u64(stmt, 4) : group->end_ns;
	group->covered_ns += db_u64(stmt, 5);
	group->windows += db_u64(stmt, 6);
	group->last_epoch = db_u64(stmt, 9);
	return group->epochs.err;
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

/*
 * The time on the CPU is measured, for each label set; the samples, one a period, say which stacks
 * it belongs to. What was windows is one now: its samples share the time that its label sets had.
 */
static int spread_time(const struct profile *types, struct batch *batch)
{
	int err = 0;

	for (uint32_t i = 1; i < types->value_type_cnt && types->period > 0 && !err; i++)
		if (types->value_types[i].type == types->period_type.type &&
		    types->value_types[i].unit == types->period_type.unit)
			err = batch_spread(batch, i, 0);
	return err;
}

int group_batch(struct store *store, const struct group *group, const struct kind *kind,
		struct batch *out)
{
	bool any = false;
	int err = 0;

	batch_init(out, kind->types.value_type_cnt);
	for (size_t i = 0; i < group->cnt && err >= 0; i++) {
		err = add_batch(store, group->seqs[i], kind->id, out);
		any |= !err;
	}
	if (err < 0)
		return err;
	if (!any)
		return 1;
	err = batch_sort(out);
	return err ? err : spread_time(&kind->types, out);
}
