/* SPDX-License-Identifier: Apache-2.0 */
/* One step, by a compact rule and by libdw. */
#include "cfi_libdw.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

enum {
	STACK_MAX = 16,
	RIP_REG = 16,
	UCONTEXT_RBP_AT = 120,
	UCONTEXT_RSP_AT = 160,
	UCONTEXT_RIP_AT = 168,
};

static uint64_t mix(uint64_t word)
{
	word = (word ^ word >> 31) * 0x9e3779b97f4a7c15ULL;
	return word ^ word >> 29;
}

static uint64_t memory_at(uint64_t addr)
{
	return mix(addr + 0x1234567);
}

uint64_t made_up_reg(const struct cfi_arch *arch, unsigned int reg, uint64_t pc)
{
	if (arch == &cfi_arch_x86_64 && reg == RIP_REG)
		return pc;
	return mix(reg + 1) & ~15ULL;
}

/* What a save rule finds, given the CFA; false when the value is lost. */
static bool saved_value(const struct cfi_arch *arch, uint8_t save, int32_t off,
			unsigned int same_reg, uint64_t pc, uint64_t cfa, uint64_t *out)
{
	switch (save) {
	case BP_SAVE_SAME:
		*out = made_up_reg(arch, same_reg, pc);
		return true;
	case BP_SAVE_CFA:
		*out = memory_at(cfa + (int64_t)off);
		return true;
	case BP_SAVE_FP:
		*out = memory_at(made_up_reg(arch, arch->fp_reg, pc) + (int64_t)off);
		return true;
	case BP_SAVE_SP:
		*out = memory_at(made_up_reg(arch, arch->sp_reg, pc) + (int64_t)off);
		return true;
	case BP_SAVE_REG:
		*out = made_up_reg(arch, (unsigned int)off, pc);
		return true;
	default:
		*out = 0;
		return false;
	}
}

static void step_signal(const struct cfi_arch *arch, uint64_t pc, struct step *out)
{
	uint64_t sp = made_up_reg(arch, arch->sp_reg, pc);

	out->cfa = memory_at(sp + UCONTEXT_RSP_AT);
	out->fp = memory_at(sp + UCONTEXT_RBP_AT);
	out->ra = memory_at(sp + UCONTEXT_RIP_AT);
	out->fp_known = true;
}

void step_by_rule(const struct cfi_arch *arch, const struct bp_rule *rule, uint64_t pc,
		  struct step *out)
{
	uint64_t base = made_up_reg(arch, rule->cfa_reg, pc);

	*out = (struct step){.cfa = base + (int64_t)rule->cfa_off};
	switch (rule->kind) {
	case BP_RULE_REG:
		break;
	case BP_RULE_DEREF:
		if (rule->cfa_index)
			out->cfa += 8 * made_up_reg(arch, rule->cfa_index - 1u, pc);
		out->cfa = memory_at(out->cfa) + (int64_t)rule->cfa_add;
		break;
	case BP_RULE_PLT:
		out->cfa += (pc & 15) >= (uint64_t)rule->cfa_add ? 8 : 0;
		break;
	case BP_RULE_SIGNAL:
		step_signal(arch, pc, out);
		return;
	case BP_RULE_END:
		*out = (struct step){.is_end = true};
		return;
	default:
		*out = (struct step){.is_unknown = true};
		return;
	}
	out->fp_known = saved_value(arch, rule->fp_save, rule->fp_off, arch->fp_reg, pc, out->cfa,
				    &out->fp);
	if (!saved_value(arch, rule->ra_save, rule->ra_off, arch->ra_reg, pc, out->cfa, &out->ra))
		out->is_unknown = true;
}

/* A stack machine for the operations that occur in CFI. */
struct machine {
	const struct cfi_arch *arch;
	uint64_t pc, cfa;
	uint64_t stack[STACK_MAX];
	size_t depth;
	bool is_value; /* the result is the value itself and not its address */
	bool is_bad;
};

static void push(struct machine *m, uint64_t value)
{
	if (m->depth < STACK_MAX)
		m->stack[m->depth++] = value;
	else
		m->is_bad = true;
}

static uint64_t pop(struct machine *m)
{
	if (m->depth)
		return m->stack[--m->depth];
	m->is_bad = true;
	return 0;
}

static void machine_binary(struct machine *m, uint8_t op)
{
	uint64_t right = pop(m), left = pop(m);

	switch (op) {
	case DW_OP_plus:
		push(m, left + right);
		break;
	case DW_OP_minus:
		push(m, left - right);
		break;
	case DW_OP_and:
		push(m, left & right);
		break;
	case DW_OP_mul:
		push(m, left * right);
		break;
	case DW_OP_shl:
		push(m, right < 64 ? left << right : 0);
		break;
	case DW_OP_ge:
		push(m, (int64_t)left >= (int64_t)right);
		break;
	default:
		m->is_bad = true;
	}
}

