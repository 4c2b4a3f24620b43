/* SPDX-License-Identifier: Apache-2.0 */
/* What is there: of a range of time, of each kind, of the whole file. */
#include <errno.h>
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
	_cleanup_(db_rollback) sqlite3 *guard = store->db;
	struct store_coverage coverage;
	int err = db_begin(store->db, false);

	if (!err)
		err = store_cover(store, from_ns, to_ns, &coverage);
	if (err)
		return store_fail(store, "read", err);
	*out = coverage;
	return 0;
}
