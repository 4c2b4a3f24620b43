/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of one file's code: for every stretch of addresses the function and line that it is of, and
 * what that was inlined into. A worked example:
 *
 *	stretch			site				function
 *	[0x1000, 0x1010)	0: f, line 1			f, /src/f.c, from line 1
 *	[0x1010, 0x1018)	1: g, line 9, called from 0	g, /src/g.h, from line 8
 *	[0x1018, 0x1020)	2: f, line 2
 *	[0x1030, 0x1031)	none: no name is known there
 *
 * A builder collects them, function by function in ascending order of address; a table is what can
 * be searched: a builder's, or the content of a file (symbol/name_file.h).
 */
#ifndef BPFPROF_SYMBOL_NAME_TABLE_H
#define BPFPROF_SYMBOL_NAME_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/hmap.h"
#include "base/strtab.h"

enum {
	NAME_NONE = UINT32_MAX,
	/* Of one table. A program of 64 MiB of debugging information has a million. */
	NAME_STRETCHES_MAX = 1 << 20,
};

enum name_flags {
	NAME_IS_PLT = 1 << 0, /* to be shown as "<name>@plt" */
};

/* Part of files that are kept, as the next two: fixed widths, no padding. */
struct name_function {
	uint32_t name; /* where it begins in strings: as the file has it, not demangled */
	uint32_t file; /* likewise; "" unknown */
	uint32_t start_line; /* 0 unknown */
	uint32_t flags; /* enum name_flags */
	uint32_t shown; /* demangled; "": not yet, most are never asked for */
};

struct name_site {
	uint32_t function;
	uint32_t line; /* 0 unknown */
	uint32_t caller; /* a site before this one; NAME_NONE: not inlined */
};

struct name_stretch {
	uint64_t lo;
	uint32_t bytes; /* at least 1 */
	uint32_t site; /* NAME_NONE: it is known to have no name */
};

/* Borrowed: from a builder until it is changed, or from a file. */
struct name_table {
	const struct name_stretch *stretches; /* ascending, disjoint */
	const struct name_site *sites;
	const struct name_function *functions;
	const char *strings; /* each ends in a NUL */
	uint32_t stretches_cnt, sites_cnt, functions_cnt, strings_bytes;
};

/* The stretch that @vaddr is in; NULL: none. O(log stretches). */
const struct name_stretch *name_table_find(const struct name_table *table, uint64_t vaddr);

/* Shrink [*@lo, *@hi), in which @vaddr is and no stretch has it, to what no stretch has. */
void name_table_gap(const struct name_table *table, uint64_t vaddr, uint64_t *lo, uint64_t *hi);

struct name_builder {
	struct name_stretch *stretches; /* owned */
	size_t stretches_cnt, stretches_cap;
	struct name_site *sites; /* owned */
	size_t sites_cnt, sites_cap;
	struct name_function *functions; /* owned */
	size_t functions_cnt, functions_cap;
	struct strtab strings;
	struct hmap by_site, by_function;
};

int name_builder_init(struct name_builder *builder); /* 0 or -ENOMEM */
void name_builder_deinit(struct name_builder *builder);

/* The index of an equal one, new or known; NAME_NONE when memory is out. @name and @file, which may
 * be NULL, need no NUL and are cut at one. */
uint32_t name_builder_function(struct name_builder *builder, const char *name, size_t name_len,
			       const struct name_function *rest, const char *file);
uint32_t name_builder_site(struct name_builder *builder, const struct name_site *site);

/* Remember that @function is shown as @name, when nothing will be added any more: it is not found
 * as equal to others then. 0 or -ENOMEM. */
int name_builder_show(struct name_builder *builder, uint32_t function, const char *name);

/* [@lo, @hi), behind all that there are, is of @site. 0; -E2BIG; -ENOMEM. */
int name_builder_stretch(struct name_builder *builder, uint64_t lo, uint64_t hi, uint32_t site);

/* Forget all stretches but the first @cnt. */
void name_builder_cut(struct name_builder *builder, size_t cnt);

struct name_table name_builder_table(const struct name_builder *builder);

/* All of @left and @right, which have no address in common, into the empty @out: a site of each
 * that is equal to one of the other stays apart, and will not be found as equal. 0; -E2BIG;
 * -ENOMEM. O(both). */
int name_builder_join(struct name_builder *out, const struct name_table *left,
		      const struct name_table *right);

#endif
