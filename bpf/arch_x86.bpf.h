/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* x86-64: registers and what they tell. */
#ifndef BPFPROF_ARCH_X86_BPF_H
#define BPFPROF_ARCH_X86_BPF_H

enum {
	ARCH_THREAD_BYTES = 16384, /* THREAD_SIZE without KASAN */
	ARCH_PT_REGS_BYTES = sizeof(struct pt_regs),
	X86_USER_CS = 0x33,
	X86_USER32_CS = 0x23,
};

#define ARCH_REGS(regs) (regs)
#define ARCH_CTX_IP(regs) ((regs)->ip)
#define ARCH_CTX_SP(regs) ((regs)->sp)
#define ARCH_CTX_FP(regs) ((regs)->bp)
#define ARCH_CTX_ARG0(regs) ((regs)->di)
#define ARCH_CTX_ARG1(regs) ((regs)->si)
#define ARCH_CTX_ARG2(regs) ((regs)->dx)
#define ARCH_CTX_ARG3(regs) ((regs)->cx)
#define ARCH_CTX_RESULT(regs) ((regs)->ax)
#define ARCH_CTX_IS_USER(regs) (((regs)->cs & 3) == 3)
#define ARCH_CTX_IS_32BIT(regs) (((regs)->cs & 0xffff) == X86_USER32_CS)

/* Registers found at the top of a kernel stack. */
#define ARCH_SAVED_IS_USER(regs) (((regs)->cs & 0xffff) == X86_USER_CS || ARCH_CTX_IS_32BIT(regs))
/*
 * Syscall entry leaves the call's number there, faults and interrupts -1: after a syscall the ip is
 * a return address. The instruction leaves it in rcx as well; exec clears that (ELF_PLAT_INIT())
 * and sets ip to the entry point, which is none.
 */
#define ARCH_SAVED_IS_SYSCALL(regs) ((regs)->orig_ax != ~0UL && (regs)->cx == (regs)->ip)

#define ARCH_STRIP_PAC(ip) (ip)

enum {
	ARCH_DWARF_FP = 6,
	ARCH_DWARF_SP = 7,
	ARCH_DWARF_RA = 16,
	ARCH_DWARF_BX = 3,
};

/* struct pt_regs as words, by DWARF register number (System V x86-64 psABI, figure 3.36). */
#define X86_WORDS_OF_DWARF_0_7 0x13040e0d050b0c0aULL /* one byte each */
#define X86_WORDS_OF_DWARF_8_15 0x0001020306070809ULL
#define X86_WORD_OF_DWARF(reg)                                            \
	((reg) < 8    ? X86_WORDS_OF_DWARF_0_7 >> ((reg)*8) & 0xff        \
	 : (reg) < 16 ? X86_WORDS_OF_DWARF_8_15 >> (((reg)&7) * 8) & 0xff \
		      : 16)
#define ARCH_REG_BY_DWARF(r, reg) (((const __u64 *)(r))[X86_WORD_OF_DWARF((reg)&31) & 31])

/* rax, rdx, rcx, rsi, rdi, r8..r11: not preserved across a call. */
#define ARCH_CALL_CLOBBERS(reg) (0xf37 >> ((reg)&31) & 1)

/* Of an entry of a page table: Intel SDM volume 3, 4.5. */
#define ARCH_PTE_PRESENT 1ULL
#define ARCH_PTE_FRAME 0x000ffffffffff000ULL

/* The return address lies below what was sp before the call. */
enum { ARCH_RETURN_SLOT_BYTES = 8 };

/* Where the function returns to that @regs, a user's, are at the first instruction of. */
static __always_inline __u64 arch_return_ip(const struct pt_regs *regs)
{
	__u64 ip = 0;

	bpf_probe_read_user(&ip, sizeof(ip), (void *)regs->sp);
	return ip;
}

/* The kernel's unwinder knows who has called at any instruction (ORC). */
#define ARCH_CTX_LOST_CALLER(r) 0

/* A call has pushed its return address: every frame takes 8 bytes at least. */
#define ARCH_MIN_FRAME_BYTES(is_leaf) 8

/* The registers in struct rt_sigframe, from its ucontext on, which the trampoline's sp points to:
 * uc_mcontext after 40 bytes. */
enum { ARCH_SIGCONTEXT_OFF = 40 };

struct arch_sigcontext {
	__u64 r8, r9, r10, r11, r12, r13, r14, r15;
	__u64 di, si, bp, bx, dx, ax, cx, sp, ip;
};

static __always_inline void arch_regs_from_sigcontext(struct pt_regs *regs,
						      const struct arch_sigcontext *sc)
{
	regs->r8 = sc->r8;
	regs->r9 = sc->r9;
	regs->r10 = sc->r10;
	regs->r11 = sc->r11;
	regs->r12 = sc->r12;
	regs->r13 = sc->r13;
	regs->r14 = sc->r14;
	regs->r15 = sc->r15;
	regs->di = sc->di;
	regs->si = sc->si;
	regs->bp = sc->bp;
	regs->bx = sc->bx;
	regs->dx = sc->dx;
	regs->ax = sc->ax;
	regs->cx = sc->cx;
	regs->sp = sc->sp;
	regs->ip = sc->ip;
}

/* The inline rule: where the CFA is, and the caller's fp below the return address. */
#define ARCH_RULE16_CFA_UNIT 8

enum { ARCH_CALL_PUSHES = 1 };

/* Is the instruction before @ip a call: e8 rel32, or ff /2 with its operand of 0, 1 or 4 further
 * bytes (and a SIB byte)? */
static __always_inline bool arch_is_after_call(__u64 ip)
{
	__u8 b[7];

	if (bpf_probe_read_user(b, sizeof(b), (void *)(ip - sizeof(b))))
		return false;
	return b[2] == 0xe8 || (b[5] == 0xff && (b[6] & 0x38) == 0x10) ||
	       (b[4] == 0xff && (b[5] & 0x38) == 0x10) || (b[3] == 0xff && (b[4] & 0x38) == 0x10) ||
	       (b[1] == 0xff && (b[2] & 0x38) == 0x10) || (b[0] == 0xff && (b[1] & 0x38) == 0x10);
}

/* The kernel's sp of @task, a pointer that the verifier knows as a task's, which does not run. 0:
 * the kernel's unwinder is quick anyhow. */
#define ARCH_SWITCHED_SP(task) (((struct task_struct___x86 *)(task))->thread.sp)

/* How far above sp the return address is when @ip is at `add $imm8, %rsp; ret`; 0: it is not. */
static __always_inline __u64 arch_epilogue_bytes(__u64 ip)
{
	__u8 b[5];

	if (bpf_probe_read_user(b, sizeof(b), (void *)ip) || b[0] != 0x48 || b[1] != 0x83 ||
	    b[2] != 0xc4 || b[4] != 0xc3 || (b[3] & 0x87))
		return 0;
	return b[3];
}

/* The address that a goroutine's first function returns to: behind the nop that runtime.goexit
 * begins with, because goexit has never called it. */
static __always_inline bool arch_is_after_nop(__u64 ip)
{
	__u8 insn;

	return !bpf_probe_read_user(&insn, sizeof(insn), (void *)(ip - sizeof(insn))) &&
	       insn == 0x90;
}

#endif
