/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of one unit by address, those inlined into others included: what is made of a unit,
 * in one pass over its entries, when the first address in it is asked for. Names are not read here:
 * most functions are never asked for, and an entry's offset is enough to find its name later.
 *
 * For the same reason that pass does not look into functions where the compiler says where each
 * ends (GCC does): what is in one is read when an address in it is asked for. A function that lies
 * inside another but has its code elsewhere (nested ones of C, local classes) is missed by this: an
 * address that is in no function makes the whole unit be read after all.
 */
#ifndef BPFPROF_ELF_DWARF_CODE_H
#define BPFPROF_ELF_DWARF_CODE_H

#include <stdbool.h>

#include "elf/addr_map.h"
#include "elf/dwarf_unit.h"

enum {
	DWARF_FUNC_NONE = UINT32_MAX,
	/* Functions inside functions; what is nested deeper counts as the last one's. */
	DWARF_NESTING_MAX = 512,
};

struct dwarf_func {
	uint32_t entry; /* offset from the unit's start */
	uint32_t parent; /* into which this was inlined; DWARF_FUNC_NONE for a function proper */
	/* Where it was called from; 0 for a function proper. */
	uint32_t call_file, call_line, call_column;
	uint32_t end; /* offset of what follows all that is in it and was not read; 0: it was */
	uint32_t inner; /* for dwarf_cu.h: where that was read to, counted from 1 */
};

struct dwarf_code {
	struct dwarf_func *funcs; /* owned; in the order of their entries */
	size_t funcs_cnt, funcs_cap;
	struct addr_map map; /* to indices of funcs */
	bool is_partial; /* something was passed unread */
};

enum dwarf_code_extent {
	DWARF_CODE_OUTER, /* functions, not what is in them */
	DWARF_CODE_ALL,
};

/* Build @out (untouched on failure) of @unit, whose root has been read. 0, -E2BIG or -ENOMEM; of a
 * malformed unit, what comes before the fault. */
int dwarf_code_build(const struct dwarf_unit *unit, enum dwarf_code_extent extent,
		     struct dwarf_code *out);

/* The same of one function of it whose end is set, and all that is in it. */
int dwarf_code_open(const struct dwarf_unit *unit, const struct dwarf_func *func,
		    struct dwarf_code *out);
void dwarf_code_deinit(struct dwarf_code *code);

/* Memory that it holds. */
size_t dwarf_code_bytes(const struct dwarf_code *code);

#endif
