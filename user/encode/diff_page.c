/* SPDX-License-Identifier: Apache-2.0 */
/* A difference as a page and as pictures: see diff_page.h. */
#include "encode/diff_page.h"

#include "base/cleanup.h"
#include "encode/html_changes.h"

static void add_title(const struct diff_report *report, const char *title, struct buf *out)
{
	if (title)
		buf_add_str(out, title);
	else
		buf_printf(out, "%s: what changed", report->type);
}

int diff_page_svg(const struct diff_report *report, enum diff_width width, const char *title,
		  struct buf *out)
{
	_cleanup_(buf_deinit) struct buf heading, line;
	struct diff_svg_opts how = {.width = width};

	buf_init(&heading, BUF_NO_MAX);
	buf_init(&line, BUF_NO_MAX);
	add_title(report, title, &heading);
	diff_report_line(report, &line);
	if (report->diff->side_runs[DIFF_BEFORE] > 1)
		buf_printf(&line, " (one run on average; drawn: %zu runs of each together)",
			   report->diff->side_runs[DIFF_BEFORE]);
	how.title = buf_cstr(&heading);
	how.subtitle = buf_cstr(&line);
	return diff_svg_encode(report->diff, &how, out);
}

/* What the page is told beside the two values: see html_diff.js. */
static void add_facts(const struct diff_report *report, enum diff_width width, struct buf *out)
{
	buf_printf(out, "{\"width\":%d,\"locations\":[", (int)width);
	for (size_t i = 0; i < report->order_cnt; i++)
		buf_printf(out, "%s%u", i ? "," : "",
			   report->diff->rows[report->order[i]].location);
	buf_add_str(out, "],\"report\":");
	diff_report_object(report, out);
	buf_add_char(out, '}');
}

int diff_page_html(const struct diff_report *report, enum diff_width width, const char *title,
		   const struct encoder_opts *way, struct buf *out)
{
	_cleanup_(html_changes_deinit) struct html_changes changes = {0};
	_cleanup_(buf_deinit) struct buf heading, line, facts;
	struct encoder_opts how = way ? *way : (struct encoder_opts){0};
	int err;

	buf_init(&heading, BUF_NO_MAX);
	buf_init(&line, BUF_NO_MAX);
	buf_init(&facts, BUF_NO_MAX);
	add_title(report, title, &heading);
	diff_report_line(report, &line);
	add_facts(report, width, &facts);
	err = facts.err ? facts.err : html_changes_init(&changes, report, width);
	if (err)
		return err;
	how.value = DIFF_AFTER;
	how.by = report->diff->by;
	how.title = buf_cstr(&heading);
	how.subtitle = buf_cstr(&line);
	how.difference = buf_cstr(&facts);
	how.changes = &changes;
	return encoder_html.encode(&report->diff->joined, &how, out);
}

int diff_page_folded(const struct diff_report *report, struct buf *out)
{
	struct encoder_opts how = {.value = DIFF_BEFORE, .by = report->diff->by};

	return folded_encode_pair(&report->diff->joined, &how, DIFF_AFTER, out);
}
