/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Filters: lists OR, kinds AND. They run before anything is walked. */
#ifndef BPFPROF_FILTER_BPF_H
#define BPFPROF_FILTER_BPF_H

static __always_inline bool target_listed(__u32 kind, __u32 id)
{
	struct bp_target key = {.kind = kind, .id = id};

	return bpf_map_lookup_elem(&targets, &key) != NULL;
}

/*
 * Does the current thread's name match one of the first @glob_cnt globs? Each is a small automaton
 * compiled by userspace (struct bp_glob), so that a step has no branch the verifier would have to
 * follow. A global function: verified once.
 */
__noinline int filter_comm(__u32 glob_cnt)
{
	char comm[BP_COMM_BYTES] = {};

	bpf_get_current_comm(comm, sizeof(comm));
	for (__u32 g = 0; g < BP_GLOBS_MAX; g++) {
		const volatile struct bp_glob *glob = &globs[g];
		__u32 states = 1;

		if (g >= glob_cnt)
			break;
		for (int i = 0; i < BP_COMM_BYTES && comm[i]; i++)
			states = (states & glob->token_mask[(__u8)comm[i]]) << 1 |
				 (states & glob->star_mask);
		if (states & glob->accept_mask)
			return 1;
	}
	return 0;
}

static __always_inline bool filter_cgroup(void)
{
	for (__u32 i = 0; i < BP_CGROUPS_MAX; i++) {
		if (i >= cfg.cgroup_cnt)
			break;
		if (bpf_current_task_under_cgroup(&cgroups, i) == 1)
			return true;
	}
	return false;
}

/* Is the current task one that was asked for? */
static __always_inline bool filter_wants_current(void)
{
	__u64 ids = bpf_get_current_pid_tgid();

	if (!(__u32)ids && !cfg.include_idle)
		return false;
	if (cfg.filter_tgid && !target_listed(BP_TARGET_TGID, ids >> 32))
		return false;
	if (cfg.filter_tid && !target_listed(BP_TARGET_TID, (__u32)ids))
		return false;
	if (cfg.filter_uid && !target_listed(BP_TARGET_UID, (__u32)bpf_get_current_uid_gid()))
		return false;
	if (cfg.glob_cnt && !filter_comm(cfg.glob_cnt))
		return false;
	return !cfg.cgroup_cnt || filter_cgroup();
}

#endif
