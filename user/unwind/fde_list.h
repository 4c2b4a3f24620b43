/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The FDEs of an executable in order of file offset. Linkers write them in the order of their
 * inputs, which is nearly that of the addresses; .eh_frame_hdr's sorted table would be the order
 * too, but it is one more thing to distrust, and sorting is 1 % of the work.
 */
#ifndef BPFPROF_UNWIND_FDE_LIST_H
#define BPFPROF_UNWIND_FDE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/segments.h"
#include "unwind/cfi_parse.h"

enum {
	/* 50 MiB of entries; LLVM 22 has 160,000 FDEs. */
	FDES_MAX = 1 << 21,
	/* Linkers write one or two, BOLT and the like a few. */
	EXEC_SEGMENTS_MAX = 64,
};

struct fde_entry {
	uint64_t file_off; /* where its rows begin: a byte early for signal trampolines */
	uint32_t bytes; /* from file_off, within the segment */
	uint32_t program_off, program_len;
	uint32_t cie : 31;
	uint32_t is_second : 1; /* of the second section that was added */
};

struct fde_list {
	struct fde_entry *items; /* owned */
	size_t cnt, cap;
	size_t outside_cnt; /* FDEs of code that is in no executable segment (discarded functions)
			     */
};

void fde_list_deinit(struct fde_list *list);

/* The executable ones of @segments that have bytes, *owned*. 0; -EFBIG: more than any linker
 * writes; -ENOMEM. */
int exec_segments_of(const struct elf_segments *segments, struct elf_segments *out);

/*
 * Append what @walk still gives and the executable segments @exec hold. 0; -EFBIG: more than
 * FDES_MAX; -ENOMEM. Sections added first win where two FDEs start at the same place.
 */
int fde_list_add(struct fde_list *list, struct cfi_walk *walk, const struct elf_segments *exec,
		 bool is_second);

/*
 * Sort, and leave of those that start at the same place the first. 0 or -ENOMEM. O(n); nothing is
 * moved when they are in order already.
 */
int fde_list_sort(struct fde_list *list);

/* The segment of @exec that holds @vaddr, respectively @file_off, or NULL. */
const struct elf_segment *exec_segment_at_vaddr(const struct elf_segments *exec, uint64_t vaddr);
const struct elf_segment *exec_segment_at_off(const struct elf_segments *exec, uint64_t file_off);

#endif
