/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From states to rules, in two steps: the full struct bp_rule first, then its inline form where it
 * has one. Register offsets are range-checked here and nowhere before.
 */
#include "unwind/rule.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "unwind/cfi_expr.h"

enum {
	X86_UNIT = 8,
	ARM_UNIT = 16,

	/* x86-64: rsp in the ucontext that a signal trampoline finds at rsp. */
	X86_UCONTEXT_RSP_AT = 160,
	REG_MAX = 31,
	BX_SLOT_MAX = 127,
};

const struct cfi_arch cfi_arch_x86_64 = {.machine = EM_X86_64,
					 .fp_reg = 6,
					 .sp_reg = 7,
					 .bx_reg = 3,
					 .ra_reg = 16,
					 .eh_data_regs = 0x3};
const struct cfi_arch cfi_arch_aarch64 = {
	.machine = EM_AARCH64, .fp_reg = 29, .sp_reg = 31, .bx_reg = UINT8_MAX, .ra_reg = 30};

const struct cfi_arch *cfi_arch_of(uint16_t machine)
{
	if (machine == EM_X86_64)
		return &cfi_arch_x86_64;
	return machine == EM_AARCH64 ? &cfi_arch_aarch64 : NULL;
}

static bool is_x86(const struct rule_set *set)
{
	return set->arch == &cfi_arch_x86_64;
}

/* What the inline form counts CFA offsets in. */
static int cfa_unit(const struct rule_set *set)
{
	return is_x86(set) ? X86_UNIT : ARM_UNIT;
}

static bool reg_put(uint64_t reg, uint8_t *out)
{
	*out = (uint8_t)reg;
	return reg <= REG_MAX;
}

static bool off_put(int64_t off, int32_t *out)
{
	*out = (int32_t)off;
	return *out == off;
}

static bool rule_deref(const struct cfi_deref *deref, struct bp_rule *rule)
{
	rule->kind = BP_RULE_DEREF;
	if (deref->has_index) {
		if (deref->index_reg > REG_MAX)
			return false;
		rule->cfa_index = (uint8_t)(deref->index_reg + 1);
	}
	return reg_put(deref->reg, &rule->cfa_reg) && off_put(deref->off, &rule->cfa_off) &&
	       off_put(deref->add, &rule->cfa_add);
}

/* How the CFA is found, into @rule. False: no rule says so. */
static bool rule_cfa(const struct cfi_state *state, struct bp_rule *rule)
{
	struct cfi_deref deref;
	uint64_t reg;
	int64_t off;
	uint8_t limit;

	if (!state->has_cfa)
		return false;
	rule->kind = BP_RULE_REG;
	if (!state->cfa_is_expr)
		return reg_put(state->cfa_reg, &rule->cfa_reg) &&
		       off_put(state->cfa_off, &rule->cfa_off);
	if (cfi_expr_is_reg(&state->cfa_expr, &reg, &off))
		return reg_put(reg, &rule->cfa_reg) && off_put(off, &rule->cfa_off);
	if (cfi_expr_is_deref(&state->cfa_expr, &deref))
		return rule_deref(&deref, rule);
	if (!cfi_expr_is_plt(&state->cfa_expr, &limit))
		return false;
	rule->kind = BP_RULE_PLT;
	rule->cfa_reg = cfi_arch_x86_64.sp_reg;
	rule->cfa_off = X86_UNIT;
	rule->cfa_add = limit;
	return true;
}

/* A frame pointer whose home is an expression: fixed places in the callee's frame. */
static enum bp_save_kind save_of_expr(const struct rule_set *set, const struct cfi_expr *expr,
				      int64_t *off)
{
	uint64_t reg;

	if (!cfi_expr_is_reg(expr, &reg, off))
		return BP_SAVE_UNDEFINED;
	if (reg == set->arch->fp_reg)
		return BP_SAVE_FP;
	return reg == set->arch->sp_reg ? BP_SAVE_SP : BP_SAVE_UNDEFINED;
}

/* The frame pointer. What cannot be said leaves it lost: the stack may go on without it. */
static void rule_fp(const struct rule_set *set, const struct cfi_saved *fp, struct bp_rule *rule)
{
	enum bp_save_kind save = BP_SAVE_UNDEFINED;
	int64_t off = fp->off;

	if (fp->how == CFI_AT_CFA)
		save = BP_SAVE_CFA;
	else if (fp->how == CFI_IN_REG && (uint64_t)off <= REG_MAX)
		save = BP_SAVE_REG;
	else if (fp->how == CFI_AT_EXPR)
		save = save_of_expr(set, &fp->expr, &off);
	else if (fp->how == CFI_SAME)
		save = BP_SAVE_SAME;
	if (save == BP_SAVE_SAME || save == BP_SAVE_UNDEFINED)
		off = 0;
	if (!off_put(off, &rule->fp_off)) {
		save = BP_SAVE_UNDEFINED;
		rule->fp_off = 0;
	}
	rule->fp_save = save;
}

