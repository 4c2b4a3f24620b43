/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How long a call takes (--elapsed): when it began is kept under the thread and the stack pointer,
 * which at the return is what it was before the call. So calls may nest and may be left by
 * longjmp() or an exception: what they leave behind is overwritten by the next call from there, or
 * evicted.
 */
#ifndef BPFPROF_CALLS_BPF_H
#define BPFPROF_CALLS_BPF_H

struct bp_call_key {
	__u64 sp; /* after the return */
	__u32 tid;
	__u32 event;
};

/* At load: BP_CALLS_MAX where it is asked for. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct bp_call_key);
	__type(value, __u64); /* CLOCK_MONOTONIC, ns */
} calls SEC(".maps");

static __always_inline void call_begins(struct pt_regs *ctx, __u32 event)
{
	struct bp_call_key key = {
		.sp = ARCH_CTX_SP(ARCH_REGS(ctx)) + ARCH_RETURN_SLOT_BYTES,
		.tid = (__u32)bpf_get_current_pid_tgid(),
		.event = event,
	};
	__u64 now_ns = bpf_ktime_get_ns();

	bpf_map_update_elem(&calls, &key, &now_ns, BPF_ANY);
}

/* The time since the call that @ctx returns from began; false: that was before us. */
static __always_inline bool call_ends(struct pt_regs *ctx, __u32 event, __u64 *out_ns)
{
	struct bp_call_key key = {
		.sp = ARCH_CTX_SP(ARCH_REGS(ctx)),
		.tid = (__u32)bpf_get_current_pid_tgid(),
		.event = event,
	};
	__u64 now_ns = bpf_ktime_get_ns(), *began_ns = bpf_map_lookup_elem(&calls, &key);

	if (!began_ns)
		return false;
	*out_ns = now_ns - *began_ns;
	bpf_map_delete_elem(&calls, &key);
	return true;
}

#endif
