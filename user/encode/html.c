/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report: one HTML file that needs nothing else. It carries the profile itself (html_data.c),
 * from which its scripts compute every view; without them it is a table of the hottest functions.
 *
 *	<head>    what the page may do: run these scripts, use this style, ask nobody for anything
 *	<style>
 *	<script>                                       html_text.js, html_first.js: prepares to draw
 *	-- what is above is the same for all reports --
 *	<body>    title, subtitle
 *	<script type="application/json">               the first picture (html_first.c)
 *	<script>                                       draws it
 *	<noscript>                                     ledger, the table for readers without scripts
 *	<script type="application/json">               the facts (html_facts.c)
 *	<script type="application/octet-stream;base64"> the profile
 *	<script>                                       the other html_*.js, one block
 *
 * The scripts and the style are allowed by their SHA-256, so that a name that managed to become
 * markup would still run nothing. All text from outside passes through svg_text.c here, and through
 * textContent in the page.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/base64.h"
#include "base/sha256.h"
#include "encode/caption.h"
#include "encode/encoder.h"
#include "encode/gzip.h"
#include "encode/html.h"
#include "encode/svg.h"

enum {
	PIECE_BYTES = 3 << 18, /* a multiple of base64's three */
	FIXED_BYTES = 1 << 20, /* the first picture, the table, words */
};

static const char style[] = {
#include "gen/html.css.h"
	0};

/* Each file stands in the scope of those before it. */
static const char first_script[] = {
#include "gen/html_text.js.h"
#include "gen/html_first.js.h"
	0};

static const char draw_script[] = "drawFirst();";

static const char script[] = {
#include "gen/html_data.js.h"
#include "gen/html_diff.js.h"
#include "gen/html_tree.js.h"
#include "gen/html_time.js.h"
#include "gen/html_steps.js.h"
#include "gen/html_model.js.h"
#include "gen/html_state.js.h"
#include "gen/html_flame.js.h"
#include "gen/html_tables.js.h"
#include "gen/html_timeline.js.h"
#include "gen/html_hist.js.h"
#include "gen/html_source.js.h"
#include "gen/html_panel.js.h"
#include "gen/html_evidence.js.h"
#include "gen/html_export.js.h"
#include "gen/html_pprof.js.h"
#include "gen/html.js.h"
	0};

/* What a part could not hold, the whole does not hold either. */
static void take_error(struct buf *whole, const struct buf *part)
{
	if (!whole->err)
		whole->err = part->err;
}

/* Of what will stand between two tags; made when the first one is asked for. */
static uint8_t style_digest[SHA256_BYTES], script_digest[SHA256_BYTES];
static uint8_t first_script_digest[SHA256_BYTES], draw_script_digest[SHA256_BYTES];

static void make_digests(void)
{
	sha256(style, strlen(style), style_digest);
	sha256(script, strlen(script), script_digest);
	sha256(first_script, strlen(first_script), first_script_digest);
	sha256(draw_script, strlen(draw_script), draw_script_digest);
}

/* 'sha256-...' */
static void add_source(struct buf *out, const uint8_t digest[static SHA256_BYTES])
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_digests);
	buf_add_str(out, "'sha256-");
	base64_add(out, digest, SHA256_BYTES);
	buf_add_str(out, "'");
}

void html_add_script_source(struct buf *out)
{
	add_source(out, first_script_digest);
	buf_add_char(out, ' ');
	add_source(out, draw_script_digest);
	buf_add_char(out, ' ');
	add_source(out, script_digest);
}

void html_add_style_source(struct buf *out)
{
	add_source(out, style_digest);
}

/* About the most bytes that the report has, more only where module names are long: numbers take
 * five at most, 64-bit ones ten; a byte of a name three, where it is none of UTF-8, six in a
 * comment. */
static uint64_t bytes_max(const struct profile *prof, const struct encoder_opts *opts)
{
	uint64_t binary = 45 * prof->mapping_cnt + 20 * prof->function_cnt +
			  64 * prof->location_cnt + 10 * prof->line_cnt +
			  10 * prof->stack_location_cnt + 64 * prof->sample_cnt +
			  10 * prof->value_cnt + 21 * prof->label_cnt + 5 * prof->label_set_cnt +
			  5 * prof->strings.cnt + 3 * prof->strings.bytes_len;
	uint64_t texts = prof->strings.bytes_len + (opts->sources ? strlen(opts->sources) : 0) +
			 (opts->difference ? strlen(opts->difference) : 0);

	return sizeof(style) + sizeof(first_script) + sizeof(script) + FIXED_BYTES +
	       binary / 3 * 4 + 6 * texts;
}

