/* SPDX-License-Identifier: Apache-2.0 */
/* bpfprof: the table of commands. What a command does is in user/cli/cmd_*.c. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "cli/cli.h"

/* The first one is what `bpfprof OPTIONS` means. */
/* clang-format off */
static const struct cli_command commands[] = {
	{&record_spec, cmd_record},
	{&report_spec, cmd_report},
	{&convert_spec, cmd_convert},
	{&diff_spec, cmd_diff},
	{&compare_spec, cmd_compare},
	{&symbolize_spec, cmd_symbolize},
	{&top_spec, cmd_top},
	{&stat_spec, cmd_stat},
	{&list_spec, cmd_list},
	{&doctor_spec, cmd_doctor},
	{&agent_spec, cmd_agent},
	{&query_spec, cmd_query},
	{&store_spec, cmd_store},
	{&serve_spec, cmd_serve},
	{&relay_spec, cmd_relay},
	{NULL},
};
/* clang-format on */

static const struct cli_command *find_command(const char *name)
{
	for (const struct cli_command *cmd = commands; cmd->spec; cmd++)
		if (!strcmp(cmd->spec->name, name))
			return cmd;
	return NULL;
}

/*
 * The default command runs a COMMAND only after "--" or options: a bare first word is more often a
 * mistyped command of ours than a program to profile.
 */
static int unknown_command(const char *name)
{
	struct nearest nearest;

	nearest_init(&nearest, name);
	for (const struct cli_command *cmd = commands; cmd->spec; cmd++)
		nearest_offer(&nearest, cmd->spec->name);
	if (nearest.best)
		log_error("unknown command '%s' (did you mean '%s'? see bpfprof help)", name,
			  nearest.best);
	else
		log_error("unknown command '%s' (see bpfprof help; to profile a program: "
			  "bpfprof -- %s)",
			  name, name);
	return CLI_USAGE;
}

int main(int argc, char **argv)
{
	const char *first = argc > 1 ? argv[1] : "";
	const struct cli_command *cmd = find_command(first);
	uint64_t seconds_ns;

	if (cmd)
		return cmd->run(argc - 2, argv + 2);
	if (!strcmp(first, "help"))
		return cli_help(commands, argc - 2, argv + 2);
	if (!strcmp(first, "-h") || !strcmp(first, "--help"))
		return cli_help(commands, 0, argv + 1);
	if (*first && *first != '-' && parse_duration_ns(first, &seconds_ns))
		return unknown_command(first);
	return commands[0].run(argc - 1, argv + 1);
}
