/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits: why and how long threads do not run.
 *
 *	bp_switch	stamps the thread that leaves and the one that comes, decides whether the
 *			wait of the latter is recorded, for it knows how long it was, and takes the
 *			kernel stack that it waited with
 *	bp_resumed	right after the switch, in the context of the thread that came back: its
 *			user stack is still the one it waited with, and its memory can be read
 *	bp_wakeup	stamps the end of being blocked; it costs a switch as much again as all that
 *			is stamped here, and is not attached where the kernel's own account of time
 *			on run queues tells the same (ctl.queue_times)
 *	bp_migrated	notes whose account is wrong
 *	bp_waking	--wakers: the stack of who ended it
 *	bp_born, bp_renamed	threads that come, and whose time is another name's from now on
 *
 * So nothing is walked before the filters, the bounds and the budget have had their say. The moment
 * after the switch is a tracepoint since "sched: Add sched tracepoints for RV task model" (6.16);
 * before that, an interrupt that bp_switch raises, which comes when the switch enables interrupts.
 */
#ifndef BPFPROF_ENTRY_SCHED_BPF_H
#define BPFPROF_ENTRY_SCHED_BPF_H

/* What bp_switch hands to bp_resumed on the same CPU. */
struct bp_resume {
	__u32 tid; /* 0: nothing */
	__u32 shard_nr;
	__u32 part;
	__u32 threshold_ns;
	struct bp_wait wait;
	__u64 waker;
	__u64 start_ns; /* of bp_resumed */
	__u32 is_stranger; /* its thread is seen for the first time */
	__u32 is_wanted; /* by the filters */
	__u64 spent_ns; /* on its kernel stack */
};

/* By CPU number; at load: possible CPUs. Written on the CPU alone. */
struct bp_sched_cpu {
	struct bp_resume resume;
	struct bp_weight weight;
	__u64 pad[5]; /* to the end of a cache line */
};
_Static_assert(sizeof(struct bp_sched_cpu) % 64 == 0, "no cache line is another CPU's too");
BP_ARRAY(sched_cpus, struct bp_sched_cpu, 0);

/*
 * A perf event per CPU whose buffer nobody reads: output to it raises an interrupt (irq_work). At
 * load: possible CPUs; filled where resumes_by_irq.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
} bells SEC(".maps");

/* What of a wait that began as @part is asked for, stays. False when nothing does. */
static __always_inline bool wait_is_wanted(struct bp_wait *wait, __u32 part)
{
	__u64 ns;

	if (!(cfg.parts >> part & 1))
		wait->blocked_ns = 0;
	if (!(cfg.parts >> BP_PART_PREEMPTED & 1))
		wait->runnable_ns = 0;
	ns = wait->blocked_ns + wait->runnable_ns;
	return ns && ns >= cfg.min_block_ns && ns <= cfg.max_block_ns;
}

/* Does chance keep the wait? */
static __always_inline bool wait_is_kept(struct bp_thread *t, struct bp_weight *weight, __u64 ns,
					 __u32 *threshold)
{
	struct bp_choice choice = t->choice.draw ? t->choice : weight_choose(weight);

	t->choice.draw = 0;
	*threshold = choice.threshold_ns;
	return weight_keeps(&choice, ns);
}

/* A wait was judged under @threshold. */
static __always_inline void shard_note_threshold(struct bp_shard *shard, __u32 threshold)
{
	if (!threshold)
		return;
	shard->judged++;
	shard->threshold_sum_ns += threshold;
	if (shard->threshold_max_ns < threshold)
		shard->threshold_max_ns = threshold;
}

/* The record of a wait that was kept under @threshold. */
static __always_inline void wait_fill(struct bp_record *rec, struct bp_weight *weight,
				      const struct bp_wait *wait, __u32 part, __u32 threshold)
{
	struct bp_counted counted =
		weight_count(weight, wait->blocked_ns, wait->runnable_ns, threshold);

	rec->key = bp_event_key(BP_EVENT_SWITCH, part, log2_of(wait->blocked_ns));
	rec->value = counted.blocked_ns;
	rec->value2 = counted.runnable_ns;
	rec->weight = counted.waits;
	rec->variance = counted.variance;
}

/* The wait of own->resume, in the slot's record, is of the moment that it began at, as far as it
 * lies in the window. */
