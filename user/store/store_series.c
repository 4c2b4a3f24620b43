/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of a range of time that need no stacks: by label, and over time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hmap.h"
#include "store/store_priv.h"

enum { POINTS_MAX = 1 << 24 /* of all series together */ };

/* What both questions share: a sum for each label set of @labels, and each step of time. */
struct summing {
	const struct store_query *query;
	const struct kinds *kinds;
	const char *function; /* or NULL */
	size_t point_cnt;
	struct profile labels; /* label sets as the query keeps them */
	int64_t *points; /* owned: point_cnt for each label set */
	size_t set_cnt, point_cap;
	/* Of one generation */
	uint64_t id;
	struct label_map map;
	bool *has_function; /* owned: of each stack; NULL: no function is asked for */
};

static int summing_init(struct summing *summing, const struct store_query *query,
			const struct kinds *kinds, size_t point_cnt)
{
	*summing = (struct summing){.query = query, .kinds = kinds, .point_cnt = point_cnt};
	return profile_init(&summing->labels);
}

static void summing_deinit(struct summing *summing)
{
	profile_deinit(&summing->labels);
	label_map_deinit(&summing->map);
	free(summing->points);
	free(summing->has_function);
}

static bool location_has(const struct profile *prof, uint32_t location, const bool *is_function)
{
	const struct profile_location *loc = &prof->locations[location];

	for (uint32_t i = 0; i < loc->line_cnt; i++)
		if (is_function[prof->lines[loc->first_line + i].function])
			return true;
	return false;
}

/* Which stacks of @prof have a function called @name: *owned*, or NULL. */
static bool *stacks_with(const struct profile *prof, const char *name)
{
	_cleanup_free_ bool *is_function = calloc(prof->function_cnt + 1, sizeof(*is_function));
	_cleanup_free_ bool *is_location = calloc(prof->location_cnt + 1, sizeof(*is_location));
	bool *is_stack = calloc(prof->stack_cnt + 1, sizeof(*is_stack));

	if (!is_function || !is_location || !is_stack) {
		free(is_stack);
		return NULL;
	}
	for (size_t i = 0; i < prof->function_cnt; i++)
		is_function[i] = !strcmp(profile_str(prof, prof->functions[i].name), name);
	for (uint32_t i = 0; i < prof->location_cnt; i++)
		is_location[i] = location_has(prof, i, is_function);
	for (size_t i = 0; i < prof->stack_cnt; i++)
		for (uint32_t j = 0; j < prof->stacks[i].cnt && !is_stack[i]; j++)
			is_stack[i] = is_location[prof->stack_locations[prof->stacks[i].first + j]];
	return is_stack;
}

static int enter_generation(struct summing *summing, const struct generation *generation)
{
	label_map_deinit(&summing->map);
	free(summing->has_function);
	summing->has_function = NULL;
	summing->id = generation->id;
	if (summing->function) {
		summing->has_function = stacks_with(&generation->dict.prof, summing->function);
		if (!summing->has_function)
			return -ENOMEM;
	}
	return label_map_init(&summing->map, summing->query, &generation->dict.prof,
			      &summing->labels);
}

/* Room for the points of label set @set. */
static int reserve_set(struct summing *summing, uint32_t set)
{
	const size_t need = ((size_t)set + 1) * summing->point_cnt;
	int err;

	if (set < summing->set_cnt)
		return 0;
	if (need > POINTS_MAX)
		return -E2BIG;
	err = array_reserve(&summing->points, &summing->point_cap, need, sizeof(*summing->points));
	if (!err)
		summing->set_cnt = (size_t)set + 1;
	return err;
}

static size_t step_of(const struct summing *summing, uint64_t start_ns)
{
	const struct store_query *query = summing->query;

	if (summing->point_cnt == 1)
		return 0;
	return (size_t)((unsigned __int128)(start_ns - query->from_ns) * summing->point_cnt /
			(query->to_ns - query->from_ns));
}

