/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storing a window. What the dictionary lacks is added to it in memory first; then dictionary
 * chunk, window, ledger and batches are one transaction. Where that fails, what is new in memory is
 * written with the next window: entries that no batch names do no harm.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "profile/profile_import.h"
#include "store/blob.h"
#include "store/store_priv.h"
#include "store/varint.h"

/* A window on its way. */
struct adding {
	const struct store_window *window;
	uint64_t seq, prev_seq;
	struct batch batches[STORE_KINDS_MAX];
};

static void adding_deinit(struct adding *adding)
{
	for (size_t i = 0; i < STORE_KINDS_MAX; i++)
		batch_deinit(&adding->batches[i]);
}

/* Has sample @values a value of @kind? */
static bool has_value(const struct store_kind *kind, const int64_t *values)
{
	for (uint32_t i = 0; i < kind->column_cnt; i++)
		if (values[kind->columns[i]])
			return true;
	return false;
}

static int add_sample(struct adding *adding, struct profile_import *import, size_t index)
{
	const struct store_window *window = adding->window;
	const struct profile_sample *sample = &window->prof->samples[index];
	const int64_t *values = window->prof->values + index * window->prof->value_type_cnt;
	struct batch_row row = {.stack = PROFILE_NONE};
	int err = 0;

	for (size_t i = 0; i < window->kind_cnt && !err; i++) {
		if (!has_value(&window->kinds[i], values))
			continue;
		if (row.stack == PROFILE_NONE) {
			row.stack = profile_import_stack(import, sample->stack);
			row.label_set = profile_import_label_set(import, sample->label_set);
		}
		if (import->dst->err)
			return import->dst->err;
		err = batch_add(&adding->batches[i], row, values, window->kinds[i].columns);
	}
	return err;
}

struct sample_at {
	uint32_t label_set;
	size_t index;
};

static int compare_label_sets(const void *left_ptr, const void *right_ptr)
{
	const struct sample_at *left = left_ptr, *right = right_ptr;

	if (left->label_set != right->label_set)
		return left->label_set < right->label_set ? -1 : 1;
	return (left->index > right->index) - (left->index < right->index);
}

/* The samples of @prof, label set by label set, so that stacks that are new get neighbouring
 * numbers where they have the same: they are rows side by side, whose label sets then take no
 * bytes. *Owned*; NULL when memory is out. */
static struct sample_at *by_label_set(const struct profile *prof)
{
	struct sample_at *samples = calloc(prof->sample_cnt + 1, sizeof(*samples));

	for (size_t i = 0; samples && i < prof->sample_cnt; i++)
		samples[i] = (struct sample_at){prof->samples[i].label_set, i};
	if (samples)
		qsort(samples, prof->sample_cnt, sizeof(*samples), compare_label_sets);
	return samples;
}

/* The window's samples as batches, in numbers of the writer's dictionary. */
static int make_batches(struct store *store, struct adding *adding)
{
	const struct store_window *window = adding->window;
	_cleanup_free_ struct sample_at *samples = by_label_set(window->prof);
	struct profile_import import;
	int err;

	if (!samples)
		return -ENOMEM;
	err = profile_import_init(&import, &store->current.dict.prof, window->prof);
	if (err)
		return err;
	for (size_t i = 0; i < window->kind_cnt; i++)
		batch_init(&adding->batches[i], window->kinds[i].column_cnt);
	for (size_t i = 0; i < window->prof->sample_cnt && !err; i++)
		err = add_sample(adding, &import, samples[i].index);
	for (size_t i = 0; i < window->kind_cnt && !err; i++)
		err = batch_sort(&adding->batches[i]);
	profile_import_deinit(&import);
	return err;
}

