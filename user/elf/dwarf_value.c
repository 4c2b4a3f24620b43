/* SPDX-License-Identifier: Apache-2.0 */
/* The values of attributes: DWARF 5, section 7.5.5 and 7.5.6. */
#include "elf/dwarf_unit.h"

#include "elf/dwarf_const.h"

/* Of a fixed-size form, what it encodes is a number, whatever that means. */
static void read_fixed(struct reader *rd, int bytes, struct dwarf_value *out)
{
	if (bytes == 16)
		reader_skip(rd, 16);
	else if (bytes)
		out->number = dwarf_read_uint(rd, (unsigned int)bytes);
}

static void read_variable(struct dwarf_sizes sizes, int extent, struct reader *rd,
			  struct dwarf_value *out)
{
	switch (extent) {
	case DWARF_EXTENT_STRING:
		out->string = reader_cstr(rd, NULL);
		break;
	case DWARF_EXTENT_SLEB:
		out->number = (uint64_t)reader_sleb128(rd);
		break;
	case DWARF_EXTENT_ULEB:
		out->number = reader_uleb128(rd);
		break;
	default:
		dwarf_extent_skip(extent, sizes, rd);
		out->form = 0;
		break;
	}
}

void dwarf_value_read(const struct dwarf_unit *unit, const struct dwarf_spec *spec,
		      struct reader *rd, struct dwarf_value *out)
{
	*out = (struct dwarf_value){.form = spec->form};
	if (spec->form == DW_FORM_implicit_const)
		out->number = (uint64_t)spec->implicit;
	else if (spec->extent >= 0)
		read_fixed(rd, spec->extent, out);
	else
		read_variable(unit->sizes, spec->extent, rd, out);
}

void dwarf_where_take(struct dwarf_where *where, uint16_t name, const struct dwarf_value *value)
{
	if (name == DW_AT_low_pc)
		where->low_pc = *value;
	else if (name == DW_AT_high_pc)
		where->high_pc = *value;
	else if (name == DW_AT_ranges)
		where->ranges = *value;
}

/* --- Strings --- */

static const char *indexed_string(const struct dwarf_unit *unit, uint64_t index)
{
	struct reader rd = dwarf_reader(unit->image, DWARF_STR_OFFSETS, unit->str_offsets_base);
	uint64_t off;

	if (rd.err || index > reader_left(&rd) / unit->sizes.off_bytes)
		return NULL;
	reader_skip(&rd, index * unit->sizes.off_bytes);
	off = dwarf_read_uint(&rd, unit->sizes.off_bytes);
	return rd.err ? NULL : dwarf_image_string(unit->image, DWARF_STR, off);
}

const char *dwarf_value_string(const struct dwarf_unit *unit, const struct dwarf_value *value)
{
	switch (value->form) {
	case DW_FORM_string:
		return value->string;
	case DW_FORM_strp:
		return dwarf_image_string(unit->image, DWARF_STR, value->number);
	case DW_FORM_line_strp:
		return dwarf_image_string(unit->image, DWARF_LINE_STR, value->number);
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_strp_sup:
		if (!unit->image->alt)
			return NULL;
		return dwarf_image_string(unit->image->alt, DWARF_STR, value->number);
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		return indexed_string(unit, value->number);
	default:
		return NULL;
	}
}

/* --- Addresses --- */

bool dwarf_unit_address(const struct dwarf_unit *unit, uint64_t index, uint64_t *out)
{
	/* A .dwo file has no addresses, so that it need not be linked. */
	const struct dwarf_unit *holder = unit->skeleton ? unit->skeleton : unit;
	struct reader rd = dwarf_reader(holder->image, DWARF_ADDR, holder->addr_base);
	uint64_t vaddr;

	if (rd.err || index > reader_left(&rd) / unit->sizes.addr_bytes)
		return false;
	reader_skip(&rd, index * unit->sizes.addr_bytes);
	vaddr = dwarf_read_uint(&rd, unit->sizes.addr_bytes);
	if (rd.err)
		return false;
	*out = vaddr;
	return true;
}

bool dwarf_value_is_address(const struct dwarf_value *value)
{
	switch (value->form) {
	case DW_FORM_addr:
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return true;
	default:
		return false;
	}
}

bool dwarf_value_address(const struct dwarf_unit *unit, const struct dwarf_value *value,
			 uint64_t *out)
{
	if (!dwarf_value_is_address(value))
		return false;
	if (value->form != DW_FORM_addr)
		return dwarf_unit_address(unit, value->number, out);
	*out = value->number;
	return true;
}

/* --- References --- */

bool dwarf_value_ref(const struct dwarf_unit *unit, const struct dwarf_value *value,
		     struct dwarf_ref *out)
{
	switch (value->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		if (value->number >= unit->end - unit->off)
			return false;
		*out = (struct dwarf_ref){unit->image, unit->off + value->number};
		return true;
	case DW_FORM_ref_addr:
		*out = (struct dwarf_ref){unit->image, value->number};
		return true;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		*out = (struct dwarf_ref){unit->image->alt, value->number};
		return unit->image->alt != NULL;
	default:
		return false;
	}
}
