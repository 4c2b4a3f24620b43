/* SPDX-License-Identifier: Apache-2.0 */
/* What the stacks of a profile are made of when they are drawn: the frames of every location, the
 * first frame of every label set. The flame tree and the report share it. */
#ifndef BPFPROF_ENCODE_FLAME_FRAMES_H
#define BPFPROF_ENCODE_FLAME_FRAMES_H

#include <stdint.h>

#include "base/strtab.h"
#include "encode/flame.h"
#include "profile/profile_calls.h"

/* One frame that a location stands for. */
struct flame_frame {
	uint32_t name; /* string in names */
	uint8_t kind; /* enum flame_kind */
	uint8_t flags; /* enum flame_flags */
};

struct flame_frames {
	const struct profile *prof; /* borrowed */
	struct strtab names;
	struct flame_frame *items; /* owned: of all locations, root-most first within each */
	size_t cnt, cap;
	uint32_t *first; /* owned: by location; one more entry closes the last range */
	uint32_t *process_names; /* owned: by label set; STRTAB_EMPTY: none */
};

/* Expand @prof; @by as in flame_build(). 0, -ENOMEM, -E2BIG: more than UINT32_MAX frames. @frames
 * is released with flame_frames_deinit() in either case. */
int flame_frames_init(struct flame_frames *frames, const struct profile *prof, const char *by);
void flame_frames_deinit(struct flame_frames *frames);

/* The same of a tree's places and its head's label sets. */
int flame_frames_init_calls(struct flame_frames *frames, const struct profile_calls *tree,
			    const char *by);

/* The frames of a stack, counted from the root, that are left out: [from, to), mostly empty. */
struct flame_gap {
	uint64_t from, to;
};

/* @locations: leaf first. */
struct flame_gap flame_stack_gap(const struct flame_frames *frames, const uint32_t *locations,
				 uint32_t cnt);

/* The string of "[N frames elided]" in names, or STRTAB_NONE. */
uint32_t flame_elided_name(struct flame_frames *frames, uint64_t elided_cnt);

#endif
