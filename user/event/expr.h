/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions on what a probe sees: --where 'arg1 > 64k && str(arg0) == "/etc/passwd"'.
 *
 * C's operators with C's precedence: || && | ^ & == != < <= > >= << >> + - * / % and the unary
 * - ! ~; parentheses; numbers (decimal, 0x hexadecimal, 0 octal) with k, M, G, T as powers of 1024;
 * 'c' and "text" with C's escapes.
 *
 * Names, by the kind of event; a tracepoint's field hides what else has its name:
 *	comm pid tid uid cpu	of the thread that hits the probe
 *	arg0 arg1 ...		of kernel and user probes: what a function gets in registers, if it
 *				sits at its entry; of USDT probes what its note tells
 *	ret			of return probes: the function's result
 *	FIELD			of tracepoints
 * Functions:
 *	str(X)			the text that X points to, in user or kernel memory by the address
 *	s8 u8 s16 u16 s32 u32 s64 u64 (X)	X's lowest bits, with a sign or without
 *
 * Numbers have 64 bits and a sign, but for those that need all 64 without (u64(), such fields,
 * literals from 2^63): as in C they make what they are combined with unsigned. A comparison with a
 * negative constant, and < 0 and >= 0, are signed in any case: `len < 0` and `len == -1` mean what
 * they say.
 *
 * Registers have no type, so arguments and results are taken as 64 bits with a sign. A function
 * whose result is an int leaves 0x00000000ffffffff for -1 on x86-64 and arm64, or anything in the
 * upper half, and so do callers with int arguments: where C's type is int say `s32(ret) < 0`, where
 * it is unsigned `u32(arg0) > 5`.
 *
 * Texts are only compared, for (in)equality, with a literal of up to EXPR_TEXT_MAX bytes. A text
 * that cannot be read (a bad address, a page that is not in memory) equals none. A number that
 * cannot be read is 0. A division by 0 gives 0 and a remainder the dividend, as in BPF. Shifts take
 * the lowest 6 bits of their distance.
 */
#ifndef BPFPROF_EVENT_EXPR_H
#define BPFPROF_EVENT_EXPR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "event/arch_regs.h"
#include "event/event.h"

enum expr_limits {
	EXPR_LEN_MAX = 1024, /* bytes of an expression */
	EXPR_TEXT_MAX = 64, /* bytes of a literal */
	EXPR_DEPTH_MAX = 32, /* of parentheses and unary operators */
	EXPR_NODES_MAX = 256,
};

/* What the names in an expression are. Everything is borrowed for the call of expr_parse(). */
struct expr_env {
	enum event_kind kind;
	enum event_arch arch;
	const struct event_field *fields; /* of EVENT_TRACEPOINT */
	size_t field_cnt;
	const char *usdt_args; /* of EVENT_USDT; NULL: it has none */
};

enum expr_type {
	EXPR_BOOL, /* 0 or 1 */
	EXPR_S64,
	EXPR_U64,
	EXPR_TEXT,
};

struct expr;

/*
 * Parse @text into *@out (expr_free()); it needs nothing of @env any more. 0; -EINVAL with one line
 * in @why that names the text and the column; -E2BIG for one of the limits above, likewise;
 * -ENOMEM.
 */
int expr_parse(const char *text, const struct expr_env *env, struct expr **out, struct buf *why);

void expr_free(struct expr *expr); /* NULL does nothing */

/* What it gives: never EXPR_TEXT. */
enum expr_type expr_type(const struct expr *expr);

#endif
