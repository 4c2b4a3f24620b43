/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step of a stack walk in userspace, over registers and a piece of stack that were copied out
 * of the process (struct bp_snapshot). The same rules as in the kernel (abi_unwind.h,
 * bpf/unwind_row.bpf.h), except that code without FDE is left by its frame pointer alone.
 */
#ifndef BPFPROF_UNWIND_STEP_H
#define BPFPROF_UNWIND_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "unwind/cfi_state.h"

enum { STEP_NEXT = -1 };

/* Where a walk stands. */
struct step_frame {
	uint64_t ip, sp, fp;
	uint64_t bx; /* rbx, valid when has_bx; in the leaf it is in regs */
	uint64_t regs[BP_SNAPSHOT_REGS]; /* by DWARF number, valid when has_regs: of
					    the leaf, or of the last signal frame */
	bool is_call_site; /* ip is a return address */
	bool is_leaf; /* or interrupted by a signal */
	bool has_regs, has_bx;
	int guess; /* the outcome of what fails from here on (the first step by frame pointer); 0:
		      of its own */
};

/* What was copied. */
struct step_memory {
	const struct cfi_arch *arch; /* of the process */
	const uint8_t *stack; /* borrowed */
	uint64_t stack_start; /* address of stack[0] */
	size_t stack_bytes;
	uint64_t start_stack; /* the main thread's first sp; 0: not known */
	uint32_t pages; /* bit i: stack[i * BP_SNAPSHOT_PAGE_BYTES] on was readable */
};

/* The machine this is compiled for. */
const struct cfi_arch *step_native_arch(void);

/*
 * Move @frame to its caller by @rule; @tracks_bx: the executable's rules say where rbx is saved.
 * STEP_NEXT, or the outcome (enum bp_stack_outcome) that ends the walk; @frame is then undefined.
 */
int step_by_rule(const struct step_memory *memory, const struct bp_rule *rule, bool tracks_bx,
		 struct step_frame *frame);

/* By frame pointer, believed when it lies above sp and within the stack; @why is the outcome when
 * it does not lead on. */
int step_by_fp(const struct step_memory *memory, int why, struct step_frame *frame);

#endif
