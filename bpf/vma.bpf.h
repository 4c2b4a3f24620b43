/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which mapping contains an address of the current task, found without a lock: the maple tree
 * of 6.1 and newer ("mm: start tracking VMAs with maple tree"), the red-black tree before. Nodes
 * are freed by RCU or reused under us, reads cannot fault, and what is found is validated: it
 * contains the address and belongs to this mm. A miss is counted, never guessed. bpf_find_vma() is
 * of no use here: in a perf event its second call in one sample always fails.
 *
 * Maple tree in short (lib/maple_tree.c): a node is 256 bytes; an encoded pointer has the node's
 * type in bits 3-6. Slot i holds what lies in (pivot[i-1], pivot[i]]; a pivot of 0 beyond the first
 * ends the node early and its slot is the last one. A tree of one entry keeps it in ma_root itself.
 *
 * What is found is kept per process for the next samples, as long as nothing has changed in its
 * memory map: looking an address up touches some 20 cold cache lines, asking whether anything has
 * changed three.
 */
#ifndef BPFPROF_VMA_BPF_H
#define BPFPROF_VMA_BPF_H

enum {
	MAPLE_LEAF_64 = 1,
	MAPLE_RANGE_64 = 2,
	MAPLE_ARANGE_64 = 3,
	MAPLE_NODE_MASK = 0xff,
};

/* The slot of the node in scratch that governs @addr; where it ends goes to vma_end, if the node
 * says so. */
__noinline __u64 maple_slot(__u32 slot, __u32 type, __u64 addr)
{
	struct bp_scratch *s = scratch_get(slot);
	struct maple_arange_64 *arange;
	struct maple_range_64 *range;
	int i;

	if (!s)
		return 0;
	if (type == MAPLE_ARANGE_64) {
		arange = (void *)s->node;
		for (i = 0; i < MAPLE_ARANGE64_SLOTS - 1; i++)
			if (addr <= arange->pivot[i] || (i && !arange->pivot[i]))
				break;
		if (i < MAPLE_ARANGE64_SLOTS - 1 && arange->pivot[i])
			s->vma_end = arange->pivot[i];
		return (__u64)arange->slot[i];
	}
	range = (void *)s->node;
	for (i = 0; i < MAPLE_RANGE64_SLOTS - 1; i++)
		if (addr <= range->pivot[i] || (i && !range->pivot[i]))
			break;
	if (i < MAPLE_RANGE64_SLOTS - 1 && range->pivot[i])
		s->vma_end = range->pivot[i];
	return (__u64)range->slot[i];
}

static __always_inline __u64 vma_find_maple(__u32 slot, struct bp_scratch *s, __u64 addr)
{
	struct mm_struct *mm = s->walk.mm;
	__u64 entry = (__u64)BPF_CORE_READ(mm, mm_mt.ma_root);

	s->vma_end = ~0ULL;
	if ((entry & 3) != 2 || entry <= 4096)
		return entry & 2 ? 0 : entry;
	for (int depth = 0; depth < BP_MAPLE_DEPTH; depth++) {
		__u32 type = (entry >> 3) & 0xf;

		if (bpf_probe_read_kernel(s->node, sizeof(s->node),
					  (void *)(entry & ~(__u64)MAPLE_NODE_MASK)))
			return 0;
		s->leaf_end = s->vma_end;
		entry = maple_slot(slot, type, addr);
		if (type <= MAPLE_LEAF_64)
			return entry;
	}
	return 0;
}

/* The lowest VMA that ends above @addr. */
static __always_inline __u64 vma_above_rbtree(struct bp_scratch *s, __u64 addr)
{
	struct mm_struct___rbtree *mm = (void *)s->walk.mm;
	struct rb_node *node = BPF_CORE_READ(mm, mm_rb.rb_node);
	__u64 lowest = 0;

	for (int depth = 0; depth < BP_RBTREE_DEPTH && node; depth++) {
		struct vm_area_struct *vma =
			(void *)node - bpf_core_field_offset(struct vm_area_struct___rbtree, vm_rb);

		if (addr >= BPF_CORE_READ(vma, vm_end)) {
			node = BPF_CORE_READ(node, rb_right);
			continue;
		}
		lowest = (__u64)vma;
		if (addr >= BPF_CORE_READ(vma, vm_start))
			break;
		node = BPF_CORE_READ(node, rb_left);
	}
	return lowest;
}

