/* SPDX-License-Identifier: Apache-2.0 */
/* Reading abbreviation tables, and skipping by them. */
#include "elf/dwarf_abbrev.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "elf/dwarf_const.h"

enum {
	/* Of one table; compilers write a few hundred, whole-program builds a few thousand. */
	ABBREVS_MAX = 1 << 17,
	SPECS_MAX = 1 << 20,
};

static int form_variable_extent(uint16_t form)
{
	switch (form) {
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return DWARF_EXTENT_ULEB;
	case DW_FORM_sdata:
		return DWARF_EXTENT_SLEB;
	case DW_FORM_string:
		return DWARF_EXTENT_STRING;
	case DW_FORM_block1:
		return DWARF_EXTENT_BLOCK1;
	case DW_FORM_block2:
		return DWARF_EXTENT_BLOCK2;
	case DW_FORM_block4:
		return DWARF_EXTENT_BLOCK4;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		return DWARF_EXTENT_BLOCK_ULEB;
	case DW_FORM_indirect:
		return DWARF_EXTENT_INDIRECT;
	default:
		return DWARF_EXTENT_UNKNOWN;
	}
}

static int form_fixed_extent(uint16_t form)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sup8:
	case DW_FORM_ref_sig8:
		return 8;
	case DW_FORM_data16:
		return 16;
	default:
		return form_variable_extent(form);
	}
}

int dwarf_form_extent(uint16_t form, struct dwarf_sizes sizes)
{
	switch (form) {
	case DW_FORM_addr:
		return sizes.addr_bytes;
	case DW_FORM_ref_addr:
		return sizes.version < 3 ? sizes.addr_bytes : sizes.off_bytes;
	case DW_FORM_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return sizes.off_bytes;
	default:
		return form_fixed_extent(form);
	}
}

/* DW_FORM_indirect, which no compiler writes, may not nest. */
static void skip_indirect(struct dwarf_sizes sizes, struct reader *rd)
{
	uint64_t form = reader_uleb128(rd);
	int extent = DWARF_EXTENT_UNKNOWN;

	if (form <= UINT16_MAX && form != DW_FORM_indirect)
		extent = dwarf_form_extent((uint16_t)form, sizes);
	dwarf_extent_skip(extent, sizes, rd);
}

void dwarf_extent_skip(int extent, struct dwarf_sizes sizes, struct reader *rd)
{
	switch (extent) {
	case DWARF_EXTENT_ULEB:
		reader_uleb128(rd);
		break;
	case DWARF_EXTENT_SLEB:
		reader_sleb128(rd);
		break;
	case DWARF_EXTENT_STRING:
		reader_cstr(rd, NULL);
		break;
	case DWARF_EXTENT_BLOCK1:
		reader_skip(rd, reader_u8(rd));
		break;
	case DWARF_EXTENT_BLOCK2:
		reader_skip(rd, reader_u16(rd));
		break;
	case DWARF_EXTENT_BLOCK4:
		reader_skip(rd, reader_u32(rd));
		break;
	case DWARF_EXTENT_BLOCK_ULEB:
		reader_skip(rd, reader_uleb128(rd));
		break;
	case DWARF_EXTENT_INDIRECT:
		skip_indirect(sizes, rd);
		break;
	default:
		reader_skip(rd, extent >= 0 ? (size_t)extent : SIZE_MAX);
		break;
	}
}

static int add_skip(struct dwarf_abbrevs *abbrevs, uint64_t bytes, int extent)
{
	int err = array_reserve(&abbrevs->skips, &abbrevs->skips_cap, abbrevs->skips_cnt + 1,
				sizeof(*abbrevs->skips));

	if (!err)
		abbrevs->skips[abbrevs->skips_cnt++] =
			(struct dwarf_skip){.bytes = (uint32_t)bytes, .extent = (int8_t)extent};
	return err;
}

/* The way to skip @abbrev, whose attributes are known by now. */
static int compile_skips(struct dwarf_abbrevs *abbrevs, struct dwarf_abbrev *abbrev,
			 struct dwarf_sizes sizes)
{
	uint64_t run_bytes = 0;

	abbrev->skips_at = (uint32_t)abbrevs->skips_cnt;
	for (uint32_t i = 0; i < abbrev->specs_cnt; i++) {
		struct dwarf_spec *spec = &abbrevs->specs[abbrev->specs_at + i];
		int extent = dwarf_form_extent(spec->form, sizes);
		int err;

		spec->extent = (int8_t)extent;
		if (extent == DWARF_EXTENT_UNKNOWN)
			return -EBADMSG;
		if (extent >= 0) {
			run_bytes += (uint64_t)extent; /* SPECS_MAX keeps it below 2^32 */
			continue;
		}
		err = add_skip(abbrevs, run_bytes, extent);
		if (err)
			return err;
		run_bytes = 0;
	}
	return add_skip(abbrevs, run_bytes, 0);
}

