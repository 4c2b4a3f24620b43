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

/* The leftmost places of the first @cnt frames into copy->at; how many there are. */
static __always_inline __u64 words_find_left(struct bp_stack_words *copy, __u64 cnt)
{
	__u64 found = 0;

	for (__u64 i = 0; i < KM_WORDS; i++) {
		__u64 f = found & (KM_FRAMES - 1);

		copy->at[f] = i;
		found += word_equals(copy->words[i], copy->frames[f]) & number_is_less(f, cnt) &
			 number_is_less(i, copy->cnt);
	}
	return found;
}

/* Are the rightmost places the same? */
static __always_inline bool words_are_rightmost(const struct bp_stack_words *copy, __u64 cnt)
{
	__u64 left = cnt, others = 0;

	for (__u64 i = KM_WORDS; i-- > 0;) {
		__u64 f = (left - 1) & (KM_FRAMES - 1);
		__u64 is_it = word_equals(copy->words[i], copy->frames[f]) &
			      number_is_less(0, left) & number_is_less(i, copy->cnt);

		others |= is_it & (word_equals(copy->at[f], i) ^ 1);
		left -= is_it;
	}
	return !others;
}

/* What is there is what @memo has; new or changed frames and places are taken over. */
static __always_inline bool memo_agrees(struct bp_kernel_memo *memo,
					const struct bp_stack_words *copy)
{
	bool is_same = memo->cnt == copy->frame_cnt;

	memo->cnt = copy->frame_cnt;
	for (__u32 i = 0; i < KM_FRAMES; i++) {
		if (i >= copy->frame_cnt)
			break;
		is_same &= memo->frames[i] == copy->frames[i] && memo->at[i] == copy->at[i];
		memo->frames[i] = copy->frames[i];
		memo->at[i] = copy->at[i];
	}
	return is_same;
}

/*
 * Learn the stack in @copy, whose words are all of those up to the user's registers, @end_off bytes
 * above sp. memo->agreed says whether it is believed.
 */
static __always_inline void memo_learn(struct bp_kernel_memo *memo, struct bp_stack_words *copy,
				       __u64 end_off)
{
	__u64 cnt = copy->frame_cnt - 1, last = copy->cnt - 1;
	bool is_only;

	if (copy->words[last & (KM_WORDS - 1)] != copy->frames[cnt & (KM_FRAMES - 1)] ||
	    words_find_left(copy, cnt) != cnt) {
		memo->cnt = 0;
		return;
	}
	is_only = words_are_rightmost(copy, cnt);
	copy->at[cnt & (KM_FRAMES - 1)] = 0;
	if (!memo_agrees(memo, copy)) {
		memo->agreed = memo->has_gap = 0;
	} else if (memo->end_off != end_off) {
		memo->agreed++;
		memo->has_gap = 1;
	}
	if (is_only)
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
