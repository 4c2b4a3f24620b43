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

#include "encode/caption.h"
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

static const char diff_style[] = {
#include "gen/svg_diff.css.h"
	0};

static const char script[] = {
#include "gen/svg_tree.js.h"
#include "gen/svg_draw.js.h"
	0};

static const char diff_script[] = {
#include "gen/svg_diff.js.h"
	0};

static const char start_script[] = {
#include "gen/svg.js.h"
	0};

struct document {
	const struct profile *prof;
	const struct encoder_opts *opts;
	uint32_t value; /* PROFILE_NONE: the profile has none */
	struct svg_unit unit;
	const struct flame_tree *tree;
	const struct svg_diff *diff; /* NULL: none */
	struct svg_frames frames;
	struct svg_data data;
};

static bool is_empty(const struct document *doc)
{
	return doc->tree->nodes[0].total == 0;
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
	caption_add_title(&title, doc->prof, doc->opts);
	buf_add_str(out, "<title>");
	svg_add_text(out, buf_cstr(&title));
	buf_add_str(out, "</title>\n<style>\n");
	buf_add_str(out, style);
	if (doc->diff)
		buf_add_str(out, diff_style);
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
	caption_add_subtitle(&subtitle, doc->prof, doc->opts);
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

static void add_diff_legend(struct buf *out)
{
	const char *cls, *text;
	uint32_t x = SVG_MARGIN;

	buf_add_str(out, "<g class=\"legend\">\n");
	for (uint32_t i = 0; svg_diff_legend(i, &cls, &text); i++)
		x = add_legend_item(out, cls, text, x);
	buf_add_str(out, "</g>\n");
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

	for (size_t i = 0; i < doc->tree->node_cnt; i++) {
		has_kind[doc->tree->nodes[i].kind] = true;
		has_waiting[flame_waits_for(doc->tree, &doc->tree->nodes[i])] = true;
		flags |= doc->tree->nodes[i].flags;
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
	svg_add_value(out, &doc->unit, doc->tree->nodes[0].total);
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
		if (doc->diff)
			add_diff_legend(out);
		else
			add_legend(out, doc);
	}
	if (doc->opts->ledger_line)
		lines = svg_add_paragraph(out, "ledger", doc->opts->ledger_line, baseline,
					  LEDGER_LEADING, LEDGER_COLUMNS, LEDGER_LINES_MAX);
	buf_add_str(out, "</g>\n");
	return baseline + (lines ? lines - 1 : 0) * LEDGER_LEADING + BOTTOM;
}

static int add_scripts(struct buf *out, struct document *doc)
{
	int err;

	buf_add_str(out, "<script type=\"application/json\">");
	err = svg_data_end(&doc->data, out, &doc->unit, doc->diff);
	buf_add_str(out, "</script>\n<script><![CDATA[\n'use strict';\n{\n");
	buf_add_str(out, script);
	if (doc->diff)
		buf_add_str(out, diff_script);
	buf_add_str(out, start_script);
	buf_add_str(out, "}\n]]></script>\n</svg>\n");
	return err;
}

/* The heights stand in front of what decides them, so the image is made first; what is large, the
 * data, is written once. */
static int add_document(struct buf *out, struct document *doc)
{
	struct buf image;
	uint32_t top, bottom, height;
	int err;

	buf_init(&image, out->max_bytes);
	top = add_head(&image, doc);
	bottom = add_plot(&image, doc, top);
	height = bottom + add_foot(&image, doc, bottom);
	buf_printf(out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
		   "viewBox=\"0 0 %d %u\" data-top=\"%u\" data-foot=\"%u\" "
		   "data-total=\"%" PRId64 "\" data-unit=\"",
		   SVG_WIDTH, height, SVG_WIDTH, height, top, height - bottom,
		   doc->tree->nodes[0].total);
	svg_add_text(out, doc->unit.noun);
	buf_add_str(out, "\">\n");
	buf_add(out, buf_cstr(&image), image.len);
	release_part(&image, out);
	err = add_scripts(out, doc);
	return err ? err : out->err;
}

int svg_add_document(struct buf *out, const struct profile *prof, const struct encoder_opts *opts,
		     uint32_t value, const struct flame_tree *tree, const struct svg_diff *diff)
{
	struct document doc = {
		.prof = prof,
		.opts = opts,
		.value = value,
		.unit = svg_unit_of("", ""),
		.tree = tree,
		.diff = diff,
	};
	int err;

	if (value != PROFILE_NONE)
		doc.unit = svg_unit_of(profile_str(prof, prof->value_types[value].type),
				       profile_str(prof, prof->value_types[value].unit));
	if (diff)
		doc.unit = *diff->unit;
	err = svg_data_begin(&doc.data, tree);
	if (!err) {
		svg_frames_init(&doc.frames, tree, &doc.unit, diff);
		err = add_document(out, &doc);
	}
	svg_data_deinit(&doc.data);
	return err;
}

static int encode(const struct profile *prof, const struct encoder_opts *opts, struct buf *out)
{
	uint32_t value = caption_value(prof, opts);
	struct flame_tree tree;
	int err;

	err = opts->calls ? flame_build_calls(opts->calls, opts->by, true, &tree)
			  : flame_build(prof, value, opts->by, &tree);
	if (err)
		return err;
	err = svg_add_document(out, prof, opts, value, &tree, NULL);
	flame_deinit(&tree);
	return err;
}

const struct encoder encoder_svg = {
	.name = "svg",
	.extension = ".svg",
	.help = "flame graph, one file: zoom and search in a browser, a plain image elsewhere",
	.is_one_value = true,
	.encode = encode,
};
