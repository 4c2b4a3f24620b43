/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks by libdwfl, the unwinder of elfutils: what the same call frame information says to another
 * program. */
#ifndef BPFPROF_TESTS_LIBDW_CHAIN_H
#define BPFPROF_TESTS_LIBDW_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct Dwfl;

struct libdw_chain {
	struct Dwfl *dwfl; /* owned */
	pid_t pid; /* 0: a core file */
	struct Elf *core; /* owned */
	int core_fd; /* owned */
};

/* 0, or -1 and a message on stderr. */
int libdw_chain_process(struct libdw_chain *chain, pid_t pid);
int libdw_chain_core(struct libdw_chain *chain, const char *path);
void libdw_chain_deinit(struct libdw_chain *chain);

/* The process has mapped or unmapped something. */
int libdw_chain_reload(struct libdw_chain *chain);

/*
 * The stack of @tid, which is stopped: ips leaf first, callers moved back onto the call; at most
 * @max. How many, 0 when it knows none. *@is_complete: it found the bottom marked as such.
 */
size_t libdw_chain_get(struct libdw_chain *chain, pid_t tid, uint64_t *ips, size_t max,
		       bool *is_complete);

/* The name of the function at @ip, or NULL. Borrowed until the next reload. */
const char *libdw_chain_symbol(struct libdw_chain *chain, uint64_t ip);

bool libdw_chain_has_cfi(struct libdw_chain *chain, uint64_t ip);

/* The CFA at @regs' rip by the CFI there. False: no CFI, or the CFA is no register plus offset. */
bool libdw_chain_cfa(struct libdw_chain *chain, const struct user_regs_struct *regs, uint64_t *out);

#endif
