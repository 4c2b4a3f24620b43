/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of a report a search finds. */
#ifndef BPFPROF_CLI_ROW_SEARCH_H
#define BPFPROF_CLI_ROW_SEARCH_H

#include <regex.h>

#include "cli/call_tree.h"

struct row_search {
	const struct report *report; /* borrowed */
	regex_t regex;
	bool is_regex; /* regex is compiled */
	char *name; /* owned: what all found rows are called; NULL with a regex */
	uint8_t *found; /* owned: by row, what is known: 0 nothing, 1 no, 2 yes; NULL: no search */
};

/* Search for the regular expression (POSIX extended, ignoring case) @text. 0; -ENOMEM; -EINVAL with
 * its fault in @why, and nothing has changed. @search is all zero or was set before. */
int row_search_set(struct row_search *search, const struct report *report, const char *text,
		   struct buf *why);

/* Search for rows with the label that @row has. 0 or -ENOMEM. */
int row_search_same(struct row_search *search, const struct report *report, uint32_t row);

void row_search_deinit(struct row_search *search);

/* Is there a search, and does it find @row? Each row is looked at once. */
bool row_search_has(struct row_search *search, uint32_t row);

/* The same for any text. */
bool row_search_has_text(const struct row_search *search, const char *text);

#endif
