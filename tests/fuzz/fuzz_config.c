/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: configuration files of an agent. What is read is printed, and then read back as it
 * was. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent_opts.h"
#include "cli/cli.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int parse(const char *text, size_t len, struct agent_opts *opts, struct buf *why)
{
	*opts = (struct agent_opts){.store = NULL};
	return config_parse("x", text, len, &agent_spec, opts, &opts->config, why);
}

static void print(const struct agent_opts *opts, struct buf *out)
{
	opts_print(&agent_spec, opts, OPT_NOT_IN_FILE, out);
	config_print_sections(&opts->config, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct agent_opts opts, again;
	struct buf why, out, more;
	int err;

	buf_init(&why, BUF_NO_MAX);
	buf_init(&out, BUF_NO_MAX);
	buf_init(&more, BUF_NO_MAX);
	err = parse((const char *)data, len, &opts, &why);
	if (err == -EINVAL && strncmp(buf_cstr(&why), "x:", 2))
		abort();
	if (!err) {
		print(&opts, &out);
		config_allows(&opts.config, "shop");
		if (parse(buf_cstr(&out), out.len, &again, &why))
			abort();
		print(&again, &more);
		if (out.len != more.len || memcmp(out.data, more.data, out.len))
			abort();
		agent_opts_deinit(&again);
	}
	agent_opts_deinit(&opts);
	buf_deinit(&why);
	buf_deinit(&out);
	buf_deinit(&more);
	return 0;
}
