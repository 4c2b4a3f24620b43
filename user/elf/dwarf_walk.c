/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the functions and rows of a unit to stretches of code, each in one place of the source:
 *
 *	functions	f........g....f......		g is inlined into f
 *	rows		1..2.......3....4....
 *	stretches	f1.f2....g2g3.f3f4...		g2: in g, on line 2, called from f
 *
 * Where a function was called from is the same for all of its stretches, and so is its name: both
 * are looked up once for each function.
 */
#include "elf/dwarf_index.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hmap.h"
#include "elf/dwarf_index_priv.h"

/* The work of one stretch, in terms of dwarf_spend(): what its row and its functions take in the
 * file. */
enum { STRETCH_FUEL_BYTES = 16 };

/* A function's rows come from few files. */
enum { PATHS_REMEMBERED = 16 };

_Static_assert(DWARF_SITES_DEEP == DWARF_NESTING_MAX + 1, "a function and all that is in it");

/* A function of the walk. */
struct met {
	struct dwarf_entry entry;
	uint32_t caller; /* what site() said of where it was called from */
	bool is_called; /* caller is set */
};

struct walk {
	struct dwarf_index *index;
	struct dwarf_cu *cu;
	const struct dwarf_walk_ops *ops;
	void *arg;
	struct met *met; /* owned */
	size_t met_cnt, met_cap;
	struct hmap by_func;
	struct dwarf_line_cursor cursor;
	struct {
		uint32_t file, path; /* path STRTAB_NONE: not known yet */
	} paths[PATHS_REMEMBERED];
	int err; /* -ENOMEM */
};

static void walk_deinit(struct walk *walk)
{
	free(walk->met);
	hmap_deinit(&walk->by_func);
}

static bool is_known(const void *owner, uint32_t index, const void *key)
{
	return true; /* hash_mix() of one word is one to one */
}

/* What is known of @func of @code. Borrowed until the next is met; NULL when memory is out. */
static struct met *walk_meet(struct walk *walk, const struct dwarf_code *code, uint32_t func)
{
	uint64_t hash = hash_mix(0, func | (uint64_t)(code != &walk->cu->code) << 32);
	uint32_t known = hmap_find(&walk->by_func, hash, is_known, NULL, NULL);
	struct dwarf_unit *unit = dwarf_cu_code_unit(walk->cu);

	if (known != (uint32_t)HMAP_NONE)
		return &walk->met[known];
	walk->err =
		array_reserve(&walk->met, &walk->met_cap, walk->met_cnt + 1, sizeof(*walk->met));
	if (!walk->err)
		walk->err = hmap_insert(&walk->by_func, hash, (uint32_t)walk->met_cnt);
	if (walk->err)
		return NULL;
	walk->met[walk->met_cnt] = (struct met){
		.entry = dwarf_entry_describe(unit, unit->off + code->funcs[func].entry,
					      walk->index->lookup),
	};
	return &walk->met[walk->met_cnt++];
}

/* The path of @file of the unit's lines, as an id of the index. */
static uint32_t walk_path(struct walk *walk, uint32_t file)
{
	uint32_t slot = file % PATHS_REMEMBERED;

	if (walk->paths[slot].path == (uint32_t)STRTAB_NONE || walk->paths[slot].file != file) {
		walk->paths[slot].file = file;
		walk->paths[slot].path = dwarf_index_path(walk->index, walk->cu, file);
	}
	return walk->paths[slot].path;
}

static uint32_t walk_site(struct walk *walk, const struct dwarf_entry *entry,
			  const struct dwarf_line_row *row, uint32_t caller)
{
	uint32_t path = walk_path(walk, row->file);
	const struct dwarf_site site = {
		.name = entry->name,
		.file = path == STRTAB_EMPTY ? NULL : strtab_get(&walk->index->paths, path),
		.line = row->line,
		.column = row->column,
		.start_line = entry->decl_line,
		.caller = caller,
	};

	return walk->ops->site(walk->arg, &site);
}

/* @func and those that it is inlined into, outermost last, as far as their callers are not known
 * yet. How many. A parent's index is below its child's, so this ends. */
static size_t list_uncalled(struct walk *walk, const struct dwarf_code *code, uint32_t func,
			    uint32_t out[static DWARF_SITES_DEEP])
{
	size_t cnt = 0;

	while (func != (uint32_t)DWARF_FUNC_NONE && cnt < DWARF_SITES_DEEP) {
		const struct met *met = walk_meet(walk, code, func);

		if (!met || met->is_called)
			break;
		out[cnt++] = func;
		func = code->funcs[func].parent;
	}
	return cnt;
}

