/* SPDX-License-Identifier: Apache-2.0 */
/* The views of `bpfprof report`, each appended as text. */
#ifndef BPFPROF_CLI_REPORT_H
#define BPFPROF_CLI_REPORT_H

#include <stdbool.h>

#include "base/buf.h"
#include "cli/func_table.h"

/* What all views are given. */
struct report {
	const struct profile *prof; /* borrowed */
	const struct func_table *table; /* borrowed; counted for value */
	uint32_t value;
	const char *unit;
};

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
