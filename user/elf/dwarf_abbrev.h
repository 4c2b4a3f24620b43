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

/* An attribute as its abbreviation declares it. */
struct dwarf_spec {
	uint16_t name, form;
	int8_t bytes; /* as dwarf_form_bytes() */
	int64_t implicit; /* the value, of DW_FORM_implicit_const */
};

struct dwarf_skip {
	uint32_t bytes; /* pass these, then */
	uint16_t form; /* something of this form; 0: the entry ends */
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

/* Bytes of a value of @form; -1: they must be read to be known; -2: no form that we know. */
int dwarf_form_bytes(uint16_t form, struct dwarf_sizes sizes);

/* Pass one value of @form. */
void dwarf_form_skip(uint16_t form, struct dwarf_sizes sizes, struct reader *rd);

#endif
