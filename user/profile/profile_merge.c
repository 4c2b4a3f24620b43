/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copying samples from one profile into another: merge and filter. Each entity of the source is
 * brought over the first time that a sample needs it and remembered in a column of target indices,
 * so the work is linear in the source and nothing unused is brought.
 */
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "profile/ledger.h"
#include "profile/profile_priv.h"

struct import {
	struct profile *dst;
	const struct profile *src;
	/* source index -> target index, PROFILE_NONE while not brought over; owned */
	uint32_t *strings, *mappings, *functions, *locations, *stacks, *label_sets;
	uint64_t *mapping_shifts;
	uint32_t value_at[PROFILE_VALUES_MAX]; /* source value -> target value */
	/* scratch for one stack, label set or location; owned */
	uint32_t *ids;
	struct profile_label *labels;
	struct profile_line *lines;
	size_t id_cap, label_cap, line_cap;
};

static uint32_t *new_column(size_t cnt)
{
	uint32_t *column = malloc((cnt ? cnt : 1) * sizeof(*column));

	for (size_t i = 0; column && i < cnt; i++)
		column[i] = PROFILE_NONE;
	return column;
}

static void import_deinit(struct import *import)
{
	free(import->strings);
	free(import->mappings);
	free(import->functions);
	free(import->locations);
	free(import->stacks);
	free(import->label_sets);
	free(import->mapping_shifts);
	free(import->ids);
	free(import->labels);
	free(import->lines);
}

static int import_init(struct import *import, struct profile *dst, const struct profile *src)
{
	*import = (struct import){
		.dst = dst,
		.src = src,
		.strings = new_column(src->strings.cnt),
		.mappings = new_column(src->mapping_cnt),
		.functions = new_column(src->function_cnt),
		.locations = new_column(src->location_cnt),
		.stacks = new_column(src->stack_cnt),
		.label_sets = new_column(src->label_set_cnt),
		.mapping_shifts = calloc(src->mapping_cnt + 1, sizeof(uint64_t)),
	};
	if (!import->strings || !import->mappings || !import->functions || !import->locations ||
	    !import->stacks || !import->label_sets || !import->mapping_shifts) {
		import_deinit(import);
		return -ENOMEM;
	}
	return 0;
}

/* Scratch of @need elements; on failure the target's sticky error is set, and false. */
static bool reserve_scratch(struct import *import, void *items, size_t *cap, size_t need,
			    size_t elem_bytes)
{
	if (!import->dst->err)
		import->dst->err = array_reserve(items, cap, need, elem_bytes);
	return !import->dst->err;
}

static uint32_t import_string(struct import *import, uint32_t id)
{
	if (id == PROFILE_NONE)
		return PROFILE_NONE;
	if (import->strings[id] == PROFILE_NONE)
		import->strings[id] = profile_string(import->dst, profile_str(import->src, id));
	return import->strings[id];
}

static uint32_t import_mapping(struct import *import, uint32_t id)
{
	struct profile_mapping mapping;

	if (id == PROFILE_NONE)
		return PROFILE_NONE;
	if (import->mappings[id] == PROFILE_NONE) {
		mapping = import->src->mappings[id];
		mapping.path = import_string(import, mapping.path);
		mapping.build_id = import_string(import, mapping.build_id);
		import->mappings[id] =
			profile_mapping_add(import->dst, &mapping, &import->mapping_shifts[id]);
	}
	return import->mappings[id];
}

static uint32_t import_function(struct import *import, uint32_t id)
{
	struct profile_function function;

	if (import->functions[id] == PROFILE_NONE) {
		function = import->src->functions[id];
		function.name = import_string(import, function.name);
		function.system_name = import_string(import, function.system_name);
		function.file = import_string(import, function.file);
		import->functions[id] = profile_function_add(import->dst, &function);
	}
	return import->functions[id];
}

static uint32_t copy_location(struct import *import, const struct profile_location *loc)
{
	uint32_t mapping = import_mapping(import, loc->mapping);
	uint64_t address = loc->address;

	if (import->dst->err)
		return PROFILE_NONE;
	if (loc->mapping != PROFILE_NONE)
		address += import->mapping_shifts[loc->mapping];
	if (!reserve_scratch(import, &import->lines, &import->line_cap, loc->line_cnt,
			     sizeof(*import->lines)))
		return PROFILE_NONE;
	for (uint32_t i = 0; i < loc->line_cnt; i++) {
		import->lines[i] = import->src->lines[loc->first_line + i];
		import->lines[i].function = import_function(import, import->lines[i].function);
	}
	return profile_location_lines(import->dst, mapping, address, loc->flags, import->lines,
				      loc->line_cnt);
}

