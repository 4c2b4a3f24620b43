/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A page of the stack that is being copied. After fork() parent and child share their pages, and
 * the first write to one faults: the kernel makes a copy, takes the page out of the page table,
 * tells the other CPUs so, and puts the copy in (wp_page_copy()). In between nobody can read it by
 * its address, but what was there is where it was, and the fault says where: struct vm_fault, in a
 * frame of the task's kernel stack, has the entry of the page table as it was. Where telling takes
 * long (a virtual machine) it is one sample in 200 of a shell that forks.
 *
 * So where a word of the stack cannot be read, the frames nearest to user mode are searched for a
 * fault at its page: the word that is the page's address, in a structure whose mapping is of this
 * memory. The page is then read where the kernel has all memory mapped; how that lies to physical
 * addresses tells a page table whose two addresses the fault has: pmd points into it, and *pud is
 * the entry that leads to it.
 */
#ifndef BPFPROF_MOVING_PAGE_BPF_H
#define BPFPROF_MOVING_PAGE_BPF_H

enum {
	MOVING_PAGE_BYTES = BP_SNAPSHOT_PAGE_BYTES,
	MOVING_CHUNKS = 8, /* of WINDOW_WORDS: 4 KiB of the kernel stack */
	MOVING_NONE = 1, /* no page's address: it was looked for */
};

/* The fault whose address is at @at in kernel memory: is it of the walk's memory, and was there a
 * page? Then where that is is noted. */
__noinline int moving_note(__u32 slot, __u64 at)
{
	struct bp_scratch *s = scratch_get(slot);
	struct vm_fault *fault = (void *)at - bpf_core_field_offset(struct vm_fault, address);
	__u64 word;

	if (!s || BPF_CORE_READ(fault, vma, vm_mm) != s->walk.mm)
		return 0;
	word = BPF_CORE_READ(fault, orig_pte.pte);
	if (!(word & ARCH_PTE_PRESENT))
		return 0;
	s->walk.moving_at = (word & ARCH_PTE_FRAME) +
			    ((__u64)BPF_CORE_READ(fault, pmd) & -(__u64)MOVING_PAGE_BYTES);
	if (bpf_probe_read_kernel(&word, sizeof(word), BPF_CORE_READ(fault, pud)))
		return 0;
	s->walk.moving_at -= word & ARCH_PTE_FRAME;
	return 1;
}

/* Is the fault in the WINDOW_WORDS words at @at? They pass through the slot's window. */
__noinline int moving_chunk(__u32 slot, __u64 at, __u64 page)
{
	struct bp_scratch *s = scratch_get(slot);

	if (!s || bpf_probe_read_kernel(s->window, sizeof(s->window), (void *)at))
		return 0;
	for (int i = 0; i < WINDOW_WORDS; i++)
		if (s->window[i] == page && moving_note(slot, at + 8 * i))
			return 1;
	return 0;
}

static __always_inline int moving_find(__u32 slot, __u64 page)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 top = (__u64)BPF_CORE_READ(task, stack) + ARCH_THREAD_BYTES;

	for (int i = 1; i <= MOVING_CHUNKS; i++)
		if (moving_chunk(slot, top - i * sizeof(__u64) * WINDOW_WORDS, page))
			return 1;
	return 0;
}

/* The word of the user stack at @addr, which cannot be read there, into walk.moving_word: 1. The
 * window holds nothing afterwards. */
__noinline int moving_read(__u32 slot, __u64 addr)
{
	__u64 off = addr & (MOVING_PAGE_BYTES - 1), page = addr - off;
	struct bp_scratch *s = scratch_get(slot);

	if (!s || !bpf_core_field_exists(struct vm_fault, orig_pte) ||
	    off > MOVING_PAGE_BYTES - sizeof(__u64))
		return 0;
	if (!s->walk.moving_page) {
		s->walk.moving_page = moving_find(slot, page) ? page : MOVING_NONE;
	}
	return s->walk.moving_page == page &&
	       !bpf_probe_read_kernel(&s->walk.moving_word, sizeof(s->walk.moving_word),
				      (void *)s->walk.moving_at + off);
}

#endif
