/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flame graph: one SVG that needs nothing else. Without a script (in a README, in an <img>) it
 * is a plain image with tooltips; opened in a browser, its script takes over from the data that it
 * carries (svg_data.c), follows the window's width, zooms, searches, and draws the frames that were
 * too narrow for the image.
 *
 *	<svg data-total data-unit>
 *	  <style>           both colour schemes
 *	  <g class="head">  title, subtitle
 *	  <g class="plot">  frames, root at the bottom (svg_frames.c)
 *	  <g class="foot">  details of the frame under the pointer, legend, ledger
 *	  <script type="application/json">, <script>
 *
 * All text from outside passes through svg_text.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "encode/encoder.h"
#include "encode/svg.h"

/* Pixels; the footer's are relative to its top. */
enum {
	TITLE_BASELINE = 36,
	TITLE_COLUMNS = 62, /* leaves room for the script's controls */
	SUBTITLE_BASELINE = 58,
	SUBTITLE_LEADING = 17,
	SUBTITLE_LINES_MAX = 3,
	SUBTITLE_COLUMNS = 170,
	PLOT_GAP = 16, /* from the last subtitle's baseline */
	EMPTY_HEIGHT = 96,
	DETAILS_BASELINE = 22,
	LEGEND_TOP = 35,
	LEGEND_SWATCH = 12,
	LEGEND_CHAR = 6,
	LEDGER_BASELINE = 68,
	LEDGER_LEADING = 16,
	LEDGER_LINES_MAX = 6,
	LEDGER_COLUMNS = 190,
	BOTTOM = 14,
};

static const char style[] = {
#include "gen/svg.css.h"
	0};

static const char script[] = {
#include "gen/svg_tree.js.h"
#include "gen/svg_draw.js.h"
#include "gen/svg.js.h"
	0};

struct document {
	const struct profile *prof;
	const struct encoder_opts *opts;
	uint32_t value; /* PROFILE_NONE: the profile has none */
	struct svg_unit unit;
	struct flame_tree tree;
	struct svg_frames frames;
};

static bool is_empty(const struct document *doc)
{
	return doc->tree.nodes[0].total == 0;
}

/* What was sampled: "cpu-clock". */
static const char *event_name(const struct document *doc)
{
	static const char *const words[][2] = {
		{"wall", "wall time"},
		{"off_cpu", "off-CPU time"},
	};
	const struct profile *prof = doc->prof;
	const char *type = "";

	if (doc->value != PROFILE_NONE)
		type = profile_str(prof, prof->value_types[doc->value].type);
	if ((!*type || !strcmp(type, "samples")) && *profile_str(prof, prof->period_type.type))
		type = profile_str(prof, prof->period_type.type);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(type, words[i][0]))
			return words[i][1];
	return *type ? type : "samples";
}

static void add_rate(const struct profile *prof, struct buf *out)
{
	struct svg_unit unit = svg_unit_of(profile_str(prof, prof->period_type.type),
					   profile_str(prof, prof->period_type.unit));
	uint64_t period = (uint64_t)prof->period;

	if (prof->period <= 0)
		return;
	buf_add_str(out, " \xc2\xb7 one sample per ");
	if (unit.scale == SVG_COUNT) {
		svg_add_grouped(out, period);
		buf_printf(out, " %s", unit.noun);
	} else {
		svg_add_value(out, &unit, prof->period);
	}
	if (unit.scale == SVG_TIME && period <= NSEC_PER_SEC)
		buf_printf(out, " (%" PRIu64 " Hz)",
			   (uint64_t)(NSEC_PER_SEC + period / 2) / period);
}

static void add_span(const struct profile *prof, struct buf *out)
{
	static const struct svg_unit nanoseconds = {SVG_TIME, "nanoseconds"};
	time_t start = (time_t)(prof->time_ns / NSEC_PER_SEC);
	char text[64];
	struct tm utc;

	if (prof->duration_ns && prof->duration_ns <= INT64_MAX) {
		buf_add_str(out, " \xc2\xb7 ");
		svg_add_value(out, &nanoseconds, (int64_t)prof->duration_ns);
	}
	if (start && gmtime_r(&start, &utc) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &utc))
		buf_printf(out, " \xc2\xb7 %s", text);
}

static void make_subtitle(const struct document *doc, struct buf *out)
{
	buf_add_str(out, event_name(doc));
	if (strcmp(doc->unit.noun, event_name(doc)))
		buf_printf(out, " in %s", doc->unit.noun);
	add_rate(doc->prof, out);
	add_span(doc->prof, out);
}

/* What a part could not hold, the whole does not hold either. */
static void release_part(struct buf *part, struct buf *whole)
{
	if (!whole->err)
		whole->err = part->err;
	buf_deinit(part);
}

