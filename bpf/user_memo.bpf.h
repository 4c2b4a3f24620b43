/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * User stacks of threads that wait where one has waited before. A walk is decided by the registers
 * that it begins with, by the words of the stack that it reads, and by what is mapped where. So
 * these are remembered with the frames that it found, and when all of them are the same, so are the
 * frames: to compare a word takes a tenth of what a step takes. A walk that looks at anything else
 * (other registers, code, a signal's frame, or meets JIT code) is not remembered, nor is one that
 * does not end.
 */
#ifndef BPFPROF_USER_MEMO_BPF_H
#define BPFPROF_USER_MEMO_BPF_H

enum {
	UM_FRAMES = 64, /* deeper stacks are walked each time */
	UM_TURN = 16,
};

struct bp_user_memo {
	struct bp_mm_key key; /* of what is mapped */
	struct bp_walk_notes notes;
	__u32 frame_cnt; /* 0: nothing is remembered */
	__u32 misses; /* in a row */
	__u64 frames[UM_FRAMES]; /* leaf first */
};

/* At load: BP_USER_MEMOS_PER_CPU for each CPU that has a shard; written by slot 0's owner. */
BP_ARRAY(user_memos, struct bp_user_memo, 0);

/* Where the walk that the slot is to begin, or has begun so, is remembered. */
static __always_inline struct bp_user_memo *user_memo(__u32 slot, const struct bp_scratch *s)
{
	__u64 hash = hash_mix(s->notes.sp, s->notes.ip) ^ (__u64)s->walk.mm;
	__u32 nr = slot / BP_SLOTS_PER_CPU << BP_USER_MEMO_BITS |
		   (__u32)(hash * 0x9e3779b97f4a7c15ULL >> (64 - BP_USER_MEMO_BITS));

	return bpf_map_lookup_elem(&user_memos, &nr);
}

static __always_inline bool mm_key_equals(const struct bp_mm_key *a, const struct bp_mm_key *b)
{
	return a->mm == b->mm && a->start_ns == b->start_ns && a->exec_id == b->exec_id &&
	       a->lock_seq == b->lock_seq && a->rows_nr == b->rows_nr;
}

/* Are the words from @first on still there, as many as fit a turn? */
__noinline int user_recall_turn(__u32 slot, __u32 first)
{
	struct bp_scratch *s = scratch_get(slot);
	struct bp_user_memo *memo = s ? user_memo(slot, s) : NULL;

	if (!memo)
		return 0;
	for (__u32 i = 0; i < UM_TURN; i++) {
		__u32 nr = (first + i) & (UM_WORDS - 1);
		__u64 word;

		if (first + i >= memo->notes.cnt)
			break;
		if (!window_word(s, s->notes.sp + 8 * (__u64)memo->notes.at[nr], &word) ||
		    word != memo->notes.words[nr])
			return 0;
	}
	return 1;
}

/* Is the walk that begins with the slot's registers remembered, and would it be the same? */
static __always_inline bool user_memo_holds(__u32 slot, struct bp_scratch *s,
					    const struct bp_user_memo *memo)
{
	const struct bp_mm_key *key = &walk_mm(s)->key;

	if (!memo->frame_cnt || memo->frame_cnt > UM_FRAMES || !key->mm ||
	    !mm_key_equals(&memo->key, key) || memo->notes.ip != s->notes.ip ||
	    memo->notes.sp != s->notes.sp || memo->notes.fp != s->notes.fp ||
	    memo->notes.is_call_site != s->notes.is_call_site)
		return false;
	for (__u32 first = 0; first < UM_WORDS; first += UM_TURN) {
		if (first >= memo->notes.cnt)
			break;
		if (!user_recall_turn(slot, first))
			return false;
	}
	return true;
}

/* A walk begins of which notes are taken. */
static __always_inline void notes_begin(struct bp_scratch *s)
{
	s->walk.window_at = WINDOW_NONE;
	s->notes.ip = s->walk.ip;
	s->notes.sp = s->walk.sp;
	s->notes.fp = s->walk.fp;
	s->notes.is_call_site = s->walk.is_call_site;
	s->notes.cnt = 0;
}

/* The frames of a complete walk into the slot's record, if it is remembered. */
__noinline int user_recall(__u32 slot)
{
	struct bp_scratch *s = scratch_get(slot);
	struct bp_user_memo *memo;
	__u32 cnt;

	if (!s || !s->is_exclusive)
		return 0;
	notes_begin(s);
	memo = user_memo(slot, s);
	if (!memo || !user_memo_holds(slot, s, memo))
		return 0;
	memo->misses = 0;
	cnt = memo->frame_cnt;
	if (cnt > UM_FRAMES ||
	    bpf_probe_read_kernel(&s->rec.frames[s->rec.kernel_cnt & 127], cnt * 8, memo->frames))
		return 0;
	for (__u32 i = 0; i < UM_FRAMES; i++) {
		if (i >= cnt)
			break;
		s->walk.hash = hash_mix(s->walk.hash, memo->frames[i]);
	}
	s->walk.user_total = cnt;
	return 1;
}

/* Remember the complete walk that has just ended. */
__noinline int user_learn(__u32 slot)
{
	struct bp_scratch *s = scratch_get(slot);
	struct bp_user_memo *memo;
	__u32 cnt;

	if (!s || !s->is_exclusive)
		return 0;
	memo = user_memo(slot, s);
	if (!memo || !memo_is_worth_learning(&memo->misses))
		return 0;
	cnt = s->walk.user_total;
	memo->frame_cnt = 0;
	memo->key = walk_mm(s)->key;
	if (!memo->key.mm || s->notes.cnt >= UM_WORDS || !cnt || cnt > UM_FRAMES)
		return 0;
	bpf_probe_read_kernel(&memo->notes, sizeof(memo->notes), &s->notes);
	bpf_probe_read_kernel(memo->frames, cnt * 8, &s->rec.frames[s->rec.kernel_cnt & 127]);
	memo->frame_cnt = cnt;
	return 0;
}

/* unwind_user(), for threads that come back from a wait. */
static __always_inline int unwind_waiter(__u32 slot, struct bp_scratch *s)
{
	int outcome;

	if (user_recall(slot))
		return BP_STACK_COMPLETE;
	outcome = unwind_user(slot, s);
	if (outcome == BP_STACK_COMPLETE)
		user_learn(slot);
	s->notes.cnt = UM_WORDS;
	return outcome;
}

#endif
