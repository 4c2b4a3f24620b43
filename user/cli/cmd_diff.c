/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof diff`: what changed from one profile to another, and how surely. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/confinement.h"
#include "cli/diff_outputs.h"
#include "cli/inputs.h"

static const struct opt diff_options[] = {
	DIFF_OPTIONS,
	{OPT_GROUP, .help = "What is compared"},
	{OPT_FLAG, 0, "normalize", DIFF_OPT_AT(normalize, bool), .flags = OPT_NEGATABLE,
	 .help = "shares instead of amounts: after is scaled to before's total"},
	{OPT_STRING, 0, "by", "LIST", DIFF_OPT_AT(by, const char *),
	 .help = "labels by which stacks are told apart: comm (default), pid, ..., or none"},
	{OPT_END},
};

static const struct opts_example diff_examples[] = {
	{"bpfprof diff before.pb.gz after.pb.gz", "what takes more, what less, and how surely"},
	{"bpfprof diff before.pb.gz after.pb.gz -o diff.svg --width max",
	 "the same as a flame graph: red is more, blue less"},
	{"bpfprof diff --normalize one-minute.pb.gz ten-minutes.pb.gz",
	 "shares of different spans"},
	{"bpfprof diff main.pb.gz branch.pb.gz --fail-above 5% --format md >> $GITHUB_STEP_SUMMARY",
	 "in CI"},
	{"bpfprof diff a.folded b.folded -o - | flamegraph.pl > diff.svg",
	 "two columns for other tools"},
	{NULL},
};

const struct opts_spec diff_spec = {
	.name = "diff",
	.usage = "diff BEFORE AFTER [-o OUT] [OPTIONS]",
	.summary = "Tell what changed between two profiles, and how surely",
	.details = INPUTS_HELP
	"\n"
	"Functions are matched by name, so that builds and machines may differ. The table has\n"
	"each function's total (with all that it calls) before and after, the change with its\n"
	"95 % interval, and the change of what it does itself; a '*' marks what is significant:\n"
	"by a bootstrap over stacks, with at most 5 % of the marked ones due to chance of\n"
	"sampling (Benjamini-Hochberg). What the load did differently while the two were\n"
	"recorded is a change as well: `bpfprof compare` repeats runs.",
	.is_unprivileged = true,
	.options = diff_options,
	.examples = diff_examples,
};

static int load(const char *path, struct profile *out)
{
	const struct opts_list paths = {.items = &path, .cnt = 1};

	return inputs_load(&paths, out);
}

static int diff_profiles(const struct diff_opts *opts, struct diff_outputs *outputs,
			 struct profile profiles[DIFF_SIDE_CNT])
{
	const char *const *names = opts->args.operands.items;

	for (enum diff_side side = DIFF_BEFORE; side <= DIFF_AFTER; side++)
		if (load(names[side], &profiles[side]))
			return CLI_FAILED;
	return diff_sides_show(opts, outputs, profiles, names);
}

/* Are there two files, and at most one of them standard input? */
static int check_operands(const struct opts_list *files, struct buf *why)
{
	if (files->cnt != DIFF_SIDE_CNT) {
		buf_printf(why, "%s (wanted: BEFORE AFTER)",
			   !files->cnt	     ? "no files to compare"
			   : files->cnt == 1 ? "one file alone cannot be compared"
					     : "more than two files");
		return -EINVAL;
	}
	if (!strcmp(files->items[DIFF_BEFORE], "-") && !strcmp(files->items[DIFF_AFTER], "-")) {
		buf_add_str(why, "standard input ('-') can only be one of the two files");
		return -EINVAL;
	}
	return 0;
}

static int diff_files(const struct diff_opts *opts)
{
	_cleanup_(diff_outputs_deinit) struct diff_outputs outputs = {0};
	struct profile profiles[DIFF_SIDE_CNT];
	_cleanup_(buf_deinit) struct buf why;
	int err, status = CLI_FAILED;

	memset(profiles, 0, sizeof(profiles));
	buf_init(&why, BUF_NO_MAX);
	err = check_operands(&opts->args.operands, &why);
	if (!err)
		err = diff_outputs_open(opts, &outputs, &why);
	if (why.len) {
		log_error("%s (see bpfprof diff --help)", buf_cstr(&why));
		return CLI_USAGE;
	}
	if (!err)
		confine_reader(false);
	if (!err)
		status = diff_profiles(opts, &outputs, profiles);
	profile_deinit(&profiles[DIFF_BEFORE]);
	profile_deinit(&profiles[DIFF_AFTER]);
	return status;
}

int cmd_diff(int argc, char **argv)
{
	struct diff_opts opts = {.limit = 20, .fail_above = -1};
	int status;

	if (cli_begin(&diff_spec, argc, argv, &opts, &opts.args, &status))
		status = diff_files(&opts);
	opts_deinit(&diff_spec, &opts, &opts.args);
	return status;
}
