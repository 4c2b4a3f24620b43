/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes: uprobes and USDT, with the probed task's user registers, and kprobes, with the kernel's.
 * The former are preemptible and may nest: see scratch.bpf.h.
 */
#ifndef BPFPROF_ENTRY_PROBE_BPF_H
#define BPFPROF_ENTRY_PROBE_BPF_H

/*
 * Since "bpf, x86: Add jit support for private stack" (6.13) a frame of 64 bytes or more lives in
 * memory of the program and CPU, on the assumption that a program of this type does not nest. Ours
 * does. A program that has a tail call keeps the kernel's stack; this one is never taken.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
} no_private_stack SEC(".maps");
const volatile bool takes_tail_call; /* stays false */

static __always_inline int uprobe_entry(struct pt_regs *ctx, __u32 event)
{
	struct bp_trigger trigger = {
		.is_user = 1,
		.ip = ARCH_CTX_IP(ARCH_REGS(ctx)),
		.sp = ARCH_CTX_SP(ARCH_REGS(ctx)),
		.fp = ARCH_CTX_FP(ARCH_REGS(ctx)),
		.is_32bit = ARCH_CTX_IS_32BIT(ARCH_REGS(ctx)),
		.is_call_site = cfg.events[event].is_return,
		.value = 1,
		.event = event,
	};

	if (takes_tail_call)
		bpf_tail_call(ctx, &no_private_stack, 0);
	if (cfg.events[event].by_caller)
		trigger.return_ip = arch_return_ip(ARCH_REGS(ctx));
	return sample(ctx, &trigger);
}

static __always_inline int kprobe_entry(struct pt_regs *ctx, __u32 event)
{
	struct bp_trigger trigger = {.value = 1, .event = event};

	if (cfg.events[event].is_entry)
		trigger.return_ip = ARCH_CTX_LOST_CALLER(ARCH_REGS(ctx));
	return sample(ctx, &trigger);
}

#define BP_PROBE_ENTRIES(event_)                    \
	SEC("kprobe")                               \
	int bp_uprobe_##event_(struct pt_regs *ctx) \
	{                                           \
		return uprobe_entry(ctx, event_);   \
	}                                           \
                                                    \
	SEC("kprobe")                               \
	int bp_kprobe_##event_(struct pt_regs *ctx) \
	{                                           \
		return kprobe_entry(ctx, event_);   \
	}

BP_EACH_EVENT(BP_PROBE_ENTRIES)

#endif
