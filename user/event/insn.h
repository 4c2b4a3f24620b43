/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One machine instruction, as far as a probe on it is concerned: how long it is, where control goes
 * after it, which registers it changes, and what the kernel makes of a uprobe on it.
 *
 * A uprobe replaces the instruction's first byte by a trap. What the instruction would have done is
 * then done in one of two ways: the kernel emulates it, for a few (0.65 us a hit), or runs a copy
 * out of line with the trap flag set (21 us on a virtual machine).
 */
#ifndef BPFPROF_EVENT_INSN_H
#define BPFPROF_EVENT_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum probe_class {
	PROBE_EMULATED,
	PROBE_STEPPED,
	PROBE_REFUSED, /* the kernel answers ENOTSUPP, or the probed program sees a wrong result */
	PROBE_MISHANDLED, /* the kernel takes it, and then executes something else */
	PROBE_CLASSES
};

enum insn_flow {
	INSN_NEXT,
	INSN_COND, /* to target, or to the next */
	INSN_JUMP, /* to target */
	INSN_CALL, /* direct or indirect; comes back */
	INSN_END, /* ret, indirect jump, trap: a straight path ends */
};

enum {
	INSN_X86_MAX_BYTES = 15,
	INSN_X86_SP = 4, /* number of rsp in a mask of registers */
	/* rdi, rsi, rdx, rcx, r8, r9 */
	INSN_X86_ARGS = 1 << 7 | 1 << 6 | 1 << 2 | 1 << 1 | 1 << 8 | 1 << 9,
};

struct insn {
	uint8_t len; /* bytes */
	enum probe_class probe;
	const char *why; /* static: of REFUSED and MISHANDLED, for messages; else NULL */
	enum insn_flow flow;
	bool has_target;
	uint64_t target; /* vaddr, where has_target */
	uint32_t written; /* general registers that it may change, one bit for each */
	bool sp_is_known; /* sp_delta tells all that it does to the stack pointer */
	int32_t sp_delta; /* bytes */
};

/*
 * Decode the x86-64 instruction at @code, of which @len bytes can be read and which lies at @vaddr.
 * 0 and *@out; -ENODATA: it goes on behind @len; -EINVAL: no instruction that this knows.
 * Sources: Intel SDM volume 2 (appendix A), AMD APM volume 3 (XOP, 3DNow!).
 */
int insn_x86_decode(const uint8_t *code, size_t len, uint64_t vaddr, struct insn *out);

/* The same for an A64 instruction of 4 bytes, little-endian; @vaddr must be a multiple of 4. */
int insn_arm64_decode(const uint8_t *code, size_t len, uint64_t vaddr, struct insn *out);

/*
 * What one hit costs, estimated: measured on a virtual machine (AMD EPYC, Linux 6.18), tracefs
 * uprobes on free() and malloc() of glibc 2.36.
 */
uint32_t probe_cost_ns(enum probe_class probe);

#endif
