/* SPDX-License-Identifier: Apache-2.0 */
/* Where an architecture's registers are in struct pt_regs, which is what programs of probes get as
 * their context, and which of them carry a function's arguments and its result. */
#ifndef BPFPROF_EVENT_ARCH_REGS_H
#define BPFPROF_EVENT_ARCH_REGS_H

#include <stddef.h>
#include <stdint.h>

enum event_arch {
	EVENT_ARCH_X86_64,
	EVENT_ARCH_ARM64,
#ifdef __aarch64__
	EVENT_ARCH_HOST = EVENT_ARCH_ARM64,
#else
	EVENT_ARCH_HOST = EVENT_ARCH_X86_64,
#endif
};

/* How many arguments are in registers: 6 (System V psABI 3.2.3) or 8 (AAPCS64 6.4). */
uint32_t arch_arg_cnt(enum event_arch arch);

/* The offset of argument @index < arch_arg_cnt() at a function's entry, in struct pt_regs. */
uint32_t arch_arg_off(enum event_arch arch, uint32_t index);

/* The offset of a function's result, where it returns. */
uint32_t arch_result_off(enum event_arch arch);

/*
 * The register called @name (@len bytes, without '%'; any of its widths: "eax", "w0"). 0 and its
 * offset in @out, of the second byte for "ah"; -ENOENT: there is none of that name, or it is none
 * that struct pt_regs has, as floating-point registers.
 */
int arch_reg_find(enum event_arch arch, const char *name, size_t len, uint32_t *out);

#endif
