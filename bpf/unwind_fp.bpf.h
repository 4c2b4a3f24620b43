/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One frame up by the frame pointer, or by what code itself says of its frame. */
#ifndef BPFPROF_UNWIND_FP_BPF_H
#define BPFPROF_UNWIND_FP_BPF_H

/* How far below argc the entry point's calls may be made: an alignment and a few pushes. */
enum { ENTRY_FRAME_BYTES = 64 };

/*
 * Does the walk stand in the code that the kernel jumped to? At exec it left sp at mm->start_stack,
 * on argc, and the entry point's own calls are made from next to there; above it lie only the
 * arguments. ld.so's _start, musl's and Go's have no unwind information that would say so.
 */
static __always_inline bool is_process_entry(const struct bp_scratch *s)
{
	struct mm_struct *mm = s->walk.mm;
	__u64 start_stack = BPF_CORE_READ(mm, start_stack);

	return start_stack && s->walk.sp + ENTRY_FRAME_BYTES >= start_stack &&
	       s->walk.sp <= start_stack;
}

/*
 * The frame pointer does not lead on: the bottom, or @why. A chain of frame pointers ends in 0
 * where a thread's first function saved the 0 that it was started with; but 0 alone is also what a
 * register holds that nobody has used yet, so a link of the chain must have been followed before.
 */
static __always_inline int fp_ends(const struct bp_scratch *s, __u64 fp, int why)
{
	if (!fp && s->walk.guess && s->walk.guess != BP_STACK_NO_ROWS)
		return BP_STACK_COMPLETE;
	return is_process_entry(s) ? BP_STACK_COMPLETE : why;
}

/*
 * A frame-pointer frame is { caller's fp, return address } at fp, the caller's sp above them.
 * Believed only when it lies above sp and not further than a frame may reach; the return address is
 * believed by the next step only in executable memory. @why is the outcome when the frame pointer
 * does not lead on.
 */
static __always_inline int step_fp(struct bp_scratch *s, int why)
{
	__u64 fp = s->walk.fp, frame[2];

	if ((fp & 7) || fp < s->walk.sp || fp - s->walk.sp > BP_FP_FRAME_BYTES_MAX)
		return fp_ends(s, fp, why);
	if (!stack_word(s, fp, &frame[0]) || !stack_word(s, fp + 8, &frame[1]))
		return fp_ends(s, fp, why);
	frame[1] = ARCH_STRIP_PAC(frame[1]);
	/* In a leaf, two zeros prove nothing: rbp may point anywhere. */
	if (!frame[1])
		return fp_ends(s, frame[0], why);
	s->walk.sp = fp + sizeof(frame);
	s->walk.fp = frame[0];
	s->walk.ip = frame[1];
	s->walk.is_call_site = 1;
	s->walk.is_leaf = 0;
	if (!s->walk.guess)
		s->walk.guess = why;
	s->walk.bx_state = BX_LOST;
	return STEP_NEXT;
}

/*
 * JIT code. Behind a call stands what runs next: code that gives its frame back there and returns
 * says how large it is, and that is no guess. CPython's trampolines (-X perf) are such code: they
 * keep no frame pointer, and Debian's interpreter, which they stand between, has none either.
 */
static __always_inline int step_jit(struct bp_scratch *s)
{
	__u64 bytes = s->walk.is_call_site ? arch_epilogue_bytes(s->walk.ip) : 0, ip;

	notes_spoil(s);
	if (!bytes || !stack_word(s, s->walk.sp + bytes, &ip) || !ip)
		return step_fp(s, BP_STACK_JIT);
	s->walk.sp += bytes + sizeof(ip);
	s->walk.ip = ip;
	s->walk.is_leaf = 0;
	s->walk.bx_state = BX_LOST;
	return STEP_NEXT;
}

/*
 * Code that has changed stacks and whose convention keeps the frame pointer (BP_RULE_FP: Go's
 * systemstack and its like): the frame may be anywhere, so its return address must be behind a
 * call.
 */
static __always_inline int step_fp_switch(struct bp_scratch *s)
{
	__u64 fp = s->walk.fp, frame[2];

	notes_spoil(s);
	if (!fp || (fp & 7) || !stack_word(s, fp, &frame[0]) || !stack_word(s, fp + 8, &frame[1]))
		return fp_ends(s, fp, BP_STACK_GAP);
	frame[1] = ARCH_STRIP_PAC(frame[1]);
	if (!arch_is_after_call(frame[1]) && !arch_is_after_nop(frame[1]))
		return BP_STACK_GAP;
	s->walk.sp = fp + sizeof(frame);
	s->walk.fp = frame[0];
	s->walk.ip = frame[1];
	s->walk.is_call_site = 1;
	s->walk.is_leaf = 0;
	s->walk.bx_state = BX_LOST;
	return STEP_NEXT;
}

#endif
