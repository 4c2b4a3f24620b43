/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Return probes of user functions, ours and others': while such a function runs, the return address
 * on the stack is that of the kernel's trampoline, and the kernel alone knows the real one.
 */
#ifndef BPFPROF_UNWIND_RETURN_BPF_H
#define BPFPROF_UNWIND_RETURN_BPF_H

/* Calls that are passed over from one that was found to the next: those that were left without a
 * return, as by longjmp(), and have not been cleared away yet. */
enum { RETURN_INSTANCES_MAX = 16 };

/* Where the memory of the walk has the trampoline; ~0, which is no return address: nowhere. */
static __always_inline __u64 return_trampoline(struct mm_struct *mm)
{
	__u64 vaddr = 0;

	if (bpf_core_field_exists(mm->uprobes_state))
		vaddr = BPF_CORE_READ(mm, uprobes_state.xol_area, vaddr);
	return vaddr ? vaddr : ~0ULL;
}

/*
 * The walk has followed a return address to the trampoline: go where it leads. The call is the one
 * whose return address lay right below sp (x86-64), or whose sp was the same (arm64). A function
 * that was reached by a jump from another one with a return probe has two. They are in the order of
 * the walk, so the next one is looked for behind the last. 0 when the kernel does not know it.
 */
__noinline int return_resolve(__u32 slot)
{
	struct bp_scratch *s = scratch_get(slot);
	struct task_struct *task = (void *)bpf_get_current_task();
	struct return_instance *call;

	if (!s || !bpf_core_field_exists(task->utask))
		return 0;
	call = (void *)s->walk.next_call;
	if (!call)
		call = BPF_CORE_READ(task, utask, return_instances);
	for (int i = 0; i < RETURN_INSTANCES_MAX && call; i++) {
		struct return_instance *next = BPF_CORE_READ(call, next);

		if (BPF_CORE_READ(call, stack) + ARCH_RETURN_SLOT_BYTES == s->walk.sp) {
			s->walk.ip = BPF_CORE_READ(call, orig_ret_vaddr);
			s->walk.next_call = (__u64)next;
			if (s->walk.ip != s->walk.trampoline)
				return 1;
		}
		call = next;
	}
	return 0;
}

#endif