/* rbx, where it is followed. */
static void rule_bx(const struct cfi_saved *bx, struct bp_rule *rule)
{
	if (bx->how == CFI_SAME)
		return;
	if (bx->how == CFI_AT_CFA && !(bx->off % X86_UNIT) && bx->off < 0 &&
	    bx->off >= -X86_UNIT * BX_SLOT_MAX)
		rule->bx_slot = (int8_t)(-bx->off / X86_UNIT);
	else
		rule->bx_slot = -1;
}

/* The return address. False: no rule says so. */
static bool rule_ra(const struct rule_set *set, const struct cfi_cie *cie,
		    const struct cfi_saved *ra, struct bp_rule *rule)
{
	switch (ra->how) {
	case CFI_AT_CFA:
		rule->ra_save = BP_SAVE_CFA;
		return off_put(ra->off, &rule->ra_off);
	case CFI_IN_REG:
		rule->ra_save = BP_SAVE_REG;
		return (uint64_t)ra->off <= REG_MAX && off_put(ra->off, &rule->ra_off);
	case CFI_SAME:
		/* x86-64: the column is rip itself, "unchanged" would never leave the function. */
		if (cie->ra_reg == set->arch->ra_reg)
			return !is_x86(set);
		rule->ra_save = BP_SAVE_REG;
		rule->ra_off = (int32_t)cie->ra_reg;
		return cie->ra_reg <= REG_MAX;
	default:
		return false;
	}
}

/*
 * A signal trampoline, whose registers are in the frame that the kernel pushed. On x86-64 other
 * functions carry the mark too and are stepped by what they say; on aarch64 what the vdso's
 * trampoline says is not enough to find the interrupted registers.
 */
static bool state_is_trampoline(const struct rule_set *set, const struct cfi_cie *cie,
				const struct cfi_state *state)
{
	struct cfi_deref deref;

	if (!cie->is_signal || !is_x86(set))
		return cie->is_signal;
	return state->cfa_is_expr && cfi_expr_is_deref(&state->cfa_expr, &deref) &&
	       deref.reg == set->arch->sp_reg && deref.off == X86_UCONTEXT_RSP_AT && !deref.add &&
	       !deref.has_index;
}

static struct bp_rule rule_of_state(const struct rule_set *set, const struct cfi_cie *cie,
				    const struct cfi_state *state)
{
	struct bp_rule rule = {0};

	if (state->ra.how == CFI_UNDEFINED)
		return (struct bp_rule){.kind = BP_RULE_END};
	if (state_is_trampoline(set, cie, state))
		return (struct bp_rule){.kind = BP_RULE_SIGNAL};
	if (!rule_cfa(state, &rule) || !rule_ra(set, cie, &state->ra, &rule))
		return (struct bp_rule){.kind = BP_RULE_UNSUPPORTED};
	rule_fp(set, &state->fp, &rule);
	if (set->tracks_bx)
		rule_bx(&state->bx, &rule);
	rule.is_eh_return = set->arch->eh_data_regs && state->eh_saved == set->arch->eh_data_regs;
	return rule;
}

/* The slot of the inline form, or -1. */
static int inline_slot_x86(const struct bp_rule *rule)
{
	if (rule->ra_save != BP_SAVE_CFA || rule->ra_off != -X86_UNIT)
		return -1;
	if (rule->fp_save == BP_SAVE_SAME)
		return 0;
	if (rule->fp_save != BP_SAVE_CFA || rule->fp_off % X86_UNIT ||
	    rule->fp_off < -X86_UNIT * (BP_RULE16_SLOT_MASK + 1) || rule->fp_off > -2 * X86_UNIT)
		return -1;
	return -rule->fp_off / X86_UNIT - 1;
}

static int inline_slot_aarch64(const struct bp_rule *rule)
{
	if (rule->ra_save == BP_SAVE_SAME)
		return rule->fp_save == BP_SAVE_SAME ? 0 : -1;
	if (rule->ra_save != BP_SAVE_CFA)
		return -1;
	if (rule->fp_save == BP_SAVE_SAME) {
		int slot = BP_RULE16_SLOT_RA - 1 - rule->ra_off / 8;

		return !(rule->ra_off % 8) && slot >= BP_RULE16_SLOT_RA &&
				       slot <= BP_RULE16_SLOT_MASK
			       ? slot
			       : -1;
	}
	if (rule->fp_save != BP_SAVE_CFA || rule->ra_off - 8 != rule->fp_off)
		return -1;
	if (!(rule->fp_off % ARM_UNIT) && rule->fp_off <= -ARM_UNIT &&
	    rule->fp_off > -ARM_UNIT * BP_RULE16_SLOT_AT_BASE)
		return -rule->fp_off / ARM_UNIT;
	return rule->fp_off == -rule->cfa_off ? BP_RULE16_SLOT_AT_BASE : -1;
}

