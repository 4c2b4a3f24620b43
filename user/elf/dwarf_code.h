/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of one unit by address, those inlined into others included: what is made of a unit,
 * in one pass over its entries, when the first address in it is asked for. Names are not read here:
 * most functions are never asked for, and an entry's offset is enough to find its name later.
 */
#ifndef BPFPROF_ELF_DWARF_CODE_H
#define BPFPROF_ELF_DWARF_CODE_H

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
};

struct dwarf_code {
	struct dwarf_func *funcs; /* owned; in the order of their entries */
	size_t funcs_cnt, funcs_cap;
	struct addr_map map; /* to indices of funcs */
};

/* Build @out (untouched on failure) of @unit, whose root has been read. 0, -E2BIG or -ENOMEM; of a
 * malformed unit, what comes before the fault. */
int dwarf_code_build(const struct dwarf_unit *unit, struct dwarf_code *out);
void dwarf_code_deinit(struct dwarf_code *code);

/* Memory that it holds. */
size_t dwarf_code_bytes(const struct dwarf_code *code);

#endif
