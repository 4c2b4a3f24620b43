/* SPDX-License-Identifier: Apache-2.0 */
/* How every command begins, and the exit statuses. */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/build.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/privilege.h"
#include "cli/opts_help.h"

const struct cli_status_help cli_statuses[] = {
	{CLI_OK, "all went well"},
	{CLI_FAILED, "failed; one line says what, on which object, and how to mend it"},
	{CLI_USAGE, "wrong usage"},
	{CLI_LOSS, "something was lost and --strict was given"},
	{CLI_NOTHING_SAMPLED, "nothing was sampled; the files are valid and say why"},
	{CLI_COMMAND_FAILED, "bpfprof failed, with COMMAND; else COMMAND's own status is "
			     "returned, 128+N for signal N"},
	{CLI_COMMAND_NOT_RUNNABLE, "COMMAND was found but could not be run"},
	{CLI_COMMAND_NOT_FOUND, "COMMAND was not found"},
	{CLI_OK, NULL},
};

int cli_print(const struct buf *out)
{
	int err = out->err ? out->err : fs_write_all(STDOUT_FILENO, out->data, out->len);

	if (!err)
		return CLI_OK;
	log_error("standard output: %s", strerror(-err));
	return CLI_FAILED;
}

int cli_print_version(void)
{
	_cleanup_(buf_deinit) struct buf out;

	buf_init(&out, BUF_NO_MAX);
	buf_add_str(&out, "bpfprof " BPFPROF_VERSION "\n");
	for (const struct build_lack *lack = build_lacks; lack->name; lack++)
		buf_printf(&out, "%s%s%s", lack == build_lacks ? "static build, without: " : "",
			   lack->name, lack[1].name ? ", " : " (see bpfprof doctor)\n");
	return cli_print(&out);
}

int cli_refuse(const struct opts_spec *spec, const struct buf *why, int err)
{
	if (err == -ENOMEM) {
		log_error("%s: %s", spec->name, strerror(ENOMEM));
		return CLI_FAILED;
	}
	log_error("%s (see bpfprof %s --help)", buf_error_text(why, err), spec->name);
	return CLI_USAGE;
}

static int print_help(const struct opts_spec *spec)
{
	_cleanup_(buf_deinit) struct buf out;

	buf_init(&out, BUF_NO_MAX);
	opts_help(spec, &out);
	return cli_print(&out);
}

bool cli_begin(const struct opts_spec *spec, int argc, char **argv, void *target,
	       struct opts_args *args, int *status_out)
{
	_cleanup_(buf_deinit) struct buf why;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = spec->is_unprivileged ? privilege_drop() : 0;
	if (err)
		buf_printf(&why, "%s: giving up capabilities: %s", spec->name, strerror(-err));
	else
		err = opts_parse(spec, argc, argv, target, args, &why);
	if (err) {
		log_error("%s", buf_error_text(&why, err));
		*status_out = err == -EINVAL ? CLI_USAGE : CLI_FAILED;
		return false;
	}
	if (args->help || args->version) {
		*status_out = args->help ? print_help(spec) : cli_print_version();
		return false;
	}
	if (args->verbose)
		log_set_level(LOG_VERBOSE);
	if (args->quiet)
		log_set_level(LOG_QUIET);
	return true;
}
