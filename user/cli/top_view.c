/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of the table are shown. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/top.h"

/* Less than this, ns per s, shows as 0.00 in every column. */
static const double shown_rate_ms = 0.005;

void top_view_deinit(struct top_view *view)
{
	if (view->has_filter)
		regfree(&view->filter);
	free(view->rows);
	*view = (struct top_view){0};
}

int top_view_filter(struct top_view *view, const char *text, struct buf *why)
{
	char reason[128];
	regex_t filter;
	int err;

	if (strlen(text) >= sizeof(view->filter_text)) {
		buf_add_str(why, "the expression is too long");
		return -EINVAL;
	}
	err = *text ? regcomp(&filter, text, REG_EXTENDED | REG_NOSUB) : 0;
	if (err) {
		regerror(err, &filter, reason, sizeof(reason));
		buf_add_str(why, reason);
		return -EINVAL;
	}
	if (view->has_filter)
		regfree(&view->filter);
	view->has_filter = *text;
	if (*text)
		view->filter = filter;
	snprintf(view->filter_text, sizeof(view->filter_text), "%s", text);
	return 0;
}

double top_view_rate(const struct top_view *view, double ns)
{
	return view->span_ns > 0 ? ns / view->span_ns * ((double)NSEC_PER_SEC / NSEC_PER_MSEC) : 0;
}

static bool matches(const struct top_view *view, const struct top_table *table, uint32_t row,
		    struct buf *name)
{
	if (!view->has_filter)
		return true;
	buf_reset(name);
	top_print_name(table, row, name);
	return !regexec(&view->filter, buf_cstr(name), 0, NULL, 0);
}

static bool is_shown(const struct top_view *view, const struct top_table *table, uint32_t row,
		     struct buf *name)
{
	const struct top_sums *sums = &table->sums[row];

	if (top_view_rate(view, sums->total.cpu + sums->total.off) < shown_rate_ms)
		return false;
	if (table->rows[row].is_kernel ? view->hide_kernel : view->hide_user)
		return false;
	return matches(view, table, row, name);
}

static double key_of(enum top_order order, const struct top_sums *sums)
{
	switch (order) {
	case TOP_BY_TOTAL:
		return sums->total.cpu;
	case TOP_BY_OFF_SELF:
		return sums->self.off;
	case TOP_BY_OFF_TOTAL:
		return sums->total.off;
	default:
		return sums->self.cpu;
	}
}

struct ordering {
	const struct top_view *view;
	const struct top_table *table;
};

static int compare(double left, double right)
{
	return (left < right) - (left > right); /* the larger one first */
}

static int row_cmp(const void *left, const void *right, void *arg)
{
	const struct ordering *ordering = arg;
	uint32_t one = *(const uint32_t *)left, two = *(const uint32_t *)right;
	const struct top_sums *sums = ordering->table->sums;
	int result = compare(key_of(ordering->view->order, &sums[one]),
			     key_of(ordering->view->order, &sums[two]));

	result = result ? result : compare(sums[one].total.cpu, sums[two].total.cpu);
	result = result ? result : compare(sums[one].total.off, sums[two].total.off);
	return result ? result : (one > two) - (one < two);
}

int top_view_update(struct top_view *view, struct top_table *table)
{
	struct ordering ordering = {view, table};
	_cleanup_(buf_deinit) struct buf name;
	int err = top_table_sum(table, view->is_last);

	buf_init(&name, BUF_NO_MAX);
	if (!err)
		err = array_reserve(&view->rows, &view->cap, table->row_cnt + 1,
				    sizeof(*view->rows));
	if (err)
		return err;
	view->span_ns = view->is_last ? table->last_ns : table->past_ns;
	view->all = view->is_last ? table->last_all : table->past_all;
	view->cnt = 0;
	for (uint32_t i = 0; i < table->row_cnt; i++)
		if (is_shown(view, table, i, &name))
			view->rows[view->cnt++] = i;
	qsort_r(view->rows, view->cnt, sizeof(*view->rows), row_cmp, &ordering);
	return name.err;
}
