/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which site an allocation belongs to. The stack is walked at the allocator's return, when its
 * frames are gone: the leaf is who called it. Allocations come from the same places again and
 * again, so what a walk has read is remembered with the site it led to (as user_memo.bpf.h, but for
 * the site instead of the frames).
 */
#ifndef BPFPROF_HEAP_WALK_BPF_H
#define BPFPROF_HEAP_WALK_BPF_H

/* With a frame of its own; pointers may be arguments, as of no global function. */
#define HEAP_SUBPROG static __attribute__((noinline))

struct bp_heap_memo {
	struct bp_mm_key key;
	__u64 ip, sp, fp;
	__u64 comm[2];
	__u32 tid;
	__u32 proc;
	__u32 site; /* 0: nothing is remembered */
	__u32 cnt;
	__u16 at[BP_HEAP_MEMO_WORDS];
	__u64 words[BP_HEAP_MEMO_WORDS];
};

/* At load: 1 << BP_HEAP_MEMO_BITS for each CPU that has a shard; written by slot 0's owner. */
BP_ARRAY(heap_memos, struct bp_heap_memo, 0);

static __always_inline struct bp_heap_memo *heap_memo(__u32 slot, const struct bp_scratch *s)
{
	__u64 hash = hash_mix(s->notes.sp, s->notes.ip) ^ (__u64)s->walk.mm;
	__u32 nr = slot / BP_SLOTS_PER_CPU << BP_HEAP_MEMO_BITS |
		   (__u32)(hash * 0x9e3779b97f4a7c15ULL >> (64 - BP_HEAP_MEMO_BITS));

	return bpf_map_lookup_elem(&heap_memos, &nr);
}

/* Are the words from @first on still there, as many as fit a turn? */
__noinline int heap_recall_turn(__u32 slot, __u32 first)
{
	struct bp_scratch *s = scratch_get(slot);
	struct bp_heap_memo *memo = s ? heap_memo(slot, s) : NULL;

	if (!memo)
		return 0;
	for (__u32 i = 0; i < UM_TURN; i++) {
		__u32 nr = (first + i) & (BP_HEAP_MEMO_WORDS - 1);
		__u64 word;

		if (first + i >= memo->cnt)
			break;
		if (!window_word(s, s->notes.sp + 8 * (__u64)memo->at[nr], &word) ||
		    word != memo->words[nr])
			return 0;
	}
	return 1;
}

/* The walk begins with the slot's registers: its site, if it is remembered, else 0. */
__noinline int heap_recall(__u32 slot, __u32 proc)
{
	struct bp_scratch *s = scratch_get(slot);
	struct bp_heap_memo *memo;
	__u64 comm[2] = {};

	if (!s || !s->is_exclusive)
		return 0;
	notes_begin(s);
	memo = heap_memo(slot, s);
	if (!memo || !memo->site || memo->proc != proc || memo->ip != s->notes.ip ||
	    memo->sp != s->notes.sp || memo->fp != s->notes.fp ||
	    memo->tid != (__u32)bpf_get_current_pid_tgid() ||
	    !mm_key_equals(&memo->key, &walk_mm(s)->key) || !memo->key.mm)
		return 0;
	bpf_get_current_comm(comm, sizeof(comm));
	if (comm[0] != memo->comm[0] || comm[1] != memo->comm[1])
		return 0;
	for (__u32 first = 0; first < BP_HEAP_MEMO_WORDS; first += UM_TURN) {
		if (first >= memo->cnt)
			break;
		if (!heap_recall_turn(slot, first))
			return 0;
	}
	return memo->site;
}

/* Remember the complete walk that has just led to @site. */
__noinline int heap_learn(__u32 slot, __u32 proc, __u32 site)
{
	struct bp_scratch *s = scratch_get(slot);
	struct bp_heap_memo *memo;

	if (!s || !s->is_exclusive || s->notes.cnt > BP_HEAP_MEMO_WORDS)
		return 0;
	memo = heap_memo(slot, s);
	if (!memo)
		return 0;
	memo->site = 0;
	memo->key = walk_mm(s)->key;
	memo->ip = s->notes.ip;
	memo->sp = s->notes.sp;
	memo->fp = s->notes.fp;
	memo->tid = bpf_get_current_pid_tgid();
	memo->proc = proc;
	memo->cnt = s->notes.cnt;
	bpf_get_current_comm(memo->comm, sizeof(memo->comm));
	bpf_probe_read_kernel(memo->at, sizeof(memo->at), s->notes.at);
	bpf_probe_read_kernel(memo->words, sizeof(memo->words), s->notes.words);
	memo->site = site;
	return 0;
}

