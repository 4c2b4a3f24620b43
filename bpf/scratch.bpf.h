/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Scratch: where a sample is assembled. Contexts nest on one CPU (an interrupt over a probe
 * program), and probe programs are preemptible (uprobes run under rcu_read_lock() without disabling
 * preemption; with preempt=full another task's probe program then runs on the same CPU in the
 * middle of ours). So a slot is claimed, never assumed.
 *
 * The claim is a try-lock made of a plain atomic add, because 5.10 has no atomic that returns a
 * value: add 1, then read. Whoever reads exactly 1 is alone; anyone who came in between makes both
 * read more, and each takes his 1 back and tries the next slot. An owner keeps the count >= 1 until
 * he releases, so two owners are impossible; two failures at once are possible and cost only a
 * slot.
 *
 * Slot 0's owner alone writes the CPU's shard; the others send their record to the ring.
 */
#ifndef BPFPROF_SCRATCH_BPF_H
#define BPFPROF_SCRATCH_BPF_H

enum {
	BP_MM_BITS = 3,
	BP_MMS_CACHED = 1 << BP_MM_BITS,
	BP_VMAS_CACHED = 4,
	WINDOW_WORDS = 64,
	UM_WORDS = 128, /* of a walk's notes */
};

/* A mapping that a walk has met. frame of ip = frame_base + (ip - start). */
struct bp_vma {
	__u64 start, end;
	__u64 frame_base;
	__u64 is_exec;
	struct bp_rows rows;
};

/* What a process' mappings, and what is known of their files, are the same under. */
struct bp_mm_key {
	struct mm_struct *mm; /* NULL: nothing is kept */
	__u64 start_ns; /* of the process: the mm's memory may be another's by now */
	__u32 exec_id;
	__u32 lock_seq; /* compat_mm_lock_seq() */
	__u32 rows_nr; /* ctl's */
	__u32 pad;
};

/* The mappings of one process that its walks have met last. */
struct bp_mm {
	struct bp_mm_key key;
	__u32 next; /* which is replaced next, modulo BP_VMAS_CACHED */
	__u32 pad;
	struct bp_vma vmas[BP_VMAS_CACHED];
};

enum bx_state {
	BX_IN_REGS = 0, /* no frame so far has saved it: it is where the leaf has it */
	BX_LOADED,
	BX_LOST,
};

/* The walk's state: the registers of the frame that is to be pushed next. */
struct bp_unwind {
	__u64 ip, sp, fp;
	__u64 hash;
	__u64 bx; /* rbx, when bx_state is BX_LOADED */
	struct mm_struct *mm;
	/* Of the stack, where it is read, and what was: moving_page.bpf.h */
	__u64 moving_page, moving_at, moving_word;
	__u64 trampoline, next_call; /* of return probes: unwind_return.bpf.h */
	__u32 is_call_site; /* ip is a return address: the frame is the call before it */
	__u32 user_total;
	__u32 mm_nr; /* whose mappings: index into the slot's mms */
	__u32 is_leaf; /* no caller yet, or interrupted by a signal: all registers are known */
	__u32 regs_valid; /* the leaf's have been read into regs, or the last signal frame's */
	__u32 guess; /* the step to ip was by frame pointer for lack of a row: the outcome if ip is
			no code */
	__u32 bx_state; /* enum bx_state */
	__u32 has_raw; /* frames that only the process' own addresses tell apart */
	__u64 window_at; /* address of window[0] */
};

/* What a walk began with, and the words of the stack that it has read: user_memo.bpf.h. */
struct bp_walk_notes {
	__u64 ip, sp, fp;
	__u32 is_call_site;
	__u32 cnt; /* UM_WORDS: nothing is noted, or there is more to it than words of the stack */
	__u16 at[UM_WORDS]; /* words above sp */
	__u64 words[UM_WORDS];
};

struct bp_scratch {
	__u64 claims;
	__u64 exe_seq; /* executable ids this slot has handed out */
	__u32 shard; /* 2 * shard + epoch modulo 2 */
	__u32 is_exclusive; /* slot 0: owns the shard */
	__u32 slot; /* the number of this one */
	struct bp_unwind walk;
	struct bp_mm mms[BP_MMS_CACHED];
	struct bp_exe_key exe_key;
	struct bp_rows rows; /* of the executable identified last */
	__u64 exe_is_announced;
	struct dentry *path_dentry; /* where the walk to the file's root stands */
	struct vfsmount *path_mnt;
	struct pt_regs regs;
	struct arch_sigcontext sigcontext;
	__u64 vma_end; /* last address of the hole or mapping that the VMA walk ended in */
	__u64 leaf_end; /* last address of the leaf in node */
	__u64 window[WINDOW_WORDS]; /* of the user stack */
	struct bp_walk_notes notes;
	/* Copies of kernel structures (copy.bpf.h) */
	__u64 node[MAPLE_NODE_BYTES / 8];
	__u64 vma[COPY_BYTES / 8], vma_again[COPY_BYTES / 8];
	__u64 inode[COPY_BYTES / 8];
	struct bp_record rec;
	struct bp_exe_event exe_event;
};

BP_ARRAY(scratch, struct bp_scratch, 0);

static __always_inline struct bp_scratch *scratch_get(__u32 slot)
{
	return bpf_map_lookup_elem(&scratch, &slot);
}

/* The mappings of the process that is walked. */
static __always_inline struct bp_mm *walk_mm(struct bp_scratch *s)
{
	return &s->mms[s->walk.mm_nr & (BP_MMS_CACHED - 1)];
}

static __always_inline void mm_forget_vmas(struct bp_mm *mm)
{
	for (int i = 0; i < BP_VMAS_CACHED; i++)
		mm->vmas[i].end = 0;
}

/* Claim a slot of the CPU with shard number @cpu_shard: its number, or -1 when all are in use. */
static __always_inline int scratch_claim(__u32 cpu_shard)
{
	for (int i = 0; i < BP_SLOTS_PER_CPU; i++) {
		__u32 slot = cpu_shard * BP_SLOTS_PER_CPU + i;
		struct bp_scratch *s = scratch_get(slot);

		if (!s)
			return -1;
		if (cfg.test_plain_scratch)
			return slot;
		__sync_fetch_and_add(&s->claims, 1);
		if (*(volatile __u64 *)&s->claims == 1)
			return slot;
		__sync_fetch_and_add(&s->claims, -1);
	}
	return -1;
}

static __always_inline void scratch_release(struct bp_scratch *s)
{
	if (!cfg.test_plain_scratch)
		__sync_fetch_and_add(&s->claims, -1);
}

static __always_inline struct bp_shard *scratch_shard(const struct bp_scratch *s)
{
	__u32 shard = s->shard;

	return bpf_map_lookup_elem(&shards, &shard);
}

#endif
