/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The first sample of an executable counts, whole: its unwind rows are not here yet, so what the
 * walk would need is sent to userspace, which walks on when the rows exist. Taken before any guess
 * by frame pointer, in the frame whose rows are missing. Bounded in bytes (struct bp_snapshot) and
 * in rate (per CPU); where it cannot be taken the walk goes on without, as it would have.
 *
 * The mappings go with the stack: the process may be gone when the rows come. Looking at each one
 * also announces its file, so that the rows of all of them are built at the same time.
 */
#ifndef BPFPROF_SNAPSHOT_BPF_H
#define BPFPROF_SNAPSHOT_BPF_H

enum { SNAPSHOT_PAGES = BP_SNAPSHOT_STACK_BYTES / BP_SNAPSHOT_PAGE_BYTES };

struct bp_snapshot_cpu {
	__u64 full_ns; /* when the burst will be allowed again in full */
	__u64 vma_from; /* mappings below it have been looked at */
	struct bp_snapshot out;
};

/* At load: CPUs present. Written by slot 0's owner on the CPU. */
BP_ARRAY(snapshots, struct bp_snapshot_cpu, 0);

static __always_inline struct bp_snapshot_cpu *snapshot_get(__u32 slot)
{
	__u32 cpu = slot / BP_SLOTS_PER_CPU;

	return bpf_map_lookup_elem(&snapshots, &cpu);
}

static __always_inline int snapshot_is_allowed(struct bp_snapshot_cpu *cpu)
{
	__u64 now = bpf_ktime_get_ns(), full = cpu->full_ns;

	if (full < now)
		full = now;
	if (full - now >= (__u64)BP_SNAPSHOT_BURST * BP_SNAPSHOT_PERIOD_NS)
		return 0;
	cpu->full_ns = full + BP_SNAPSHOT_PERIOD_NS;
	return 1;
}

/*
 * The VMA that contains @addr, which follows on the call before or is 0; or, where the walk finds
 * that first, 0 for a hole. vma_end of the slot is the last address of either.
 */
static __always_inline __u64 vma_or_hole(__u32 slot, struct bp_scratch *s, __u64 addr)
{
	__u64 vma;

	if (bpf_core_field_exists(struct mm_struct, mm_mt)) {
		if (addr && addr <= s->leaf_end) {
			s->vma_end = s->leaf_end;
			vma = maple_slot(slot, MAPLE_LEAF_64, addr);
		} else {
			s->leaf_end = 0;
			vma = vma_find_maple(slot, s, addr);
		}
		/* A reserved entry is no pointer. */
		return vma <= 4096 ? 0 : vma;
	}
	vma = vma_above_rbtree(s, addr);
	s->vma_end = ~0ULL;
	if (vma) {
		struct vm_area_struct *found = (void *)vma;

		s->vma_end = BPF_CORE_READ(found, vm_end) - 1;
	}
	return vma;
}

/* Add the mapping, when it is an executable one of ours. 0 when there is no more room. */
static __always_inline int snapshot_add_vma(__u32 slot, struct bp_scratch *s,
					    struct bp_snapshot *out, __u64 vma)
{
	struct bp_snapshot_vma *to;
	__u64 base;
	__u32 i;

	if (!vma_copy(s->vma, vma) || VMA_WORD(s->vma, vm_mm) != (__u64)s->walk.mm ||
	    !(VMA_WORD(s->vma, vm_flags) & VM_EXEC))
		return 1;
	base = vma_frame_base(slot, s);
	if (!vma_is_unchanged(s, vma)) {
		vma_miss(s);
		return 1;
	}
	/* Read only here: 5.10 forgets the bounds of a number that is spilled. */
	i = *(volatile __u32 *)&out->vma_cnt;
	if (i >= BP_SNAPSHOT_VMAS)
		return 0;
	to = &out->vmas[i];
	to->start = VMA_WORD(s->vma, vm_start);
	to->end = VMA_WORD(s->vma, vm_end);
	to->frame_base = base;
	out->vma_cnt = i + 1;
	return 1;
}

/* Look at the next mapping or hole. 0 when there is no more, or no more room. */
__noinline int snapshot_vma(__u32 slot)
{
	struct bp_snapshot_cpu *cpu = snapshot_get(slot);
	struct bp_scratch *s = scratch_get(slot);
	__u64 vma;

	if (!s || !cpu)
		return 0;
	vma = vma_or_hole(slot, s, cpu->vma_from);
	if (s->vma_end < cpu->vma_from)
		return 0;
	cpu->vma_from = s->vma_end + 1;
	if (vma && !snapshot_add_vma(slot, s, &cpu->out, vma))
		return 0;
	return !!cpu->vma_from;
}

static __always_inline void snapshot_regs(struct bp_scratch *s, struct bp_snapshot *out)
{
	out->ip = s->walk.ip;
	out->sp = s->walk.sp;
	out->fp = s->walk.fp;
	out->is_call_site = s->walk.is_call_site;
	out->is_leaf = s->walk.is_leaf;
	out->guess = s->walk.guess;
	out->has_regs = regs_need(s);
	if (out->has_regs) {
#pragma unroll
		for (int i = 0; i < BP_SNAPSHOT_REGS; i++)
			out->regs[i] = ARCH_REG_BY_DWARF(&s->regs, i);
	}
	out->has_bx = !s->walk.is_leaf && bx_value(s, &out->bx);
}

