/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that one process has learned before and needs again: of a recording that is named window by
 * window, a function that was met once is known, and its module's file is not read for it again.
 * Names of symbols only; what has lines is kept in files (symbol/name_keeper.h).
 */
#ifndef BPFPROF_SYMBOL_NAME_MEMORY_H
#define BPFPROF_SYMBOL_NAME_MEMORY_H

#include "proc/module.h"
#include "symbol/name_table.h"

enum {
	/* Of all modules together: beyond it all is forgotten, and what is met again is read again.
	 */
	NAME_MEMORY_STRETCHES_MAX = 1 << 18,
};

struct name_memory;

struct name_memory *name_memory_new(void); /* *owned*; NULL when memory is out */
void name_memory_free(struct name_memory *memory); /* NULL is fine */

/* What is known of @module; borrowed until the next name_memory_add(). Empty when nothing is. */
struct name_table name_memory_find(const struct name_memory *memory, const struct module *module);

/* Remember @learned, which has no address in common with what was known of @module; copied. 0;
 * -ENOMEM. O(both). */
int name_memory_add(struct name_memory *memory, const struct module *module,
		    const struct name_table *learned);

#endif