__noinline int wait_is_at(__u32 slot, __u32 cpu_nr)
{
	struct bp_sched_cpu *own = bpf_map_lookup_elem(&sched_cpus, &cpu_nr);
	struct bp_scratch *s = scratch_get(slot);

	if (own && s)
		who_is_at(&s->rec.who, bpf_ktime_get_ns() - own->resume.wait.blocked_ns -
					       own->resume.wait.runnable_ns);
	return 0;
}

/* Record under no stack what the slot's record says. 0, or the bp_loss + 1. */
static __always_inline __u32 record_without_stack(__u32 slot, struct bp_scratch *s, __u32 outcome)
{
	walk_begin(s);
	s->walk.hash = 0;
	s->rec.type = BP_RING_SAMPLE;
	s->rec.epoch = s->shard & 1;
	s->rec.kernel_cnt = s->rec.user_cnt = s->rec.user_total = 0;
	s->rec.outcome = outcome;
	return record_sample(slot);
}

/* Where a program of waits writes to. */
struct bp_sched {
	struct bp_ctl *control;
	struct bp_cpu *cpu;
	struct bp_sched_cpu *own;
	struct bp_shard *shard;
	__u32 shard_nr;
};

/* False when this CPU or epoch has no place. */
static __always_inline bool sched_begin(struct bp_sched *sched)
{
	__u32 cpu_nr = bpf_get_smp_processor_id(), zero = 0;

	sched->control = bpf_map_lookup_elem(&ctl, &zero);
	sched->cpu = bpf_map_lookup_elem(&cpus, &cpu_nr);
	sched->own = bpf_map_lookup_elem(&sched_cpus, &cpu_nr);
	if (!sched->cpu || !sched->control || !sched->own)
		return false;
	sched->shard_nr = shard_of(sched->cpu, sched->control);
	sched->shard = bpf_map_lookup_elem(&shards, &sched->shard_nr);
	return sched->shard != NULL;
}

/* The recording is over: what still happens is not of it. */
static __always_inline bool sched_is_over(const struct bp_sched *sched)
{
	return sched->control->waits_end_ns != 0;
}

/* Hand out the totals of @task, which is current or does not run. */
static __always_inline void tell_totals(const struct bp_sched *sched, struct task_struct *task,
					struct bp_thread *t, __u64 now_ns)
{
	struct bp_totals totals;
	struct bp_scratch *s;
	int slot;

	if (!sched->cpu->shard || !filter_wants(task))
		return;
	s = sample_claim(sched->cpu, sched->shard_nr, &slot);
	if (!s) {
		__sync_fetch_and_add(&sched->shard->totals_lost, 1);
		return;
	}
	who_is(&s->rec.who, task, bpf_get_smp_processor_id());
	totals = thread_tell(t, now_ns);
	s->rec.value = totals.cpu_ns;
	s->rec.value2 = totals.blocked_ns;
	s->rec.weight = totals.runnable_ns;
	s->rec.variance = 0;
	s->rec.key = bp_event_key(BP_EVENT_SWITCH, BP_PART_TOTALS, 0);
	if (record_without_stack(slot, s, BP_STACK_NOT_ASKED))
		__sync_fetch_and_add(&sched->shard->totals_lost, 1);
	scratch_release(s);
}

/* @next has never run: it has no stack to walk, and does not come by bp_resumed. */
static __always_inline void record_new(const struct bp_cpu *cpu, struct bp_resume *resume,
				       struct bp_weight *weight, struct task_struct *next,
				       struct bp_event_counters *counters)
{
	struct bp_scratch *s;
	int slot;

	resume->tid = 0;
	if (!filter_selects(next)) {
		counters->filtered++;
		return;
	}
	s = sample_claim(cpu, resume->shard_nr, &slot);
	if (!s) {
		sample_book(counters, 1 + BP_LOST_SLOTS_BUSY);
		return;
	}
	who_is(&s->rec.who, next, bpf_get_smp_processor_id());
	wait_fill(&s->rec, weight, &resume->wait, resume->part, resume->threshold_ns);
	if (cfg.bucket_ns)
		wait_is_at(slot, bpf_get_smp_processor_id());
	sample_book(counters, record_without_stack(slot, s, BP_STACK_NEVER_RAN));
	scratch_release(s);
}

