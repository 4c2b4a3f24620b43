/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All threads, one by one, when userspace reads the iterator: at the start each gets its times, at
 * the end of a window each tells them, and those that are asleep tell where.
 */
#ifndef BPFPROF_ENTRY_THREADS_BPF_H
#define BPFPROF_ENTRY_THREADS_BPF_H

static __always_inline bool thread_is_ours(struct task_struct *task)
{
	return task && task->pid && (cfg.kernel_threads || !(task->flags & PF_KTHREAD));
}

/* The recording begins for @task, which was there before. */
static __always_inline void thread_begin(struct bp_thread *t, struct task_struct *task)
{
	t->part = task->on_cpu		     ? BP_PART_RUNNING
		  : compat_is_runnable(task) ? BP_PART_PREEMPTED
					     : part_of_state(compat_task_state(task));
	t->since_ns = bpf_ktime_get_ns();
	/* The clock of the queue that it was on stands still while that CPU is idle. */
	thread_note_leaving(t, task);
	t->left_clock_ns = compat_queue_clock_here();
	if (part_is_blocked(t->part) && compat_queue(task).since_ns)
		thread_distrust_queue(t);
	if (t->part == BP_PART_RUNNING)
		process_runs(task, 1);
}

SEC("iter/task")
int bp_adopt(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct bp_thread *t;

	if (!thread_is_ours(task))
		return 0;
	t = thread_make(task);
	/* It has been switched to since it was made: then it is known better. */
	if (t && !t->since_ns)
		thread_begin(t, task);
	return 0;
}

struct bp_asleep_slot {
	struct bp_asleep out;
	struct pt_regs regs;
};

/* One reader, one thread at a time. */
BP_ARRAY(asleep_slot, struct bp_asleep_slot, 0);

static __always_inline void asleep_regs(struct bp_asleep_slot *slot, struct task_struct *task)
{
	struct bp_asleep *out = &slot->out;

	out->has_regs = 0;
	out->start_stack = 0;
	if (!task->mm)
		return;
	out->start_stack = BPF_CORE_READ(task, mm, start_stack);
	if (bpf_probe_read_kernel(&slot->regs, sizeof(slot->regs), compat_other_user_regs(task)))
		return;
	if (!ARCH_SAVED_IS_USER(ARCH_REGS(&slot->regs)) ||
	    ARCH_CTX_IS_32BIT(ARCH_REGS(&slot->regs)))
		return;
	out->has_regs = 1;
	out->ip = ARCH_CTX_IP(ARCH_REGS(&slot->regs));
	out->sp = ARCH_CTX_SP(ARCH_REGS(&slot->regs));
	out->fp = ARCH_CTX_FP(ARCH_REGS(&slot->regs));
	out->is_call_site = ARCH_SAVED_IS_SYSCALL(&slot->regs);
#pragma unroll
	for (int i = 0; i < BP_SNAPSHOT_REGS; i++)
		out->regs[i] = ARCH_REG_BY_DWARF(&slot->regs, i);
}

/* The wait that @task is in, as far as it lies in the window that ends at @now_ns. */
static __always_inline void asleep_wait(struct bp_asleep *out, struct task_struct *task,
					struct bp_thread *t, __u64 now_ns)
{
	struct bp_record *rec = (struct bp_record *)out->head;
	struct bp_wait wait = thread_wait(t, thread_wait_from(t), now_ns);
	long bytes;

	if (t->part == BP_PART_RUNNING || t->part == BP_PART_DEAD ||
	    !wait_is_wanted(&wait, t->part))
		return;
	rec->key = bp_event_key(BP_EVENT_SWITCH, t->part, log2_of(wait.blocked_ns));
	rec->value = wait.blocked_ns;
	rec->value2 = wait.runnable_ns;
	rec->weight = 1;
	if (cfg.bucket_ns)
		who_is_at(&rec->who, now_ns - wait.blocked_ns - wait.runnable_ns);
	if (cfg.no_kernel_stacks)
		return;
	bytes = bpf_get_task_stack(task, out->kernel, sizeof(out->kernel), 0);
	if (bytes > 0)
		rec->kernel_cnt = (__u64)bytes / 8;
}

static __always_inline void asleep_fill(struct bp_asleep_slot *slot, struct task_struct *task,
					struct bp_thread *t, const struct bp_ctl *control)
{
	__u64 now_ns = control->waits_end_ns ?: bpf_ktime_get_ns();
	struct bp_asleep *out = &slot->out;
	struct bp_totals totals;

	__builtin_memset(out->head, 0, sizeof(out->head));
	who_is(&((struct bp_record *)out->head)->who, task, 0);
	if (control->queue_times && t->part != BP_PART_RUNNING && part_is_blocked(t->part))
		thread_find_wake(t, task, now_ns);
	asleep_wait(out, task, t, now_ns);
	totals = thread_tell(t, now_ns);
	t->charged_ns = now_ns;
	out->cpu_ns = totals.cpu_ns;
	out->blocked_ns = totals.blocked_ns;
	out->runnable_ns = totals.runnable_ns;
	out->tgid = task_tgid(task);
	out->tid = task_tid(task);
	out->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	asleep_regs(slot, task);
}

SEC("iter/task")
int bp_collect(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u32 zero = 0;
	struct bp_asleep_slot *slot = bpf_map_lookup_elem(&asleep_slot, &zero);
	struct bp_ctl *control = bpf_map_lookup_elem(&ctl, &zero);
	struct bp_thread *t;

	if (!slot || !control || !thread_is_ours(task))
		return 0;
	t = thread_get(task);
	if (!t || !filter_wants(task))
		return 0;
	asleep_fill(slot, task, t, control);
	bpf_seq_write(ctx->meta->seq, &slot->out, sizeof(slot->out));
	return 0;
}

#endif
