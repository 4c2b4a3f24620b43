/* SPDX-License-Identifier: Apache-2.0 */
/* The table of functions as a list: see top_rows.h. */
#include "cli/top_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Add @amount to the rows of @stack (leaf first); @last[row] is 1 + the sample that counted there
 * last. */
static void count_stack(struct top_rows *top, const uint32_t *stack, int64_t cnt, uint32_t sample,
			int64_t amount, uint32_t *last)
{
	bool is_leaf = true;

	top->total += amount;
	for (int64_t i = 0; i < cnt; i++) {
		struct func_row *row;

		if (stack[i] >= top->table.row_cnt)
			continue;
		row = &top->table.rows[stack[i]];
		if (is_leaf)
			row->self += amount;
		is_leaf = false;
		if (last[stack[i]] == sample + 1)
			continue;
		last[stack[i]] = sample + 1;
		row->total += amount;
	}
}

static int count_samples(struct top_rows *top, const struct report *report, uint32_t focus)
{
	_cleanup_free_ uint32_t *last = calloc(top->table.row_cnt + 1, sizeof(*last));
	_cleanup_free_ uint32_t *stack = NULL;
	size_t cap = 0;

	if (!last)
		return -ENOMEM;
	for (uint32_t i = 0; i < report->prof->sample_cnt; i++) {
		int64_t cnt = report_stack(report, i, &stack, &cap);

		if (cnt < 0)
			return (int)cnt;
		cnt = report_stack_from(stack, cnt, focus);
		if (cnt || focus == NO_ROW)
			count_stack(top, stack, cnt, i, report_amount(report, i), last);
	}
	return 0;
}

int top_rows_init(struct top_rows *top, const struct report *report, uint32_t focus,
		  enum func_sort sort)
{
	size_t row_cnt = report->table->row_cnt;
	int err;

	*top = (struct top_rows){.table = *report->table};
	top->table.rows = calloc(row_cnt + 1, sizeof(*top->table.rows));
	if (!top->table.rows)
		return -ENOMEM;
	for (size_t i = 0; i < row_cnt; i++) {
		top->table.rows[i] = report->table->rows[i];
		top->table.rows[i].self = top->table.rows[i].total = 0;
	}
	err = count_samples(top, report, focus);
	return err ? err : top_rows_sort(top, sort);
}

void top_rows_deinit(struct top_rows *top)
{
	free(top->table.rows);
	free(top->order);
	*top = (struct top_rows){0};
}

int top_rows_sort(struct top_rows *top, enum func_sort sort)
{
	uint32_t *order = func_table_order(&top->table, sort);
	size_t cnt = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < top->table.row_cnt; i++)
		if (top->table.rows[order[i]].total)
			order[cnt++] = order[i];
	free(top->order);
	top->order = order;
	top->cnt = cnt;
	return 0;
}

int64_t report_sample_cnt(const struct report *report, int64_t amount)
{
	const struct profile *prof = report->prof;
	const struct profile_value_type *value = &prof->value_types[report->value];

	if (prof->period == 1)
		return -1;
	if (prof->period > 1 && prof->period_type.type == value->type &&
	    prof->period_type.unit == value->unit)
		return amount / prof->period;
	return !strcmp(profile_str(prof, value->type), "samples") &&
			       !strcmp(profile_str(prof, value->unit), "count")
		       ? amount
		       : -1;
}

bool report_is_noise(const struct report *report, int64_t amount)
{
	int64_t cnt = report_sample_cnt(report, amount);

	return cnt >= 0 && cnt < REPORT_NOISE_BELOW;
}
