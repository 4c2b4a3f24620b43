/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who the sample belongs to: only what --by asks for, so that nothing else splits counts. */
#ifndef BPFPROF_TASK_BPF_H
#define BPFPROF_TASK_BPF_H

/* The process, whose identity raw frames (JIT code) need in any case: without it they cannot be
 * named. */
static __always_inline void who_is_process(struct bp_who *who, struct task_struct *task)
{
	who->tgid = BPF_CORE_READ(task, tgid);
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
		who->tid = BPF_CORE_READ(task, pid);
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
