/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kernel stacks of threads that wait where one has waited before. The kernel's unwinder takes a
 * third of what it costs to record a wait, and mostly says what it said the last time. So its
 * frames are remembered, and where on the stack their return addresses are: when all of them are
 * there again, so are the frames, because each one's place follows from the one below it and from
 * its code, whose frame has a fixed size.
 *
 * Distances are from sp, but for the last return address, which stands right below the user's
 * registers: in between, kernels leave a gap of random size in each system call
 * (CONFIG_RANDOMIZE_KSTACK_OFFSET).
 *
 * The unwinder does not tell the places. They are found: the return addresses, in their order, are
 * among the words of the stack, and so are stale ones. The leftmost places are believed when there
 * are no others (the rightmost are the same), or when they have been the same again and again with
 * gaps of different size: a stale word is not where it was when the stack has moved.
 */
#ifndef BPFPROF_KERNEL_MEMO_BPF_H
#define BPFPROF_KERNEL_MEMO_BPF_H

enum {
	KM_FRAMES = 64, /* stacks of so many and more are left to the unwinder */
	KM_WORDS = 256, /* of a stack, from sp on */
	KM_TURN = 8, /* words that are looked at at once */
	WORDS_ELSEWHERE = 1 << 16,
	KM_AGAIN = 4, /* how often places have to be the same when there are others */
};

struct bp_kernel_memo {
	__u64 owner; /* whose, in which kind of wait */
	__u64 end_off; /* from sp to the user's registers when it was learned */
	__u64 top_off; /* of the user's registers from the stack's lowest address */
	__u32 module_loads; /* of ctl: other code may be at an address since then */
	__u32 cnt; /* of frames; 0: nothing is remembered */
	__u32 word_cnt; /* of the stack, up to the last return address but one */
	__u32 misses; /* in a row */
	__u32 agreed; /* how often places were the same; KM_AGAIN: they are believed */
	__u32 has_gap; /* of another size each time, below the last return address */
	__u16 at[KM_FRAMES]; /* words above sp */
	__u64 frames[KM_FRAMES]; /* leaf first */
};

/* A copy of a stack, to look for return addresses. */
struct bp_stack_words {
	__u64 cnt;
	__u64 words[KM_WORDS];
	__u64 frame_cnt;
	__u64 frames[KM_FRAMES]; /* what the unwinder said, leaf first */
	__u16 at[KM_FRAMES];
};

/* 1 or 0, without a branch: a verifier would go through all ways to find the frames. */
static __always_inline __u64 word_equals(__u64 a, __u64 b)
{
	__u64 bits = a ^ b;

	bits |= -bits;
	__asm__ volatile("" : "+r"(bits));
	return (bits >> 63) ^ 1;
}

/* Likewise, of small numbers. */
static __always_inline __u64 number_is_less(__u64 a, __u64 b)
{
	__u64 bits = a - b;

	__asm__ volatile("" : "+r"(bits));
	return bits >> 63;
}

/* The leftmost places of the first @cnt frames into copy->at, as far as they are among KM_TURN
 * words from @first on; @found are known, and so many are then. */
static __always_inline __u64 words_find_left(struct bp_stack_words *copy, __u64 cnt, __u64 first,
					     __u64 found)
{
	for (__u64 i = 0; i < KM_TURN; i++) {
		__u64 f = found & (KM_FRAMES - 1), at = (first + i) & (KM_WORDS - 1);

		copy->at[f] = at;
		found += word_equals(copy->words[at], copy->frames[f]) & number_is_less(f, cnt) &
			 number_is_less(at, copy->cnt);
	}
	return found;
}

/* The rightmost places of the first @left frames, as far as they are among KM_TURN words from
 * @first on, are the same? How many are left to find, and WORDS_ELSEWHERE if one is not. */
static __always_inline __u64 words_find_right(const struct bp_stack_words *copy, __u64 left,
					      __u64 first)
{
	__u64 others = left & WORDS_ELSEWHERE;

	left &= WORDS_ELSEWHERE - 1;
	for (__u64 i = KM_TURN; i-- > 0;) {
		__u64 f = (left - 1) & (KM_FRAMES - 1), at = (first + i) & (KM_WORDS - 1);
		__u64 is_it = word_equals(copy->words[at], copy->frames[f]) &
			      number_is_less(0, left) & number_is_less(at, copy->cnt);

		others |= (is_it & (word_equals(copy->at[f], at) ^ 1)) * WORDS_ELSEWHERE;
		left -= is_it;
	}
	return left | others;
}

/* What is there is what @memo has; new or changed frames and places are taken over. */
static __always_inline bool memo_agrees(struct bp_kernel_memo *memo,
					const struct bp_stack_words *copy)
{
	__u64 others = word_equals(memo->cnt, copy->frame_cnt) ^ 1;

	memo->cnt = copy->frame_cnt;
	for (__u64 i = 0; i < KM_FRAMES; i++) {
		__u64 is_it = word_equals(memo->frames[i], copy->frames[i]) &
			      word_equals(memo->at[i], copy->at[i]);

		others |= (is_it ^ 1) & number_is_less(i, copy->frame_cnt);
		memo->frames[i] = copy->frames[i];
		memo->at[i] = copy->at[i];
	}
	return !others;
}

/*
 * Learn the stack in @copy, whose words are all of those up to the user's registers, @end_off bytes
 * above sp. @found: what words_find_left() has found of all words; @right: what words_find_right()
 * has left, from the last words to the first ones. memo->agreed says whether it is believed.
 */
static __always_inline void memo_learn(struct bp_kernel_memo *memo, struct bp_stack_words *copy,
				       __u64 end_off, __u64 found, __u64 right)
{
	__u64 cnt = copy->frame_cnt - 1, last = copy->cnt - 1;

	if (copy->words[last & (KM_WORDS - 1)] != copy->frames[cnt & (KM_FRAMES - 1)] ||
	    found != cnt) {
		memo->cnt = 0;
		return;
	}
	copy->at[cnt & (KM_FRAMES - 1)] = 0;
	if (!memo_agrees(memo, copy)) {
		memo->agreed = memo->has_gap = 0;
	} else if (memo->end_off != end_off) {
		memo->agreed++;
		memo->has_gap = 1;
	}
	if (!(right & WORDS_ELSEWHERE))
		memo->agreed = KM_AGAIN;
	memo->end_off = end_off;
	memo->word_cnt = cnt ? copy->at[(cnt - 1) & (KM_FRAMES - 1)] + 1 : 0;
}

/* Are they all in @words again, and @last, the word below the user's registers, which are @end_off
 * above sp, too? */
static __always_inline bool memo_holds(const struct bp_kernel_memo *memo, const __u64 *words,
				       __u64 last, __u64 end_off)
{
	if (!memo->has_gap && memo->end_off != end_off)
		return false;
	for (__u32 i = 0; i < KM_FRAMES; i++) {
		if (i + 1 >= memo->cnt)
			break;
		if (words[memo->at[i] & (KM_WORDS - 1)] != memo->frames[i])
			return false;
	}
	return memo->frames[(memo->cnt - 1) & (KM_FRAMES - 1)] == last;
}

/* A stack that is another one each time is not learned each time, but KM_AGAIN times and some more
 * in a row, and then ever more rarely. */
static __always_inline bool memo_is_worth_learning(__u32 *misses)
{
	__u32 bursts = (*misses)++ / (2 * KM_AGAIN);

	return !(bursts & (bursts - 1));
}

#endif
