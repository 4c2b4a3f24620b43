/* SPDX-License-Identifier: Apache-2.0 */
#include "recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "profile/profile_import.h"
#include "store/ship.h"

static const char *const played_keys[PLAYED_CNT] = {"host", "service", "version"};

static bool has_same_types(const struct profile *left, const struct profile *right)
{
	bool is_same =
		left->value_type_cnt == right->value_type_cnt && left->period == right->period;

	for (uint32_t i = 0; is_same && i < left->value_type_cnt; i++)
		is_same = !strcmp(profile_str(left, left->value_types[i].type),
				  profile_str(right, right->value_types[i].type));
	return is_same;
}

/* The number of @batch's kind, RECORDED_KINDS_MAX: there are too many; or negative errno. */
static int take_kind(struct recording *recording, const struct sink_batch *batch)
{
	struct recorded_kind *kind;
	uint32_t nr = 0;
	int err;

	for (; nr < recording->kind_cnt; nr++)
		if (!strcmp(recording->kinds[nr].name, batch->kind) &&
		    !strcmp(recording->kinds[nr].event, batch->event) &&
		    has_same_types(&recording->kinds[nr].types, batch->types))
			return (int)nr;
	if (nr == RECORDED_KINDS_MAX)
		return -E2BIG;
	kind = &recording->kinds[nr];
	err = profile_init(&kind->types);
	if (err)
		return err;
	recording->kind_cnt++;
	snprintf(kind->name, sizeof(kind->name), "%s", batch->kind);
	snprintf(kind->event, sizeof(kind->event), "%s", batch->event);
	err = profile_merge(&kind->types, batch->types);
	kind->types.default_value = batch->types->default_value;
	return err ? err : (int)nr;
}

static int take_service(struct recording *recording, uint32_t name, uint32_t *out)
{
	int err;

	for (size_t i = 0; i < recording->service_cnt; i++)
		if (recording->services[i] == name) {
			*out = (uint32_t)i;
			return 0;
		}
	err = array_reserve(&recording->services, &recording->service_cap,
			    recording->service_cnt + 1, sizeof(*recording->services));
	if (err)
		return err;
	recording->services[recording->service_cnt] = name;
	*out = (uint32_t)recording->service_cnt++;
	return 0;
}

/* Label set @id of the recording as one that is played; its service into *@service. */
static uint32_t take_labels(struct recording *recording, uint32_t id, uint32_t *service)
{
	struct profile *dict = &recording->dict;
	const struct profile_label_set set = dict->label_sets[id];
	struct profile_label labels[64];
	size_t cnt = 0;

	*service = STRTAB_EMPTY;
	for (; cnt < PLAYED_CNT; cnt++)
		labels[cnt] = (struct profile_label){.key = recording->played[cnt],
						     .str = STRTAB_EMPTY,
						     .num_unit = STRTAB_EMPTY};
	for (uint32_t i = 0; i < set.cnt && cnt < sizeof(labels) / sizeof(*labels); i++) {
		const struct profile_label *label = &dict->labels[set.first + i];

		if (label->key == recording->played[PLAYED_SERVICE] && label->str != PROFILE_NONE)
			*service = label->str;
		if (label->key != recording->played[PLAYED_HOST] &&
		    label->key != recording->played[PLAYED_SERVICE] &&
		    label->key != recording->played[PLAYED_VERSION])
			labels[cnt++] = *label;
	}
	return profile_labels(dict, labels, cnt);
}

static int take_row(struct recording *recording, struct profile_import *import,
		    const struct sink_row *from, const int64_t *values, struct recorded_row *row)
{
	const uint32_t value_cnt = recording->kinds[row->kind].types.value_type_cnt;
	uint32_t label_set = profile_import_label_set(import, from->label_set), service;
	int err;

	row->stack = profile_import_stack(import, from->stack);
	if (recording->dict.err)
		return recording->dict.err;
	row->label_set = take_labels(recording, label_set, &service);
	err = take_service(recording, service, &row->service);
	if (!err)
		err = array_reserve(&recording->rows, &recording->row_cap, recording->row_cnt + 1,
				    sizeof(*recording->rows));
	if (!err)
		err = array_reserve(&recording->values, &recording->value_cap,
				    recording->value_cnt + value_cnt, sizeof(*values));
	if (err)
		return err;
	row->value_at = recording->value_cnt;
	memcpy(recording->values + row->value_at, values, value_cnt * sizeof(*values));
	recording->value_cnt += value_cnt;
	recording->rows[recording->row_cnt++] = *row;
	return recording->dict.err;
}

