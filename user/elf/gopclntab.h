/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go's own table of functions (.gopclntab, written by cmd/link/internal/ld/pcln.go, read by
 * runtime/symtab.go), as it lies in the image; stripping leaves it in place. Four layouts, told
 * apart by their magic: Go 1.2 to 1.15, 1.16 and 1.17, 1.18 and 1.19, 1.20 and later.
 *
 *	header   magic u32, 0 u16, instruction quantum u8, pointer size u8, then pointer-sized:
 *	         functions; since 1.16 also files, [address of the text, since 1.18], offsets of
 *	         names, cu table, files, pc tables, functions
 *	functab  (entry, offset of struct _func) per function, one more entry for the end of the
 *	         last; before 1.18 two addresses, since then two u32, entries from the text's start
 *	_func    entry, then u32: name, args, deferreturn, pcsp, pcfile, pcln, npcdata, [cu, since
 *	         1.16], [line, since 1.20]; u8: id, flags, 0, nfuncdata; u32 pcdata[npcdata],
 *	         funcdata[nfuncdata], before 1.18 as aligned pointers
 *	pc table pairs of varints: change of the value (zigzag, from -1), code bytes it holds for
 *	         (in quanta)
 *
 * Worked example of a pc table, bytes 02 04 30 1b 2f 01: 0 for 4 bytes of code, 24 for 27, 0 for 1.
 *
 * Everything here is bounds-checked and allocates nothing.
 */
#ifndef BPFPROF_ELF_GOPCLNTAB_H
#define BPFPROF_ELF_GOPCLNTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"

enum go_version { GO_1_2, GO_1_16, GO_1_18, GO_1_20 };

struct go_pclntab {
	const uint8_t *data; /* borrowed */
	size_t len;
	enum go_version version;
	uint8_t quantum;
	/* What entries count from. 0: they are addresses (before 1.18), or the header leaves it to
	 * a relocation (position-independent files) or to moduledata (since 1.26). */
	uint64_t text_vaddr;
	uint64_t func_cnt;
	/* Into data; what offsets of names, of pc tables and so on count from. */
	uint64_t names_off, cutab_off, files_off, pctab_off, functab_off, funcs_off;
};

/* What struct _func tells, with the function's range. */
struct go_func {
	uint64_t vaddr, end_vaddr;
	uint32_t name;
	uint32_t pcsp, pcfile, pcln; /* pc tables; 0: none */
	uint32_t cu;
	uint32_t start_line; /* 0 before Go 1.20 */
	uint8_t flags; /* since Go 1.17 */
	uint32_t pcdata_cnt;
	uint8_t funcdata_cnt;
	uint64_t pcdata_off; /* into data */
};

/* A range of a function's code in which a pc table's value stays the same. */
struct go_pcvalue {
	struct reader rd;
	uint64_t vaddr, end_vaddr; /* of the range */
	uint64_t limit_vaddr; /* of the function */
	int32_t value;
	uint8_t quantum;
	bool is_started;
};

/* Borrows @data. False: no such table, or of a version or layout that is not understood. */
bool go_pclntab_init(struct go_pclntab *tab, const void *data, size_t len);

/* Where function @index begins, and for @index == func_cnt where the last one ends; UINT64_MAX when
 * that is outside the table. */
uint64_t go_pclntab_entry(const struct go_pclntab *tab, uint64_t index);

/* The first function at or behind @vaddr; func_cnt when there is none. O(log functions). */
uint64_t go_pclntab_search(const struct go_pclntab *tab, uint64_t vaddr);

/* False: its description is damaged. */
bool go_pclntab_func(const struct go_pclntab *tab, uint64_t index, struct go_func *out);

/* Borrowed from the table, not empty; NULL when @name is no start of a name. */
const char *go_pclntab_name(const struct go_pclntab *tab, uint32_t name);

/* The path of the file with the number that a pcfile table gives; borrowed, NULL when unknown. */
const char *go_pclntab_file(const struct go_pclntab *tab, const struct go_func *func,
			    int32_t file_no);

/* The pc table at @table of @func's, and its next range; false at the function's end, or when the
 * table makes no sense. */
void go_pcvalue_init(struct go_pcvalue *pcv, const struct go_pclntab *tab,
		     const struct go_func *func, uint32_t table);
bool go_pcvalue_next(struct go_pcvalue *pcv);

/* The pc table number @index of @func's pcdata; 0: none. */
uint32_t go_func_pcdata(const struct go_pclntab *tab, const struct go_func *func, uint32_t index);

/* Entry @index of @func's funcdata: since 1.18 an offset from go:func.*, before an address. False:
 * none. */
bool go_func_funcdata(const struct go_pclntab *tab, const struct go_func *func, uint32_t index,
		      uint64_t *out);

#endif
