/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DWARF sections of one ELF file, decompressed, and the cursor over them. Sections that are not
 * compressed are the file's own pages and cost no memory.
 */
#ifndef BPFPROF_ELF_DWARF_IMAGE_H
#define BPFPROF_ELF_DWARF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"
#include "elf/elf_file.h"

enum dwarf_section {
	DWARF_INFO,
	DWARF_ABBREV,
	DWARF_STR,
	DWARF_LINE,
	DWARF_LINE_STR,
	DWARF_STR_OFFSETS,
	DWARF_ADDR,
	DWARF_RANGES,
	DWARF_RNGLISTS,
	DWARF_CU_INDEX,
	DWARF_SECTION_CNT,
};

enum {
	DWARF_EXEC_MAX = 16,
	/* What the sections of one file may take that are not the file's own pages. */
	DWARF_MEMORY_MAX_BYTES = 512 << 20,
};

struct dwarf_bytes {
	const uint8_t *data; /* NULL when absent */
	size_t len;
	bool is_owned; /* decompressed: a mapping of ours */
};

/*
 * What an index has to account for. Fuel is work that may still be done, in bytes read. Everything
 * that walks a part of a file pays for it first, so that sections that refer to one another in
 * circles, or a thousand units that share one huge table, end in -E2BIG and not in hours. The clock
 * is looked at on the way, so that a deadline holds within one large unit as well.
 */
struct dwarf_account {
	uint64_t fuel_bytes;
	size_t held_bytes; /* memory that units have taken */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none */
	uint32_t payments_cnt; /* since the clock was looked at */
	bool is_late; /* the deadline has passed: nothing is read any more */
};

/* A lookup may read everything there is so many times: no sound file needs two. */
enum { DWARF_FUEL_PASSES = 4 };

struct dwarf_image {
	struct elf_file *elf;
	bool is_elf_owned;
	bool is_split; /* the sections are those named *.dwo */
	bool is_big_endian;
	struct dwarf_bytes sections[DWARF_SECTION_CNT];
	/* Where code is loaded. Functions that the linker has dropped keep their debugging
	 * information, at address 0, 1 or -1: outside. */
	struct dwarf_exec {
		uint64_t lo, hi;
	} exec[DWARF_EXEC_MAX];
	size_t exec_cnt;
	struct dwarf_image *alt; /* borrowed: the file that dwz moved common parts to */
	struct dwarf_unit_slot *slots; /* owned: the units of .debug_info, see dwarf_unit.h */
	size_t slots_cnt, slots_cap;
	bool is_slots_read;
	struct dwarf_account *account; /* borrowed: the index's */
};

/*
 * The sections of @elf; it and @account are borrowed for the life of @out. 0; -ENODATA: no
 * debugging information; -EFBIG: more than DWARF_MEMORY_MAX_BYTES of memory for sections that are
 * compressed or may not be mapped; -ETIME; -EBADMSG; -ENOMEM.
 */
int dwarf_image_init(struct dwarf_image *out, struct elf_file *elf, bool is_split,
		     struct dwarf_account *account);

/* The same from a descriptor, borrowed until this returns; @is_foreign as for elf_file_open_wary().
 */
int dwarf_image_open(struct dwarf_image *out, int fd, bool is_split, bool is_foreign,
		     struct dwarf_account *account);
void dwarf_image_deinit(struct dwarf_image *image);

/* Has @elf a section with debugging information? Nothing is read but headers. */
bool dwarf_is_there(const struct elf_file *elf);

/* The sum of what a whole pass over the file would read. */
uint64_t dwarf_image_bytes(const struct dwarf_image *image);

/* Is [@lo, @hi) code that is loaded? */
bool dwarf_image_is_code(const struct dwarf_image *image, uint64_t lo, uint64_t hi);

/* A cursor over the whole of a section, at @off; its error is set when that is outside. */
struct reader dwarf_reader(const struct dwarf_image *image, enum dwarf_section section,
			   uint64_t off);

/* The string at @off of a section, borrowed from the image; NULL when there is none. */
const char *dwarf_image_string(const struct dwarf_image *image, enum dwarf_section section,
			       uint64_t off);

/* Pay for @bytes of work: 0; -E2BIG also when the deadline has passed: what was found is good. */
int dwarf_spend(const struct dwarf_image *image, uint64_t bytes);

/* Look at the clock: is @account's deadline over, now or before? */
bool dwarf_is_late(struct dwarf_account *account);

/* An unsigned number of 1 to 8 bytes in the file's byte order. */
uint64_t dwarf_read_uint(struct reader *rd, unsigned int bytes);

#endif
