/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A module is loaded: its symbols are in /proc/kallsyms, and its init has not run yet. Counted, so
 * that no load is missed when the ring is full, and told at once, because one whose init fails is
 * gone after it. (The uevent comes after the init since "module: delay kobject uevent until after
 * module init call", 5.13, and never when it failed.)
 */
#ifndef BPFPROF_ENTRY_MODULE_BPF_H
#define BPFPROF_ENTRY_MODULE_BPF_H

SEC("raw_tp")
int bp_module(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 type = BP_RING_MODULE;
	__u32 zero = 0;
	struct bp_ctl *shared = bpf_map_lookup_elem(&ctl, &zero);

	if (!shared)
		return 0;
	__sync_fetch_and_add(&shared->module_loads, 1);
	bpf_ringbuf_output(&ring, &type, sizeof(type), BPF_RB_FORCE_WAKEUP);
	return 0;
}

#endif
