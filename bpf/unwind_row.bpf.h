/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One frame up by an unwind row; abi_unwind.h states the rules as equations. */
#ifndef BPFPROF_UNWIND_ROW_BPF_H
#define BPFPROF_UNWIND_ROW_BPF_H

/* Not a frame pointer: no step by frame pointer believes it. */
enum { FP_LOST = 1 };

/*
 * Registers other than ip, sp and fp are known in the leaf (the registers the task entered the
 * kernel with) and right after a signal frame; rules that need them occur in prologues, which are
 * leaves. In the leaf's callers those that a call may clobber are still known: where a rule counts
 * on one across a call (OpenSSL's assembly keeps its CFA in rax), the callee is one that leaves it
 * alone. The others may have been saved and changed since. Read only when a rule asks.
 */
static __always_inline int regs_need(struct bp_scratch *s)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	notes_spoil(s);
	if (!s->walk.regs_valid)
		s->walk.regs_valid =
			!bpf_probe_read_kernel(&s->regs, sizeof(s->regs), compat_user_regs(task));
	return s->walk.regs_valid;
}

/* rbx of a frame that is not the leaf, into *@out; 0 when it is not known. */
static __always_inline int bx_value(struct bp_scratch *s, __u64 *out)
{
	if (s->walk.bx_state == BX_LOST)
		return 0;
	if (s->walk.bx_state == BX_IN_REGS) {
		if (!regs_need(s))
			return 0;
		s->walk.bx = ARCH_REG_BY_DWARF(&s->regs, ARCH_DWARF_BX);
		s->walk.bx_state = BX_LOADED;
	}
	*out = s->walk.bx;
	return 1;
}

/* The value of DWARF register @reg into *@out; 0 when it is not known in this frame. */
static __always_inline int reg_value(struct bp_scratch *s, __u32 reg, __u64 *out)
{
	if (reg == ARCH_DWARF_SP)
		*out = s->walk.sp;
	else if (reg == ARCH_DWARF_FP)
		*out = s->walk.fp;
	else if (reg == ARCH_DWARF_BX && !s->walk.is_leaf)
		return bx_value(s, out);
	else if ((s->walk.is_leaf || ARCH_CALL_CLOBBERS(reg)) && regs_need(s))
		*out = ARCH_REG_BY_DWARF(&s->regs, reg);
	else
		return 0;
	return reg != ARCH_DWARF_FP || *out != FP_LOST;
}

/* Move to the caller whose registers are given. A frame takes @min_bytes of stack at least. */
static __always_inline int step_to(struct bp_scratch *s, __u64 cfa, __u64 ra, __u64 fp,
				   __u32 min_bytes)
{
	ra = ARCH_STRIP_PAC(ra);
	if (!ra)
		return s->walk.guess ?: BP_STACK_COMPLETE;
	if (cfa < s->walk.sp + min_bytes)
		return BP_STACK_BAD_CFA;
	s->walk.ip = ra;
	s->walk.sp = cfa;
	s->walk.fp = fp;
	s->walk.is_call_site = 1;
	s->walk.is_leaf = 0;
	return STEP_NEXT;
}

/* The kernel's rt_sigframe: all registers of the interrupted code, which is not at a call. The
 * stack may have been switched. */
static __always_inline int step_signal(struct bp_scratch *s)
{
	notes_spoil(s);
	if (bpf_probe_read_user(&s->sigcontext, sizeof(s->sigcontext),
				(void *)(s->walk.sp + ARCH_SIGCONTEXT_OFF)))
		return BP_STACK_STACK_UNREADABLE;
	arch_regs_from_sigcontext(&s->regs, &s->sigcontext);
	s->walk.ip = ARCH_CTX_IP(ARCH_REGS(&s->regs));
	s->walk.sp = ARCH_CTX_SP(ARCH_REGS(&s->regs));
	s->walk.fp = ARCH_CTX_FP(ARCH_REGS(&s->regs));
	s->walk.is_call_site = 0;
	s->walk.is_leaf = s->walk.regs_valid = 1;
	s->walk.bx = ARCH_REG_BY_DWARF(&s->regs, ARCH_DWARF_BX);
	s->walk.bx_state = BX_LOADED;
	return STEP_NEXT;
}

/*
 * Code that no FDE covers in a file that has them: _init, _fini, start-up helpers, bare PLT
 * entries. They have next to no frame, so when such code is the leaf its return address is one of
 * the first three words of the stack (the PLT's header pushes a second word for the dynamic
 * linker); it is believed when it is executable and a call instruction stands before it. Otherwise
 * the frame pointer.
 */
