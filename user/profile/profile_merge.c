/* SPDX-License-Identifier: Apache-2.0 */
/* Copying samples from one profile into another: merge and filter. */
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/ledger.h"
#include "profile/profile_import.h"
#include "profile/profile_priv.h"

static void import_sample(struct profile_import *import, uint32_t id)
{
	const struct profile *src = import->src;
	const int64_t *from = src->values + (size_t)id * src->value_type_cnt;
	int64_t values[PROFILE_VALUES_MAX];
	uint32_t stack = profile_import_stack(import, src->samples[id].stack);
	uint32_t label_set = profile_import_label_set(import, src->samples[id].label_set);

	for (uint32_t i = 0; i < src->value_type_cnt; i++)
		values[import->value_at[i]] = from[i];
	profile_sample(import->dst, stack, label_set, values);
}

/* A target without value types takes the source's, their order and its default. */
static void take_value_types(struct profile_import *import)
{
	const struct profile *src = import->src;

	for (uint32_t i = 0; i < src->value_type_cnt; i++) {
		profile_add_value_type(import->dst, profile_str(src, src->value_types[i].type),
				       profile_str(src, src->value_types[i].unit));
		import->value_at[i] = i;
	}
	import->dst->default_value = src->default_value;
}

static bool value_type_equal(const struct profile *left, struct profile_value_type left_type,
			     const struct profile *right, struct profile_value_type right_type)
{
	return !strcmp(profile_str(left, left_type.type), profile_str(right, right_type.type)) &&
	       !strcmp(profile_str(left, left_type.unit), profile_str(right, right_type.unit));
}

/* Pair the value types one to one. 0, or -EINVAL where the two have not the same ones. */
static int match_value_types(struct profile_import *import)
{
	const struct profile *dst = import->dst, *src = import->src;
	bool is_taken[PROFILE_VALUES_MAX] = {false};
	uint32_t at;

	if (src->value_type_cnt != dst->value_type_cnt)
		return -EINVAL;
	for (uint32_t i = 0; i < src->value_type_cnt; i++) {
		for (at = 0; at < dst->value_type_cnt; at++) {
			if (!is_taken[at] &&
			    value_type_equal(src, src->value_types[i], dst, dst->value_types[at]))
				break;
		}
		if (at == dst->value_type_cnt)
			return -EINVAL;
		is_taken[at] = true;
		import->value_at[i] = at;
	}
	return 0;
}

/* Period and times. */
static void import_header(struct profile_import *import)
{
	struct profile *dst = import->dst;
	const struct profile *src = import->src;

	if (dst->period_type.type == STRTAB_EMPTY && dst->period_type.unit == STRTAB_EMPTY) {
		dst->period_type.type = profile_import_string(import, src->period_type.type);
		dst->period_type.unit = profile_import_string(import, src->period_type.unit);
	}
	if (src->period > dst->period)
		dst->period = src->period;
	if (src->time_ns && (!dst->time_ns || src->time_ns < dst->time_ns))
		dst->time_ns = src->time_ns;
	if (__builtin_add_overflow(dst->duration_ns, src->duration_ns, &dst->duration_ns))
		dst->duration_ns = UINT64_MAX;
}

/* All comments but the ledgers, each text once. */
static int import_comments(struct profile_import *import)
{
	const struct profile *src = import->src;
	struct profile *dst = import->dst;
	_cleanup_free_ bool *is_known = NULL;
	uint32_t id;

	for (size_t i = 0; i < src->comment_cnt; i++)
		profile_import_string(import, src->comments[i]);
	if (dst->err)
		return dst->err;
	is_known = calloc(dst->strings.cnt, sizeof(*is_known));
	if (!is_known)
		return -ENOMEM;
	for (size_t i = 0; i < dst->comment_cnt; i++)
		is_known[dst->comments[i]] = true;
	for (size_t i = 0; i < src->comment_cnt; i++) {
		id = profile_import_string(import, src->comments[i]);
		if (is_known[id] || profile_is_ledger_comment(src, src->comments[i]))
			continue;
		is_known[id] = true;
		profile_add_comment(dst, profile_str(src, src->comments[i]));
	}
	return dst->err;
}

/* The sum of both ledgers into @out, which the caller deinitialises. -ENOENT: neither has one. */
static int add_ledgers(const struct profile *dst, const struct profile *src, struct ledger *out)
{
	_cleanup_(ledger_deinit) struct ledger more;
	int err = profile_get_ledger(dst, out), more_err;

	ledger_init(&more);
	if (err && err != -ENOENT)
		return err;
	more_err = profile_get_ledger(src, &more);
	if (more_err == -ENOENT)
		return err;
	return more_err ? more_err : ledger_merge(out, &more);
}

static int import_everything(struct profile_import *import, const struct ledger *ledger)
{
	struct profile *dst = import->dst;
	int err;

	import_header(import);
	for (size_t i = 0; i < import->src->sample_cnt && !dst->err; i++)
		import_sample(import, (uint32_t)i);
	err = import_comments(import);
	if (!err && ledger)
		err = profile_set_ledger(dst, ledger);
	return err;
}

int profile_merge(struct profile *dst, const struct profile *src)
{
	_cleanup_(ledger_deinit) struct ledger ledger;
	_cleanup_(profile_import_deinit) struct profile_import import;
	int err, ledger_err;

	ledger_init(&ledger);
	import = (struct profile_import){.dst = NULL};
	if (dst->err || src->err)
		return dst->err ? dst->err : src->err;
	err = profile_import_init(&import, dst, src);
	if (err)
		return err;
	/* What may be refused comes before the first change. */
	if (dst->value_type_cnt)
		err = match_value_types(&import);
	if (err)
		return err;
	ledger_err = add_ledgers(dst, src, &ledger);
	if (ledger_err && ledger_err != -ENOENT)
		return ledger_err;
	if (!dst->value_type_cnt)
		take_value_types(&import);
	return import_everything(&import, ledger_err ? NULL : &ledger);
}

int profile_filter(const struct profile *src, profile_keep_fn *keep, void *arg, struct profile *dst)
{
	_cleanup_(profile_import_deinit) struct profile_import import = {.dst = NULL};
	int err;

	if (src->err)
		return src->err;
	err = profile_import_init(&import, dst, src);
	if (err)
		return err;
	take_value_types(&import);
	import_header(&import);
	for (size_t i = 0; i < src->sample_cnt && !dst->err; i++) {
		if (keep(src, (uint32_t)i, arg))
			import_sample(&import, (uint32_t)i);
	}
	for (size_t i = 0; i < src->comment_cnt; i++)
		profile_add_comment(dst, profile_str(src, src->comments[i]));
	return dst->err;
}
