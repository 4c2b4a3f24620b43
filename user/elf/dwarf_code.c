/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over a unit's entries. */
#include "elf/dwarf_code.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "elf/dwarf_const.h"
#include "elf/dwarf_ranges.h"

enum { FUNCS_MAX = 1 << 22 };

/* A function whose children are being read. */
struct scope {
	uint64_t depth; /* of the children */
	uint32_t func;
};

struct scan {
	const struct dwarf_unit *unit;
	enum dwarf_code_extent extent;
	struct reader rd;
	struct dwarf_code code;
	struct dwarf_spans spans;
	uint64_t depth;
	struct scope scopes[DWARF_NESTING_MAX];
	size_t scopes_cnt;
};

static uint32_t clip_u32(uint64_t number)
{
	return number <= UINT32_MAX ? (uint32_t)number : 0;
}

static void take_call(struct dwarf_func *func, uint16_t name, const struct dwarf_value *value)
{
	if (name == DW_AT_call_file)
		func->call_file = clip_u32(value->number);
	else if (name == DW_AT_call_line)
		func->call_line = clip_u32(value->number);
	else if (name == DW_AT_call_column)
		func->call_column = clip_u32(value->number);
}

static int push_func(struct scan *scan, const struct dwarf_func *func, bool has_children)
{
	struct dwarf_code *code = &scan->code;
	int err;

	if (code->funcs_cnt >= FUNCS_MAX)
		return -E2BIG;
	err = array_reserve(&code->funcs, &code->funcs_cap, code->funcs_cnt + 1,
			    sizeof(*code->funcs));
	if (err)
		return err;
	if (has_children && scan->scopes_cnt < DWARF_NESTING_MAX)
		scan->scopes[scan->scopes_cnt++] =
			(struct scope){.depth = scan->depth + 1, .func = (uint32_t)code->funcs_cnt};
	code->funcs[code->funcs_cnt++] = *func;
	return 0;
}

/* If @name says where the entry's children end, take it. */
static void take_end(const struct dwarf_unit *unit, uint16_t name, const struct dwarf_value *value,
		     uint64_t *end_off)
{
	if (name == DW_AT_sibling && value->form == DW_FORM_ref4)
		*end_off = unit->off + value->number;
}

/* Go on at @end_off, behind the children of the entry that was read last, if that can be true. */
static bool pass_children(struct scan *scan, uint64_t end_off)
{
	if (scan->rd.err || end_off <= reader_offset(&scan->rd) || end_off > scan->unit->end)
		return false;
	reader_seek(&scan->rd, end_off);
	return true;
}

/* A function's entry is at the cursor, behind its code. Whether its children come next is in
 * *@has_children. */
static int read_func(struct scan *scan, const struct dwarf_abbrev *abbrev, uint64_t entry_off,
		     bool *has_children)
{
	const struct dwarf_unit *unit = scan->unit;
	struct dwarf_func func = {
		.entry = (uint32_t)(entry_off - unit->off),
		.parent = DWARF_FUNC_NONE,
	};
	size_t before = scan->spans.cnt;
	struct dwarf_where where = {0};
	uint64_t end_off = 0;
	int err;

	for (uint32_t i = 0; i < abbrev->specs_cnt; i++) {
		const struct dwarf_spec *spec = &unit->abbrevs.specs[abbrev->specs_at + i];
		struct dwarf_value value;

		dwarf_value_read(unit, spec, &scan->rd, &value);
		dwarf_where_take(&where, spec->name, &value);
		take_call(&func, spec->name, &value);
		take_end(unit, spec->name, &value, &end_off);
	}
	if (scan->rd.err)
		return 0;
	if (abbrev->tag == DW_TAG_inlined_subroutine && scan->scopes_cnt)
		func.parent = scan->scopes[scan->scopes_cnt - 1].func;
	err = dwarf_spans_add(&scan->spans, unit, &where, (uint32_t)scan->code.funcs_cnt);
	/* One without code of its own can still be what others were inlined into. What is in a
	 * function that had to be entered is not passed: read on its own it would not know its
	 * parent. */
	if (err || (scan->spans.cnt == before && !abbrev->has_children))
		return err;
	if (abbrev->has_children && scan->extent == DWARF_CODE_OUTER && !scan->scopes_cnt &&
	    pass_children(scan, end_off)) {
		func.end = (uint32_t)(end_off - unit->off);
		scan->code.is_partial = true;
		*has_children = false;
	}
	return push_func(scan, &func, *has_children);
}

static bool is_func(const struct dwarf_abbrev *abbrev)
{
	return abbrev->tag == DW_TAG_inlined_subroutine ||
	       (abbrev->tag == DW_TAG_subprogram && abbrev->has_code);
}

static bool is_type(const struct dwarf_abbrev *abbrev)
{
	return abbrev->tag == DW_TAG_class_type || abbrev->tag == DW_TAG_structure_type ||
	       abbrev->tag == DW_TAG_union_type || abbrev->tag == DW_TAG_enumeration_type;
}

