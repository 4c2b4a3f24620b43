/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/pieces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/strtab.h"
#include "profile/profile_import.h"

/* --- Labels --- */

bool sink_label_is_service(const struct profile *dict, const struct profile_label *label)
{
	return label->str != PROFILE_NONE && !strcmp(profile_str(dict, label->key), "service");
}

bool sink_label_is_series(const struct profile *dict, const struct profile_label *label)
{
	/* Of a thread, and of a wait. */
	static const char *const others[] = {"comm", "process", "event", "state", "cause"};
	const char *key = profile_str(dict, label->key);

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(key, others[i]))
			return false;
	return label->str != PROFILE_NONE;
}

const char *sink_label_str(const struct profile *dict, uint32_t label_set, const char *key)
{
	const struct profile_label_set *set = &dict->label_sets[label_set];

	for (uint32_t i = set->first; i < set->first + set->cnt; i++)
		if (dict->labels[i].str != PROFILE_NONE &&
		    !strcmp(profile_str(dict, dict->labels[i].key), key))
			return profile_str(dict, dict->labels[i].str);
	return "";
}

void sink_add_name(struct buf *out, const char *name)
{
	if (*name >= '0' && *name <= '9')
		buf_add_char(out, '_');
	for (; *name; name++) {
		const char lower = (char)(*name | 0x20);
		const bool is_plain = (lower >= 'a' && lower <= 'z' && *name >= 'A') ||
				      (*name >= '0' && *name <= '9');

		buf_add_char(out, is_plain ? *name : '_');
	}
}

/* --- Pieces --- */

/* While they are made of one batch. */
struct sorter {
	const struct profile *dict;
	sink_label_fn *tells_apart;
	struct strtab groups; /* by the text of their labels */
	uint32_t *group_of; /* owned: by label set; PROFILE_NONE: not asked for yet */
	size_t *ends; /* owned: by group: how many rows it has, then where they end */
	size_t end_cap;
	struct buf text;
};

static void sorter_deinit(struct sorter *sorter)
{
	strtab_deinit(&sorter->groups);
	free(sorter->group_of);
	free(sorter->ends);
	buf_deinit(&sorter->text);
}

static int sorter_init(struct sorter *sorter, const struct profile *dict,
		       sink_label_fn *tells_apart)
{
	int err;

	*sorter = (struct sorter){
		.dict = dict,
		.tells_apart = tells_apart,
		.group_of = profile_new_column(dict->label_set_cnt),
	};
	buf_init(&sorter->text, BUF_NO_MAX);
	err = strtab_init(&sorter->groups);
	return sorter->group_of ? err : -ENOMEM;
}

static void add_text(struct buf *out, const char *text)
{
	buf_printf(out, "%zu:%s", strlen(text), text);
}

static uint32_t group_of(struct sorter *sorter, uint32_t label_set)
{
	const struct profile *dict = sorter->dict;
	const struct profile_label_set *set = &dict->label_sets[label_set];
	struct buf *text = &sorter->text;

	if (sorter->group_of[label_set] != PROFILE_NONE)
		return sorter->group_of[label_set];
	buf_reset(text);
	for (uint32_t i = set->first; i < set->first + set->cnt; i++) {
		const struct profile_label *label = &dict->labels[i];

		if (!sorter->tells_apart(dict, label))
			continue;
		add_text(text, profile_str(dict, label->key));
		add_text(text, profile_str(dict, label->str));
	}
	if (!text->err)
		sorter->group_of[label_set] =
			strtab_add(&sorter->groups, buf_cstr(text), text->len);
	return sorter->group_of[label_set];
}

/* How many rows each group has. */
static int count_rows(struct sorter *sorter, const struct sink_batch *batch)
{
	for (size_t i = 0; i < batch->row_cnt; i++) {
		const uint32_t group = group_of(sorter, batch->rows[i].label_set);

		if (group == STRTAB_NONE || array_reserve(&sorter->ends, &sorter->end_cap,
							  group + 1, sizeof(*sorter->ends)))
			return -ENOMEM;
		sorter->ends[group]++;
	}
	return 0;
}

static int add_pieces(struct sink_pieces *out, const struct sink_batch *batch, const uint32_t *rows,
		      size_t cnt, size_t max_rows)
{
	for (size_t i = 0; i < cnt; i += max_rows) {
		if (array_reserve(&out->items, &out->cap, out->cnt + 1, sizeof(*out->items)))
			return -ENOMEM;
		out->items[out->cnt++] = (struct sink_piece){
			.batch = batch,
			.label_set = batch->rows[rows[i]].label_set,
			.rows = rows + i,
			.row_cnt = cnt - i < max_rows ? cnt - i : max_rows,
			.place = (size_t)(rows + i - out->rows),
		};
	}
	return 0;
}

/* @rows: room for all of @batch's. */
static int sort_batch(struct sink_pieces *out, const struct profile *dict,
		      const struct sink_batch *batch, sink_label_fn *tells_apart, size_t max_rows,
		      uint32_t *rows)
{
	_cleanup_(sorter_deinit) struct sorter sorter;
	size_t begin = 0;
	int err = sorter_init(&sorter, dict, tells_apart);

	if (!err)
		err = count_rows(&sorter, batch);
	for (size_t i = 0; i < sorter.groups.cnt && i < sorter.end_cap && !err; i++) {
		const size_t cnt = sorter.ends[i];

		sorter.ends[i] = begin;
		begin += cnt;
	}
	for (size_t i = 0; i < batch->row_cnt && !err; i++)
		rows[sorter.ends[group_of(&sorter, batch->rows[i].label_set)]++] = (uint32_t)i;
	begin = 0;
	for (size_t i = 0; i < sorter.groups.cnt && i < sorter.end_cap && !err; i++) {
		err = add_pieces(out, batch, rows + begin, sorter.ends[i] - begin, max_rows);
		begin = sorter.ends[i];
	}
	return err;
}

