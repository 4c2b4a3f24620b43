/* SPDX-License-Identifier: Apache-2.0 */
/* What the shadow stack needs to know of an architecture (shadow_x86.c, shadow_arm64.c). */
#ifndef BPFPROF_TESTS_SHADOW_ARCH_H
#define BPFPROF_TESTS_SHADOW_ARCH_H

#include "registers.h"
#include "shadow.h"

/* Where things are in what the kernel leaves on the stack for a signal's handler, in bytes. */
struct shadow_arch {
	uint64_t uc_at; /* ucontext, from the handler's first sp */
	uint64_t sp_at, ip_at; /* of the interrupted place, in ucontext */
	uint64_t syscall_bytes; /* length of a system call's instruction */
};

extern const struct shadow_arch shadow_arch;

/* As shadow_step(), within one segment. */
int shadow_arch_step(struct shadow *shadow, struct space *space, enum instruction insn,
		     const struct user_regs_struct *before, const struct user_regs_struct *after);

/* Where a handler that has just been entered returns to. 0 or negative. */
int shadow_arch_restorer(struct space *space, const struct user_regs_struct *after, uint64_t *out);

/* For those two. 0 or -ENOMEM. */
int shadow_push(struct shadow *shadow, const struct shadow_entry *entry);

/* The first entry of the last segment that is a call's. */
size_t shadow_segment_first(const struct shadow *shadow);

#endif
