/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks of waits: why, from the kernel's frames; with that on top, and with who ended them. */
#ifndef BPFPROF_PROFILE_OFF_CPU_STACK_H
#define BPFPROF_PROFILE_OFF_CPU_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "profile/off_cpu.h"

/* What is known of a stack; cause NULL: not looked at yet. */
struct off_cpu_stack {
	const char *cause;
	uint32_t begin; /* locations before it are the switch's own */
};

struct off_cpu_stacks {
	struct profile *prof; /* borrowed */
	struct off_cpu_stack *items; /* owned; by stack */
	size_t cnt;
	uint32_t *locations; /* owned: a stack at work */
	size_t location_cap;
	struct profile_line *lines; /* owned: a location's */
	size_t line_cap;
};

/* For stacks that @prof has by now; their locations have names. */
void off_cpu_stacks_init(struct off_cpu_stacks *stacks, struct profile *prof);
void off_cpu_stacks_deinit(struct off_cpu_stacks *stacks);

/* Why a thread waits that has @stack. Static. */
const char *off_cpu_cause(struct off_cpu_stacks *stacks, uint32_t stack);

/* @stack under "[blocked: CAUSE]", then "--" and the waker's frames, leaf first, and name; @waker
 * NULL: without. PROFILE_NONE on -ENOMEM. */
uint32_t off_cpu_blocked_stack(struct off_cpu_stacks *stacks, uint32_t stack,
			       const struct off_cpu_waker *waker);

/* @stack under "[runnable: WHY]". */
uint32_t off_cpu_runnable_stack(struct off_cpu_stacks *stacks, uint32_t stack, const char *why);

#endif
