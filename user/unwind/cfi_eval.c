/* SPDX-License-Identifier: Apache-2.0 */
/* Executing CFI programs. */
#include "unwind/cfi_eval.h"

#include <errno.h>

#include "unwind/cfi_pointer.h"

/* DWARF 5, table 7.29, and the extensions of GCC and of the Arm 64-bit ABI. */
enum cfa_op {
	CFA_PRIMARY_MASK = 0xc0, /* these three carry an operand in the low six bits */
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,

	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

struct cfi_vm {
	struct reader rd;
	const struct cfi_walk *walk;
	const struct cfi_arch *arch;
	const struct cfi_cie *cie;
	struct cfi_state state;
	struct cfi_saved ignored; /* stands for every column that is not tracked */
	struct cfi_state remembered[CFI_REMEMBER_MAX];
	uint32_t remembered_cnt;
	uint64_t vaddr;
	uint64_t next_vaddr; /* where an instruction has just moved to */
};

static void vm_fail(struct cfi_vm *vm)
{
	if (!vm->rd.err)
		vm->rd.err = -EBADMSG;
}

static struct cfi_saved *column(struct cfi_vm *vm, uint64_t reg)
{
	if (reg == vm->cie->ra_reg)
		return &vm->state.ra;
	if (reg == vm->arch->bx_reg)
		return &vm->state.bx;
	return reg == vm->arch->fp_reg ? &vm->state.fp : &vm->ignored;
}

static struct cfi_expr expr_read(struct cfi_vm *vm)
{
	struct reader ops = reader_sub(&vm->rd, reader_uleb128(&vm->rd));

