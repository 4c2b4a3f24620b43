/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two sides that the property test compares: what a compact rule and what libdw's evaluation
 * of the same CFI make of the same registers and memory. Registers and memory are made up: every
 * register and every address has its own value, so that equal results mean equal rules.
 */
#ifndef BPFPROF_TESTS_CFI_LIBDW_H
#define BPFPROF_TESTS_CFI_LIBDW_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi_unwind.h"
#include "unwind/cfi_state.h"

enum { CAUSE_BYTES = 160 };

/* The caller's registers after one step. */
struct step {
	bool is_end; /* there is no caller */
	bool is_unknown; /* no CFI, or none that the evaluator follows */
	bool fp_known;
	uint64_t cfa, fp, ra;
};

/* Made-up value of register @reg at @pc. */
uint64_t made_up_reg(const struct cfi_arch *arch, unsigned int reg, uint64_t pc);

void step_by_rule(const struct cfi_arch *arch, const struct bp_rule *rule, uint64_t pc,
		  struct step *out);
void step_by_libdw(const struct cfi_arch *arch, Dwarf_Frame *frame, uint64_t pc, struct step *out);

/* The operations that say how CFA, fp and RA are found in @frame, as text: "cfa: 77(8) 06 ...". */
void frame_describe(const struct cfi_arch *arch, Dwarf_Frame *frame, char out[CAUSE_BYTES]);

bool step_equal(const struct step *left, const struct step *right);

#endif
