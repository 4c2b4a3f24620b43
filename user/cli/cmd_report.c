/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof report`: a profile in the terminal. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/inputs.h"
#include "cli/report.h"
#include "profile/ledger.h"

struct report_opts {
	bool stdio, tree;
	struct opts_choices sort;
	uint64_t limit;
	double percent_limit;
	const char *value, *callers, *callees;
	struct opts_args args;
};

#define AT(member, type) .offset = OPT_AT(struct report_opts, member, type)

static const struct opt_choice sort_choices[] = {
	{"self", FUNC_BY_SELF},
	{"total", FUNC_BY_TOTAL},
	{"name", FUNC_BY_NAME},
	{NULL},
};

static const struct opt report_options[] = {
	{OPT_GROUP, .help = "View (default: the table of functions)"},
	{OPT_FLAG, 0, "tree", AT(tree, bool), .help = "the tree of calls, from the root"},
	{OPT_STRING, 0, "callers", "FUNC", AT(callers, const char *),
	 .help = "who calls FUNC (a name or a glob)"},
	{OPT_STRING, 0, "callees", "FUNC", AT(callees, const char *), .help = "whom FUNC calls"},
	{OPT_FLAG, 0, "stdio", AT(stdio, bool), .help = "accepted: text is what there is"},

	{OPT_GROUP, .help = "What is shown"},
	{OPT_STRING, 0, "value", "NAME", AT(value, const char *),
	 .help = "the value to show (default: the profile's)"},
	{OPT_CHOICE, 0, "sort", "KEY", AT(sort, struct opts_choices), .choices = sort_choices,
	 .help = "self (default), total or name"},
	{OPT_NUMBER, 0, "limit", "N", AT(limit, uint64_t), .min = 1,
	 .help = "lines of a table (default: 40)"},
	{OPT_PERCENT, 0, "percent-limit", "PCT", AT(percent_limit, double),
	 .help = "leave branches below PCT out of the tree (default: 0.5)"},
	{OPT_END},
};

static const struct opts_example report_examples[] = {
	{"bpfprof report app.pb.gz", "the hottest functions"},
	{"bpfprof report --tree --percent-limit 5 app.pb.gz", "the main branches"},
	{"bpfprof report --callers malloc app.pb.gz", "who allocates"},
	{NULL},
};

const struct opts_spec report_spec = {
	.name = "report",
	.usage = "report FILE... [OPTIONS]",
	.summary = "Show a profile (pprof, folded text) in the terminal; several are merged",
	.details = "A FILE called '-' is standard input.",
	.options = report_options,
	.examples = report_examples,
};

static void add_header(const struct report *report, struct buf *out)
{
	const struct profile *prof = report->prof;
	struct ledger ledger;

	buf_printf(out, "value     %s (%s)\ntotal     ",
		   profile_str(prof, prof->value_types[report->value].type), report->unit);
	amount_format(report->table->total, report->unit, out);
	buf_add_char(out, '\n');
	if (prof->duration_ns)
		buf_printf(out, "duration  %.2f s\n", (double)prof->duration_ns / NSEC_PER_SEC);
	if (!profile_get_ledger(prof, &ledger)) {
		ledger_format_line(&ledger, out);
		buf_add_char(out, '\n');
		ledger_deinit(&ledger);
	}
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
	int err = add_neighbours(report, opts->callers, REPORT_CALLERS, opts->limit, out);

	if (!err)
		err = add_neighbours(report, opts->callees, REPORT_CALLEES, opts->limit, out);
	if (!err && opts->tree) {
		buf_add_char(out, '\n');
		err = report_tree(report, opts->percent_limit, out);
	}
	if (err || opts->tree || opts->callers || opts->callees)
		return err;
	buf_add_char(out, '\n');
	return func_table_print(report->table, (enum func_sort)opts->sort.bits, opts->limit,
				report->unit, out);
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
		add_header(&report, &out);
		err = add_views(opts, &report, &out);
	}
	if (!err)
		return cli_print(&out);
	if (err != -ENOENT)
		log_error("report: %s", strerror(-err));
	return CLI_FAILED;
}

static int report_files(const struct report_opts *opts)
{
	_cleanup_(profile_deinit) struct profile prof = {0};
	uint32_t value;

	if (!opts->args.operands.cnt) {
		log_error("no FILE to report (see bpfprof report --help)");
		return CLI_USAGE;
	}
	if (inputs_load(&opts->args.operands, &prof))
		return CLI_FAILED;
	value = profile_pick_value(&prof, opts->value);
	return value == PROFILE_NONE ? CLI_FAILED : show(opts, &prof, value);
}

int cmd_report(int argc, char **argv)
{
	struct report_opts opts = {.limit = 40, .percent_limit = 0.5};
	int status;

	if (cli_begin(&report_spec, argc, argv, &opts, &opts.args, &status))
		status = report_files(&opts);
	opts_deinit(&report_spec, &opts, &opts.args);
	return status;
}
