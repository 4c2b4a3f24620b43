/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of two profiles that are compared, and what follows from it. */
#include "encode/diff_report.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "encode/func_table.h"
#include "profile/ledger.h"

static const char HOST_COMMENT[] = "bpfprof-host: ";

enum { COMMENT_MAX_BYTES = 1 << 20 };

int diff_note_names(struct diff *diff, const char *const names[DIFF_SIDE_CNT])
{
	_cleanup_(buf_deinit) struct buf text;

	buf_init(&text, BUF_NO_MAX);
	buf_printf(&text, "before: %s, after: %s", names[DIFF_BEFORE], names[DIFF_AFTER]);
	profile_add_comment(&diff->joined, buf_cstr(&text));
	return text.err ? text.err : diff->joined.err;
}

struct order {
	const struct diff *diff;
	enum diff_sort sort;
};

static const char *row_name(const struct diff *diff, uint32_t row)
{
	return profile_location_name(&diff->joined, diff->rows[row].location, 0);
}

static double sort_number(const struct order *order, uint32_t row)
{
	const struct diff_row *at = &order->diff->rows[row];

	switch (order->sort) {
	case DIFF_BY_SELF:
		return fabs(at->self.change);
	case DIFF_BY_PERCENT:
		return fabs(diff_percent(&at->total));
	case DIFF_BY_BEFORE:
		return (double)at->total.value[DIFF_BEFORE];
	case DIFF_BY_AFTER:
		return (double)at->total.value[DIFF_AFTER];
	case DIFF_BY_NAME:
		return 0;
	default:
		return fabs(at->total.change);
	}
}

/* Ties by what the function does itself, then by name: the order is reproducible. */
static int compare_rows(const void *left_ptr, const void *right_ptr, void *arg)
{
	const struct order *order = arg;
	struct order by_self = {order->diff, DIFF_BY_SELF};
	uint32_t left = *(const uint32_t *)left_ptr, right = *(const uint32_t *)right_ptr;
	double one = sort_number(order, left), two = sort_number(order, right);
	int by_name = strcmp(row_name(order->diff, left), row_name(order->diff, right));

	if (one == two && order->sort != DIFF_BY_NAME) {
		one = sort_number(&by_self, left);
		two = sort_number(&by_self, right);
	}
	if (one != two)
		return one > two ? -1 : 1;
	return by_name ? by_name : (left > right) - (left < right);
}

int diff_report_init(struct diff_report *report, const struct diff *diff, enum diff_sort sort)
{
	const struct profile *joined = &diff->joined;
	const char *unit = joined->value_type_cnt
				   ? profile_str(joined, joined->value_types[DIFF_AFTER].unit)
				   : "count";
	struct order order = {diff, sort};

	*report = (struct diff_report){
		.diff = diff,
		.type = strdup(profile_str(joined, diff->type)),
		.unit = strdup(unit),
		.fail_above = -1,
	};
	report->order = calloc(diff->row_cnt + 1, sizeof(*report->order));
	if (!report->order || !report->type || !report->unit)
		return -ENOMEM;
	for (uint32_t i = 0; i < diff->row_cnt; i++)
		if (diff->rows[i].total.change != 0 || diff->rows[i].self.change != 0)
			report->order[report->order_cnt++] = i;
	qsort_r(report->order, report->order_cnt, sizeof(*report->order), compare_rows, &order);
	return 0;
}

static bool has_grown(const struct diff_change *change)
{
	return change->is_significant && change->change > 0;
}

void diff_report_keep_grown(struct diff_report *report)
{
	size_t cnt = 0;

	for (size_t i = 0; i < report->order_cnt; i++) {
		const struct diff_row *row = &report->diff->rows[report->order[i]];

		if (has_grown(&row->total) || has_grown(&row->self))
			report->order[cnt++] = report->order[i];
	}
	report->order_cnt = cnt;
	report->is_of_grown = true;
}