/* Where @func was called from: a site, DWARF_SITE_NONE for a function proper. */
static uint32_t walk_caller(struct walk *walk, const struct dwarf_code *code, uint32_t func)
{
	uint32_t chain[DWARF_SITES_DEEP];
	size_t cnt = list_uncalled(walk, code, func, chain);
	struct met *met;

	while (cnt-- && !walk->err) {
		const struct dwarf_func *inlined = &code->funcs[chain[cnt]];
		const struct dwarf_line_row row = {
			.file = inlined->call_file,
			.line = inlined->call_line,
			.column = inlined->call_column,
		};
		uint32_t caller = DWARF_SITE_NONE;

		if (inlined->parent != (uint32_t)DWARF_FUNC_NONE) {
			met = walk_meet(walk, code, inlined->parent);
			caller = met ? walk_site(walk, &met->entry, &row, met->caller)
				     : (uint32_t)DWARF_SITE_NONE;
		}
		met = walk_meet(walk, code, chain[cnt]);
		if (!met)
			break;
		met->caller = caller;
		met->is_called = true;
	}
	met = walk_meet(walk, code, func);
	return met ? met->caller : (uint32_t)DWARF_SITE_NONE;
}

static uint32_t site_at(struct walk *walk, const struct dwarf_place *place,
			const struct dwarf_line_row *row)
{
	const struct dwarf_entry unknown = {0};
	const struct met *met;
	uint32_t caller;

	if (place->func == (uint32_t)DWARF_FUNC_NONE)
		return walk_site(walk, &unknown, row, DWARF_SITE_NONE);
	caller = walk_caller(walk, place->code, place->func);
	met = walk_meet(walk, place->code, place->func);
	return met ? walk_site(walk, &met->entry, row, caller) : (uint32_t)DWARF_SITE_NONE;
}

/* The stretch that begins at @vaddr; *@end: where it ends, which is no later than it is given.
 * -ENOENT when nothing is known of it. */
static int walk_stretch(struct walk *walk, uint64_t vaddr, uint64_t *end)
{
	static const struct dwarf_line_row no_row;
	const struct dwarf_line_row *row = &no_row;
	struct dwarf_place place;
	uint64_t row_end;
	uint32_t site;
	bool has_row;

	dwarf_cu_find_place(walk->cu, vaddr, &place);
	has_row = !dwarf_lines_find(&walk->cu->lines, vaddr, &walk->cursor, &row, &row_end);
	*end = place.hi < *end ? place.hi : *end;
	*end = row_end < *end ? row_end : *end;
	if (dwarf_spend(&walk->index->image, STRETCH_FUEL_BYTES))
		return walk->index->account.is_late ? -ETIME : -E2BIG;
	if (place.func == (uint32_t)DWARF_FUNC_NONE && !has_row)
		return -ENOENT;
	site = site_at(walk, &place, row);
	if (walk->err || site == (uint32_t)DWARF_SITE_NONE)
		return -ENOMEM;
	return walk->ops->stretch(walk->arg, vaddr, *end, site);
}

/* The stretches of @range. */
static int walk_range(struct walk *walk, const struct dwarf_range *range)
{
	uint64_t end;

	for (uint64_t vaddr = range->lo; vaddr < range->hi; vaddr = end) {
		int err;

		end = range->hi;
		err = walk_stretch(walk, vaddr, &end);
		if (err && err != -ENOENT)
			return err;
	}
	return walk->index->account.is_late ? -ETIME : 0;
}

static void narrow(struct dwarf_range *range, uint64_t lo, uint64_t hi)
{
	range->lo = lo > range->lo ? lo : range->lo;
	range->hi = hi < range->hi ? hi : range->hi;
}

/* Shrink @range to the function proper around @vaddr, and when there is none to the stretch. */
static int find_range(struct walk *walk, uint64_t vaddr, struct dwarf_range *range)
{
	const struct dwarf_line_row *row;
	struct dwarf_place place;
	uint64_t row_end;

	dwarf_cu_find_place(walk->cu, vaddr, &place);
	if (place.func != (uint32_t)DWARF_FUNC_NONE) {
		narrow(range, place.outer_lo, place.outer_hi);
		return 0;
	}
	narrow(range, vaddr, place.hi);
	if (!dwarf_lines_find(&walk->cu->lines, vaddr, &walk->cursor, &row, &row_end)) {
		narrow(range, vaddr, row_end);
		return 0;
	}
	narrow(range, vaddr, row_end);
	return -ENOENT;
}

int dwarf_index_walk(struct dwarf_index *index, uint64_t vaddr, struct dwarf_range *range,
		     const struct dwarf_walk_ops *ops, void *arg)
{
	_cleanup_(walk_deinit) struct walk walk = {.index = index, .ops = ops, .arg = arg};
	int err = dwarf_index_begin(index);
	uint64_t lo, hi;

	if (err)
		return err;
	hmap_init(&walk.by_func);
	for (size_t i = 0; i < PATHS_REMEMBERED; i++)
		walk.paths[i].path = STRTAB_NONE;
	walk.cu = dwarf_index_cu(index, vaddr, &lo, &hi);
	narrow(range, lo, hi);
	if (walk.cu)
		err = find_range(&walk, vaddr, range);
	if (index->account.is_late)
		return -ETIME;
	if (!walk.cu || err)
		return -ENOENT;
	return walk_range(&walk, range);
}
