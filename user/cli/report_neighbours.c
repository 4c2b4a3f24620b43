/* SPDX-License-Identifier: Apache-2.0 */
/* Callers and callees of one function. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/report.h"

/* One entry per row of the table, and one more (index row_cnt) for "nobody": the root has no
 * caller, a leaf calls no one. */
struct edges {
	bool *is_subject; /* owned: the row is the function asked about */
	int64_t *amounts; /* owned */
	uint32_t *last; /* owned: 1 + the sample that counted here last */
	int64_t self, total; /* of the function, recursion counted once */
};

static void edges_deinit(struct edges *edges)
{
	free(edges->is_subject);
	free(edges->amounts);
	free(edges->last);
}

static int edges_init(struct edges *edges, size_t row_cnt)
{
	edges->is_subject = calloc(row_cnt + 1, sizeof(*edges->is_subject));
	edges->amounts = calloc(row_cnt + 1, sizeof(*edges->amounts));
	edges->last = calloc(row_cnt + 1, sizeof(*edges->last));
	return edges->is_subject && edges->amounts && edges->last ? 0 : -ENOMEM;
}

/* Mark the rows whose name is @func, or fits it as a glob. How many, or -ENOMEM. */
static int64_t mark(const struct func_table *table, const char *func, bool as_glob,
		    struct edges *edges)
{
	_cleanup_(buf_deinit) struct buf name;
	int64_t cnt = 0;

	buf_init(&name, BUF_NO_MAX);
	for (uint32_t row = 0; row < table->row_cnt; row++) {
		buf_reset(&name);
		func_table_name(table, row, &name);
		if (name.err)
			return name.err;
		if (as_glob ? fnmatch(func, buf_cstr(&name), 0) : strcmp(func, buf_cstr(&name)))
			continue;
		edges->is_subject[row] = true;
		cnt++;
	}
	return cnt;
}

/* @stack (leaf first) belongs to sample @sample, worth @amount. */
static void count_stack(const struct report *report, struct edges *edges, enum report_side side,
			const uint32_t *stack, int64_t cnt, uint32_t sample, int64_t amount)
{
	const uint32_t nobody = (uint32_t)report->table->row_cnt;
	bool is_in = false;

	for (int64_t i = 0; i < cnt; i++) {
		int64_t beside = side == REPORT_CALLERS ? i + 1 : i - 1;
		uint32_t other = beside >= 0 && beside < cnt ? stack[beside] : nobody;

		if (!edges->is_subject[stack[i]])
			continue;
		is_in = true;
		if (edges->is_subject[other] || edges->last[other] == sample + 1)
			continue;
		edges->last[other] = sample + 1;
		edges->amounts[other] += amount;
	}
	if (is_in)
		edges->total += amount;
	if (cnt && edges->is_subject[stack[0]])
		edges->self += amount;
}

static int count(const struct report *report, struct edges *edges, enum report_side side)
{
	const struct profile *prof = report->prof;
	uint32_t *stack = NULL;
	size_t cap = 0;
	int64_t cnt = 0;

	for (uint32_t i = 0; i < prof->sample_cnt && cnt >= 0; i++) {
		cnt = func_table_stack(report->table, i, &stack, &cap);
		if (cnt > 0)
			count_stack(report, edges, side, stack, cnt, i,
				    prof->values[(size_t)i * prof->value_type_cnt + report->value]);
	}
	free(stack);
	return cnt < 0 ? (int)cnt : 0;
}

static int compare_amounts(const void *left, const void *right, void *arg)
{
	const int64_t *amounts = arg;
	uint32_t one = *(const uint32_t *)left, two = *(const uint32_t *)right;

	if (amounts[one] != amounts[two])
		return amounts[one] < amounts[two] ? 1 : -1;
	return (one > two) - (one < two);
}

static void add_line(const struct report *report, const char *indent, int64_t amount,
		     struct buf *out)
{
	_cleanup_(buf_deinit) struct buf text;

	buf_init(&text, BUF_NO_MAX);
	amount_format(amount, report->unit, &text);
	buf_printf(out, "%s%7.2f%% %10s  ", indent, percent_of(amount, report->table->total),
		   buf_cstr(&text));
}

static int print_edges(const struct report *report, const struct edges *edges,
		       enum report_side side, uint64_t limit, struct buf *out)
{
	const struct func_table *table = report->table;
	_cleanup_free_ uint32_t *rows = calloc(table->row_cnt + 1, sizeof(*rows));
	uint64_t shown = 0;

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i <= table->row_cnt; i++)
		rows[i] = i;
	qsort_r(rows, table->row_cnt + 1, sizeof(*rows), compare_amounts, edges->amounts);
	for (size_t i = 0; i <= table->row_cnt && shown < limit; i++) {
		if (!edges->amounts[rows[i]])
			continue;
		add_line(report, "  ", edges->amounts[rows[i]], out);
		if (rows[i] == table->row_cnt)
			buf_add_str(out, side == REPORT_CALLERS ? "(root)" : "(itself)");
		else
			func_table_label(table, rows[i], out);
		buf_add_char(out, '\n');
		shown++;
	}
	return out->err;
}

int report_neighbours(const struct report *report, const char *func, enum report_side side,
		      uint64_t limit, struct buf *out)
{
	_cleanup_(edges_deinit) struct edges edges = {0};
	int err = edges_init(&edges, report->table->row_cnt);
	int64_t found = err ? err : mark(report->table, func, false, &edges);

	if (!found)
		found = mark(report->table, func, true, &edges);
	if (found <= 0)
		return found ? (int)found : -ENOENT;
	err = count(report, &edges, side);
	if (err)
		return err;
	buf_printf(out, "%s of %s\n", side == REPORT_CALLERS ? "callers" : "callees", func);
	add_line(report, "", edges.self, out);
	buf_add_str(out, "self\n");
	add_line(report, "", edges.total, out);
	buf_add_str(out, "total\n");
	return print_edges(report, &edges, side, limit, out);
}
