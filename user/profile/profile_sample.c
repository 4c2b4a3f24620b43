/* SPDX-License-Identifier: Apache-2.0 */
/* The profile model: stacks, label sets, samples and comments. */
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/profile_priv.h"

struct stack_key {
	const uint32_t *locations;
	size_t cnt;
};

static bool stack_equal(const void *owner, uint32_t index, const void *key)
{
	const struct profile *prof = owner;
	const struct profile_stack *known = &prof->stacks[index];
	const struct stack_key *wanted = key;

	return known->cnt == wanted->cnt &&
	       (!wanted->cnt || !memcmp(prof->stack_locations + known->first, wanted->locations,
					wanted->cnt * sizeof(*wanted->locations)));
}

static bool has_none(const uint32_t *ids, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		if (ids[i] == PROFILE_NONE)
			return true;
	}
	return false;
}

uint32_t profile_stack(struct profile *prof, const uint32_t *locations, size_t cnt)
{
	struct stack_key key = {.locations = locations, .cnt = cnt};
	uint64_t hash;
	uint32_t found;

	if (prof->err || has_none(locations, cnt))
		return PROFILE_NONE;
	hash = hash_bytes(cnt ? (const void *)locations : "", cnt * sizeof(*locations));
	found = hmap_find(&prof->stack_index, hash, stack_equal, prof, &key);
	if (found != HMAP_NONE)
		return found;
	if (!profile_reserve(prof, &prof->stacks, &prof->stack_cap, prof->stack_cnt, 1,
			     sizeof(*prof->stacks)) ||
	    !profile_reserve(prof, &prof->stack_locations, &prof->stack_location_cap,
			     prof->stack_location_cnt, cnt, sizeof(*prof->stack_locations)) ||
	    !profile_note(prof, &prof->stack_index, hash, prof->stack_cnt))
		return PROFILE_NONE;
	if (cnt)
		memcpy(prof->stack_locations + prof->stack_location_cnt, locations,
		       cnt * sizeof(*locations));
	prof->stacks[prof->stack_cnt] = (struct profile_stack){
		.first = (uint32_t)prof->stack_location_cnt,
		.cnt = (uint32_t)cnt,
	};
	prof->stack_location_cnt += cnt;
	return (uint32_t)prof->stack_cnt++;
}

/* By the key's text, so that equal label sets of different profiles have the same order. */
static int compare_labels(const void *left_ptr, const void *right_ptr, void *prof_ptr)
{
	const struct profile_label *left = left_ptr, *right = right_ptr;
	const struct profile *prof = prof_ptr;
	int order = 0;

	if (left->key != right->key)
		order = strcmp(profile_str(prof, left->key), profile_str(prof, right->key));
	if (!order && left->str != right->str)
		order = strcmp(profile_str(prof, left->str), profile_str(prof, right->str));
	if (!order)
		order = (left->num > right->num) - (left->num < right->num);
	if (!order && left->num_unit != right->num_unit)
		order = strcmp(profile_str(prof, left->num_unit),
			       profile_str(prof, right->num_unit));
	/* What is left: "" against a number 0 without unit. */
	return order ? order : (left->str > right->str) - (left->str < right->str);
}

static bool label_equal(const struct profile_label *left, const struct profile_label *right)
{
	return left->key == right->key && left->str == right->str && left->num == right->num &&
	       left->num_unit == right->num_unit;
}

static bool label_set_equal(const void *owner, uint32_t index, const void *key)
{
	const struct profile *prof = owner;
	const struct profile_label_set *known = &prof->label_sets[index], *wanted = key;

	if (known->cnt != wanted->cnt)
		return false;
	for (uint32_t i = 0; i < known->cnt; i++) {
		if (!label_equal(&prof->labels[known->first + i], &prof->labels[wanted->first + i]))
			return false;
	}
	return true;
}

/* Copy @labels, in their normal form, behind the column's end, sort them there; their hash. */
static uint64_t stage_labels(struct profile *prof, const struct profile_label *labels, size_t cnt)
{
	struct profile_label *staged;
	uint64_t hash = cnt;

	if (!cnt) /* there may be no column yet */
		return hash;
	staged = prof->labels + prof->label_cnt;
	for (size_t i = 0; i < cnt; i++) {
		staged[i] = labels[i];
		if (staged[i].str != PROFILE_NONE) {
			staged[i].num = 0;
			staged[i].num_unit = STRTAB_EMPTY;
		} else if (staged[i].num_unit == PROFILE_NONE) {
			staged[i].num_unit = STRTAB_EMPTY;
		}
	}
	if (cnt > 1)
		qsort_r(staged, cnt, sizeof(*staged), compare_labels, prof);
	for (size_t i = 0; i < cnt; i++) {
		hash = hash_mix(hash, (uint64_t)staged[i].key << 32 | staged[i].str);
		hash = hash_mix(hash, (uint64_t)staged[i].num);
		hash = hash_mix(hash, staged[i].num_unit);
	}
	return hash;
}

