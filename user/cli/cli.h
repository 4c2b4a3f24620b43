/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands share: their shape, the exit statuses, how each begins. */
#ifndef BPFPROF_CLI_CLI_H
#define BPFPROF_CLI_CLI_H

#include "cli/opts.h"

/* Exit statuses; cli_statuses[] explains them to people. */
enum cli_status {
	CLI_OK = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,
	CLI_LOSS = 3,
	CLI_NOTHING_SAMPLED = 4,
	/* as env(1), where a COMMAND is run */
	CLI_COMMAND_FAILED = 125,
	CLI_COMMAND_NOT_RUNNABLE = 126,
	CLI_COMMAND_NOT_FOUND = 127,
};

struct cli_status_help {
	enum cli_status status;
	const char *help; /* NULL ends the list */
};

extern const struct cli_status_help cli_statuses[];

struct cli_command {
	const struct opts_spec *spec; /* NULL ends the table */
	int (*run)(int argc, char **argv); /* arguments after the command's name; exit status */
};

extern const struct opts_spec record_spec, report_spec, convert_spec, diff_spec, compare_spec,
	symbolize_spec, top_spec, stat_spec, list_spec, doctor_spec, agent_spec, query_spec,
	store_spec, serve_spec, relay_spec;

int cmd_record(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_convert(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_symbolize(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_agent(int argc, char **argv);
int cmd_query(int argc, char **argv);
int cmd_store(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_relay(int argc, char **argv);

/*
 * opts_parse(), and what all commands do with its result: -q and -v set the log level, --help and
 * --version are answered on stdout, an error is logged. True: go on. False: leave with *@status_out
 * (set only then).
 */
bool cli_begin(const struct opts_spec *spec, int argc, char **argv, void *target,
	       struct opts_args *args, int *status_out);

/*
 * Log why arguments of @spec's command are refused (@why; @err: negative errno), and where to look.
 * The exit status: CLI_USAGE, or CLI_FAILED where it is memory that lacked.
 */
int cli_refuse(const struct opts_spec *spec, const struct buf *why, int err);

/* Print @out on stdout and flush: CLI_OK, or CLI_FAILED after a logged error. */
int cli_print(const struct buf *out);

/* "bpfprof VERSION" on stdout; as cli_print(). */
int cli_print_version(void);

/* `bpfprof help [COMMAND]`, `help --man`, `help --completion SHELL`, and plain `bpfprof --help`. */
int cli_help(const struct cli_command *commands, int argc, char **argv);

#endif
