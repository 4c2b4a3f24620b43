/* SPDX-License-Identifier: Apache-2.0 */
/* What `diff` and `compare` share: options about the difference, and what is written of it. */
#ifndef BPFPROF_CLI_DIFF_OUTPUTS_H
#define BPFPROF_CLI_DIFF_OUTPUTS_H

#include "base/fs.h"
#include "cli/opts.h"
#include "cli/viewer.h"
#include "encode/diff_report.h"

/* The fields that the option table fills. */
struct diff_opts {
	struct opts_list outputs;
	struct opts_choices sort, width, format;
	uint64_t limit;
	double fail_above; /* negative: not given */
	bool normalize, force, open;
	const char *by, *value, *title;
	struct opts_args args;
	bool only_grown; /* of query alone: diff_report_keep_grown() */
	/* of compare alone */
	uint64_t runs;
	bool show_output;
	struct opts_list events;
	const char *freq, *count;
	bool off_cpu, wall;
};

extern const struct opt_choice diff_sort_choices[], diff_width_choices[], diff_format_choices[];

#define DIFF_OPT_AT(member, type) .offset = OPT_AT(struct diff_opts, member, type)

/* Rows of an option table for struct diff_opts. */
#define DIFF_OPTIONS                                                                              \
	{OPT_GROUP, .help = "The table"},                                                         \
		{OPT_CHOICE,                                                                      \
		 0,                                                                               \
		 "sort",                                                                          \
		 "KEY",                                                                           \
		 DIFF_OPT_AT(sort, struct opts_choices),                                          \
		 .choices = diff_sort_choices,                                                    \
		 .help = "change (default: the larger the earlier), self (its change), percent, " \
			 "before, after or name"},                                                \
		{OPT_NUMBER,                                                                      \
		 0,                                                                               \
		 "limit",                                                                         \
		 "N",                                                                             \
		 DIFF_OPT_AT(limit, uint64_t),                                                    \
		 .min = 1,                                                                        \
		 .help = "functions that are shown (default: 20)"},                               \
		{OPT_STRING,                                                                      \
		 0,                                                                               \
		 "value",                                                                         \
		 "NAME",                                                                          \
		 DIFF_OPT_AT(value, const char *),                                                \
		 .help = "the value that is compared (default: CPU time, or what the profiles "   \
			 "show)"},                                                                \
		{OPT_CHOICE,                                                                      \
		 0,                                                                               \
		 "format",                                                                        \
		 "FORMAT",                                                                        \
		 DIFF_OPT_AT(format, struct opts_choices),                                        \
		 .choices = diff_format_choices,                                                  \
		 .help = "text (default), md or json"},                                           \
		{OPT_PERCENT,                                                                     \
		 0,                                                                               \
		 "fail-above",                                                                    \
		 "PCT",                                                                           \
		 DIFF_OPT_AT(fail_above, double),                                                 \
		 .help = "exit with status 1 where the whole or a function significantly grew "   \
			 "by more than PCT of all that was before"},                              \
		{OPT_GROUP, .help = "Output"},                                                    \
		{OPT_LIST,                                                                        \
		 'o',                                                                             \
		 "output",                                                                        \
		 "FILE",                                                                          \
		 DIFF_OPT_AT(outputs, struct opts_list),                                          \
		 .flags = OPT_IS_FILE,                                                            \
		 .help = "repeatable; .html: report, .svg: differential flame graph, .folded or " \
			 "'-': two columns, .md, .json; values before, after, delta: .pb.gz, "    \
			 ".speedscope.json"},                                                     \
		{OPT_CHOICE,                                                                      \
		 0,                                                                               \
		 "width",                                                                         \
		 "SIDE",                                                                          \
		 DIFF_OPT_AT(width, struct opts_choices),                                         \
		 .choices = diff_width_choices,                                                   \
		 .help = "svg: what makes frames wide: after (default), before, max or sum"},     \
		{OPT_STRING,                                                                      \
		 0,                                                                               \
		 "title",                                                                         \
		 "TEXT",                                                                          \
		 DIFF_OPT_AT(title, const char *),                                                \
		 .help = "the title, in formats that show one"},                                  \
		{OPT_FLAG,                                                                        \
		 0,                                                                               \
		 "open",                                                                          \
		 DIFF_OPT_AT(open, bool),                                                         \
		 .flags = OPT_NEGATABLE,                                                          \
		 .help = "show the first .svg or .html in the browser (xdg-open)"},               \
	{                                                                                         \
		OPT_FLAG, 0, "force", DIFF_OPT_AT(force, bool), .flags = OPT_NEGATABLE,           \
								.help = "replace existing files"  \
	}

/* A file that is opened before the work and written after it. */
struct diff_file {
	const char *path;
	struct fs_output file;
	bool is_open;
};

struct diff_outputs {
	struct diff_file *files; /* owned */
	size_t cnt;
	bool has_stdout;
	struct viewer viewer; /* of --open */
};

/*
 * Open the files that @opts names, and what --open takes. 0; -EINVAL with one line in @why: wrong
 * usage; other negative errno after log_error(). Release with diff_outputs_deinit(), which leaves
 * nothing of files that were not written.
 */
int diff_outputs_open(const struct diff_opts *opts, struct diff_outputs *out, struct buf *why);
void diff_outputs_deinit(struct diff_outputs *outputs);

/*
 * Conclude @report, write the files, print it on stdout unless that is one of them, and tell the
 * regressions. The exit status, after log_error() where it is not CLI_OK.
 */
int diff_outputs_show(const struct diff_opts *opts, struct diff_outputs *outputs,
		      struct diff_report *report);

/* Compare two profiles, called @names, as @opts say (value, by, normalize, sort), and show it as
 * above. The exit status. */
int diff_sides_show(const struct diff_opts *opts, struct diff_outputs *outputs,
		    const struct profile profiles[DIFF_SIDE_CNT],
		    const char *const names[DIFF_SIDE_CNT]);

#endif
