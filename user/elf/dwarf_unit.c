/* SPDX-License-Identifier: Apache-2.0 */
/* Unit headers, the list of units, and what a unit's first entry says. */
#include "elf/dwarf_unit.h"

#include <errno.h>

#include "base/array.h"
#include "base/search.h"
#include "elf/dwarf_const.h"

enum {
	/* Thirty times the units of a browser. */
	UNITS_MAX = 1 << 20,
	LENGTH_IS_64 = 0xffffffff,
	LENGTH_RESERVED = 0xfffffff0,
};

/* --- Headers --- */

/* The initial length of a unit at the cursor; *@off_bytes becomes 4 or 8. */
static uint64_t read_length(struct reader *rd, uint8_t *off_bytes)
{
	uint64_t length = reader_u32(rd);

	*off_bytes = 4;
	if (length < LENGTH_RESERVED)
		return length;
	*off_bytes = 8;
	if (length != (uint32_t)LENGTH_IS_64)
		rd->err = rd->err ? rd->err : -EBADMSG;
	return reader_u64(rd);
}

static void read_type(struct dwarf_unit *unit, struct reader *rd)
{
	switch (unit->type) {
	case DW_UT_skeleton:
	case DW_UT_split_compile:
		unit->dwo_id = reader_u64(rd);
		unit->has_dwo_id = true;
		break;
	case DW_UT_type:
	case DW_UT_split_type:
		reader_skip(rd, 8);
		reader_skip(rd, unit->sizes.off_bytes);
		break;
	default:
		break;
	}
}

int dwarf_unit_init(struct dwarf_image *image, uint64_t off, struct dwarf_unit *out)
{
	struct reader rd = dwarf_reader(image, DWARF_INFO, off);
	struct dwarf_unit unit = {.image = image, .off = off, .type = DW_UT_compile};
	uint64_t length = read_length(&rd, &unit.sizes.off_bytes);

	if (rd.err || length > reader_left(&rd))
		return -EBADMSG;
	unit.end = reader_offset(&rd) + length;
	unit.sizes.version = (uint8_t)reader_u16(&rd);
	if (unit.sizes.version < 2 || unit.sizes.version > 5)
		return -EBADMSG;
	if (unit.sizes.version == 5) {
		unit.type = reader_u8(&rd);
		unit.sizes.addr_bytes = reader_u8(&rd);
		unit.abbrev_off = dwarf_read_uint(&rd, unit.sizes.off_bytes);
		read_type(&unit, &rd);
	} else {
		unit.abbrev_off = dwarf_read_uint(&rd, unit.sizes.off_bytes);
		unit.sizes.addr_bytes = reader_u8(&rd);
	}
	unit.root_off = reader_offset(&rd);
	if (rd.err || unit.root_off > unit.end ||
	    (unit.sizes.addr_bytes != 4 && unit.sizes.addr_bytes != 8))
		return -EBADMSG;
	*out = unit;
	return 0;
}

void dwarf_unit_deinit(struct dwarf_unit *unit)
{
	dwarf_abbrevs_deinit(&unit->abbrevs);
}

struct reader dwarf_unit_reader(const struct dwarf_unit *unit, uint64_t off)
{
	struct reader rd = dwarf_reader(unit->image, DWARF_INFO, off);

	if (off < unit->off || off >= unit->end)
		rd.err = rd.err ? rd.err : -EBADMSG;
	rd.end = rd.start + unit->end;
	return rd;
}

/* --- The list --- */

