/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A thread's time as a sum of states: on a CPU, blocked, or runnable, in totals that only grow and
 * that together are what has passed. An event that is missed puts time into the wrong one of them,
 * but loses none. Arithmetic alone, for the host build as well.
 */
#ifndef BPFPROF_THREAD_TIME_BPF_H
#define BPFPROF_THREAD_TIME_BPF_H

struct bp_totals {
	__u64 cpu_ns, blocked_ns, runnable_ns;
};

struct bp_thread {
	__u64 since_ns; /* when its state began */
	__u64 wake_ns; /* when it was woken last */
	/* By the kernel's account, when it left: the run queue's clock (0: the account of this wait
	 * is wrong), and its time on queues. */
	__u64 left_clock_ns, left_delay_ns;
	__u64 charged_ns; /* a window's end: what lies before has been recorded */
	__u64 cpu_ns, blocked_ns, runnable_ns; /* of states that have ended */
	struct bp_totals told; /* of them and the present one, what userspace knows */
	__u64 waker; /* of the last wake-up: see bp_who */
	struct bp_choice choice; /* of its wait, by the waker */
	__u32 part; /* the state: enum bp_part */
	__u32 tid; /* of thread_table: whose it is */
	__u64 running_cnt; /* of a process' leader: its threads on a CPU */
};

static __always_inline bool part_is_blocked(__u32 part)
{
	return part < BP_PART_PREEMPTED;
}

/*
 * The part that @state, of a thread that leaves the CPU of its own will, means. A thread that is
 * woken before it has left shows that alone (TASK_WAKING); most are interruptible.
 */
static __always_inline __u32 part_of_state(__u32 state)
{
	if (!state)
		return BP_PART_PREEMPTED;
	if (state & TASK_DEAD)
		return BP_PART_DEAD;
	if (state & (__TASK_STOPPED | __TASK_TRACED))
		return BP_PART_STOPPED;
	if (state & TASK_UNINTERRUPTIBLE)
		return BP_PART_UNINTERRUPTIBLE;
	if (state & (TASK_INTERRUPTIBLE | TASK_WAKING))
		return BP_PART_INTERRUPTIBLE;
	return BP_PART_PARKED;
}

/* A stretch of time that a thread has not run. */
struct bp_wait {
	__u64 blocked_ns, runnable_ns;
};

