/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Uprobes: the probed task's user registers. These programs are preemptible and may nest: see
 * scratch.bpf.h. */
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

SEC("kprobe")
int bp_uprobe(struct pt_regs *ctx)
{
	struct bp_trigger trigger = {
		.is_user = 1,
		.ip = ARCH_CTX_IP(ARCH_REGS(ctx)),
		.sp = ARCH_CTX_SP(ARCH_REGS(ctx)),
		.fp = ARCH_CTX_FP(ARCH_REGS(ctx)),
		.is_32bit = ARCH_CTX_IS_32BIT(ARCH_REGS(ctx)),
		.value = 1,
	};

	if (takes_tail_call)
		bpf_tail_call(ctx, &no_private_stack, 0);
	return sample(ctx, &trigger);
}

#endif
