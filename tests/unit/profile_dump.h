/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that a profile says, as sorted text: equal dumps are equal profiles, whatever order
 * their entities were added in. Include it after cmocka. */
#ifndef BPFPROF_TESTS_PROFILE_DUMP_H
#define BPFPROF_TESTS_PROFILE_DUMP_H

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "profile/profile.h"

static inline void dump_location(const struct profile *prof, uint32_t id, struct buf *out)
{
	const struct profile_location *loc = &prof->locations[id];

	buf_printf(out, " | %" PRIx64 " flags %u", loc->address, loc->flags);
	if (loc->mapping != PROFILE_NONE) {
		const struct profile_mapping *map = &prof->mappings[loc->mapping];

		buf_printf(out, " in '%s' '%s' %" PRIx64 "-%" PRIx64 "@%" PRIx64 " flags %u",
			   profile_str(prof, map->path), profile_str(prof, map->build_id),
			   map->start, map->limit, map->file_off, map->flags);
	}
	for (uint32_t i = 0; i < loc->line_cnt; i++) {
		const struct profile_line *line = &prof->lines[loc->first_line + i];
		const struct profile_function *func = &prof->functions[line->function];

		buf_printf(out, " '%s' '%s' '%s':%u:%u", profile_str(prof, func->name),
			   profile_str(prof, func->system_name), profile_str(prof, func->file),
			   func->start_line, line->line);
	}
}

static inline void dump_labels(const struct profile *prof, uint32_t id, struct buf *out)
{
	const struct profile_label_set *set = &prof->label_sets[id];

	for (uint32_t i = 0; i < set->cnt; i++) {
		const struct profile_label *label = &prof->labels[set->first + i];

		if (label->str != PROFILE_NONE)
			buf_printf(out, " %s='%s'", profile_str(prof, label->key),
				   profile_str(prof, label->str));
		else
			buf_printf(out, " %s=%" PRId64 "(%s)", profile_str(prof, label->key),
				   label->num, profile_str(prof, label->num_unit));
	}
}

static inline char *dump_sample(const struct profile *prof, size_t index)
{
	const struct profile_stack *stack = &prof->stacks[prof->samples[index].stack];
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	for (uint32_t i = 0; i < prof->value_type_cnt; i++)
		buf_printf(&out, " %" PRId64, prof->values[index * prof->value_type_cnt + i]);
	dump_labels(prof, prof->samples[index].label_set, &out);
	for (uint32_t i = 0; i < stack->cnt; i++)
		dump_location(prof, prof->stack_locations[stack->first + i], &out);
	return buf_take(&out, NULL);
}

static inline int dump_compare(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static inline void dump_profile(const struct profile *prof, struct buf *out)
{
	char **lines = calloc(prof->sample_cnt + 1, sizeof(*lines));

	for (uint32_t i = 0; i < prof->value_type_cnt; i++)
		buf_printf(out, "value %s/%s\n", profile_str(prof, prof->value_types[i].type),
			   profile_str(prof, prof->value_types[i].unit));
	buf_printf(out, "default %u period %" PRId64 " %s/%s time %" PRIu64 " + %" PRIu64 "\n",
		   prof->default_value, prof->period, profile_str(prof, prof->period_type.type),
		   profile_str(prof, prof->period_type.unit), prof->time_ns, prof->duration_ns);
	for (size_t i = 0; i < prof->comment_cnt; i++)
		buf_printf(out, "comment %s\n", profile_str(prof, prof->comments[i]));
	for (size_t i = 0; i < prof->sample_cnt; i++)
		lines[i] = dump_sample(prof, i);
	qsort(lines, prof->sample_cnt, sizeof(*lines), dump_compare);
	for (size_t i = 0; i < prof->sample_cnt; i++) {
		buf_printf(out, "%s\n", lines[i]);
		free(lines[i]);
	}
	free(lines);
}

static inline void assert_same(const struct profile *left, const struct profile *right)
{
	struct buf left_text, right_text;

	buf_init(&left_text, BUF_NO_MAX);
	buf_init(&right_text, BUF_NO_MAX);
	dump_profile(left, &left_text);
	dump_profile(right, &right_text);
	assert_string_equal(buf_cstr(&left_text), buf_cstr(&right_text));
	buf_deinit(&left_text);
	buf_deinit(&right_text);
}

#endif
