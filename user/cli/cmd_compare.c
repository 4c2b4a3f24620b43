/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `bpfprof compare`: two commands, each run and recorded several times, alternately.
 *
 * The order is before, after, after, before, before, ...: what drifts while it lasts (a warming
 * cache, a throttling CPU, a neighbour) hits both sides alike.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/compare_run.h"
#include "cli/diff_outputs.h"
#include "cli/inputs.h"
#include "cli/record.h"

enum { NAME_MAX_BYTES = 100, RECORD_ARGS_MAX = 32, RECORD_OWN_ARGS = 4, FOLDER_MAX = 3900 };

static const char *const sides[] = {[DIFF_BEFORE] = "before", [DIFF_AFTER] = "after"};

static const struct opt compare_options[] = {
	{OPT_GROUP, .help = "Runs"},
	{OPT_NUMBER, 'n', "runs", "RUNS", DIFF_OPT_AT(runs, uint64_t), .min = 1,
	 .max = SIGNIFICANCE_RUNS_MAX, .help = "of each command (default: 5)"},
	{OPT_LIST, 'e', "event", "EVENT", DIFF_OPT_AT(events, struct opts_list),
	 .help = "as of record; repeatable"},
	{OPT_STRING, 'F', "freq", "HZ", DIFF_OPT_AT(freq, const char *),
	 .help = "samples per second and CPU (default: 499)"},
	{OPT_STRING, 'c', "count", "N", DIFF_OPT_AT(count, const char *),
	 .help = "instead of -F: one sample every N events"},
	{OPT_FLAG, 0, "off-cpu", DIFF_OPT_AT(off_cpu, bool), .flags = OPT_NEGATABLE,
	 .help = "compare where they wait"},
	{OPT_FLAG, 0, "wall", DIFF_OPT_AT(wall, bool), .flags = OPT_NEGATABLE,
	 .help = "compare all of their time, on the CPU and off it"},
	{OPT_FLAG, 0, "show-output", DIFF_OPT_AT(show_output, bool), .flags = OPT_NEGATABLE,
	 .help = "let the commands write to standard output (else it is thrown away)"},
	DIFF_OPTIONS,
	{OPT_END},
};

static const struct opts_example compare_examples[] = {
	{"sudo bpfprof compare -- ./before --- ./after", "five runs of each, alternately"},
	{"sudo bpfprof compare -n 10 -o diff.svg -- ./app old.conf --- ./app new.conf",
	 "ten runs, and a differential flame graph"},
	{"sudo bpfprof compare --off-cpu -- ./before --- ./after", "where they wait"},
	{"sudo bpfprof compare --fail-above 5% --format md -- ./main --- ./branch", "in CI"},
	{NULL},
};

/* COMMAND begins at the first word that is no option. */
static bool take_operand(void *target, const char *arg)
{
	return false;
}

const struct opts_spec compare_spec = {
	.name = "compare",
	.usage = "compare [-n RUNS] [OPTIONS] -- COMMAND ARG... --- COMMAND ARG...",
	.summary = "Run two commands alternately and tell what changed, and how surely",
	.details = "Runs go before, after, after, before, ...; each is recorded as `bpfprof "
		   "record` does.\n"
		   "Wall and CPU time: medians, the interval of their difference (Hodges-Lehmann) "
		   "and\n"
		   "Mann and Whitney's exact test. Functions: amounts of one run on average; their "
		   "spread is\n"
		   "that between runs, or that of sampling where it is larger (Student's t, "
		   "Benjamini-\n"
		   "Hochberg). A command that fails ends the comparison. See also bpfprof diff "
		   "--help.",
	.options = compare_options,
	.examples = compare_examples,
	.take_operand = take_operand,
};

struct comparison {
	struct diff_opts *opts;
	char **commands[DIFF_SIDE_CNT]; /* borrowed from argv, NULL-terminated */
	struct buf names[DIFF_SIDE_CNT];
	char folder[FOLDER_MAX + 32]; /* ours alone; "": not made yet */
	char path[FOLDER_MAX + 48]; /* of the run's profile, there */
	double wall_s[DIFF_SIDE_CNT][SIGNIFICANCE_RUNS_MAX];
	double cpu_s[DIFF_SIDE_CNT][SIGNIFICANCE_RUNS_MAX];
	struct diff diff;
	struct diff_report facts; /* only its facts */
};

