/* SPDX-License-Identifier: Apache-2.0 */
/* The label that says when. */
#include "profile/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const char time_key[] = "time", time_unit[] = "nanoseconds";

static bool is_time(const struct profile *prof, const struct profile_label *label)
{
	return label->str == PROFILE_NONE && label->num >= 0 &&
	       !strcmp(profile_str(prof, label->key), time_key) &&
	       !strcmp(profile_str(prof, label->num_unit), time_unit);
}

/* A copy of the labels of @set that are no time, and room for one more. NULL: no memory. */
static struct profile_label *others_of(struct profile *prof, uint32_t set, size_t *cnt)
{
	const struct profile_label_set *old = &prof->label_sets[set];
	struct profile_label *labels = calloc((size_t)old->cnt + 1, sizeof(*labels));

	*cnt = 0;
	if (!labels)
		prof->err = -ENOMEM;
	for (uint32_t i = 0; labels && i < old->cnt; i++)
		if (!is_time(prof, &prof->labels[old->first + i]))
			labels[(*cnt)++] = prof->labels[old->first + i];
	return labels;
}

uint32_t timeline_labels(struct profile *prof, uint32_t set, uint64_t time_ns)
{
	_cleanup_free_ struct profile_label *labels = NULL;
	size_t cnt;

	if (set == PROFILE_NONE)
		return PROFILE_NONE;
	labels = others_of(prof, set, &cnt);
	if (!labels)
		return PROFILE_NONE;
	labels[cnt++] = (struct profile_label){
		.key = profile_string(prof, time_key),
		.str = PROFILE_NONE,
		.num = time_ns <= INT64_MAX ? (int64_t)time_ns : INT64_MAX,
		.num_unit = profile_string(prof, time_unit),
	};
	return profile_labels(prof, labels, cnt);
}

uint32_t timeline_without(struct profile *prof, uint32_t set)
{
	_cleanup_free_ struct profile_label *labels = NULL;
	uint64_t time_ns;
	size_t cnt;

	if (set == PROFILE_NONE || !timeline_time(prof, set, &time_ns))
		return set;
	labels = others_of(prof, set, &cnt);
	return labels ? profile_labels(prof, labels, cnt) : (uint32_t)PROFILE_NONE;
}

bool timeline_time(const struct profile *prof, uint32_t set, uint64_t *out)
{
	const struct profile_label_set *labels = &prof->label_sets[set];

	for (uint32_t i = labels->first; i < labels->first + labels->cnt; i++) {
		if (!is_time(prof, &prof->labels[i]))
			continue;
		*out = (uint64_t)prof->labels[i].num;
		return true;
	}
	return false;
}

uint64_t timeline_bucket_ns(const struct profile *prof)
{
	uint64_t bucket_ns = 0;

	for (uint32_t i = 0; i < prof->label_set_cnt; i++) {
		uint64_t left = bucket_ns, right;

		if (!timeline_time(prof, i, &right))
			continue;
		while (right) {
			uint64_t rest = left % right;

			left = right;
			right = rest;
		}
		bucket_ns = left;
	}
	return bucket_ns;
}

bool timeline_is_kept(const struct profile *prof)
{
	uint64_t time_ns;

	for (size_t i = 0; i < prof->sample_cnt; i++)
		if (timeline_time(prof, prof->samples[i].label_set, &time_ns))
			return true;
	return false;
}

struct moment {
	uint64_t time_ns;
	uint32_t sample;
};

static int compare_moments(const void *left_ptr, const void *right_ptr)
{
	const struct moment *left = left_ptr, *right = right_ptr;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return (left->sample > right->sample) - (left->sample < right->sample);
}

int timeline_order(const struct profile *prof, uint32_t *out)
{
	_cleanup_free_ struct moment *moments = calloc(prof->sample_cnt + 1, sizeof(*moments));

	if (!moments)
		return -ENOMEM;
	for (uint32_t i = 0; i < prof->sample_cnt; i++) {
		moments[i].sample = i;
		timeline_time(prof, prof->samples[i].label_set, &moments[i].time_ns);
	}
	qsort(moments, prof->sample_cnt, sizeof(*moments), compare_moments);
	for (size_t i = 0; i < prof->sample_cnt; i++)
		out[i] = moments[i].sample;
	return 0;
}
