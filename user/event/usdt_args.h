/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a USDT probe's arguments are: the last string of its note, one word for each argument,
 * "SIZE@PLACE", a negative size being that of a signed number
 * (https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation). The place is written as
 * the compiler writes an assembler operand:
 *
 *	x86-64	-4@%edi		a register
 *		8@-8(%rbp)	memory
 *		8@(%rax,%rbx,8)	memory, with an index
 *		4@$5		a constant
 *	arm64	8@x0   -4@[sp, 60]   8@[x1, x2, lsl 3]   4@5
 */
#ifndef BPFPROF_EVENT_USDT_ARGS_H
#define BPFPROF_EVENT_USDT_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "event/arch_regs.h"

enum usdt_kind {
	USDT_CONST, /* @value */
	USDT_REG, /* of struct pt_regs, the lowest @size bytes at @reg_off */
	USDT_DEREF, /* user memory at [@reg_off] + @value */
	USDT_DEREF_INDEX, /* user memory at [@reg_off] + ([@index_off] << @index_shift) + @value */
};

struct usdt_arg {
	enum usdt_kind kind;
	uint8_t size; /* bytes: 1, 2, 4, 8 */
	bool is_signed;
	bool has_base; /* of USDT_DEREF_INDEX: else it has no @reg_off */
	uint8_t index_shift;
	uint16_t reg_off, index_off;
	int64_t value;
};

/* How many arguments @args, a note's string, has. */
uint32_t usdt_arg_cnt(const char *args);

/*
 * Argument @index of @args. 0; -ENOENT: there are not so many; -ENOTSUP: it is where we cannot read
 * it (a floating-point register, a global variable); -EINVAL: it is nothing that we know. With one
 * line in @why.
 */
int usdt_arg_parse(const char *args, uint32_t index, enum event_arch arch, struct usdt_arg *out,
		   struct buf *why);

#endif
