/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof convert`: profiles in, any format out. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/func_table.h"
#include "cli/inputs.h"
#include "cli/outputs.h"
#include "profile/ledger.h"

struct convert_opts {
	struct opts_list outputs;
	const char *value, *by, *title;
	bool annotate, force;
	struct opts_args args;
};

#define AT(member, type) .offset = OPT_AT(struct convert_opts, member, type)

static const struct opt convert_options[] = {
	{OPT_GROUP, .help = "Output"},
	{OPT_LIST, 'o', "output", "FILE", AT(outputs, struct opts_list), .flags = OPT_IS_FILE,
	 .help = "repeatable; the extension says the format, '-' is folded text on stdout; %v: one "
		 "file per value"},
	{OPT_STRING, 0, "value", "NAME", AT(value, const char *),
	 .help = "the value that one-value formats hold"},
	{OPT_STRING, 0, "by", "LIST", AT(by, const char *),
	 .help = "labels that make the first frame: comm (default), pid, ..."},
	{OPT_STRING, 0, "title", "TEXT", AT(title, const char *),
	 .help = "the flame graph's title"},
	{OPT_FLAG, 0, "annotate", AT(annotate, bool), .flags = OPT_NEGATABLE,
	 .help = "folded: _[k] after kernel frames, _[i] inlined, _[j] JIT"},
	{OPT_FLAG, 0, "force", AT(force, bool), .flags = OPT_NEGATABLE,
	 .help = "replace existing files"},
	{OPT_END},
};

static const struct opts_example convert_examples[] = {
	{"bpfprof convert app.pb.gz -o app.svg", "draw a saved profile"},
	{"bpfprof convert day-*.pb.gz -o day.pb.gz", "merge many into one"},
	{"bpfprof convert other.folded -o other.pb.gz", "give another tool's stacks to pprof"},
	{NULL},
};

const struct opts_spec convert_spec = {
	.name = "convert",
	.usage = "convert FILE... -o OUT [OPTIONS]",
	.summary = "Turn profiles (pprof, folded text) into another format; several are merged",
	.details = "A FILE called '-' is standard input.",
	.options = convert_options,
	.examples = convert_examples,
};

/* Usage that the table cannot check. 0, or -EINVAL and @why. */
static int name_outputs(const struct convert_opts *opts, struct output_set *outputs,
			struct buf *why)
{
	int err = 0;

	if (!opts->args.operands.cnt || !opts->outputs.cnt) {
		buf_add_str(why, opts->args.operands.cnt ? "no output named (-o OUT)"
							 : "no FILE to convert");
		return -EINVAL;
	}
	outputs->force = opts->force;
	for (size_t i = 0; i < opts->outputs.cnt && !err; i++)
		err = output_set_add(outputs, opts->outputs.items[i], why);
	return err;
}

static int write_outputs(const struct convert_opts *opts, struct output_set *outputs,
			 const struct profile *prof, uint32_t value)
{
	_cleanup_(buf_deinit) struct buf ledger_line;
	struct encoder_opts how = {
		.value = value,
		.by = opts->by,
		.annotate = opts->annotate,
		.title = opts->title,
	};
	struct ledger ledger;

	buf_init(&ledger_line, BUF_NO_MAX);
	if (!profile_get_ledger(prof, &ledger)) {
		ledger_format_line(&ledger, &ledger_line);
		ledger_deinit(&ledger);
		how.ledger_line = buf_cstr(&ledger_line);
	}
	return output_set_write(outputs, prof, &how);
}

static int convert(const struct convert_opts *opts, struct output_set *outputs,
		   struct profile *prof)
{
	struct output_naming naming = {.window = 1};
	uint32_t value;
	int err = inputs_load(&opts->args.operands, prof);

	if (err)
		return err;
	value = profile_pick_value(prof, opts->value);
	if (value == PROFILE_NONE)
		return -EINVAL;
	naming.utc_ns = prof->time_ns ? prof->time_ns : clock_realtime_ns();
	err = output_set_open(outputs, &naming);
	if (!err)
		err = output_set_resolve(outputs, &naming, prof,
					 opts->value ? value : PROFILE_NONE);
	return err ? err : write_outputs(opts, outputs, prof, value);
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
		if (name_outputs(&opts, &outputs, &why)) {
			log_error("%s (see bpfprof convert --help)", buf_cstr(&why));
			status = CLI_USAGE;
		} else {
			status = convert(&opts, &outputs, &prof) ? CLI_FAILED : CLI_OK;
			profile_deinit(&prof);
		}
	}
	opts_deinit(&convert_spec, &opts, &opts.args);
	return status;
}
