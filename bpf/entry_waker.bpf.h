/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --wakers: the stack of who wakes a thread, in his own context, under a number that the woken
 * thread's wait then carries. The wait has ended, and chance decides here whether it is kept;
 * longer by the time on the run queue, it may still come to be. */
#ifndef BPFPROF_ENTRY_WAKER_BPF_H
#define BPFPROF_ENTRY_WAKER_BPF_H

/* Is the wait of @task, which ends now, recorded? The decision stands until it runs. */
static __always_inline bool waker_decides(struct bp_thread *t, struct task_struct *task,
					  struct bp_weight *weight, __u64 now_ns)
{
	__u64 from_ns = thread_wait_from(t), ns = now_ns - from_ns;

	if (!part_is_blocked(t->part) || now_ns < from_ns || !filter_wants(task))
		return false;
	t->choice = weight_choose(weight);
	return weight_keeps(&t->choice, ns) && ns <= cfg.max_block_ns;
}

/* The walked stack's number: by the stack and the name. */
static __always_inline __u64 waker_number(const struct bp_scratch *s)
{
	const __u64 *comm = (const __u64 *)s->rec.who.comm;

	return hash_mix(hash_mix(s->walk.hash, comm[0]), comm[1]) | 1;
}

/* Walk the current task's stacks and record them under a number, the result; 0: no room. */
static __always_inline __u64 waker_record(void *ctx, __u32 slot, struct bp_scratch *s)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 is_exclusive = s->is_exclusive;
	const struct bp_trigger trigger = {0};
	int outcome;

	who_is(&s->rec.who, task, bpf_get_smp_processor_id());
	s->rec.key = bp_event_key(BP_EVENT_SWITCH, BP_PART_WAKER, 0);
	s->rec.value = s->rec.value2 = s->rec.variance = 0;
	s->rec.weight = 1;
	/* No snapshot: a stack that is finished later would have another number. */
	s->is_exclusive = 0;
	outcome = sample_walk(ctx, slot, s, task, &trigger);
	s->is_exclusive = is_exclusive;
	s->rec.who.waker = waker_number(s);
	return sample_store(slot, s, outcome) ? 0 : s->rec.who.waker;
}

static __always_inline void waking(void *ctx, const struct bp_sched *sched, struct bp_thread *t,
				   __u64 start_ns)
{
	struct bp_scratch *s;
	__u64 end_ns;
	int slot;

	s = sample_claim(sched->cpu, sched->shard_nr, &slot);
	if (!s)
		return;
	t->waker = waker_record(ctx, slot, s);
	scratch_release(s);
	if (!cfg.budget)
		return;
	end_ns = bpf_ktime_get_ns();
	weight_spend(&sched->own->weight, end_ns - start_ns, end_ns, cfg.budget);
}

SEC("tp_btf/sched_waking")
int bp_waking(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	__u64 now_ns = bpf_ktime_get_ns();
	struct bp_thread *t = thread_get(task);
	struct bp_sched sched;

	if (t && sched_begin(&sched) && !sched_is_over(&sched) && sched.cpu->shard &&
	    waker_decides(t, task, &sched.own->weight, now_ns))
		waking(ctx, &sched, t, now_ns);
	return 0;
}

#endif
