/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind table of one executable: its call frame information compiled to rows and rules, keyed
 * by file offset (abi_unwind.h). Built from hostile bytes in time and memory that are linear in
 * their length.
 *
 * Worked example, `push %rbp; mov %rsp,%rbp; ...; pop %rbp; ret` at file offset 0x1040 (x86-64):
 *
 *	CFI                                          row key  rule
 *	def_cfa rsp+8, rip at cfa-8  (CIE)           1040     CFA = rsp + 8
 *	advance 1, def_cfa_offset 16, rbp at cfa-16  1041     CFA = rsp + 16, rbp = *(CFA - 16)
 *	advance 3, def_cfa_register rbp              1044     CFA = rbp + 16, rbp = *(CFA - 16)
 *	advance n, def_cfa rsp+8                     ...      CFA = rsp + 8, rbp still saved
 *	(nothing for 16 bytes or more)               end      gap
 */
#ifndef BPFPROF_UNWIND_TABLE_H
#define BPFPROF_UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/cfi_sections.h"
#include "unwind/rows.h"
#include "unwind/rule.h"

enum {
	/* Code without FDE that is shorter is padding between functions: it keeps the rule of what
	 * is before it. */
	UNWIND_GAP_MIN_BYTES = 16,
	/* How much of an entry point without an FDE counts as it: more than any crt1.o has. */
	UNWIND_ENTRY_BYTES = 64,
	/* With fewer FDEs .eh_frame is only the start-up code's: .debug_frame is read as well. */
	UNWIND_FDES_FEW = 8,
	/* To be raised whenever the same file would give other rows, pages or rules than before, or
	 * abi_unwind.h gives them another meaning: tables are kept on disk (table_cache.h). */
	TABLE_COMPILER_VERSION = 7,
};

struct unwind_table {
	struct rows rows;
	struct rule_set rules;
	size_t fdes_cnt; /* that rows were made of */
	size_t refused_cnt; /* CFI records that are malformed or not understood */
	void *image; /* owned: the file that rows and rules lie in (table_file.h), which then own
			nothing; NULL: compiled just now */
	bool has_debug_frame; /* .debug_frame was read because .eh_frame has next to nothing */
};

struct unwind_stats {
	size_t rows_cnt, inline_cnt; /* inline_cnt: without an entry in the list of rules */
	size_t rules_cnt;
	uint64_t bytes[BP_RULE_KIND_CNT]; /* of file offsets, from the first to the last executable
					     byte, by enum bp_rule_kind */
};

/*
 * Compile @exe's call frame information, and of @debug (NULL: none), its separate debug file, the
 * .debug_frame when @exe has none. *owned*; both may be released afterwards. Without any, the table
 * is one gap. NULL + errno: EFBIG (more code or rows than any real file has), ENOMEM.
 */
struct unwind_table *unwind_table_build(const struct cfi_sections *exe,
					const struct cfi_sections *debug);

/* The same from a descriptor (borrowed) or an image in memory; besides, EBADMSG: not an ELF file of
 * ours. */
struct unwind_table *unwind_table_open(int fd);
struct unwind_table *unwind_table_from_memory(void *image, size_t len);
void unwind_table_free(struct unwind_table *table);

/* The rule in force at @file_off, in full. BP_RULE_GAP where nothing is known. */
void unwind_table_find(const struct unwind_table *table, uint64_t file_off, struct bp_rule *out);

/* Walks all rows: O(rows). */
void unwind_table_stats(const struct unwind_table *table, struct unwind_stats *out);

#endif
