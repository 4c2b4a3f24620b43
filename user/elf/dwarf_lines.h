/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line table (DWARF 5, section 6.2), indexed but not unpacked. One pass over its program notes
 * the registers every LINES_CHUNK_ROWS rows; a lookup finds the note before the address and runs
 * the program from there. Rows take 2 bytes in the program and would take 24 unpacked.
 */
#ifndef BPFPROF_ELF_DWARF_LINES_H
#define BPFPROF_ELF_DWARF_LINES_H

#include "base/buf.h"
#include "elf/dwarf_unit.h"

enum { LINES_CHUNK_ROWS = 128, LINES_FORMATS_MAX = 8 };

/* How entries of directories and files are laid out from version 5 on. */
struct dwarf_line_formats {
	struct dwarf_spec items[LINES_FORMATS_MAX]; /* name: enum dwarf_lnct */
	size_t cnt;
};

struct dwarf_lines {
	struct dwarf_image *image; /* borrowed */
	struct dwarf_sizes sizes;
	uint8_t instruction_bytes, line_range, opcode_base;
	int8_t line_base;
	uint64_t opcode_operands_off; /* for the opcodes from 1 on, how many operands each has */
	uint64_t program_off, end; /* in .debug_line */
	struct dwarf_line_formats dir_formats, file_formats;

	/* Where in .debug_line the entry of each is. */
	uint64_t *dirs; /* owned */
	size_t dirs_cnt, dirs_cap;
	uint64_t *files; /* owned */
	size_t files_cnt, files_cap;

	/* Runs of ascending addresses. */
	struct dwarf_line_run {
		uint64_t lo, hi;
		uint32_t chunks_at, chunks_cnt;
	} * runs; /* owned; ascending */
	size_t runs_cnt, runs_cap;
	struct dwarf_line_chunk *chunks; /* owned */
	size_t chunks_cnt, chunks_cap;
};

struct dwarf_line_row {
	uint64_t vaddr;
	uint32_t file, line, column;
};

/* A row, and where in .debug_line the program goes on behind it. */
struct dwarf_line_chunk {
	struct dwarf_line_row row;
	uint64_t next_off;
};

/* Build @out (untouched on failure) of the table at @off. 0, -EBADMSG, -E2BIG or -ENOMEM; of a
 * malformed program, what comes before the fault. */
int dwarf_lines_build(struct dwarf_image *image, uint64_t off, struct dwarf_sizes sizes,
		      struct dwarf_lines *out);
void dwarf_lines_deinit(struct dwarf_lines *lines);

/* Memory that it holds. */
size_t dwarf_lines_bytes(const struct dwarf_lines *lines);

/* Where a search has ended, so that one for a higher address goes on from there. All zero: nowhere.
 */
struct dwarf_line_cursor {
	const struct dwarf_line_run *run;
	struct reader rd; /* behind next */
	struct dwarf_line_row row; /* the row that was found */
	struct dwarf_line_row next; /* and the one behind it; vaddr UINT64_MAX: none */
};

/*
 * The last row at or before @vaddr, and in *@end (set in either case) up to where that, or that
 * there is none, holds. 0 or -ENOENT. The row is borrowed from @cursor, which is of these @lines.
 */
int dwarf_lines_find(const struct dwarf_lines *lines, uint64_t vaddr,
		     struct dwarf_line_cursor *cursor, const struct dwarf_line_row **row,
		     uint64_t *end);

/* Append the path of file @file, as rows and call sites number them, to @out; relative ones are
 * made absolute by @unit's compilation directory. 0 or -ENOENT. */
int dwarf_lines_path(const struct dwarf_lines *lines, const struct dwarf_unit *unit, uint32_t file,
		     struct buf *out);

#endif