/*
 * A walk that meets an executable without rows sends what it has so far, under the key that is in
 * the record then: so each walk begins with a site of its own, which is used up only by that. Per
 * slot; at load: as scratch.
 */
BP_ARRAY(heap_spares, __u32, 0);

__noinline int heap_prepare(__u32 slot, __u32 proc)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct bp_scratch *s = scratch_get(slot);
	__u32 *spare = bpf_map_lookup_elem(&heap_spares, &slot);

	if (!s || !spare)
		return 0;
	if (!*spare)
		*spare = site_new(0, proc);
	who_is(&s->rec.who, task, bpf_get_smp_processor_id());
	walk_begin(s);
	s->rec.type = BP_RING_SAMPLE;
	s->rec.epoch = s->shard & 1;
	s->rec.key = bp_heap_site_key(*spare);
	s->rec.value = s->rec.value2 = s->rec.variance = 0;
	s->rec.weight = 1;
	s->rec.kernel_cnt = 0;
	s->walk.hash = 0;
	s->notes.cnt = 0;
	return 0;
}

/* The walk has been sent for userspace to finish. */
static __always_inline __u32 heap_use_spare(__u32 slot, __u32 proc)
{
	__u32 *spare = bpf_map_lookup_elem(&heap_spares, &slot), nr;
	struct bp_heap_site *site;

	if (!spare)
		return 0;
	nr = *spare;
	*spare = 0;
	site = heap_site(nr);
	if (!site || !nr)
		return 0;
	site->proc = proc;
	site->hash = 1;
	return nr;
}

/* The site of the stack that was walked with @outcome; a new one's stack is told. */
__noinline int heap_walked(__u32 slot, __u32 proc, int outcome)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct bp_scratch *s = scratch_get(slot);
	bool is_new;
	__u32 site;

	if (!s)
		return 0;
	if (outcome == STEP_SNAPSHOT)
		return heap_use_spare(slot, proc);
	s->rec.outcome = outcome;
	if (s->walk.has_raw)
		who_is_process(&s->rec.who, task);
	site = site_find(site_hash(s, proc), proc, &is_new);
	if (site && is_new) {
		s->rec.key = bp_heap_site_key(site);
		sample_store(slot, s, outcome);
	}
	if (site && outcome == BP_STACK_COMPLETE)
		heap_learn(slot, proc, site);
	return site;
}

/* Registers of the return into the slot. False: there is nothing to walk. */
static __always_inline bool heap_regs(struct bp_scratch *s, const struct pt_regs *ctx,
				      bool is_return)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mm_struct *mm = task->mm;

	s->walk.ip = ARCH_CTX_IP(ARCH_REGS(ctx));
	s->walk.sp = ARCH_CTX_SP(ARCH_REGS(ctx));
	s->walk.fp = ARCH_CTX_FP(ARCH_REGS(ctx));
	s->walk.is_call_site = is_return;
	s->walk.mm = mm;
	if (!mm)
		return false;
	vma_begin_of(s, task, mm, true);
	return true;
}

/* A slot for the walk, with the registers in it; -1: there is none. */
HEAP_SUBPROG int heap_claim(struct pt_regs *ctx, bool is_return)
{
	__u32 cpu_nr = bpf_get_smp_processor_id(), zero = 0;
	struct bp_cpu *cpu = bpf_map_lookup_elem(&cpus, &cpu_nr);
	struct bp_ctl *control = bpf_map_lookup_elem(&ctl, &zero);
	struct bp_scratch *s;
	int slot;

	if (!cpu || !control || !cpu->shard)
		return -1;
	s = sample_claim(cpu, shard_of(cpu, control), &slot);
	if (!s)
		return -1;
	if (heap_regs(s, ctx, is_return))
		return slot;
	scratch_release(s);
	return -1;
}

/* The site of the call that returns, or of the one that begins: its stack's. 0: there is no room
 * for it. */
static __always_inline __u32 heap_find_site(struct pt_regs *ctx, __u32 proc, bool is_return)
{
	int slot = heap_claim(ctx, is_return), outcome;
	struct bp_scratch *s = slot < 0 ? NULL : scratch_get(slot);
	__u32 site;

	if (!s)
		return 0;
	site = heap_recall(slot, proc);
	if (!site) {
		heap_prepare(slot, proc);
		outcome = cfg.no_user_stacks ? BP_STACK_NOT_ASKED : unwind_user(slot, s);
		site = heap_walked(slot, proc, outcome);
	}
	s->notes.cnt = UM_WORDS;
	scratch_release(s);
	return site;
}

#endif
