/* SPDX-License-Identifier: Apache-2.0 */
/* A difference as text, as markdown, as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "encode/diff_report.h"
#include "encode/func_table.h"
#include "encode/text.h"

static const char *const side_names[] = {[DIFF_BEFORE] = "before", [DIFF_AFTER] = "after"};

/* "+520.00 ms" or "-1.20 s", in at least @width columns. */
static void add_signed(const struct diff_report *report, double amount, int width, struct buf *out)
{
	_cleanup_(buf_deinit) struct buf text;

	buf_init(&text, BUF_NO_MAX);
	buf_add_str(&text, amount < 0 ? "-" : "+");
	diff_report_amount(report, fabs(amount), &text);
	buf_printf(out, "%*s", width, buf_cstr(&text));
}

static void add_amount(const struct diff_report *report, double amount, int width, struct buf *out)
{
	_cleanup_(buf_deinit) struct buf text;

	buf_init(&text, BUF_NO_MAX);
	diff_report_amount(report, amount, &text);
	buf_printf(out, "%*s", width, buf_cstr(&text));
}

/* "+26.0 %", "new", "gone". */
static void add_percent(const struct diff_change *change, int width, struct buf *out)
{
	double percent = diff_percent(change);
	char text[32];

	if (isinf(percent))
		snprintf(text, sizeof(text), "new");
	else if (!change->value[DIFF_AFTER] && change->value[DIFF_BEFORE])
		snprintf(text, sizeof(text), "gone");
	else
		snprintf(text, sizeof(text), "%+.1f %%", percent);
	buf_printf(out, "%*s", width, text);
}

static bool is_nothing(const struct diff_change *change)
{
	return !change->value[DIFF_BEFORE] && !change->value[DIFF_AFTER];
}

static const char *mark_of(const struct diff_change *change)
{
	return change->is_significant ? "*" : isnan(change->p) ? "?" : " ";
}

/* After as it was compared: scaled, where shares are. */
static double after_of(const struct diff_change *change)
{
	return (double)change->value[DIFF_BEFORE] + change->change;
}

static void add_change_columns(const struct diff_report *report, const struct diff_change *total,
			       struct buf *out)
{
	add_amount(report, (double)total->value[DIFF_BEFORE], 11, out);
	add_amount(report, after_of(total), 12, out);
	add_signed(report, total->change, 13, out);
	buf_add_str(out, " \xc2\xb1");
	add_amount(report, total->margin, 11, out);
	add_percent(total, 10, out);
	buf_printf(out, " %s", mark_of(total));
}

static void add_row(const struct diff_report *report, uint32_t row, struct buf *out)
{
	const struct diff_row *at = &report->diff->rows[row];

	add_change_columns(report, &at->total, out);
	if (is_nothing(&at->self)) {
		buf_printf(out, "%17s", "");
	} else {
		add_signed(report, at->self.change, 13, out);
		buf_printf(out, " %s  ", mark_of(&at->self));
	}
	diff_report_function(report, row, out);
	buf_add_char(out, '\n');
}

static void add_nothing(const struct diff_report *report, struct buf *out)
{
	buf_add_str(out, report->is_of_grown ? "\nNo function grew significantly.\n"
					     : "\nNo function changed.\n");
}

static void add_table(const struct diff_report *report, struct buf *out)
{
	size_t cnt = report->order_cnt < report->limit ? report->order_cnt : report->limit;

	if (!report->order_cnt) {
		add_nothing(report, out);
		return;
	}
	buf_printf(out, "\n%11s%12s%13s  %11s%10s  %13s    %s\n", "before", "after", "change",
		   "95 %", "", "self change", "function");
	for (size_t i = 0; i < cnt; i++)
		add_row(report, report->order[i], out);
	if (cnt < report->order_cnt)
		buf_printf(out, "... and %zu functions more (--limit)\n", report->order_cnt - cnt);
	buf_add_str(out, "\n* significant: of what is marked at most 5 % is chance, on average; "
			 "?: fewer than 10 samples\n");
}

