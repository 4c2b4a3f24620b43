/* SPDX-License-Identifier: Apache-2.0 */
/* Searching rows: see row_search.h. */
#include "cli/row_search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum { UNKNOWN, MISSED, FOUND };

void row_search_deinit(struct row_search *search)
{
	if (search->is_regex)
		regfree(&search->regex);
	free(search->name);
	free(search->found);
	*search = (struct row_search){0};
}

/* Make @next, which lacks its found, the search. */
static int replace(struct row_search *search, struct row_search *next)
{
	size_t cnt = next->report->table->row_cnt + next->report->prof->strings.cnt;

	next->found = calloc(cnt + 1, sizeof(*next->found));
	if (!next->found) {
		row_search_deinit(next);
		return -ENOMEM;
	}
	row_search_deinit(search);
	*search = *next;
	return 0;
}

int row_search_set(struct row_search *search, const struct report *report, const char *text,
		   struct buf *why)
{
	struct row_search next = {.report = report};
	int fault = regcomp(&next.regex, text, REG_EXTENDED | REG_ICASE | REG_NOSUB);
	char message[128];

	if (fault) {
		regerror(fault, &next.regex, message, sizeof(message));
		buf_add_str(why, message);
		return fault == REG_ESPACE ? -ENOMEM : -EINVAL;
	}
	next.is_regex = true;
	return replace(search, &next);
}

int row_search_same(struct row_search *search, const struct report *report, uint32_t row)
{
	struct row_search next = {.report = report};
	_cleanup_(buf_deinit) struct buf name;

	buf_init(&name, BUF_NO_MAX);
	report_row_label(report, row, &name);
	next.name = strdup(buf_cstr(&name));
	if (!next.name || name.err) {
		free(next.name);
		return -ENOMEM;
	}
	return replace(search, &next);
}

bool row_search_has_text(const struct row_search *search, const char *text)
{
	if (!search->found)
		return false;
	return search->is_regex ? !regexec(&search->regex, text, 0, NULL, 0)
				: !strcmp(search->name, text);
}

bool row_search_has(struct row_search *search, uint32_t row)
{
	_cleanup_(buf_deinit) struct buf label;
	bool is_found;

	buf_init(&label, BUF_NO_MAX);
	if (!search->found)
		return false;
	if (search->found[row] != UNKNOWN)
		return search->found[row] == FOUND;
	report_row_label(search->report, row, &label);
	is_found = row_search_has_text(search, buf_cstr(&label));
	search->found[row] = is_found ? FOUND : MISSED;
	return is_found;
}
