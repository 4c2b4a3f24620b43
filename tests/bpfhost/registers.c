/* SPDX-License-Identifier: Apache-2.0 */
/* Registers and breakpoints by ptrace. */
#include "registers.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#if defined(__x86_64__)
enum { BREAK_MASK = 0xff, BREAK_INSN = 0xcc };
#else
#define BREAK_MASK 0xffffffffUL
#define BREAK_INSN 0xd4200000UL /* brk #0 */
#endif

int regs_get(pid_t tid, struct user_regs_struct *out)
{
	struct iovec to = {out, sizeof(*out)};

	return ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &to) ? -errno : 0;
}

int regs_set(pid_t tid, const struct user_regs_struct *regs)
{
	struct iovec from = {(void *)regs, sizeof(*regs)};

	return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &from) ? -errno : 0;
}

uint64_t regs_dwarf(const struct user_regs_struct *regs, unsigned int reg)
{
#if defined(__x86_64__)
	const uint64_t values[] = {regs->rax, regs->rdx, regs->rcx, regs->rbx, regs->rsi, regs->rdi,
				   regs->rbp, regs->rsp, regs->r8,  regs->r9,  regs->r10, regs->r11,
				   regs->r12, regs->r13, regs->r14, regs->r15, regs->rip};

	return reg < sizeof(values) / sizeof(values[0]) ? values[reg] : 0;
#else
	return reg < 31 ? regs->regs[reg] : reg == 31 ? regs->sp : 0;
#endif
}

long regs_break(pid_t tid, uint64_t ip)
{
	long word = ptrace(PTRACE_PEEKTEXT, tid, ip, NULL);

	ptrace(PTRACE_POKETEXT, tid, ip, (word & ~(long)BREAK_MASK) | (long)BREAK_INSN);
	return word;
}

int regs_unbreak(pid_t tid, uint64_t ip, long word)
{
	struct user_regs_struct regs;
	int err;

	if (ptrace(PTRACE_POKETEXT, tid, ip, word))
		return -errno;
	err = regs_get(tid, &regs);
	if (err)
		return err;
	REGS_IP(&regs) = ip;
	return regs_set(tid, &regs);
}

/* What ptrace() is to do next, then the stop. */
static int resume(pid_t tid, int request, int signal_nr, int *status)
{
	if (ptrace(request, tid, NULL, (long)signal_nr) || waitpid(tid, status, 0) < 0)
		return -errno;
	return 0;
}

#if defined(__x86_64__)
int regs_step(pid_t tid, uint64_t ip, int signal_nr, int *status)
{
	return resume(tid, PTRACE_SINGLESTEP, signal_nr, status);
}
#else
enum {
	INSN_BYTES = 4,
	/* From an exclusive load to its store, in instructions; compilers' loops have five. */
	EXCLUSIVE_MAX = 16,
	EXITS_MAX = 8,
};

static uint32_t insn_at(pid_t tid, uint64_t ip)
{
	return (uint32_t)ptrace(PTRACE_PEEKTEXT, tid, ip, NULL);
}

/* Load or store exclusive, of a register or a pair. */
static int is_exclusive(uint32_t insn, uint32_t load)
{
	return (insn & 0x3f800000) == 0x08000000 && (insn & 1 << 22) == load << 22;
}

/* Where b.cond, cbz, cbnz at @ip branch to; 0: it is none. */
static uint64_t branch_target(uint32_t insn, uint64_t ip)
{
	if ((insn & 0xff000010) != 0x54000000 && (insn & 0x7e000000) != 0x34000000)
		return 0;
	return ip + (uint64_t)((int64_t)((int32_t)(insn << 8) >> 13) * INSN_BYTES);
}

/* The ways out of the exclusive sequence that begins at @ip into @exits. Their number; 0: it has no
 * end that is known. */
static size_t exclusive_exits(pid_t tid, uint64_t ip, uint64_t exits[EXITS_MAX])
{
	size_t cnt = 0;

	for (int i = 1; i < EXCLUSIVE_MAX && cnt + 1 < EXITS_MAX; i++) {
		uint64_t at = ip + (uint64_t)i * INSN_BYTES;
		uint32_t insn = insn_at(tid, at);
		uint64_t target = branch_target(insn, at);

		if (is_exclusive(insn, 0)) {
			exits[cnt++] = at + INSN_BYTES;
			return cnt;
		}
		if (target)
			exits[cnt++] = target;
	}
	return 0;
}

int regs_step(pid_t tid, uint64_t ip, int signal_nr, int *status)
{
	uint64_t exits[EXITS_MAX];
	long words[EXITS_MAX];
	size_t cnt = 0;
	int err;

	if (!signal_nr && is_exclusive(insn_at(tid, ip), 1))
		cnt = exclusive_exits(tid, ip, exits);
	if (!cnt)
		return resume(tid, PTRACE_SINGLESTEP, signal_nr, status);
	for (size_t i = 0; i < cnt; i++)
		words[i] = regs_break(tid, exits[i]);
	err = resume(tid, PTRACE_CONT, 0, status);
	/* In reverse: two ways may lead to one place. */
	while (cnt-- && !err && WIFSTOPPED(*status))
		ptrace(PTRACE_POKETEXT, tid, exits[cnt], words[cnt]);
	return err;
}
#endif
