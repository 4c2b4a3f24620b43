/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the code of an expression does, without a kernel: an interpreter of the instructions that
 * it may have, which aborts on what a verifier refuses: a register that holds nothing, memory that
 * is neither context nor stack, a jump backwards or out of the code.
 */
#ifndef BPFPROF_TESTS_BPF_INTERP_H
#define BPFPROF_TESTS_BPF_INTERP_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "event/expr_code.h"

/* A machine and what is around it. */
struct interp {
	const uint8_t *ctx; /* memory of the host */
	size_t ctx_len;
	const uint8_t
		*mem; /* more memory, which helpers alone can read; the addresses are the host's */
	size_t mem_len;
	uint64_t pid_tgid, uid_gid, cpu;
	const char *comm;

	uint64_t regs[11];
	uint32_t valid; /* a bit for each register that holds something */
	uint8_t stack[BP_EXPR_STACK_BYTES];
};

static inline void interp_need(bool holds)
{
	if (!holds)
		abort();
}

static inline bool interp_in(uint64_t addr, uint64_t len, const uint8_t *mem, size_t mem_len)
{
	uint64_t start = (uint64_t)(uintptr_t)mem;

	return addr >= start && addr - start <= mem_len && len <= mem_len - (addr - start);
}

static inline uint64_t interp_reg(const struct interp *vm, uint32_t reg)
{
	interp_need(reg <= 10 && vm->valid & 1U << reg);
	return vm->regs[reg];
}

static inline void interp_set(struct interp *vm, uint32_t reg, uint64_t value)
{
	interp_need(reg < 10);
	vm->regs[reg] = value;
	vm->valid |= 1U << reg;
}

static inline bool interp_readable(const struct interp *vm, uint64_t addr, uint64_t len)
{
	return interp_in(addr, len, vm->mem, vm->mem_len) ||
	       interp_in(addr, len, vm->ctx, vm->ctx_len);
}

/* bpf_probe_read_*(): 0 and zeros where it cannot. */
static inline uint64_t interp_read(const struct interp *vm, uint8_t *to, uint64_t len,
				   uint64_t addr)
{
	memset(to, 0, len);
	if (!interp_readable(vm, addr, len))
		return (uint64_t)-EFAULT;
	memcpy(to, (const void *)(uintptr_t)addr, len);
	return 0;
}

/* bpf_probe_read_*_str() */
static inline uint64_t interp_read_str(const struct interp *vm, uint8_t *to, uint64_t len,
				       uint64_t addr)
{
	for (uint64_t i = 0; i < len; i++) {
		if (!interp_readable(vm, addr + i, 1))
			return (uint64_t)-EFAULT;
		to[i] = *(const uint8_t *)(uintptr_t)(addr + i);
		if (!to[i])
			return i + 1;
	}
	to[len - 1] = 0;
	return len;
}

static inline uint64_t interp_buffer_call(struct interp *vm, int32_t helper)
{
	uint64_t len = interp_reg(vm, 2);
	uint8_t *to = (uint8_t *)(uintptr_t)interp_reg(vm, 1);

	interp_need(len && interp_in((uintptr_t)to, len, vm->stack, sizeof(vm->stack)));
	switch (helper) {
	case BPF_FUNC_get_current_comm:
		memset(to, 0, len);
		strncpy((char *)to, vm->comm, len - 1);
		return 0;
	case BPF_FUNC_probe_read_user:
	case BPF_FUNC_probe_read_kernel:
		return interp_read(vm, to, len, interp_reg(vm, 3));
	case BPF_FUNC_probe_read_user_str:
	case BPF_FUNC_probe_read_kernel_str:
		return interp_read_str(vm, to, len, interp_reg(vm, 3));
	default:
		abort();
	}
}

static inline void interp_call(struct interp *vm, int32_t helper)
{
	uint64_t result;

	if (helper == BPF_FUNC_get_current_pid_tgid)
		result = vm->pid_tgid;
	else if (helper == BPF_FUNC_get_current_uid_gid)
		result = vm->uid_gid;
	else if (helper == BPF_FUNC_get_smp_processor_id)
		result = vm->cpu;
	else
		result = interp_buffer_call(vm, helper);
	vm->valid &= ~0x3fU; /* r0..r5 are the helper's */
	interp_set(vm, 0, result);
}

static inline uint64_t interp_alu(uint8_t op, uint64_t dst, uint64_t src)
{
	switch (op) {
	case BPF_ADD:
		return dst + src;
	case BPF_SUB:
		return dst - src;
	case BPF_MUL:
		return dst * src;
	case BPF_DIV:
		return src ? dst / src : 0;
	case BPF_MOD:
		return src ? dst % src : dst;
	case BPF_OR:
		return dst | src;
	case BPF_AND:
		return dst & src;
	case BPF_XOR:
		return dst ^ src;
	case BPF_NEG:
		return -dst;
	case BPF_MOV:
		return src;
	}
	interp_need(src < 64);
	if (op == BPF_LSH)
		return dst << src;
	interp_need(op == BPF_RSH || op == BPF_ARSH);
	return op == BPF_RSH ? dst >> src : (uint64_t)((int64_t)dst >> src);
}

