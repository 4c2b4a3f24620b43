/* SPDX-License-Identifier: Apache-2.0 */
/* The report's head, and the table that is its default view. */
#include <string.h>

#include "base/clock.h"
#include "cli/report.h"

const struct opt_choice report_format_choices[] = {
	{"text", REPORT_TEXT},
	{"md", REPORT_MARKDOWN},
	{"json", REPORT_JSON},
	{NULL},
};

static const struct {
	const char *name;
	enum func_sort sort;
} orders[] = {{"self", FUNC_BY_SELF}, {"total", FUNC_BY_TOTAL}, {"name", FUNC_BY_NAME}};

void report_header(const struct report *report, struct buf *out)
{
	const struct profile *prof = report->prof;

	buf_printf(out, "value     %s (%s)\ntotal     ",
		   profile_str(prof, prof->value_types[report->value].type), report->unit);
	amount_format(report->table->total, report->unit, out);
	buf_add_char(out, '\n');
	if (prof->duration_ns)
		buf_printf(out, "duration  %.2f s\n", (double)prof->duration_ns / NSEC_PER_SEC);
	if (profile_format_ledger(prof, out))
		buf_add_char(out, '\n');
}

bool report_order(const char *sort, enum func_sort *out)
{
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		if (!sort || !strcmp(sort, orders[i].name)) {
			*out = orders[i].sort;
			return true;
		}
	return false;
}

int report_table(const struct report *report, const char *sort, enum report_format format,
		 uint64_t limit, double percent_limit, struct buf *out)
{
	enum func_sort order = FUNC_BY_SELF;
	bool is_order = report_order(sort, &order);
	struct report_keys keys;
	int err;

	if (is_order && format == REPORT_TEXT)
		return func_table_print(report->table, order, limit, report->unit, out);
	err = report_keys_parse(report->prof, is_order ? "symbol,dso" : sort, &keys);
	return err ? err : report_by_keys(report, &keys, format, limit, percent_limit, out);
}
