/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What userspace asks of the kernel side by BPF_PROG_TEST_RUN, in its own context: these programs
 * are never attached.
 */
#ifndef BPFPROF_ENTRY_ADMIN_BPF_H
#define BPFPROF_ENTRY_ADMIN_BPF_H

/* Find the VMA of our own memory that contains @addr into the slot, which is claimed. */
static __always_inline bool admin_vma(__u32 slot, struct bp_scratch *s, __u64 addr)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	s->shard = 0;
	s->walk.mm = BPF_CORE_READ(task, mm);
	return vma_find(slot, addr) != 0;
}

/*
 * Self-test of the lockless VMA walk: is [args[0], args[1]) a mapping of ours? The loader asks for
 * each line of its /proc/self/maps.
 */
SEC("raw_tp")
int bp_selftest(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 start = ctx->args[0], end = ctx->args[1];
	int slot = scratch_claim(0), found = 0;
	struct bp_scratch *s = slot < 0 ? NULL : scratch_get(slot);

	if (!s)
		return 0;
	found = admin_vma(slot, s, start + (end - start) / 2) &&
		VMA_WORD(s->vma, vm_start) == start && VMA_WORD(s->vma, vm_end) == end;
	scratch_release(s);
	return found;
}

/*
 * Meet an executable before any sample does: the file that we have mapped at args[0] gets its id
 * and is announced, exactly as if it had been sampled. Returns the id.
 */
SEC("raw_tp")
int bp_meet(struct bpf_raw_tracepoint_args *ctx)
{
	int slot = scratch_claim(0), id = BP_EXE_NONE;
	struct bp_scratch *s = slot < 0 ? NULL : scratch_get(slot);

	if (!s)
		return BP_EXE_NONE;
	if (admin_vma(slot, s, ctx->args[0]) && VMA_WORD(s->vma, vm_file))
		id = exe_id(slot);
	scratch_release(s);
	return id;
}

static __always_inline void admin_list(__u32 kind_here, __u32 id_here, __u32 kind, __u32 id)
{
	struct bp_target key = {.kind = kind_here, .id = id_here};
	__u64 start_ns = 0;

	if (!bpf_map_lookup_elem(&targets, &key))
		return;
	key.kind = kind;
	key.id = id;
	bpf_map_update_elem(&targets, &key, &start_ns, BPF_ANY);
}

/* In a pid namespace of our own: targets that userspace has listed by its numbers, listed by the
 * kernel's. */
SEC("iter/task")
int bp_find_targets(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task)
		return 0;
	if (task->pid == task->tgid)
		admin_list(BP_TARGET_TGID_HERE, task_tgid(task), BP_TARGET_TGID, task->tgid);
	admin_list(BP_TARGET_TID_HERE, task_tid(task), BP_TARGET_TID, task->pid);
	return 0;
}

/*
 * Publish or withdraw an executable's rows: args[0..4] are its struct bp_exe_key, args[5..10] the
 * struct bp_rows. Done here and not by a map update, because an update of a preallocated hash may
 * hand the old element to another key while a program still reads it; here the element stays and
 * page_cnt decides, written last to publish and alone to withdraw. Returns 1 when the executable is
 * known.
 */
SEC("raw_tp")
int bp_publish(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 words[5] = {ctx->args[0], ctx->args[1], ctx->args[2], ctx->args[3], ctx->args[4]};
	__u32 page_cnt = ctx->args[6];
	struct bp_exe *exe = bpf_map_lookup_elem(&exes, words);

	if (!exe)
		return 0;
	if (page_cnt) {
		exe->rows.page_base = ctx->args[5];
		exe->rows.first_page = ctx->args[7];
		exe->rows.rule_base = ctx->args[8];
		exe->rows.tracks_bx = ctx->args[10];
	}
	exe->rows.state = ctx->args[9];
	*(volatile __u32 *)&exe->rows.page_cnt = page_cnt;
	return 1;
}

/*
 * How often this CPU left its idle task since boot, modulo 2^32: each time is an involuntary switch
 * of that task. 0 where it is not found. Run on the CPU in question, where any task may be current.
 */
SEC("raw_tp")
int bp_idle_exits(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task(), *idle = task;
	struct cfs_rq *queue = NULL;

	if (BPF_CORE_READ(task, pid)) {
		if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(queue->rq))
			return 0;
		idle = BPF_CORE_READ(task, se.cfs_rq, rq, idle);
	}
	return BPF_CORE_READ(idle, nivcsw);
}

/* Does this kernel keep the account of run queues? Some have it, but switched off, and then do not
 * know that we have come to this CPU. enum bp_queue_times */
SEC("raw_tp")
int bp_queue_times(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	if (!compat_has_queue_times() || !BPF_CORE_READ(task, sched_info.last_arrival))
		return BP_QUEUE_TIMES_NONE;
	return compat_delays_dequeue() ? BP_QUEUE_TIMES_MISLEAD : BP_QUEUE_TIMES_HOLD;
}

_Static_assert(sizeof(struct bp_exe_key) == 5 * sizeof(__u64),
	       "the key is the first five arguments");

#endif
