/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof convert`: profiles in, any format out. */
#include "base/cleanup.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/confinement.h"
#include "cli/inputs.h"
#include "cli/rendering.h"

struct convert_opts {
	struct rendering render;
	struct opts_args args;
};

static const struct opt convert_options[] = {
	RENDERING_OPTIONS(struct convert_opts, render),
	{OPT_END},
};

static const struct opts_example convert_examples[] = {
	{"bpfprof convert app.pb.gz -o app.html --open", "look at a saved profile in the browser"},
	{"bpfprof convert app.pb.gz -o app.svg", "draw it as one picture"},
	{"perf script | bpfprof convert - -o perf.svg", "draw what perf has recorded"},
	{"bpfprof convert day-*.pb.gz -o day.pb.gz", "merge many into one"},
	{"bpfprof convert other.folded -o other.pb.gz", "give another tool's stacks to pprof"},
	{NULL},
};

const struct opts_spec convert_spec = {
	.name = "convert",
	.usage = "convert FILE... -o OUT [OPTIONS]",
	.summary = "Turn profiles into another format; several are merged",
	.details = INPUTS_HELP,
	.is_unprivileged = true,
	.options = convert_options,
	.examples = convert_examples,
	.writes_profiles = true,
};

static int convert(const struct convert_opts *opts, struct output_set *outputs,
		   struct profile *prof)
{
	_cleanup_(viewer_deinit) struct viewer viewer;
	uint32_t value;
	int err;

	viewer_init(&viewer, opts->render.open);
	confine_reader(false);
	err = inputs_load(&opts->args.operands, prof);

	if (!err)
		err = rendering_open(&opts->render, outputs, prof, &value);
	return err ? err : rendering_write(&opts->render, outputs, prof, value, &viewer);
}

int cmd_convert(int argc, char **argv)
{
	_cleanup_(output_set_deinit) struct output_set outputs;
	_cleanup_(buf_deinit) struct buf why;
	struct convert_opts opts = {0};
	struct profile prof = {0};
	int status = CLI_USAGE;

	output_set_init(&outputs);
	buf_init(&why, BUF_NO_MAX);
	if (cli_begin(&convert_spec, argc, argv, &opts, &opts.args, &status)) {
		int err = rendering_name(&opts.render, opts.args.operands.cnt, "convert", &outputs,
					 &why);

		if (err) {
			status = cli_refuse(&convert_spec, &why, err);
		} else {
			status = convert(&opts, &outputs, &prof) ? CLI_FAILED : CLI_OK;
			profile_deinit(&prof);
		}
	}
	opts_deinit(&convert_spec, &opts, &opts.args);
	return status;
}
