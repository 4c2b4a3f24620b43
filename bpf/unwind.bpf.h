/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The user stack: a bounded loop over one global function (verified once, whatever the loop's
 * bound). A step pushes the frame it stands on and moves to its caller; steppers answer STEP_NEXT
 * or the outcome that ends the walk. State lives in the scratch slot, and steppers take its number,
 * because 5.10 accepts only scalars as arguments of global functions.
 *
 * Which stepper: the executable's row for the address; the frame pointer where there is no row (a
 * gap, most JIT code, rows not loaded yet), and then only if what it finds is plausible. The bottom
 * is known positively: a row says so (RA undefined), the return address is 0, or a chain of frame
 * pointers ends in 0.
 */
#ifndef BPFPROF_UNWIND_BPF_H
#define BPFPROF_UNWIND_BPF_H

enum {
	STEP_NEXT = 1000,
	STEP_SNAPSHOT, /* userspace walks on: the sample is recorded */
};

_Static_assert(STEP_NEXT > BP_STACK_OUTCOME_CNT, "not an outcome");

static __always_inline __u64 hash_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 32);
}

static __always_inline void frame_push(struct bp_scratch *s, __u64 frame)
{
	__u32 i = s->walk.user_total++;
	__u32 at;

	s->walk.hash = hash_mix(s->walk.hash, frame);
	if (i >= BP_FRAMES_LEAF)
		i = BP_FRAMES_LEAF + ((i - BP_FRAMES_LEAF) & (BP_FRAMES_ROOT - 1));
	at = s->rec.kernel_cnt + i;
	if (at < BP_FRAMES_MAX)
		s->rec.frames[at] = frame;
}

/* No stack is there: an address in the middle of what no user address can be. */
#define WINDOW_NONE (1ULL << 63)

/*
 * The word of the user stack at @addr into *@out; false when it cannot be read. Most frames are
 * small, and reading user memory costs the same for one word as for many (the barrier that every
 * access to user memory begins with), so a window is read from @addr upwards and serves the
 * following frames. Where it would reach beyond what is mapped, the word alone.
 */
static __always_inline bool window_word(struct bp_scratch *s, __u64 addr, __u64 *out)
{
	__u64 off = addr - s->walk.window_at;

	if (off < sizeof(s->window) && !(off & 7)) {
		__u64 at = off >> 3;

		/* Else clang merges the mask into the test above, and the verifier sees no bound.
		 */
		__asm__ volatile("" : "+r"(at));
		*out = s->window[at & (WINDOW_WORDS - 1)];
		return true;
	}
	if (!bpf_probe_read_user(s->window, sizeof(s->window), (void *)addr)) {
		s->walk.window_at = addr;
		*out = s->window[0];
		return true;
	}
	s->walk.window_at = WINDOW_NONE;
	if (!bpf_probe_read_user(out, sizeof(*out), (void *)addr))
		return true;
	if (!moving_read(s->slot, addr))
		return false;
	*out = s->walk.moving_word;
	return true;
}

/* The walk depends on more than notes tell. */
static __always_inline void notes_spoil(struct bp_scratch *s)
{
	if (cfg.waits || cfg.heap)
		s->notes.cnt = UM_WORDS;
}

/* The walk has read @word of the stack at @addr. */
static __always_inline void note_word(struct bp_scratch *s, __u64 addr, __u64 word)
{
	__u64 at = (addr - s->notes.sp) >> 3;
	__u32 i = s->notes.cnt;

	if ((!cfg.waits && !cfg.heap) || i >= UM_WORDS)
		return;
	if (at > 0xffff || addr & 7) {
		s->notes.cnt = UM_WORDS;
		return;
	}
	s->notes.at[i] = at;
	s->notes.words[i] = word;
	s->notes.cnt = i + 1;
}

/* window_word(), noted. */
static __always_inline bool stack_word(struct bp_scratch *s, __u64 addr, __u64 *out)
{
	if (!window_word(s, addr, out))
		return false;
	note_word(s, addr, *out);
	return true;
}

#include "unwind_fp.bpf.h"
#include "unwind_row.bpf.h"
#include "unwind_return.bpf.h"
#include "snapshot.bpf.h"