static void add_side(const struct diff_report *report, enum diff_side side, struct buf *out)
{
	const struct diff *diff = report->diff;

	func_table_printable(report->names[side], out);
	if (diff->duration_ns[side] && diff->side_runs[side] == 1)
		buf_printf(out, ", %.2f s", (double)diff->duration_ns[side] / NSEC_PER_SEC);
	if (diff->side_runs[side] > 1)
		buf_printf(out, ", %zu runs", diff->side_runs[side]);
	buf_printf(out, ", %.0f samples", diff->total.samples[side]);
	for (size_t i = 0; i < report->fact_cnt; i++) {
		if (!report->facts[i].value[side])
			continue;
		buf_add_str(out, ", ");
		func_table_printable(report->facts[i].key, out);
		buf_add_char(out, ' ');
		func_table_printable(report->facts[i].value[side], out);
	}
}

static void add_seconds(double seconds, bool is_signed, struct buf *out)
{
	if (is_signed || seconds < 0)
		buf_add_char(out, seconds < 0 ? '-' : '+');
	amount_format(diff_round(fabs(seconds) * 1e9), "nanoseconds", out);
}

/* "medians 1.00 s, then 1.26 s; shift +260.00 ms (+240.00 ms to +280.00 ms), +26.0 %, p 0.008". The
 * shift is the median of all differences, which need not be the difference of the medians. */
static void add_timing(const struct significance_shift *shift, struct buf *out)
{
	buf_add_str(out, "medians ");
	add_seconds(shift->before, false, out);
	buf_add_str(out, ", then ");
	add_seconds(shift->after, false, out);
	buf_add_str(out, "; shift ");
	add_seconds(shift->shift, true, out);
	if (isnan(shift->low)) {
		buf_add_str(out, " (too few runs for an interval)");
	} else {
		buf_add_str(out, " (");
		add_seconds(shift->low, true, out);
		buf_add_str(out, " to ");
		add_seconds(shift->high, true, out);
		buf_add_char(out, ')');
	}
	if (shift->before > 0)
		buf_printf(out, ", %+.1f %%", 100 * shift->shift / shift->before);
	buf_printf(out, ", p %.2g: %s", shift->p,
		   shift->p <= SIGNIFICANCE_LEVEL ? "significant" : "not significant");
}

static void add_total(const struct diff_report *report, struct buf *out)
{
	const struct diff_change *total = &report->diff->total;
	size_t runs = report->diff->side_runs[DIFF_BEFORE];

	amount_format(total->value[DIFF_BEFORE] / (int64_t)(runs ? runs : 1), report->unit, out);
	buf_add_str(out, ", then ");
	amount_format(total->value[DIFF_AFTER] / (int64_t)(runs ? runs : 1), report->unit, out);
	if (report->diff->normalize) {
		buf_add_str(out, "; shares of it are compared");
		return;
	}
	buf_add_str(out, ": ");
	add_signed(report, total->change, 0, out);
	buf_add_str(out, " \xc2\xb1 ");
	add_amount(report, total->margin, 0, out);
	buf_add_str(out, ", ");
	add_percent(total, 0, out);
	buf_add_str(out, total->is_significant ? ", significant" : ", not significant");
}

void diff_report_text(const struct diff_report *report, struct buf *out)
{
	for (enum diff_side side = DIFF_BEFORE; side <= DIFF_AFTER; side++) {
		buf_printf(out, "%-9s ", side_names[side]);
		add_side(report, side, out);
		buf_add_char(out, '\n');
	}
	for (size_t i = 0; i < report->warnings.cnt; i++)
		buf_printf(out, "WARNING   %s\n", report->warnings.items[i]);
	buf_printf(out, "value     %s (%s)%s\n", report->type, report->unit,
		   report->diff->side_runs[DIFF_BEFORE] > 1 ? ", of one run on average" : "");
	for (size_t i = 0; i < report->timing_cnt; i++) {
		buf_printf(out, "%-9s ", report->timings[i].name);
		add_timing(&report->timings[i].shift, out);
		buf_add_char(out, '\n');
	}
	buf_add_str(out, "total     ");
	add_total(report, out);
	buf_add_char(out, '\n');
	add_table(report, out);
}

/* Text that may be anything, outside of tables. */
static void add_plain(const char *text, struct buf *out)
{
	for (; *text; text++) {
		if (strchr("\\`*_[]<>|#&", *text))
			buf_add_char(out, '\\');
		buf_add_char(out, *text);
	}
}

