/* SPDX-License-Identifier: Apache-2.0 */
/* The table of functions as a list in order, of all stacks or of those below one row; and how many
 * samples stand behind an amount. */
#ifndef BPFPROF_CLI_TOP_ROWS_H
#define BPFPROF_CLI_TOP_ROWS_H

#include "cli/call_tree.h"

struct top_rows {
	struct func_table
		table; /* the report's with amounts of its own; its rows alone are owned */
	uint32_t *order; /* owned: rows with a total, in order */
	size_t cnt;
	int64_t total; /* of the stacks that were counted */
};

/* The functions below @focus (NO_ROW: all), it included, in order of @sort. 0 or -ENOMEM;
 * top_rows_deinit() in either case. Time: frames of all samples, plus sorting. */
int top_rows_init(struct top_rows *top, const struct report *report, uint32_t focus,
		  enum func_sort sort);
void top_rows_deinit(struct top_rows *top);

/* Put them in another order. 0 or -ENOMEM, and nothing has changed. */
int top_rows_sort(struct top_rows *top, enum func_sort sort);

enum { REPORT_NOISE_BELOW = 10 /* samples: a share of fewer is an accident */ };

/*
 * How many samples make up @amount of the report's value; -1: nobody says so, or there is no chance
 * in it: every event was counted, or the values are lengths that differ, as waits are.
 */
int64_t report_sample_cnt(const struct report *report, int64_t amount);

/* Is @amount known to come from fewer samples than REPORT_NOISE_BELOW? */
bool report_is_noise(const struct report *report, int64_t amount);

#endif
