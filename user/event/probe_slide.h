/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where at a function's entry a probe is safe, and cheapest.
 *
 * The trap of a uprobe costs 0.65 us where the kernel emulates the instruction below it and 21 us
 * where it steps over a copy, so a probe that sits a few bytes further on costs a thirtieth. A
 * worked example, free() of glibc 2.36, whose size is 0xe6:
 *
 *	+0	test %rdi,%rdi		stepped
 *	+3	je +0xc8		emulated: the place, free(NULL) counts too
 *	+9	push %rbp		emulated, but free(NULL) does not come here
 *
 * A place must be reached by every call, once: so nothing is walked past that may lead elsewhere,
 * and nothing that other code of the function jumps to. And some instructions must not be probed at
 * all (PROBE_REFUSED, PROBE_MISHANDLED): then the first one behind them will do that may, cheap or
 * not.
 */
#ifndef BPFPROF_EVENT_PROBE_SLIDE_H
#define BPFPROF_EVENT_PROBE_SLIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "event/insn.h"

enum { SLIDE_MAX_BYTES = 64 };

/* A function's code, borrowed; all of it: jumps back to its entry are looked for. */
struct code_range {
	const uint8_t *bytes;
	size_t len;
	uint64_t vaddr;
};

struct slide_opts {
	bool may_pass_exit; /* past conditional branches forward: some calls may not be seen */
	bool keep_args; /* all six argument registers must be as at the entry */
	bool keep_sp; /* so must the stack pointer */
};

struct probe_place {
	uint32_t off; /* bytes behind the entry */
	enum probe_class probe; /* EMULATED or STEPPED */
	uint32_t cost_ns; /* of a hit, estimated */
	int32_t sp_moved; /* bytes that the stack pointer has moved since the entry */
	uint32_t args_changed; /* a mask of registers, within INSN_X86_ARGS */
	bool passed_exit; /* a conditional branch lies before it */
};

/*
 * The place for a probe at the entry of @function (x86-64). 0 and *@out, with one line in @text:
 * why there (for -v). -EOPNOTSUPP: no safe one, @text says why; -EBADMSG: no instruction begins
 * there. O(bytes of the function).
 */
int probe_slide(const struct code_range *function, const struct slide_opts *opts,
		struct probe_place *out, struct buf *text);

#endif
