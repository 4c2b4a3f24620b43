/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who the sample belongs to: only what --by asks for, so that nothing else splits counts. */
#ifndef BPFPROF_TASK_BPF_H
#define BPFPROF_TASK_BPF_H

/* The process, whose identity raw frames (JIT code) need in any case: without it they cannot be
 * named. */
static __always_inline void task_identify_process(struct bp_scratch *s)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	s->rec.who.tgid = bpf_get_current_pid_tgid() >> 32;
	s->rec.who.start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
}

static __always_inline void task_identify(struct bp_scratch *s, struct task_struct *task, __u32 cpu)
{
	struct bp_who *who = &s->rec.who;
	__u64 ids = bpf_get_current_pid_tgid();

	__builtin_memset(who, 0, sizeof(*who));
	bpf_get_current_comm(who->comm, sizeof(who->comm));
	if (cfg.by & BP_BY_PROCESS)
		bpf_probe_read_kernel_str(who->process, sizeof(who->process),
					  BPF_CORE_READ(task, group_leader, comm));
	if (cfg.by & BP_BY_PID)
		task_identify_process(s);
	if (cfg.by & BP_BY_TID)
		who->tid = (__u32)ids;
	if (cfg.by & BP_BY_UID)
		who->uid = (__u32)bpf_get_current_uid_gid();
	if (cfg.by & BP_BY_CPU)
		who->cpu = cpu + 1;
	if (cfg.by & BP_BY_CGROUP)
		who->cgroup_id = bpf_get_current_cgroup_id();
}

#endif
