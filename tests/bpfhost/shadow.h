/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shadow call stack: what the return addresses really are, learned from the instructions that are
 * executed and from nothing that a compiler wrote down.
 *
 * A call adds { the word it pushed, where }. An entry is gone as soon as the stack pointer stands
 * above that word: that is a return, but also longjmp(), an exception's landing, and every other
 * way of leaving frames. A signal begins a segment with the interrupted place; it ends when the
 * stack pointer leaves the alternate stack, or comes back to where it was on the same one.
 */
#ifndef BPFPROF_TESTS_SHADOW_H
#define BPFPROF_TESTS_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#include "space.h"

#if defined(__x86_64__)
enum { SHADOW_CFA_ABOVE_SLOT = 8 }; /* bytes from an entry's slot to its callee's CFA */
#else
enum { SHADOW_CFA_ABOVE_SLOT = 0 };
#endif

struct shadow_entry {
	uint64_t slot; /* where the return address is; aarch64: sp at the call */
	uint64_t ip;
	bool is_exact; /* interrupted there: ip is no return address */
	bool is_in_register; /* popped, and perhaps pushed again (vfork) */
};

struct shadow_segment {
	size_t first; /* entry: the place that was interrupted */
	uint64_t sp; /* there */
	uint64_t alt_start, alt_end; /* of the alternate stack; 0, 0: the handler is on the same */
};

enum instruction {
	INSN_OTHER,
	INSN_CALL,
	INSN_RETURN, /* told where calls push nothing */
	INSN_POP, /* told where they do */
	INSN_SYSCALL,
};

struct shadow {
	struct shadow_entry *entries; /* owned */
	size_t cnt, cap;
	struct shadow_segment *segments; /* owned */
	size_t segments_cnt, segments_cap;
	uint64_t left_cnt; /* times that frames were left by another way than their return */
};

void shadow_deinit(struct shadow *shadow);

/* What stands at @ip, as far as the shadow stack cares. */
enum instruction shadow_decode(struct space *space, uint64_t ip);

/* The instruction @insn at @before was executed. 0 or -ENOMEM. */
int shadow_step(struct shadow *shadow, struct space *space, enum instruction insn,
		const struct user_regs_struct *before, const struct user_regs_struct *after);

/* Instead of an instruction, a signal perhaps entered its handler. 1 when it did, 0; -ENOMEM. */
int shadow_signal(struct shadow *shadow, struct space *space, const struct user_regs_struct *before,
		  const struct user_regs_struct *after);

/* Frame @i, leaf (@ip itself) first, callers moved back onto the call; i <= shadow->cnt. */
static inline uint64_t shadow_frame(const struct shadow *shadow, uint64_t ip, size_t i)
{
	const struct shadow_entry *entry;

	if (!i)
		return ip;
	entry = &shadow->entries[shadow->cnt - i];
	return entry->ip - !entry->is_exact;
}

#endif
