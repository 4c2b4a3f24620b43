/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled expressions into the slots of a BPF object (expr_slot.h), on the way from libbpf to the
 * kernel: handlers for the sections of its programs get each program's instructions when they are
 * relocated and about to be loaded (bpf_program__set_insns(), libbpf 0.8).
 *
 *	struct expr_patch patch = {.codes[0][BP_EXPR_WHERE] = &code};
 *
 *	err = expr_patch_begin(&patch);
 *	open the object, load it
 *	err = expr_patch_end(&patch);
 *
 * The handlers are the process's: meanwhile no other object may be opened or loaded. Programs in
 * those sections are attached by a link of their kind (bpf_program__attach_uprobe_opts(), ...);
 * bpf_program__attach() does not know how.
 */
#ifndef BPFPROF_CAPTURE_EXPR_PATCH_H
#define BPFPROF_CAPTURE_EXPR_PATCH_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "event/expr_code.h"

enum { EXPR_PATCH_SECTIONS = 8 };

struct expr_patch {
	/* *Borrowed* until expr_patch_end(); NULL: the slot stays as it is. */
	const struct expr_code *codes[BP_EXPR_EVENTS][BP_EXPR_USES];
	/* In how many programs that were loaded each slot was filled. */
	uint32_t filled[BP_EXPR_EVENTS][BP_EXPR_USES];
	int handlers[EXPR_PATCH_SECTIONS]; /* libbpf's numbers */
	uint32_t handler_cnt;
};

/* Before the object is opened; @patch stays where it is until expr_patch_end(). 0 or negative errno
 * after log_error(), with nothing begun. */
int expr_patch_begin(struct expr_patch *patch);

/* After the object was loaded, or not. 0; -ENOENT after log_error(): an expression is in no program
 * that was loaded. */
int expr_patch_end(struct expr_patch *patch);

/* Instead of expr_patch_end(), when nothing was loaded. */
void expr_patch_abandon(struct expr_patch *patch);

/*
 * Put @codes into the slots that are found among @insns, a program of @cnt instructions. Counts in
 * @patch->filled. 0; -EINVAL: a slot is not as expr_slot.h has it.
 */
int expr_patch_insns(struct expr_patch *patch, struct bpf_insn *insns, size_t cnt);

#endif