/* No page of rows: none yet, none in the file, or none to come. */
static __always_inline int step_without_rows(__u32 slot, struct bp_scratch *s, __u32 state)
{
	if (state == BP_ROWS_AWAITED && s->walk.guess != BP_STACK_NO_ROWS && s->is_exclusive &&
	    !cfg.no_snapshots && snapshot_take(slot))
		return STEP_SNAPSHOT;
	return step_fp(s, state == BP_ROWS_BUILT ? BP_STACK_GAP : BP_STACK_NO_ROWS);
}

/* Push the frame the walk stands on, then move to its caller. STEP_NEXT, or the outcome. */
__noinline int unwind_step(__u32 slot)
{
	struct bp_scratch *s = scratch_get(slot);
	struct bp_vma *vma;
	__u64 ip, frame;
	int cached;

	if (!s)
		return BP_STACK_NO_VMA;
	if (s->walk.ip == s->walk.trampoline) {
		notes_spoil(s);
		if (!return_resolve(slot))
			return BP_STACK_BAD_RETURN;
	}
	ip = s->walk.ip - !!s->walk.is_call_site;
	cached = vma_at(slot, s, ip);
	if (cached < 0)
		return s->walk.user_total ? BP_STACK_BAD_RETURN : BP_STACK_NO_VMA;
	vma = &walk_mm(s)->vmas[cached & (BP_VMAS_CACHED - 1)];
	if (!vma->is_exec && s->walk.user_total)
		return BP_STACK_BAD_RETURN;
	frame = vma->frame_base + (ip - vma->start);
	frame_push(s, frame);
	if (frame & BP_FRAME_RAW) {
		s->walk.has_raw = 1;
		return step_jit(s);
	}
	if (!vma->rows.page_cnt)
		return step_without_rows(slot, s, vma->rows.state);
	return step_row(slot, s, &vma->rows, bp_frame_off(frame));
}

/* Push the frame of the code at @ip and stay there. False when there is no code. */
__noinline int unwind_push(__u32 slot, __u64 ip)
{
	struct bp_scratch *s = scratch_get(slot);
	struct bp_vma *vma;
	__u64 frame;
	int cached;

	if (!s)
		return 0;
	cached = vma_at(slot, s, ip);
	if (cached < 0)
		return 0;
	vma = &walk_mm(s)->vmas[cached & (BP_VMAS_CACHED - 1)];
	frame = vma->frame_base + (ip - vma->start);
	frame_push(s, frame);
	s->walk.has_raw |= !!(frame & BP_FRAME_RAW);
	return vma->is_exec;
}

/* As many steps as fit a turn. STEP_NEXT: there is more. */
__noinline int unwind_turn(__u32 slot)
{
	for (int i = 0; i < BP_WALK_TURN; i++) {
		int outcome = unwind_step(slot);

		if (outcome != STEP_NEXT)
			return outcome;
	}
	return STEP_NEXT;
}

/*
 * Walk from the registers in the slot. Returns the outcome, or STEP_SNAPSHOT; frames are in the
 * record. Turns of steps, because a verifier follows a loop to its bound: 32 + 64 times round and
 * not 2,048.
 */
static __always_inline int unwind_user(__u32 slot, struct bp_scratch *s)
{
	s->walk.window_at = WINDOW_NONE;
	s->walk.trampoline = return_trampoline(s->walk.mm);
	for (int i = 0; i < BP_WALK_MAX / BP_WALK_TURN; i++) {
		int outcome = unwind_turn(slot);

		if (outcome == STEP_NEXT)
			continue;
		/* What fails after a guess fails because of it. */
		if (outcome == BP_STACK_COMPLETE || outcome == STEP_SNAPSHOT || !s->walk.guess)
			return outcome;
		return s->walk.guess;
	}
	return BP_STACK_TOO_DEEP;
}

/* No walk: the function that is entered at @ip, and the call that returns to @return_ip. */
static __always_inline int unwind_caller(__u32 slot, struct bp_scratch *s, __u64 ip,
					 __u64 return_ip)
{
	s->walk.ip = return_ip;
	if (!unwind_push(slot, ip))
		return BP_STACK_NO_VMA;
	if (s->walk.ip == return_trampoline(s->walk.mm)) {
		s->walk.trampoline = s->walk.ip;
		s->walk.sp += ARCH_RETURN_SLOT_BYTES;
		if (!return_resolve(slot))
			return BP_STACK_BAD_RETURN;
	}
	return unwind_push(slot, s->walk.ip - 1) ? BP_STACK_COMPLETE : BP_STACK_BAD_RETURN;
}

#endif