static __always_inline __u64 ns_between(__u64 from_ns, __u64 to_ns)
{
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

/* How @t, whose state is one of waiting, has spent its time from @from_ns to @now_ns. */
static __always_inline struct bp_wait thread_wait(const struct bp_thread *t, __u64 from_ns,
						  __u64 now_ns)
{
	struct bp_wait wait = {.runnable_ns = ns_between(from_ns, now_ns)};
	__u64 woken_ns = t->wake_ns;

	if (!part_is_blocked(t->part))
		return wait;
	/* Not woken in this wait, but in an earlier one. */
	if (woken_ns < t->since_ns || woken_ns > now_ns)
		woken_ns = now_ns;
	wait.blocked_ns = ns_between(from_ns, woken_ns);
	wait.runnable_ns -= wait.blocked_ns;
	return wait;
}

/* The kernel's account says that it has been woken, and it is asleep: until it leaves a CPU again,
 * the account does not count. */
static __always_inline void thread_distrust_queue(struct bp_thread *t)
{
	t->left_clock_ns = 0;
}

/*
 * By the kernel's account it is on a run queue since @since_ns (0: on none), after @delay_ns in all
 * on others: hence when it was woken. The account is by another clock, so that only its differences
 * count. Where it is wrong, the thread counts as woken when it comes back.
 */
static __always_inline void thread_note_queue(struct bp_thread *t, __u64 since_ns, __u64 delay_ns,
					      __u64 now_ns)
{
	__u64 blocked_ns =
		ns_between(t->left_clock_ns + ns_between(t->left_delay_ns, delay_ns), since_ns);
	__u64 most_ns = ns_between(t->since_ns, now_ns);

	t->wake_ns = 0;
	if (since_ns && t->left_clock_ns)
		t->wake_ns = t->since_ns + (blocked_ns < most_ns ? blocked_ns : most_ns);
}

/* Its wait, as far as it has not been recorded yet. */
static __always_inline __u64 thread_wait_from(const struct bp_thread *t)
{
	return t->charged_ns > t->since_ns ? t->charged_ns : t->since_ns;
}

/* What it does first that is seen, at @now_ns. Whoever makes it for a thread that is there has not
 * yet come to say so when its since_ns is 0. */
static __always_inline void thread_meet(struct bp_thread *t, __u64 now_ns)
{
	if (t->since_ns)
		return;
	t->since_ns = now_ns;
	t->part = BP_PART_PREEMPTED;
}

/* It leaves the CPU at @now_ns for @part. Where its return was not seen, it has run since it was
 * woken. */
static __always_inline void thread_leave(struct bp_thread *t, __u64 now_ns, __u32 part)
{
	struct bp_wait wait = {.runnable_ns = ns_between(t->since_ns, now_ns)};

	if (t->part != BP_PART_RUNNING)
		wait = thread_wait(t, t->since_ns, now_ns);
	t->blocked_ns += wait.blocked_ns;
	t->cpu_ns += wait.runnable_ns;
	t->since_ns = now_ns;
	t->part = part;
}

/* It comes back: from what wait, as far as it has not been recorded yet. */
static __always_inline struct bp_wait thread_return(struct bp_thread *t, __u64 now_ns)
{
	struct bp_wait whole = thread_wait(t, t->since_ns, now_ns), wait = whole;

	if (t->charged_ns > t->since_ns)
		wait = thread_wait(t, t->charged_ns, now_ns);
	t->blocked_ns += whole.blocked_ns;
	t->runnable_ns += whole.runnable_ns;
	t->since_ns = now_ns;
	t->part = BP_PART_RUNNING;
	return wait;
}

/*
 * It leaves the CPU, and its return to it was not seen: by the kernel's account that was at
 * @arrived_ns, after @delay_ns in all on run queues. Where the account is wrong, thread_leave()
 * makes what can be made of it.
 */
static __always_inline void thread_return_late(struct bp_thread *t, __u64 arrived_ns,
					       __u64 delay_ns, __u64 now_ns)
{
	__u64 away_ns = ns_between(t->left_clock_ns, arrived_ns);
	__u64 most_ns = ns_between(t->since_ns, now_ns);

	if (!t->left_clock_ns || arrived_ns < t->left_clock_ns)
		return;
	thread_note_queue(t, arrived_ns, delay_ns, now_ns);
	thread_return(t, t->since_ns + (away_ns < most_ns ? away_ns : most_ns));
}

/* How much @total has grown over what was @told of it, which is told now. */
static __always_inline __u64 tell_growth(__u64 *told, __u64 total)
{
	__u64 more = ns_between(*told, total);

	*told += more;
	return more;
}

/*
 * Its totals up to @now_ns that have not been told yet. They are told from now on. A thread that
 * runs on another CPU may change state meanwhile, and a return that was not seen turns time that
 * was told as runnable into time on a CPU; what is then missed is told the next time, and what was
 * told too early is not told again.
 */
static __always_inline struct bp_totals thread_tell(struct bp_thread *t, __u64 now_ns)
{
	struct bp_totals all = {t->cpu_ns, t->blocked_ns, t->runnable_ns};

	if (t->part == BP_PART_RUNNING) {
		all.cpu_ns += ns_between(t->since_ns, now_ns);
	} else {
		struct bp_wait wait = thread_wait(t, t->since_ns, now_ns);

		all.blocked_ns += wait.blocked_ns;
		all.runnable_ns += wait.runnable_ns;
	}
	return (struct bp_totals){tell_growth(&t->told.cpu_ns, all.cpu_ns),
				  tell_growth(&t->told.blocked_ns, all.blocked_ns),
				  tell_growth(&t->told.runnable_ns, all.runnable_ns)};
}

#endif
