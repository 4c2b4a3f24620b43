/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of abi_unwind.h over copied memory. */
#include "unwind/step.h"

#include <elf.h>
#include <string.h>

enum {
	CLOBBERED_X86 = 0xf37, /* rax, rdx, rcx, rsi, rdi, r8 to r11 */
	CLOBBERED_AARCH64 = 18, /* x0 to x17 */
	ENTRY_FRAME_BYTES = 64,
	FP_LOST = 1, /* not a frame pointer: no step by frame pointer believes it */
	RA_REG_X86 = 16,
	RA_REG_AARCH64 = 30,
	SIGCONTEXT_OFF_X86 =
		40, /* from the trampoline's sp: rt_sigframe's ucontext, its mcontext */
	SIGCONTEXT_OFF_AARCH64 = 128 + 176 + 8, /* siginfo, ucontext up to its regs */
	SIGCONTEXT_WORDS_X86 = 17,
	SIGCONTEXT_WORDS_AARCH64 = 33,
};

static bool is_x86(const struct step_memory *memory)
{
	return memory->arch->machine == EM_X86_64;
}

const struct cfi_arch *step_native_arch(void)
{
#ifdef __x86_64__
	return &cfi_arch_x86_64;
#else
	return &cfi_arch_aarch64;
#endif
}

static bool read_words(const struct step_memory *memory, uint64_t address, uint64_t *out,
		       size_t cnt)
{
	uint64_t at = address - memory->stack_start;
	size_t bytes = cnt * sizeof(*out);

	if (address < memory->stack_start || bytes > memory->stack_bytes ||
	    at > memory->stack_bytes - bytes)
		return false;
	/* Less than a page is asked for: the first and the last byte decide. */
	if (!(memory->pages >> at / BP_SNAPSHOT_PAGE_BYTES & 1) ||
	    !(memory->pages >> (at + bytes - 1) / BP_SNAPSHOT_PAGE_BYTES & 1))
		return false;
	memcpy(out, memory->stack + at, bytes);
	return true;
}

/* Return addresses of aarch64 may be signed above the 48 bits of user space. */
static uint64_t strip_pac(const struct step_memory *memory, uint64_t ra)
{
	return is_x86(memory) ? ra : ra & ((1ULL << 48) - 1);
}

/* Does a call leave register @reg alone only by chance? Then what is above the leaf counts on it.
 */
static bool call_clobbers(const struct step_memory *memory, uint32_t reg)
{
	if (is_x86(memory))
		return reg < 12 && (CLOBBERED_X86 >> reg & 1);
	return reg < CLOBBERED_AARCH64;
}

static bool reg_value(const struct step_memory *memory, const struct step_frame *frame,
		      uint32_t reg, uint64_t *out)
{
	if (reg == memory->arch->sp_reg)
		*out = frame->sp;
	else if (reg == memory->arch->fp_reg)
		*out = frame->fp;
	else if (is_x86(memory) && reg == memory->arch->bx_reg && !frame->is_leaf && frame->has_bx)
		*out = frame->bx;
	else if ((frame->is_leaf || call_clobbers(memory, reg)) && frame->has_regs &&
		 reg < BP_SNAPSHOT_REGS)
		*out = frame->regs[reg];
	else
		return false;
	return reg != memory->arch->fp_reg || *out != FP_LOST;
}

/* In the code that the kernel jumped to at exec: see bpf/unwind_fp.bpf.h. */
static bool is_process_entry(const struct step_memory *memory, const struct step_frame *frame)
{
	uint64_t start = memory->start_stack;

	return start && frame->sp + ENTRY_FRAME_BYTES >= start && frame->sp <= start;
}

/* The frame pointer @fp does not lead on: the bottom, when a chain of them has led to a 0. */
static int fp_ends(const struct step_memory *memory, const struct step_frame *frame, uint64_t fp,
		   int why)
{
	if (!fp && frame->guess && frame->guess != BP_STACK_NO_ROWS)
		return BP_STACK_COMPLETE;
	return is_process_entry(memory, frame) ? BP_STACK_COMPLETE : why;
}

int step_by_fp(const struct step_memory *memory, int why, struct step_frame *frame)
{
	uint64_t fp = frame->fp, pair[2];

	if ((fp & 7) || fp < frame->sp || fp - frame->sp > BP_FP_FRAME_BYTES_MAX ||
	    !read_words(memory, fp, pair, 2))
		return fp_ends(memory, frame, fp, why);
	pair[1] = strip_pac(memory, pair[1]);
	if (!pair[1])
		return fp_ends(memory, frame, pair[0], why);
	frame->sp = fp + sizeof(pair);
	frame->fp = pair[0];
	frame->ip = pair[1];
	frame->is_call_site = true;
	frame->is_leaf = frame->has_bx = false;
	if (!frame->guess)
		frame->guess = why;
	return STEP_NEXT;
}