typedef void caption_fn(struct buf *out, const struct profile *prof,
			const struct encoder_opts *opts);

static void add_caption(struct buf *out, const struct profile *prof,
			const struct encoder_opts *opts, caption_fn *make)
{
	struct buf text;

	buf_init(&text, BUF_NO_MAX);
	make(&text, prof, opts);
	svg_add_text(out, buf_cstr(&text));
	take_error(out, &text);
	buf_deinit(&text);
}

static void add_script(struct buf *out, const char *text)
{
	buf_add_str(out, "<script>");
	buf_add_str(out, text);
	buf_add_str(out, "</script>\n");
}

void html_add_head(struct buf *out)
{
	buf_add_str(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
			 "<meta http-equiv=\"Content-Security-Policy\" "
			 "content=\"default-src 'none'; base-uri 'none'; form-action 'none'; "
			 "script-src ");
	html_add_script_source(out);
	buf_add_str(out, "; style-src ");
	html_add_style_source(out);
	buf_add_str(out, "\">\n<meta name=\"viewport\" content=\"width=device-width, "
			 "initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
			 "<meta name=\"referrer\" content=\"no-referrer\">\n<style>");
	buf_add_str(out, style);
	buf_add_str(out, "</style>\n");
	add_script(out, first_script);
}

static void add_why(struct buf *out, const char *why)
{
	buf_add_str(out, "<p id=\"failed\" class=\"failed\">");
	svg_add_text(out, why);
	buf_add_str(out, "</p>\n</body>\n</html>\n");
}

void html_add_failure(struct buf *out, const char *why)
{
	buf_add_str(out, "<title>No report</title>\n</head>\n<body>\n<h1>No report</h1>\n");
	add_why(out, why);
}

/* It may end in what stands in a script. */
void html_add_break(struct buf *out, const char *why)
{
	buf_add_str(out, "</script>\n");
	add_why(out, why);
}

/* What a reader without scripts sees. */
static int add_plain(struct buf *out, const struct flame_frames *frames,
		     const struct encoder_opts *opts)
{
	size_t before;
	int err;

	buf_add_str(out, "<noscript>\n");
	if (opts->ledger_line) {
		buf_add_str(out, "<p>");
		svg_add_text(out, opts->ledger_line);
		buf_add_str(out, "</p>\n");
	}
	buf_add_str(out,
		    "<table class=\"plain\">\n<caption>The hottest functions (the rest of this "
		    "report needs scripts)</caption>\n<thead><tr><th>self</th><th>%</th>"
		    "<th>total</th><th>%</th><th>function</th></tr></thead>\n<tbody>\n");
	before = out->len;
	err = html_add_top(out, frames, caption_value(frames->prof, opts));
	if (!err && out->len == before)
		buf_add_str(out, "<tr><td colspan=\"5\">Nothing was sampled</td></tr>\n");
	buf_add_str(out, "</tbody>\n</table>\n</noscript>\n");
	return err;
}

static int add_packed(struct buf *out, const struct buf *binary)
{
	struct gzip_writer gzip;
	struct buf packed;
	int err;

	buf_init(&packed, BUF_NO_MAX);
	gzip_writer_init(&gzip, &packed);
	gzip_writer_add(&gzip, buf_cstr(binary), binary->len);
	err = gzip_writer_finish(&gzip);
	base64_add(out, buf_cstr(&packed), packed.len);
	buf_deinit(&packed);
	return err;
}

/* What is there is of use to a reader already. */
static int pass(struct buf *out, const struct encoder_opts *opts)
{
	if (out->err || !opts->sink)
		return out->err;
	return opts->sink->take(opts->sink->arg, out);
}

/* Base64 of @binary, in pieces. */
static int add_plain_binary(struct buf *out, const struct buf *binary,
			    const struct encoder_opts *opts)
{
	int err = 0;

	for (size_t at = 0; at < binary->len && !err; at += PIECE_BYTES) {
		size_t rest = binary->len - at;

		base64_add(out, binary->data + at, rest < PIECE_BYTES ? rest : PIECE_BYTES);
		err = pass(out, opts);
	}
	return err;
}