static int sum_batch(void *arg, const struct scan_batch *found)
{
	struct summing *summing = arg;
	const struct batch *batch = found->batch;
	const struct profile *types = &summing->kinds->items[found->kind].types;
	const int64_t *values = batch->values + types->default_value;
	const size_t step = step_of(summing, found->start_ns);
	int64_t *sum;
	uint32_t set;
	int err = 0;

	if (summing->id != found->generation->id)
		err = enter_generation(summing, found->generation);
	for (size_t i = 0; i < batch->cnt && !err; i++, values += batch->column_cnt) {
		if (summing->has_function && !summing->has_function[batch->rows[i].stack])
			continue;
		set = label_map_get(&summing->map, batch->rows[i].label_set);
		if (set == LABELS_UNWANTED)
			continue;
		if (set == PROFILE_NONE)
			return summing->labels.err;
		err = reserve_set(summing, set);
		if (err)
			return err;
		sum = &summing->points[set * summing->point_cnt + step];
		*sum = profile_value_sum(*sum, *values);
	}
	return err;
}

/* Scan for @query with a summing of @point_cnt steps, and hand the result to @tell. */
typedef int tell_fn(struct summing *summing, void *arg);

static int sum_range(struct store *store, const struct store_query *query, const char *function,
		     size_t point_cnt, tell_fn *tell, void *arg)
{
	_guard_(db_rollback) sqlite3 *guard = store->db;
	struct summing summing;
	struct kinds kinds;
	uint64_t damaged = 0;
	int err = db_begin(store->db, false);

	if (!err)
		err = kinds_read(store, query->kind ? query->kind : "cpu", &kinds);
	if (err)
		return err == -ENOENT ? err : store_fail(store, "read", err);
	err = summing_init(&summing, query, &kinds, point_cnt);
	summing.function = function;
	if (!err)
		err = store_scan(store, query, &kinds, sum_batch, &summing, &damaged);
	if (err)
		store_fail(store, "read", err);
	db_rollback(&guard); /* @tell may take its time */
	if (!err)
		err = tell(&summing, arg);
	summing_deinit(&summing);
	kinds_deinit(&kinds);
	return err;
}

struct label_sum {
	const char *key;
	char *value; /* owned */
	int64_t total;
};

struct label_sums {
	struct label_sum *items; /* owned */
	size_t cnt, cap;
	struct hmap index;
};

static void label_sums_deinit(struct label_sums *sums)
{
	for (size_t i = 0; i < sums->cnt; i++)
		free(sums->items[i].value);
	free(sums->items);
	hmap_deinit(&sums->index);
}

static bool is_label(const void *owner, uint32_t index, const void *key)
{
	const struct label_sums *sums = owner;
	const struct label_sum *wanted = key;

	return !strcmp(sums->items[index].key, wanted->key) &&
	       !strcmp(sums->items[index].value, wanted->value);
}

/* Add @total to (@key, @value); @key stays the caller's. */
static int add_label(struct label_sums *sums, const char *key, const char *value, int64_t total)
{
	const struct label_sum wanted = {.key = key, .value = (char *)value};
	const uint64_t hash =
		hash_mix(hash_bytes(key, strlen(key)), hash_bytes(value, strlen(value)));
	uint32_t at = hmap_find(&sums->index, hash, is_label, sums, &wanted);
	char *copy;

	if (at != HMAP_NONE) {
		sums->items[at].total = profile_value_sum(sums->items[at].total, total);
		return 0;
	}
	if (array_reserve(&sums->items, &sums->cap, sums->cnt + 1, sizeof(*sums->items)) ||
	    hmap_insert(&sums->index, hash, (uint32_t)sums->cnt))
		return -ENOMEM;
	copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	sums->items[sums->cnt++] = (struct label_sum){.key = key, .value = copy, .total = total};
	return 0;
}