/*
 * Copy page @page of the stack, as far as it reaches. 0 behind its end. Global, because the
 * verifier of 5.10 follows bounds only next to their check.
 */
__noinline int snapshot_page(__u32 slot, __u32 page)
{
	struct bp_snapshot_cpu *cpu = snapshot_get(slot);
	__u64 off, bytes;

	if (!cpu || page >= SNAPSHOT_PAGES)
		return 0;
	off = page * BP_SNAPSHOT_PAGE_BYTES;
	bytes = cpu->out.stack_bytes - off;
	if (cpu->out.stack_bytes <= off)
		return 0;
	if (bytes > BP_SNAPSHOT_PAGE_BYTES)
		bytes = BP_SNAPSHOT_PAGE_BYTES;
	if (!bpf_probe_read_user(cpu->out.stack + off, bytes, (void *)(cpu->out.stack_start + off)))
		cpu->out.stack_pages |= 1U << page;
	return 1;
}

/*
 * The end of the stack that sp points into: that of the mapping just found, or the main thread's
 * first sp. Above that exec leaves a random piece of stack untouched (arch_align_stack()), which
 * cannot be read.
 */
static __always_inline __u64 snapshot_stack_end(struct bp_scratch *s, __u64 start_stack)
{
	__u64 start = start_stack + BP_SNAPSHOT_ABOVE_START;
	__u64 end = VMA_WORD(s->vma, vm_end);

	return s->walk.sp < start && start < end ? start : end;
}

/* Copy the stack from before sp up to its end, page by page. 0 when nothing can be read. */
__noinline int snapshot_stack(__u32 slot)
{
	struct bp_snapshot_cpu *cpu = snapshot_get(slot);
	struct bp_scratch *s = scratch_get(slot);
	struct mm_struct *mm;
	__u64 start, bytes;

	if (!s || !cpu || !vma_find(slot, s->walk.sp))
		return 0;
	mm = s->walk.mm;
	cpu->out.start_stack = BPF_CORE_READ(mm, start_stack);
	start = (s->walk.sp - BP_SNAPSHOT_BELOW_SP) & -(__u64)BP_SNAPSHOT_PAGE_BYTES;
	bytes = snapshot_stack_end(s, cpu->out.start_stack) - start;
	if (bytes > BP_SNAPSHOT_STACK_BYTES)
		bytes = BP_SNAPSHOT_STACK_BYTES;
	cpu->out.stack_start = start;
	cpu->out.stack_bytes = bytes;
	cpu->out.stack_pages = 0;
	for (__u32 i = 0; i < SNAPSHOT_PAGES; i++)
		if (!snapshot_page(slot, i))
			break;
	return !!cpu->out.stack_pages;
}

/* Send the walk as it stands to userspace, with what it needs to go on. 1 when it is sent. */
static __always_inline int snapshot_send(__u32 slot, struct bp_scratch *s,
					 struct bp_snapshot_cpu *cpu)
{
	struct bp_snapshot *out = &cpu->out;
	__u32 bytes;

	if (!snapshot_stack(slot))
		return 0;
	cpu->full_ns += (__u64)BP_SNAPSHOT_PERIOD_NS * (out->stack_bytes / BP_SNAPSHOT_PRICE_BYTES);
	snapshot_regs(s, out);
	out->vma_cnt = 0;
	cpu->vma_from = 0;
	for (int i = 0; i < BP_SNAPSHOT_VMA_STEPS; i++)
		if (!snapshot_vma(slot))
			break;
	/* What userspace walks through may be JIT code. */
	who_is_process(&s->rec.who, (void *)bpf_get_current_task());
	s->rec.type = BP_RING_SNAPSHOT;
	s->rec.outcome = BP_STACK_NO_ROWS;
	s->rec.user_cnt = s->rec.user_total = s->walk.user_total;
	bpf_probe_read_kernel(out->record, sizeof(out->record), &s->rec);
	s->rec.type = BP_RING_SAMPLE;
	/* Read again: 5.10 forgets the bounds of a number that is spilled. */
	bytes = *(volatile __u32 *)&out->stack_bytes;
	if (bytes > BP_SNAPSHOT_STACK_BYTES)
		return 0;
	return !bpf_ringbuf_output(&ring, out, offsetof(struct bp_snapshot, stack) + bytes, 0);
}

__noinline int snapshot_take(__u32 slot)
{
	struct bp_snapshot_cpu *cpu = snapshot_get(slot);
	struct bp_scratch *s = scratch_get(slot);
	struct bp_shard *shard;

	if (!s || !cpu)
		return 0;
	if (s->rec.kernel_cnt + s->walk.user_total <= BP_SNAPSHOT_FRAMES &&
	    snapshot_is_allowed(cpu) && snapshot_send(slot, s, cpu))
		return 1;
	shard = scratch_shard(s);
	if (shard)
		__sync_fetch_and_add(&shard->snapshots_refused, 1);
	return 0;
}

#endif
