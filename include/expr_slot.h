/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) OR Apache-2.0 */
/*
 * Where compiled expressions stand in the BPF object. For each event that may be sampled and each
 * use there is a function, a slot, of BP_EXPR_SLOT_INSNS instructions and an exit:
 *
 *	r0 = MARKER		which slot it is
 *	r0 = DEFAULT
 *	if r0 == DEFAULT goto exit
 *	r0 = 0, repeated
 *	exit
 *
 * Before a program is loaded, the code of an expression is put over it from the marker on, and
 * ends with a jump to the exit of the same kind. No instruction is added or taken away, so what the
 * object says of functions and lines stays right. A verifier refuses code that no jump leads to.
 * It takes code behind a jump that it finds to be always taken, as this one, and removes it: an
 * unused slot costs a call and three instructions.
 */
#ifndef BPFPROF_EXPR_SLOT_H
#define BPFPROF_EXPR_SLOT_H

#include "limits.h"

enum bp_expr_use {
	BP_EXPR_WHERE, /* sample only where it is not 0 */
	BP_EXPR_WEIGHT, /* a sample's value */
	BP_EXPR_HIST, /* what a histogram counts by */
	BP_EXPR_USES,
};

enum bp_expr_limits {
	BP_EXPR_EVENTS = BP_EVENTS_SAMPLED,
	BP_EXPR_SLOT_INSNS = 160,
	BP_EXPR_END_INSNS = 2, /* the jump to the exit */
	/* Of struct bpf_insn's imm; the lowest bits: event * BP_EXPR_USES + use */
	BP_EXPR_MARKER = 0x45780000,
};

/* A slot's stack frame takes no more; 5.10 allows 512 bytes for all functions of a call chain. */
enum { BP_EXPR_STACK_BYTES = 128 };

/* What an unused slot gives: every sample is wanted, and is worth 1; no histogram has 0 only. */
#define BP_EXPR_DEFAULT(use) ((use) == BP_EXPR_HIST ? 0 : 1)

#define BP_EXPR_MARKER_OF(event, use) (BP_EXPR_MARKER + (event)*BP_EXPR_USES + (use))

#endif