__noinline int step_gap_leaf(__u32 slot)
{
	struct bp_scratch *s = scratch_get(slot);

	if (!s)
		return BP_STACK_GAP;
	notes_spoil(s);
	for (__u32 i = 0; i < 3; i++) {
		__u64 ra;
		int vma;

		if (bpf_probe_read_user(&ra, sizeof(ra), (void *)(s->walk.sp + 8 * i)))
			break;
		vma = vma_at(slot, s, ra);
		if (vma < 0 || !walk_mm(s)->vmas[vma & (BP_VMAS_CACHED - 1)].is_exec ||
		    !arch_is_after_call(ra))
			continue;
		s->walk.guess = s->walk.guess ?: BP_STACK_GAP;
		return step_to(s, s->walk.sp + 8 * (i + 1), ra, s->walk.fp, 8);
	}
	return step_fp(s, BP_STACK_GAP);
}

static __always_inline int step_gap(__u32 slot, struct bp_scratch *s)
{
	return ARCH_CALL_PUSHES && s->walk.is_leaf ? step_gap_leaf(slot) : step_fp(s, BP_STACK_GAP);
}

/* The caller's frame pointer; that it is lost need not stop the walk. */
static __always_inline __u64 rule_fp(struct bp_scratch *s, const struct bp_rule *rule, __u64 cfa)
{
	__u64 at = cfa, fp = s->walk.fp;

	if (rule->fp_save == BP_SAVE_SAME)
		return fp;
	if (rule->fp_save == BP_SAVE_REG)
		return reg_value(s, rule->fp_off, &fp) ? fp : FP_LOST;
	if (rule->fp_save == BP_SAVE_FP)
		at = s->walk.fp;
	else if (rule->fp_save == BP_SAVE_SP)
		at = s->walk.sp;
	at += (__s64)rule->fp_off;
	if (rule->fp_save == BP_SAVE_UNDEFINED || bpf_probe_read_user(&fp, sizeof(fp), (void *)at))
		return FP_LOST;
	note_word(s, at, fp);
	return fp;
}

/* Words [@at, @cfa) of a frame, as many as fit a turn: the address where the word is found that
 * eh_return_cfa() looks for, or 0. */
__noinline __u64 eh_return_turn(__u32 slot, __u64 at, __u64 cfa, __u64 ra)
{
	struct bp_scratch *s = scratch_get(slot);

	if (!s)
		return 0;
	for (int i = 0; i < BP_EH_TURN; i++, at += 8) {
		__u64 word, found;

		if (at >= cfa || !stack_word(s, at, &word))
			break;
		if (word >= cfa && word - cfa < BP_EH_DISTANCE_MAX && !(word & 7) &&
		    !bpf_probe_read_user(&found, sizeof(found), (void *)word) && found == ra)
			return word;
	}
	return 0;
}

/*
 * libgcc leaves frames for good by copying what the frame it goes to has saved over what it has
 * saved itself; from the last copy on, the return address @ra and rbp of its frame are the other
 * frame's, and only @cfa is still its own. Its frame, from sp to @cfa, also holds the addresses it
 * copied from. The one of the return address lies right below the sp that is wanted: the word that
 * points above @cfa at another @ra. @cfa itself when there is none: nothing is copied yet.
 */
static __always_inline __u64 eh_return_cfa(__u32 slot, struct bp_scratch *s, __u64 cfa, __u64 ra)
{
	for (__u32 i = 0; i < BP_EH_FRAME_WORDS / BP_EH_TURN; i++) {
		__u64 word = eh_return_turn(slot, s->walk.sp + 8 * BP_EH_TURN * i, cfa, ra);

		if (word)
			return word + 8;
	}
	return cfa;
}

