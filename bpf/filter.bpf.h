/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Filters: lists OR, kinds AND. They run before anything is walked. */
#ifndef BPFPROF_FILTER_BPF_H
#define BPFPROF_FILTER_BPF_H

static __always_inline bool target_listed(__u32 kind, __u32 id)
{
	struct bp_target key = {.kind = kind, .id = id};

	return bpf_map_lookup_elem(&targets, &key) != NULL;
}

_Static_assert(!(BP_GLOBS_MAX & (BP_GLOBS_MAX - 1)), "a power of two");

/*
 * Does @task's name match glob @nr? It is a small automaton compiled by userspace (struct bp_glob),
 * so that a step has no branch the verifier would have to follow. A global function: verified once,
 * and for one glob. 5.10 knows no pointers as its arguments, hence a number.
 */
__noinline int filter_glob(__u64 task, __u32 nr)
{
	const volatile struct bp_glob *glob = &globs[nr & (BP_GLOBS_MAX - 1)];
	char comm[BP_COMM_BYTES] = {};
	__u32 states = 1;

	bpf_probe_read_kernel_str(comm, sizeof(comm), ((struct task_struct *)task)->comm);
	for (int i = 0; i < BP_COMM_BYTES && comm[i]; i++)
		states = (states & glob->token_mask[(__u8)comm[i]]) << 1 |
			 (states & glob->star_mask);
	return (states & glob->accept_mask) != 0;
}

/* Does @task's name match one of the first @glob_cnt globs? */
__noinline int filter_comm(__u64 task, __u32 glob_cnt)
{
	for (__u32 g = 0; g < BP_GLOBS_MAX; g++) {
		if (g >= glob_cnt)
			break;
		if (filter_glob(task, g))
			return 1;
	}
	return 0;
}

/* The id of @group's ancestor at @level, itself included. */
static __always_inline __u64 cgroup_ancestor_id(struct cgroup *group, int level)
{
	struct cgroup___5 *group_5 = (void *)group;
	struct cgroup *ancestor = NULL;
	__u64 id = 0;

	if (bpf_core_field_exists(group->ancestors)) {
		bpf_probe_read_kernel(&ancestor, sizeof(ancestor), &group->ancestors[level]);
		return BPF_CORE_READ(ancestor, kn, id);
	}
	bpf_probe_read_kernel(&id, sizeof(id), &group_5->ancestor_ids[level]);
	return id;
}

static __always_inline bool cgroup_listed(__u64 id)
{
	for (__u32 i = 0; i < BP_CGROUPS_MAX; i++) {
		if (i >= cfg.cgroup_cnt)
			break;
		if (cfg.cgroup_ids[i] == id)
			return true;
	}
	return false;
}

/* Is @task in one of the control groups asked for, or below? */
__noinline int filter_cgroup(__u64 task)
{
	struct cgroup *group = BPF_CORE_READ((struct task_struct *)task, cgroups, dfl_cgrp);
	int depth = BPF_CORE_READ(group, level);

	for (int level = 0; level < BP_CGROUP_DEPTH; level++) {
		if (level > depth)
			break;
		if (cgroup_listed(cgroup_ancestor_id(group, level)))
			return 1;
	}
	return 0;
}

/* A pointer that the verifier knows as a task's, or as registers, is no argument for a global
 * function; as a number it is. */
static __always_inline __u64 pointer_number(const void *pointer)
{
	__u64 number = 0;

	bpf_probe_read_kernel(&number, sizeof(number), &pointer);
	return number;
}

/* Do the filters want @task, which is no idle task? */
static __always_inline bool filter_selects(struct task_struct *task)
{
	if (cfg.filter_tgid && !target_listed(BP_TARGET_TGID, BPF_CORE_READ(task, tgid)))
		return false;
	if (cfg.filter_tid && !target_listed(BP_TARGET_TID, BPF_CORE_READ(task, pid)))
		return false;
	if (cfg.filter_uid && !target_listed(BP_TARGET_UID, BPF_CORE_READ(task, cred, uid.val)))
		return false;
	if (cfg.glob_cnt && !filter_comm(pointer_number(task), cfg.glob_cnt))
		return false;
	return !cfg.cgroup_cnt || filter_cgroup(pointer_number(task));
}

/* Is @task one that was asked for? */
static __always_inline bool filter_wants(struct task_struct *task)
{
	if (!cfg.include_idle && !BPF_CORE_READ(task, pid))
		return false;
	if (cfg.waits && !cfg.kernel_threads && (BPF_CORE_READ(task, flags) & PF_KTHREAD))
		return false;
	return filter_selects(task);
}

#endif
