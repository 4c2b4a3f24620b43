/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of a profile as rows of frames, root first, for the formats that write every frame
 * with its file, line and module (flame.h is for those that need the tree alone). A location with
 * inlined calls is several frames; the --by frame is the first.
 *
 *	frames_init()		items: a frame for each line of each location, each label set, ...
 *	frames_stack()		one sample: indices of items
 */
#ifndef BPFPROF_ENCODE_FRAMES_H
#define BPFPROF_ENCODE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "profile/profile.h"

struct frame {
	uint64_t address; /* 0 for what is no code */
	uint32_t name; /* in frames->names; never empty */
	uint32_t file; /* string of the profile, "" unknown */
	uint32_t line, start_line; /* 0 unknown */
	uint32_t mapping; /* of the profile, or PROFILE_NONE */
	uint16_t flags; /* enum profile_location_flags */
	bool is_inlined; /* into the frame before it */
	bool is_process; /* the --by frame */
};

struct frames {
	const struct profile *prof; /* borrowed */
	struct strtab names;
	struct frame *items; /* owned */
	size_t cnt, cap;
	uint32_t *stack; /* owned: the row that frames_stack() gave last */
	size_t stack_cnt, stack_cap;
	uint32_t *processes; /* owned: by label set its --by frame, or PROFILE_NONE */
	/* Of frames.c alone. Owned: by location its first item (one more entry closes the last
	 * range), by stack the frame for what is left out, or PROFILE_NONE. */
	uint32_t *locations, *elided;
	uint64_t given_cnt; /* frames in all rows so far */
};

/*
 * @by as in struct encoder_opts. 0; -E2BIG: more than UINT32_MAX frames; -ENOMEM; or @prof's own
 * err. To be deinitialised in either case.
 */
int frames_init(struct frames *frames, const struct profile *prof, const char *by);
void frames_deinit(struct frames *frames);

/*
 * Put the row of @sample into frames->stack; it has no frame where there is neither a stack nor a
 * label. A stack of more than FLAME_FRAMES_MAX has "[N frames elided]" in its middle. 0; -EFBIG
 * where all rows together, which a small hostile file may repeat without end, are beyond 2^27
 * frames; -ENOMEM.
 */
int frames_stack(struct frames *frames, const struct profile_sample *sample);

static inline const char *frames_name(const struct frames *frames, const struct frame *frame)
{
	return strtab_get(&frames->names, frame->name);
}

#endif
