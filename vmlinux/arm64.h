/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* aarch64 registers: the part of struct pt_regs that is user ABI (struct user_pt_regs) stands at
 * its start. */
#ifndef BPFPROF_VMLINUX_ARM64_H
#define BPFPROF_VMLINUX_ARM64_H

struct user_pt_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
};

struct pt_regs {
	struct user_pt_regs user_regs;
	__u64 orig_x0;
	__s32 syscallno;
	__u32 pad;
};

typedef struct user_pt_regs bpf_user_pt_regs_t;

#endif