int dwarf_units_read(struct dwarf_image *image)
{
	struct reader rd = dwarf_reader(image, DWARF_INFO, 0);

	if (image->is_slots_read)
		return 0;
	image->is_slots_read = true;
	while (!reader_done(&rd) && image->slots_cnt < UNITS_MAX) {
		struct dwarf_unit_slot slot = {.off = reader_offset(&rd)};
		uint8_t off_bytes;
		uint64_t length = read_length(&rd, &off_bytes);
		int err;

		reader_skip(&rd, length);
		if (rd.err)
			break;
		slot.end = reader_offset(&rd);
		err = dwarf_spend(image, sizeof(slot));
		if (!err)
			err = array_reserve(&image->slots, &image->slots_cap, image->slots_cnt + 1,
					    sizeof(slot));
		if (err)
			return err;
		image->slots[image->slots_cnt++] = slot;
	}
	return 0;
}

struct dwarf_unit_slot *dwarf_units_find(struct dwarf_image *image, uint64_t off)
{
	size_t at;

	if (dwarf_units_read(image))
		return NULL;
	at = SEARCH_CNT(i, image->slots_cnt, image->slots[i].end <= off);
	if (at == image->slots_cnt || off < image->slots[at].off)
		return NULL;
	return &image->slots[at];
}

/* --- The first entry --- */

/* Attributes of the first entry that others' forms may need first. */
struct root {
	struct dwarf_value comp_dir, dwo_name;
};

/* Bases in a version 5 file that says none: behind the header of the section's only part. */
static void default_bases(struct dwarf_unit *unit)
{
	bool is_64 = unit->sizes.off_bytes == 8;

	if (unit->sizes.version < 5)
		return;
	unit->str_offsets_base = is_64 ? 16 : 8;
	unit->addr_base = is_64 ? 16 : 8;
	unit->rnglists_base = is_64 ? 20 : 12;
}

static void take_root_value(struct dwarf_unit *unit, uint16_t name, const struct dwarf_value *value,
			    struct root *root)
{
	switch (name) {
	case DW_AT_comp_dir:
		root->comp_dir = *value;
		break;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		root->dwo_name = *value;
		break;
	case DW_AT_stmt_list:
		unit->lines_off = value->number;
		unit->has_lines = true;
		break;
	case DW_AT_str_offsets_base:
		unit->str_offsets_base = value->number;
		break;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		unit->addr_base = value->number;
		break;
	case DW_AT_rnglists_base:
		unit->rnglists_base = value->number;
		break;
	case DW_AT_GNU_ranges_base:
		unit->ranges_base = value->number;
		break;
	case DW_AT_GNU_dwo_id:
		unit->dwo_id = value->number;
		unit->has_dwo_id = true;
		break;
	default:
		break;
	}
}

static int read_root_abbrevs(struct dwarf_unit *unit)
{
	if (unit->abbrevs.items_cnt)
		return 0;
	return dwarf_abbrevs_read(unit->image, unit->abbrev_off, unit->sizes, 0, &unit->abbrevs);
}

int dwarf_unit_read_root(struct dwarf_unit *unit)
{
	struct reader rd = dwarf_unit_reader(unit, unit->root_off);
	const struct dwarf_abbrev *abbrev;
	struct root root = {0};
	int err = read_root_abbrevs(unit);

	if (err)
		return err;
	abbrev = dwarf_abbrevs_find(&unit->abbrevs, reader_uleb128(&rd));
	if (rd.err || !abbrev)
		return -EBADMSG;
	default_bases(unit);
	for (uint32_t i = 0; i < abbrev->specs_cnt; i++) {
		const struct dwarf_spec *spec = &unit->abbrevs.specs[abbrev->specs_at + i];
		struct dwarf_value value;

		dwarf_value_read(unit, spec, &rd, &value);
		if (rd.err)
			return -EBADMSG;
		take_root_value(unit, spec->name, &value, &root);
		dwarf_where_take(&unit->where, spec->name, &value);
	}
	unit->comp_dir = dwarf_value_string(unit, &root.comp_dir);
	/* The unit in a .dwo file may say its own name. */
	if (!unit->image->is_split)
		unit->dwo_name = dwarf_value_string(unit, &root.dwo_name);
	dwarf_value_address(unit, &unit->where.low_pc, &unit->low_pc);
	return 0;
}
