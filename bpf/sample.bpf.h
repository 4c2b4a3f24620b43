/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one path all entries share: count the run, filter, claim a slot, say who, take the stacks,
 * aggregate, count the outcome. What is counted goes to the shard of the epoch that was current at
 * entry, all of it, so every epoch's books balance by themselves.
 */
#ifndef BPFPROF_SAMPLE_BPF_H
#define BPFPROF_SAMPLE_BPF_H

/* What an entry knows of its sample. */
struct bp_trigger {
	__u64 ip, sp, fp; /* valid when is_user */
	__u64 return_ip; /* at a function's entry: of user code with --by caller, of the kernel's
			    where its walk would leave the caller out; 0: none */
	__u64 value;
	__u64 hits; /* of a probe, that the sample stands for */
	__u32 log2; /* of what there is a histogram of */
	__u32 event; /* below BP_EVENTS_SAMPLED; a constant, and what depends on it is too */
	__u32 is_user; /* the CPU was in user mode, or the probe is in user code */
	__u32 is_32bit;
	__u32 is_call_site; /* ip is where a call returns to */
	__u32 has_kernel_stack; /* it is in the record */
};

/* Fill the walk's registers for a task sampled in the kernel. STEP_NEXT, or why there is no user
 * stack. */
static __always_inline int regs_from_kernel(struct bp_scratch *s, struct task_struct *task)
{
	if (bpf_probe_read_kernel(&s->regs, sizeof(s->regs), compat_user_regs(task)))
		return BP_STACK_NO_USER_REGS;
	if (!ARCH_SAVED_IS_USER(ARCH_REGS(&s->regs)))
		return ARCH_CTX_IP(ARCH_REGS(&s->regs)) ? BP_STACK_NO_USER_REGS
							: BP_STACK_NO_USER_STACK;
	if (ARCH_CTX_IS_32BIT(ARCH_REGS(&s->regs)))
		return BP_STACK_USER_32BIT;
	s->walk.ip = ARCH_CTX_IP(ARCH_REGS(&s->regs));
	s->walk.sp = ARCH_CTX_SP(ARCH_REGS(&s->regs));
	s->walk.fp = ARCH_CTX_FP(ARCH_REGS(&s->regs));
	s->walk.is_call_site = ARCH_SAVED_IS_SYSCALL(&s->regs);
	return STEP_NEXT;
}

/* --by caller: the function that is entered, and who called it. */
static __always_inline int sample_caller(__u32 slot, struct bp_scratch *s, struct task_struct *task,
					 const struct bp_trigger *trigger)
{
	s->walk.sp = trigger->sp;
	vma_begin(s, task);
	return unwind_caller(slot, s, trigger->ip, trigger->return_ip);
}

/* The user part of the stack: the outcome, or STEP_SNAPSHOT. */
static __always_inline int sample_user_stack(__u32 slot, struct bp_scratch *s,
					     struct task_struct *task,
					     const struct bp_trigger *trigger)
{
	int outcome;

	if (cfg.no_user_stacks)
		return BP_STACK_NOT_ASKED;
	if (BPF_CORE_READ(task, flags) & PF_KTHREAD)
		return BP_STACK_COMPLETE;
	s->walk.mm = BPF_CORE_READ(task, mm);
	if (!s->walk.mm)
		return BP_STACK_NO_USER_STACK;
	if (cfg.events[trigger->event].by_caller)
		return trigger->is_user ? sample_caller(slot, s, task, trigger)
					: BP_STACK_NOT_ASKED;
	if (trigger->is_user) {
		if (trigger->is_32bit)
			return BP_STACK_USER_32BIT;
		s->walk.ip = trigger->ip;
		s->walk.sp = trigger->sp;
		s->walk.fp = trigger->fp;
		s->walk.is_call_site = trigger->is_call_site;
	} else {
		outcome = regs_from_kernel(s, task);
		if (outcome != STEP_NEXT)
			return outcome;
	}
	vma_begin(s, task);
	outcome = cfg.waits && trigger->has_kernel_stack ? unwind_waiter(slot, s)
							 : unwind_user(slot, s);
	/* In the kernel with registers that point nowhere: exec has replaced the memory but not yet
	 * the registers. */
	if (outcome == BP_STACK_NO_VMA && !s->walk.user_total && !trigger->is_user)
		return BP_STACK_NO_USER_STACK;
	return outcome;
}

/* The slot's kernel stack gets @caller behind its leaf, unless it is there. */
__noinline int sample_insert_caller(__u32 slot, __u64 caller)
{
	struct bp_scratch *s = scratch_get(slot);
	__u32 cnt;

	if (!s)
		return 0;
	cnt = s->rec.kernel_cnt;
	if (!cnt || cnt >= BP_FRAMES_KERNEL || (cnt > 1 && s->rec.frames[1] == caller))
		return 0;
	for (__u32 i = BP_FRAMES_KERNEL - 1; i > 1; i--)
		if (i <= cnt)
			s->rec.frames[i] = s->rec.frames[i - 1];
	s->rec.frames[1] = caller;
	s->rec.kernel_cnt = cnt + 1;
	return 0;
}

