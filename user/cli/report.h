/* SPDX-License-Identifier: Apache-2.0 */
/* The views of `bpfprof report`, each appended as text. */
#ifndef BPFPROF_CLI_REPORT_H
#define BPFPROF_CLI_REPORT_H

#include <stdbool.h>

#include "base/buf.h"
#include "cli/opts.h"
#include "encode/func_table.h"

/* What all views are given. */
struct report {
	const struct profile *prof; /* borrowed */
	const struct func_table *table; /* borrowed; counted for value */
	uint32_t value;
	const char *unit;
};

enum report_format {
	REPORT_TEXT,
	REPORT_MARKDOWN,
	REPORT_JSON,
};

extern const struct opt_choice report_format_choices[]; /* of --format */

enum { REPORT_LIMIT_DEFAULT = 40 /* lines of a table */ };

/* Which value is shown, how much there is of it, of which time, and the ledger. */
void report_header(const struct report *report, struct buf *out);

/* The order that the text of --sort asks for (NULL: none was given); false: it names keys. */
bool report_order(const char *sort, enum func_sort *out);

/*
 * The table of functions, in the order that @sort says (as above), or of what its keys tell apart:
 * as report_by_keys(), in text without keys as func_table_print(). 0; -EINVAL after log_error(): no
 * such key; -ENOMEM.
 */
int report_table(const struct report *report, const char *sort, enum report_format format,
		 uint64_t limit, double percent_limit, struct buf *out);

enum { REPORT_KEYS_MAX = 8, REPORT_KEY_BYTES = 64 };

/* What a row of a table is told by: the frame's function, module, source line or file, or a label
 * of the sample. */
struct report_key {
	enum { REPORT_SYMBOL, REPORT_DSO, REPORT_SRCLINE, REPORT_SRCFILE, REPORT_LABEL } kind;
	char name[REPORT_KEY_BYTES]; /* as asked for */
};

struct report_keys {
	struct report_key items[REPORT_KEYS_MAX];
	size_t cnt;
};

/* The keys of the comma list @list: symbol (sym), dso, srcline, srcfile, and labels that @prof
 * has. 0, or -EINVAL after log_error(). */
int report_keys_parse(const struct profile *prof, const char *list, struct report_keys *out);

/*
 * The first @limit rows, heaviest self first, of what is told apart by @keys: self is what the
 * rows' frames had as leaves, total what was under them, once per stack. Rows below @percent_limit
 * of the whole are left out. 0 or -ENOMEM. Time: frames of all samples, plus sorting.
 */
int report_by_keys(const struct report *report, const struct report_keys *keys,
		   enum report_format format, uint64_t limit, double percent_limit,
		   struct buf *out);

enum report_side {
	REPORT_CALLERS,
	REPORT_CALLEES,
};

/*
 * Who calls @func directly, or whom it calls, with the share of the samples in which that happens.
 * @func is a name, or, where no function has it, a glob; several functions that match are taken as
 * one. Appends at most @limit lines. 0; -ENOENT: no such function; -ENOMEM.
 */
int report_neighbours(const struct report *report, const char *func, enum report_side side,
		      uint64_t limit, struct buf *out);

/*
 * The tree of calls from the root, heaviest branch first; branches below @percent_limit of the
 * whole are left out. 0 or -ENOMEM. Time: frames of all samples, plus sorting.
 */
int report_tree(const struct report *report, double percent_limit, struct buf *out);

#endif