static void add_markdown_row(const struct diff_report *report, uint32_t row, struct buf *out)
{
	const struct diff_row *at = &report->diff->rows[row];
	_cleanup_(buf_deinit) struct buf name, clean;

	buf_init(&name, BUF_NO_MAX);
	buf_init(&clean, BUF_NO_MAX);
	diff_report_function(report, row, &name);
	text_add_utf8(&clean, buf_cstr(&name), name.len);
	buf_add_str(out, "| ");
	text_add_code(out, buf_cstr(&clean));
	buf_add_str(out, " | ");
	add_amount(report, (double)at->total.value[DIFF_BEFORE], 0, out);
	buf_add_str(out, " | ");
	add_amount(report, after_of(&at->total), 0, out);
	buf_add_str(out, " | ");
	add_signed(report, at->total.change, 0, out);
	buf_add_str(out, " \xc2\xb1 ");
	add_amount(report, at->total.margin, 0, out);
	buf_add_str(out, " | ");
	add_percent(&at->total, 0, out);
	buf_printf(out, " | %s | ",
		   at->total.is_significant ? "**yes**"
		   : isnan(at->total.p)	    ? "too few samples"
					    : "no");
	if (!is_nothing(&at->self))
		add_signed(report, at->self.change, 0, out);
	buf_add_str(out, " |\n");
}

static void add_markdown_head(const struct diff_report *report, struct buf *out)
{
	_cleanup_(buf_deinit) struct buf text, clean;

	buf_init(&text, BUF_NO_MAX);
	buf_init(&clean, BUF_NO_MAX);
	buf_printf(out, "## %s: ", report->type);
	add_total(report, out);
	buf_add_str(out, "\n\n");
	for (enum diff_side side = DIFF_BEFORE; side <= DIFF_AFTER; side++) {
		buf_reset(&text);
		buf_reset(&clean);
		add_side(report, side, &text);
		text_add_utf8(&clean, buf_cstr(&text), text.len);
		buf_printf(out, "- %s: ", side_names[side]);
		add_plain(buf_cstr(&clean), out);
		buf_add_char(out, '\n');
	}
	for (size_t i = 0; i < report->timing_cnt; i++) {
		buf_printf(out, "- %s: ", report->timings[i].name);
		add_timing(&report->timings[i].shift, out);
		buf_add_char(out, '\n');
	}
	for (size_t i = 0; i < report->warnings.cnt; i++) {
		buf_add_str(out, "- **warning**: ");
		add_plain(report->warnings.items[i], out);
		buf_add_char(out, '\n');
	}
	for (size_t i = 0; i < report->regressions.cnt; i++) {
		buf_add_str(out, "- **");
		add_plain(report->regressions.items[i], out);
		buf_add_str(out, "**\n");
	}
}

void diff_report_markdown(const struct diff_report *report, struct buf *out)
{
	size_t cnt = report->order_cnt < report->limit ? report->order_cnt : report->limit;

	add_markdown_head(report, out);
	if (!report->order_cnt) {
		add_nothing(report, out);
		return;
	}
	buf_add_str(out,
		    "\n| function | before | after | change (95 %) | % | significant | self |\n"
		    "|---|--:|--:|--:|--:|---|--:|\n");
	for (size_t i = 0; i < cnt; i++)
		add_markdown_row(report, report->order[i], out);
	if (cnt < report->order_cnt)
		buf_printf(out, "\n%zu functions more changed.\n", report->order_cnt - cnt);
}

static void json_side(const struct diff_report *report, enum diff_side side, struct json *js)
{
	const struct diff *diff = report->diff;

	json_key(js, side_names[side]);
	json_object_begin(js);
	json_kv_str(js, "name", report->names[side]);
	json_kv_double(js, "duration_s", (double)diff->duration_ns[side] / NSEC_PER_SEC);
	json_kv_u64(js, "runs", diff->side_runs[side]);
	json_key(js, "facts");
	json_object_begin(js);
	for (size_t i = 0; i < report->fact_cnt; i++)
		if (report->facts[i].value[side])
			json_kv_str(js, report->facts[i].key, report->facts[i].value[side]);
	json_object_end(js);
	json_object_end(js);
}