/* Code in user mode has no kernel stack. */
static __always_inline void sample_kernel_stack(void *ctx, __u32 slot, struct bp_scratch *s,
						const struct bp_trigger *trigger)
{
	__u32 wanted = cfg.events[trigger->event].by_caller ? 2 : BP_FRAMES_KERNEL;
	long bytes;

	if (trigger->has_kernel_stack)
		return;
	s->rec.kernel_cnt = 0;
	if (cfg.no_kernel_stacks || trigger->is_user)
		return;
	bytes = bpf_get_stack(ctx, s->rec.frames, wanted * 8, 0);
	if (bytes > 0)
		s->rec.kernel_cnt = (__u64)bytes / 8;
	if (!trigger->return_ip)
		return;
	sample_insert_caller(slot, trigger->return_ip);
	if (s->rec.kernel_cnt > wanted)
		s->rec.kernel_cnt = wanted;
}

/* The kernel stack was taken before: @cnt frames at @frames. */
static __always_inline void sample_take_kernel_stack(struct bp_scratch *s, const __u64 *frames,
						     __u64 cnt)
{
	s->rec.kernel_cnt = 0;
	if (cnt > BP_FRAMES_KERNEL || bpf_probe_read_kernel(s->rec.frames, cnt * 8, frames))
		return;
	s->rec.kernel_cnt = cnt;
}

/* The walk's state before its first frame. */
static __always_inline void walk_begin(struct bp_scratch *s)
{
	s->walk.user_total = 0;
	s->walk.is_leaf = 1;
	s->walk.regs_valid = 0;
	s->walk.guess = 0;
	s->walk.has_raw = 0;
	s->walk.bx_state = BX_IN_REGS;
	s->notes.cnt = UM_WORDS;
}

/* Record the stack that was walked with @outcome. 0, or the bp_loss + 1. */
static __always_inline __u32 sample_store(__u32 slot, struct bp_scratch *s, int outcome)
{
	__u32 total = s->walk.user_total;

	s->rec.outcome = outcome;
	s->rec.user_total = total;
	s->rec.user_cnt = total < BP_FRAMES_USER ? total : BP_FRAMES_USER;
	return record_sample(slot);
}

static __always_inline void sample_book(struct bp_event_counters *counters, __u32 loss)
{
	if (!loss)
		__sync_fetch_and_add(&counters->recorded, 1);
	else
		__sync_fetch_and_add(&counters->lost[(loss - 1) & 7], 1);
}

/* Walk both stacks of the current task, @task, which the slot's record names. The outcome, or
 * STEP_SNAPSHOT. */
static __always_inline int sample_walk(void *ctx, __u32 slot, struct bp_scratch *s,
				       struct task_struct *task, const struct bp_trigger *trigger)
{
	int outcome;

	walk_begin(s);
	s->rec.type = BP_RING_SAMPLE;
	s->rec.epoch = s->shard & 1;
	sample_kernel_stack(ctx, slot, s, trigger);
	hash_kernel(slot, s);
	outcome = sample_user_stack(slot, s, task, trigger);
	if (outcome != STEP_SNAPSHOT && s->walk.has_raw)
		who_is_process(&s->rec.who, task);
	return outcome;
}

/* Walk both stacks of the current task and record them under the key and values in the slot's
 * record. */
static __always_inline void sample_record(void *ctx, __u32 slot, struct bp_scratch *s,
					  const struct bp_trigger *trigger, __u64 waker,
					  struct bp_event_counters *counters)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	int outcome;

	who_is(&s->rec.who, task, bpf_get_smp_processor_id());
	s->rec.who.waker = waker;
	if (cfg.bucket_ns)
		who_is_at(&s->rec.who, bpf_ktime_get_ns());
	outcome = sample_walk(ctx, slot, s, task, trigger);
	sample_book(counters, outcome == STEP_SNAPSHOT ? 0 : sample_store(slot, s, outcome));
}

/* The number of the shard of @cpu in the current epoch; the first where the CPU has none. */
static __always_inline __u32 shard_of(const struct bp_cpu *cpu, struct bp_ctl *control)
{
	return cpu->shard ? (cpu->shard - 1) * 2 + (*(volatile __u32 *)&control->epoch & 1) : 0;
}

/* A slot of @cpu for shard @shard_nr; NULL when all are in use. */
static __always_inline struct bp_scratch *sample_claim(const struct bp_cpu *cpu, __u32 shard_nr,
						       int *slot)
{
	struct bp_scratch *s;

	*slot = scratch_claim(cpu->shard - 1);
	s = *slot < 0 ? NULL : scratch_get(*slot);
	if (!s)
		return NULL;
	s->shard = shard_nr;
	s->slot = *slot;
	s->is_exclusive = *slot % BP_SLOTS_PER_CPU == 0;
	return s;
}

/* Is it time for a sample of the probe? Then @trigger's value is multiplied by the hits that it
 * stands for. */
static __always_inline bool hit_is_due(struct bp_hits *hits,
				       const volatile struct bp_event_config *event,
				       struct bp_trigger *trigger)
{
	__u64 cnt, now_ns;

