/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of one function have had: its source lines, or its addresses.
 *
 * A worked example, f() of three samples; f() is inlined into main() in the last:
 *
 *	stack, leaf first                   f() by line       self  total
 *	f (line 3)  main                       3               1      1
 *	g           f (line 5)  main           5               1      2
 *	f (line 5) inlined into main
 */
#ifndef BPFPROF_CLI_ANNOTATE_H
#define BPFPROF_CLI_ANNOTATE_H

#include "cli/report.h"

struct annotation_part {
	uint64_t at; /* a line (0: not known) or the address of a location */
	int64_t self, total; /* a sample counts once in total */
};

struct annotation {
	struct annotation_part *parts; /* owned; ascending by at, each at once */
	size_t cnt, cap;
	int64_t self, total; /* of the function */
};

enum annotation_kind {
	ANNOTATE_LINES,
	ANNOTATE_ADDRESSES,
};

/* Count the parts of @row, a row of the report's table. 0 or -ENOMEM; annotation_deinit() in either
 * case. Time: frames of all samples. */
int annotation_init(struct annotation *annotation, const struct report *report, uint32_t row,
		    enum annotation_kind kind);
void annotation_deinit(struct annotation *annotation);

/* The sum of the parts from @from to before @end; at is @from. */
struct annotation_part annotation_sum(const struct annotation *annotation, uint64_t from,
				      uint64_t end);

/* The part with the largest self, or, where none has any, total; NULL: there are none. */
const struct annotation_part *annotation_hottest(const struct annotation *annotation);

#endif