static size_t argv_len(char **argv)
{
	size_t len = 0;

	while (argv[len])
		len++;
	return len;
}

static void name_command(char **argv, struct buf *out)
{
	for (; *argv && out->len < NAME_MAX_BYTES; argv++)
		buf_printf(out, "%s%s", out->len ? " " : "", *argv);
	if (*argv)
		buf_add_str(out, " ...");
}

/* Cut at "---". */
static int split_commands(struct comparison *cmp, struct buf *why)
{
	char **words = cmp->opts->args.command;
	size_t at = 0;

	while (words && words[at] && strcmp(words[at], "---"))
		at++;
	if (!words || !words[at]) {
		buf_add_str(why, "two commands are compared: -- COMMAND... --- COMMAND...");
		return -EINVAL;
	}
	if (!at || !words[at + 1]) {
		buf_printf(why, "no COMMAND %s '---'", at ? "after" : "before");
		return -EINVAL;
	}
	words[at] = NULL;
	cmp->commands[DIFF_BEFORE] = words;
	cmp->commands[DIFF_AFTER] = words + at + 1;
	name_command(cmp->commands[DIFF_BEFORE], &cmp->names[DIFF_BEFORE]);
	name_command(cmp->commands[DIFF_AFTER], &cmp->names[DIFF_AFTER]);
	return 0;
}

static int make_folder(struct comparison *cmp)
{
	const char *tmp = getenv("TMPDIR");

	if (!tmp || !*tmp || strlen(tmp) > FOLDER_MAX)
		tmp = "/tmp";
	snprintf(cmp->folder, sizeof(cmp->folder), "%.*s/bpfprof-compare-XXXXXX", FOLDER_MAX, tmp);
	if (!mkdtemp(cmp->folder)) {
		int err = -errno;

		log_error("a folder for the runs in '%s' ($TMPDIR): %s", tmp, strerror(-err));
		*cmp->folder = '\0';
		return err;
	}
	snprintf(cmp->path, sizeof(cmp->path), "%s/run.pb.gz", cmp->folder);
	return 0;
}

static void remove_folder(struct comparison *cmp)
{
	if (!*cmp->folder)
		return;
	unlink(cmp->path);
	if (rmdir(cmp->folder))
		log_warn("'%s' could not be removed: %s", cmp->folder, strerror(errno));
}

/* The arguments of `record` for @side, owned; NULL without memory. */
static char **record_args(const struct comparison *cmp, enum diff_side side, int *argc)
{
	const struct diff_opts *opts = cmp->opts;
	char **command = cmp->commands[side];
	size_t command_len = argv_len(command), cnt = 0;
	char **argv = calloc(RECORD_ARGS_MAX + 2 * opts->events.cnt + command_len, sizeof(*argv));

	if (!argv)
		return NULL;
	argv[cnt++] = "-q";
	argv[cnt++] = "--force";
	argv[cnt++] = "-o";
	argv[cnt++] = (char *)cmp->path;
	for (size_t i = 0; i < opts->events.cnt; i++) {
		argv[cnt++] = "-e";
		argv[cnt++] = (char *)opts->events.items[i];
	}
	if (opts->count) {
		argv[cnt++] = "-c";
		argv[cnt++] = (char *)opts->count;
	} else if (opts->freq || (!opts->off_cpu && !opts->events.cnt)) {
		argv[cnt++] = "-F";
		argv[cnt++] = opts->freq ? (char *)opts->freq : "499";
	}
	if (opts->off_cpu)
		argv[cnt++] = "--off-cpu";
	if (opts->wall)
		argv[cnt++] = "--wall";
	argv[cnt++] = "--";
	memcpy(argv + cnt, command, command_len * sizeof(*argv));
	*argc = (int)(cnt + command_len);
	return argv;
}

/* Would `record` take the options? CLI_OK, or an exit status after its log_error(). */
static int check_record_args(const struct comparison *cmp)
{
	struct record_opts opts;
	int argc, status = CLI_OK;
	_cleanup_free_ char **argv = record_args(cmp, DIFF_BEFORE, &argc);

	if (!argv)
		return CLI_FAILED;
	/* Without -q, which would be for us as well, and the file, which has no name yet. */
	if (record_opts_parse(&opts, argc - RECORD_OWN_ARGS, argv + RECORD_OWN_ARGS, &status))
		status = CLI_OK;
	record_opts_deinit(&opts);
	return status;
}

