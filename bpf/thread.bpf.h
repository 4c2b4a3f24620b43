/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What each thread does with its time: kept with the thread, so that it survives migration, and in
 * totals that only grow, so that on + runnable + blocked is what has passed. It is made where
 * memory may be asked for (fork, or at the start for all there are), never under a run queue's
 * lock.
 */
#ifndef BPFPROF_THREAD_BPF_H
#define BPFPROF_THREAD_BPF_H

struct bp_totals {
	__u64 cpu_ns, blocked_ns, runnable_ns;
};

struct bp_thread {
	__u64 since_ns; /* when its state began */
	__u64 wake_ns; /* when it was woken last */
	__u64 charged_ns; /* a window's end: what lies before has been recorded */
	__u64 cpu_ns, blocked_ns, runnable_ns; /* of states that have ended */
	struct bp_totals told; /* of them and the present one, what userspace knows */
	__u64 waker; /* of the last wake-up: see bp_who */
	struct bp_choice choice; /* of its wait, by the waker */
	__u32 part; /* the state: enum bp_part */
	__u32 tid; /* of thread_table: whose it is */
	__u64 running_cnt; /* of a process' leader: its threads on a CPU */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct bp_thread);
} threads SEC(".maps");

/* Instead of it before "bpf: Enable task local storage for tracing programs" (5.11). At load:
 * BP_THREADS_TABLE. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bp_thread);
} thread_table SEC(".maps");

/* @task: a pointer that the verifier knows as a task's. NULL: nothing is known of it. */
static __always_inline struct bp_thread *thread_get(struct task_struct *task)
{
	__u32 tid;

	if (cfg.has_task_storage)
		return bpf_task_storage_get(&threads, task, NULL, 0);
	tid = task->pid;
	return bpf_map_lookup_elem(&thread_table, &tid);
}

/* Where memory may be asked for: made when it is not there. */
static __always_inline struct bp_thread *thread_make(struct task_struct *task)
{
	struct bp_thread empty = {.tid = task->pid};
	__u32 tid = task->pid;

	if (cfg.has_task_storage)
		return bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	bpf_map_update_elem(&thread_table, &tid, &empty, BPF_NOEXIST);
	return bpf_map_lookup_elem(&thread_table, &tid);
}

/* The current thread's, made where no lock is held. */
static __always_inline struct bp_thread *thread_make_current(void)
{
	__u32 tid = bpf_get_current_pid_tgid();
	struct bp_thread empty = {.tid = tid};

	if (cfg.has_task_storage)
		return bpf_task_storage_get(&threads, bpf_get_current_task_btf(), NULL,
					    BPF_LOCAL_STORAGE_GET_F_CREATE);
	bpf_map_update_elem(&thread_table, &tid, &empty, BPF_NOEXIST);
	return bpf_map_lookup_elem(&thread_table, &tid);
}

static __always_inline void thread_forget(struct task_struct *task)
{
	__u32 tid = task->pid;

	/* The kernel frees the storage with the task. */
	if (!cfg.has_task_storage)
		bpf_map_delete_elem(&thread_table, &tid);
}

/* One more (or, -1, less) of the threads of @task's process is on a CPU. */
static __always_inline void process_runs(struct task_struct *task, __s64 more)
{
	struct bp_thread *leader;

	if (!cfg.parallelism)
		return;
	leader = thread_get(task->group_leader);
	if (leader)
		__sync_fetch_and_add(&leader->running_cnt, more);
}

/* How many threads of the current one's process are on a CPU, itself included. */
static __always_inline __u64 process_running_cnt(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct bp_thread *leader;
	__u64 cnt = 0;
	__u32 tid;

	if (cfg.has_task_storage) {
		leader = thread_get(bpf_get_current_task_btf()->group_leader);
	} else {
		tid = BPF_CORE_READ(task, tgid);
		leader = bpf_map_lookup_elem(&thread_table, &tid);
	}
	if (leader)
		cnt = leader->running_cnt;
	return (__s64)cnt > 1 ? cnt : 1;
}

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

/* Its wait, as far as it has not been recorded yet. */
static __always_inline __u64 thread_wait_from(const struct bp_thread *t)
{
	return t->charged_ns > t->since_ns ? t->charged_ns : t->since_ns;
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

/* It comes back. */
static __always_inline void thread_return(struct bp_thread *t, __u64 now_ns)
{
	struct bp_wait wait = thread_wait(t, t->since_ns, now_ns);

	t->blocked_ns += wait.blocked_ns;
	t->runnable_ns += wait.runnable_ns;
	t->since_ns = now_ns;
	t->part = BP_PART_RUNNING;
}

/*
 * Its totals up to @now_ns that have not been told yet. They are told from now on. A thread that
 * runs on another CPU may change state meanwhile; what is then missed or told too early is told
 * right the next time, because the totals only grow.
 */
static __always_inline struct bp_totals thread_tell(struct bp_thread *t, __u64 now_ns)
{
	struct bp_totals all = {t->cpu_ns, t->blocked_ns, t->runnable_ns}, told;

	if (t->part == BP_PART_RUNNING) {
		all.cpu_ns += ns_between(t->since_ns, now_ns);
	} else {
		struct bp_wait wait = thread_wait(t, t->since_ns, now_ns);

		all.blocked_ns += wait.blocked_ns;
		all.runnable_ns += wait.runnable_ns;
	}
	told = t->told;
	t->told = all;
	return (struct bp_totals){ns_between(told.cpu_ns, all.cpu_ns),
				  ns_between(told.blocked_ns, all.blocked_ns),
				  ns_between(told.runnable_ns, all.runnable_ns)};
}

#endif