/*
 * A thread that the iterator did not show, because it is not in our pid namespace: it has waited
 * since the recording began. Its times are made when no lock is held any more.
 */
static __always_inline void stranger_returns(const struct bp_sched *sched, struct task_struct *next,
					     __u64 now_ns)
{
	/* For now: some threads are out of sight of programs, so that nothing more is seen of them.
	 */
	sched->shard->events[BP_EVENT_SWITCH].filtered++;
	if (!cfg.waits || !sched->control->waits_start_ns)
		return;
	sched->own->resume = (struct bp_resume){
		.tid = next->pid,
		.shard_nr = sched->shard_nr,
		.is_stranger = 1,
		.part = BP_PART_INTERRUPTIBLE,
		.wait.blocked_ns = ns_between(sched->control->waits_start_ns, now_ns),
	};
}

/* Its times, from now on. False: there is no memory. */
static __always_inline bool stranger_is_met(const struct bp_resume *resume, __u64 now_ns)
{
	struct bp_thread *t = thread_make_current();

	if (!t)
		return false;
	t->blocked_ns = resume->wait.blocked_ns;
	t->since_ns = now_ns;
	t->part = BP_PART_RUNNING;
	if (cfg.has_task_storage)
		process_runs(bpf_get_current_task_btf(), 1);
	return true;
}

/* @next comes back to the CPU: is its wait recorded? If so, own->resume says it to bp_resumed. */
static __always_inline void sched_return(const struct bp_sched *sched, struct task_struct *next,
					 __u64 now_ns)
{
	struct bp_event_counters *counters = &sched->shard->events[BP_EVENT_SWITCH];
	struct bp_sched_cpu *own = sched->own;
	struct bp_thread *t;
	struct bp_wait wait;
	__u32 part, threshold, log2;

	if (!next->pid || (!cfg.kernel_threads && (next->flags & PF_KTHREAD))) {
		counters->filtered++;
		return;
	}
	t = thread_get(next);
	if (!t) {
		stranger_returns(sched, next, now_ns);
		return;
	}
	thread_meet(t, now_ns);
	part = t->part;
	if (part != BP_PART_RUNNING)
		process_runs(next, 1);
	if (sched->control->queue_times && part_is_blocked(part))
		thread_find_wake(t, next, now_ns);
	wait = thread_return(t, now_ns);
	if (!cfg.waits)
		return;
	log2 = log2_of(wait.runnable_ns);
	if (log2 < BP_LOG2_CNT)
		sched->shard->run_delays[log2]++;
	if (!wait_is_wanted(&wait, part)) {
		t->choice.draw = 0;
		counters->filtered++;
		return;
	}
	if (!wait_is_kept(t, &own->weight, wait.blocked_ns + wait.runnable_ns, &threshold)) {
		counters->filtered++;
		sched->shard->thinned++;
	} else {
		own->resume = (struct bp_resume){
			.tid = next->pid,
			.shard_nr = sched->shard_nr,
			.part = part,
			.threshold_ns = threshold,
			.wait = wait,
			.waker = t->waker,
		};
		t->waker = 0;
		if (part == BP_PART_NEW)
			record_new(sched->cpu, &own->resume, &own->weight, next, counters);
	}
	shard_note_threshold(sched->shard, threshold);
}

static __always_inline void sched_leave(const struct bp_sched *sched, struct task_struct *prev,
					bool is_preempted, __u64 now_ns)
{
	struct bp_thread *t = thread_get(prev);
	__u32 part;

	if (!t)
		return;
	thread_meet(t, now_ns);
	if (t->part == BP_PART_RUNNING) {
		process_runs(prev, -1);
	} else {
		sched->shard->events[BP_EVENT_SWITCH].unseen++;
		if (sched->control->queue_times)
			thread_find_return(t, prev, now_ns);
	}
	part = is_preempted ? BP_PART_PREEMPTED : part_of_state(compat_task_state(prev));
	thread_leave(t, now_ns, part);
	thread_note_leaving(t, prev);
	if (cfg.wakers)
		t->waker = 0;
	if (part != BP_PART_DEAD)
		return;
	if (cfg.waits)
		tell_totals(sched, prev, t, now_ns);
	thread_forget(prev);
}

