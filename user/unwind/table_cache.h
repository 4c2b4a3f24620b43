/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled unwind tables on disk, by build-id: compiling a large library takes hundreds of
 * milliseconds, reading its table back one or two.
 *
 *	/var/cache/bpfprof/rows/<build-id>.rows		root
 *	$XDG_CACHE_HOME/bpfprof/rows/...		others; ~/.cache without the variable
 *
 * A help, never a need: whatever is wrong with the folder or a file, the table is compiled. Only
 * folders and files are used that belong to the effective user and that nobody else may write.
 * Several processes may share a folder: files appear whole, by rename. For one thread at a time.
 */
#ifndef BPFPROF_UNWIND_TABLE_CACHE_H
#define BPFPROF_UNWIND_TABLE_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/table.h"

enum {
	TABLE_CACHE_BYTES = 256 << 20, /* what the folder may hold, for table_cache_open() */
	/* Shorter build-ids were set by hand (`ld --build-id=0x1`) and may name anything. */
	TABLE_CACHE_ID_MIN = 8,
	/* Tables with fewer rows are compiled in 50 microseconds: a file would cost more. */
	TABLE_CACHE_ROWS_MIN = 1024,
};

struct table_cache;

/*
 * The folder bpfprof/rows in @base (NULL: where the user's caches are), made with mode 0700 where
 * it is missing; its files take at most @max_bytes of disk. *owned*; NULL, which is a cache as
 * well, one that keeps nothing: there is no such folder, and none can be made, or it is not safe.
 */
struct table_cache *table_cache_open(const char *base, uint64_t max_bytes);
void table_cache_close(struct table_cache *cache);

/*
 * The table of the executable @fd (borrowed), whose build-id is @build_id: from the folder, else
 * by unwind_table_open(), whose result and errors these are, and kept in the folder. Small
 * tables, those without a build-id (@len 0) and those of files that anybody may write are compiled
 * each time. Not for adding rows or rules to.
 */
struct unwind_table *table_cache_get(struct table_cache *cache, int fd, const uint8_t *build_id,
				     size_t len);

#endif