/* Take the line that @text holds; 0 or -ENOMEM. */
static int add_line(struct diff_lines *lines, struct buf *text)
{
	char *line = NULL;
	int err = array_reserve(&lines->items, &lines->cap, lines->cnt + 1, sizeof(*lines->items));

	if (!err)
		line = buf_take(text, NULL);
	if (line)
		lines->items[lines->cnt++] = line;
	return line ? 0 : -ENOMEM;
}

static void lines_deinit(struct diff_lines *lines)
{
	for (size_t i = 0; i < lines->cnt; i++)
		free(lines->items[i]);
	free(lines->items);
}

void diff_report_deinit(struct diff_report *report)
{
	for (size_t i = 0; i < report->fact_cnt; i++) {
		free(report->facts[i].key);
		free(report->facts[i].value[DIFF_BEFORE]);
		free(report->facts[i].value[DIFF_AFTER]);
	}
	free(report->facts);
	free(report->type);
	free(report->unit);
	free(report->order);
	lines_deinit(&report->warnings);
	lines_deinit(&report->regressions);
	*report = (struct diff_report){0};
}

/* The fact called @key, made when it is new; NULL without memory. */
static struct diff_fact *fact_of(struct diff_report *report, const char *key)
{
	struct diff_fact *fact;

	for (size_t i = 0; i < report->fact_cnt; i++)
		if (!strcmp(report->facts[i].key, key))
			return &report->facts[i];
	if (array_reserve(&report->facts, &report->fact_cap, report->fact_cnt + 1,
			  sizeof(*report->facts)))
		return NULL;
	fact = &report->facts[report->fact_cnt];
	fact->key = strdup(key);
	if (!fact->key)
		return NULL;
	report->fact_cnt++;
	return fact;
}

static int add_fact(struct diff_report *report, enum diff_side side, const char *key,
		    const char *value)
{
	struct diff_fact *fact = *value ? fact_of(report, key) : NULL;

	if (!*value || (fact && fact->value[side]))
		return 0;
	if (fact)
		fact->value[side] = strdup(value);
	return fact && fact->value[side] ? 0 : -ENOMEM;
}

static int add_ledger_facts(struct diff_report *report, enum diff_side side,
			    const struct profile *prof)
{
	struct ledger ledger;
	int err;

	if (profile_get_ledger(prof, &ledger))
		return 0;
	err = add_fact(report, side, "kernel", ledger.kernel);
	if (!err)
		err = add_fact(report, side, "arch", ledger.arch);
	ledger_deinit(&ledger);
	return err;
}

static int add_period_fact(struct diff_report *report, enum diff_side side,
			   const struct profile *prof)
{
	const char *unit = profile_str(prof, prof->period_type.unit);
	_cleanup_(buf_deinit) struct buf text;

	buf_init(&text, BUF_NO_MAX);
	if (prof->period <= 0)
		return 0;
	amount_format(prof->period, unit, &text);
	buf_printf(&text, " of %s", profile_str(prof, prof->period_type.type));
	if (!strcmp(unit, "nanoseconds"))
		buf_printf(&text, " (%.0f Hz)", (double)NSEC_PER_SEC / (double)prof->period);
	return text.err ? text.err : add_fact(report, side, "period", buf_cstr(&text));
}

static int add_json_fact(struct diff_report *report, enum diff_side side, const cJSON *item)
{
	char number[32];

	if (cJSON_IsString(item))
		return add_fact(report, side, item->string, item->valuestring);
	if (cJSON_IsBool(item))
		return add_fact(report, side, item->string, cJSON_IsTrue(item) ? "yes" : "no");
	if (!cJSON_IsNumber(item))
		return 0;
	snprintf(number, sizeof(number), "%.15g", item->valuedouble);
	return add_fact(report, side, item->string, number);
}