static void add_title(struct buf *out, const struct document *doc)
{
	struct buf title;

	buf_init(&title, BUF_NO_MAX);
	if (doc->opts->title)
		buf_add_str(&title, doc->opts->title);
	else
		buf_printf(&title, "%s flame graph", event_name(doc));
	buf_add_str(out, "<title>");
	svg_add_text(out, buf_cstr(&title));
	buf_add_str(out, "</title>\n<style>\n");
	buf_add_str(out, style);
	buf_add_str(out, "</style>\n"
			 "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" "
			 "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
			 "<rect class=\"hatch-ground\" width=\"6\" height=\"6\"/>"
			 "<rect class=\"hatch-line\" width=\"2\" height=\"6\"/>"
			 "</pattern>"
			 "<linearGradient id=\"rule\" x2=\"0\" y2=\"1\">"
			 "<stop offset=\".94\" stop-opacity=\"0\"/>"
			 "<stop class=\"rule-line\" offset=\".94\"/>"
			 "</linearGradient></defs>\n"
			 "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n"
			 "<g class=\"head\">");
	buf_printf(out, "<text class=\"title\" x=\"%d\" y=\"%d\">", SVG_MARGIN, TITLE_BASELINE);
	svg_add_fitted(out, buf_cstr(&title), TITLE_COLUMNS);
	buf_add_str(out, "</text>\n");
	release_part(&title, out);
}

/* Returns the y of the plot's top. */
static uint32_t add_head(struct buf *out, const struct document *doc)
{
	struct buf subtitle;
	uint32_t lines;

	add_title(out, doc);
	buf_init(&subtitle, BUF_NO_MAX);
	if (doc->opts->subtitle)
		buf_add_str(&subtitle, doc->opts->subtitle);
	else
		make_subtitle(doc, &subtitle);
	lines = svg_add_paragraph(out, "subtitle", buf_cstr(&subtitle), SUBTITLE_BASELINE,
				  SUBTITLE_LEADING, SUBTITLE_COLUMNS, SUBTITLE_LINES_MAX);
	release_part(&subtitle, out);
	buf_add_str(out, "</g>\n");
	return SUBTITLE_BASELINE + (lines ? lines - 1 : 0) * SUBTITLE_LEADING + PLOT_GAP;
}

/* Say that nothing was sampled, and whether there were samples at all. */
static void add_nothing(struct buf *out, const struct document *doc, uint32_t top)
{
	int middle = SVG_WIDTH / 2;

	buf_printf(out, "<text class=\"empty\" x=\"%d\" y=\"%u\">Nothing was sampled</text>\n",
		   middle, top + 40);
	buf_printf(out, "<text class=\"empty-why\" x=\"%d\" y=\"%u\">", middle, top + 64);
	if (doc->prof->sample_cnt) {
		buf_add_str(out, "None of its ");
		svg_add_grouped(out, doc->prof->sample_cnt);
		buf_add_str(out, " stacks has a value above zero.");
	} else {
		buf_add_str(out, "The profile is valid and holds no stacks.");
	}
	buf_add_str(out, "</text>\n");
}

static uint32_t add_plot(struct buf *out, const struct document *doc, uint32_t top)
{
	uint32_t height = is_empty(doc) ? EMPTY_HEIGHT : doc->frames.row_cnt * SVG_ROW;

	buf_add_str(out, "<g class=\"plot\">\n");
	if (is_empty(doc))
		add_nothing(out, doc, top);
	else
		svg_add_frames(out, &doc->frames, top);
	buf_add_str(out, "</g>\n");
	return top + height;
}

/* One swatch; returns the x of the next. */
static uint32_t add_legend_item(struct buf *out, const char *cls, const char *text, uint32_t x)
{
	buf_printf(out,
		   "<g class=\"%s\"><rect x=\"%u\" y=\"%d\" width=\"%d\" height=\"%d\"/>"
		   "<text x=\"%u\" y=\"%d\">%s</text></g>\n",
		   cls, x, LEGEND_TOP, LEGEND_SWATCH, LEGEND_SWATCH, x + LEGEND_SWATCH + 6,
		   LEGEND_TOP + LEGEND_SWATCH - 2, text);
	return x + LEGEND_SWATCH + 6 + (uint32_t)strlen(text) * LEGEND_CHAR + 18;
}

