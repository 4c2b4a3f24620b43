/* SPDX-License-Identifier: Apache-2.0 */
/* What the files behind dwarf_index.h share. */
#ifndef BPFPROF_ELF_DWARF_INDEX_PRIV_H
#define BPFPROF_ELF_DWARF_INDEX_PRIV_H

#include "base/buf.h"
#include "base/strtab.h"
#include "elf/addr_map.h"
#include "elf/dwarf_cu.h"
#include "elf/dwarf_index.h"

struct dwarf_index {
	struct dwarf_image image;
	struct dwarf_image alt;
	bool has_alt;
	struct dwarf_split_files split_files;
	struct dwarf_account account;
	struct addr_map units; /* to image.slots, counted from its end */
	bool is_mapped;
	struct strtab paths;
	struct buf path; /* one that is being put together */
	size_t budget_bytes;
	uint64_t lookup; /* counts them */
};

/* What the last lookup has lent is no longer needed; units are known by address. 0, -ETIME,
 * -ENOMEM. */
int dwarf_index_begin(struct dwarf_index *index);

/* The unit at @vaddr, with its code and lines; NULL when there is none. [*@lo, *@hi): around it,
 * where that is so. */
struct dwarf_cu *dwarf_index_cu(struct dwarf_index *index, uint64_t vaddr, uint64_t *lo,
				uint64_t *hi);

/* The path of file @file of @cu in index->paths; STRTAB_EMPTY when it has none. */
uint32_t dwarf_index_path(struct dwarf_index *index, const struct dwarf_cu *cu, uint32_t file);

#endif
