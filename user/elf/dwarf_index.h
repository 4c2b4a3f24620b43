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

/* The longest chain that there is. */
enum { DWARF_FRAMES_MAX = 513 };

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

/* One level of an inline chain. Strings are borrowed until the next lookup or the index is freed.
 */
struct dwarf_frame {
	const char *name; /* linkage name, else plain name; NULL: no function is known */
	const char *file; /* absolute where the file says enough; NULL: unknown */
	uint32_t line, column; /* 0: unknown */
	uint32_t start_line; /* where the function is declared; 0: unknown */
	bool is_inlined; /* into the next frame */
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

/*
 * The chain of functions at ELF virtual address @vaddr (of the original file, moved back onto the
 * call for return addresses), innermost first, into @frames. The innermost one's line is the line
 * table's, every other's is where the one before it was called. Returns the length of the chain, of
 * which no more than @max frames are filled in; -ENOENT; -ETIME when the deadline has passed,
 * before this or in the midst of it; -ENOMEM. Not thread-safe.
 */
int dwarf_index_find(struct dwarf_index *index, uint64_t vaddr, struct dwarf_frame *frames,
		     size_t max);

/* Memory held for units at present. */
size_t dwarf_index_bytes(const struct dwarf_index *index);

/* The link in @elf to the file that goes into alt_fd. 0 or -ENOENT. */
int dwarf_alt_link(const struct elf_file *elf, struct dwarf_alt_link *out);

/* Is @fd an ELF file with the build-id that @link wants? */
bool dwarf_alt_is(const struct dwarf_alt_link *link, int fd);

#endif