/* One line about a run that did not end well; the exit status. */
static int report_failure(const struct comparison *cmp, enum diff_side side, size_t nr,
			  const struct compare_run *run)
{
	const char *name = buf_cstr(&cmp->names[side]);

	if (run->is_stopped)
		log_error("compare: interrupted in run %zu (%s)", nr + 1, sides[side]);
	else if (run->status >= CLI_COMMAND_FAILED && run->status <= CLI_COMMAND_NOT_FOUND)
		log_error("compare: run %zu (%s, '%s') could not be recorded", nr + 1, sides[side],
			  name);
	else if (run->status > 128)
		log_error("compare: run %zu (%s, '%s') was ended by signal %d: only runs that "
			  "succeed can be compared",
			  nr + 1, sides[side], name, run->status - 128);
	else
		log_error("compare: run %zu (%s, '%s'): exit status %d: only runs that succeed can "
			  "be compared",
			  nr + 1, sides[side], name, run->status);
	return CLI_FAILED;
}

/* The profile of a run of @side becomes a part of the difference. */
static int take_profile(struct comparison *cmp, enum diff_side side)
{
	const char *path = cmp->path;
	const struct opts_list paths = {.items = &path, .cnt = 1};
	_cleanup_(profile_deinit) struct profile prof = {0};
	_cleanup_(buf_deinit) struct buf why;
	uint32_t values[DIFF_SIDE_CNT];
	int err = inputs_load(&paths, &prof);

	buf_init(&why, BUF_NO_MAX);
	unlink(path);
	if (err)
		return err;
	/* All runs have the same values. */
	err = diff_pick_value(&prof, &prof, cmp->opts->value, values, &why);
	if (!err)
		err = diff_add(&cmp->diff, side, &prof, values[DIFF_BEFORE]);
	if (!err)
		err = diff_report_facts(&cmp->facts, side, &prof);
	if (err)
		log_error("compare: %s", buf_error_text(&why, err));
	return err;
}

static void show_progress(const struct comparison *cmp, enum diff_side side, size_t done)
{
	if (!isatty(STDERR_FILENO) || log_get_level() < LOG_NORMAL)
		return;
	fprintf(stderr, "\r\033[K");
	if (done < 2 * cmp->opts->runs)
		fprintf(stderr, "run %zu of %zu: %s", done + 1, (size_t)(2 * cmp->opts->runs),
			sides[side]);
	fflush(stderr);
}

/* Run @nr of @side; exit status. */
static int run_once(struct comparison *cmp, enum diff_side side, size_t nr, size_t done)
{
	struct compare_run run;
	int argc, err;
	_cleanup_free_ char **argv = record_args(cmp, side, &argc);

	show_progress(cmp, side, done);
	err = argv ? compare_run(argc, argv, cmp->opts->show_output, &run) : -ENOMEM;
	show_progress(cmp, side, 2 * cmp->opts->runs);
	if (err) {
		log_error("compare: run %zu (%s): %s", nr + 1, sides[side], strerror(-err));
		return CLI_FAILED;
	}
	if (run.status || run.is_stopped)
		return report_failure(cmp, side, nr, &run);
	cmp->wall_s[side][nr] = (double)run.wall_ns / NSEC_PER_SEC;
	cmp->cpu_s[side][nr] = (double)run.cpu_ns / NSEC_PER_SEC;
	err = take_profile(cmp, side);
	log_debug("run %zu, %s: %.3f s, %.3f s of CPU", nr + 1, sides[side], cmp->wall_s[side][nr],
		  cmp->cpu_s[side][nr]);
	return err ? CLI_FAILED : CLI_OK;
}

