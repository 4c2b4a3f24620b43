/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof help`: the overview, and the man page and the completion of shells for the packagers. */
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/completion.h"
#include "cli/opts_help.h"

struct help_opts {
	bool man;
	struct opts_choices completion;
};

static const struct opt help_options[] = {
	{OPT_GROUP, .help = "For packagers"},
	{OPT_FLAG, 0, "man", .offset = OPT_AT(struct help_opts, man, bool),
	 .help = "the man page, for bpfprof.1"},
	{OPT_CHOICE, 0, "completion", "SHELL", .choices = completion_shells,
	 .offset = OPT_AT(struct help_opts, completion, struct opts_choices),
	 .help = "the completion script; SHELL: bash, zsh or fish"},
	{OPT_END},
};

static const struct opts_spec help_spec = {
	.name = "help",
	.usage = "help [COMMAND] [--man] [--completion SHELL]",
	.summary = "Explain bpfprof or one of its commands",
	.options = help_options,
};

static void add_overview(const struct cli_command *commands, struct buf *out)
{
	buf_printf(
		out,
		"bpfprof: where a Linux host spends its time, by whole kernel and user stacks\n\n"
		"Usage: bpfprof %s\n       bpfprof COMMAND [OPTIONS] ...\n\nCommands\n",
		commands[0].spec->usage);
	for (const struct cli_command *cmd = commands; cmd->spec; cmd++)
		buf_printf(out, "  %-10s %s%s\n", cmd->spec->name, cmd->spec->summary,
			   cmd == commands ? " (the default)" : "");
	buf_add_str(out, "\n`bpfprof COMMAND --help` lists the options of a command; -V prints the "
			 "version.\n\nExamples\n");
	for (const struct opts_example *ex = commands[0].spec->examples; ex->line; ex++)
		buf_printf(out, "  %s\n      %s\n", ex->line, ex->what);
	buf_add_str(out, "\nExit status\n");
	for (const struct cli_status_help *line = cli_statuses; line->help; line++)
		buf_printf(out, "  %3d  %s\n", (int)line->status, line->help);
}

static void add_man_page(const struct cli_command *commands, struct buf *out)
{
	buf_add_str(out, ".TH BPFPROF 1\n.SH NAME\nbpfprof \\- where a Linux host spends its "
			 "time, by whole stacks\n.SH SYNOPSIS\n");
	for (const struct cli_command *cmd = commands; cmd->spec; cmd++) {
		buf_add_str(out, ".B bpfprof\n");
		opts_man_text(cmd->spec->usage, out);
		buf_add_str(out, "\n.br\n");
	}
	buf_add_str(out, ".SH COMMANDS\n");
	for (const struct cli_command *cmd = commands; cmd->spec; cmd++)
		opts_man(cmd->spec, out);
	buf_add_str(out, ".SH \"OPTIONS OF EVERY COMMAND\"\n");
	for (const struct opt *opt = opts_common; opt->kind != OPT_END; opt++)
		if (opt->kind != OPT_GROUP)
			buf_printf(out, ".TP\n.B \\-%c, \\-\\-%s\n%s\n", opt->short_name,
				   opt->long_name, opt->help);
	buf_add_str(out, ".SH \"EXIT STATUS\"\n");
	for (const struct cli_status_help *line = cli_statuses; line->help; line++) {
		buf_printf(out, ".TP\n.B %d\n", (int)line->status);
		opts_man_text(line->help, out);
		buf_add_char(out, '\n');
	}
}

static int help_on(const struct cli_command *commands, const struct opts_list *names,
		   struct buf *out)
{
	for (const struct cli_command *cmd = commands; cmd->spec; cmd++) {
		if (strcmp(cmd->spec->name, names->items[0]))
			continue;
		opts_help(cmd->spec, out);
		return cli_print(out);
	}
	log_error("unknown command '%s' (see bpfprof help)", names->items[0]);
	return CLI_USAGE;
}

int cli_help(const struct cli_command *commands, int argc, char **argv)
{
	_cleanup_(buf_deinit) struct buf out;
	struct help_opts opts = {0};
	struct opts_args args = {0};
	int status;

	buf_init(&out, BUF_NO_MAX);
	if (!cli_begin(&help_spec, argc, argv, &opts, &args, &status)) {
		opts_deinit(&help_spec, &opts, &args);
		return status;
	}
	if (args.operands.cnt) {
		status = help_on(commands, &args.operands, &out);
	} else {
		if (opts.man)
			add_man_page(commands, &out);
		else if (opts.completion.text)
			completion_add((enum completion_shell)opts.completion.bits, commands,
				       &help_spec, &out);
		else
			add_overview(commands, &out);
		status = cli_print(&out);
	}
	opts_deinit(&help_spec, &opts, &args);
	return status;
}