/* Only what is there: most profiles have three of the kinds. */
static void add_legend(struct buf *out, const struct document *doc)
{
	static const char *const classes[] = {
		[FLAME_PROCESS] = "p", [FLAME_USER] = "u1",    [FLAME_LIBRARY] = "l1",
		[FLAME_JIT] = "j1",    [FLAME_KERNEL] = "k1",  [FLAME_SYNTHETIC] = "s",
		[FLAME_BLOCKED] = "b", [FLAME_RUNNABLE] = "q",
	};
	bool has_kind[FLAME_KIND_CNT] = {false}, has_waiting[FLAME_KIND_CNT + 1] = {false};
	uint32_t x = SVG_MARGIN;
	uint8_t flags = 0;

	for (size_t i = 0; i < doc->tree.node_cnt; i++) {
		has_kind[doc->tree.nodes[i].kind] = true;
		has_waiting[flame_waits_for(&doc->tree, &doc->tree.nodes[i])] = true;
		flags |= doc->tree.nodes[i].flags;
	}
	buf_add_str(out, "<g class=\"legend\">\n");
	for (enum flame_kind kind = FLAME_PROCESS; kind < FLAME_WOKEN_BY; kind++)
		if (has_kind[kind])
			x = add_legend_item(out, classes[kind], svg_kind_name(kind), x);
	if (has_waiting[FLAME_BLOCKED])
		x = add_legend_item(out, "ub", "mostly blocked", x);
	if (has_waiting[FLAME_RUNNABLE])
		x = add_legend_item(out, "uq", "mostly runnable", x);
	if (flags & FLAME_INLINED)
		x = add_legend_item(out, "u1 i", "inlined (fainter)", x);
	if (flags & FLAME_WAKER)
		add_legend_item(out, "ub w", "waker (dashed)", x);
	buf_add_str(out, "</g>\n");
}

static void add_details(struct buf *out, const struct document *doc)
{
	buf_printf(out, "<text class=\"details\" x=\"%d\" y=\"%d\">all: ", SVG_MARGIN,
		   DETAILS_BASELINE);
	svg_add_value(out, &doc->unit, doc->tree.nodes[0].total);
	buf_add_str(out, "</text>\n");
}

/* Returns the height. */
static uint32_t add_foot(struct buf *out, const struct document *doc, uint32_t top)
{
	uint32_t baseline = is_empty(doc) ? DETAILS_BASELINE : LEDGER_BASELINE;
	uint32_t lines = 0;

	buf_printf(out, "<g class=\"foot\" transform=\"translate(0 %u)\">\n", top);
	if (!is_empty(doc)) {
		add_details(out, doc);
		add_legend(out, doc);
	}
	if (doc->opts->ledger_line)
		lines = svg_add_paragraph(out, "ledger", doc->opts->ledger_line, baseline,
					  LEDGER_LEADING, LEDGER_COLUMNS, LEDGER_LINES_MAX);
	buf_add_str(out, "</g>\n");
	return baseline + (lines ? lines - 1 : 0) * LEDGER_LEADING + BOTTOM;
}

static int add_scripts(struct buf *out, const struct document *doc)
{
	int err;

	buf_add_str(out, "<script type=\"application/json\">");
	err = svg_add_data(out, &doc->tree, &doc->unit);
	buf_add_str(out, "</script>\n<script><![CDATA[\n'use strict';\n{\n");
	buf_add_str(out, script);
	buf_add_str(out, "}\n]]></script>\n</svg>\n");
	return err;
}

/* The heights stand in front of what decides them, so the body is made first. */
static int add_document(struct buf *out, const struct document *doc)
{
	struct buf body;
	uint32_t top, bottom, height;
	int err;

	buf_init(&body, out->max_bytes);
	top = add_head(&body, doc);
	bottom = add_plot(&body, doc, top);
	height = bottom + add_foot(&body, doc, bottom);
	err = add_scripts(&body, doc);
	buf_printf(out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
		   "viewBox=\"0 0 %d %u\" data-top=\"%u\" data-foot=\"%u\" "
		   "data-total=\"%" PRId64 "\" data-unit=\"",
		   SVG_WIDTH, height, SVG_WIDTH, height, top, height - bottom,
		   doc->tree.nodes[0].total);
	svg_add_text(out, doc->unit.noun);
	buf_add_str(out, "\">\n");
	buf_add(out, buf_cstr(&body), body.len);
	if (!err)
		err = body.err ? body.err : out->err;
	buf_deinit(&body);
	return err;
}

static int encode(const struct profile *prof, const struct encoder_opts *opts, struct buf *out)
{
	struct document doc = {.prof = prof, .opts = opts, .value = PROFILE_NONE};
	int err;

	if (prof->value_type_cnt)
		doc.value = opts->value == PROFILE_NONE ? prof->default_value : opts->value;
	err = flame_build(prof, doc.value, opts->by, &doc.tree);
	if (err)
		return err;
	doc.unit = svg_unit_of("", "");
	if (doc.value != PROFILE_NONE)
		doc.unit = svg_unit_of(profile_str(prof, prof->value_types[doc.value].type),
				       profile_str(prof, prof->value_types[doc.value].unit));
	svg_frames_init(&doc.frames, &doc.tree, &doc.unit);
	err = add_document(out, &doc);
	flame_deinit(&doc.tree);
	return err;
}

const struct encoder encoder_svg = {
	.name = "svg",
	.extension = ".svg",
	.help = "flame graph, one file: zoom and search in a browser, a plain image elsewhere",
	.is_one_value = true,
	.encode = encode,
};
