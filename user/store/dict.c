/* SPDX-License-Identifier: Apache-2.0 */
/* The dictionary of a generation, in memory. */
#include "store/dict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int dict_init(struct dict *dict)
{
	int err;

	*dict = (struct dict){.named_cnt = 0};
	err = profile_init(&dict->prof);
	/* "" is there from the start, on both sides. */
	dict->saved.strings = dict->prof.strings.cnt;
	return err;
}

void dict_deinit(struct dict *dict)
{
	profile_deinit(&dict->prof);
	free(dict->saved_mappings);
	free(dict->named);
	*dict = (struct dict){.named_cnt = 0};
}

static uint64_t slots_bytes(const struct hmap *map)
{
	return map->slots ? (map->mask + 1) * sizeof(*map->slots) : 0;
}

uint64_t dict_bytes(const struct dict *dict)
{
	const struct profile *prof = &dict->prof;

	return prof->strings.bytes_cap + prof->strings.cap * sizeof(*prof->strings.offsets) +
	       prof->mapping_cap * sizeof(*prof->mappings) +
	       prof->function_cap * sizeof(*prof->functions) +
	       prof->location_cap * sizeof(*prof->locations) +
	       prof->line_cap * sizeof(*prof->lines) + prof->stack_cap * sizeof(*prof->stacks) +
	       prof->stack_location_cap * sizeof(*prof->stack_locations) +
	       prof->label_cap * sizeof(*prof->labels) +
	       prof->label_set_cap * sizeof(*prof->label_sets) + slots_bytes(&prof->strings.index) +
	       slots_bytes(&prof->mapping_index) + slots_bytes(&prof->function_index) +
	       slots_bytes(&prof->location_index) + slots_bytes(&prof->stack_index) +
	       slots_bytes(&prof->label_set_index) +
	       dict->saved_mapping_cap * sizeof(*dict->saved_mappings) +
	       dict->named_cap * sizeof(*dict->named);
}

struct dict_mark dict_mark_of(const struct dict *dict)
{
	const struct profile *prof = &dict->prof;

	return (struct dict_mark){
		.strings = prof->strings.cnt,
		.mappings = prof->mapping_cnt,
		.functions = prof->function_cnt,
		.locations = prof->location_cnt,
		.stacks = prof->stack_cnt,
		.label_sets = prof->label_set_cnt,
	};
}

bool dict_has_news(const struct dict *dict)
{
	struct dict_mark now = dict_mark_of(dict);

	if (memcmp(&now, &dict->saved, sizeof(now)) != 0 || dict->named_cnt != dict->named_saved)
		return true;
	for (uint64_t i = 0; i < now.mappings; i++)
		if (!dict_mapping_is_same(&dict->prof.mappings[i], &dict->saved_mappings[i]))
			return true;
	return false;
}

void dict_name(struct dict *dict, uint32_t location, const struct profile_line *lines,
	       size_t line_cnt)
{
	struct profile *prof = &dict->prof;

	if (prof->err || prof->locations[location].line_cnt || !line_cnt)
		return;
	prof->err = array_reserve(&dict->named, &dict->named_cap, dict->named_cnt + 1,
				  sizeof(*dict->named));
	profile_set_lines(prof, location, lines, line_cnt);
	if (!prof->err)
		dict->named[dict->named_cnt++] = location;
}

int dict_set_saved(struct dict *dict)
{
	const struct profile *prof = &dict->prof;
	int err = array_reserve(&dict->saved_mappings, &dict->saved_mapping_cap, prof->mapping_cnt,
				sizeof(*prof->mappings));

	if (err)
		return err;
	if (prof->mapping_cnt)
		memcpy(dict->saved_mappings, prof->mappings,
		       prof->mapping_cnt * sizeof(*prof->mappings));
	dict->saved = dict_mark_of(dict);
	dict->named_saved = dict->named_cnt;
	return 0;
}

/* All of @src but its lines, entry by entry; stops where a number differs. */
static bool intern_strings(const struct profile *src, struct profile *dst)
{
	for (uint32_t i = 0; i < src->strings.cnt; i++)
		if (profile_string(dst, profile_str(src, i)) != i)
			return false;
	return true;
}

static bool intern_code(const struct profile *src, struct profile *dst)
{
	uint64_t shift;

	for (uint32_t i = 0; i < src->mapping_cnt; i++)
		if (profile_mapping_add(dst, &src->mappings[i], &shift) != i)
			return false;
	for (uint32_t i = 0; i < src->function_cnt; i++)
		if (profile_function_add(dst, &src->functions[i]) != i)
			return false;
	return true;
}

static bool intern_locations(const struct dict *src, const bool *is_named, struct dict *dst)
{
	const struct profile_location *loc;

	for (uint32_t i = 0; i < src->prof.location_cnt; i++) {
		loc = &src->prof.locations[i];
		if (profile_location_lines(&dst->prof, loc->mapping, loc->address, loc->flags,
					   src->prof.lines + loc->first_line,
					   is_named[i] ? 0 : loc->line_cnt) != i)
			return false;
	}
	for (size_t i = 0; i < src->named_cnt; i++) {
		loc = &src->prof.locations[src->named[i]];
		dict_name(dst, src->named[i], src->prof.lines + loc->first_line, loc->line_cnt);
	}
	return !dst->prof.err;
}

static bool intern_sets(const struct profile *src, struct profile *dst)
{
	const struct profile_stack *stack;
	const struct profile_label_set *set;

	for (uint32_t i = 0; i < src->stack_cnt; i++) {
		stack = &src->stacks[i];
		if (profile_stack(dst, stack->cnt ? src->stack_locations + stack->first : NULL,
				  stack->cnt) != i)
			return false;
	}
	for (uint32_t i = 0; i < src->label_set_cnt; i++) {
		set = &src->label_sets[i];
		if (profile_labels(dst, set->cnt ? src->labels + set->first : NULL, set->cnt) != i)
			return false;
	}
	return true;
}

int dict_intern(const struct dict *src, struct dict *dst)
{
	bool *is_named = calloc(src->prof.location_cnt + 1, sizeof(*is_named));
	bool is_same;

	if (!is_named)
		return -ENOMEM;
	for (size_t i = 0; i < src->named_cnt; i++)
		is_named[src->named[i]] = true;
	is_same = intern_strings(&src->prof, &dst->prof) && intern_code(&src->prof, &dst->prof) &&
		  intern_locations(src, is_named, dst) && intern_sets(&src->prof, &dst->prof);
	free(is_named);
	if (dst->prof.err)
		return dst->prof.err;
	return is_same ? dict_set_saved(dst) : -EBADMSG;
}
