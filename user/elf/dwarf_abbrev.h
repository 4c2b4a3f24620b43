/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Abbreviation tables (DWARF 5, section 7.5.3): the shapes that the entries (DIEs) of a unit have.
 * Nine entries of ten are of no interest to us, so each shape is also compiled into a way to skip
 * it: runs of bytes whose number is known, and between them the few forms that must be read to be
 * skipped.
 *
 *	DW_TAG_variable: name strp, decl_file data1, decl_line data2, type ref4, location exprloc
 *	-> 4 + 1 + 2 + 4 bytes, exprloc, end
 */
#ifndef BPFPROF_ELF_DWARF_ABBREV_H
#define BPFPROF_ELF_DWARF_ABBREV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/dwarf_image.h"

/* What the sizes of forms depend on. */
struct dwarf_sizes {
	uint8_t version;
	uint8_t addr_bytes; /* 4 or 8 */
	uint8_t off_bytes; /* 4 or 8 */
};

/* How long a value is: that many bytes or, below zero, what must be read to know. */
enum dwarf_extent {
	DWARF_EXTENT_UNKNOWN = -1, /* no form that we know */
	DWARF_EXTENT_ULEB = -2,
	DWARF_EXTENT_SLEB = -3,
	DWARF_EXTENT_STRING = -4,
	/* So many bytes as the number before them says, which has so many bytes itself. */
	DWARF_EXTENT_BLOCK1 = -5,
	DWARF_EXTENT_BLOCK2 = -6,
	DWARF_EXTENT_BLOCK4 = -7,
	DWARF_EXTENT_BLOCK_ULEB = -8,
	DWARF_EXTENT_INDIRECT = -9, /* the form comes first */
};

/* An attribute as its abbreviation declares it. */
struct dwarf_spec {
	uint16_t name, form;
	int8_t extent; /* as dwarf_form_extent() */
	int64_t implicit; /* the value, of DW_FORM_implicit_const */
};

struct dwarf_skip {
	uint32_t bytes; /* pass these, then */
	int8_t extent; /* something of this extent; 0: the entry ends */
};

struct dwarf_abbrev {
	uint64_t code;
	uint32_t specs_at, specs_cnt;
	uint32_t skips_at;
	uint16_t tag;
	bool has_children;
	bool has_code; /* an entry of this shape says where its code is */
};

struct dwarf_abbrevs {
	struct dwarf_abbrev *items; /* owned; ascending by code */
	size_t items_cnt, items_cap;
	struct dwarf_spec *specs; /* owned */
	size_t specs_cnt, specs_cap;
	struct dwarf_skip *skips; /* owned */
	size_t skips_cnt, skips_cap;
};

/*
 * Read the table at @off of .debug_abbrev, up to its end or, unless @last_code is 0, up to the
 * abbreviation of that code. 0; -EBADMSG (forms that we do not know included); -E2BIG; -ENOMEM.
 */
int dwarf_abbrevs_read(const struct dwarf_image *image, uint64_t off, struct dwarf_sizes sizes,
		       uint64_t last_code, struct dwarf_abbrevs *out);
void dwarf_abbrevs_deinit(struct dwarf_abbrevs *abbrevs);

/* Memory that it holds. */
size_t dwarf_abbrevs_bytes(const struct dwarf_abbrevs *abbrevs);

/* NULL when there is none of this code. Borrowed. */
const struct dwarf_abbrev *dwarf_abbrevs_find(const struct dwarf_abbrevs *abbrevs, uint64_t code);

/* Pass the attributes of an entry of this shape; failures are @rd's. */
void dwarf_abbrev_skip(const struct dwarf_abbrevs *abbrevs, const struct dwarf_abbrev *abbrev,
		       struct dwarf_sizes sizes, struct reader *rd);

/* Of a value of @form: its bytes or, below zero, enum dwarf_extent. The only list of all forms. */
int dwarf_form_extent(uint16_t form, struct dwarf_sizes sizes);

/* Pass one value. An extent that is not known fails @rd: nothing behind it can be found. */
void dwarf_extent_skip(int extent, struct dwarf_sizes sizes, struct reader *rd);

#endif
