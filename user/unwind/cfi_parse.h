/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking .eh_frame (LSB 5.0, section 10.6) and .debug_frame (DWARF 5, section 6.4.1): a sequence
 * of records, each a CIE (what functions have in common) or an FDE (one function, refers to a CIE).
 * A CIE is parsed once, when the first FDE asks for it. Records that are malformed or not
 * understood are counted and skipped; the walk goes on behind them, because every record tells its
 * length.
 */
#ifndef BPFPROF_UNWIND_CFI_PARSE_H
#define BPFPROF_UNWIND_CFI_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hmap.h"
#include "base/reader.h"
#include "unwind/cfi_state.h"

enum {
	/* More than this many distinct CIEs are no compiler's; 6,000 is the most seen. */
	CFI_CIES_MAX = 1 << 16,
	/* Above the expression of any real row; longer ones are not looked at. */
	CFI_RECORD_MAX_BYTES = 1 << 24,
};

struct cfi_section {
	const uint8_t *data; /* borrowed while the walk and its FDEs are used */
	size_t len;
	uint64_t vaddr; /* of data[0]: the base of pcrel pointers */
	uint64_t text_vaddr, data_vaddr; /* the bases of textrel and datarel pointers */
	bool is_debug_frame;
	bool is_open; /* len is an upper bound, a zero word ends the section */
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_reg;
	uint32_t program_off, program_len; /* initial instructions, in the section */
	uint8_t pointer_enc; /* of the FDEs' addresses */
	bool has_augmentation; /* FDEs carry augmentation data, with its length */
	bool is_signal;
	bool is_bad; /* not understood, its FDEs are refused */
	struct cfi_state
		initial; /* after the initial instructions; the owner of the walk fills it */
};

struct cfi_fde {
	uint64_t start_vaddr, bytes;
	uint32_t program_off, program_len; /* in the section */
	uint32_t cie; /* index into cies */
};

struct cfi_walk {
	struct cfi_section section;
	struct reader rd; /* at the next record */
	struct cfi_cie *cies; /* owned */
	size_t cies_cnt, cies_cap;
	struct hmap cie_by_off;
	uint64_t last_cie_off; /* of cies[last_cie]: most FDEs share it with their neighbour */
	uint32_t last_cie;
	size_t refused_cnt; /* records skipped because they are malformed or not understood */
	int err; /* -ENOMEM ended the walk */
};

/* @section: data borrowed until cfi_walk_deinit(). Allocates nothing yet. */
void cfi_walk_init(struct cfi_walk *walk, const struct cfi_section *section);
void cfi_walk_deinit(struct cfi_walk *walk);

/* The next FDE into *@out. False at the end or on walk->err. O(1), a few dozen bytes read. */
bool cfi_walk_next(struct cfi_walk *walk, struct cfi_fde *out);

/* The bytes [@off, @off + @len) of the section: a CFI program that the walk gave out. */
struct reader cfi_walk_program(const struct cfi_walk *walk, uint32_t off, uint32_t len);

#endif
