/* SPDX-License-Identifier: Apache-2.0 */
/* The chain of functions at one address, from a walk over that address alone. */
#ifndef BPFPROF_TESTS_DWARF_CHAIN_H
#define BPFPROF_TESTS_DWARF_CHAIN_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/dwarf_index.h"

/* One level. Strings are borrowed until the next call. */
struct dwarf_frame {
	const char *name, *file; /* NULL: unknown */
	uint32_t line, column, start_line;
	bool is_inlined; /* into the next frame */
};

/* What a walk tells. */
struct chain_walk {
	struct dwarf_site sites[DWARF_SITES_DEEP];
	uint32_t cnt;
	uint32_t innermost;
	uint64_t lo, hi;
};

static inline uint32_t chain_site(void *arg, const struct dwarf_site *site)
{
	/* The file's name of a site is borrowed only: copies, until the next call. */
	static char *files[DWARF_SITES_DEEP];
	struct chain_walk *walk = arg;

	if (walk->cnt >= DWARF_SITES_DEEP ||
	    (site->caller != (uint32_t)DWARF_SITE_NONE && site->caller >= walk->cnt))
		abort();
	free(files[walk->cnt]);
	files[walk->cnt] = site->file ? strdup(site->file) : NULL;
	walk->sites[walk->cnt] = *site;
	walk->sites[walk->cnt].file = files[walk->cnt];
	return walk->cnt++;
}

static inline int chain_stretch(void *arg, uint64_t lo, uint64_t hi, uint32_t site)
{
	struct chain_walk *walk = arg;

	if (site >= walk->cnt || lo >= hi || walk->lo != walk->hi)
		abort();
	walk->innermost = site;
	walk->lo = lo;
	walk->hi = hi;
	return 0;
}

/* The chain at @vaddr, innermost first, into @frames, @max of them. How long it is, or negative
 * errno of dwarf_index_walk(). */
static inline int chain_find(struct dwarf_index *index, uint64_t vaddr, struct dwarf_frame *frames,
			     size_t max)
{
	static const struct dwarf_walk_ops ops = {chain_site, chain_stretch};
	static struct chain_walk walk;
	struct dwarf_range range = {vaddr, vaddr + 1};
	int cnt = 0, err;

	walk.cnt = 0;
	walk.lo = walk.hi = 0;
	walk.innermost = DWARF_SITE_NONE;
	err = dwarf_index_walk(index, vaddr, &range, &ops, &walk);
	if (err)
		return err;
	if (walk.lo != vaddr || walk.hi != vaddr + 1)
		abort();
	for (uint32_t at = walk.innermost; at != (uint32_t)DWARF_SITE_NONE; cnt++) {
		const struct dwarf_site *site = &walk.sites[at];

		if ((size_t)cnt < max)
			frames[cnt] = (struct dwarf_frame){
				.name = site->name,
				.file = site->file,
				.line = site->line,
				.column = site->column,
				.start_line = site->start_line,
				.is_inlined = site->caller != (uint32_t)DWARF_SITE_NONE,
			};
		at = site->caller;
	}
	return cnt;
}

#endif
