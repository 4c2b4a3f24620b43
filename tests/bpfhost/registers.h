/* SPDX-License-Identifier: Apache-2.0 */
/* The registers of a stopped thread, as ptrace and core files give them, by what they are for. */
#ifndef BPFPROF_TESTS_REGISTERS_H
#define BPFPROF_TESTS_REGISTERS_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#if defined(__x86_64__)
#define REGS_IP(r) ((r)->rip)
#define REGS_SP(r) ((r)->rsp)
/* Of the system call that the next instruction makes, or the last one made. */
#define REGS_SYSCALL(r) ((r)->rax)
#elif defined(__aarch64__)
#define REGS_IP(r) ((r)->pc)
#define REGS_SP(r) ((r)->sp)
#define REGS_SYSCALL(r) ((r)->regs[8])
#else
#error "the registers of this architecture are not known here"
#endif

/* The registers of thread @tid, which is stopped. 0 or negative errno. */
int regs_get(pid_t tid, struct user_regs_struct *out);
int regs_set(pid_t tid, const struct user_regs_struct *regs);

/* DWARF register @reg by the architecture's ABI; 0 for those that are not general ones. */
uint64_t regs_dwarf(const struct user_regs_struct *regs, unsigned int reg);

/* Have thread @tid, which is stopped, stop at the instruction at @ip: the word that stood there,
 * for regs_unbreak(), which also puts the thread back onto it. */
long regs_break(pid_t tid, uint64_t ip);
int regs_unbreak(pid_t tid, uint64_t ip, long word);

/*
 * Have thread @tid, which is stopped at @ip, execute the next instruction, delivering signal
 * @signal_nr (0: none) first, and wait for it: as waitpid(), into *@status. An exclusive load of
 * aarch64 and what follows up to its store are one: a stop between them would make the store fail,
 * and the loop around them never end (Arm ARM, B2.12.5). 0 or negative errno.
 */
int regs_step(pid_t tid, uint64_t ip, int signal_nr, int *status);

#endif