/* The moment after the last switch has not come. */
static __always_inline void sched_check_resume(struct bp_resume *resume,
					       struct bp_event_counters *counters)
{
	if (!resume->tid)
		return;
	resume->tid = 0;
	if (!resume->is_stranger)
		counters->lost[BP_LOST_NO_RESUME]++;
}

/*
 * What bp_resumed is to record of @next: is it wanted, and from where in the kernel does it come
 * back? It does not run yet, so its kernel stack ends in __schedule(). Once it does, the tracepoint
 * and our program stand on it too, and these cost as much to unwind as the rest.
 */
static __always_inline void sched_prepare_resume(struct bp_sched_cpu *own, struct task_struct *next)
{
	__u64 start_ns;

	own->resume.is_wanted = filter_selects(next);
	if (!own->resume.is_wanted || cfg.no_kernel_stacks)
		return;
	start_ns = cfg.budget ? bpf_ktime_get_ns() : 0;
	kernel_stack_take(next, own->resume.part);
	if (cfg.budget)
		own->resume.spent_ns = bpf_ktime_get_ns() - start_ns;
}

static __always_inline void sched_switch(__u64 *ctx, const struct bp_sched *sched,
					 struct task_struct *prev, struct task_struct *next,
					 __u64 now_ns)
{
	struct bp_event_counters *counters = &sched->shard->events[BP_EVENT_SWITCH];
	struct bp_resume *resume = &sched->own->resume;

	counters->ran++;
	sched_check_resume(resume, counters);
	if (sched_is_over(sched)) {
		counters->filtered++;
		return;
	}
	if (prev->pid)
		sched_leave(sched, prev, ctx[0], now_ns);
	sched_return(sched, next, now_ns);
	if (!resume->tid)
		return;
	sched_prepare_resume(sched->own, next);
	if (cfg.resumes_by_irq)
		bpf_perf_event_output(ctx, &bells, BPF_F_CURRENT_CPU, &resume->tid,
				      sizeof(resume->tid));
}

SEC("tp_btf/sched_switch")
int bp_switch(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	__u64 now_ns = bpf_ktime_get_ns();
	struct bp_sched sched;

	if (sched_begin(&sched))
		sched_switch(ctx, &sched, prev, next, now_ns);
	return 0;
}

/*
 * A task that is asleep, but still on the run queue (compat_delays_dequeue()), may be moved to
 * another. The kernel then notes the time as if it had been woken, and keeps it.
 */
