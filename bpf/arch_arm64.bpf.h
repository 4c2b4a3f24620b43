/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* aarch64: registers and what they tell. */
#ifndef BPFPROF_ARCH_ARM64_BPF_H
#define BPFPROF_ARCH_ARM64_BPF_H

struct pt_regs___size {
	__u64 pstate;
} __attribute__((preserve_access_index));

#define ARCH_PT_REGS_BYTES bpf_core_type_size(struct pt_regs___size)

enum {
	ARCH_THREAD_BYTES = 16384, /* THREAD_SIZE with 4 KiB pages and no KASAN */
	ARM64_MODE_MASK = 0x0f, /* PSR_MODE_MASK: 0 is EL0 */
	ARM64_MODE32 = 0x10,
};

#define ARCH_REGS(r) (&(r)->user_regs)
#define ARCH_CTX_IP(r) ((r)->pc)
#define ARCH_CTX_SP(r) ((r)->sp)
#define ARCH_CTX_FP(r) ((r)->regs[29])
#define ARCH_CTX_ARG0(r) ((r)->regs[0])
#define ARCH_CTX_ARG1(r) ((r)->regs[1])
#define ARCH_CTX_ARG2(r) ((r)->regs[2])
#define ARCH_CTX_ARG3(r) ((r)->regs[3])
#define ARCH_CTX_RESULT(r) ((r)->regs[0])
#define ARCH_CTX_IS_USER(r) (((r)->pstate & ARM64_MODE_MASK) == 0)
#define ARCH_CTX_IS_32BIT(r) (((r)->pstate & ARM64_MODE32) != 0)

#define ARCH_SAVED_IS_USER(r) ((r)->pc && ARCH_CTX_IS_USER(r))
/* The pc of a system call is the instruction after svc; x8 holds its number. exec clears the
 * registers but not the number, and sets pc to the entry point (start_thread_common()). */
#define ARCH_SAVED_IS_SYSCALL(r) \
	((r)->syscallno != -1 && (r)->syscallno == (__s32)(r)->user_regs.regs[8])

/* Return addresses may be signed (PAC) above the 48 address bits of user space; bit 55 is clear
 * there. */
#define ARCH_STRIP_PAC(ip) ((ip) & ((1ULL << 48) - 1))

enum {
	ARCH_DWARF_FP = 29,
	ARCH_DWARF_RA = 30,
	ARCH_DWARF_SP = 31,
	ARCH_DWARF_BX = 255, /* no register is followed besides */
};

/* x0..x30, sp. A mask, because old verifiers lose a comparison that the compiler made on a copy. */
#define ARCH_REG_BY_DWARF(r, reg) (((const __u64 *)(r))[(reg)&31])

/* x0..x17: not preserved across a call. */
#define ARCH_CALL_CLOBBERS(reg) ((reg) < 18)

/* Of an entry of a page table of 4 KiB pages: Arm ARM, D8.3. */
#define ARCH_PTE_PRESENT 1ULL
#define ARCH_PTE_FRAME 0x0000fffffffff000ULL

/* The return address is in lr at the call. */
enum { ARCH_RETURN_SLOT_BYTES = 0 };

/* Where the function returns to that @regs, a user's, are at the first instruction of. */
static __always_inline __u64 arch_return_ip(const struct user_pt_regs *regs)
{
	return ARCH_STRIP_PAC(regs->regs[30]);
}

/* At a function's first instruction its caller is in lr alone, and the kernel walks by frame
 * pointers. */
#define ARCH_CTX_LOST_CALLER(r) ((r)->regs[30])

/* A leaf may have no frame; every other function has at least saved its x29, x30. */
#define ARCH_MIN_FRAME_BYTES(is_leaf) ((is_leaf) ? 0 : 16)

/* The registers in struct rt_sigframe, which the trampoline's sp points to: siginfo 128,
 * uc_mcontext at 176 of ucontext, fault_address 8. */
enum { ARCH_SIGCONTEXT_OFF = 128 + 176 + 8 };

struct arch_sigcontext {
	struct user_pt_regs regs;
};

static __always_inline void arch_regs_from_sigcontext(struct pt_regs *regs,
						      const struct arch_sigcontext *sc)
{
	regs->user_regs = sc->regs;
}

#define ARCH_RULE16_CFA_UNIT 16

enum { ARCH_CALL_PUSHES = 0 };

/* Is the instruction before @ip a call: bl or blr? */
static __always_inline bool arch_is_after_call(__u64 ip)
{
	__u32 insn;

	if (bpf_probe_read_user(&insn, sizeof(insn), (void *)(ip - sizeof(insn))))
		return false;
	return (insn & 0xfc000000) == 0x94000000 || (insn & 0xfffffc1f) == 0xd63f0000;
}

/* Of a task that does not run: 0, because the kernel's unwinder, by frame pointers, is quick. */
#define ARCH_SWITCHED_SP(task) 0ULL

/* What calls there keeps a frame record, which the frame pointer finds. */
static __always_inline __u64 arch_epilogue_bytes(__u64 ip)
{
	return 0;
}

/* The address that a goroutine's first function returns to: behind the `mov x0, x0` that
 * runtime.goexit begins with, because goexit has never called it. */
static __always_inline bool arch_is_after_nop(__u64 ip)
{
	__u32 insn;

	return !bpf_probe_read_user(&insn, sizeof(insn), (void *)(ip - sizeof(insn))) &&
	       insn == 0xaa0003e0;
}

#endif
