/* SPDX-License-Identifier: Apache-2.0 */
/* What a dictionary has gained, as a payload of columns. */
#include "store/dict.h"

#include <string.h>

#include "base/cleanup.h"
#include "store/varint.h"

static void add_mark(struct buf *out, const struct dict_mark *mark, const struct dict_mark *from)
{
	pb_add_varint(out, mark->strings - from->strings);
	pb_add_varint(out, mark->mappings - from->mappings);
	pb_add_varint(out, mark->functions - from->functions);
	pb_add_varint(out, mark->locations - from->locations);
	pb_add_varint(out, mark->stacks - from->stacks);
	pb_add_varint(out, mark->label_sets - from->label_sets);
}

static void add_strings(struct buf *out, const struct profile *prof, uint64_t from)
{
	for (uint64_t i = from; i < prof->strings.cnt; i++)
		pb_add_varint(out, strlen(profile_str(prof, (uint32_t)i)));
	for (uint64_t i = from; i < prof->strings.cnt; i++)
		buf_add_str(out, profile_str(prof, (uint32_t)i));
}

/* What widening changes. */
static void add_range(struct buf *out, const struct profile_mapping *mapping)
{
	pb_add_varint(out, mapping->start);
	pb_add_varint(out, mapping->limit);
	pb_add_varint(out, mapping->file_off);
	pb_add_varint(out, mapping->flags);
}

static void add_mappings(struct buf *out, const struct dict *dict)
{
	const struct profile *prof = &dict->prof;
	uint64_t changed = 0;

	for (uint64_t i = dict->saved.mappings; i < prof->mapping_cnt; i++) {
		pb_add_varint(out, prof->mappings[i].path);
		pb_add_varint(out, prof->mappings[i].build_id);
		add_range(out, &prof->mappings[i]);
	}
	for (uint64_t i = 0; i < dict->saved.mappings; i++)
		changed += !dict_mapping_is_same(&prof->mappings[i], &dict->saved_mappings[i]);
	pb_add_varint(out, changed);
	for (uint64_t i = 0; i < dict->saved.mappings; i++) {
		if (dict_mapping_is_same(&prof->mappings[i], &dict->saved_mappings[i]))
			continue;
		pb_add_varint(out, i);
		add_range(out, &prof->mappings[i]);
	}
}

static void add_functions(struct buf *out, const struct profile *prof, uint64_t from)
{
	uint32_t last = 0;

	for (uint64_t i = from; i < prof->function_cnt; last = prof->functions[i++].name)
		add_signed(out, (int64_t)prof->functions[i].name - last);
	for (uint64_t i = from; i < prof->function_cnt; i++)
		add_signed(out, (int64_t)prof->functions[i].system_name - prof->functions[i].name);
	last = 0;
	for (uint64_t i = from; i < prof->function_cnt; last = prof->functions[i++].file)
		add_signed(out, (int64_t)prof->functions[i].file - last);
	for (uint64_t i = from; i < prof->function_cnt; i++)
		pb_add_varint(out, prof->functions[i].start_line);
}

static void add_lines(struct buf *out, const struct profile *prof, uint64_t location)
{
	const struct profile_location *loc = &prof->locations[location];
	const struct profile_line *lines = prof->lines + loc->first_line;

	pb_add_varint(out, loc->line_cnt);
	for (uint32_t i = 0; i < loc->line_cnt; i++) {
		pb_add_varint(out, lines[i].function);
		pb_add_varint(out, lines[i].line);
	}
}

/* Was @location, which is new, named after it was added? Then it is found by its address, too. */
static bool is_named_later(const struct dict *dict, uint64_t location)
{
	for (size_t i = dict->named_saved; i < dict->named_cnt; i++)
		if (dict->named[i] == location)
			return true;
	return false;
}