	return (struct cfi_expr){.ops = ops.pos, .len = (uint32_t)reader_left(&ops)};
}

/* Offsets wrap silently: whatever a program says, what does not fit a rule is refused there. */
static int64_t factored(const struct cfi_vm *vm, uint64_t offset)
{
	return (int64_t)(offset * (uint64_t)vm->cie->data_align);
}

static void op_save(struct cfi_vm *vm, uint64_t reg, enum cfi_how how, int64_t off)
{
	*column(vm, reg) = (struct cfi_saved){.how = how, .off = off};
	if (how == CFI_AT_CFA && reg < 8)
		vm->state.eh_saved |= vm->arch->eh_data_regs & 1U << reg;
}

static void op_save_expr(struct cfi_vm *vm, enum cfi_how how)
{
	uint64_t reg = reader_uleb128(&vm->rd);

	*column(vm, reg) = (struct cfi_saved){.how = how, .expr = expr_read(vm)};
}

static void op_restore(struct cfi_vm *vm, uint64_t reg)
{
	if (reg == vm->cie->ra_reg)
		vm->state.ra = vm->cie->initial.ra;
	else if (reg == vm->arch->fp_reg)
		vm->state.fp = vm->cie->initial.fp;
	else if (reg == vm->arch->bx_reg)
		vm->state.bx = vm->cie->initial.bx;
}

static void op_advance(struct cfi_vm *vm, uint64_t delta)
{
	vm->next_vaddr = vm->vaddr + delta * vm->cie->code_align;
	if (vm->next_vaddr < vm->vaddr)
		vm_fail(vm);
}

static void op_set_loc(struct cfi_vm *vm)
{
	const struct cfi_section *section = &vm->walk->section;
	/* The program's reader starts in the middle of the section. */
	struct cfi_pointer_bases bases = {
		.section = section->vaddr + (uint64_t)(vm->rd.start - section->data),
		.text = section->text_vaddr,
		.data = section->data_vaddr,
	};

	vm->next_vaddr = cfi_pointer_read(&vm->rd, vm->cie->pointer_enc, &bases);
	if (vm->next_vaddr < vm->vaddr)
		vm_fail(vm);
}

static void op_remember(struct cfi_vm *vm)
{
	if (vm->remembered_cnt == CFI_REMEMBER_MAX)
		vm_fail(vm);
	else
		vm->remembered[vm->remembered_cnt++] = vm->state;
}

static void op_restore_state(struct cfi_vm *vm)
{
	if (!vm->remembered_cnt)
		vm_fail(vm);
	else
		vm->state = vm->remembered[--vm->remembered_cnt];
}

static void op_cfa(struct cfi_vm *vm, uint64_t reg, int64_t off)
{
	vm->state.has_cfa = true;
	vm->state.cfa_is_expr = false;
	vm->state.cfa_reg = reg;
	vm->state.cfa_off = off;
}

static void op_cfa_expr(struct cfi_vm *vm)
{
	vm->state.has_cfa = true;
	vm->state.cfa_is_expr = true;
	vm->state.cfa_expr = expr_read(vm);
}

/* Half a rule needs the other half to be there. */
static void op_cfa_part(struct cfi_vm *vm, uint64_t reg, int64_t off)
{
	if (!vm->state.has_cfa || vm->state.cfa_is_expr)
		vm_fail(vm);
	else
		op_cfa(vm, reg, off);
}

/* Instructions that define the CFA. False: not one of them. */
static bool step_cfa(struct cfi_vm *vm, uint8_t op)
{
	struct reader *rd = &vm->rd;
	uint64_t reg;

	switch (op) {
	case CFA_DEF_CFA:
		reg = reader_uleb128(rd);
		op_cfa(vm, reg, (int64_t)reader_uleb128(rd));
		return true;
	case CFA_DEF_CFA_SF:
		reg = reader_uleb128(rd);
		op_cfa(vm, reg, factored(vm, (uint64_t)reader_sleb128(rd)));
		return true;
	case CFA_DEF_CFA_REGISTER:
		op_cfa_part(vm, reader_uleb128(rd), vm->state.cfa_off);
		return true;
	case CFA_DEF_CFA_OFFSET:
		op_cfa_part(vm, vm->state.cfa_reg, (int64_t)reader_uleb128(rd));
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		op_cfa_part(vm, vm->state.cfa_reg, factored(vm, (uint64_t)reader_sleb128(rd)));
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		op_cfa_expr(vm);
		return true;
	default:
		return false;
	}
}

/* Instructions that give a register a rule with an offset or expression. False: not one of them. */
static bool step_saved(struct cfi_vm *vm, uint8_t op)
{
	struct reader *rd = &vm->rd;
	uint64_t reg;

	switch (op) {
	case CFA_OFFSET_EXTENDED:
	case CFA_VAL_OFFSET:
		reg = reader_uleb128(rd);
		op_save(vm, reg, op == CFA_VAL_OFFSET ? CFI_VAL_CFA : CFI_AT_CFA,
			factored(vm, reader_uleb128(rd)));
		return true;
	case CFA_OFFSET_EXTENDED_SF:
	case CFA_VAL_OFFSET_SF:
		reg = reader_uleb128(rd);
		op_save(vm, reg, op == CFA_VAL_OFFSET_SF ? CFI_VAL_CFA : CFI_AT_CFA,
			factored(vm, (uint64_t)reader_sleb128(rd)));
		return true;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		reg = reader_uleb128(rd);
		op_save(vm, reg, CFI_AT_CFA, -factored(vm, reader_uleb128(rd)));
		return true;
	case CFA_REGISTER:
		reg = reader_uleb128(rd);
		op_save(vm, reg, CFI_IN_REG, (int64_t)reader_uleb128(rd));
		return true;
	case CFA_EXPRESSION:
		op_save_expr(vm, CFI_AT_EXPR);
		return true;
	case CFA_VAL_EXPRESSION:
		op_save_expr(vm, CFI_VAL_EXPR);
		return true;
	default:
		return false;
	}
}

/* The rest. Unknown instructions fail: their operands' lengths are unknown too. */
static void step_other(struct cfi_vm *vm, uint8_t op)
{
	switch (op) {
	case CFA_NOP:
		break;
	case CFA_SET_LOC:
		op_set_loc(vm);
		break;
	case CFA_RESTORE_EXTENDED:
		op_restore(vm, reader_uleb128(&vm->rd));
		break;
	case CFA_UNDEFINED:
		op_save(vm, reader_uleb128(&vm->rd), CFI_UNDEFINED, 0);
		break;
	case CFA_SAME_VALUE:
		op_save(vm, reader_uleb128(&vm->rd), CFI_SAME, 0);
		break;
	case CFA_REMEMBER_STATE:
		op_remember(vm);
		break;
	case CFA_RESTORE_STATE:
		op_restore_state(vm);
		break;
	case CFA_GNU_ARGS_SIZE:
		reader_uleb128(&vm->rd);
		break;
	case CFA_AARCH64_NEGATE_RA_STATE:
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
		/* Whether the return address is signed: the step strips the signature anyway. */
		if (vm->arch != &cfi_arch_aarch64)
			vm_fail(vm);
		break;
	default:
		vm_fail(vm);
	}
}

/* Execute one instruction; an advance only sets next_vaddr. */
static void vm_step(struct cfi_vm *vm)
{
	uint8_t op = reader_u8(&vm->rd), low = op & ~CFA_PRIMARY_MASK;

	switch (op & CFA_PRIMARY_MASK) {
	case CFA_ADVANCE_LOC:
		op_advance(vm, low);
		return;
	case CFA_OFFSET:
		op_save(vm, low, CFI_AT_CFA, factored(vm, reader_uleb128(&vm->rd)));
		return;
	case CFA_RESTORE:
		op_restore(vm, low);
		return;
	}
	if (op == CFA_ADVANCE_LOC1)
		op_advance(vm, reader_u8(&vm->rd));
	else if (op == CFA_ADVANCE_LOC2)
		op_advance(vm, reader_u16(&vm->rd));
	else if (op == CFA_ADVANCE_LOC4)
		op_advance(vm, reader_u32(&vm->rd));
	else if (!step_cfa(vm, op) && !step_saved(vm, op))
		step_other(vm, op);
}

void cfi_eval_cie(const struct cfi_walk *walk, const struct cfi_arch *arch, struct cfi_cie *cie)
{
	struct cfi_vm vm = {.walk = walk, .arch = arch, .cie = cie};

	vm.rd = cfi_walk_program(walk, cie->program_off, cie->program_len);
	while (!reader_done(&vm.rd) && vm.next_vaddr == vm.vaddr)
		vm_step(&vm);
	cie->initial = vm.state;
	/* Initial instructions have no location that they could advance. */
	cie->is_bad = vm.rd.err || vm.next_vaddr != vm.vaddr;
}

void cfi_eval_fde(const struct cfi_walk *walk, const struct cfi_arch *arch,
		  const struct cfi_fde *fde, uint64_t end_vaddr, cfi_row_fn *row, void *ctx)
{
	struct cfi_vm vm;

	/* Not an initialiser: clearing the remembered states would cost more than most programs. */
	vm.walk = walk;
	vm.arch = arch;
	vm.cie = &walk->cies[fde->cie];
	vm.state = vm.cie->initial;
	vm.remembered_cnt = 0;
	vm.vaddr = vm.next_vaddr = fde->start_vaddr;
	vm.rd = cfi_walk_program(walk, fde->program_off, fde->program_len);
	while (!reader_done(&vm.rd) && vm.vaddr < end_vaddr) {
		vm_step(&vm);
		if (vm.next_vaddr != vm.vaddr && !vm.rd.err) {
			row(ctx, vm.vaddr, &vm.state);
			vm.vaddr = vm.next_vaddr;
		}
	}
	if (vm.vaddr < end_vaddr)
		row(ctx, vm.vaddr, vm.rd.err ? NULL : &vm.state);
}