static int add_profile(struct buf *out, struct html_trie *trie, const struct encoder_opts *opts)
{
	struct buf binary;
	int err;

	buf_init(&binary, BUF_NO_MAX);
	err = html_add_binary(&binary, trie);
	buf_add_str(out, "<script id=\"profile\" type=\"application/octet-stream;base64\">");
	if (!err && opts->is_near)
		err = add_plain_binary(out, &binary, opts);
	else if (!err)
		err = add_packed(out, &binary);
	buf_add_str(out, "</script>\n");
	buf_deinit(&binary);
	return err;
}

/* @tree: the first picture's, NULL: it is made of @prof. */
static int add_first(struct buf *out, const struct profile *prof, const struct flame_tree *tree,
		     const struct encoder_opts *opts)
{
	int err = 0;

	buf_add_str(out,
		    "<div id=\"first\"></div>\n<script id=\"boxes\" type=\"application/json\">");
	if (tree)
		err = html_add_first_tree(out, tree);
	else if (opts->changes)
		err = html_add_first_changes(out, opts->changes);
	else if (opts->difference)
		buf_add_str(out, "[]");
	else
		err = html_add_first(out, prof, caption_value(prof, opts), opts->by);
	buf_add_str(out, "</script>\n");
	add_script(out, draw_script);
	return err;
}

/* What is painted before the rest is made. */
static int add_begin(struct buf *out, const struct profile *prof, const struct flame_tree *tree,
		     const struct encoder_opts *opts)
{
	int err;

	buf_add_str(out, "<title>");
	add_caption(out, prof, opts, caption_add_title);
	buf_add_str(out, "</title>\n</head>\n<body>\n<header id=\"head\"><div id=\"titles\"><h1>");
	add_caption(out, prof, opts, caption_add_title);
	buf_add_str(out, "</h1>\n<p class=\"subtitle\">");
	add_caption(out, prof, opts, caption_add_subtitle);
	buf_add_str(out, "</p></div></header>\n");
	err = add_first(out, prof, tree, opts);
	return err ? err : pass(out, opts);
}

int html_add_first_calls(const struct profile_calls *calls, const struct encoder_opts *opts,
			 struct buf *out)
{
	struct encoder_opts how = *opts;
	struct flame_tree tree;
	int err = flame_build_calls(calls, opts->by, false, &tree);

	if (err)
		return err;
	how.value = calls->value;
	how.sink = NULL;
	err = add_begin(out, &calls->head, &tree, &how);
	flame_deinit(&tree);
	return err ? err : out->err;
}

static int add_rest(struct buf *out, struct html_trie *trie, const struct encoder_opts *opts)
{
	int err = add_plain(out, &trie->frames, opts);

	buf_add_str(out, "<script id=\"facts\" type=\"application/json\">");
	if (!err)
		err = html_add_facts(out, trie->frames.prof, opts);
	buf_add_str(out, "</script>\n");
	if (!err)
		err = add_profile(out, trie, opts);
	add_script(out, script);
	buf_add_str(out, "</body>\n</html>\n");
	return err;
}

static int encode_pieces(const struct profile *prof, const struct encoder_opts *opts,
			 struct buf *out)
{
	struct html_trie trie;
	int err = 0;

	if (!opts->has_head) {
		html_add_head(out);
		err = pass(out, opts);
	}
	if (!err && !opts->has_first)
		err = add_begin(out, prof, NULL, opts);
	if (err)
		return err;
	err = html_trie_init(&trie, prof, opts->by);
	if (!err)
		err = add_rest(out, &trie, opts);
	html_trie_deinit(&trie);
	return err ? err : out->err;
}

static int encode(const struct profile *prof, const struct encoder_opts *opts, struct buf *out)
{
	struct encoder_opts how = *opts;

	if (prof->err)
		return prof->err;
	if (opts->value != PROFILE_NONE && prof->value_type_cnt &&
	    opts->value >= prof->value_type_cnt)
		return -EINVAL;
	if (how.sink && bytes_max(prof, opts) > how.sink->max_bytes)
		how.sink = NULL;
	return encode_pieces(prof, &how, out);
}

const struct encoder encoder_html = {
	.name = "html",
	.extension = ".html",
	.help = "report, one file for a browser: every value, flame graph, callers, tables, "
		"filters",
	.encode = encode,
};