	__sync_fetch_and_add(&hits->cnt, 1);
	cnt = *(volatile __u64 *)&hits->cnt - hits->sampled_cnt;
	if (event->period > 1 && cnt < event->period)
		return false;
	if (event->interval_ns) {
		now_ns = bpf_ktime_get_ns();
		if (now_ns - hits->sampled_ns < event->interval_ns)
			return false;
		hits->sampled_ns = now_ns;
	}
	hits->sampled_cnt += cnt;
	trigger->hits = cnt;
	trigger->value *= cnt;
	return true;
}

/* What is to be done with the trigger. */
enum sample_verdict {
	SAMPLE_TAKE,
	SAMPLE_FILTER,
	SAMPLE_PASS_OVER, /* another one stands for it */
};

static __always_inline enum sample_verdict sample_judge(void *ctx, struct bp_cpu *cpu,
							struct bp_trigger *trigger)
{
	const volatile struct bp_event_config *event = &cfg.events[trigger->event];

	if (!filter_wants((void *)bpf_get_current_task()))
		return SAMPLE_FILTER;
	if (!event->is_counted)
		return event->has_where && !expr_where(trigger->event, ctx) ? SAMPLE_FILTER
									    : SAMPLE_TAKE;
	if (cpu->is_excluded)
		return SAMPLE_FILTER;
	if (event->has_where && !expr_where(trigger->event, ctx))
		return SAMPLE_FILTER;
	if (event->has_weight)
		trigger->value = expr_weight(trigger->event, ctx);
	if (event->elapsed && !call_ends(ctx, trigger->event, &trigger->value))
		return SAMPLE_FILTER;
	if (event->elapsed)
		trigger->log2 = log2_of(trigger->value);
	if (event->has_hist)
		trigger->log2 = log2_of(expr_hist(trigger->event, ctx));
	return hit_is_due(&cpu->hits[trigger->event], event, trigger) ? SAMPLE_TAKE
								      : SAMPLE_PASS_OVER;
}

/* Record the sample that @trigger is, in shard @shard_nr. */
static __always_inline void sample_take(void *ctx, const struct bp_cpu *cpu, __u32 shard_nr,
					const struct bp_trigger *trigger,
					struct bp_event_counters *counters)
{
	struct bp_scratch *s;
	int slot;

	s = sample_claim(cpu, shard_nr, &slot);
	if (!s) {
		sample_book(counters, 1 + BP_LOST_SLOTS_BUSY);
		return;
	}
	s->rec.key = bp_event_key(trigger->event, BP_PART_NONE, trigger->log2);
	s->rec.value = trigger->value;
	s->rec.value2 = cfg.parallelism ? trigger->value / process_running_cnt() : 0;
	s->rec.variance = 0;
	s->rec.weight = trigger->hits;
	sample_record(ctx, slot, s, trigger, 0, counters);
	scratch_release(s);
}

/* Has userspace been silent for so long that nobody may come back? */
static __always_inline bool lease_is_over(const struct bp_ctl *control)
{
	__u64 until_ns = *(volatile __u64 *)&control->lease_until_ns;

	return until_ns && bpf_ktime_get_ns() > until_ns;
}

/* Take one sample in context @ctx. Always returns 0. */
static __always_inline int sample(void *ctx, struct bp_trigger *trigger)
{
	__u32 cpu_nr = bpf_get_smp_processor_id(), zero = 0, shard_nr;
	struct bp_cpu *cpu = bpf_map_lookup_elem(&cpus, &cpu_nr);
	struct bp_ctl *control = bpf_map_lookup_elem(&ctl, &zero);
	struct bp_event_counters *counters;
	enum sample_verdict verdict;
	struct bp_shard *shard;

	if (!cpu || !control)
		return 0;
	shard_nr = shard_of(cpu, control);
	shard = bpf_map_lookup_elem(&shards, &shard_nr);
	if (!shard)
		return 0;
	counters = &shard->events[trigger->event];
	if (cfg.events[trigger->event].is_counted && !*(volatile __u32 *)&control->is_sampling) {
		__sync_fetch_and_add(&counters->ran_off, 1);
		return 0;
	}
	__sync_fetch_and_add(&counters->ran, 1);
	if (!(__u32)bpf_get_current_pid_tgid())
		__sync_fetch_and_add(&counters->ran_idle, 1);
	if (!cpu->shard) {
		__sync_fetch_and_add(&counters->lost[BP_LOST_NO_SHARD], 1);
		return 0;
	}
	if (lease_is_over(control)) {
		__sync_fetch_and_add(&counters->lost[BP_LOST_NO_LEASE], 1);
		return 0;
	}
	verdict = sample_judge(ctx, cpu, trigger);
	if (verdict != SAMPLE_TAKE) {
		__sync_fetch_and_add(&counters->filtered, 1);
		if (verdict == SAMPLE_PASS_OVER)
			__sync_fetch_and_add(&counters->passed_over, 1);
		return 0;
	}
	sample_take(ctx, cpu, shard_nr, trigger, counters);
	return 0;
}

#endif
