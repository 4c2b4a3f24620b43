/* SPDX-License-Identifier: Apache-2.0 */
/* Loading units, and following an entry to its name. */
#include "elf/dwarf_cu.h"

#include <stdlib.h>

#include "base/array.h"
#include "elf/dwarf_const.h"

/* Inlined instance -> abstract instance -> declaration in a class: two steps. Circles end here. */
enum { REFERENCES_MAX = 16 };

/* --- Memory --- */

static size_t cu_bytes(const struct dwarf_cu *cu)
{
	size_t bytes = sizeof(*cu) + dwarf_abbrevs_bytes(&cu->unit.abbrevs) +
		       dwarf_code_bytes(&cu->code) + dwarf_lines_bytes(&cu->lines);

	bytes += cu->inners_cap * sizeof(*cu->inners) + cu->inners_bytes;
	if (!cu->split)
		return bytes;
	bytes += sizeof(*cu->split) + dwarf_abbrevs_bytes(&cu->split->unit.abbrevs);
	for (int i = 0; i < DWARF_SECTION_CNT; i++)
		if (cu->split->image.sections[i].is_owned)
			bytes += cu->split->image.sections[i].len;
	return bytes;
}

static void account(struct dwarf_account *account, struct dwarf_cu *cu)
{
	size_t bytes = cu_bytes(cu);

	account->held_bytes += bytes - cu->held_bytes;
	cu->held_bytes = bytes;
}

static void inners_free(struct dwarf_cu *cu)
{
	for (size_t i = 0; i < cu->inners_cnt; i++)
		dwarf_code_deinit(&cu->inners[i]);
	free(cu->inners);
	cu->inners = NULL;
	cu->inners_cnt = cu->inners_cap = cu->inners_bytes = 0;
}

static void cu_free(struct dwarf_cu *cu)
{
	inners_free(cu);
	dwarf_lines_deinit(&cu->lines);
	dwarf_code_deinit(&cu->code);
	dwarf_split_free(cu->split);
	dwarf_unit_deinit(&cu->unit);
	free(cu);
}

void dwarf_cu_drop(struct dwarf_image *image, struct dwarf_unit_slot *slot)
{
	if (!slot->cu)
		return;
	image->account->held_bytes -= slot->cu->held_bytes;
	cu_free(slot->cu);
	slot->cu = NULL;
}

void dwarf_cus_free(struct dwarf_image *image)
{
	for (size_t i = 0; i < image->slots_cnt; i++)
		dwarf_cu_drop(image, &image->slots[i]);
	free(image->slots);
	image->slots = NULL;
	image->slots_cnt = image->slots_cap = 0;
}

/* --- Loading --- */

struct dwarf_cu *dwarf_cu_get(struct dwarf_image *image, struct dwarf_unit_slot *slot)
{
	if (!slot->cu) {
		struct dwarf_cu *cu = calloc(1, sizeof(*cu));

		if (!cu)
			return NULL;
		/* A broken one is kept as well, so that it is read only once. */
		cu->is_broken = dwarf_unit_init(image, slot->off, &cu->unit) ||
				dwarf_unit_read_root(&cu->unit);
		slot->cu = cu;
		account(image->account, cu);
	}
	return slot->cu->is_broken ? NULL : slot->cu;
}

void dwarf_cu_need_code(struct dwarf_cu *cu, struct dwarf_split_files *files)
{
	if (cu->is_code_tried)
		return;
	cu->is_code_tried = true;
	cu->split = dwarf_split_find(files, &cu->unit);
	dwarf_code_build(dwarf_cu_code_unit(cu), DWARF_CODE_OUTER, &cu->code);
	account(cu->unit.image->account, cu);
}

void dwarf_cu_need_lines(struct dwarf_cu *cu)
{
	if (cu->is_lines_tried)
		return;
	cu->is_lines_tried = true;
	if (!cu->unit.has_lines)
		return;
	dwarf_lines_build(cu->unit.image, cu->unit.lines_off, cu->unit.sizes, &cu->lines);
	account(cu->unit.image->account, cu);
}

/* --- Functions --- */

/* After all, read all that was passed. */
static void read_whole(struct dwarf_cu *cu)
{
	struct dwarf_code whole = {0};

	/* Once, whether it can be done or not. */
	cu->code.is_partial = false;
	if (dwarf_code_build(dwarf_cu_code_unit(cu), DWARF_CODE_ALL, &whole))
		return;
	inners_free(cu);
	dwarf_code_deinit(&cu->code);
	cu->code = whole;
	account(cu->unit.image->account, cu);
}

/* Read what is in @func, if it has not been read. What cannot be stays empty. */
static void need_inner(struct dwarf_cu *cu, struct dwarf_func *func)
{
	if (func->inner ||
	    array_reserve(&cu->inners, &cu->inners_cap, cu->inners_cnt + 1, sizeof(*cu->inners)))
		return;
	dwarf_code_open(dwarf_cu_code_unit(cu), func, &cu->inners[cu->inners_cnt]);
	cu->inners_bytes += dwarf_code_bytes(&cu->inners[cu->inners_cnt]);
	func->inner = (uint32_t)++cu->inners_cnt;
	account(cu->unit.image->account, cu);
}

