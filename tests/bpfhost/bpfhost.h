/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel side's unwinder (bpf/unwind*.bpf.h, bpf/rows.bpf.h), compiled for this machine. What
 * the kernel build takes from the kernel comes through here: mappings, memory, registers. There is
 * one unwinder in a program, as there is one set of maps in the kernel.
 */
#ifndef BPFPROF_TESTS_BPFHOST_H
#define BPFPROF_TESTS_BPFHOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"

struct rows;

/* What the kernel's VMA tells, and which executable its file is. */
struct bpfhost_mapping {
	uint64_t start, end;
	uint64_t file_off; /* of start */
	uint32_t exe_id; /* from bpfhost_add_rows(), or BP_EXE_NONE: no file, a raw frame */
	bool is_exec;
};

/* The task that is unwound; all *borrowed* during bpfhost_walk(). */
struct bpfhost_task {
	const struct bpfhost_mapping *mappings; /* ascending */
	size_t mappings_cnt;
	/* Copy @bytes from @vaddr of the task's memory. 0, or negative. */
	int (*read)(void *ctx, uint64_t vaddr, void *out, size_t bytes);
	void *ctx;
	uint64_t start_stack; /* sp at exec, 0: unknown */
};

struct bpfhost_walk {
	uint32_t outcome; /* enum bp_stack_outcome */
	uint32_t total; /* frames walked */
	const __u64 *frames; /* BP_FRAMES_USER slots, as bp_stack says; until the next walk */
};

/* Copy an unwind table's @rows and @rules (borrowed) to where the unwinder finds them; @tracks_bx
 * as in struct bp_rows. The id of the new executable, or -ENOMEM. */
int bpfhost_add_rows(const struct rows *rows, const struct bp_rule *rules, size_t rules_cnt,
		     bool tracks_bx);

/* An executable that userspace has not looked at yet (no rows, outcome no_rows): its id. */
int bpfhost_add_unbuilt(void);

/*
 * Walk from @regs: user registers in the layout of the kernel's struct pt_regs (which begins
 * PTRACE_GETREGS' struct user_regs_struct on x86-64). @is_call_site: ip stands behind a call or a
 * system call.
 */
void bpfhost_walk(const struct bpfhost_task *task, const void *regs, bool is_call_site,
		  struct bpfhost_walk *out);

/* Frame @i (leaf = 0) of @walk, which must not be one of those elided. */
__u64 bpfhost_frame(const struct bpfhost_walk *walk, uint32_t i);

/* The address of @frame in @mappings: its file offset looked up, or the raw address; 0: nowhere. */
uint64_t bpfhost_frame_ip(const struct bpfhost_task *task, __u64 frame);

#endif