int store_write_batch(struct store *store, uint64_t seq, uint64_t kind, uint32_t default_column,
		      const struct batch *batch, int level)
{
	_cleanup_(buf_deinit) struct buf raw;
	_cleanup_(buf_deinit) struct buf packed;
	_cleanup_(buf_deinit) struct buf sums;
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int err;

	buf_init(&raw, BUF_NO_MAX);
	buf_init(&packed, BUF_NO_MAX);
	buf_init(&sums, BUF_NO_MAX);
	for (uint32_t i = 0; i < batch->column_cnt; i++)
		add_signed(&sums, batch_sum(batch, i));
	batch_encode(batch, &raw);
	err = blob_pack(&raw, blob_place(BLOB_BATCH, seq, kind), level, &packed);
	if (err || sums.err)
		return err ? err : sums.err;
	stmt = db_prepare(store->db,
			  "INSERT INTO batch(seq, kind, rows, samples, total, sums, blob) "
			  "VALUES(?, ?, ?, ?, ?, ?, ?)");
	db_bind(stmt, 1, seq);
	db_bind(stmt, 2, kind);
	db_bind(stmt, 3, batch->cnt);
	db_bind(stmt, 4, (uint64_t)batch_sum(batch, 0));
	db_bind(stmt, 5, (uint64_t)batch_sum(batch, default_column));
	db_bind_blob(stmt, 6, sums.data, sums.len);
	db_bind_blob(stmt, 7, packed.data, packed.len);
	return db_step(stmt);
}

/* The number of (boot, instance), made where it is new. */
static int source_id(struct store *store, const struct store_origin *origin, bool make,
		     uint64_t *out)
{
	static const char *const sqls[] = {
		"SELECT id FROM source WHERE boot_id=? AND instance=?",
		"INSERT INTO source(boot_id, instance) VALUES(?, ?) RETURNING id",
	};
	int step = 0;

	for (int i = 0; i < (make ? 2 : 1) && !step; i++) {
		_cleanup_stmt_ sqlite3_stmt *stmt = db_prepare(store->db, sqls[i]);

		db_bind_text(stmt, 1, origin->boot_id);
		db_bind(stmt, 2, origin->instance);
		step = db_step(stmt);
		if (step > 0)
			*out = db_u64(stmt, 0);
	}
	if (step < 0)
		return step;
	return step ? 0 : -ENOENT;
}

static int write_window(struct store *store, const struct adding *adding)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	_cleanup_(buf_deinit) struct buf ledger;
	const struct store_window *window = adding->window;
	uint64_t source, batch_cnt = 0;
	int err = source_id(store, &window->origin, true, &source);

	for (size_t i = 0; i < window->kind_cnt; i++)
		batch_cnt += adding->batches[i].cnt > 0;
	buf_init(&ledger, BUF_NO_MAX);
	if (!err)
		err = store_pack_ledger(window->ledger, adding->seq, BLOB_LEVEL_NOW, &ledger);
	if (err)
		return err;
	stmt = db_prepare(store->db,
			  "INSERT INTO window(seq, last_seq, prev_seq, start_ns, end_ns, "
			  "covered_ns, windows, source, epoch, last_epoch, generation, is_compact, "
			  "batches, ledger) VALUES(?1, ?1, ?2, ?3, ?4, ?4 - ?3, 1, ?5, ?6, ?6, ?7, "
			  "0, ?8, ?9)");
	db_bind(stmt, 1, adding->seq);
	db_bind(stmt, 2, adding->prev_seq);
	db_bind(stmt, 3, window->start_ns);
	db_bind(stmt, 4, window->end_ns);
	db_bind(stmt, 5, source);
	db_bind(stmt, 6, window->origin.epoch);
	db_bind(stmt, 7, store->current.id);
	db_bind(stmt, 8, batch_cnt);
	db_bind_blob(stmt, 9, ledger.data, ledger.len);
	return db_step(stmt);
}

static int write_batches(struct store *store, struct adding *adding)
{
	const struct store_window *window = adding->window;
	uint64_t kind;
	int err = 0;

	for (size_t i = 0; i < window->kind_cnt && !err; i++) {
		if (!adding->batches[i].cnt)
			continue;
		err = kind_id(store, &window->kinds[i], window->prof, &kind);
		if (!err)
			err = store_write_batch(store, adding->seq, kind,
						window->kinds[i].default_column,
						&adding->batches[i], BLOB_LEVEL_NOW);
	}
	return err;
}

/* All of it, as one transaction. */
static int write_all(struct store *store, struct adding *adding)
{
	_guard_(db_rollback) sqlite3 *guard = store->db;
	int err = db_begin(store->db, true);

	if (!err)
		err = store_write_dict(store);
	if (!err)
		err = write_window(store, adding);
	if (!err)
		err = write_batches(store, adding);
	if (!err)
		err = db_commit(store->db);
	if (!err)
		store_current_saved(store);
	return err;
}

