/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Children of -p and of COMMAND become targets at fork and cease to be when they are gone. */
#ifndef BPFPROF_ENTRY_FORK_BPF_H
#define BPFPROF_ENTRY_FORK_BPF_H

SEC("raw_tp/sched_process_fork")
int bp_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	struct bp_target key = {.kind = BP_TARGET_TGID, .id = BPF_CORE_READ(parent, tgid)};
	__u32 child_tgid = BPF_CORE_READ(child, tgid), zero = 0;
	struct bp_shard *shard;
	__u64 start_ns;

	if (child_tgid == key.id || !bpf_map_lookup_elem(&targets, &key))
		return 0;
	key.id = child_tgid;
	start_ns = BPF_CORE_READ(child, start_boottime);
	if (!bpf_map_update_elem(&targets, &key, &start_ns, BPF_ANY))
		return 0;
	shard = bpf_map_lookup_elem(&shards, &zero);
	if (shard)
		__sync_fetch_and_add(&shard->targets_full, 1);
	return 0;
}

/* The last of a process: until its threads have left the CPU for good, what they do is a target's.
 */
SEC("raw_tp/sched_process_free")
int bp_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	struct bp_target key = {.kind = BP_TARGET_TGID, .id = BPF_CORE_READ(task, tgid)};
	__u64 *start_ns = bpf_map_lookup_elem(&targets, &key);

	/* What userspace listed (0) stays listed: the books of a recording do not depend on when
	 * its target died. The number may be another process' by now. */
	if (start_ns && *start_ns && (__u32)BPF_CORE_READ(task, pid) == key.id &&
	    *start_ns == BPF_CORE_READ(task, start_boottime))
		bpf_map_delete_elem(&targets, &key);
	return 0;
}

#endif
