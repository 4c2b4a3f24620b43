/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions as BPF instructions, for every kernel from 5.10 on: no loop, no map, no relocation.
 *
 * The context is in r1 at the begin; it falls off its end with the value in r0. It uses up to
 * BP_EXPR_STACK_BYTES of its own stack frame and all registers, which a call keeps for its caller.
 * Its context is struct pt_regs for probes, the record for BPF_PROG_TYPE_TRACEPOINT, anything whose
 * first 8 bytes may be read otherwise (struct bpf_perf_event_data).
 */
#ifndef BPFPROF_EVENT_EXPR_CODE_H
#define BPFPROF_EVENT_EXPR_CODE_H

#include <linux/bpf.h>

#include "event/expr.h"
#include "expr_slot.h"

enum { EXPR_CODE_MAX = BP_EXPR_SLOT_INSNS - BP_EXPR_END_INSNS };

struct expr_code {
	enum expr_type type; /* how r0 is to be taken */
	uint32_t cnt;
	uint32_t stack_bytes;
	struct bpf_insn insns[EXPR_CODE_MAX]; /* zeros behind @cnt: codes compare by memcmp() */
};

/* 0; -E2BIG with one line in @why: it has too many instructions, or too many intermediate values.
 */
int expr_compile(const struct expr *expr, struct expr_code *out, struct buf *why);

#endif
