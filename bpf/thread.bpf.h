/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What each thread does with its time (thread_time.bpf.h): kept with the thread, so that it
 * survives migration. It is made where memory may be asked for (fork, or at the start for all there
 * are), never under a run queue's lock.
 */
#ifndef BPFPROF_THREAD_BPF_H
#define BPFPROF_THREAD_BPF_H

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

/* @task leaves the CPU: for thread_find_wake(). */
static __always_inline void thread_note_leaving(struct bp_thread *t, struct task_struct *task)
{
	struct bp_queue queue = compat_queue(task);

	t->left_clock_ns = queue.clock_ns;
	t->left_delay_ns = queue.delay_ns;
}

/* Was @task, which is blocked or has been, woken, and when? */
static __always_inline void thread_find_wake(struct bp_thread *t, struct task_struct *task,
					     __u64 now_ns)
{
	struct bp_queue queue = compat_queue(task);

	thread_note_queue(t, queue.since_ns, queue.delay_ns, now_ns);
}

/* @task, whose return to the CPU was not seen, leaves it. */
static __always_inline void thread_find_return(struct bp_thread *t, struct task_struct *task,
					       __u64 now_ns)
{
	struct bp_queue queue = compat_queue(task);

	thread_return_late(t, queue.arrived_ns, queue.delay_ns, now_ns);
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

#endif
