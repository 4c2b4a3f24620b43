/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof query`: what the local store holds of a range of time. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/nearest.h"
#include "cli/cli.h"
#include "cli/confinement.h"
#include "cli/query.h"
#include "cli/store_arg.h"
#include "fleet/fleet.h"

enum view {
	VIEW_TOP = 1 << 0,
	VIEW_FLAME = 1 << 1,
	VIEW_DIFF = 1 << 2,
	VIEW_LABELS = 1 << 3,
	VIEW_KINDS = 1 << 4,
	VIEW_REGRESSIONS = 1 << 5,
	VIEW_BOTH_DIFFS = VIEW_DIFF | VIEW_REGRESSIONS,
};

static const struct opt_choice views[] = {
	{"top", VIEW_TOP},
	{"flame", VIEW_FLAME},
	{"diff", VIEW_DIFF},
	{"regressions", VIEW_REGRESSIONS},
	{"labels", VIEW_LABELS},
	{"kinds", VIEW_KINDS},
	{NULL},
};

#define AT(member, type) .offset = OPT_AT(struct query_opts, member, type)

static const struct opt query_options[] = {
	{OPT_GROUP, .help = "What is read"},
	{OPT_STRING, 0, "store", "URL", AT(store, const char *), .flags = OPT_IS_FILE,
	 .help = STORE_ARG_ANY_HELP},
	{OPT_STRING, 0, "since", "TIME", AT(since, const char *),
	 .help = "15m, 1h (default) or 2d back from now, 2026-11-20T12:00:00Z, 'YYYY-MM-DD "
		 "HH:MM[:SS]' in local time, or unix seconds"},
	{OPT_STRING, 0, "until", "TIME", AT(until, const char *),
	 .help = "in the same forms (default: now); windows that begin before it are read"},
	{OPT_STRING, 0, "before-since", "TIME", AT(before_since, const char *),
	 .help = "diff, regressions: where the range to compare with begins (default: as long "
		 "before its end)"},
	{OPT_STRING, 0, "before-until", "TIME", AT(before_until, const char *),
	 .help = "where it ends (default: where the other one begins)"},
	{OPT_LIST, 0, "before-select", "LIST", AT(before_select, struct opts_list),
	 .help = "diff, regressions: what is compared with has these labels, where --select says "
		 "it of the rest (a version and the one before); of the same range by default"},
	{OPT_LIST, 0, "select", "LIST", AT(select, struct opts_list),
	 .help = "only samples whose labels match: 'service=web*,host=a'; repeatable; patterns for "
		 "one label OR, labels AND; 'service=' is those without one"},
	{OPT_LIST, 0, "where", "LIST", AT(select, struct opts_list),
	 .help = "the same as --select"},
	{OPT_STRING, 0, "kind", "KIND", AT(kind, const char *),
	 .help = "which kind of samples (default: cpu; `bpfprof query kinds` lists them)"},

	{OPT_GROUP, .help = "What is shown"},
	{OPT_STRING, 0, "by", "LIST", AT(render.by, const char *),
	 .help = "labels. top: a row for each of their values; flame: the first frame (default: "
		 "comm, of a fleet service); diff: what tells stacks apart (comm, or none); "
		 "labels: only these"},
	{OPT_STRING, 0, "value", "NAME", AT(render.value, const char *),
	 .help = "top, flame, diff: the value to show (default: the kind's)"},
	{OPT_STRING, 0, "sort", "KEY", AT(sort, const char *),
	 .help = "top: self (default), total or name, or keys as of report; diff: change "
		 "(default), self, percent, before, after or name"},
	{OPT_CHOICE, 0, "format", "FORMAT", AT(format, struct opts_choices),
	 .choices = report_format_choices, .help = "of a table: text (default), md or json"},
	{OPT_NUMBER, 0, "limit", "N", AT(limit, uint64_t), .min = 1,
	 .help = "lines of a table, values of a label (default: 40; diff: 20)"},
	{OPT_FLAG, 0, "normalize", AT(normalize, bool), .flags = OPT_NEGATABLE,
	 .help = "diff: shares instead of amounts"},
	{OPT_PERCENT, 0, "fail-above", "PCT", AT(fail_above, double),
	 .help = "diff: exit with status 1 where the whole or a function significantly grew by "
		 "more than PCT of all that was before"},

	{OPT_GROUP, .help = "Output of flame and diff"},
	{OPT_LIST, 'o', "output", "FILE", AT(render.outputs, struct opts_list),
	 .flags = OPT_IS_FILE,
	 .help = "repeatable; the extension says the format, '-' is folded text on stdout; %t: UTC "
		 "time, %v: one file per value (default of flame: bpfprof-%t.html)"},
	{OPT_STRING, 0, "title", "TEXT", AT(render.title, const char *),
	 .help = "the title, in formats that show one"},
	{OPT_CHOICE, 0, "width", "SIDE", AT(width, struct opts_choices),
	 .choices = diff_width_choices,
	 .help = "diff, svg: what makes frames wide: after (default), before, max or sum"},
	{OPT_FLAG, 0, "annotate", AT(render.annotate, bool), .flags = OPT_NEGATABLE,
	 .help = "flame, folded: _[k] after kernel frames, _[i] inlined, _[j] JIT, _[w] wakers"},
	{OPT_FLAG, 0, "embed-source", AT(render.embed_source, bool), .flags = OPT_NEGATABLE,
	 .help = "flame, html: with the source lines that have samples, from this host's files"},
	{OPT_FLAG, 0, "open", AT(render.open, bool), .flags = OPT_NEGATABLE,
	 .help = "show the first .html or .svg in the browser (xdg-open)"},
	{OPT_FLAG, 0, "force", AT(render.force, bool), .flags = OPT_NEGATABLE,
	 .help = "replace existing files"},
	{OPT_END},
};

static const struct opts_example query_examples[] = {
	{"bpfprof query top", "the hottest functions of the last hour"},
	{"bpfprof query top --since 1d --by service", "which service took how much"},
	{"bpfprof query flame --since '2026-11-20 12:00' --until '2026-11-20 12:05' -o spike.html",
	 "what a spike was"},
	{"bpfprof query flame --since 15m --select 'service=web*' --kind off-cpu -o waits.svg",
	 "what one service waited for"},
	{"bpfprof query diff --since 1h --before-since 1d", "now, and the same hour yesterday"},
	{"bpfprof query regressions --since 1h --select service=web,version=2 --before-select "
	 "service=web,version=1",
	 "what a release has made slower, while both run"},
	{"bpfprof query labels --since 1d", "what can be selected"},
	{"bpfprof query top --store clickhouse://db.example/profiles --select service=web --by "
	 "host",
	 "what each host of a fleet takes for one service"},
	{NULL},
};

const struct opts_spec query_spec = {
	.name = "query",
	.usage = "query top|flame|diff|regressions|labels|kinds [OPTIONS]",
	.summary = "Show what is stored of a range of time, on this host or of a fleet",
	.details =
		"The store is read beside the agent that writes it; a fleet's beside all of them.\n"
		"\n"
		"top          functions, or with --by the values of labels, as a table\n"
		"flame        whole stacks, as a flame graph or in any other format\n"
		"diff         what changed from the range before to this one, how surely\n"
		"regressions  the functions whose share of it all significantly grew\n"
		"labels       labels and their values, each with its sum\n"
		"kinds        which kinds of samples there are\n"
		"\n"
		"What of the range is stored, and what is missing, is told on stderr. Where\n"
		"nothing was sampled the exit status is 4; the files of flame then say why, "
		"unless\n"
		"the store is empty: there are none then.",
	.is_unprivileged = true,
	.options = query_options,
	.examples = query_examples,
	.writes_profiles = true,
};

/* Options that not all views take. */
static const struct {
	const char *name;
	uint32_t views;
} limited[] = {
	{"before-since", VIEW_BOTH_DIFFS},
	{"before-until", VIEW_BOTH_DIFFS},
	{"before-select", VIEW_BOTH_DIFFS},
	{"select", VIEW_TOP | VIEW_FLAME | VIEW_BOTH_DIFFS | VIEW_LABELS},
	{"kind", VIEW_TOP | VIEW_FLAME | VIEW_BOTH_DIFFS | VIEW_LABELS},
	{"by", VIEW_TOP | VIEW_FLAME | VIEW_BOTH_DIFFS | VIEW_LABELS},
	{"value", VIEW_TOP | VIEW_FLAME | VIEW_BOTH_DIFFS},
	{"sort", VIEW_TOP | VIEW_BOTH_DIFFS},
	{"format", VIEW_TOP | VIEW_BOTH_DIFFS | VIEW_LABELS | VIEW_KINDS},
	{"limit", VIEW_TOP | VIEW_BOTH_DIFFS | VIEW_LABELS},
	{"normalize", VIEW_DIFF},
	{"fail-above", VIEW_BOTH_DIFFS},
	{"output", VIEW_FLAME | VIEW_BOTH_DIFFS},
	{"title", VIEW_FLAME | VIEW_BOTH_DIFFS},
	{"width", VIEW_BOTH_DIFFS},
	{"annotate", VIEW_FLAME},
	{"embed-source", VIEW_FLAME},
	{"open", VIEW_FLAME | VIEW_BOTH_DIFFS},
	{"force", VIEW_FLAME | VIEW_BOTH_DIFFS},
};

/* Was @opt on the command line? Of the kinds that query_options has. */
static bool is_given(const struct query_opts *opts, const struct opt *opt)
{
	const void *field = (const char *)opts + opt->offset;

	switch (opt->kind) {
	case OPT_STRING:
		return *(const char *const *)field != NULL;
	case OPT_LIST:
		return ((const struct opts_list *)field)->cnt > 0;
	case OPT_FLAG:
		return *(const bool *)field;
	case OPT_NUMBER:
		return *(const uint64_t *)field != 0;
	case OPT_CHOICE:
		return ((const struct opts_choices *)field)->text != NULL;
	case OPT_PERCENT:
		return *(const double *)field >= 0;
	default:
		return false;
	}
}

static uint32_t views_of(const char *option)
{
	for (size_t i = 0; i < sizeof(limited) / sizeof(*limited); i++)
		if (!strcmp(limited[i].name, option))
			return limited[i].views;
	return UINT32_MAX;
}

static int check_options(const struct query_opts *opts, const struct opt_choice *view,
			 struct buf *why)
{
	for (const struct opt *opt = query_options; opt->kind != OPT_END; opt++) {
		const char *separator = "";
		uint32_t with;

		if (opt->kind == OPT_GROUP || !is_given(opts, opt))
			continue;
		with = views_of(opt->long_name);
		if (with & view->value)
			continue;
		buf_printf(why, "option '--%s': not of %s (of ", opt->long_name, view->name);
		for (const struct opt_choice *other = views; other->name; other++) {
			if (!(with & other->value))
				continue;
			buf_printf(why, "%s%s", separator, other->name);
			separator = ", ";
		}
		buf_add_char(why, ')');
		return -EINVAL;
	}
	if (opts->sort && opts->render.by && view->value == VIEW_TOP) {
		buf_add_str(why, "options '--sort' and '--by' of top exclude each other");
		return -EINVAL;
	}
	return 0;
}

static int find_view(const struct opts_list *operands, const struct opt_choice **out,
		     struct buf *why)
{
	const char *name = operands->cnt ? operands->items[0] : NULL;
	struct nearest nearest;

	if (operands->cnt > 1) {
		buf_printf(why, "unexpected argument '%s'", operands->items[1]);
		return -EINVAL;
	}
	if (name)
		nearest_init(&nearest, name);
	for (const struct opt_choice *view = views; view->name && name; view++) {
		if (!strcmp(view->name, name)) {
			*out = view;
			return 0;
		}
		nearest_offer(&nearest, view->name);
	}
	if (name)
		buf_printf(why, "'%s' is none of top, flame, diff, regressions, labels, kinds",
			   name);
	else
		buf_add_str(why, "what is to be shown is missing: top, flame, diff, "
				 "regressions, labels or kinds");
	if (name && nearest.best)
		buf_printf(why, " (did you mean '%s'?)", nearest.best);
	return -EINVAL;
}

/* @text as the choice of that name; false: there is none. */
static bool choose(const struct opt_choice *choices, const char *text, struct opts_choices *out)
{
	for (; text && choices->name; choices++)
		if (!strcmp(choices->name, text)) {
			*out = (struct opts_choices){.text = text, .bits = choices->value};
			return true;
		}
	return !text;
}

/* The options as `bpfprof diff` has them. */
static int make_diff_opts(const struct query_opts *opts, bool only_grown, struct diff_opts *out,
			  struct buf *why)
{
	*out = (struct diff_opts){
		.outputs = opts->render.outputs,
		.width = opts->width,
		.limit = opts->limit ? opts->limit : 20,
		.fail_above = opts->fail_above,
		.normalize = opts->normalize || only_grown,
		.only_grown = only_grown,
		.force = opts->render.force,
		.open = opts->render.open,
		.by = opts->render.by,
		.value = opts->render.value,
		.title = opts->render.title,
	};
	choose(diff_format_choices, opts->format.text, &out->format);
	if (choose(diff_sort_choices, opts->sort, &out->sort))
		return 0;
	buf_printf(why,
		   "option '--sort': '%s' is not one of change, self, percent, before, after, "
		   "name",
		   opts->sort);
	return -EINVAL;
}

static int ask_flame(struct query *query, struct buf *why)
{
	_cleanup_(output_set_deinit) struct output_set outputs;
	_cleanup_(viewer_deinit) struct viewer viewer;
	const struct rendering *render = &query->opts->render;
	int err;

	output_set_init(&outputs);
	outputs.force = render->force;
	err = render->outputs.cnt ? rendering_name(render, 1, "show", &outputs, why)
				  : output_set_add(&outputs, "bpfprof-%t.html", why);
	viewer_init(&viewer, render->open && !err);
	if (err)
		return CLI_USAGE;
	confine_reader(fleet_is_url(query->url));
	err = store_arg_open_source(query->url, &query->store);
	return err ? CLI_FAILED : query_flame(query, &outputs, &viewer);
}

static int ask_diff(struct query *query, bool only_grown, struct buf *why)
{
	_cleanup_(diff_outputs_deinit) struct diff_outputs outputs = {0};
	struct diff_opts opts;
	int err = make_diff_opts(query->opts, only_grown, &opts, why);

	if (!err)
		err = diff_outputs_open(&opts, &outputs, why);
	if (err)
		return why->len ? CLI_USAGE : CLI_FAILED;
	confine_reader(fleet_is_url(query->url));
	err = store_arg_open_source(query->url, &query->store);
	return err ? CLI_FAILED : query_diff(query, &opts, &outputs);
}

static int ask_table(struct query *query, enum view view)
{
	confine_reader(fleet_is_url(query->url));
	if (store_arg_open_source(query->url, &query->store))
		return CLI_FAILED;
	return view == VIEW_TOP	     ? query_top(query)
	       : view == VIEW_LABELS ? query_labels(query)
				     : query_kinds(query);
}

static int answer(const struct query_opts *opts)
{
	_cleanup_(query_deinit) struct query query = {0};
	_cleanup_(buf_deinit) struct buf why;
	const struct opt_choice *view = NULL;
	int err, status = CLI_USAGE;

	buf_init(&why, BUF_NO_MAX);
	err = find_view(&opts->args.operands, &view, &why);
	if (!err)
		err = check_options(opts, view, &why);
	if (!err)
		err = query_init(&query, opts, &why);
	if (!err)
		status = view->value == VIEW_FLAME ? ask_flame(&query, &why)
			 : view->value & VIEW_BOTH_DIFFS
				 ? ask_diff(&query, view->value == VIEW_REGRESSIONS, &why)
				 : ask_table(&query, (enum view)view->value);
	if (why.len)
		log_error("%s (see bpfprof query --help)", buf_cstr(&why));
	else if (err == -ENOMEM)
		log_error("query: %s", strerror(ENOMEM));
	return err == -ENOMEM ? CLI_FAILED : status;
}

int cmd_query(int argc, char **argv)
{
	struct query_opts opts = {.fail_above = -1};
	int status;

	if (cli_begin(&query_spec, argc, argv, &opts, &opts.args, &status))
		status = answer(&opts);
	opts_deinit(&query_spec, &opts, &opts.args);
	return status;
}
