/* SPDX-License-Identifier: Apache-2.0 */
/* func_table as text. Names come from files and processes: what could steer the terminal is
 * replaced. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "encode/func_table.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static const char *module_name(const struct func_table *table, uint32_t row)
{
	uint32_t mapping = table->rows[row].mapping;

	if (mapping == PROFILE_NONE)
		return "";
	return base_name(profile_str(table->prof, table->prof->mappings[mapping].path));
}

void func_table_printable(const char *text, struct buf *out)
{
	for (; *text; text++) {
		unsigned char chr = (unsigned char)*text;

		buf_add_char(out, chr < 0x20 || chr == 0x7f ? '?' : *text);
	}
}

void func_table_name(const struct func_table *table, uint32_t row, struct buf *out)
{
	const struct func_row *entry = &table->rows[row];
	const struct profile *prof = table->prof;

	if (entry->function != PROFILE_NONE) {
		func_table_printable(profile_str(prof, prof->functions[entry->function].name), out);
		return;
	}
	buf_add_char(out, '[');
	if (entry->mapping != PROFILE_NONE) {
		func_table_printable(module_name(table, row), out);
		buf_add_char(out, '+');
	}
	buf_printf(out, "0x%llx]", (unsigned long long)prof->locations[entry->location].address);
}

void func_table_label(const struct func_table *table, uint32_t row, struct buf *out)
{
	const char *module = module_name(table, row);

	func_table_name(table, row, out);
	if (!*module || table->rows[row].function == PROFILE_NONE)
		return;
	/* "[kernel.kallsyms]" and "[vdso]" bring their brackets along. */
	buf_add_str(out, *module == '[' ? "  " : "  [");
	func_table_printable(module, out);
	buf_add_str(out, *module == '[' ? "" : "]");
}

struct order {
	const struct func_table *table;
	enum func_sort sort;
};

static const char *sort_name(const struct func_table *table, uint32_t row)
{
	uint32_t function = table->rows[row].function;

	return function == PROFILE_NONE
		       ? ""
		       : profile_str(table->prof, table->prof->functions[function].name);
}

static int compare_amounts(int64_t left, int64_t right)
{
	return (left < right) - (left > right); /* the larger one first */
}

static int compare_rows(const void *left, const void *right, void *arg)
{
	const struct order *order = arg;
	uint32_t left_row = *(const uint32_t *)left, right_row = *(const uint32_t *)right;
	const struct func_row *one = &order->table->rows[left_row];
	const struct func_row *two = &order->table->rows[right_row];
	int by_self = compare_amounts(one->self, two->self);
	int by_total = compare_amounts(one->total, two->total);
	int by_name = strcmp(sort_name(order->table, left_row), sort_name(order->table, right_row));
	int result = order->sort == FUNC_BY_TOTAL  ? by_total
		     : order->sort == FUNC_BY_SELF ? by_self
						   : by_name;

	result = result ? result : by_self;
	result = result ? result : by_total;
	result = result ? result : by_name;
	return result ? result : (left_row > right_row) - (left_row < right_row);
}

uint32_t *func_table_order(const struct func_table *table, enum func_sort sort)
{
	struct order order = {table, sort};
	uint32_t *rows = calloc(table->row_cnt + 1, sizeof(*rows));

	if (!rows)
		return NULL;
	for (uint32_t i = 0; i < table->row_cnt; i++)
		rows[i] = i;
	qsort_r(rows, table->row_cnt, sizeof(*rows), compare_rows, &order);
	return rows;
}

void amount_format(int64_t amount, const char *unit, struct buf *out)
{
	static const struct {
		const char *name;
		int64_t scale;
	} times[] = {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};
	size_t i = 0;

	if (strcmp(unit, "nanoseconds")) {
		buf_printf(out, "%lld%s%s", (long long)amount, strcmp(unit, "bytes") ? "" : " ",
			   strcmp(unit, "bytes") ? "" : "B");
		return;
	}
	while (times[i].scale > 1 && llabs(amount) < times[i].scale)
		i++;
	buf_printf(out, "%.*f %s", times[i].scale > 1 ? 2 : 0,
		   (double)amount / (double)times[i].scale, times[i].name);
}

double percent_of(int64_t part, int64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void add_amount(int64_t amount, int64_t total, const char *unit, struct buf *out)
{
	_cleanup_(buf_deinit) struct buf text;

	buf_init(&text, BUF_NO_MAX);
	amount_format(amount, unit, &text);
	buf_printf(out, "%7.2f%% %10s", percent_of(amount, total), buf_cstr(&text));
}

int func_table_print(const struct func_table *table, enum func_sort sort, size_t limit,
		     const char *unit, struct buf *out)
{
	_cleanup_free_ uint32_t *rows = func_table_order(table, sort);

	if (!rows)
		return -ENOMEM;
	buf_printf(out, "%19s  %19s  %s\n", "self", "total", "function");
	for (size_t i = 0; i < table->row_cnt && i < limit; i++) {
		const struct func_row *row = &table->rows[rows[i]];

		add_amount(row->self, table->total, unit, out);
		buf_add_str(out, "  ");
		add_amount(row->total, table->total, unit, out);
		buf_add_str(out, "  ");
		func_table_label(table, rows[i], out);
		buf_add_char(out, '\n');
	}
	return out->err;
}