static __always_inline __u64 vma_find_rbtree(struct bp_scratch *s, __u64 addr)
{
	struct vm_area_struct *vma = (void *)vma_above_rbtree(s, addr);

	return vma && addr >= BPF_CORE_READ(vma, vm_start) ? (__u64)vma : 0;
}

/* Read the VMA at @vma, up to the last field of interest, into @copy. */
static __always_inline bool vma_copy(__u64 *copy, __u64 vma)
{
	__u32 bytes = bpf_core_field_offset(struct vm_area_struct, vm_file) + sizeof(void *);

	return bytes <= COPY_BYTES && !bpf_probe_read_kernel(copy, bytes, (void *)vma);
}

static __always_inline void vma_miss(struct bp_scratch *s)
{
	struct bp_shard *shard = scratch_shard(s);

	if (shard)
		__sync_fetch_and_add(&shard->vma_misses, 1);
}

/* Find the VMA that contains @addr in the walk's mm and copy it to the slot; 0 when there is none.
 */
__noinline __u64 vma_find(__u32 slot, __u64 addr)
{
	struct bp_scratch *s = scratch_get(slot);
	__u64 vma;

	if (!s)
		return 0;
	if (bpf_core_field_exists(struct mm_struct, mm_mt))
		vma = vma_find_maple(slot, s, addr);
	else
		vma = vma_find_rbtree(s, addr);
	if (!vma)
		return 0;
	if (vma_copy(s->vma, vma) && addr >= VMA_WORD(s->vma, vm_start) &&
	    addr < VMA_WORD(s->vma, vm_end) && VMA_WORD(s->vma, vm_mm) == (__u64)s->walk.mm)
		return vma;
	vma_miss(s);
	return 0;
}

/*
 * Is the VMA still what was copied? Its memory may be given to another mapping at any time (VMAs
 * are SLAB_TYPESAFE_BY_RCU since "mm: make vma cache SLAB_TYPESAFE_BY_RCU", 6.15), and then the
 * file that we followed from it may have been closed and its memory be another file's. Asked after
 * the last read of what hangs on the VMA.
 */
static __always_inline bool vma_is_unchanged(struct bp_scratch *s, __u64 vma)
{
	return vma_copy(s->vma_again, vma) &&
	       VMA_WORD(s->vma, vm_start) == VMA_WORD(s->vma_again, vm_start) &&
	       VMA_WORD(s->vma, vm_end) == VMA_WORD(s->vma_again, vm_end) &&
	       VMA_WORD(s->vma, vm_mm) == VMA_WORD(s->vma_again, vm_mm) &&
	       VMA_WORD(s->vma, vm_pgoff) == VMA_WORD(s->vma_again, vm_pgoff) &&
	       VMA_WORD(s->vma, vm_file) == VMA_WORD(s->vma_again, vm_file);
}

/* What a frame is counted from in the VMA just found. */
static __always_inline __u64 vma_frame_base(__u32 slot, struct bp_scratch *s)
{
	__u64 start = VMA_WORD(s->vma, vm_start);
	struct mm_struct *mm = s->walk.mm;
	struct bp_shard *shard;
	__u32 zero = 0;
	int id;

	if (!VMA_WORD(s->vma, vm_file)) {
		if ((__u64)BPF_CORE_READ(mm, context.vdso) == start) {
			struct bp_ctl *control = bpf_map_lookup_elem(&ctl, &zero);

			if (control)
				s->rows = control->vdso_rows;
			return (__u64)BP_EXE_VDSO << BP_FRAME_OFF_BITS;
		}
		return BP_FRAME_RAW | start;
	}
	id = exe_id(slot);
	/* Another sample may have more luck, or has to announce the executable once more. */
	if (id == BP_EXE_NONE || !s->exe_is_announced)
		walk_mm(s)->key.mm = NULL;
	if (id != BP_EXE_NONE && s->rows.state == BP_ROWS_JIT)
		return BP_FRAME_RAW | start;
	if (id != BP_EXE_NONE)
		return (__u64)id << BP_FRAME_OFF_BITS |
		       ((VMA_WORD(s->vma, vm_pgoff) << 12) & ((1ULL << BP_FRAME_OFF_BITS) - 1));
	shard = scratch_shard(s);
	if (shard)
		__sync_fetch_and_add(&shard->exe_misses, 1);
	return BP_FRAME_RAW | start;
}