static int compare_label_sums(const void *left_ptr, const void *right_ptr)
{
	const struct label_sum *left = left_ptr, *right = right_ptr;
	int order = strcmp(left->key, right->key);

	if (!order)
		order = (left->total < right->total) - (left->total > right->total);
	return order ? order : strcmp(left->value, right->value);
}

static int add_set(struct label_sums *sums, const struct profile *prof, uint32_t set, int64_t total)
{
	const struct profile_label_set *labels = &prof->label_sets[set];
	char number[LABEL_NUMBER_BYTES];
	int err = 0;

	for (uint32_t i = 0; i < labels->cnt && !err; i++) {
		const struct profile_label *label = &prof->labels[labels->first + i];

		err = add_label(sums, profile_str(prof, label->key),
				label_text(prof, label, number), total);
	}
	return err;
}

struct label_teller {
	store_label_fn *fn;
	void *arg;
};

static int tell_labels(struct summing *summing, void *arg)
{
	const struct label_teller *teller = arg;
	_cleanup_(label_sums_deinit) struct label_sums sums = {.cnt = 0};
	int err = 0;

	hmap_init(&sums.index);
	for (uint32_t set = 0; set < summing->set_cnt && !err; set++)
		err = add_set(&sums, &summing->labels, set, summing->points[set]);
	if (sums.cnt && !err)
		qsort(sums.items, sums.cnt, sizeof(*sums.items), compare_label_sums);
	for (size_t i = 0; i < sums.cnt && !err; i++)
		err = teller->fn(teller->arg, sums.items[i].key, sums.items[i].value,
				 sums.items[i].total);
	return err;
}

int store_each_label(struct store *store, const struct store_query *query, store_label_fn *fn,
		     void *arg)
{
	struct label_teller teller = {.fn = fn, .arg = arg};

	return sum_range(store, query, NULL, 1, tell_labels, &teller);
}

struct series_teller {
	const char *by;
	store_series_fn *fn;
	void *arg;
};

struct series {
	uint32_t set;
	int64_t total;
};

static int compare_series(const void *left_ptr, const void *right_ptr)
{
	const struct series *left = left_ptr, *right = right_ptr;

	if (left->total != right->total)
		return left->total < right->total ? 1 : -1;
	return (left->set > right->set) - (left->set < right->set);
}

static int tell_series(struct summing *summing, void *arg)
{
	const struct series_teller *teller = arg;
	_cleanup_free_ struct series *order = calloc(summing->set_cnt + 1, sizeof(*order));
	char number[LABEL_NUMBER_BYTES];
	int err = 0;

	if (!order)
		return -ENOMEM;
	for (uint32_t set = 0; set < summing->set_cnt; set++) {
		order[set].set = set;
		for (size_t i = 0; i < summing->point_cnt; i++)
			order[set].total = profile_value_sum(
				order[set].total, summing->points[set * summing->point_cnt + i]);
	}
	if (summing->set_cnt)
		qsort(order, summing->set_cnt, sizeof(*order), compare_series);
	for (size_t i = 0; i < summing->set_cnt && !err; i++) {
		const char *name =
			teller->by ? label_value(&summing->labels, order[i].set, teller->by, number)
				   : "";

		err = teller->fn(teller->arg, name,
				 summing->points + order[i].set * summing->point_cnt,
				 summing->point_cnt);
	}
	return err;
}

int store_timeline(struct store *store, const struct store_query *query, const char *by,
		   const char *function, size_t point_cnt, store_series_fn *fn, void *arg)
{
	const char *const keys[] = {by, NULL};
	struct series_teller teller = {.by = by, .fn = fn, .arg = arg};
	struct store_query by_query = *query;

	if (!point_cnt || point_cnt > POINTS_MAX || query->from_ns >= query->to_ns)
		return -EINVAL;
	by_query.by = keys;
	return sum_range(store, &by_query, function, point_cnt, tell_series, &teller);
}
