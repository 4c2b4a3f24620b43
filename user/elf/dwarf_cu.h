/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is held of a unit once an address in it was asked for, or an entry in it referred to. Each
 * part is made when it is first needed; the whole can be forgotten and made again.
 */
#ifndef BPFPROF_ELF_DWARF_CU_H
#define BPFPROF_ELF_DWARF_CU_H

#include "elf/dwarf_code.h"
#include "elf/dwarf_lines.h"
#include "elf/dwarf_split.h"
#include "elf/dwarf_unit.h"

struct dwarf_cu {
	struct dwarf_unit unit;
	struct dwarf_split *split; /* owned */
	struct dwarf_code code; /* of the split unit, where there is one */
	struct dwarf_code *inners; /* owned: what is in functions of code, as it was asked for */
	size_t inners_cnt, inners_cap;
	size_t inners_bytes; /* what they hold */
	struct dwarf_lines lines;
	bool is_broken; /* neither header nor root can be read */
	bool is_code_tried, is_lines_tried;
	size_t held_bytes; /* as accounted for */
	uint64_t used_at; /* the last lookup that used it */
};

/* What a function's entry, and those that it refers to, say about it. Strings are borrowed. */
struct dwarf_entry {
	const char *name; /* the linkage name where there is one; NULL: none */
	uint32_t decl_line; /* 0: unknown */
};

/* The unit at @slot of @image, loaded. Borrowed; NULL when it is malformed or memory is out. */
struct dwarf_cu *dwarf_cu_get(struct dwarf_image *image, struct dwarf_unit_slot *slot);

/* The unit whose functions cu->code has: the split one where there is one. */
static inline struct dwarf_unit *dwarf_cu_code_unit(struct dwarf_cu *cu)
{
	return cu->split ? &cu->split->unit : &cu->unit;
}

/* Make cu->code, after looking for a split unit, and cu->lines. What cannot be read stays empty. */
void dwarf_cu_need_code(struct dwarf_cu *cu, struct dwarf_split_files *files);
void dwarf_cu_need_lines(struct dwarf_cu *cu);

/* Whose code an address is. */
struct dwarf_place {
	const struct dwarf_code *code; /* borrowed until the next search in this unit */
	uint32_t func; /* of code: the innermost one of those inlined there; DWARF_FUNC_NONE */
	uint64_t lo, hi; /* around the address, where this is so */
	uint64_t outer_lo, outer_hi; /* the piece of the function proper, or the gap, around it */
};

/* The place of @vaddr in @cu. What is in the function there is read for this, once. */
void dwarf_cu_find_place(struct dwarf_cu *cu, uint64_t vaddr, struct dwarf_place *out);

/* Forget what is at @slot. */
void dwarf_cu_drop(struct dwarf_image *image, struct dwarf_unit_slot *slot);

/* Forget all units of @image, and their places. */
void dwarf_cus_free(struct dwarf_image *image);

/* Describe the function whose entry is at @off of .debug_info, in @unit. Units that it refers to
 * are loaded, and marked as used by lookup @lookup. */
struct dwarf_entry dwarf_entry_describe(struct dwarf_unit *unit, uint64_t off, uint64_t lookup);

#endif
