/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go's own tables (elf/gopclntab.h) of Go 1.18 and later as rules: for each function they tell how
 * far its code has moved sp, by instruction. They are exact where a chain of frame pointers skips
 * the caller of what has no frame.
 *
 * Worked example, x86-64: `sub $24,%rsp; mov %rbp,16(%rsp); lea 16(%rsp),%rbp; ...; add $24,%rsp;
 * ret` has pcsp (0, 4 bytes), (24, n), (0, 1): rows CFA = rsp + 8; rsp + 32; from behind the mov on
 * rbp = *(CFA - 16) as well; rsp + 8.
 */
#ifndef BPFPROF_UNWIND_GO_TABLE_H
#define BPFPROF_UNWIND_GO_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi_unwind.h"
#include "elf/cfi_sections.h"
#include "elf/gopclntab.h"

struct go_table {
	struct go_pclntab pclntab;
	struct elf_bytes text; /* borrowed */
	uint64_t entry_vaddr; /* of the program */
};

/* Borrows what @sections holds. False: no such table, or of a version, machine or layout that is
 * not understood. */
bool go_table_init(struct go_table *table, const struct cfi_sections *sections);

/* From @vaddr on @rule holds. */
typedef void go_row_fn(void *ctx, uint64_t vaddr, const struct bp_rule *rule);

/* The rows of all functions that begin in [@from_vaddr, @to_vaddr), cut off at its end, in order of
 * address. Returns where the last of them ends, @from_vaddr when there is none. O(bytes of code and
 * of functab), whatever the tables hold. */
uint64_t go_table_rows(const struct go_table *table, uint64_t from_vaddr, uint64_t to_vaddr,
		       go_row_fn *row, void *ctx);

#endif
