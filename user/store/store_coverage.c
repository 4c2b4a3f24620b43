/* SPDX-License-Identifier: Apache-2.0 */
/* What is there: of a range of time, of each kind, of the whole file. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/store_priv.h"

int store_cover(struct store *store, uint64_t from_ns, uint64_t to_ns, struct store_coverage *out)
{
	_cleanup_stmt_ sqlite3_stmt *windows =
		db_prepare(store->db,
			   "SELECT min(w.start_ns), max(w.end_ns), sum(w.windows), "
			   "sum(w.covered_ns) FROM generation AS g CROSS JOIN window AS w ON "
			   "w.generation=g.id WHERE w.start_ns>=? AND w.start_ns<?");
	_cleanup_stmt_ sqlite3_stmt *tombstones = db_prepare(
		store->db,
		"SELECT count(*), sum(samples) FROM tombstone WHERE end_ns>? AND start_ns<?");
	int step;

	db_bind(windows, 1, store_time(from_ns));
	db_bind(windows, 2, store_time(to_ns));
	step = db_step(windows);
	if (step < 0)
		return step;
	*out = (struct store_coverage){
		.first_ns = db_u64(windows, 0),
		.last_ns = db_u64(windows, 1),
		.window_cnt = db_u64(windows, 2),
		.covered_ns = db_u64(windows, 3),
	};
	db_bind(tombstones, 1, store_time(from_ns));
	db_bind(tombstones, 2, store_time(to_ns));
	step = db_step(tombstones);
	if (step < 0)
		return step;
	out->tombstone_cnt = db_u64(tombstones, 0);
	out->tombstone_samples = db_u64(tombstones, 1);
	return 0;
}

int store_coverage(struct store *store, uint64_t from_ns, uint64_t to_ns,
		   struct store_coverage *out)
{
	_guard_(db_rollback) sqlite3 *guard = store->db;
	struct store_coverage coverage;
	int err = db_begin(store->db, false);

	if (!err)
		err = store_cover(store, from_ns, to_ns, &coverage);
	if (err)
		return store_fail(store, "read", err);
	*out = coverage;
	return 0;
}

/* What batches of the kinds called as kinds->items[@first] sum up to in [from, to). */
struct kind_total {
	uint64_t batch_cnt;
	int64_t total;
};

static int sum_kind(struct store *store, uint64_t kind, uint64_t from_ns, uint64_t to_ns,
		    struct kind_total *out)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = db_prepare(
		store->db,
		"SELECT count(*), sum(b.total) FROM generation AS g CROSS JOIN window AS "
		"w ON w.generation=g.id CROSS JOIN batch AS b ON b.seq=w.seq AND b.kind=? "
		"WHERE w.start_ns>=? AND w.start_ns<?");
	int step;

	db_bind(stmt, 1, kind);
	db_bind(stmt, 2, store_time(from_ns));
	db_bind(stmt, 3, store_time(to_ns));
	step = db_step(stmt);
	if (step < 0)
		return step;
	out->batch_cnt += db_u64(stmt, 0);
	out->total = profile_value_sum(out->total, sqlite3_column_int64(stmt, 1));
	return 0;
}

int store_each_kind(struct store *store, uint64_t from_ns, uint64_t to_ns, store_kind_fn *fn,
		    void *arg)
{
	_cleanup_(kinds_deinit) struct kinds kinds = {.cnt = 0};
	const struct kind *kind;
	struct kind_total total;
	int err = kinds_read(store, NULL, &kinds);

	for (size_t i = 0, next; i < kinds.cnt && !err; i = next) {
		kind = &kinds.items[i];
		total = (struct kind_total){.batch_cnt = 0};
		for (next = i;
		     next < kinds.cnt && !strcmp(kinds.items[next].name, kind->name) && !err;
		     next++)
			err = sum_kind(store, kinds.items[next].id, from_ns, to_ns, &total);
		if (err || !total.batch_cnt)
			continue;
		err = fn(arg, kind->name, kind->types.value_types, &kind->types,
			 kind->types.value_type_cnt, kind->types.default_value, total.total);
		if (err)
			return err;
	}
	return err ? store_fail(store, "read", err) : 0;
}

static int kind_sizes(struct store *store, struct store_sizes *out)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db,
			   "SELECT k.name, sum(length(b.blob)), sum(b.rows), "
			   "sum(b.samples) FROM batch AS b JOIN kind AS k ON k.id=b.kind "
			   "GROUP BY k.name ORDER BY k.name");
	struct store_kind_size *size;
	int step;

	while ((step = db_step(stmt)) > 0) {
		if (out->kind_cnt == STORE_KINDS_MAX)
			return -E2BIG;
		size = &out->kinds[out->kind_cnt++];
		snprintf(size->name, sizeof(size->name), "%s",
			 (const char *)sqlite3_column_text(stmt, 0));
		size->bytes = db_u64(stmt, 1);
		size->rows = db_u64(stmt, 2);
		size->samples = db_u64(stmt, 3);
	}
	return step;
}

int store_sizes(struct store *store, struct store_sizes *out)
{
	struct store_sizes sizes = {.kind_cnt = 0};
	uint64_t pages, page_bytes;
	int err = db_number(store->db, "PRAGMA page_count", &pages);

	if (!err)
		err = db_number(store->db, "PRAGMA page_size", &page_bytes);
	if (!err)
		err = db_number(store->db, "SELECT sum(length(ledger)) FROM window",
				&sizes.ledger_bytes);
	if (!err)
		err = db_number(store->db, "SELECT sum(length(blob)) FROM dict",
				&sizes.dictionary_bytes);
	if (!err)
		err = db_number(store->db, "SELECT sum(windows) FROM window", &sizes.window_cnt);
	if (!err)
		err = kind_sizes(store, &sizes);
	if (err)
		return store_fail(store, "read", err);
	sizes.file_bytes = pages * page_bytes;
	*out = sizes;
	return 0;
}
