/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the page says about the recording beside its samples, as JSON:
 *
 *	{ "version": "...", "title": "...", "subtitle": "...", "value": 0,       value shown first
 *	  "comments": ["...", ...],
 *	  "ledger": "{...}", "ledgerLine": "...",            JSON in a string; absent without one
 *	  "balances": true, "why": "", "isClean": true,      as --strict judges it
 *	  "sources": "{...}",                                html_source.js
 *	  "difference": "{...}",                             of a page of `diff`: html_diff.js
 *	  "kinds": ["all", "process", ...],                  words, by enum flame_kind
 *	  "outcomes": {"fp_lost": "no frame pointer ...", ...} }
 */
#include "encode/html.h"

#include <inttypes.h>
#include <stdbool.h>

#include "encode/caption.h"
#include "encode/svg.h"
#include "profile/ledger.h"

static const struct {
	const char *name, *help;
} outcomes[] = {
#define BP_STACK_OUTCOME(id, name, help) {name, help},
#define BP_LOSS(id, name, help) {name, help},
#include "outcomes.def"
};

/* @key: with what separates it from the entry before. */
static void add_str(struct buf *out, const char *key, const char *value)
{
	buf_printf(out, "%s:", key);
	svg_add_json_str(out, value);
}

typedef void caption_fn(struct buf *out, const struct profile *prof,
			const struct encoder_opts *opts);

static void add_caption(struct buf *out, const char *key, const struct profile *prof,
			const struct encoder_opts *opts, caption_fn *make)
{
	struct buf text;

	buf_init(&text, BUF_NO_MAX);
	make(&text, prof, opts);
	add_str(out, key, buf_cstr(&text));
	if (text.err && !out->err)
		out->err = text.err;
	buf_deinit(&text);
}

static void add_ledger(struct buf *out, const struct ledger *ledger)
{
	struct buf json, why;

	buf_init(&json, BUF_NO_MAX);
	buf_init(&why, BUF_NO_MAX);
	ledger_to_json(ledger, &json);
	add_str(out, ",\n\"ledger\"", buf_cstr(&json));
	buf_printf(out, ",\n\"balances\":%s", ledger_balances(ledger, &why) ? "true" : "false");
	buf_printf(out, ",\"isClean\":%s", ledger_is_strictly_clean(ledger) ? "true" : "false");
	add_str(out, ",\"why\"", buf_cstr(&why));
	if (!out->err)
		out->err = json.err ? json.err : why.err;
	buf_deinit(&json);
	buf_deinit(&why);
}

static void add_comments(struct buf *out, const struct profile *prof)
{
	buf_add_str(out, ",\n\"comments\":[");
	for (size_t i = 0; i < prof->comment_cnt; i++) {
		buf_add_str(out, i ? ",\n" : "");
		svg_add_json_str(out, profile_str(prof, prof->comments[i]));
	}
	buf_add_char(out, ']');
}

static void add_words(struct buf *out)
{
	buf_add_str(out, ",\n\"kinds\":[");
	for (int kind = 0; kind < FLAME_KIND_CNT; kind++) {
		buf_add_str(out, kind ? "," : "");
		svg_add_json_str(out, svg_kind_name((enum flame_kind)kind));
	}
	buf_add_str(out, "],\n\"outcomes\":{");
	for (size_t i = 0; i < sizeof(outcomes) / sizeof(*outcomes); i++) {
		buf_add_str(out, i ? ",\n" : "");
		svg_add_json_str(out, outcomes[i].name);
		add_str(out, "", outcomes[i].help);
	}
	buf_add_char(out, '}');
}

int html_add_facts(struct buf *out, const struct profile *prof, const struct encoder_opts *opts)
{
	uint32_t value = caption_value(prof, opts);
	struct ledger ledger;

	add_str(out, "{\"version\"", BPFPROF_VERSION);
	buf_printf(out, ",\"value\":%" PRIu32, value == PROFILE_NONE ? 0 : value);
	add_caption(out, ",\n\"title\"", prof, opts, caption_add_title);
	add_caption(out, ",\n\"subtitle\"", prof, opts, caption_add_subtitle);
	add_comments(out, prof);
	if (!profile_get_ledger(prof, &ledger)) {
		add_ledger(out, &ledger);
		ledger_deinit(&ledger);
	}
	if (opts->ledger_line)
		add_str(out, ",\n\"ledgerLine\"", opts->ledger_line);
	if (opts->sources)
		add_str(out, ",\n\"sources\"", opts->sources);
	if (opts->difference)
		add_str(out, ",\n\"difference\"", opts->difference);
	add_words(out);
	buf_add_char(out, '}');
	return out->err;
}