static int read_spec(struct dwarf_abbrevs *abbrevs, struct dwarf_abbrev *abbrev, struct reader *rd,
		     bool *is_end)
{
	uint64_t name = reader_uleb128(rd);
	uint64_t form = reader_uleb128(rd);
	struct dwarf_spec spec = {.name = (uint16_t)name, .form = (uint16_t)form};
	int err;

	*is_end = !name && !form;
	if (*is_end || rd->err)
		return rd->err;
	if (name > UINT16_MAX || form > UINT16_MAX || abbrevs->specs_cnt >= SPECS_MAX)
		return -EBADMSG;
	if (form == DW_FORM_implicit_const)
		spec.implicit = reader_sleb128(rd);
	if (name == DW_AT_low_pc || name == DW_AT_ranges)
		abbrev->has_code = true;
	err = array_reserve(&abbrevs->specs, &abbrevs->specs_cap, abbrevs->specs_cnt + 1,
			    sizeof(*abbrevs->specs));
	if (err)
		return err;
	abbrevs->specs[abbrevs->specs_cnt++] = spec;
	abbrev->specs_cnt++;
	return rd->err;
}

static int read_abbrev(struct dwarf_abbrevs *abbrevs, uint64_t code, struct dwarf_sizes sizes,
		       struct reader *rd)
{
	struct dwarf_abbrev abbrev = {.code = code, .specs_at = (uint32_t)abbrevs->specs_cnt};
	uint64_t tag = reader_uleb128(rd);
	bool is_end = false;
	int err = 0;

	abbrev.tag = tag <= UINT16_MAX ? (uint16_t)tag : 0;
	abbrev.has_children = reader_u8(rd) != 0;
	while (!err && !is_end)
		err = read_spec(abbrevs, &abbrev, rd, &is_end);
	if (!err)
		err = compile_skips(abbrevs, &abbrev, sizes);
	if (!err)
		err = array_reserve(&abbrevs->items, &abbrevs->items_cap, abbrevs->items_cnt + 1,
				    sizeof(*abbrevs->items));
	if (!err)
		abbrevs->items[abbrevs->items_cnt++] = abbrev;
	return err;
}

static int compare_codes(const void *left, const void *right)
{
	const struct dwarf_abbrev *a = left, *b = right;

	return (a->code > b->code) - (a->code < b->code);
}

static int read_table(struct dwarf_abbrevs *abbrevs, struct reader *rd, struct dwarf_sizes sizes,
		      uint64_t last_code)
{
	bool is_sorted = true;
	uint64_t before = 0;

	while (abbrevs->items_cnt < ABBREVS_MAX && rd->pos < rd->end) {
		uint64_t code = reader_uleb128(rd);
		int err = code ? read_abbrev(abbrevs, code, sizes, rd) : rd->err;

		if (err)
			return err;
		if (!code)
			break;
		is_sorted = is_sorted && code > before;
		before = code;
		if (code == last_code)
			break;
	}
	if (!is_sorted)
		qsort(abbrevs->items, abbrevs->items_cnt, sizeof(*abbrevs->items), compare_codes);
	return 0;
}

int dwarf_abbrevs_read(const struct dwarf_image *image, uint64_t off, struct dwarf_sizes sizes,
		       uint64_t last_code, struct dwarf_abbrevs *out)
{
	struct reader rd = dwarf_reader(image, DWARF_ABBREV, off);
	struct dwarf_abbrevs abbrevs = {0};
	int err = rd.err;

	if (!err)
		err = read_table(&abbrevs, &rd, sizes, last_code);
	if (dwarf_spend(image, rd.err ? 1 : reader_offset(&rd) - off))
		err = -E2BIG;
	if (err) {
		dwarf_abbrevs_deinit(&abbrevs);
		return err;
	}
	*out = abbrevs;
	return 0;
}

void dwarf_abbrevs_deinit(struct dwarf_abbrevs *abbrevs)
{
	free(abbrevs->items);
	free(abbrevs->specs);
	free(abbrevs->skips);
	*abbrevs = (struct dwarf_abbrevs){0};
}

size_t dwarf_abbrevs_bytes(const struct dwarf_abbrevs *abbrevs)
{
	return abbrevs->items_cap * sizeof(*abbrevs->items) +
	       abbrevs->specs_cap * sizeof(*abbrevs->specs) +
	       abbrevs->skips_cap * sizeof(*abbrevs->skips);
}

const struct dwarf_abbrev *dwarf_abbrevs_find(const struct dwarf_abbrevs *abbrevs, uint64_t code)
{
	const struct dwarf_abbrev key = {.code = code};

	/* Compilers number them from 1 on without gaps. */
	if (code - 1 < abbrevs->items_cnt && abbrevs->items[code - 1].code == code)
		return &abbrevs->items[code - 1];
	if (!abbrevs->items_cnt)
		return NULL;
	return bsearch(&key, abbrevs->items, abbrevs->items_cnt, sizeof(key), compare_codes);
}

void dwarf_abbrev_skip(const struct dwarf_abbrevs *abbrevs, const struct dwarf_abbrev *abbrev,
		       struct dwarf_sizes sizes, struct reader *rd)
{
	const struct dwarf_skip *skip = &abbrevs->skips[abbrev->skips_at];

	for (;; skip++) {
		reader_skip(rd, skip->bytes);
		if (!skip->extent)
			return;
		dwarf_extent_skip(skip->extent, sizes, rd);
	}
}
