/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executing CFI programs (DWARF 5, section 6.4.2). All columns but three are skipped over, so that
 * a state is a few words and a row costs one callback.
 */
#ifndef BPFPROF_UNWIND_CFI_EVAL_H
#define BPFPROF_UNWIND_CFI_EVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi_parse.h"
#include "unwind/cfi_state.h"

enum {
	/* DW_CFA_remember_state nesting. Compilers nest once. */
	CFI_REMEMBER_MAX = 16
};

/* From @vaddr on, @state is how to step. Called in order of vaddr; @state is borrowed during the
 * call. NULL: the program cannot be followed from here on. */
typedef void cfi_row_fn(void *ctx, uint64_t vaddr, const struct cfi_state *state);

/*
 * Execute @walk's CIE @cie's initial instructions; cie->initial is their result, or cie->is_bad
 * set. Costs O(bytes of the program).
 */
void cfi_eval_cie(const struct cfi_walk *walk, const struct cfi_arch *arch, struct cfi_cie *cie);

/*
 * Execute @fde's program on top of its CIE's initial state (cfi_eval_cie() has run), and give each
 * row below @end_vaddr to @row. O(bytes of the program), no allocation.
 */
void cfi_eval_fde(const struct cfi_walk *walk, const struct cfi_arch *arch,
		  const struct cfi_fde *fde, uint64_t end_vaddr, cfi_row_fn *row, void *ctx);

#endif
