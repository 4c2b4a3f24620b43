/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof symbolize`: names for a profile that was recorded elsewhere. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/confinement.h"
#include "cli/debug_dirs.h"
#include "cli/inputs.h"
#include "cli/rendering.h"
#include "cli/symbol_files.h"
#include "elf/debuginfod.h"
#include "symbol/completion.h"
#include "symbol/debuginfod_rank.h"
#include "symbol/demangle.h"
#include "symbol/name_keeper.h"

struct symbolize_opts {
	struct rendering render;
	struct opts_list debug_dir_args;
	bool no_inline, merge_clones;
	struct opts_args args;
};

#define AT(member, type) .offset = OPT_AT(struct symbolize_opts, member, type)

static const struct opt symbolize_options[] = {
	{OPT_GROUP, .help = "Names"},
	{OPT_LIST, 0, "debug-dir", "DIR", AT(debug_dir_args, struct opts_list),
	 .flags = OPT_IS_FILE, .help = DEBUG_DIR_HELP},
	{OPT_FLAG, 0, "no-inline", AT(no_inline, bool), .flags = OPT_NEGATABLE,
	 .help = "no frames for inlined calls, no source lines"},
	{OPT_FLAG, 0, "merge-clones", AT(merge_clones, bool), .flags = OPT_NEGATABLE,
	 .help = "count a function's parts and copies (.cold, .part.0, .isra.0, ...) as it"},
	RENDERING_OPTIONS(struct symbolize_opts, render),
	{OPT_END},
};

static const struct opts_example symbolize_examples[] = {
	{"bpfprof symbolize prod.pb.gz -o named.pb.gz --debug-dir ./symbols",
	 "complete what a host without symbols has recorded"},
	{"DEBUGINFOD_URLS=http://symbols:8002 bpfprof symbolize prod.pb.gz -o prod.svg",
	 "from a debuginfod server"},
	{NULL},
};

const struct opts_spec symbolize_spec = {
	.name = "symbolize",
	.usage = "symbolize FILE... -o OUT [OPTIONS]",
	.summary = "Complete the names of a profile by the build-ids in it",
	.details =
		"Files are looked for in every --debug-dir, under the paths that the profile has,\n"
		"in /usr/lib/debug, and on the servers in $DEBUGINFOD_URLS (libdebuginfod1). Only\n"
		"one with the right build-id is used. Frames of the kernel and of JIT code keep\n"
		"the names that they were recorded with.",
	.is_unprivileged = true,
	.options = symbolize_options,
	.examples = symbolize_examples,
	.writes_profiles = true,
};

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 100.0;
}

static void summarize(const struct completion *completion)
{
	const struct ledger_frames *after = &completion->after;

	log_info("%.1f %% of %llu frames are named (%.1f %% before); %zu of %zu files that lacked "
		 "something were found",
		 share(after->named, after->distinct), (unsigned long long)after->distinct,
		 share(completion->before.named, completion->before.distinct),
		 completion->found_cnt, completion->wanted_cnt);
	if (completion->no_id_cnt)
		log_info("%zu files have no build-id in the profile: they are not looked for",
			 completion->no_id_cnt);
}

/* A copy of @prof without the names that nothing uses any more takes its place. */
static int compact(struct profile *prof)
{
	struct profile copy;
	int err = profile_init(&copy);

	if (err)
		return err;
	err = profile_merge(&copy, prof);
	if (err) {
		profile_deinit(&copy);
		return err;
	}
	profile_deinit(prof);
	*prof = copy;
	return 0;
}

static int complete(const struct symbolize_opts *opts, const struct symbol_sources *sources,
		    struct name_keeper *keeper, struct profile *prof)
{
	const struct symbolizer_opts how = {
		.no_inline = opts->no_inline,
		.merge_clones = opts->merge_clones,
		.keeper = keeper,
	};
	_cleanup_(completion_deinit) struct completion completion;
	int err = completion_init(&completion, prof, sources);

	if (!err && sources->debuginfod) {
		completion_ask(&completion);
		symbol_files_wait(sources->debuginfod);
		err = debuginfod_rank(sources->debuginfod, prof);
		debuginfod_report(sources->debuginfod);
	}
	if (!err)
		err = completion_run(&completion, &how);
	if (!err)
		summarize(&completion);
	return err || !completion.replaced_cnt ? err : compact(prof);
}

static int symbolize(const struct symbolize_opts *opts, const struct debug_dirs *dirs,
		     struct output_set *outputs)
{
	_cleanup_(name_keeper_freep) struct name_keeper *keeper = name_keeper_new(NULL);
	_cleanup_(profile_deinit) struct profile prof = {0};
	_cleanup_(viewer_deinit) struct viewer viewer;
	struct symbol_sources sources;
	uint32_t value;
	int err;

	viewer_init(&viewer, opts->render.open);
	demangle_preload();
	confine_reader(debuginfod_is_configured());
	err = inputs_load(&opts->args.operands, &prof);

	if (!err)
		err = rendering_open(&opts->render, outputs, &prof, &value);
	if (!err)
		err = symbol_files_open(dirs, &sources);
	if (err)
		return err;
	err = complete(opts, &sources, keeper, &prof);
	if (err)
		log_error("names: %s", strerror(-err));
	else
		err = rendering_write(&opts->render, outputs, &prof, value, &viewer);
	name_keeper_save(keeper);
	debuginfod_stop(sources.debuginfod);
	return err;
}

/* Usage that the table cannot check; an exit status. */
static int prepare(const struct symbolize_opts *opts, struct debug_dirs *dirs,
		   struct output_set *outputs)
{
	_cleanup_(buf_deinit) struct buf why;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = rendering_name(&opts->render, opts->args.operands.cnt, "symbolize", outputs, &why);
	if (err)
		return cli_refuse(&symbolize_spec, &why, err);
	err = debug_dirs_init(dirs, &opts->debug_dir_args);
	return !err ? CLI_OK : err == -ENOMEM ? CLI_FAILED : CLI_USAGE;
}

int cmd_symbolize(int argc, char **argv)
{
	_cleanup_(output_set_deinit) struct output_set outputs;
	_cleanup_(debug_dirs_deinit) struct debug_dirs dirs = {0};
	struct symbolize_opts opts = {0};
	int status = CLI_USAGE;

	output_set_init(&outputs);
	if (cli_begin(&symbolize_spec, argc, argv, &opts, &opts.args, &status)) {
		status = prepare(&opts, &dirs, &outputs);
		if (status == CLI_OK)
			status = symbolize(&opts, &dirs, &outputs) ? CLI_FAILED : CLI_OK;
	}
	opts_deinit(&symbolize_spec, &opts, &opts.args);
	return status;
}
