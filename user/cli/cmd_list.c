/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof list`: every event that opens on this machine. */
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/cli.h"
#include "event/kernel_fs.h"
#include "event/listing.h"

enum { NAME_WIDTH_MAX = 60 };

struct list_opts {
	struct opts_args args;
};

static const struct opt list_options[] = {{OPT_END}};

static const struct opts_example list_examples[] = {
	{"bpfprof list", "counters and tracepoints"},
	{"bpfprof list -v 'sched:*'", "tracepoints with their fields"},
	{"bpfprof list 'kprobe:vfs_*'", "functions of the kernel"},
	{"bpfprof list cache", "one kind: hw, sw, cache, pmu, tracepoint"},
	{NULL},
};

const struct opts_spec list_spec = {
	.name = "list",
	.usage = "list [-v] [GLOB]",
	.summary = "List the events that open on this machine",
	.details = "Each counter is really tried. With -v tracepoints are followed by their "
		   "fields. A GLOB without '*', '?' or '[' is looked for anywhere in a name.",
	.options = list_options,
	.examples = list_examples,
};

static int name_width(const struct listing *listing)
{
	size_t width = 0;

	for (size_t i = 0; i < listing->cnt; i++) {
		size_t len = strlen(listing->items[i].name);

		if (len > width && len <= NAME_WIDTH_MAX)
			width = len;
	}
	return (int)width;
}

static void add_rows(const struct listing *listing, bool with_fields, struct buf *out)
{
	_cleanup_(buf_deinit) struct buf why;
	_cleanup_close_ int tracefs = -1;
	int width = name_width(listing);

	buf_init(&why, BUF_NO_MAX);
	if (with_fields)
		tracefs = kernel_fs_tracefs(&why);
	for (size_t i = 0; i < listing->cnt; i++) {
		const struct listed_event *event = &listing->items[i];

		buf_printf(out, "%-*s  %s\n", width, event->name, event->kind);
		if (tracefs >= 0 && !strcmp(event->kind, "tracepoint"))
			listing_fields(tracefs, event->name, out);
	}
}

static int list(const char *glob, bool with_fields)
{
	_cleanup_(buf_deinit) struct buf out, why;
	struct listing listing;
	int err;

	buf_init(&out, BUF_NO_MAX);
	buf_init(&why, BUF_NO_MAX);
	err = listing_make(glob, &listing, &why);
	if (err) {
		log_error("%s", buf_error_text(&why, err));
		return CLI_FAILED;
	}
	add_rows(&listing, with_fields, &out);
	listing_deinit(&listing);
	return cli_print(&out);
}

int cmd_list(int argc, char **argv)
{
	struct list_opts opts = {0};
	const struct opts_list *globs = &opts.args.operands;
	int status;

	if (cli_begin(&list_spec, argc, argv, &opts, &opts.args, &status)) {
		if (globs->cnt > 1) {
			log_error("unexpected argument '%s' (see bpfprof list --help)",
				  globs->items[1]);
			status = CLI_USAGE;
		} else {
			status = list(globs->cnt ? globs->items[0] : NULL, opts.args.verbose);
		}
	}
	opts_deinit(&list_spec, &opts, &opts.args);
	return status;
}