/* All facts of the JSON object @json, or the one called @only. */
static int add_json_facts(struct diff_report *report, enum diff_side side, const char *json,
			  const char *only)
{
	cJSON *root = cJSON_ParseWithLength(json, strnlen(json, COMMENT_MAX_BYTES));
	const cJSON *item;
	int err = 0;

	if (cJSON_IsObject(root)) {
		cJSON_ArrayForEach(item, root)
		{
			if (!err && (!only || !strcmp(item->string, only)))
				err = add_json_fact(report, side, item);
		}
	}
	cJSON_Delete(root);
	return err;
}

/* What follows @prefix in @text; NULL: it does not begin so. */
static const char *after_prefix(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(text, prefix, len) ? NULL : text + len;
}

int diff_report_facts(struct diff_report *report, enum diff_side side, const struct profile *prof)
{
	int err = add_period_fact(report, side, prof);

	for (size_t i = 0; i < prof->comment_cnt && !err; i++) {
		const char *text = profile_str(prof, prof->comments[i]);
		const char *host = after_prefix(text, HOST_COMMENT);
		const char *ledger = after_prefix(text, LEDGER_COMMENT);

		if (host)
			err = add_json_facts(report, side, host, NULL);
		else if (ledger)
			err = add_json_facts(report, side, ledger, "version");
	}
	return err ? err : add_ledger_facts(report, side, prof);
}

/* What is known to differ between any two recordings. */
static bool may_differ(const char *key)
{
	static const char *const keys[] = {"command", "command_line", "cmdline",  "args",
					   "title",   "time",	      "time_utc", "start",
					   "end",     "boot_time",    "uptime",	  "uptime_s",
					   "load"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strcmp(key, keys[i]))
			return true;
	return false;
}

static bool fact_differs(const struct diff_fact *fact)
{
	return fact->value[DIFF_BEFORE] && fact->value[DIFF_AFTER] && !may_differ(fact->key) &&
	       strcmp(fact->value[DIFF_BEFORE], fact->value[DIFF_AFTER]);
}

/* More than a hundredth, and a tenth of a second. */
static bool duration_differs(const struct diff *diff)
{
	double before = (double)diff->duration_ns[DIFF_BEFORE] / NSEC_PER_SEC;
	double after = (double)diff->duration_ns[DIFF_AFTER] / NSEC_PER_SEC;
	double larger = before > after ? before : after;

	return before > 0 && after > 0 && fabs(after - before) > larger / 100 &&
	       fabs(after - before) > 0.1;
}

static void warn_fact(const struct diff_fact *fact, struct buf *out)
{
	func_table_printable(fact->key, out);
	buf_add_str(out, " differs: ");
	func_table_printable(fact->value[DIFF_BEFORE], out);
	buf_add_str(out, " before, ");
	func_table_printable(fact->value[DIFF_AFTER], out);
	buf_add_str(out, " after");
}

static void warn_duration(const struct diff *diff, struct buf *out)
{
	buf_printf(out,
		   "the recordings are not of one length, %.2f s and %.2f s, and absolute amounts "
		   "are compared (--normalize: shares)",
		   (double)diff->duration_ns[DIFF_BEFORE] / NSEC_PER_SEC,
		   (double)diff->duration_ns[DIFF_AFTER] / NSEC_PER_SEC);
}

/* Nothing that --by makes of one side is in the other: no stack is in both. */
static bool shares_no_stack(const struct diff *diff)
{
	const struct profile *prof = &diff->joined;

	if (!*diff->by || diff->total.value[DIFF_BEFORE] <= 0 || diff->total.value[DIFF_AFTER] <= 0)
		return false;
	for (size_t i = 0; i < prof->sample_cnt; i++)
		if (prof->values[i * prof->value_type_cnt + DIFF_BEFORE] &&
		    prof->values[i * prof->value_type_cnt + DIFF_AFTER])
			return false;
	return true;
}

