/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands share that read profiles and write files: their options, and the way from one
 * to the other. */
#ifndef BPFPROF_CLI_RENDERING_H
#define BPFPROF_CLI_RENDERING_H

#include "cli/opts.h"
#include "cli/outputs.h"
#include "cli/viewer.h"

/* The fields that RENDERING_OPTIONS() fill. */
struct rendering {
	struct opts_list outputs;
	const char *value, *by, *title;
	bool annotate, embed_source, force, open;
	/* No options: what a command knows beside the profile. Borrowed; NULL: what the profile
	 * itself tells. */
	const char *subtitle, *ledger_line;
	const struct profile_calls *calls; /* of the profile, for what is drawn of calls alone */
};

/* Rows of an option table, for a command whose struct @owner has a struct rendering at @field. */
#define RENDERING_AT(owner, field, member, type) .offset = OPT_AT(owner, field.member, type)
#define RENDERING_OPTIONS(owner, field)                                                            \
	{OPT_GROUP, .help = "Output"},                                                             \
		{OPT_LIST,                                                                         \
		 'o',                                                                              \
		 "output",                                                                         \
		 "FILE",                                                                           \
		 RENDERING_AT(owner, field, outputs, struct opts_list),                            \
		 .flags = OPT_IS_FILE,                                                             \
		 .help = "repeatable; the extension says the format, '-' is folded text on "       \
			 "stdout, -.pb.gz pprof there; %v: one file per value"},                   \
		{OPT_STRING,                                                                       \
		 0,                                                                                \
		 "value",                                                                          \
		 "NAME",                                                                           \
		 RENDERING_AT(owner, field, value, const char *),                                  \
		 .help = "the value that one-value formats hold"},                                 \
		{OPT_STRING,                                                                       \
		 0,                                                                                \
		 "by",                                                                             \
		 "LIST",                                                                           \
		 RENDERING_AT(owner, field, by, const char *),                                     \
		 .help = "labels that make the first frame: comm (default), pid, ..."},            \
		{OPT_STRING,                                                                       \
		 0,                                                                                \
		 "title",                                                                          \
		 "TEXT",                                                                           \
		 RENDERING_AT(owner, field, title, const char *),                                  \
		 .help = "the title, in formats that show one"},                                   \
		{OPT_FLAG,                                                                         \
		 0,                                                                                \
		 "annotate",                                                                       \
		 RENDERING_AT(owner, field, annotate, bool),                                       \
		 .flags = OPT_NEGATABLE,                                                           \
		 .help = "folded: _[k] after kernel frames, _[i] inlined, _[j] JIT, _[w] wakers"}, \
		{OPT_FLAG,                                                                         \
		 0,                                                                                \
		 "embed-source",                                                                   \
		 RENDERING_AT(owner, field, embed_source, bool),                                   \
		 .flags = OPT_NEGATABLE,                                                           \
		 .help = "html: with the source lines that have samples, from this host's files"}, \
		{OPT_FLAG,                                                                         \
		 0,                                                                                \
		 "open",                                                                           \
		 RENDERING_AT(owner, field, open, bool),                                           \
		 .flags = OPT_NEGATABLE,                                                           \
		 .help = "show the first .html or .svg in the browser (xdg-open)"},                \
	{                                                                                          \
		OPT_FLAG, 0, "force", RENDERING_AT(owner, field, force, bool),                     \
			.flags = OPT_NEGATABLE, .help = "replace existing files"                   \
	}

/* The value that one-value views show: called @name, or, with NULL, the profile's default.
 * PROFILE_NONE after log_error() that lists what there is. */
uint32_t profile_pick_value(const struct profile *prof, const char *name);

/*
 * Name the outputs of @render in @set, which is initialised; @inputs_cnt: of what is read. 0;
 * -EINVAL and one line in @why: wrong usage, @verb says what for; -ENOMEM.
 */
int rendering_name(const struct rendering *render, size_t inputs_cnt, const char *verb,
		   struct output_set *set, struct buf *why);

/* Open the outputs for @prof, before more work is done on it. The value that one-value formats hold
 * goes into *@value. 0, or negative errno after log_error(). */
int rendering_open(const struct rendering *render, struct output_set *set,
		   const struct profile *prof, uint32_t *value);

/* Write @prof and, under --open, hand a page to @viewer. 0, or negative errno after log_error(). */
int rendering_write(const struct rendering *render, struct output_set *set,
		    const struct profile *prof, uint32_t value, struct viewer *viewer);

#endif