static void json_lines(const char *key, const struct diff_lines *lines, struct json *js)
{
	json_key(js, key);
	json_array_begin(js);
	for (size_t i = 0; i < lines->cnt; i++)
		json_str(js, lines->items[i]);
	json_array_end(js);
}

static void json_timings(const struct diff_report *report, struct json *js)
{
	json_key(js, "timings");
	json_array_begin(js);
	for (size_t i = 0; i < report->timing_cnt; i++) {
		const struct significance_shift *shift = &report->timings[i].shift;

		json_object_begin(js);
		json_kv_str(js, "name", report->timings[i].name);
		json_kv_double(js, "before_s", shift->before);
		json_kv_double(js, "after_s", shift->after);
		json_kv_double(js, "change_s", shift->shift);
		json_kv_double(js, "low_s", shift->low);
		json_kv_double(js, "high_s", shift->high);
		json_kv_double(js, "p", shift->p);
		json_object_end(js);
	}
	json_array_end(js);
}

static void json_change(const char *key, const struct diff_change *change, struct json *js)
{
	json_key(js, key);
	json_object_begin(js);
	json_kv_i64(js, "before", change->value[DIFF_BEFORE]);
	json_kv_i64(js, "after", change->value[DIFF_AFTER]);
	json_kv_i64(js, "change", diff_round(change->change));
	json_kv_i64(js, "margin", diff_round(change->margin));
	json_kv_i64(js, "samples_before", diff_round(change->samples[DIFF_BEFORE]));
	json_kv_i64(js, "samples_after", diff_round(change->samples[DIFF_AFTER]));
	json_kv_double(js, "p", change->p);
	json_kv_double(js, "rate", change->rate);
	json_key(js, "significant");
	json_bool(js, change->is_significant);
	json_object_end(js);
}

static void json_function(const struct diff_report *report, uint32_t row, struct json *js)
{
	const struct profile *prof = &report->diff->joined;
	const struct diff_row *at = &report->diff->rows[row];
	const struct profile_location *loc = &prof->locations[at->location];
	_cleanup_(buf_deinit) struct buf name;

	buf_init(&name, BUF_NO_MAX);
	if (loc->line_cnt)
		buf_add_str(&name, profile_location_name(prof, at->location, 0));
	else
		diff_report_function(report, row, &name);
	json_object_begin(js);
	json_kv_str(js, "name", buf_cstr(&name));
	json_kv_str(js, "module",
		    loc->mapping == PROFILE_NONE
			    ? ""
			    : profile_str(prof, prof->mappings[loc->mapping].path));
	json_change("total", &at->total, js);
	json_change("self", &at->self, js);
	json_object_end(js);
}

void diff_report_object(const struct diff_report *report, struct buf *out)
{
	struct json js;

	json_init(&js, out);
	json_object_begin(&js);
	json_kv_str(&js, "value", report->type);
	json_kv_str(&js, "unit", report->unit);
	json_key(&js, "normalized");
	json_bool(&js, report->diff->normalize);
	json_kv_double(&js, "level", SIGNIFICANCE_LEVEL);
	json_side(report, DIFF_BEFORE, &js);
	json_side(report, DIFF_AFTER, &js);
	json_lines("warnings", &report->warnings, &js);
	json_lines("regressions", &report->regressions, &js);
	json_timings(report, &js);
	json_change("total", &report->diff->total, &js);
	json_key(&js, "functions");
	json_array_begin(&js);
	for (size_t i = 0; i < report->order_cnt; i++)
		json_function(report, report->order[i], &js);
	json_array_end(&js);
	json_object_end(&js);
}

void diff_report_json(const struct diff_report *report, struct buf *out)
{
	diff_report_object(report, out);
	buf_add_char(out, '\n');
}

void diff_report_line(const struct diff_report *report, struct buf *out)
{
	buf_printf(out, "%s, before: ", report->type);
	func_table_printable(report->names[DIFF_BEFORE], out);
	buf_add_str(out, ", after: ");
	func_table_printable(report->names[DIFF_AFTER], out);
	buf_add_str(out, " \xc2\xb7 ");
	add_total(report, out);
}
