/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof doctor`: what this machine can and cannot do, each with its fix. */
#include <stdio.h>

#include "base/build.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "capture/capture.h"
#include "cli/cli.h"

enum { PROBES_MAX = 64 };

struct doctor_opts {
	bool json;
	struct opts_args args;
};

static const struct opt doctor_options[] = {
	{OPT_GROUP, .help = "Output"},
	{OPT_FLAG, 0, "json", .offset = OPT_AT(struct doctor_opts, json, bool),
	 .help = "as one JSON object"},
	{OPT_END},
};

const struct opts_spec doctor_spec = {
	.name = "doctor",
	.usage = "doctor [--json]",
	.summary = "Tell what this machine can and cannot do, and how to mend it",
	.details = "The exit status is 1 when recording would fail.",
	.options = doctor_options,
};

static bool can_record(const struct capture_probe *probes, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (probes[i].is_required && !probes[i].ok)
			return false;
	return true;
}

static void add_text(const struct capture_probe *probes, size_t cnt, struct buf *out)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct capture_probe *probe = &probes[i];
		const char *verdict = probe->ok ? "ok" : probe->is_required ? "FAIL" : "no";

		buf_printf(out, "%-5s %-28s %s\n", verdict, probe->name, probe->detail);
		if (!probe->ok && probe->fix[0])
			buf_printf(out, "      fix: %s\n", probe->fix);
	}
	buf_printf(out, "\nbpfprof record %s on this machine.\n",
		   can_record(probes, cnt) ? "works" : "does not work");
}

static void add_json(const struct capture_probe *probes, size_t cnt, struct buf *out)
{
	struct json js;

	json_init(&js, out);
	json_object_begin(&js);
	json_kv_str(&js, "version", BPFPROF_VERSION);
	json_key(&js, "can_record");
	json_bool(&js, can_record(probes, cnt));
	json_key(&js, "probes");
	json_array_begin(&js);
	for (size_t i = 0; i < cnt; i++) {
		json_object_begin(&js);
		json_kv_str(&js, "name", probes[i].name);
		json_key(&js, "ok");
		json_bool(&js, probes[i].ok);
		json_key(&js, "required");
		json_bool(&js, probes[i].is_required);
		json_kv_str(&js, "detail", probes[i].detail);
		json_kv_str(&js, "fix", probes[i].fix);
		json_object_end(&js);
	}
	json_array_end(&js);
	json_object_end(&js);
	buf_add_char(out, '\n');
}

/* What no machine mends: it is the build's. */
static size_t add_lacks(struct capture_probe *probes, size_t max)
{
	size_t cnt = 0;

	for (; cnt < max && build_lacks[cnt].name; cnt++) {
		const struct build_lack *lack = &build_lacks[cnt];

		probes[cnt].name = lack->name;
		snprintf(probes[cnt].detail, sizeof(probes[cnt].detail), "%s", lack->detail);
		snprintf(probes[cnt].fix, sizeof(probes[cnt].fix), "%s", lack->fix);
	}
	return cnt;
}

static int doctor(bool as_json)
{
	_cleanup_free_ struct capture_probe *probes = calloc(PROBES_MAX, sizeof(*probes));
	_cleanup_(buf_deinit) struct buf out;
	size_t cnt;
	int status;

	buf_init(&out, BUF_NO_MAX);
	if (!probes) {
		log_error("doctor: out of memory");
		return CLI_FAILED;
	}
	cnt = capture_doctor(probes, PROBES_MAX);
	cnt += add_lacks(probes + cnt, PROBES_MAX - cnt);
	if (as_json)
		add_json(probes, cnt, &out);
	else
		add_text(probes, cnt, &out);
	status = cli_print(&out);
	return status ? status : can_record(probes, cnt) ? CLI_OK : CLI_FAILED;
}

int cmd_doctor(int argc, char **argv)
{
	struct doctor_opts opts = {0};
	int status;

	if (cli_begin(&doctor_spec, argc, argv, &opts, &opts.args, &status)) {
		if (opts.args.operands.cnt) {
			log_error("unexpected argument '%s' (see bpfprof doctor --help)",
				  opts.args.operands.items[0]);
			status = CLI_USAGE;
		} else {
			status = doctor(opts.json);
		}
	}
	opts_deinit(&doctor_spec, &opts, &opts.args);
	return status;
}
