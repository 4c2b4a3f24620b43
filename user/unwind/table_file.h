/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An unwind table as the content of a file, so that the next run need not compile it again. Little
 * endian, no padding:
 *
 *	struct table_header	what the table is of, counts, a checksum
 *	struct row_page[pages_cnt]
 *	u32 row[rows_cnt]
 *	struct bp_rule[rules_cnt]
 *
 * The content is not trusted: whatever the compiler would not have written is refused.
 */
#ifndef BPFPROF_UNWIND_TABLE_FILE_H
#define BPFPROF_UNWIND_TABLE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/file_stamp.h"
#include "base/seal.h"
#include "unwind/table.h"

enum {
	/* Of the header and of the order of what follows it. */
	TABLE_FORMAT_VERSION = 2,
};

struct table_header {
	struct seal seal;
	struct file_stamp source; /* the file that the table was compiled from */
	uint64_t start_off, end_off;
	uint64_t first_page;
	uint32_t machine; /* EM_* */
	uint32_t pages_cnt, rows_cnt, rules_cnt;
	/* What unwind_table, rows and rule_set count beside. */
	uint32_t fdes_cnt, refused_cnt, rules_refused_cnt;
	uint32_t tracks_bx; /* 0 or 1 */
};

enum {
	TABLE_FILE_MAX_BYTES = sizeof(struct table_header) +
			       ROW_PAGES_MAX * sizeof(struct row_page) +
			       ROWS_MAX * sizeof(uint32_t) + BP_RULES_MAX * sizeof(struct bp_rule),
};

/* What every file begins with, but for the checksum. */
extern const struct seal table_file_seal;

_Static_assert(sizeof(struct table_header) == 112, "no padding");

/* @table, compiled from @source, as bytes: *owned* (free()), *@len_out of them. NULL + ENOMEM. */
void *table_file_encode(const struct unwind_table *table, const struct file_stamp *source,
			size_t *len_out);

/*
 * The inverse, from the @len bytes at @data (from malloc; *taken*, also on failure), in which the
 * table's arrays stay: copying them would cost as much as reading. *owned*, equal to what was
 * encoded, but for reading only: neither rows nor rules can be added. NULL + errno: ESTALE (of
 * another version of us, or not compiled from @source), EBADMSG (not what we write), ENOMEM.
 * O(len).
 */
struct unwind_table *table_file_decode(void *data, size_t len, const struct file_stamp *source);

#endif
