/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof report`: a profile in the terminal. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/confinement.h"
#include "cli/inputs.h"
#include "cli/rendering.h"
#include "cli/report.h"
#include "cli/screen.h"
#include "cli/tui.h"

#define TREE_PERCENT_LIMIT 0.5

struct report_opts {
	bool stdio, tree;
	const char *sort;
	struct opts_choices format;
	uint64_t limit;
	double percent_limit;
	const char *value, *callers, *callees;
	struct opts_args args;
};

#define AT(member, type) .offset = OPT_AT(struct report_opts, member, type)

static const struct opt report_options[] = {
	{OPT_GROUP, .help = "View (default: the table of functions)"},
	{OPT_FLAG, 0, "tree", AT(tree, bool), .help = "the tree of calls, from the root"},
	{OPT_STRING, 0, "callers", "FUNC", AT(callers, const char *),
	 .help = "who calls FUNC (a name or a glob)"},
	{OPT_STRING, 0, "callees", "FUNC", AT(callees, const char *), .help = "whom FUNC calls"},
	{OPT_FLAG, 0, "stdio", AT(stdio, bool),
	 .help = "text on a terminal too, instead of the full screen"},

	{OPT_GROUP, .help = "What is shown"},
	{OPT_STRING, 0, "value", "NAME", AT(value, const char *),
	 .help = "the value to show (default: the profile's)"},
	{OPT_STRING, 0, "sort", "KEYS", AT(sort, const char *),
	 .help = "self (default), total or name; or what rows are told apart by: symbol, dso, "
		 "srcline, srcfile, comm, pid and other labels (comma list)"},
	{OPT_CHOICE, 0, "format", "FORMAT", AT(format, struct opts_choices),
	 .choices = report_format_choices, .help = "of the table: text (default), md or json"},
	{OPT_NUMBER, 0, "limit", "N", AT(limit, uint64_t), .min = 1,
	 .help = "lines of a table (default: 40)"},
	{OPT_PERCENT, 0, "percent-limit", "PCT", AT(percent_limit, double),
	 .help = "leave out branches and rows below PCT (default: 0.5 for the tree)"},
	{OPT_END},
};

static const struct opts_example report_examples[] = {
	{"bpfprof report app.pb.gz", "full screen; elsewhere the hottest functions"},
	{"bpfprof report --tree --percent-limit 5 app.pb.gz", "the main branches"},
	{"bpfprof report --callers malloc app.pb.gz", "who allocates"},
	{"bpfprof report --sort comm,dso app.pb.gz", "by process and module"},
	{"bpfprof report --sort symbol,srcline --format md app.pb.gz", "lines, for a ticket"},
	{NULL},
};

const struct opts_spec report_spec = {
	.name = "report",
	.usage = "report FILE... [OPTIONS]",
	.summary = "Show a profile in the terminal; several are merged",
	.details = INPUTS_HELP
	"\n"
	"On a terminal the report fills the screen ('h' there tells the keys), unless\n"
	"text is asked for: by --stdio, a view, --format, --limit, --percent-limit, or\n"
	"--sort with keys. Elsewhere it is text.",
	.is_unprivileged = true,
	.options = report_options,
	.examples = report_examples,
};

static uint64_t limit_of(const struct report_opts *opts)
{
	return opts->limit ? opts->limit : REPORT_LIMIT_DEFAULT;
}

static int add_neighbours(const struct report *report, const char *func, enum report_side side,
			  uint64_t limit, struct buf *out)
{
	int err;

	if (!func)
		return 0;
	buf_add_char(out, '\n');
	err = report_neighbours(report, func, side, limit, out);
	if (err == -ENOENT)
		log_error("no function '%s' in the profile (--%s)", func,
			  side == REPORT_CALLERS ? "callers" : "callees");
	return err;
}

static int add_views(const struct report_opts *opts, const struct report *report, struct buf *out)
{
	int err = add_neighbours(report, opts->callers, REPORT_CALLERS, limit_of(opts), out);

	if (!err)
		err = add_neighbours(report, opts->callees, REPORT_CALLEES, limit_of(opts), out);
	if (!err && opts->tree) {
		buf_add_char(out, '\n');
		err = report_tree(
			report, opts->percent_limit < 0 ? TREE_PERCENT_LIMIT : opts->percent_limit,
			out);
	}
	if (err || opts->tree || opts->callers || opts->callees)
		return err;
	if (opts->format.bits != REPORT_JSON)
		buf_add_char(out, '\n');
	return report_table(report, opts->sort, (enum report_format)opts->format.bits,
			    limit_of(opts), opts->percent_limit, out);
}

static int show(const struct report_opts *opts, const struct profile *prof, uint32_t value)
{
	_cleanup_(func_table_deinit) struct func_table table;
	_cleanup_(buf_deinit) struct buf out;
	struct report report = {
		.prof = prof,
		.table = &table,
		.value = value,
		.unit = profile_str(prof, prof->value_types[value].unit),
	};
	int err = func_table_init(&table, prof, value);

	buf_init(&out, BUF_NO_MAX);
	if (!err) {
		if (opts->format.bits != REPORT_JSON)
			report_header(&report, &out);
		err = add_views(opts, &report, &out);
	}
	if (!err)
		return cli_print(&out);
	if (err == -EINVAL)
		return CLI_USAGE;
	if (err != -ENOENT)
		log_error("report: %s", strerror(-err));
	return CLI_FAILED;
}

/* Is the full screen wanted: nobody asked for text, and there is a person who could look? */
static bool is_for_screen(const struct report_opts *opts)
{
	enum func_sort order;

	return !opts->stdio && !opts->tree && !opts->callers && !opts->callees &&
	       !opts->format.text && !opts->limit && opts->percent_limit < 0 &&
	       report_order(opts->sort, &order) && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

/* As text where no full screen can be had. */
static int show_on_screen(const struct report_opts *opts, const struct profile *prof,
			  uint32_t value)
{
	_cleanup_(buf_deinit) struct buf files;
	struct tui_opts tui = {.value = value, .sort = FUNC_BY_SELF};
	int err;

	buf_init(&files, BUF_NO_MAX);
	for (size_t i = 0; i < opts->args.operands.cnt; i++)
		buf_printf(&files, "%s%s", i ? " " : "", opts->args.operands.items[i]);
	tui.files = buf_cstr(&files);
	report_order(opts->sort, &tui.sort);
	err = report_tui(prof, &tui);
	if (err == -ENOTTY)
		return show(opts, prof, value);
	if (err)
		log_error("report: %s", strerror(-err));
	return err ? CLI_FAILED : CLI_OK;
}

static int report_files(const struct report_opts *opts)
{
	_cleanup_(profile_deinit) struct profile prof = {0};
	uint32_t value;

	if (opts->format.bits != REPORT_TEXT && (opts->tree || opts->callers || opts->callees)) {
		log_error("--format md and json are of the table: without --tree, --callers, "
			  "--callees");
		return CLI_USAGE;
	}
	if (!opts->args.operands.cnt) {
		log_error("no FILE to report (see bpfprof report --help)");
		return CLI_USAGE;
	}
	screen_prepare();
	confine_reader(false);
	if (inputs_load(&opts->args.operands, &prof))
		return CLI_FAILED;
	value = profile_pick_value(&prof, opts->value);
	if (value == PROFILE_NONE)
		return CLI_FAILED;
	return is_for_screen(opts) ? show_on_screen(opts, &prof, value) : show(opts, &prof, value);
}

int cmd_report(int argc, char **argv)
{
	struct report_opts opts = {.percent_limit = -1};
	int status;

	if (cli_begin(&report_spec, argc, argv, &opts, &opts.args, &status))
		status = report_files(&opts);
	opts_deinit(&report_spec, &opts, &opts.args);
	return status;
}