uint32_t profile_labels(struct profile *prof, const struct profile_label *labels, size_t cnt)
{
	struct profile_label_set wanted = {.first = (uint32_t)prof->label_cnt};
	uint64_t hash;
	uint32_t found;

	if (!profile_reserve(prof, &prof->labels, &prof->label_cap, prof->label_cnt, cnt,
			     sizeof(*prof->labels)))
		return PROFILE_NONE;
	for (size_t i = 0; i < cnt; i++) {
		if (labels[i].key == PROFILE_NONE)
			return PROFILE_NONE;
	}
	wanted.cnt = (uint32_t)cnt;
	hash = stage_labels(prof, labels, cnt);
	found = hmap_find(&prof->label_set_index, hash, label_set_equal, prof, &wanted);
	if (found != HMAP_NONE)
		return found;
	if (!profile_reserve(prof, &prof->label_sets, &prof->label_set_cap, prof->label_set_cnt, 1,
			     sizeof(*prof->label_sets)) ||
	    !profile_note(prof, &prof->label_set_index, hash, prof->label_set_cnt))
		return PROFILE_NONE;
	prof->label_cnt += cnt;
	prof->label_sets[prof->label_set_cnt] = wanted;
	return (uint32_t)prof->label_set_cnt++;
}

static bool sample_equal(const void *owner, uint32_t index, const void *key)
{
	const struct profile *prof = owner;
	const struct profile_sample *known = &prof->samples[index], *wanted = key;

	return known->stack == wanted->stack && known->label_set == wanted->label_set;
}

static uint32_t add_sample(struct profile *prof, const struct profile_sample *sample, uint64_t hash)
{
	if (!profile_reserve(prof, &prof->samples, &prof->sample_cap, prof->sample_cnt, 1,
			     sizeof(*prof->samples)))
		return PROFILE_NONE;
	/* values are addressed with size_t: their number may pass that of u32 indices */
	prof->err = array_reserve(&prof->values, &prof->value_cap,
				  prof->value_cnt + prof->value_type_cnt, sizeof(*prof->values));
	if (prof->err || !profile_note(prof, &prof->sample_index, hash, prof->sample_cnt))
		return PROFILE_NONE;
	memset(prof->values + prof->value_cnt, 0, prof->value_type_cnt * sizeof(*prof->values));
	prof->value_cnt += prof->value_type_cnt;
	prof->samples[prof->sample_cnt] = *sample;
	return (uint32_t)prof->sample_cnt++;
}

uint32_t profile_sample(struct profile *prof, uint32_t stack, uint32_t label_set,
			const int64_t *values)
{
	struct profile_sample wanted = {.stack = stack, .label_set = label_set};
	uint64_t hash = hash_mix(hash_mix(0, stack), label_set);
	uint32_t sample;
	int64_t *sums;

	if (!prof->err && !prof->value_type_cnt)
		prof->err = -EINVAL;
	if (prof->err || stack == PROFILE_NONE || label_set == PROFILE_NONE)
		return PROFILE_NONE;
	sample = hmap_find(&prof->sample_index, hash, sample_equal, prof, &wanted);
	if (sample == HMAP_NONE)
		sample = add_sample(prof, &wanted, hash);
	if (sample == PROFILE_NONE)
		return PROFILE_NONE;
	sums = prof->values + (size_t)sample * prof->value_type_cnt;
	for (uint32_t i = 0; i < prof->value_type_cnt; i++)
		sums[i] = profile_value_sum(sums[i], values[i]);
	return sample;
}

int64_t profile_total(const struct profile *prof, uint32_t value)
{
	int64_t total = 0;

	for (size_t i = 0; i < prof->sample_cnt; i++)
		total = profile_value_sum(total, prof->values[i * prof->value_type_cnt + value]);
	return total;
}

void profile_take_samples(struct profile *prof, struct profile_sample **samples, int64_t **values,
			  size_t *cnt)
{
	*samples = prof->samples;
	*values = prof->values;
	*cnt = prof->sample_cnt;
	prof->samples = NULL;
	prof->values = NULL;
	prof->sample_cnt = prof->sample_cap = prof->value_cnt = prof->value_cap = 0;
	hmap_clear(&prof->sample_index);
}

void profile_add_comment(struct profile *prof, const char *text)
{
	uint32_t id = profile_string(prof, text);

	if (id == PROFILE_NONE || !profile_reserve(prof, &prof->comments, &prof->comment_cap,
						   prof->comment_cnt, 1, sizeof(*prof->comments)))
		return;
	prof->comments[prof->comment_cnt++] = id;
}