/*
 * Begin a walk of @task, whose memory is s->walk.mm: choose where its mappings are kept, and forget
 * what is there of another process or of another time.
 */
static __always_inline void vma_begin_of(struct bp_scratch *s, struct task_struct *task,
					 struct mm_struct *mm_of_task, bool is_typed)
{
	/* Read again: as a number, which may be computed with. */
	struct bp_mm_key key = {.mm = *(struct mm_struct *volatile *)&s->walk.mm};
	struct bp_ctl *control;
	struct bp_mm *mm;
	__u32 zero = 0;

	s->walk.moving_page = s->walk.next_call = 0;
	/* The upper bits of a product depend on all of the address. */
	s->walk.mm_nr = ((__u64)key.mm * 0x9e3779b97f4a7c15ULL) >> (64 - BP_MM_BITS);
	mm = walk_mm(s);
	control = bpf_map_lookup_elem(&ctl, &zero);
	if (!control || !compat_mm_lock_seq(mm_of_task, is_typed, &key.lock_seq)) {
		mm->key.mm = NULL;
		mm_forget_vmas(mm);
		return;
	}
	key.start_ns = is_typed ? task->group_leader->start_boottime
				: BPF_CORE_READ(task, group_leader, start_boottime);
	key.exec_id = is_typed ? task->group_leader->self_exec_id
			       : BPF_CORE_READ(task, group_leader, self_exec_id);
	key.rows_nr = *(volatile __u32 *)&control->rows_nr;
	if (mm->key.mm == key.mm && mm->key.start_ns == key.start_ns &&
	    mm->key.exec_id == key.exec_id && mm->key.lock_seq == key.lock_seq &&
	    mm->key.rows_nr == key.rows_nr)
		return;
	mm->key = key;
	mm_forget_vmas(mm);
}

static __always_inline void vma_begin(struct bp_scratch *s, struct task_struct *task)
{
	vma_begin_of(s, task, s->walk.mm, false);
}

/* Find the mapping that contains @ip and cache it: its place in the cache, -1 when there is none.
 */
__noinline int vma_load_once(__u32 slot, __u64 ip)
{
	struct bp_scratch *s = scratch_get(slot);
	struct bp_vma *cached;
	struct bp_mm *mm;
	__u64 vma, base;
	__u32 i;

	if (!s)
		return -1;
	vma = vma_find(slot, ip);
	if (!vma)
		return -1;
	s->rows = (struct bp_rows){0};
	base = BP_FRAME_RAW | VMA_WORD(s->vma, vm_start);
	if (VMA_WORD(s->vma, vm_flags) & VM_EXEC)
		base = vma_frame_base(slot, s);
	if (!vma_is_unchanged(s, vma)) {
		vma_miss(s);
		return -1;
	}
	mm = walk_mm(s);
	i = mm->next++ & (BP_VMAS_CACHED - 1);
	cached = &mm->vmas[i];
	cached->start = VMA_WORD(s->vma, vm_start);
	cached->end = VMA_WORD(s->vma, vm_end);
	cached->is_exec = !!(VMA_WORD(s->vma, vm_flags) & VM_EXEC);
	cached->frame_base = base;
	cached->rows = s->rows;
	return i;
}

/* Again after a miss: a writer may just have been in the middle of the tree. What is mapped nowhere
 * costs this twice, but ends the walk. */
static __always_inline int vma_load(__u32 slot, __u64 ip)
{
	int found = vma_load_once(slot, ip);

	return found < 0 ? vma_load_once(slot, ip) : found;
}

/* The place in the cache of the mapping that contains @ip; -1 when there is none. */
static __always_inline int vma_at(__u32 slot, struct bp_scratch *s, __u64 ip)
{
	struct bp_mm *mm = walk_mm(s);

	for (__u32 i = 0; i < BP_VMAS_CACHED; i++)
		if (ip >= mm->vmas[i].start && ip < mm->vmas[i].end)
			return i;
	return vma_load(slot, ip);
}

#endif
