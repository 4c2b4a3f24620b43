/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/debuginfod_rank.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "elf/debuginfod.h"
#include "profile/profile.h"

/* The default value of each sample to the mapping of each of its frames. */
static void add_samples(const struct profile *prof, int64_t *weights)
{
	for (size_t i = 0; i < prof->sample_cnt; i++) {
		const struct profile_stack *stack = &prof->stacks[prof->samples[i].stack];
		const uint32_t *frames = stack->cnt ? prof->stack_locations + stack->first : NULL;
		int64_t value = prof->values[i * prof->value_type_cnt + prof->default_value];

		for (uint32_t j = 0; j < stack->cnt; j++) {
			uint32_t mapping = prof->locations[frames[j]].mapping;

			if (mapping != PROFILE_NONE)
				weights[mapping] = profile_value_sum(weights[mapping], value);
		}
	}
}

int debuginfod_rank(struct debuginfod *client, const struct profile *prof)
{
	int64_t *weights = calloc(prof->mapping_cnt + 1, sizeof(*weights));

	if (!weights)
		return -ENOMEM;
	add_samples(prof, weights);
	for (size_t i = 0; i < prof->mapping_cnt; i++) {
		const char *hex = profile_str(prof, prof->mappings[i].build_id);
		uint8_t build_id[DEBUGINFOD_ID_MAX_BYTES];
		size_t len = hex_parse(hex, build_id, sizeof(build_id));

		if (len && weights[i] > 0)
			debuginfod_weigh(client, DEBUGINFOD_DEBUG_FILE, build_id, len,
					 (uint64_t)weights[i]);
	}
	free(weights);
	return 0;
}
