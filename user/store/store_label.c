/* SPDX-License-Identifier: Apache-2.0 */
/* Labels: which samples a query wants, and which labels its answer keeps. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/match_list.h"
#include "store/store_priv.h"

const char *label_text(const struct profile *prof, const struct profile_label *label,
		       char number[static LABEL_NUMBER_BYTES])
{
	if (label->str != PROFILE_NONE)
		return profile_str(prof, label->str);
	snprintf(number, LABEL_NUMBER_BYTES, "%" PRId64, label->num);
	return number;
}

static const struct profile_label *find_label(const struct profile *prof, uint32_t set,
					      const char *key)
{
	const struct profile_label_set *labels = &prof->label_sets[set];

	for (uint32_t i = 0; i < labels->cnt; i++)
		if (!strcmp(profile_str(prof, prof->labels[labels->first + i].key), key))
			return &prof->labels[labels->first + i];
	return NULL;
}

const char *label_value(const struct profile *prof, uint32_t set, const char *key,
			char number[static LABEL_NUMBER_BYTES])
{
	const struct profile_label *label = find_label(prof, set, key);

	return label ? label_text(prof, label, number) : "";
}

struct labels_of {
	const struct profile *prof;
	uint32_t set;
	char number[LABEL_NUMBER_BYTES];
};

static const char *tell_label(void *arg, const char *key)
{
	struct labels_of *labels = arg;
	const struct profile_label *label = find_label(labels->prof, labels->set, key);

	return label ? label_text(labels->prof, label, labels->number) : NULL;
}

static bool is_wanted(const struct store_query *query, const struct profile *prof, uint32_t set)
{
	struct labels_of labels = {.prof = prof, .set = set};

	return match_labels(query->where, query->where_cnt, tell_label, &labels);
}

int label_map_init(struct label_map *map, const struct store_query *query,
		   const struct profile *src, struct profile *dst)
{
	*map = (struct label_map){
		.query = query,
		.src = src,
		.dst = dst,
		.set_cnt = src->label_set_cnt,
	};
	map->sets = malloc((map->set_cnt + 1) * sizeof(*map->sets));
	if (!map->sets)
		return -ENOMEM;
	for (size_t i = 0; i < map->set_cnt; i++)
		map->sets[i] = LABELS_UNKNOWN;
	return 0;
}

void label_map_deinit(struct label_map *map)
{
	free(map->sets);
	map->sets = NULL;
}

static bool is_kept(const struct store_query *query, const char *key)
{
	if (!query->by)
		return true;
	for (const char *const *by = query->by; *by; by++)
		if (!strcmp(*by, key))
			return true;
	return false;
}

/* The labels of @set that the answer keeps, in the target. */
static uint32_t reduce(struct label_map *map, uint32_t set)
{
	const struct profile *src = map->src;
	const struct profile_label_set *labels = &src->label_sets[set];
	_cleanup_free_ struct profile_label *kept = calloc(labels->cnt + 1, sizeof(*kept));
	size_t cnt = 0;

	if (!kept) {
		map->dst->err = -ENOMEM;
		return PROFILE_NONE;
	}
	for (uint32_t i = 0; i < labels->cnt; i++) {
		const struct profile_label *label = &src->labels[labels->first + i];
		const bool is_number = label->str == PROFILE_NONE;

		if (!is_kept(map->query, profile_str(src, label->key)))
			continue;
		kept[cnt++] = (struct profile_label){
			.key = profile_string(map->dst, profile_str(src, label->key)),
			.str = is_number ? PROFILE_NONE
					 : profile_string(map->dst, profile_str(src, label->str)),
			.num = label->num,
			.num_unit = profile_string(map->dst, profile_str(src, label->num_unit)),
		};
	}
	return profile_labels(map->dst, kept, cnt);
}

uint32_t label_map_get(struct label_map *map, uint32_t set)
{
	if (map->sets[set] == LABELS_UNKNOWN)
		map->sets[set] =
			is_wanted(map->query, map->src, set) ? reduce(map, set) : LABELS_UNWANTED;
	return map->sets[set];
}
