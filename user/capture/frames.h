/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel-side stack (normalised frames) as a stack of the profile. */
#ifndef BPFPROF_CAPTURE_FRAMES_H
#define BPFPROF_CAPTURE_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"

struct drain;

/* Names of enum bp_stack_outcome and enum bp_loss, from outcomes.def. */
const char *stack_outcome_name(uint32_t outcome);
const char *loss_name(uint32_t loss);

/* Where user frame @i (leaf = 0) is stored; see BP_FRAMES_LEAF. */
uint32_t user_frame_slot(uint32_t i);

/*
 * Intern @stack, whose frames stand at @frames as abi.h describes (kernel leaf first, then user
 * leaf first with the root window rotated), with "[N frames elided]" and "[truncated: REASON]"
 * where they belong; raw frames are those of @who's process. Profile stack index, PROFILE_NONE on
 * -ENOMEM.
 */
uint32_t frames_to_stack(struct drain *drain, const struct bp_stack *stack, const __u64 *frames,
			 const struct bp_who *who);

/* Are there frames in @stack that only its process tells apart? */
bool stack_has_raw(const struct bp_stack *stack, const __u64 *frames);

#endif