static void add_locations(struct buf *out, const struct dict *dict)
{
	const struct profile *prof = &dict->prof;
	const uint64_t from = dict->saved.locations;
	uint64_t last = 0;

	for (uint64_t i = from; i < prof->location_cnt; i++)
		pb_add_varint(out, (uint64_t)(uint32_t)(prof->locations[i].mapping + 1));
	for (uint64_t i = from; i < prof->location_cnt; last = prof->locations[i++].address)
		add_signed(out, (int64_t)(prof->locations[i].address - last));
	for (uint64_t i = from; i < prof->location_cnt; i++)
		pb_add_varint(out, prof->locations[i].flags);
	for (uint64_t i = from; i < prof->location_cnt; i++) {
		if (is_named_later(dict, i))
			pb_add_varint(out, 0);
		else
			add_lines(out, prof, i);
	}
	pb_add_varint(out, dict->named_cnt - dict->named_saved);
	for (size_t i = dict->named_saved; i < dict->named_cnt; i++) {
		pb_add_varint(out, dict->named[i]);
		add_lines(out, prof, dict->named[i]);
	}
}

/* How many frames at the root two stacks have in common. */
static uint32_t common_root(const struct profile *prof, const struct profile_stack *left,
			    const struct profile_stack *right)
{
	const uint32_t *left_end = prof->stack_locations + left->first + left->cnt;
	const uint32_t *right_end = prof->stack_locations + right->first + right->cnt;
	uint32_t cnt = 0;

	while (cnt < left->cnt && cnt < right->cnt && *--left_end == *--right_end)
		cnt++;
	return cnt;
}

/* Each stack as how much of the one before it is kept at the root, and what is new at the leaf. */
static void add_stacks(struct buf *out, const struct profile *prof, uint64_t from)
{
	struct profile_stack last = {.cnt = 0};

	for (uint64_t i = from; i < prof->stack_cnt; last = prof->stacks[i++])
		pb_add_varint(out, common_root(prof, &last, &prof->stacks[i]));
	last.cnt = 0;
	for (uint64_t i = from; i < prof->stack_cnt; last = prof->stacks[i++]) {
		const struct profile_stack *stack = &prof->stacks[i];
		uint32_t fresh = stack->cnt - common_root(prof, &last, stack);

		pb_add_varint(out, fresh);
		for (uint32_t j = 0; j < fresh; j++)
			pb_add_varint(out, prof->stack_locations[stack->first + j]);
	}
}

static void add_label_sets(struct buf *out, const struct profile *prof, uint64_t from)
{
	for (uint64_t i = from; i < prof->label_set_cnt; i++) {
		const struct profile_label_set *set = &prof->label_sets[i];

		pb_add_varint(out, set->cnt);
		for (uint32_t j = 0; j < set->cnt; j++) {
			const struct profile_label *label = &prof->labels[set->first + j];

			pb_add_varint(out, label->key);
			pb_add_varint(out, (uint64_t)(uint32_t)(label->str + 1));
			if (label->str != PROFILE_NONE)
				continue;
			add_signed(out, label->num);
			pb_add_varint(out, label->num_unit);
		}
	}
}

void dict_encode(const struct dict *dict, struct buf *out)
{
	const struct dict_mark now = dict_mark_of(dict), zero = {.strings = 0};
	_cleanup_(buf_deinit) struct buf payload;

	buf_init(&payload, BUF_NO_MAX);
	add_mark(&payload, &dict->saved, &zero);
	add_mark(&payload, &now, &dict->saved);
	add_strings(&payload, &dict->prof, dict->saved.strings);
	add_mappings(&payload, dict);
	add_functions(&payload, &dict->prof, dict->saved.functions);
	add_locations(&payload, dict);
	add_stacks(&payload, &dict->prof, dict->saved.stacks);
	add_label_sets(&payload, &dict->prof, dict->saved.label_sets);
	pb_add_varint(out, payload.len);
	buf_add(out, payload.data, payload.len);
	if (payload.err && !out->err)
		out->err = payload.err;
}
