/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who the sample belongs to: only what --by asks for, so that nothing else splits counts. */
#ifndef BPFPROF_TASK_BPF_H
#define BPFPROF_TASK_BPF_H

enum { PID_LEVELS_MAX = 33 }; /* MAX_PID_NS_LEVEL and the first one */

/* The number of the struct pid @pid in our namespace; 0: it has none, and is not seen from here. A
 * global function: verified once. */
__noinline int pid_here(__u64 pid)
{
	struct upid *at = (void *)&((struct pid *)pid)->numbers;
	__u32 level = BPF_CORE_READ((struct pid *)pid, level);

	for (__u32 i = 0; i < PID_LEVELS_MAX; i++) {
		if (i > level)
			break;
		if (BPF_CORE_READ(at, ns, ns.inum) == cfg.pid_ns)
			return BPF_CORE_READ(at, nr);
		at = (void *)at + bpf_core_type_size(struct upid);
	}
	return 0;
}

/* What userspace calls the process and the thread, and finds in /proc. The kernel's own numbers,
 * task->tgid and task->pid, are what our maps are keyed by. */
static __always_inline __u32 task_tgid(struct task_struct *task)
{
	if (!cfg.pid_ns)
		return BPF_CORE_READ(task, tgid);
	return pid_here((__u64)BPF_CORE_READ(task, group_leader, thread_pid));
}

static __always_inline __u32 task_tid(struct task_struct *task)
{
	if (!cfg.pid_ns)
		return BPF_CORE_READ(task, pid);
	return pid_here((__u64)BPF_CORE_READ(task, thread_pid));
}

static __always_inline __u32 current_tgid(void)
{
	if (!cfg.pid_ns)
		return bpf_get_current_pid_tgid() >> 32;
	return task_tgid((void *)bpf_get_current_task());
}

/* The process, whose identity raw frames (JIT code) need in any case: without it they cannot be
 * named. */
static __always_inline void who_is_process(struct bp_who *who, struct task_struct *task)
{
	who->tgid = task_tgid(task);
	who->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
}

static __always_inline void who_is(struct bp_who *who, struct task_struct *task, __u32 cpu)
{
	__builtin_memset(who, 0, sizeof(*who));
	bpf_probe_read_kernel_str(who->comm, sizeof(who->comm), task->comm);
	if (cfg.by & BP_BY_PROCESS)
		bpf_probe_read_kernel_str(who->process, sizeof(who->process),
					  BPF_CORE_READ(task, group_leader, comm));
	if (cfg.by & BP_BY_PID)
		who_is_process(who, task);
	if (cfg.by & BP_BY_TID)
		who->tid = task_tid(task);
	if (cfg.by & BP_BY_UID)
		who->uid = BPF_CORE_READ(task, cred, uid.val);
	if (cfg.by & BP_BY_CPU)
		who->cpu = cpu + 1;
	if (cfg.by & BP_BY_CGROUP)
		who->cgroup_id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

/* --timeline: what happened at CLOCK_MONOTONIC @when_ns is of that moment alone. */
static __always_inline void who_is_at(struct bp_who *who, __u64 when_ns)
{
	who->bucket = 1 + when_ns / cfg.bucket_ns;
}

#endif
