/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/window.h"

#include <stdlib.h>

void agent_window_deinit(struct agent_window *window)
{
	if (window->prof)
		profile_deinit(window->prof);
	if (window->ledger)
		ledger_deinit(window->ledger);
	free(window->prof);
	free(window->ledger);
	*window = (struct agent_window){.prof = NULL};
}

struct store_window agent_window_stored(const struct agent_window *window)
{
	return (struct store_window){
		.origin = window->origin,
		.start_ns = window->start_ns,
		.end_ns = window->end_ns,
		.prof = window->prof,
		.ledger = window->ledger,
		.kinds = window->kinds,
		.kind_cnt = window->kind_cnt,
	};
}

static size_t index_bytes(const struct hmap *map)
{
	return map->slots ? (map->mask + 1) * sizeof(*map->slots) : 0;
}

size_t agent_window_bytes(const struct agent_window *window)
{
	const struct profile *prof = window->prof;
	const struct hmap *indices[] = {
		&prof->mapping_index, &prof->function_index,  &prof->location_index,
		&prof->stack_index,   &prof->label_set_index, &prof->sample_index,
	};
	size_t bytes = sizeof(*window) + sizeof(*prof) + sizeof(*window->ledger);

	bytes += prof->strings.bytes_cap + prof->strings.cap * sizeof(*prof->strings.offsets) +
		 index_bytes(&prof->strings.index);
	bytes += prof->mapping_cap * sizeof(*prof->mappings);
	bytes += prof->function_cap * sizeof(*prof->functions);
	bytes += prof->location_cap * sizeof(*prof->locations);
	bytes += prof->line_cap * sizeof(*prof->lines);
	bytes += prof->stack_cap * sizeof(*prof->stacks);
	bytes += prof->stack_location_cap * sizeof(*prof->stack_locations);
	bytes += prof->label_cap * sizeof(*prof->labels);
	bytes += prof->label_set_cap * sizeof(*prof->label_sets);
	bytes += prof->sample_cap * sizeof(*prof->samples);
	bytes += prof->value_cap * sizeof(*prof->values);
	for (size_t i = 0; i < sizeof(indices) / sizeof(*indices); i++)
		bytes += index_bytes(indices[i]);
	return bytes;
}
