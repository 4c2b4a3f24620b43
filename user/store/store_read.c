/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A range of time as one profile. Samples of a generation are first added up by their numbers
 * there, which costs a look-up each; what is left, once for each stack and label set, is brought
 * into the profile.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hmap.h"
#include "profile/profile_import.h"
#include "store/store_priv.h"

struct sum_row {
	uint32_t stack; /* of the generation */
	uint32_t label_set; /* of the profile */
};

struct reading {
	const struct store_query *query;
	const struct kinds *kinds;
	kind_values *value_at; /* of each kind */
	struct profile *out;
	/* Of one generation */
	uint64_t id;
	const struct dict *dict;
	struct label_map labels;
	struct hmap index;
	uint32_t *last; /* owned: of each stack, the row that was asked for last, or HMAP_NONE */
	struct sum_row *rows; /* owned */
	int64_t *values; /* owned: out->value_type_cnt of each row */
	size_t cnt, cap, value_cap;
};

static void reading_deinit(struct reading *reading)
{
	label_map_deinit(&reading->labels);
	hmap_deinit(&reading->index);
	free(reading->last);
	free(reading->rows);
	free(reading->values);
}

/* The hash is the row: hash_mix() of 0 is one to one. */
static bool is_row(const void *owner, uint32_t index, const void *key)
{
	return true;
}

/*
 * The values of (@stack, @label_set); NULL: no memory. Most stacks have one label set, and those of
 * a batch are in order: asking the row of last time first spares most of the look-ups.
 */
static int64_t *sums_of(struct reading *reading, uint32_t stack, uint32_t label_set)
{
	const uint32_t columns = reading->out->value_type_cnt;
	uint32_t at = reading->last[stack];
	uint64_t hash;

	if (at != HMAP_NONE && reading->rows[at].label_set == label_set)
		return reading->values + (size_t)at * columns;
	hash = hash_mix(0, (uint64_t)stack << 32 | label_set);
	at = hmap_find(&reading->index, hash, is_row, reading, NULL);
	if (at != HMAP_NONE) {
		reading->last[stack] = at;
		return reading->values + (size_t)at * columns;
	}
	at = (uint32_t)reading->cnt;
	if (at == HMAP_NONE ||
	    array_reserve(&reading->rows, &reading->cap, (size_t)at + 1, sizeof(*reading->rows)) ||
	    array_reserve(&reading->values, &reading->value_cap, ((size_t)at + 1) * columns,
			  sizeof(*reading->values)) ||
	    hmap_insert(&reading->index, hash, at))
		return NULL;
	reading->rows[at] = (struct sum_row){.stack = stack, .label_set = label_set};
	reading->last[stack] = at;
	reading->cnt++;
	return memset(reading->values + (size_t)at * columns, 0, columns * sizeof(int64_t));
}

/* What was added up of a generation into the profile. */
static int flush(struct reading *reading)
{
	struct profile_import import;
	int err;

	if (!reading->cnt)
		return 0;
	err = profile_import_init(&import, reading->out, &reading->dict->prof);
	if (err)
		return err;
	for (size_t i = 0; i < reading->cnt && !reading->out->err; i++)
		profile_sample(reading->out, profile_import_stack(&import, reading->rows[i].stack),
			       reading->rows[i].label_set,
			       reading->values + i * reading->out->value_type_cnt);
	profile_import_deinit(&import);
	hmap_clear(&reading->index);
	reading->cnt = 0;
	return reading->out->err;
}

static int enter_generation(struct reading *reading, const struct generation *generation)
{
	int err = flush(reading);

	if (err)
		return err;
	label_map_deinit(&reading->labels);
	free(reading->last);
	reading->id = generation->id;
	reading->dict = &generation->dict;
	reading->last = profile_new_column(generation->dict.prof.stack_cnt);
	if (!reading->last)
		return -ENOMEM;
	return label_map_init(&reading->labels, reading->query, &generation->dict.prof,
			      reading->out);
}

