/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof agent`: see agent/agent.h. */
#include "agent/agent.h"

#include "base/cleanup.h"
#include "capture/capture.h"
#include "cli/cli.h"
#include "http/url.h"

static int print_config(const struct agent_opts *opts)
{
	_cleanup_(buf_deinit) struct buf whole, out;

	buf_init(&whole, BUF_NO_MAX);
	buf_init(&out, BUF_NO_MAX);
	agent_opts_print(opts, &whole);
	if (!whole.err)
		http_url_add_hidden(&out, buf_cstr(&whole));
	return whole.err ? cli_print(&whole) : cli_print(&out);
}

static int detach(const struct agent_opts *opts)
{
	return capture_detach_pinned(opts->pin_dir) ? CLI_FAILED : CLI_OK;
}

int cmd_agent(int argc, char **argv)
{
	struct agent_opts opts;
	int status = CLI_OK;

	if (agent_opts_parse(&opts, argc, argv, &status))
		status = opts.check_config ? print_config(&opts)
			 : opts.detach	   ? detach(&opts)
					   : agent_run(&opts, argc, argv);
	agent_opts_deinit(&opts);
	return status;
}
