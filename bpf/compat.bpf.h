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

/* ns */
struct bp_queue {
	__u64 clock_ns; /* of the run queue's CPU, when it was looked at last */
	__u64 since_ns; /* by that clock, when the task was put on the queue that it is on; 0: none
			 */
	__u64 delay_ns; /* the time that it has been on others, in all */
	__u64 arrived_ns; /* by that clock, when it came to a CPU last */
};

/* Does the kernel's own account of a task's time on run queues say when it was woken? */
static __always_inline bool compat_has_queue_times(void)
{
	struct sched_info *info = NULL;
	struct task_struct *task = NULL;
	struct cfs_rq *queue = NULL;
	struct rq *rq = NULL;

	return bpf_core_field_exists(task->sched_info) && bpf_core_field_exists(info->run_delay) &&
	       bpf_core_field_exists(info->last_queued) &&
	       bpf_core_field_exists(info->last_arrival) &&
	       bpf_core_field_exists(task->se.cfs_rq) && bpf_core_field_exists(queue->rq) &&
	       bpf_core_field_exists(rq->clock);
}

/*
 * What the kernel knows of @task, a pointer that the verifier knows as a task's, by the clocks of
 * its run queues, which agree among CPUs and are looked at when somebody is switched or queued.
 */
static __always_inline struct bp_queue compat_queue(struct task_struct *task)
{
	if (!compat_has_queue_times())
		return (struct bp_queue){0};
	return (struct bp_queue){
		.clock_ns = task->se.cfs_rq->rq->clock,
		.since_ns = task->sched_info.last_queued,
		.delay_ns = task->sched_info.run_delay,
		.arrived_ns = task->sched_info.last_arrival,
	};
}

/* May a task that is asleep be on a run queue still ("sched/fair: Implement delayed
 * dequeue", 6.12)? */
static __always_inline bool compat_delays_dequeue(void)
{
	struct sched_entity *entity = NULL;

	return bpf_core_field_exists(entity->sched_delayed);
}

/* Is @task, a pointer that the verifier knows as a task's, on a run queue, and not asleep? */
static __always_inline bool compat_is_runnable(struct task_struct *task)
{
	return task->on_rq && !(compat_delays_dequeue() && task->se.sched_delayed);
}

/* The clock of the run queue that we run on, which is late by a tick at most. */
static __always_inline __u64 compat_queue_clock_here(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return compat_has_queue_times() ? BPF_CORE_READ(task, se.cfs_rq, rq, clock) : 0;
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
 * @is_typed: the verifier knows that @mm is one, which it may read without a call.
 */
static __always_inline bool compat_mm_lock_seq(struct mm_struct *mm, bool is_typed, __u32 *out)
{
	struct mm_struct___6_13 *mm_6_13 = (void *)mm;
	struct mm_struct___6_4 *mm_6_4 = (void *)mm;

	if (bpf_core_field_exists(mm_6_13->mm_lock_seq.sequence)) {
		*out = is_typed ? mm_6_13->mm_lock_seq.sequence
				: BPF_CORE_READ(mm_6_13, mm_lock_seq.sequence);
		return !(*out & 1);
	}
	if (!bpf_core_field_exists(mm_6_4->mm_lock_seq))
		return false;
	*out = is_typed ? mm_6_4->mm_lock_seq : BPF_CORE_READ(mm_6_4, mm_lock_seq);
	return true;
}

#endif
