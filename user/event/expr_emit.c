/* SPDX-License-Identifier: Apache-2.0 */
/* One instruction after another, and jumps whose ends come later. */
#include "event/expr_emit.h"

void emit(struct expr_emitter *em, struct bpf_insn insn)
{
	if (em->cnt < EXPR_CODE_MAX)
		em->code->insns[em->cnt] = insn;
	em->cnt++;
}

void emit_alu(struct expr_emitter *em, uint8_t op, uint8_t dst, uint8_t src)
{
	emit(em, (struct bpf_insn){.code = BPF_ALU64 | op | BPF_X, .dst_reg = dst, .src_reg = src});
}

void emit_alu_imm(struct expr_emitter *em, uint8_t op, uint8_t dst, int32_t imm)
{
	emit(em, (struct bpf_insn){.code = BPF_ALU64 | op | BPF_K, .dst_reg = dst, .imm = imm});
}

void emit_const(struct expr_emitter *em, uint8_t dst, uint64_t value)
{
	struct bpf_insn insn = {.dst_reg = dst, .imm = (int32_t)value};

	if (expr_is_imm(value)) {
		insn.code = BPF_ALU64 | BPF_MOV | BPF_K;
		emit(em, insn);
	} else if (value <= UINT32_MAX) {
		insn.code = BPF_ALU | BPF_MOV | BPF_K;
		emit(em, insn);
	} else {
		insn.code = BPF_LD | BPF_DW | BPF_IMM;
		emit(em, insn);
		emit(em, (struct bpf_insn){.imm = (int32_t)(value >> 32)});
	}
}

void emit_extend(struct expr_emitter *em, uint8_t dst, uint32_t bytes, bool is_signed)
{
	int32_t shift = (int32_t)(64 - 8 * bytes);

	if (bytes == 8)
		return;
	if (is_signed) {
		emit_alu_imm(em, BPF_LSH, dst, shift);
		emit_alu_imm(em, BPF_ARSH, dst, shift);
	} else if (bytes == 4) {
		emit(em, (struct bpf_insn){.code = BPF_ALU | BPF_MOV | BPF_X,
					   .dst_reg = dst,
					   .src_reg = dst});
	} else {
		emit_alu_imm(em, BPF_AND, dst, (1 << (8 * bytes)) - 1);
	}
}

void emit_load(struct expr_emitter *em, uint32_t bytes, uint8_t dst, uint8_t base, int32_t off)
{
	uint8_t width = bytes == 8 ? BPF_DW : bytes == 4 ? BPF_W : bytes == 2 ? BPF_H : BPF_B;

	emit(em, (struct bpf_insn){.code = BPF_LDX | BPF_MEM | width,
				   .dst_reg = dst,
				   .src_reg = base,
				   .off = (int16_t)off});
}

void emit_call(struct expr_emitter *em, int32_t helper)
{
	emit(em, (struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = helper});
}

static void add_jump(struct expr_emitter *em, struct expr_jumps *jumps, struct bpf_insn insn)
{
	insn.off = (int16_t)jumps->last;
	emit(em, insn);
	jumps->last = em->cnt;
}

void emit_jump(struct expr_emitter *em, struct expr_jumps *jumps, uint8_t op, uint8_t dst,
	       uint8_t src)
{
	add_jump(em, jumps,
		 (struct bpf_insn){.code = BPF_JMP | op | BPF_X, .dst_reg = dst, .src_reg = src});
}

void emit_jump_imm(struct expr_emitter *em, struct expr_jumps *jumps, uint8_t op, uint8_t dst,
		   int32_t imm)
{
	add_jump(em, jumps,
		 (struct bpf_insn){.code = BPF_JMP | op | BPF_K, .dst_reg = dst, .imm = imm});
}

void emit_goto(struct expr_emitter *em, struct expr_jumps *jumps)
{
	add_jump(em, jumps, (struct bpf_insn){.code = BPF_JMP | BPF_JA});
}

void emit_land(struct expr_emitter *em, struct expr_jumps *jumps)
{
	/* Where it does not fit there are no offsets to follow. */
	while (em->cnt <= EXPR_CODE_MAX && jumps->last) {
		uint32_t at = jumps->last - 1;
		struct bpf_insn *insn = &em->code->insns[at];

		jumps->last = (uint16_t)insn->off;
		insn->off = (int16_t)(em->cnt - at - 1);
	}
	jumps->last = 0;
}

static uint8_t saved_reg(uint32_t index)
{
	return (uint8_t)(BPF_REG_7 + index);
}

static int16_t saved_off(uint32_t index)
{
	return (int16_t)(EXPR_BUFFER_OFF - 8 * (int)(index - EXPR_SAVED_REGS + 1));
}

void emit_save(struct expr_emitter *em)
{
	uint32_t index = em->saved++;

	if (em->saved > em->saved_max)
		em->saved_max = em->saved;
	if (index < EXPR_SAVED_REGS)
		emit_alu(em, BPF_MOV, saved_reg(index), BPF_REG_0);
	else
		emit(em, (struct bpf_insn){.code = BPF_STX | BPF_MEM | BPF_DW,
					   .dst_reg = BPF_REG_10,
					   .src_reg = BPF_REG_0,
					   .off = saved_off(index)});
}

void emit_restore(struct expr_emitter *em, uint8_t dst)
{
	uint32_t index = --em->saved;

	if (index < EXPR_SAVED_REGS)
		emit_alu(em, BPF_MOV, dst, saved_reg(index));
	else
		emit_load(em, 8, dst, BPF_REG_10, saved_off(index));
}