static void machine_op(struct machine *m, const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		push(m, op->atom - DW_OP_lit0);
	} else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		push(m, made_up_reg(m->arch, op->atom - DW_OP_breg0, m->pc) + op->number);
	} else if (op->atom == DW_OP_bregx) {
		push(m, made_up_reg(m->arch, (unsigned int)op->number, m->pc) + op->number2);
	} else if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
		push(m, made_up_reg(m->arch, op->atom - DW_OP_reg0, m->pc));
		m->is_value = true;
	} else if (op->atom == DW_OP_regx) {
		push(m, made_up_reg(m->arch, (unsigned int)op->number, m->pc));
		m->is_value = true;
	} else if (op->atom == DW_OP_call_frame_cfa) {
		push(m, m->cfa);
	} else if (op->atom == DW_OP_plus_uconst) {
		push(m, pop(m) + op->number);
	} else if (op->atom == DW_OP_deref) {
		push(m, memory_at(pop(m)));
	} else if (op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts) {
		push(m, op->number);
	} else if (op->atom == DW_OP_stack_value) {
		m->is_value = true;
	} else {
		machine_binary(m, op->atom);
	}
}

/* False: not one of the operations above. */
static bool machine_run(struct machine *m, const Dwarf_Op *ops, size_t cnt, uint64_t *out)
{
	m->depth = 0;
	m->is_value = false;
	m->is_bad = false;
	for (size_t i = 0; i < cnt; i++)
		machine_op(m, &ops[i]);
	*out = pop(m);
	return !m->is_bad;
}

enum found {
	FOUND,
	UNDEFINED,
	NOT_FOLLOWED,
};

static enum found register_value(struct machine *m, Dwarf_Frame *frame, unsigned int reg,
				 uint64_t *out)
{
	Dwarf_Op mem[3], *ops;
	size_t cnt;

	*out = 0;
	if (dwarf_frame_register(frame, (int)reg, mem, &ops, &cnt))
		return NOT_FOLLOWED;
	if (!cnt && ops == mem)
		return UNDEFINED;
	if (!cnt) {
		*out = made_up_reg(m->arch, reg, m->pc);
		return FOUND;
	}
	if (!machine_run(m, ops, cnt, out))
		return NOT_FOLLOWED;
	if (!m->is_value)
		*out = memory_at(*out);
	return FOUND;
}

void step_by_libdw(const struct cfi_arch *arch, Dwarf_Frame *frame, uint64_t pc, struct step *out)
{
	struct machine m = {.arch = arch, .pc = pc};
	Dwarf_Op *ops;
	size_t cnt;
	int ra_reg;
	enum found ra;

	*out = (struct step){0};
	ra_reg = dwarf_frame_info(frame, NULL, NULL, NULL);
	ra = register_value(&m, frame, (unsigned int)ra_reg, &out->ra);
	if (ra == UNDEFINED) {
		out->is_end = true;
		return;
	}
	if (dwarf_frame_cfa(frame, &ops, &cnt) || !cnt || !machine_run(&m, ops, cnt, &out->cfa)) {
		out->is_unknown = true;
		return;
	}
	m.cfa = out->cfa;
	ra = register_value(&m, frame, (unsigned int)ra_reg, &out->ra);
	out->fp_known = register_value(&m, frame, arch->fp_reg, &out->fp) == FOUND;
	out->is_unknown = ra == NOT_FOLLOWED;
}

static int describe_ops(char *out, size_t room, const char *label, const Dwarf_Op *ops, size_t cnt)
{
	int used = snprintf(out, room, "%s:", label);

	for (size_t i = 0; i < cnt && used < (int)room; i++)
		used += snprintf(out + used, room - (size_t)used, " %02x(%ld)", ops[i].atom,
				 (long)ops[i].number);
	return used < (int)room ? used : (int)room - 1;
}

void frame_describe(const struct cfi_arch *arch, Dwarf_Frame *frame, char out[CAUSE_BYTES])
{
	Dwarf_Op mem[3], *ops = NULL;
	size_t cnt = 0;
	int used, ra_reg = dwarf_frame_info(frame, NULL, NULL, NULL);

	dwarf_frame_cfa(frame, &ops, &cnt);
	used = describe_ops(out, CAUSE_BYTES, "cfa", ops, cnt);
	cnt = 0;
	dwarf_frame_register(frame, arch->fp_reg, mem, &ops, &cnt);
	used += describe_ops(out + used, CAUSE_BYTES - (size_t)used, "; fp", ops, cnt);
	cnt = 0;
	dwarf_frame_register(frame, ra_reg, mem, &ops, &cnt);
	describe_ops(out + used, CAUSE_BYTES - (size_t)used, "; ra", ops, cnt);
}

bool step_equal(const struct step *left, const struct step *right)
{
	if (left->is_unknown || right->is_unknown)
		return false;
	if (left->is_end || right->is_end)
		return left->is_end && right->is_end;
	return left->cfa == right->cfa && left->ra == right->ra &&
	       left->fp_known == right->fp_known && left->fp == right->fp;
}
