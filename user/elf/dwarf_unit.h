/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units of .debug_info (DWARF 5, section 7.5.1): finding the one that an offset is in, what its
 * first entry says, and the values of attributes.
 *
 * With split DWARF the executable holds a skeleton, with ranges, addresses and the line table, and
 * the .dwo file or a package (.dwp) of them holds the entries. The skeleton then owns the unit in
 * the other file, and that one points back for what it has not itself.
 */
#ifndef BPFPROF_ELF_DWARF_UNIT_H
#define BPFPROF_ELF_DWARF_UNIT_H

#include "elf/dwarf_abbrev.h"
#include "elf/dwarf_image.h"

/* A unit's place in .debug_info. */
struct dwarf_unit_slot {
	uint64_t off, end;
	struct dwarf_cu *cu; /* owned; NULL until it is needed, and after it was forgotten */
};

/* The value of an attribute, as its form gives it. */
struct dwarf_value {
	uint16_t form; /* 0: the attribute is absent */
	uint64_t number; /* constant, offset, index or address */
	const char *string; /* DW_FORM_string */
};

/* The attributes that say where the code of an entry is; absent ones have form 0. */
struct dwarf_where {
	struct dwarf_value low_pc, high_pc, ranges;
};

struct dwarf_unit {
	struct dwarf_image *image; /* borrowed */
	uint64_t off, end; /* in .debug_info */
	uint64_t root_off; /* its first entry */
	uint64_t abbrev_off;
	struct dwarf_sizes sizes;
	uint8_t type; /* enum dwarf_ut; DW_UT_compile before version 5 */
	bool has_dwo_id;
	bool has_lines; /* lines_off is set */
	uint64_t dwo_id;

	/* Of the first entry. Strings are borrowed from the image. */
	const char *comp_dir;
	const char *dwo_name; /* not NULL: a skeleton */
	struct dwarf_where where;
	uint64_t low_pc; /* 0 without: the base of its range lists */
	uint64_t lines_off; /* in .debug_line */
	uint64_t str_offsets_base, addr_base, rnglists_base, ranges_base;

	struct dwarf_abbrevs abbrevs;
	struct dwarf_unit *skeleton; /* borrowed: whose split unit this is */
};

/* A reference to an entry. */
struct dwarf_ref {
	struct dwarf_image *image;
	uint64_t off; /* in its .debug_info */
};

/* Read the places of all units into image->slots, once. 0, -E2BIG or -ENOMEM; a malformed unit ends
 * the list. */
int dwarf_units_read(struct dwarf_image *image);

/* The slot whose unit covers @off; NULL when none does. Borrowed. */
struct dwarf_unit_slot *dwarf_units_find(struct dwarf_image *image, uint64_t off);

/* Read the header at @off; the rest of *@out is zero. 0 or -EBADMSG. */
int dwarf_unit_init(struct dwarf_image *image, uint64_t off, struct dwarf_unit *out);

/* Read the table of abbreviations, if it has none yet, and by it the first entry. 0 or negative
 * errno. */
int dwarf_unit_read_root(struct dwarf_unit *unit);
void dwarf_unit_deinit(struct dwarf_unit *unit);

/* A cursor over @unit alone, but counting from the start of .debug_info, at @off. */
struct reader dwarf_unit_reader(const struct dwarf_unit *unit, uint64_t off);

/* If @name is one of those attributes, take the value. */
void dwarf_where_take(struct dwarf_where *where, uint16_t name, const struct dwarf_value *value);

/* Read or, for blocks, skip one value. */
void dwarf_value_read(const struct dwarf_unit *unit, const struct dwarf_spec *spec,
		      struct reader *rd, struct dwarf_value *out);

/* What a value means. The string is borrowed from the image, NULL when there is none. */
const char *dwarf_value_string(const struct dwarf_unit *unit, const struct dwarf_value *value);
bool dwarf_value_address(const struct dwarf_unit *unit, const struct dwarf_value *value,
			 uint64_t *out);
bool dwarf_value_ref(const struct dwarf_unit *unit, const struct dwarf_value *value,
		     struct dwarf_ref *out);
bool dwarf_value_is_address(const struct dwarf_value *value); /* and no constant or offset */

/* Entry @index of the unit's part of .debug_addr. */
bool dwarf_unit_address(const struct dwarf_unit *unit, uint64_t index, uint64_t *out);

#endif
