/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of names as the content of a file, so that the next run need not read the debugging
 * information again. In the machine's byte order, no padding:
 *
 *	struct name_header		what the names are of, counts, a checksum
 *	struct name_stretch[stretches_cnt]
 *	struct name_function[functions_cnt]
 *	struct name_site[sites_cnt]
 *	char[strings_bytes]
 *
 * The content is not trusted: what a builder would not have made is refused.
 */
#ifndef BPFPROF_SYMBOL_NAME_FILE_H
#define BPFPROF_SYMBOL_NAME_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/file_stamp.h"
#include "base/seal.h"
#include "symbol/name_table.h"

enum {
	/* Of the header and of what follows it. */
	NAME_FORMAT_VERSION = 2,
	/* Of the rules by which names and lines are found and names are demangled: one more with
	 * every change of them. */
	NAME_RULES_VERSION = 2,
	NAME_FILE_MAX_BYTES = 64 << 20,
};

/* What a table was made from. */
struct name_source {
	struct file_stamp file; /* the module's */
	uint64_t places; /* what lay where debug files are looked for: debug_places_hash() */
};

struct name_header {
	struct seal seal;
	struct name_source source;
	uint32_t stretches_cnt, functions_cnt, sites_cnt, strings_bytes;
};

/* What every file begins with, but for the checksum. */
extern const struct seal name_file_seal;

_Static_assert(sizeof(struct name_header) == 80, "no padding");
_Static_assert(sizeof(struct name_stretch) == 16, "no padding");
_Static_assert(sizeof(struct name_function) == 20, "no padding");
_Static_assert(sizeof(struct name_site) == 12, "no padding");

/* @table, made from @source, as bytes: *owned* (free()), *@len of them. NULL + errno: ENOMEM,
 * EFBIG. */
void *name_file_encode(const struct name_table *table, const struct name_source *source,
		       size_t *len);

/*
 * The inverse: *@out borrows the @len bytes at @data, which are aligned to 8. 0; -ESTALE: of
 * another version of us, or not made from @source; -EBADMSG: not what we write. O(len).
 */
int name_file_decode(const void *data, size_t len, const struct name_source *source,
		     struct name_table *out);

#endif
