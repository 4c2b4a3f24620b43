/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled unwind tables on disk, by build-id (base/cache_dir.h, kind "rows"): compiling a large
 * library takes hundreds of milliseconds, reading its table back one or two.
 *
 * A help, never a need: whatever is wrong with the folder or a file, the table is compiled.
 */
#ifndef BPFPROF_UNWIND_TABLE_CACHE_H
#define BPFPROF_UNWIND_TABLE_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/cache_dir.h"
#include "unwind/table.h"

enum {
	TABLE_CACHE_BYTES = 256 << 20, /* what the folder may hold, for table_cache_open() */
	/* Shorter build-ids were set by hand (`ld --build-id=0x1`) and may name anything. */
	TABLE_CACHE_ID_MIN = 8,
	/* Tables with fewer rows are compiled in 50 microseconds: a file would cost more. */
	TABLE_CACHE_ROWS_MIN = 1024,
};

/* As cache_dir_open(); closed by cache_dir_close(). */
struct cache_dir *table_cache_open(const char *base, uint64_t max_bytes);

/*
 * The table of the executable @fd (borrowed), whose build-id is @build_id: from the folder, else
 * by unwind_table_open(), whose result and errors these are, and kept in the folder. Small
 * tables, those without a build-id (@len 0) and those of files that anybody may write are compiled
 * each time. Not for adding rows or rules to.
 */
struct unwind_table *table_cache_get(struct cache_dir *cache, int fd, const uint8_t *build_id,
				     size_t len);

#endif