static int take_window(struct recording *recording, const struct sink_window *window)
{
	struct profile_import import;
	int err = profile_import_init(&import, &recording->dict, window->dict);

	if (err)
		return err;
	for (size_t i = 0; i < window->batch_cnt && err >= 0; i++) {
		const struct sink_batch *batch = &window->batches[i];
		struct recorded_row row = {.minute = recording->minute_cnt};

		err = take_kind(recording, batch);
		row.kind = (uint32_t)err;
		for (size_t k = 0; k < batch->row_cnt && err >= 0; k++)
			err = take_row(recording, &import, &batch->rows[k],
				       batch->values + k * batch->types->value_type_cnt, &row);
	}
	profile_import_deinit(&import);
	recording->minute_cnt++;
	return err < 0 ? err : 0;
}

static int take_store(struct recording *recording, struct store *store)
{
	struct store_shipment *shipment;
	uint64_t cursor = 0;
	int err;

	while ((err = store_ship_next(store, cursor, false, &shipment)) > 0) {
		const struct sink_window *window = store_shipment_window(shipment);

		cursor = window->last_seq;
		if (!window->lost && window->batch_cnt)
			err = take_window(recording, window);
		store_shipment_free(shipment);
		if (err < 0)
			return err;
	}
	return err;
}

static int compare_rows(const void *left_ptr, const void *right_ptr)
{
	const struct recorded_row *left = left_ptr, *right = right_ptr;

	if (left->minute != right->minute)
		return left->minute < right->minute ? -1 : 1;
	if (left->service != right->service)
		return left->service < right->service ? -1 : 1;
	if (left->kind != right->kind)
		return left->kind < right->kind ? -1 : 1;
	return (left->value_at > right->value_at) - (left->value_at < right->value_at);
}

static size_t part_of(const struct recording *recording, uint32_t minute, uint32_t service,
		      uint32_t kind)
{
	return ((size_t)minute * recording->service_cnt + service) * recording->kind_cnt + kind;
}

static int cut(struct recording *recording)
{
	const size_t part_cnt =
		recording->minute_cnt * recording->service_cnt * recording->kind_cnt;
	size_t at = 0;

	recording->firsts = calloc(part_cnt + 1, sizeof(*recording->firsts));
	if (!recording->firsts)
		return -ENOMEM;
	qsort(recording->rows, recording->row_cnt, sizeof(*recording->rows), compare_rows);
	for (size_t i = 0; i < recording->row_cnt; i++) {
		const struct recorded_row *row = &recording->rows[i];

		for (; at <= part_of(recording, row->minute, row->service, row->kind); at++)
			recording->firsts[at] = i;
	}
	for (; at <= part_cnt; at++)
		recording->firsts[at] = recording->row_cnt;
	return 0;
}

int recording_init(struct recording *recording, const char *path)
{
	struct store *store;
	int err;

	*recording = (struct recording){.row_cnt = 0};
	err = profile_init(&recording->dict);
	if (err)
		return err;
	for (int i = 0; i < PLAYED_CNT; i++)
		recording->played[i] = profile_string(&recording->dict, played_keys[i]);
	err = store_open(path, STORE_READ, &store);
	if (err)
		return err;
	err = take_store(recording, store);
	store_close(store);
	if (!err && !recording->row_cnt) {
		log_error("store '%s' has no minute that is over, with samples", path);
		return -ENODATA;
	}
	if (!err)
		err = cut(recording);
	if (err)
		log_error("store '%s': %s", path, strerror(-err));
	return err;
}

void recording_deinit(struct recording *recording)
{
	for (uint32_t i = 0; i < recording->kind_cnt; i++)
		profile_deinit(&recording->kinds[i].types);
	profile_deinit(&recording->dict);
	free(recording->services);
	free(recording->rows);
	free(recording->values);
	free(recording->firsts);
}

const struct recorded_row *recording_rows(const struct recording *recording, uint32_t minute,
					  uint32_t service, uint32_t kind, size_t *cnt)
{
	const size_t *first = &recording->firsts[part_of(recording, minute, service, kind)];

	*cnt = first[1] - first[0];
	return recording->rows + first[0];
}
