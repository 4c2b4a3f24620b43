/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions, lines and inline chains by address, from DWARF 2 to 5. Opening costs nothing but
 * decompression; the first lookup reads where each unit's code is; the first in a unit reads that
 * unit's entries once, into a table of address ranges, and its line table into an index. Units that
 * have not been used for longest are forgotten when what is held grows beyond a budget.
 *
 *	addresses	unit's ranges		function ranges			names
 *	vaddr ->	addr_map -> unit ->	addr_map -> func, its parents	entry, origin, ...
 *					line table -> file, line of the innermost one
 *
 * What it does not read: relocatable objects (their sections are not relocated yet), units that do
 * not say where their code is, and type units.
 */
#ifndef BPFPROF_ELF_DWARF_INDEX_H
#define BPFPROF_ELF_DWARF_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

struct dwarf_index;

/* Sites that are inlined into one another, the function proper included: no more than these. */
enum { DWARF_SITES_DEEP = 513 };

/* All of it may be zero or NULL, the descriptors -1. */
struct dwarf_index_opts {
	/* The file that .gnu_debugaltlink names; borrowed until the index is open. One with another
	 * build-id than the link wants is not used. */
	int alt_fd;
	/* O_PATH: the folder that is "/" for path and for the names in the file; -1: our own root.
	 * Borrowed for the life of the index. */
	int root_fd;
	/* The absolute path of the file itself: split units (PATH.dwp, *.dwo) are looked for beside
	 * it. NULL: they are not looked for. */
	const char *path;
	size_t budget_bytes; /* of memory for units; 0: 64 MiB */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC: nothing is read after it; 0: none */
};

/*
 * Where code is in the source: in a function, on a line, and for one that was inlined, where that
 * was called from. Strings are borrowed until site() of dwarf_walk_ops returns.
 */
struct dwarf_site {
	const char *name; /* linkage name, else plain name; NULL: no function is known */
	const char *file; /* absolute where the file says enough; NULL: unknown */
	uint32_t line, column; /* 0: unknown */
	uint32_t start_line; /* where the function is declared; 0: unknown */
	uint32_t caller; /* the site that it is inlined into; DWARF_SITE_NONE: a function proper */
};

enum { DWARF_SITE_NONE = UINT32_MAX };

/* Who is told what a function's code is made of. */
struct dwarf_walk_ops {
	/* The caller's id of @site, which comes after site->caller; equal sites may come again. */
	uint32_t (*site)(void *arg, const struct dwarf_site *site);
	/* Code of @site. Stretches come in ascending order. 0, or negative errno to end the walk.
	 */
	int (*stretch)(void *arg, uint64_t lo, uint64_t hi, uint32_t site);
};

/* Where the common parts of debugging information are that dwz has moved out. */
struct dwarf_alt_link {
	const char *name; /* borrowed from the image; relative to the file's folder, or absolute */
	const uint8_t *build_id; /* borrowed */
	size_t build_id_len;
};

/*
 * Open the debugging information of @elf (the program itself or a separate debug file), which is
 * borrowed for the life of the index. 0 and *@out *owned*; -ENODATA: it has none; -EFBIG;
 * -ENOTSUP: compressed in a way that we do not know; -ETIME: past the deadline; -EBADMSG; -ENOMEM.
 */
int dwarf_index_new(struct elf_file *elf, const struct dwarf_index_opts *opts,
		    struct dwarf_index **out);

/* The same from a descriptor, borrowed until this returns. */
int dwarf_index_open(int fd, const struct dwarf_index_opts *opts, struct dwarf_index **out);
void dwarf_index_free(struct dwarf_index *index);

/* Around an address: [lo, hi). */
struct dwarf_range {
	uint64_t lo, hi;
};

/*
 * Tell all about the function around ELF virtual address @vaddr (of the original file, moved back
 * onto the call for return addresses), or the part of it in @range, which has @vaddr: function by
 * function costs little more than address by address. 0 when @vaddr is in one of the stretches;
 * -ENOENT when nothing is known of it, and *@range shrinks to where that is so; -ETIME when the
 * deadline has passed, before this or in the midst of it: what was told is not to be trusted;
 * -E2BIG: the same, of a file that is not sound; -ENOMEM; what stretch() returned. Not thread-safe.
 */
int dwarf_index_walk(struct dwarf_index *index, uint64_t vaddr, struct dwarf_range *range,
		     const struct dwarf_walk_ops *ops, void *arg);

/* Were units split off into files of their own, of the ones that were looked at? */
bool dwarf_index_is_split(const struct dwarf_index *index);

/* Memory held for units at present. */
size_t dwarf_index_bytes(const struct dwarf_index *index);

/* The link in @elf to the file that goes into alt_fd. 0 or -ENOENT. */
int dwarf_alt_link(const struct elf_file *elf, struct dwarf_alt_link *out);

/* Is @fd an ELF file with the build-id that @link wants? */
bool dwarf_alt_is(const struct dwarf_alt_link *link, int fd);

#endif