/* struct sigcontext of x86-64 begins with these registers, by DWARF number. */
static void regs_from_sigcontext_x86(const uint64_t *words, struct step_frame *frame)
{
	static const uint8_t order[SIGCONTEXT_WORDS_X86] = {8, 9, 10, 11, 12, 13, 14, 15,	 5,
							    4, 6, 3,  1,  0,  2,  7,  RA_REG_X86};

	for (size_t i = 0; i < SIGCONTEXT_WORDS_X86; i++)
		frame->regs[order[i]] = words[i];
	frame->sp = frame->regs[cfi_arch_x86_64.sp_reg];
	frame->fp = frame->regs[cfi_arch_x86_64.fp_reg];
	frame->ip = frame->regs[RA_REG_X86];
}

static void regs_from_sigcontext_aarch64(const uint64_t *words, struct step_frame *frame)
{
	memcpy(frame->regs, words, BP_SNAPSHOT_REGS * sizeof(*words));
	frame->sp = words[cfi_arch_aarch64.sp_reg];
	frame->fp = words[cfi_arch_aarch64.fp_reg];
	frame->ip = words[SIGCONTEXT_WORDS_AARCH64 - 1];
}

static int step_by_signal(const struct step_memory *memory, struct step_frame *frame)
{
	uint64_t words[SIGCONTEXT_WORDS_AARCH64];
	bool x86 = is_x86(memory);

	if (!read_words(memory, frame->sp + (x86 ? SIGCONTEXT_OFF_X86 : SIGCONTEXT_OFF_AARCH64),
			words, x86 ? SIGCONTEXT_WORDS_X86 : SIGCONTEXT_WORDS_AARCH64))
		return BP_STACK_STACK_UNREADABLE;
	if (x86)
		regs_from_sigcontext_x86(words, frame);
	else
		regs_from_sigcontext_aarch64(words, frame);
	frame->is_call_site = false;
	frame->is_leaf = frame->has_regs = true;
	/* From here up rbx is what the interrupted code had. */
	frame->bx = x86 ? frame->regs[cfi_arch_x86_64.bx_reg] : 0;
	frame->has_bx = x86;
	return STEP_NEXT;
}

/* The caller's CFA into *@out. STEP_NEXT or the outcome. */
static int find_cfa(const struct step_memory *memory, const struct bp_rule *rule,
		    const struct step_frame *frame, uint64_t *out)
{
	uint64_t cfa, index;

	if (rule->kind == BP_RULE_PLT) {
		*out = frame->sp + 8 + ((frame->ip & 15) >= (uint32_t)rule->cfa_add ? 8 : 0);
		return STEP_NEXT;
	}
	if (!reg_value(memory, frame, rule->cfa_reg, &cfa))
		return BP_STACK_REGISTER_LOST;
	cfa += (int64_t)rule->cfa_off;
	if (rule->kind == BP_RULE_DEREF) {
		if (rule->cfa_index) {
			if (!reg_value(memory, frame, rule->cfa_index - 1, &index))
				return BP_STACK_REGISTER_LOST;
			cfa += 8 * index;
		}
		if (!read_words(memory, cfa, &cfa, 1))
			return BP_STACK_STACK_UNREADABLE;
		cfa += (int64_t)rule->cfa_add;
	}
	*out = cfa;
	return STEP_NEXT;
}

/* The caller's frame pointer; that it is lost need not stop the walk. */
static uint64_t find_fp(const struct step_memory *memory, const struct bp_rule *rule,
			const struct step_frame *frame, uint64_t cfa)
{
	uint64_t at = cfa, fp = frame->fp;

	if (rule->fp_save == BP_SAVE_SAME)
		return fp;
	if (rule->fp_save == BP_SAVE_REG)
		return reg_value(memory, frame, rule->fp_off, &fp) ? fp : FP_LOST;
	if (rule->fp_save == BP_SAVE_FP)
		at = frame->fp;
	else if (rule->fp_save == BP_SAVE_SP)
		at = frame->sp;
	if (rule->fp_save == BP_SAVE_UNDEFINED ||
	    !read_words(memory, at + (int64_t)rule->fp_off, &fp, 1))
		return FP_LOST;
	return fp;
}

