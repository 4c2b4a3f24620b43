/* SPDX-License-Identifier: Apache-2.0 */
/* From what a module's file says to a table of names. */
#ifndef BPFPROF_SYMBOL_NAME_LEARN_H
#define BPFPROF_SYMBOL_NAME_LEARN_H

#include "symbol/module_symbols.h"
#include "symbol/name_table.h"

/* What is wanted. */
enum name_depth {
	NAME_SYMBOLS, /* one function, without lines: DWARF is not read */
	NAME_LINES, /* lines, and inlined calls */
};

/*
 * Add what @syms, which is loaded, knows of the function around @vaddr, as far as neither @kept
 * (the same module's) nor @out has it; afterwards one stretch of @out has @vaddr, which lies behind
 * all that
 * @out had. What is inlined has its name from DWARF, the function itself from its symbol, where
 * there is one: that says which clone it is. 0; -ETIME: CLOCK_MONOTONIC @deadline_ns (0: none) has
 * passed, and nothing was added; -E2BIG: @out is full; -ENOMEM.
 */
int name_learn(struct module_symbols *syms, enum name_depth depth, uint64_t vaddr,
	       uint64_t deadline_ns, const struct name_table *kept, struct name_builder *out);

#endif
