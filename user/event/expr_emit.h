/* SPDX-License-Identifier: Apache-2.0 */
/* Appending BPF instructions to the code of an expression, by names that tell what they do. */
#ifndef BPFPROF_EVENT_EXPR_EMIT_H
#define BPFPROF_EVENT_EXPR_EMIT_H

#include "event/expr_code.h"

/*
 * The stack frame: a buffer for text that is compared, with what is needed to see that it is
 * longer, then intermediate values that have no register.
 */
enum {
	EXPR_BUFFER_OFF = -72,
	EXPR_SAVED_MAX = 6,
	EXPR_SAVED_REGS = 3, /* r7, r8, r9: calls keep them */
};

_Static_assert(-EXPR_BUFFER_OFF >= EXPR_TEXT_MAX + 2, "a text, its NUL, and one byte more");
_Static_assert(-EXPR_BUFFER_OFF + 8 * (EXPR_SAVED_MAX - EXPR_SAVED_REGS) <= BP_EXPR_STACK_BYTES,
	       "the frame");

struct expr_emitter {
	struct expr_code *code;
	uint32_t cnt; /* goes on beyond EXPR_CODE_MAX: what it would take */
	uint32_t saved, saved_max; /* intermediate values now, and at most */
};

/* Jumps to one place that is not known yet: the number of the last + 1, each with the one before
 * in its offset; 0: none. */
struct expr_jumps {
	uint32_t last;
};

static inline bool expr_is_imm(uint64_t value)
{
	return (uint64_t)(int64_t)(int32_t)value == value;
}

void emit(struct expr_emitter *em, struct bpf_insn insn);

/* BPF_ALU64 @op, as BPF_ADD: @dst op= @src, or the immediate. */
void emit_alu(struct expr_emitter *em, uint8_t op, uint8_t dst, uint8_t src);
void emit_alu_imm(struct expr_emitter *em, uint8_t op, uint8_t dst, int32_t imm);
void emit_const(struct expr_emitter *em, uint8_t dst, uint64_t value);
/* The lowest @bytes of @dst as a number of 64 bits. */
void emit_extend(struct expr_emitter *em, uint8_t dst, uint32_t bytes, bool is_signed);
void emit_load(struct expr_emitter *em, uint32_t bytes, uint8_t dst, uint8_t base, int32_t off);
void emit_call(struct expr_emitter *em, int32_t helper);

/* If @dst @op (as BPF_JNE) @src, or the immediate: go to where @jumps go. */
void emit_jump(struct expr_emitter *em, struct expr_jumps *jumps, uint8_t op, uint8_t dst,
	       uint8_t src);
void emit_jump_imm(struct expr_emitter *em, struct expr_jumps *jumps, uint8_t op, uint8_t dst,
		   int32_t imm);
void emit_goto(struct expr_emitter *em, struct expr_jumps *jumps);
/* @jumps lead here. */
void emit_land(struct expr_emitter *em, struct expr_jumps *jumps);

/* Keep r0 until it comes back, the last first, in @dst. */
void emit_save(struct expr_emitter *em);
void emit_restore(struct expr_emitter *em, uint8_t dst);

#endif