static int run_all(struct comparison *cmp)
{
	int status = CLI_OK;

	if (cmp->opts->runs < 4)
		log_warn("%zu run%s of each cannot show that times differ at the level of 5 %%: "
			 "that takes 4 (-n)",
			 (size_t)cmp->opts->runs, cmp->opts->runs == 1 ? "" : "s");
	for (size_t nr = 0; nr < cmp->opts->runs && !status; nr++) {
		enum diff_side first = nr % 2 ? DIFF_AFTER : DIFF_BEFORE;
		enum diff_side second = nr % 2 ? DIFF_BEFORE : DIFF_AFTER;

		status = run_once(cmp, first, nr, 2 * nr);
		if (!status)
			status = run_once(cmp, second, nr, 2 * nr + 1);
	}
	return status;
}

static int add_timing(struct diff_report *report, const char *name,
		      double seconds[DIFF_SIDE_CNT][SIGNIFICANCE_RUNS_MAX], size_t runs)
{
	struct diff_timing *timing = &report->timings[report->timing_cnt++];

	timing->name = name;
	return significance_compare(seconds[DIFF_BEFORE], runs, seconds[DIFF_AFTER], runs,
				    &timing->shift);
}

/* What the runs have told goes over into the report. */
static int make_report(struct comparison *cmp, struct diff_report *report)
{
	int err = diff_finish(&cmp->diff);

	*report = (struct diff_report){0};
	if (!err)
		err = diff_report_init(report, &cmp->diff, (enum diff_sort)cmp->opts->sort.bits);
	if (err)
		return err;
	report->facts = take_ptr(cmp->facts.facts);
	report->fact_cnt = cmp->facts.fact_cnt;
	report->fact_cap = cmp->facts.fact_cap;
	cmp->facts.fact_cnt = 0;
	report->names[DIFF_BEFORE] = buf_cstr(&cmp->names[DIFF_BEFORE]);
	report->names[DIFF_AFTER] = buf_cstr(&cmp->names[DIFF_AFTER]);
	err = diff_note_names(&cmp->diff, report->names);
	if (!err)
		err = add_timing(report, "wall time", cmp->wall_s, cmp->opts->runs);
	return err ? err : add_timing(report, "CPU time", cmp->cpu_s, cmp->opts->runs);
}

static int compare(struct comparison *cmp, struct diff_outputs *outputs)
{
	_cleanup_(diff_report_deinit) struct diff_report report = {0};
	int status, err = diff_init(&cmp->diff, "", false);

	if (err)
		log_error("compare: %s", strerror(-err));
	if (err || make_folder(cmp))
		return CLI_FAILED;
	status = run_all(cmp);
	if (status)
		return status;
	err = make_report(cmp, &report);
	if (!err)
		return diff_outputs_show(cmp->opts, outputs, &report);
	log_error("compare: %s", strerror(-err));
	return CLI_FAILED;
}

static int compare_commands(struct comparison *cmp)
{
	_cleanup_(diff_outputs_deinit) struct diff_outputs outputs = {0};
	_cleanup_(buf_deinit) struct buf why;
	int err, status;

	buf_init(&why, BUF_NO_MAX);
	err = split_commands(cmp, &why);
	if (!err)
		err = diff_outputs_open(cmp->opts, &outputs, &why);
	if (why.len) {
		log_error("%s (see bpfprof compare --help)", buf_cstr(&why));
		return CLI_USAGE;
	}
	status = err ? CLI_FAILED : check_record_args(cmp);
	if (!status)
		status = compare(cmp, &outputs);
	remove_folder(cmp);
	return status;
}

int cmd_compare(int argc, char **argv)
{
	struct diff_opts opts = {.limit = 20, .fail_above = -1, .runs = 5};
	struct comparison *cmp = calloc(1, sizeof(*cmp));
	int status = CLI_FAILED;

	if (!cmp) {
		log_error("compare: %s", strerror(ENOMEM));
		return status;
	}
	cmp->opts = &opts;
	for (int side = 0; side < DIFF_SIDE_CNT; side++)
		buf_init(&cmp->names[side], BUF_NO_MAX);
	if (cli_begin(&compare_spec, argc, argv, &opts, &opts.args, &status))
		status = compare_commands(cmp);
	for (int side = 0; side < DIFF_SIDE_CNT; side++)
		buf_deinit(&cmp->names[side]);
	diff_deinit(&cmp->diff);
	diff_report_deinit(&cmp->facts);
	opts_deinit(&compare_spec, &opts, &opts.args);
	free(cmp);
	return status;
}
