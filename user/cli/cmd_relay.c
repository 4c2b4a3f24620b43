/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof relay`: see relay/relay.h. */
#include "base/cleanup.h"
#include "cli/cli.h"
#include "http/url.h"
#include "relay/relay.h"

static int print_config(const struct relay_opts *opts)
{
	_cleanup_(buf_deinit) struct buf whole, out;

	buf_init(&whole, BUF_NO_MAX);
	buf_init(&out, BUF_NO_MAX);
	relay_opts_print(opts, &whole);
	if (!whole.err)
		http_url_add_hidden(&out, buf_cstr(&whole));
	return whole.err ? cli_print(&whole) : cli_print(&out);
}

int cmd_relay(int argc, char **argv)
{
	struct relay_opts opts;
	int status = CLI_OK;

	if (relay_opts_parse(&opts, argc, argv, &status))
		status = opts.check_config ? print_config(&opts) : relay_run(&opts);
	relay_opts_deinit(&opts);
	return status;
}