static int find_ra(const struct step_memory *memory, const struct bp_rule *rule,
		   const struct step_frame *frame, uint64_t cfa, uint64_t *out)
{
	uint32_t same = is_x86(memory) ? RA_REG_X86 : RA_REG_AARCH64;

	if (rule->ra_save == BP_SAVE_CFA)
		return read_words(memory, cfa + (int64_t)rule->ra_off, out, 1)
			       ? STEP_NEXT
			       : BP_STACK_STACK_UNREADABLE;
	return reg_value(memory, frame,
			 rule->ra_save == BP_SAVE_REG ? (uint32_t)rule->ra_off : same, out)
		       ? STEP_NEXT
		       : BP_STACK_REGISTER_LOST;
}

/* rbx of the caller. */
static int carry_bx(const struct step_memory *memory, const struct bp_rule *rule, bool tracks_bx,
		    uint64_t cfa, struct step_frame *frame)
{
	if (!tracks_bx || rule->bx_slot < 0) {
		frame->has_bx = false;
	} else if (rule->bx_slot) {
		frame->has_bx = true;
		if (!read_words(memory, cfa - 8 * (uint64_t)rule->bx_slot, &frame->bx, 1))
			return BP_STACK_STACK_UNREADABLE;
	} else if (frame->is_leaf && frame->has_regs && is_x86(memory)) {
		frame->has_bx = true;
		frame->bx = frame->regs[memory->arch->bx_reg];
	}
	return STEP_NEXT;
}

/* A call has pushed its return address (x86-64); on aarch64 only a leaf may have no frame. */
static uint64_t min_frame_bytes(const struct step_memory *memory, const struct step_frame *frame)
{
	if (is_x86(memory))
		return 8;
	return frame->is_leaf ? 0 : 16;
}

/* The CFA of the frame that a function under rule.is_eh_return goes to: see bpf/unwind_row.bpf.h.
 */
static uint64_t eh_return_cfa(const struct step_memory *memory, const struct step_frame *frame,
			      uint64_t cfa, uint64_t ra)
{
	uint64_t word, found;

	for (uint64_t i = 0, at = frame->sp; i < BP_EH_FRAME_WORDS && at < cfa; i++, at += 8) {
		if (!read_words(memory, at, &word, 1))
			break;
		if (word >= cfa && word - cfa < BP_EH_DISTANCE_MAX && !(word & 7) &&
		    read_words(memory, word, &found, 1) && found == ra)
			return word + 8;
	}
	return cfa;
}

static int step_to_caller(const struct step_memory *memory, const struct bp_rule *rule,
			  bool tracks_bx, struct step_frame *frame)
{
	uint64_t cfa, fp, ra, min_bytes = 0;
	int outcome = find_cfa(memory, rule, frame, &cfa);

	if (outcome == STEP_NEXT)
		outcome = find_ra(memory, rule, frame, cfa, &ra);
	if (outcome != STEP_NEXT)
		return outcome;
	fp = find_fp(memory, rule, frame, cfa);
	outcome = carry_bx(memory, rule, tracks_bx, cfa, frame);
	if (outcome != STEP_NEXT)
		return outcome;
	if (rule->is_eh_return)
		cfa = eh_return_cfa(memory, frame, cfa, ra);
	ra = strip_pac(memory, ra);
	if (!ra)
		return frame->guess ? frame->guess : BP_STACK_COMPLETE;
	/* vfork() has popped its return address while it is in the kernel: no stack is taken. */
	if (rule->ra_save != BP_SAVE_REG)
		min_bytes = min_frame_bytes(memory, frame);
	if (cfa < frame->sp + min_bytes)
		return BP_STACK_BAD_CFA;
	frame->ip = ra;
	frame->sp = cfa;
	frame->fp = fp;
	frame->is_call_site = true;
	frame->is_leaf = false;
	return STEP_NEXT;
}

int step_by_rule(const struct step_memory *memory, const struct bp_rule *rule, bool tracks_bx,
		 struct step_frame *frame)
{
	switch (rule->kind) {
	case BP_RULE_END:
		return BP_STACK_COMPLETE;
	case BP_RULE_SIGNAL:
		return step_by_signal(memory, frame);
	case BP_RULE_GAP:
	case BP_RULE_FP:
		return step_by_fp(memory, BP_STACK_GAP, frame);
	case BP_RULE_REG:
	case BP_RULE_DEREF:
	case BP_RULE_PLT:
		return step_to_caller(memory, rule, tracks_bx, frame);
	default:
		return BP_STACK_UNSUPPORTED_CFI;
	}
}
