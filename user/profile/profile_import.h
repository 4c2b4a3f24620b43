/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of one profile brought into another: merge and filter bring samples, the store what its
 * dictionary lacks. Each entity of the source is brought over the first time that it is asked for
 * and remembered in a column of target indices, so the work is linear in what is asked for and
 * nothing unused is brought.
 */
#ifndef BPFPROF_PROFILE_PROFILE_IMPORT_H
#define BPFPROF_PROFILE_PROFILE_IMPORT_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct profile_import {
	struct profile *dst; /* borrowed */
	const struct profile *src; /* borrowed; it must not grow meanwhile */
	/* source index -> target index, PROFILE_NONE while not brought over; owned */
	uint32_t *strings, *mappings, *functions, *locations, *stacks, *label_sets;
	uint64_t *mapping_shifts;
	uint32_t value_at[PROFILE_VALUES_MAX]; /* source value -> target value: the user's */
	/* scratch for one stack, label set or location; owned */
	uint32_t *ids;
	struct profile_label *labels;
	struct profile_line *lines;
	size_t id_cap, label_cap, line_cap;
};

/* @cnt times PROFILE_NONE: what becomes of each entity of a kind, while nothing has. *Owned*; NULL
 * when memory is out. */
uint32_t *profile_new_column(size_t cnt);

/* 0 or -ENOMEM, when there is nothing to deinitialise. */
int profile_import_init(struct profile_import *import, struct profile *dst,
			const struct profile *src);
void profile_import_deinit(struct profile_import *import);

/*
 * The index in the target of what has @id in the source, with all that it consists of. The source
 * needs no indices (hmaps), only columns. PROFILE_NONE, and the target's sticky error set, on
 * failure; the string of PROFILE_NONE is PROFILE_NONE.
 */
uint32_t profile_import_string(struct profile_import *import, uint32_t id);
uint32_t profile_import_function(struct profile_import *import, uint32_t id);
uint32_t profile_import_location(struct profile_import *import, uint32_t id);
uint32_t profile_import_stack(struct profile_import *import, uint32_t id);
uint32_t profile_import_label_set(struct profile_import *import, uint32_t id);

#endif