/* Is @window one that we can store? */
static bool is_valid(const struct store_window *window)
{
	if (window->kind_cnt > STORE_KINDS_MAX || window->end_ns < window->start_ns ||
	    window->end_ns > INT64_MAX || window->origin.epoch > INT64_MAX)
		return false;
	for (size_t i = 0; i < window->kind_cnt; i++) {
		const struct store_kind *kind = &window->kinds[i];

		if (!kind->column_cnt || kind->column_cnt > PROFILE_VALUES_MAX ||
		    kind->default_column >= kind->column_cnt)
			return false;
		for (uint32_t j = 0; j < kind->column_cnt; j++)
			if (kind->columns[j] >= window->prof->value_type_cnt)
				return false;
	}
	return true;
}

static uint64_t next_seq(const struct store *store, uint64_t start_ns)
{
	const uint64_t second = start_ns / NSEC_PER_SEC;

	return second > store->last_seq ? second : store->last_seq + 1;
}

static int add_window(struct store *store, struct adding *adding)
{
	int err = store_current(store, adding->window->start_ns);

	if (!err)
		err = make_batches(store, adding);
	if (!err)
		err = write_all(store, adding);
	/* What could not be brought into memory would be missing for good. */
	if (store->current.dict.prof.err)
		store_drop_current(store);
	return err;
}

int store_add(struct store *store, const struct store_window *window, uint64_t *seq_out)
{
	_cleanup_(adding_deinit) struct adding adding = {.window = window};
	int err;

	if (store->mode != STORE_WRITE || !is_valid(window))
		return store_fail(store, "write", -EINVAL);
	if (store_has_origin(store, &window->origin))
		return -EEXIST;
	adding.seq = next_seq(store, window->start_ns);
	adding.prev_seq = store->last_seq;
	err = add_window(store, &adding);
	if (err)
		return store_fail(store, "write", err);
	store->last_seq = adding.seq;
	if (seq_out)
		*seq_out = adding.seq;
	return 0;
}

/* Is @epoch among those of a window that was put together? Each is the difference to the one
 * before. */
static bool has_epoch(sqlite3_stmt *stmt, uint64_t first, uint64_t epoch)
{
	struct reader rd;

	reader_init(&rd, sqlite3_column_blob(stmt, 1), (size_t)sqlite3_column_bytes(stmt, 1));
	while (first != epoch && !reader_done(&rd))
		first += reader_uleb128(&rd);
	return first == epoch;
}

bool store_has_origin(struct store *store, const struct store_origin *origin)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	uint64_t source;

	if (source_id(store, origin, false, &source))
		return false;
	stmt = db_prepare(store->db,
			  "SELECT epoch, epochs, last_epoch FROM window WHERE source=? AND "
			  "epoch<=? ORDER BY epoch DESC LIMIT 1");
	db_bind(stmt, 1, source);
	db_bind(stmt, 2, origin->epoch);
	return db_step(stmt) > 0 && db_u64(stmt, 2) >= origin->epoch &&
	       has_epoch(stmt, db_u64(stmt, 0), origin->epoch);
}

int store_add_tombstone(struct store *store, uint64_t start_ns, uint64_t end_ns,
			uint64_t window_cnt, uint64_t sample_cnt, const char *reason)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db,
			   "INSERT INTO tombstone(first_seq, last_seq, prev_seq, start_ns, end_ns, "
			   "windows, samples, reason) VALUES(?1, ?1, ?2, ?3, ?4, ?5, ?6, ?7)");
	const uint64_t seq = next_seq(store, start_ns);
	int err;

	db_bind(stmt, 1, seq);
	db_bind(stmt, 2, store->last_seq);
	db_bind(stmt, 3, store_time(start_ns));
	db_bind(stmt, 4, store_time(end_ns));
	db_bind(stmt, 5, window_cnt);
	db_bind(stmt, 6, sample_cnt);
	db_bind_text(stmt, 7, reason);
	err = db_step(stmt);
	if (err)
		return store_fail(store, "write", err);
	store->last_seq = seq;
	return 0;
}