/* The rare rules: those that do not fit 16 bits. */
__noinline int step_rule(__u32 slot, __u32 index)
{
	struct bp_rule *rule = bpf_map_lookup_elem(&row_rules, &index);
	struct bp_scratch *s = scratch_get(slot);
	__u64 cfa, base, ra, fp;

	if (!s || !rule)
		return BP_STACK_UNSUPPORTED_CFI;
	if (rule->kind == BP_RULE_END)
		return BP_STACK_COMPLETE;
	if (rule->kind == BP_RULE_SIGNAL)
		return step_signal(s);
	if (rule->kind == BP_RULE_GAP)
		return step_gap(slot, s);
	if (rule->kind == BP_RULE_FP)
		return step_fp_switch(s);
	if (rule->kind == BP_RULE_UNSUPPORTED)
		return BP_STACK_UNSUPPORTED_CFI;
	if (!reg_value(s, rule->cfa_reg, &base))
		return BP_STACK_REGISTER_LOST;
	cfa = base + (__s64)rule->cfa_off;
	if (rule->kind == BP_RULE_DEREF || rule->bx_slot > 0 || rule->is_eh_return)
		notes_spoil(s);
	if (rule->kind == BP_RULE_DEREF) {
		if (rule->cfa_index) {
			if (!reg_value(s, rule->cfa_index - 1, &base))
				return BP_STACK_REGISTER_LOST;
			cfa += 8 * base;
		}
		if (bpf_probe_read_user(&cfa, sizeof(cfa), (void *)cfa))
			return BP_STACK_STACK_UNREADABLE;
		cfa += (__s64)rule->cfa_add;
	} else if (rule->kind == BP_RULE_PLT) {
		cfa = s->walk.sp + 8 + ((s->walk.ip & 15) >= (__u32)rule->cfa_add ? 8 : 0);
	}
	fp = rule_fp(s, rule, cfa);
	if (rule->ra_save == BP_SAVE_CFA) {
		if (bpf_probe_read_user(&ra, sizeof(ra), (void *)(cfa + (__s64)rule->ra_off)))
			return BP_STACK_STACK_UNREADABLE;
		note_word(s, cfa + (__s64)rule->ra_off, ra);
	} else if (!reg_value(s, rule->ra_save == BP_SAVE_REG ? rule->ra_off : ARCH_DWARF_RA,
			      &ra)) {
		return BP_STACK_REGISTER_LOST;
	}
	if (rule->bx_slot > 0) {
		if (bpf_probe_read_user(&s->walk.bx, 8, (void *)(cfa - 8 * rule->bx_slot)))
			return BP_STACK_STACK_UNREADABLE;
		s->walk.bx_state = BX_LOADED;
	} else if (rule->bx_slot) {
		s->walk.bx_state = BX_LOST;
	}
	if (rule->is_eh_return)
		cfa = eh_return_cfa(slot, s, cfa, ra);
	/* vfork() has popped its return address while it is in the kernel: no stack is taken. */
	return step_to(s, cfa, ra, fp,
		       rule->ra_save == BP_SAVE_REG ? 0 : ARCH_MIN_FRAME_BYTES(s->walk.is_leaf));
}

/*
 * The inline rule: base, CFA offset, slot. On x86-64 the return address stands below the CFA, and
 * slot k says how far below that the caller's fp is; on aarch64 slot k says where the pair { fp,
 * return address } is, and slot 0 is a leaf that keeps both in registers.
 */
static __always_inline int step_inline(struct bp_scratch *s, __u32 rule16)
{
	__u64 cfa = (rule16 & BP_RULE16_BASE_FP ? s->walk.fp : s->walk.sp) +
		    (rule16 >> BP_RULE16_CFA_SHIFT & BP_RULE16_CFA_MASK) * ARCH_RULE16_CFA_UNIT;
	__u32 saved = rule16 & BP_RULE16_SLOT_MASK;
	__u64 pair[2] = {s->walk.fp, 0};

	if ((rule16 & BP_RULE16_BASE_FP) && s->walk.fp == FP_LOST)
		return BP_STACK_REGISTER_LOST;
#ifdef __TARGET_ARCH_x86
	if (saved && !stack_word(s, cfa - 8 * (saved + 1), &pair[0]))
		return BP_STACK_STACK_UNREADABLE;
	if (!stack_word(s, cfa - 8, &pair[1]))
		return BP_STACK_STACK_UNREADABLE;
#else
	if (saved >= BP_RULE16_SLOT_RA) {
		if (!stack_word(s, cfa - 8 * (saved - BP_RULE16_SLOT_RA + 1), &pair[1]))
			return BP_STACK_STACK_UNREADABLE;
	} else if (saved) {
		__u64 at = saved == BP_RULE16_SLOT_AT_BASE
				   ? (rule16 & BP_RULE16_BASE_FP ? s->walk.fp : s->walk.sp)
				   : cfa - 16 * saved;

		if (!stack_word(s, at, &pair[0]) || !stack_word(s, at + 8, &pair[1]))
			return BP_STACK_STACK_UNREADABLE;
	} else if (!reg_value(s, ARCH_DWARF_RA, &pair[1])) {
		return BP_STACK_REGISTER_LOST;
	}
#endif
	return step_to(s, cfa, pair[1], pair[0], ARCH_MIN_FRAME_BYTES(s->walk.is_leaf));
}

/* One frame up by the row that governs file offset @off. */
static __always_inline int step_row(__u32 slot, struct bp_scratch *s, const struct bp_rows *rows,
				    __u64 off)
{
	__u64 page = (off >> BP_ROW_PAGE_BITS) - rows->first_page;
	int rule16;

	if (page >= rows->page_cnt)
		return step_fp(s, BP_STACK_GAP);
	rule16 = row_find(rows->page_base + page, off);
	if (rule16 == ROW_NONE)
		return step_gap(slot, s);
	if (!rows->tracks_bx)
		s->walk.bx_state = BX_LOST;
	if (rule16 & BP_RULE16_ESCAPE)
		return step_rule(slot, rows->rule_base + (rule16 & ~BP_RULE16_ESCAPE));
	return step_inline(s, rule16);
}

#endif