/* If what is in @func was read, and knows @vaddr better, so shall @place. */
static void find_inner(const struct dwarf_cu *cu, const struct dwarf_func *func, uint64_t vaddr,
		       struct dwarf_place *place)
{
	const struct dwarf_code *inner;
	uint64_t lo, hi;
	uint32_t id;

	if (!func->inner)
		return;
	inner = &cu->inners[func->inner - 1];
	id = addr_map_piece(&inner->map, vaddr, &lo, &hi);
	place->lo = lo > place->lo ? lo : place->lo;
	place->hi = hi < place->hi ? hi : place->hi;
	if (id == (uint32_t)ADDR_MAP_NONE)
		return;
	place->code = inner;
	place->func = id;
}

void dwarf_cu_find_place(struct dwarf_cu *cu, uint64_t vaddr, struct dwarf_place *out)
{
	struct dwarf_place place;
	struct dwarf_func *func;

	if (cu->code.is_partial && addr_map_find(&cu->code.map, vaddr) == (uint32_t)ADDR_MAP_NONE)
		read_whole(cu);
	place = (struct dwarf_place){.code = &cu->code};
	place.func = addr_map_piece(&cu->code.map, vaddr, &place.outer_lo, &place.outer_hi);
	place.lo = place.outer_lo;
	place.hi = place.outer_hi;
	if (place.func != (uint32_t)DWARF_FUNC_NONE) {
		func = &cu->code.funcs[place.func];
		if (func->end) {
			need_inner(cu, func);
			find_inner(cu, func, vaddr, &place);
		}
	}
	*out = place;
}

_Static_assert((uint32_t)ADDR_MAP_NONE == (uint32_t)DWARF_FUNC_NONE, "no piece is no function");

/* --- Names --- */

/* What one entry says. */
struct said {
	const char *name, *linkage_name;
	uint32_t decl_line;
	struct dwarf_value origin; /* form 0: it refers to no other */
};

static bool read_entry(const struct dwarf_unit *unit, uint64_t off, struct said *said)
{
	struct reader rd = dwarf_unit_reader(unit, off);
	const struct dwarf_abbrev *abbrev = dwarf_abbrevs_find(&unit->abbrevs, reader_uleb128(&rd));

	for (uint32_t i = 0; abbrev && i < abbrev->specs_cnt; i++) {
		const struct dwarf_spec *spec = &unit->abbrevs.specs[abbrev->specs_at + i];
		struct dwarf_value value;

		dwarf_value_read(unit, spec, &rd, &value);
		if (rd.err)
			return false;
		switch (spec->name) {
		case DW_AT_name:
			said->name = dwarf_value_string(unit, &value);
			break;
		case DW_AT_linkage_name:
		case DW_AT_MIPS_linkage_name:
			said->linkage_name = dwarf_value_string(unit, &value);
			break;
		case DW_AT_decl_line:
			said->decl_line = value.number <= UINT32_MAX ? (uint32_t)value.number : 0;
			break;
		case DW_AT_abstract_origin:
		case DW_AT_specification:
			said->origin = value;
			break;
		default:
			break;
		}
	}
	return abbrev && !rd.err;
}

/* The unit that @ref points into, coming from @unit. */
static struct dwarf_unit *unit_of(struct dwarf_unit *unit, const struct dwarf_ref *ref,
				  uint64_t lookup)
{
	struct dwarf_unit_slot *slot;
	struct dwarf_cu *cu;

	if (ref->image == unit->image && ref->off >= unit->off && ref->off < unit->end)
		return unit;
	slot = ref->image->is_split ? NULL : dwarf_units_find(ref->image, ref->off);
	cu = slot ? dwarf_cu_get(ref->image, slot) : NULL;
	if (!cu)
		return NULL;
	cu->used_at = lookup;
	return &cu->unit;
}

struct dwarf_entry dwarf_entry_describe(struct dwarf_unit *unit, uint64_t off, uint64_t lookup)
{
	const char *plain = NULL, *linkage = NULL;
	struct dwarf_entry entry = {0};

	for (int i = 0; i < REFERENCES_MAX && unit; i++) {
		struct said said = {0};
		struct dwarf_ref ref;

		if (!read_entry(unit, off, &said))
			break;
		plain = plain ? plain : said.name;
		linkage = linkage ? linkage : said.linkage_name;
		entry.decl_line = entry.decl_line ? entry.decl_line : said.decl_line;
		if ((linkage && entry.decl_line) || !dwarf_value_ref(unit, &said.origin, &ref))
			break;
		unit = unit_of(unit, &ref, lookup);
		off = ref.off;
	}
	entry.name = linkage ? linkage : plain;
	return entry;
}