/* Would the two sides differ without any change of the program? */
static int add_warnings(struct diff_report *report)
{
	const struct diff *diff = report->diff;
	_cleanup_(buf_deinit) struct buf text;
	int err = 0;

	buf_init(&text, BUF_NO_MAX);
	for (size_t i = 0; i < report->fact_cnt && !err; i++) {
		if (!fact_differs(&report->facts[i]))
			continue;
		warn_fact(&report->facts[i], &text);
		err = add_line(&report->warnings, &text);
	}
	if (!err && !diff->normalize && !report->timing_cnt && duration_differs(diff)) {
		warn_duration(diff, &text);
		err = add_line(&report->warnings, &text);
	}
	if (!err && shares_no_stack(diff)) {
		buf_add_str(&text, "no stack is in both; where that is because threads have other "
				   "names, --by none leaves these out");
		err = add_line(&report->warnings, &text);
	}
	return err;
}

void diff_report_function(const struct diff_report *report, uint32_t row, struct buf *out)
{
	const struct profile *prof = &report->diff->joined;
	const struct profile_location *loc = &prof->locations[report->diff->rows[row].location];
	const char *name = row_name(report->diff, row), *path = "", *slash;

	if (loc->mapping != PROFILE_NONE)
		path = profile_str(prof, prof->mappings[loc->mapping].path);
	slash = strrchr(path, '/');
	path = slash ? slash + 1 : path;
	if (!*name) {
		buf_add_char(out, '[');
		func_table_printable(*path ? path : "unknown", out);
		buf_printf(out, "+0x%" PRIx64 "]", loc->address);
		return;
	}
	func_table_printable(name, out);
	if (!*path)
		return;
	buf_add_str(out, *path == '[' ? "  " : "  [");
	func_table_printable(path, out);
	buf_add_str(out, *path == '[' ? "" : "]");
}

void diff_report_amount(const struct diff_report *report, double amount, struct buf *out)
{
	size_t runs = report->diff->side_runs[DIFF_BEFORE];
	double whole = (double)report->diff->total.value[DIFF_BEFORE];

	if (report->diff->normalize)
		buf_printf(out, "%.2f %%", whole > 0 ? 100 * amount / whole : 0);
	else
		amount_format(diff_round(amount / (double)(runs ? runs : 1)), report->unit, out);
}

static bool is_regression(const struct diff_report *report, const struct diff_change *change)
{
	double whole = (double)report->diff->total.value[DIFF_BEFORE];

	return report->fail_above >= 0 && change->is_significant && change->change > 0 &&
	       100 * change->change > report->fail_above * whole;
}

static void add_regression(const struct diff_report *report, const struct diff_change *change,
			   struct buf *out)
{
	double whole = (double)report->diff->total.value[DIFF_BEFORE];

	if (whole > 0)
		buf_printf(out, " +%.2f %% of all", 100 * change->change / whole);
	else
		buf_add_str(out, " where there was nothing");
	if (change == &report->diff->total)
		return;
	if (change->value[DIFF_BEFORE] > 0)
		buf_printf(out, " (+%.1f %% of itself)", diff_percent(change));
	else
		buf_add_str(out, " (new)");
}

static int add_regressions(struct diff_report *report)
{
	const struct diff *diff = report->diff;
	_cleanup_(buf_deinit) struct buf text;
	int err = 0;

	buf_init(&text, BUF_NO_MAX);
	if (is_regression(report, &diff->total)) {
		buf_add_str(&text, "regression: everything together");
		add_regression(report, &diff->total, &text);
		err = add_line(&report->regressions, &text);
	}
	for (size_t i = 0; i < report->order_cnt && !err; i++) {
		const struct diff_change *change = &diff->rows[report->order[i]].total;

		if (!is_regression(report, change))
			continue;
		buf_add_str(&text, "regression: ");
		diff_report_function(report, report->order[i], &text);
		add_regression(report, change, &text);
		err = add_line(&report->regressions, &text);
	}
	return err;
}

int diff_report_conclude(struct diff_report *report)
{
	int err = add_warnings(report);

	return err ? err : add_regressions(report);
}