static inline bool interp_jumps(uint8_t op, uint64_t dst, uint64_t src)
{
	switch (op) {
	case BPF_JEQ:
		return dst == src;
	case BPF_JNE:
		return dst != src;
	case BPF_JGT:
		return dst > src;
	case BPF_JGE:
		return dst >= src;
	case BPF_JLT:
		return dst < src;
	case BPF_JLE:
		return dst <= src;
	case BPF_JSGT:
		return (int64_t)dst > (int64_t)src;
	case BPF_JSGE:
		return (int64_t)dst >= (int64_t)src;
	case BPF_JSLT:
		return (int64_t)dst < (int64_t)src;
	case BPF_JSLE:
		return (int64_t)dst <= (int64_t)src;
	default:
		abort();
	}
}

static inline uint32_t interp_width(uint8_t code)
{
	switch (BPF_SIZE(code)) {
	case BPF_DW:
		return 8;
	case BPF_W:
		return 4;
	case BPF_H:
		return 2;
	default:
		return 1;
	}
}

static inline void interp_memory(struct interp *vm, const struct bpf_insn *insn)
{
	bool stores = BPF_CLASS(insn->code) == BPF_STX;
	uint64_t addr = interp_reg(vm, stores ? insn->dst_reg : insn->src_reg) +
			(uint64_t)(int64_t)insn->off;
	uint32_t width = interp_width(insn->code);
	uint64_t word = 0;
	bool on_stack = interp_in(addr, width, vm->stack, sizeof(vm->stack));
	uint64_t base = (uintptr_t)(on_stack ? vm->stack : vm->ctx);

	interp_need((addr - base) % width == 0);
	if (stores) {
		word = interp_reg(vm, insn->src_reg);
		interp_need(on_stack);
		memcpy((void *)(uintptr_t)addr, &word, width);
		return;
	}
	interp_need(on_stack || interp_in(addr, width, vm->ctx, vm->ctx_len));
	memcpy(&word, (const void *)(uintptr_t)addr, width);
	interp_set(vm, insn->dst_reg, word);
}

/* An instruction of arithmetic or a jump: how many more are skipped. */
static inline uint32_t interp_compute(struct interp *vm, const struct bpf_insn *insn)
{
	uint8_t class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);
	uint64_t src = BPF_SRC(insn->code) == BPF_X ? interp_reg(vm, insn->src_reg)
						    : (uint64_t)(int64_t)insn->imm;
	uint64_t dst = op == BPF_MOV && class != BPF_JMP ? 0 : interp_reg(vm, insn->dst_reg);

	if (class == BPF_JMP)
		return interp_jumps(op, dst, src) ? (uint16_t)insn->off : 0;
	interp_need(BPF_SRC(insn->code) == BPF_X || src || (op != BPF_DIV && op != BPF_MOD));
	if (class == BPF_ALU) {
		interp_need(op == BPF_MOV);
		src = (uint32_t)src;
	}
	interp_set(vm, insn->dst_reg, interp_alu(op, dst, src));
	return 0;
}

/* What @code gives with the context and the surroundings that @vm has. */
static inline uint64_t interp_run(struct interp *vm, const struct expr_code *code)
{
	vm->valid = 1U << 1 | 1U << 10;
	vm->regs[1] = (uint64_t)(uintptr_t)vm->ctx;
	vm->regs[10] = (uint64_t)(uintptr_t)(vm->stack + sizeof(vm->stack));
	memset(vm->stack, 0xa5, sizeof(vm->stack));
	for (uint32_t pc = 0; pc < code->cnt; pc++) {
		const struct bpf_insn *insn = &code->insns[pc];
		uint8_t class = BPF_CLASS(insn->code);

		if (insn->code == (BPF_JMP | BPF_CALL))
			interp_call(vm, insn->imm);
		else if (insn->code == (BPF_JMP | BPF_JA))
			pc += (uint16_t)insn->off;
		else if (insn->code == (BPF_LD | BPF_DW | BPF_IMM))
			interp_set(vm, insn->dst_reg,
				   (uint32_t)insn->imm | (uint64_t)(uint32_t)code->insns[++pc].imm
								 << 32);
		else if (class == BPF_LDX || class == BPF_STX)
			interp_memory(vm, insn);
		else
			pc += interp_compute(vm, insn);
		interp_need(pc < code->cnt);
	}
	return interp_reg(vm, 0);
}

#endif