/* Its rows, by numbers of the new dictionary. */
static int narrow_rows(struct sink_pieces *out, const struct sink_window *window)
{
	struct profile_import import;
	struct sink_row *row = out->window_rows;
	int err = profile_import_init(&import, &out->dict, window->dict);

	if (err)
		return err;
	for (size_t i = 0; i < window->batch_cnt; i++) {
		const struct sink_batch *batch = &window->batches[i];

		out->batches[i] = *batch;
		out->batches[i].rows = row;
		for (size_t k = 0; k < batch->row_cnt && !out->dict.err; k++, row++)
			*row = (struct sink_row){
				profile_import_stack(&import, batch->rows[k].stack),
				profile_import_label_set(&import, batch->rows[k].label_set),
			};
	}
	profile_import_deinit(&import);
	return out->dict.err;
}

int sink_pieces_init(struct sink_pieces *out, const struct sink_window *window,
		     sink_label_fn *tells_apart, size_t max_rows)
{
	size_t row_cnt = 0;
	uint32_t *rows;
	int err;

	*out = (struct sink_pieces){.window = *window};
	err = profile_init(&out->dict);
	for (size_t i = 0; i < window->batch_cnt; i++)
		row_cnt += window->batches[i].row_cnt;
	out->rows = rows = calloc(row_cnt + 1, sizeof(*rows));
	out->window_rows = calloc(row_cnt + 1, sizeof(*out->window_rows));
	out->batches = calloc(window->batch_cnt + 1, sizeof(*out->batches));
	if (err || !rows || !out->window_rows || !out->batches)
		return -ENOMEM;
	out->window.dict = &out->dict;
	out->window.batches = out->batches;
	err = narrow_rows(out, window);
	for (size_t i = 0; i < window->batch_cnt && !err; i++) {
		const struct sink_batch *batch = &out->batches[i];

		err = sort_batch(out, &out->dict, batch, tells_apart, max_rows, rows);
		rows += batch->row_cnt;
	}
	return err;
}

void sink_piece_halve(struct sink_piece *piece, struct sink_piece *first)
{
	*first = *piece;
	first->row_cnt /= 2;
	piece->rows += first->row_cnt;
	piece->place += first->row_cnt;
	piece->row_cnt -= first->row_cnt;
}

void sink_pieces_deinit(struct sink_pieces *pieces)
{
	profile_deinit(&pieces->dict);
	free(pieces->batches);
	free(pieces->window_rows);
	free(pieces->items);
	free(pieces->rows);
}

/* --- Profiles --- */

uint32_t sink_period_value(const struct profile *types)
{
	const char *type = profile_str(types, types->period_type.type);
	const uint32_t value = types->period > 0 ? profile_find_value(types, type) : PROFILE_NONE;

	if (value != PROFILE_NONE && types->value_types[value].unit != types->period_type.unit)
		return PROFILE_NONE;
	return value;
}

static void take_types(struct profile *out, const struct profile *types)
{
	const uint32_t period_value = sink_period_value(types);

	for (uint32_t i = 0; i < types->value_type_cnt; i++)
		profile_add_value_type(out, profile_str(types, types->value_types[i].type),
				       profile_str(types, types->value_types[i].unit));
	out->default_value = types->default_value;
	if (period_value == PROFILE_NONE)
		return;
	out->period_type = out->value_types[period_value];
	out->period = types->period;
}

/* Its labels that @keeps. */
static uint32_t take_labels(struct profile_import *import, uint32_t label_set, sink_label_fn *keeps)
{
	const struct profile *dict = import->src;
	const struct profile_label_set *set = &dict->label_sets[label_set];
	_cleanup_free_ struct profile_label *labels = NULL;
	size_t cnt = 0;

	if (!keeps)
		return profile_import_label_set(import, label_set);
	labels = calloc(set->cnt + 1, sizeof(*labels));
	if (!labels) {
		import->dst->err = -ENOMEM;
		return PROFILE_NONE;
	}
	for (uint32_t i = set->first; i < set->first + set->cnt; i++) {
		const struct profile_label *label = &dict->labels[i];

		if (!keeps(dict, label))
			continue;
		labels[cnt++] = (struct profile_label){
			.key = profile_import_string(import, label->key),
			.str = profile_import_string(import, label->str),
			.num = label->num,
			.num_unit = profile_import_string(import, label->num_unit),
		};
	}
	return profile_labels(import->dst, labels, cnt);
}

static int take_samples(struct profile_import *import, const struct sink_piece *piece,
			sink_label_fn *keeps)
{
	const struct sink_batch *batch = piece->batch;

	for (size_t i = 0; i < piece->row_cnt && !import->dst->err; i++) {
		const struct sink_row *row = &batch->rows[piece->rows[i]];
		const int64_t *values =
			batch->values + (size_t)piece->rows[i] * batch->types->value_type_cnt;

		profile_sample(import->dst, profile_import_stack(import, row->stack),
			       take_labels(import, row->label_set, keeps), values);
	}
	return import->dst->err;
}

int sink_piece_profile(const struct sink_window *window, const struct sink_piece *piece,
		       sink_label_fn *keeps, struct profile *out)
{
	struct profile_import import;
	int err = profile_init(out);

	if (err)
		return err;
	take_types(out, piece->batch->types);
	out->time_ns = window->start_ns;
	out->duration_ns = window->covered_ns;
	err = profile_import_init(&import, out, window->dict);
	if (!err) {
		err = take_samples(&import, piece, keeps);
		profile_import_deinit(&import);
	}
	if (err)
		profile_deinit(out);
	return err;
}