/* Functions without code: declarations, and what is only ever inlined. */
static bool is_abstract(const struct dwarf_abbrev *abbrev)
{
	return abbrev->tag == DW_TAG_subprogram && !abbrev->has_code;
}

/*
 * Pass an entry, and all that is in it where the compiler says where it ends. GCC does, and puts
 * the code of member functions outside; LLVM has it inside for some languages, and does not say.
 * Returns whether its children come next.
 */
static bool pass_tree(struct scan *scan, const struct dwarf_abbrev *abbrev)
{
	const struct dwarf_unit *unit = scan->unit;
	uint64_t end_off = 0;

	for (uint32_t i = 0; i < abbrev->specs_cnt; i++) {
		const struct dwarf_spec *spec = &unit->abbrevs.specs[abbrev->specs_at + i];
		struct dwarf_value value;

		dwarf_value_read(unit, spec, &scan->rd, &value);
		take_end(unit, spec->name, &value, &end_off);
	}
	return !pass_children(scan, end_off);
}

/* Read or pass the entry at the cursor, behind its code. Whether its children come next is in
 * *@has_children. */
static int scan_entry(struct scan *scan, const struct dwarf_abbrev *abbrev, uint64_t entry_off,
		      bool *has_children)
{
	const struct dwarf_unit *unit = scan->unit;

	*has_children = abbrev->has_children;
	if (is_func(abbrev))
		return read_func(scan, abbrev, entry_off, has_children);
	if (abbrev->has_children && is_type(abbrev)) {
		*has_children = pass_tree(scan, abbrev);
	} else if (abbrev->has_children && scan->extent == DWARF_CODE_OUTER &&
		   is_abstract(abbrev)) {
		*has_children = pass_tree(scan, abbrev);
		scan->code.is_partial |= !*has_children;
	} else {
		dwarf_abbrev_skip(&unit->abbrevs, abbrev, unit->sizes, &scan->rd);
	}
	return 0;
}

static void close_scope(struct scan *scan)
{
	scan->depth--;
	while (scan->scopes_cnt && scan->scopes[scan->scopes_cnt - 1].depth > scan->depth)
		scan->scopes_cnt--;
}

static int scan_entries(struct scan *scan)
{
	const struct dwarf_unit *unit = scan->unit;

	while (!reader_done(&scan->rd)) {
		uint64_t entry_off = reader_offset(&scan->rd);
		uint64_t code = reader_uleb128(&scan->rd);
		const struct dwarf_abbrev *abbrev;
		bool has_children;
		int err;

		if (!code) {
			/* Padding behind the last entry looks like this as well. */
			if (scan->rd.err || scan->depth < 2)
				return 0;
			close_scope(scan);
			continue;
		}
		abbrev = dwarf_abbrevs_find(&unit->abbrevs, code);
		if (!abbrev)
			return 0;
		err = scan_entry(scan, abbrev, entry_off, &has_children);
		if (err)
			return err;
		scan->depth += has_children;
	}
	return 0;
}

static void scan_deinit(struct scan *scan)
{
	dwarf_code_deinit(&scan->code);
	dwarf_spans_deinit(&scan->spans);
	free(scan);
}

/* The entries of @unit from @off to @end. */
static int build(const struct dwarf_unit *unit, uint64_t off, uint64_t end,
		 enum dwarf_code_extent extent, struct dwarf_code *out)
{
	struct scan *scan;
	int err;

	if (unit->end - unit->off > UINT32_MAX)
		return -E2BIG;
	scan = calloc(1, sizeof(*scan));
	if (!scan)
		return -ENOMEM;
	scan->unit = unit;
	scan->extent = extent;
	scan->rd = dwarf_unit_reader(unit, off);
	scan->rd.end = scan->rd.start + end;
	err = dwarf_spend(unit->image, end - off);
	if (!err)
		err = scan_entries(scan);
	if (!err)
		err = addr_map_build(scan->spans.items, scan->spans.cnt, &scan->code.map);
	if (!err) {
		*out = scan->code;
		scan->code = (struct dwarf_code){0};
	}
	scan_deinit(scan);
	return err;
}

int dwarf_code_build(const struct dwarf_unit *unit, enum dwarf_code_extent extent,
		     struct dwarf_code *out)
{
	return build(unit, unit->root_off, unit->end, extent, out);
}

int dwarf_code_open(const struct dwarf_unit *unit, const struct dwarf_func *func,
		    struct dwarf_code *out)
{
	return build(unit, unit->off + func->entry, unit->off + func->end, DWARF_CODE_ALL, out);
}

void dwarf_code_deinit(struct dwarf_code *code)
{
	free(code->funcs);
	addr_map_deinit(&code->map);
	*code = (struct dwarf_code){0};
}

size_t dwarf_code_bytes(const struct dwarf_code *code)
{
	return code->funcs_cap * sizeof(*code->funcs) + code->map.cap * sizeof(*code->map.pieces);
}
