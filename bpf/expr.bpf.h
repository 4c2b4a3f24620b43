/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The slots of compiled expressions (expr_slot.h) and how entries call them. Only what a program
 * calls becomes part of it, so entries say the event's number as a constant where they can.
 */
#ifndef BPFPROF_EXPR_BPF_H
#define BPFPROF_EXPR_BPF_H

#include "expr_slot.h"

/*
 * Functions and not more: a function has a stack frame and registers of its own. The compiler knows
 * of the filler only that it takes @ctx and may give anything. Named operands and register
 * variables: clang 14 emits a naked function without the name of its argument, which the kernel's
 * BTF refuses.
 */
#define EXPR_SLOT(event_, use_, name_)                                                    \
	static __attribute__((noinline)) __u64 expr_##name_##_##event_(void *ctx)         \
	{                                                                                 \
		register void *first asm("r1") = ctx;                                     \
		register __u64 result asm("r0");                                          \
                                                                                          \
		asm volatile("%[result] = %[marker]\n"                                    \
			     "%[result] = %[unused]\n"                                    \
			     "if %[result] == %[unused] goto 1f\n"                        \
			     ".rept %[filler]\n"                                          \
			     "%[result] = 0\n"                                            \
			     ".endr\n"                                                    \
			     "1:\n"                                                       \
			     : [result] "=r"(result), [ctx] "+r"(first)                   \
			     : [marker] "i"(BP_EXPR_MARKER_OF(event_, use_)),             \
			       [unused] "i"(BP_EXPR_DEFAULT(use_)),                       \
			       [filler] "i"(BP_EXPR_SLOT_INSNS - 3)                       \
			     : "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "memory"); \
		return result;                                                            \
	}

#define EXPR_SLOTS(event_)                        \
	EXPR_SLOT(event_, BP_EXPR_WHERE, where)   \
	EXPR_SLOT(event_, BP_EXPR_WEIGHT, weight) \
	EXPR_SLOT(event_, BP_EXPR_HIST, hist)

EXPR_SLOTS(0)
EXPR_SLOTS(1)
EXPR_SLOTS(2)
EXPR_SLOTS(3)
EXPR_SLOTS(4)
EXPR_SLOTS(5)

_Static_assert(BP_EXPR_EVENTS == 6, "as many as there are slots");

/* The slot of @event, by a constant or a number that is known at run time only. */
#define EXPR_DISPATCH(name_)                                              \
	static __always_inline __u64 expr_##name_(__u32 event, void *ctx) \
	{                                                                 \
		switch (event) {                                          \
		case 0:                                                   \
			return expr_##name_##_0(ctx);                     \
		case 1:                                                   \
			return expr_##name_##_1(ctx);                     \
		case 2:                                                   \
			return expr_##name_##_2(ctx);                     \
		case 3:                                                   \
			return expr_##name_##_3(ctx);                     \
		case 4:                                                   \
			return expr_##name_##_4(ctx);                     \
		default:                                                  \
			return expr_##name_##_5(ctx);                     \
		}                                                         \
	}

EXPR_DISPATCH(where) /* is the sample wanted? not 0: yes */
EXPR_DISPATCH(weight) /* what it counts for */
EXPR_DISPATCH(hist) /* what it is counted by */

#endif