SEC("tp_btf/sched_migrate_task")
int bp_migrated(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct bp_thread *t;

	if (!compat_delays_dequeue() || !task->se.sched_delayed)
		return 0;
	t = thread_get(task);
	if (t)
		thread_distrust_queue(t);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int bp_wakeup(__u64 *ctx)
{
	struct bp_thread *t = thread_get((struct task_struct *)ctx[0]);

	if (t)
		t->wake_ns = bpf_ktime_get_ns();
	return 0;
}

/*
 * The walk needs nearly all the stack that programs have, so what goes before it has a frame of its
 * own.
 *
 * Is the wait of the thread that is back, the current one, to be walked? Counted when not.
 */
__noinline int resumed_is_wanted(__u32 cpu_nr)
{
	struct bp_sched_cpu *own = bpf_map_lookup_elem(&sched_cpus, &cpu_nr);
	struct bp_cpu *cpu = bpf_map_lookup_elem(&cpus, &cpu_nr);
	struct bp_event_counters *counters;
	struct bp_shard *shard;
	__u32 shard_nr;
	__u64 *why;

	if (!own || !cpu)
		return 0;
	shard_nr = own->resume.shard_nr;
	shard = bpf_map_lookup_elem(&shards, &shard_nr);
	if (!shard)
		return 0;
	counters = &shard->events[BP_EVENT_SWITCH];
	/* It has been counted so. */
	if (own->resume.is_stranger)
		__sync_fetch_and_add(&counters->filtered, -1);
	why = &counters->filtered;
	if (!cpu->shard)
		why = &counters->lost[BP_LOST_NO_SHARD];
	else if (own->resume.is_stranger && !stranger_is_met(&own->resume, own->resume.start_ns))
		why = &counters->lost[BP_LOST_NO_THREAD];
	else if (own->resume.is_wanted &&
		 (!own->resume.is_stranger || wait_is_wanted(&own->resume.wait, own->resume.part)))
		return 1;
	__sync_fetch_and_add(why, 1);
	return 0;
}

/* The slot's record says who is back, of what wait, and with what kernel stack. */
__noinline int resumed_fill(__u32 slot, __u32 cpu_nr)
{
	struct bp_sched_cpu *own = bpf_map_lookup_elem(&sched_cpus, &cpu_nr);
	struct bp_kernel_stack *stack = bpf_map_lookup_elem(&kernel_stacks, &cpu_nr);
	struct bp_scratch *s = scratch_get(slot);

	if (!own || !stack || !s)
		return 0;
	who_is(&s->rec.who, (void *)bpf_get_current_task(), cpu_nr);
	s->rec.who.waker = own->resume.waker;
	wait_fill(&s->rec, &own->weight, &own->resume.wait, own->resume.part,
		  own->resume.threshold_ns);
	if (cfg.bucket_ns)
		wait_is_at(slot, cpu_nr);
	if (cfg.no_kernel_stacks)
		s->rec.kernel_cnt = 0;
	else
		sample_take_kernel_stack(s, stack->frames, stack->cnt);
	return 1;
}

__noinline int resumed_spend(__u32 cpu_nr)
{
	struct bp_sched_cpu *own = bpf_map_lookup_elem(&sched_cpus, &cpu_nr);
	__u64 end_ns = bpf_ktime_get_ns();

	if (own && cfg.budget)
		weight_spend(&own->weight, own->resume.spent_ns + end_ns - own->resume.start_ns,
			     end_ns, cfg.budget);
	return 0;
}

static __always_inline void resumed_record(void *ctx, __u32 cpu_nr, __u32 shard_nr,
					   const struct bp_cpu *cpu,
					   struct bp_event_counters *counters)
{
	const struct bp_trigger trigger = {.has_kernel_stack = 1};
	struct bp_scratch *s;
	int slot, outcome;

	s = sample_claim(cpu, shard_nr, &slot);
	if (!s) {
		sample_book(counters, 1 + BP_LOST_SLOTS_BUSY);
		return;
	}
	resumed_fill(slot, cpu_nr);
	outcome = sample_walk(ctx, slot, s, (void *)bpf_get_current_task(), &trigger);
	sample_book(counters, outcome == STEP_SNAPSHOT ? 0 : sample_store(slot, s, outcome));
	scratch_release(s);
}

/* Walk the stacks of the thread that is back. */
static __always_inline void resumed(void *ctx, __u32 cpu_nr, struct bp_sched_cpu *own,
				    const struct bp_cpu *cpu)
{
	__u32 shard_nr = own->resume.shard_nr;
	struct bp_shard *shard;

	own->resume.tid = 0;
	own->resume.start_ns = cfg.budget || own->resume.is_stranger ? bpf_ktime_get_ns() : 0;
	shard = bpf_map_lookup_elem(&shards, &shard_nr);
	if (!shard || !resumed_is_wanted(cpu_nr))
		return;
	resumed_record(ctx, cpu_nr, shard_nr, cpu, &shard->events[BP_EVENT_SWITCH]);
	resumed_spend(cpu_nr);
}

SEC("raw_tp")
int bp_resumed(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 cpu_nr = bpf_get_smp_processor_id();
	struct bp_sched_cpu *own = bpf_map_lookup_elem(&sched_cpus, &cpu_nr);
	struct bp_cpu *cpu;

	/* Most switches end here. */
	if (!own || !own->resume.tid || own->resume.tid != (__u32)bpf_get_current_pid_tgid())
		return 0;
	cpu = bpf_map_lookup_elem(&cpus, &cpu_nr);
	if (cpu)
		resumed(ctx, cpu_nr, own, cpu);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int bp_born(__u64 *ctx)
{
	struct task_struct *child = (void *)ctx[1];
	struct bp_thread *t = thread_make(child);

	if (!t)
		return 0;
	t->since_ns = bpf_ktime_get_ns();
	t->part = BP_PART_NEW;
	return 0;
}

/* By comm, what a thread has done so far was done under its old name. */
SEC("tp_btf/task_rename")
int bp_renamed(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct bp_thread *t = thread_get(task);
	struct bp_sched sched;

	if (t && sched_begin(&sched) && !sched_is_over(&sched))
		tell_totals(&sched, task, t, bpf_ktime_get_ns());
	return 0;
}

#endif