static uint32_t import_location(struct import *import, uint32_t id)
{
	if (import->locations[id] == PROFILE_NONE)
		import->locations[id] = copy_location(import, &import->src->locations[id]);
	return import->locations[id];
}

static uint32_t import_stack(struct import *import, uint32_t id)
{
	const struct profile_stack *stack = &import->src->stacks[id];

	if (import->stacks[id] != PROFILE_NONE)
		return import->stacks[id];
	if (!reserve_scratch(import, &import->ids, &import->id_cap, stack->cnt,
			     sizeof(*import->ids)))
		return PROFILE_NONE;
	for (uint32_t i = 0; i < stack->cnt; i++)
		import->ids[i] =
			import_location(import, import->src->stack_locations[stack->first + i]);
	import->stacks[id] = profile_stack(import->dst, import->ids, stack->cnt);
	return import->stacks[id];
}

static uint32_t import_label_set(struct import *import, uint32_t id)
{
	const struct profile_label_set *set = &import->src->label_sets[id];
	struct profile_label *label;

	if (import->label_sets[id] != PROFILE_NONE)
		return import->label_sets[id];
	if (!reserve_scratch(import, &import->labels, &import->label_cap, set->cnt,
			     sizeof(*import->labels)))
		return PROFILE_NONE;
	for (uint32_t i = 0; i < set->cnt; i++) {
		label = &import->labels[i];
		*label = import->src->labels[set->first + i];
		label->key = import_string(import, label->key);
		label->str = import_string(import, label->str);
		label->num_unit = import_string(import, label->num_unit);
	}
	import->label_sets[id] = profile_labels(import->dst, import->labels, set->cnt);
	return import->label_sets[id];
}

static void import_sample(struct import *import, uint32_t id)
{
	const struct profile *src = import->src;
	const int64_t *from = src->values + (size_t)id * src->value_type_cnt;
	int64_t values[PROFILE_VALUES_MAX];
	uint32_t stack = import_stack(import, src->samples[id].stack);
	uint32_t label_set = import_label_set(import, src->samples[id].label_set);

	for (uint32_t i = 0; i < src->value_type_cnt; i++)
		values[import->value_at[i]] = from[i];
	profile_sample(import->dst, stack, label_set, values);
}

/* A target without value types takes the source's, their order and its default. */
static void take_value_types(struct import *import)
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
static int match_value_types(struct import *import)
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
static void import_header(struct import *import)
{
	struct profile *dst = import->dst;
	const struct profile *src = import->src;

	if (dst->period_type.type == STRTAB_EMPTY && dst->period_type.unit == STRTAB_EMPTY) {
		dst->period_type.type = import_string(import, src->period_type.type);
		dst->period_type.unit = import_string(import, src->period_type.unit);
	}
	if (src->period > dst->period)
		dst->period = src->period;
	if (src->time_ns && (!dst->time_ns || src->time_ns < dst->time_ns))
		dst->time_ns = src->time_ns;
	if (__builtin_add_overflow(dst->duration_ns, src->duration_ns, &dst->duration_ns))
		dst->duration_ns = UINT64_MAX;
}

/* All comments but the ledgers, each text once. */
static int import_comments(struct import *import)
{
	const struct profile *src = import->src;
	struct profile *dst = import->dst;
	_cleanup_free_ bool *is_known = NULL;
	uint32_t id;

	for (size_t i = 0; i < src->comment_cnt; i++)
		import_string(import, src->comments[i]);
	if (dst->err)
		return dst->err;
	is_known = calloc(dst->strings.cnt, sizeof(*is_known));
	if (!is_known)
		return -ENOMEM;
	for (size_t i = 0; i < dst->comment_cnt; i++)
		is_known[dst->comments[i]] = true;
	for (size_t i = 0; i < src->comment_cnt; i++) {
		id = import_string(import, src->comments[i]);
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

static int import_everything(struct import *import, const struct ledger *ledger)
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
	_cleanup_(import_deinit) struct import import;
	int err, ledger_err;

	ledger_init(&ledger);
	import = (struct import){.dst = NULL};
	if (dst->err || src->err)
		return dst->err ? dst->err : src->err;
	err = import_init(&import, dst, src);
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
	_cleanup_(import_deinit) struct import import = {.dst = NULL};
	int err;

	if (src->err)
		return src->err;
	err = import_init(&import, dst, src);
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