static int add_batch(void *arg, const struct scan_batch *found)
{
	struct reading *reading = arg;
	const struct batch *batch = found->batch;
	const uint32_t *value_at = reading->value_at[found->kind];
	const int64_t *values = batch->values;
	int64_t *sums;
	uint32_t set;
	int err;

	if (reading->id != found->generation->id) {
		err = enter_generation(reading, found->generation);
		if (err)
			return err;
	}
	for (size_t i = 0; i < batch->cnt; i++, values += batch->column_cnt) {
		set = label_map_get(&reading->labels, batch->rows[i].label_set);
		if (set == LABELS_UNWANTED)
			continue;
		sums = set == PROFILE_NONE ? NULL : sums_of(reading, batch->rows[i].stack, set);
		if (!sums)
			return reading->out->err ? reading->out->err : -ENOMEM;
		for (uint32_t j = 0; j < batch->column_cnt; j++)
			sums[value_at[j]] = profile_value_sum(sums[value_at[j]], values[j]);
	}
	return 0;
}

/* The ledgers of the range. Those that are damaged are counted in *@damaged. */
static int add_ledgers(struct store *store, const struct store_query *query, struct ledger *out,
		       uint64_t *damaged)
{
	_cleanup_stmt_ sqlite3_stmt *stmt =
		db_prepare(store->db,
			   "SELECT w.seq, w.ledger FROM generation AS g CROSS JOIN window AS w ON "
			   "w.generation=g.id WHERE w.start_ns>=? AND w.start_ns<?");
	int step, err = 0;

	db_bind(stmt, 1, store_time(query->from_ns));
	db_bind(stmt, 2, store_time(query->to_ns));
	while (!err && (step = db_step(stmt)) > 0) {
		_cleanup_(ledger_deinit) struct ledger one;

		ledger_init(&one);
		err = store_unpack_ledger(sqlite3_column_blob(stmt, 1),
					  (size_t)sqlite3_column_bytes(stmt, 1), db_u64(stmt, 0),
					  &one);
		if (err == -EBADMSG) {
			++*damaged;
			err = 0;
			continue;
		}
		if (!err)
			err = ledger_merge(out, &one);
	}
	return err ? err : step;
}

/* The samples, with everything that is *owned* by @reading. */
static int read_samples(struct store *store, struct reading *reading, uint64_t *damaged)
{
	int err;

	reading->value_at = calloc(reading->kinds->cnt, sizeof(*reading->value_at));
	if (!reading->value_at)
		return -ENOMEM;
	hmap_init(&reading->index);
	err = kinds_take_types(reading->kinds, reading->out, reading->value_at);
	if (!err)
		err = store_scan(store, reading->query, reading->kinds, add_batch, reading,
				 damaged);
	if (!err)
		err = flush(reading);
	reading_deinit(reading);
	free(reading->value_at);
	return err;
}

static int read_all(struct store *store, const struct store_query *query, struct profile *out,
		    struct ledger *ledger, struct store_coverage *coverage)
{
	_guard_(db_rollback) sqlite3 *guard = store->db;
	struct reading reading = {.query = query, .out = out};
	struct kinds kinds;
	uint64_t damaged = 0;
	int err = db_begin(store->db, false);

	if (!err)
		err = kinds_read(store, query->kind ? query->kind : "cpu", &kinds);
	if (err)
		return err;
	reading.kinds = &kinds;
	err = read_samples(store, &reading, &damaged);
	kinds_deinit(&kinds);
	if (!err && ledger)
		err = add_ledgers(store, query, ledger, &damaged);
	if (!err)
		err = store_cover(store, query->from_ns, query->to_ns, coverage);
	if (err)
		return err;
	coverage->damaged_cnt = damaged;
	out->time_ns = coverage->first_ns;
	out->duration_ns = coverage->covered_ns;
	return 0;
}

int store_read(struct store *store, const struct store_query *query, struct profile *out,
	       struct ledger *ledger_out, struct store_coverage *coverage_out)
{
	_cleanup_(ledger_deinit) struct ledger ledger;
	struct store_coverage coverage;
	struct profile prof;
	int err = profile_init(&prof);

	ledger_init(&ledger);
	if (err)
		return err;
	err = read_all(store, query, &prof, ledger_out ? &ledger : NULL, &coverage);
	if (err) {
		profile_deinit(&prof);
		return err == -ENOENT ? err : store_fail(store, "read", err);
	}
	*out = prof;
	if (ledger_out) {
		*ledger_out = ledger;
		ledger_init(&ledger);
	}
	if (coverage_out)
		*coverage_out = coverage;
	return 0;
}