/* @rule's inline form, or -1 when it has none. */
static int rule_inline(const struct rule_set *set, const struct bp_rule *rule)
{
	int unit = cfa_unit(set);
	bool on_fp = rule->cfa_reg == set->arch->fp_reg;
	int slot;

	if (rule->kind != BP_RULE_REG || rule->bx_slot || rule->is_eh_return ||
	    (!on_fp && rule->cfa_reg != set->arch->sp_reg))
		return -1;
	if (rule->cfa_off % unit || rule->cfa_off < 0 || rule->cfa_off > BP_RULE16_CFA_MASK * unit)
		return -1;
	slot = is_x86(set) ? inline_slot_x86(rule) : inline_slot_aarch64(rule);
	if (slot < 0)
		return -1;
	return (on_fp ? BP_RULE16_BASE_FP : 0) | (rule->cfa_off / unit) << BP_RULE16_CFA_SHIFT |
	       slot;
}

static bool rule_equal(const void *owner, uint32_t index, const void *key)
{
	const struct rule_set *set = owner;

	return !memcmp(&set->items[index], key, sizeof(struct bp_rule));
}

/* The place of @rule in the list. */
static uint16_t rule_escape(struct rule_set *set, const struct bp_rule *rule)
{
	uint64_t hash = hash_bytes(rule, sizeof(*rule));
	uint32_t index = hmap_find(&set->by_content, hash, rule_equal, set, rule);

	if (index != HMAP_NONE)
		return (uint16_t)(BP_RULE16_ESCAPE | index);
	if (set->cnt == BP_RULES_MAX) {
		set->refused_cnt++;
		return RULE16_UNSUPPORTED;
	}
	if (array_reserve(&set->items, &set->cap, set->cnt + 1, sizeof(*set->items)) ||
	    hmap_insert(&set->by_content, hash, (uint32_t)set->cnt)) {
		set->err = -ENOMEM;
		return RULE16_UNSUPPORTED;
	}
	set->items[set->cnt] = *rule;
	return (uint16_t)(BP_RULE16_ESCAPE | set->cnt++);
}

int rule_set_init(struct rule_set *set, const struct cfi_arch *arch)
{
	static const struct bp_rule gap = {.kind = BP_RULE_GAP};
	static const struct bp_rule unsupported = {.kind = BP_RULE_UNSUPPORTED};

	*set = (struct rule_set){.arch = arch};
	hmap_init(&set->by_content);
	rule_escape(set, &gap);
	rule_escape(set, &unsupported);
	if (set->err)
		rule_set_deinit(set);
	return set->err;
}

void rule_set_deinit(struct rule_set *set)
{
	free(set->items);
	hmap_deinit(&set->by_content);
	set->items = NULL;
	set->cnt = set->cap = 0;
}

uint16_t rule16_put(struct rule_set *set, const struct bp_rule *rule)
{
	int inlined = rule_inline(set, rule);

	return inlined >= 0 ? (uint16_t)inlined : rule_escape(set, rule);
}

uint16_t rule16_of_state(struct rule_set *set, const struct cfi_cie *cie,
			 const struct cfi_state *state)
{
	struct bp_rule rule = rule_of_state(set, cie, state);

	if ((rule.kind == BP_RULE_REG || rule.kind == BP_RULE_DEREF) &&
	    rule.cfa_reg == set->arch->bx_reg)
		set->needs_bx = true;
	return rule16_put(set, &rule);
}

static void decode_slot_x86(int slot, struct bp_rule *out)
{
	out->ra_save = BP_SAVE_CFA;
	out->ra_off = -X86_UNIT;
	if (slot) {
		out->fp_save = BP_SAVE_CFA;
		out->fp_off = -X86_UNIT * (slot + 1);
	}
}

static void decode_slot_aarch64(int slot, struct bp_rule *out)
{
	if (!slot)
		return;
	out->ra_save = BP_SAVE_CFA;
	if (slot >= BP_RULE16_SLOT_RA) {
		out->ra_off = -8 * (slot - BP_RULE16_SLOT_RA + 1);
		return;
	}
	out->fp_save = BP_SAVE_CFA;
	out->fp_off = slot == BP_RULE16_SLOT_AT_BASE ? -out->cfa_off : -ARM_UNIT * slot;
	out->ra_off = out->fp_off + 8;
}

void rule16_decode(const struct rule_set *set, uint16_t rule16, struct bp_rule *out)
{
	int cfa_units = rule16 >> BP_RULE16_CFA_SHIFT & BP_RULE16_CFA_MASK;
	int slot = rule16 & BP_RULE16_SLOT_MASK;

	if (!rule16_is_inline(rule16)) {
		size_t index = rule16 & ~BP_RULE16_ESCAPE;

		*out = set->items[index < set->cnt ? index : RULE16_UNSUPPORTED & 0xff];
		return;
	}
	*out = (struct bp_rule){.kind = BP_RULE_REG};
	out->cfa_reg = rule16 & BP_RULE16_BASE_FP ? set->arch->fp_reg : set->arch->sp_reg;
	out->cfa_off = cfa_units * cfa_unit(set);
	if (is_x86(set))
		decode_slot_x86(slot, out);
	else
		decode_slot_aarch64(slot, out);
}
