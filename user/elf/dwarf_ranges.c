/* SPDX-License-Identifier: Apache-2.0 */
/* Reading range lists. */
#include "elf/dwarf_ranges.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "elf/dwarf_const.h"

/* Of one unit, or of all units' own: a hundred megabytes. */
enum { SPANS_MAX = 1 << 22 };

/* What a range list is read with. */
struct list {
	struct dwarf_spans *spans;
	const struct dwarf_unit *unit;
	const struct dwarf_image *code_image; /* whose program headers say where code is */
	struct reader rd;
	uint64_t base;
	uint32_t id;
};

static int list_add(struct list *list, uint64_t lo, uint64_t hi)
{
	struct dwarf_spans *spans = list->spans;
	int err;

	if (!dwarf_image_is_code(list->code_image, lo, hi))
		return 0;
	if (spans->cnt >= SPANS_MAX)
		return -E2BIG;
	err = array_reserve(&spans->items, &spans->cap, spans->cnt + 1, sizeof(*spans->items));
	if (!err)
		spans->items[spans->cnt++] = (struct addr_span){.lo = lo, .hi = hi, .id = list->id};
	return err;
}

/* Many entries may share one list, so each reading of it is paid for, by what it may make us keep.
 */
static int list_pay(const struct list *list)
{
	return dwarf_spend(list->unit->image, sizeof(struct addr_span));
}

/* --- .debug_ranges --- */

static int read_ranges(struct list *list)
{
	unsigned int bytes = list->unit->sizes.addr_bytes;
	uint64_t select = bytes == 8 ? UINT64_MAX : UINT32_MAX;
	int err = 0;

	while (!err) {
		uint64_t lo = dwarf_read_uint(&list->rd, bytes);
		uint64_t hi = dwarf_read_uint(&list->rd, bytes);

		if (list->rd.err || (!lo && !hi))
			return 0;
		err = list_pay(list);
		if (lo == select)
			list->base = hi;
		else if (!err)
			err = list_add(list, list->base + lo, list->base + hi);
	}
	return err;
}

/* --- .debug_rnglists --- */

/* An address of the address table; one that is not there makes the list end. */
static uint64_t read_indexed(struct list *list)
{
	uint64_t vaddr = 0;

	if (!dwarf_unit_address(list->unit, reader_uleb128(&list->rd), &vaddr) && !list->rd.err)
		list->rd.err = -EBADMSG;
	return vaddr;
}

/* One entry; *@lo and *@hi stay equal when it is no range. */
static void read_rnglist_entry(struct list *list, uint8_t kind, uint64_t *lo, uint64_t *hi)
{
	unsigned int bytes = list->unit->sizes.addr_bytes;
	struct reader *rd = &list->rd;

	switch (kind) {
	case DW_RLE_base_addressx:
		list->base = read_indexed(list);
		break;
	case DW_RLE_startx_endx:
		*lo = read_indexed(list);
		*hi = read_indexed(list);
		break;
	case DW_RLE_startx_length:
		*lo = read_indexed(list);
		*hi = *lo + reader_uleb128(rd);
		break;
	case DW_RLE_offset_pair:
		*lo = list->base + reader_uleb128(rd);
		*hi = list->base + reader_uleb128(rd);
		break;
	case DW_RLE_base_address:
		list->base = dwarf_read_uint(rd, bytes);
		break;
	case DW_RLE_start_end:
		*lo = dwarf_read_uint(rd, bytes);
		*hi = dwarf_read_uint(rd, bytes);
		break;
	case DW_RLE_start_length:
		*lo = dwarf_read_uint(rd, bytes);
		*hi = *lo + reader_uleb128(rd);
		break;
	default:
		rd->err = rd->err ? rd->err : -EBADMSG;
		break;
	}
}

static int read_rnglist(struct list *list)
{
	int err = 0;

	while (!err) {
		uint8_t kind = reader_u8(&list->rd);
		uint64_t lo = 0, hi = 0;

		if (list->rd.err || kind == DW_RLE_end_of_list)
			return 0;
		read_rnglist_entry(list, kind, &lo, &hi);
		if (list->rd.err)
			return 0;
		err = list_pay(list);
		if (!err && lo < hi)
			err = list_add(list, lo, hi);
	}
	return err;
}

/* --- Entries --- */

/* The offset in .debug_rnglists of list @index: from the offset table behind the part's header. */
static uint64_t rnglist_off(const struct dwarf_unit *unit, uint64_t index)
{
	struct reader rd = dwarf_reader(unit->image, DWARF_RNGLISTS, unit->rnglists_base);
	uint64_t off;

	if (rd.err || index > reader_left(&rd) / unit->sizes.off_bytes)
		return UINT64_MAX;
	reader_skip(&rd, index * unit->sizes.off_bytes);
	off = dwarf_read_uint(&rd, unit->sizes.off_bytes);
	return rd.err ? UINT64_MAX : unit->rnglists_base + off;
}

static int read_list(struct list *list, const struct dwarf_value *ranges)
{
	const struct dwarf_unit *unit = list->unit;
	uint64_t off = ranges->number;

	list->base = unit->skeleton ? unit->skeleton->low_pc : unit->low_pc;
	if (unit->sizes.version >= 5) {
		if (ranges->form == DW_FORM_rnglistx)
			off = rnglist_off(unit, off);
		list->rd = dwarf_reader(unit->image, DWARF_RNGLISTS, off);
		return read_rnglist(list);
	}
	/* Before version 5 the split unit's lists are in the executable. */
	if (unit->skeleton)
		off += unit->skeleton->ranges_base;
	list->rd = dwarf_reader(list->code_image, DWARF_RANGES, off);
	return read_ranges(list);
}

int dwarf_spans_add(struct dwarf_spans *spans, const struct dwarf_unit *unit,
		    const struct dwarf_where *where, uint32_t id)
{
	struct list list = {.spans = spans, .unit = unit, .id = id};
	uint64_t lo, hi;

	list.code_image = unit->skeleton ? unit->skeleton->image : unit->image;
	if (where->ranges.form)
		return read_list(&list, &where->ranges);
	if (!where->high_pc.form || !dwarf_value_address(unit, &where->low_pc, &lo))
		return 0;
	if (!dwarf_value_is_address(&where->high_pc))
		hi = lo + where->high_pc.number;
	else if (!dwarf_value_address(unit, &where->high_pc, &hi))
		return 0;
	return list_add(&list, lo, hi);
}

void dwarf_spans_deinit(struct dwarf_spans *spans)
{
	free(spans->items);
	*spans = (struct dwarf_spans){0};
}
