/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* x86-64 registers as the kernel saves them; the layout is user ABI (PTRACE_GETREGS, signal
 * frames). */
#ifndef BPFPROF_VMLINUX_X86_H
#define BPFPROF_VMLINUX_X86_H

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8;
	unsigned long ax, cx, dx, si, di;
	unsigned long orig_ax;
	unsigned long ip, cs, flags, sp, ss;
};

typedef struct pt_regs bpf_user_pt_regs_t;

#ifdef __bpf__
struct thread_struct {
	unsigned long sp; /* of a task that does not run */
} __attribute__((preserve_access_index));

struct task_struct___x86 {
	struct thread_struct thread;
} __attribute__((preserve_access_index));
#endif

#endif
