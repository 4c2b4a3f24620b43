/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where kernels differ: user registers of a task that is in the kernel, the inode's modification
 * time, and whether mappings have changed. */
#ifndef BPFPROF_COMPAT_BPF_H
#define BPFPROF_COMPAT_BPF_H

#ifdef __TARGET_ARCH_x86
#include "arch_x86.bpf.h"
#else
#include "arch_arm64.bpf.h"
#endif

/*
 * The saved user registers stand at the top of the task's kernel stack. bpf_task_pt_regs() ("bpf:
 * Add bpf_task_pt_regs() helper", 5.15) knows the padding above them (16 bytes with
 * CONFIG_X86_FRED, 6.9); below 5.15 there is none on the kernels that have BTF.
 */
static __always_inline const void *compat_user_regs(struct task_struct *task)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	return (const char *)BPF_CORE_READ(task, stack) + ARCH_THREAD_BYTES - ARCH_PT_REGS_BYTES;
}

/* The same of @task, a pointer that the verifier knows as a task's. */
static __always_inline const void *compat_other_user_regs(struct task_struct *task)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (const void *)bpf_task_pt_regs(task);
	return (const char *)BPF_CORE_READ(task, stack) + ARCH_THREAD_BYTES - ARCH_PT_REGS_BYTES;
}

/* The scheduler's state of @task, a pointer that the verifier knows as a task's. */
static __always_inline __u32 compat_task_state(struct task_struct *task)
{
	struct task_struct___5 *task_5 = (void *)task;

	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return task_5->state;
}

/* The modification time in the copy of an inode. A struct timespec64 is two words. */
static __always_inline void compat_inode_mtime(const __u64 *copy, struct bp_exe_key *key)
{
	struct inode *inode = NULL;
	struct inode___6_7 *inode_6_7 = NULL;
	__u32 at;

	if (bpf_core_field_exists(inode->i_mtime_sec)) {
		key->mtime_s = copy_word(copy, INODE_OFF(inode, i_mtime_sec));
		key->mtime_ns = copy_half(copy, INODE_OFF(inode, i_mtime_nsec));
		return;
	}
	at = bpf_core_field_exists(inode_6_7->__i_mtime) ? INODE_OFF(inode___6_7, __i_mtime)
							 : INODE_OFF(inode___old, i_mtime);
	key->mtime_s = copy_word(copy, at);
	key->mtime_ns = copy_word(copy, at + sizeof(__u64));
}

/*
 * A number that changes whenever @mm's lock has been taken for writing, into *@out. 0: this kernel
 * has none, or somebody is writing. What a writer maps nobody can run before he has unlocked, so
 * on kernels where the number changes at the unlocking alone it is early enough.
 */
static __always_inline bool compat_mm_lock_seq(struct mm_struct *mm, __u32 *out)
{
	struct mm_struct___6_13 *mm_6_13 = (void *)mm;
	struct mm_struct___6_4 *mm_6_4 = (void *)mm;

	if (bpf_core_field_exists(mm_6_13->mm_lock_seq.sequence)) {
		*out = BPF_CORE_READ(mm_6_13, mm_lock_seq.sequence);
		return !(*out & 1);
	}
	if (!bpf_core_field_exists(mm_6_4->mm_lock_seq))
		return false;
	*out = BPF_CORE_READ(mm_6_4, mm_lock_seq);
	return true;
}

#endif
