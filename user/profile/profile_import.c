/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of one profile into another. */
#include "profile/profile_import.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

uint32_t *profile_new_column(size_t cnt)
{
	uint32_t *column = malloc((cnt ? cnt : 1) * sizeof(*column));

	for (size_t i = 0; column && i < cnt; i++)
		column[i] = PROFILE_NONE;
	return column;
}

void profile_import_deinit(struct profile_import *import)
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
	*import = (struct profile_import){.dst = NULL};
}

int profile_import_init(struct profile_import *import, struct profile *dst,
			const struct profile *src)
{
	*import = (struct profile_import){
		.dst = dst,
		.src = src,
		.strings = profile_new_column(src->strings.cnt),
		.mappings = profile_new_column(src->mapping_cnt),
		.functions = profile_new_column(src->function_cnt),
		.locations = profile_new_column(src->location_cnt),
		.stacks = profile_new_column(src->stack_cnt),
		.label_sets = profile_new_column(src->label_set_cnt),
		.mapping_shifts = calloc(src->mapping_cnt + 1, sizeof(uint64_t)),
	};
	if (!import->strings || !import->mappings || !import->functions || !import->locations ||
	    !import->stacks || !import->label_sets || !import->mapping_shifts) {
		profile_import_deinit(import);
		return -ENOMEM;
	}
	return 0;
}

/* Scratch of @need elements; on failure the target's sticky error is set, and false. */
static bool reserve_scratch(struct profile_import *import, void *items, size_t *cap, size_t need,
			    size_t elem_bytes)
{
	if (!import->dst->err)
		import->dst->err = array_reserve(items, cap, need, elem_bytes);
	return !import->dst->err;
}

uint32_t profile_import_string(struct profile_import *import, uint32_t id)
{
	if (id == PROFILE_NONE)
		return PROFILE_NONE;
	if (import->strings[id] == PROFILE_NONE)
		import->strings[id] = profile_string(import->dst, profile_str(import->src, id));
	return import->strings[id];
}

static uint32_t import_mapping(struct profile_import *import, uint32_t id)
{
	struct profile_mapping mapping;

	if (id == PROFILE_NONE)
		return PROFILE_NONE;
	if (import->mappings[id] == PROFILE_NONE) {
		mapping = import->src->mappings[id];
		mapping.path = profile_import_string(import, mapping.path);
		mapping.build_id = profile_import_string(import, mapping.build_id);
		import->mappings[id] =
			profile_mapping_add(import->dst, &mapping, &import->mapping_shifts[id]);
	}
	return import->mappings[id];
}

uint32_t profile_import_function(struct profile_import *import, uint32_t id)
{
	struct profile_function function;

	if (import->functions[id] == PROFILE_NONE) {
		function = import->src->functions[id];
		function.name = profile_import_string(import, function.name);
		function.system_name = profile_import_string(import, function.system_name);
		function.file = profile_import_string(import, function.file);
		import->functions[id] = profile_function_add(import->dst, &function);
	}
	return import->functions[id];
}

static uint32_t copy_location(struct profile_import *import, const struct profile_location *loc)
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
		import->lines[i].function =
			profile_import_function(import, import->lines[i].function);
	}
	return profile_location_lines(import->dst, mapping, address, loc->flags, import->lines,
				      loc->line_cnt);
}

uint32_t profile_import_location(struct profile_import *import, uint32_t id)
{
	if (import->locations[id] == PROFILE_NONE)
		import->locations[id] = copy_location(import, &import->src->locations[id]);
	return import->locations[id];
}

uint32_t profile_import_stack(struct profile_import *import, uint32_t id)
{
	const struct profile_stack *stack = &import->src->stacks[id];

	if (import->stacks[id] != PROFILE_NONE)
		return import->stacks[id];
	if (!reserve_scratch(import, &import->ids, &import->id_cap, stack->cnt,
			     sizeof(*import->ids)))
		return PROFILE_NONE;
	for (uint32_t i = 0; i < stack->cnt; i++)
		import->ids[i] = profile_import_location(
			import, import->src->stack_locations[stack->first + i]);
	import->stacks[id] = profile_stack(import->dst, import->ids, stack->cnt);
	return import->stacks[id];
}

uint32_t profile_import_label_set(struct profile_import *import, uint32_t id)
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
		label->key = profile_import_string(import, label->key);
		label->str = profile_import_string(import, label->str);
		label->num_unit = profile_import_string(import, label->num_unit);
	}
	import->label_sets[id] = profile_labels(import->dst, import->labels, set->cnt);
	return import->label_sets[id];
}
