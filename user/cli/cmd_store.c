/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof store`: make a store, bring one up, prove that it is whole, ship it to another one. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/nearest.h"
#include "cli/cli.h"
#include "cli/cmd_store_fleet.h"
#include "cli/confinement.h"
#include "cli/debug_dirs.h"
#include "cli/store_arg.h"
#include "clickhouse/fleet_cluster.h"
#include "clickhouse/url.h"
#include "encode/func_table.h"
#include "sink/relay_symbols.h"
#include "symbol/demangle.h"

struct store_opts {
	const char *store, *to, *since, *until, *cluster;
	struct opts_list debug_dir_args;
	struct debug_dirs debug_dirs; /* of them */
	uint64_t retain_ns;
	bool json;
	struct opts_args args;
};

#define AT(member, type) .offset = OPT_AT(struct store_opts, member, type)

#define RETAIN_MIN_NS (24 * 3600 * NSEC_PER_SEC)

static const struct opt store_options[] = {
	{OPT_GROUP, .help = "Which store"},
	{OPT_STRING, 0, "store", "URL", AT(store, const char *), .flags = OPT_IS_FILE,
	 .help = STORE_ARG_HELP},
	{OPT_STRING, 0, "to", "URL", AT(to, const char *),
	 .help = "ship: the sink, as agent --sink has it"},
	{OPT_STRING, 0, "since", "TIME", AT(since, const char *),
	 .help = "fsck, rollup and symbolize of a fleet store: from that day (UTC) on"},
	{OPT_STRING, 0, "until", "TIME", AT(until, const char *), .help = "... and up to that one"},
	{OPT_STRING, 0, "cluster", "NAME", AT(cluster, const char *),
	 .help = "init of a fleet store: on all servers of that cluster, which "
		 "remote_servers of their configuration names"},
	{OPT_DURATION, 0, "retain", "AGE", AT(retain_ns, uint64_t), .min = RETAIN_MIN_NS,
	 .help = "drop: the days (UTC) that ended longer ago go"},
	{OPT_LIST, 0, "debug-dir", "DIR", AT(debug_dir_args, struct opts_list),
	 .flags = OPT_IS_FILE, .help = "symbolize and upload: " DEBUG_DIR_HELP},
	{OPT_FLAG, 0, "json", AT(json, bool), .help = "sizes: as JSON"},
	{OPT_END},
};

static const struct opts_example store_examples[] = {
	{"bpfprof store init --store /srv/profiles/store.db", "an empty store"},
	{"bpfprof store fsck", "is everything in it whole?"},
	{"bpfprof store sizes", "what takes how much room"},
	{"bpfprof store init --store clickhouse://db.example/profiles", "a fleet store"},
	{"bpfprof store init --cluster main --store clickhouse://db1,db2/profiles", "on a cluster"},
	{"bpfprof store drop --retain 30d --store clickhouse://db.example/profiles",
	 "of a fleet store, once a day"},
	{"bpfprof store ship --to clickhouse://db.example/profiles", "into it, what it lacks"},
	{"bpfprof store ship --to file:/srv/profiles", "a pprof of each service and minute"},
	{"bpfprof store ship --to 's3://profiles/prod?region=eu-west-1'", "the same into a bucket"},
	{"bpfprof store ship --to otlp+http://collector.example", "as OTLP profiles"},
	{"bpfprof store rollup --store clickhouse://db.example/profiles", "sums by hour and day"},
	{"bpfprof store upload --store clickhouse://db.example/profiles build/server",
	 "the names of a build that hosts get without them"},
	{"bpfprof store symbolize --store clickhouse://db.example/profiles --debug-dir /srv/debug",
	 "names that the hosts do not have"},
	{NULL},
};

const struct opts_spec store_spec = {
	.name = "store",
	.usage = "store init|migrate|fsck|sizes|drop|ship|rollup|symbolize|upload [OPTIONS] "
		 "[FILE...]",
	.summary = "Make a store; prove that its ledger and its samples agree",
	.details =
		"init     make an empty one; a file that is there already is left alone, and a\n"
		"         fleet store is given what it lacks\n"
		"migrate  bring one of an older version up; the agent does so when it starts\n"
		"fsck     read everything and compare: a line for each finding, and status 1\n"
		"         where there is one; beside the agent, too. Of a fleet store: is every "
		"batch\n"
		"         in the ledger there once, and every host's chain of windows whole?\n"
		"sizes    what takes how much room\n"
		"drop     of a fleet store, the days that are older than --retain\n"
		"ship     what a sink has not got yet of a local store, and end\n"
		"rollup   add up a fleet store's hours and days that are over, as far as that is "
		"not\n"
		"         done, or windows came late; to be run every hour\n"
		"symbolize  names, lines and inlined calls for a fleet store's frames that lack\n"
		"         them, from what bpfprof symbolize would look for here; what was not "
		"found\n"
		"         is listed, and looked for again the next time; to be run every hour\n"
		"upload   FILE... into a fleet store, or to a relay in front of one: functions,\n"
		"         lines and inlined calls of programs and libraries with symbols, or of\n"
		"         their debug files, which symbolize then finds there by build-id; no\n"
		"         code, and each build once",
	.is_unprivileged = true,
	.options = store_options,
	.examples = store_examples,
};

/* Open @path to write, with confinement around what is read of it. */
static int open_to_write(const char *path)
{
	struct store *store;
	int err = store_open(path, STORE_WRITE, &store);

	if (!err)
		store_close(store);
	return err;
}

static int run_init(const struct store_opts *opts, const char *path)
{
	struct store_probe probe;
	int err = store_probe(path, &probe);

	if (err != -ENOENT) {
		log_error("store '%s': the file is there already (bpfprof store migrate brings a "
			  "store up; --store FILE names another one)",
			  path);
		return CLI_FAILED;
	}
	if (open_to_write(path))
		return CLI_FAILED;
	log_info("made the store '%s'", path);
	return CLI_OK;
}

static int run_migrate(const struct store_opts *opts, const char *path)
{
	struct store_probe probe;

	if (store_arg_probe(path, &probe))
		return CLI_FAILED;
	if (probe.version == probe.own_version) {
		log_info("store '%s' is of version %" PRIu64 ": nothing is to be done", path,
			 probe.version);
		return CLI_OK;
	}
	if (open_to_write(path))
		return CLI_FAILED;
	log_info("store '%s': version %" PRIu64 " became %" PRIu64, path, probe.version,
		 probe.own_version);
	return CLI_OK;
}

static void add_total(const struct store_sizes *sizes, struct buf *out)
{
	uint64_t rows = 0, samples = 0;

	for (size_t i = 0; i < sizes->kind_cnt; i++) {
		rows += sizes->kinds[i].rows;
		samples += sizes->kinds[i].samples;
	}
	buf_printf(out,
		   "%" PRIu64 " windows, %" PRIu64 " rows, %" PRIu64 " samples, %" PRIu64 " bytes",
		   sizes->window_cnt, rows, samples, sizes->file_bytes);
}

/* The findings on stdout, the sum on stderr. */
static int tell_findings(const char *path, const struct store_sizes *sizes, int found,
			 const struct buf *findings)
{
	_cleanup_(buf_deinit) struct buf line;
	int status = cli_print(findings);

	buf_init(&line, BUF_NO_MAX);
	add_total(sizes, &line);
	if (found) {
		log_error("store '%s': %d finding%s in %s", path, found, found == 1 ? "" : "s",
			  buf_cstr(&line));
		return CLI_FAILED;
	}
	log_info("store '%s' is whole: %s", path, buf_cstr(&line));
	return status;
}

static int run_fsck(const struct store_opts *opts, const char *path)
{
	_cleanup_(buf_deinit) struct buf findings;
	struct store_sizes sizes;
	struct store *store;
	int found;

	buf_init(&findings, BUF_NO_MAX);
	found = store_arg_open(path, &store);
	if (found)
		return CLI_FAILED;
	found = store_fsck(store, &findings);
	if (found >= 0 && !store_sizes(store, &sizes)) {
		found = tell_findings(path, &sizes, found, &findings);
	} else {
		if (findings.len)
			cli_print(&findings);
		log_error("store '%s': could not be read to its end", path);
		found = CLI_FAILED;
	}
	store_close(store);
	return found;
}

static void add_bytes(uint64_t bytes, const char *what, struct buf *out)
{
	buf_printf(out, "%14" PRIu64 "  ", bytes);
	func_table_printable(what, out);
	buf_add_char(out, '\n');
}

static void sizes_text(const struct store_sizes *sizes, struct buf *out)
{
	buf_printf(out, "%14s  what\n", "bytes");
	add_bytes(sizes->file_bytes, "the file", out);
	add_bytes(sizes->dictionary_bytes, "names and stacks", out);
	add_bytes(sizes->ledger_bytes, "ledgers", out);
	for (size_t i = 0; i < sizes->kind_cnt; i++) {
		_cleanup_(buf_deinit) struct buf what;

		buf_init(&what, BUF_NO_MAX);
		buf_printf(&what, "%s: %" PRIu64 " rows, %" PRIu64 " samples", sizes->kinds[i].name,
			   sizes->kinds[i].rows, sizes->kinds[i].samples);
		add_bytes(sizes->kinds[i].bytes, buf_cstr(&what), out);
	}
}

static void sizes_json(const struct store_sizes *sizes, struct buf *out)
{
	struct json js;

	json_init(&js, out);
	json_object_begin(&js);
	json_kv_u64(&js, "file_bytes", sizes->file_bytes);
	json_kv_u64(&js, "dictionary_bytes", sizes->dictionary_bytes);
	json_kv_u64(&js, "ledger_bytes", sizes->ledger_bytes);
	json_kv_u64(&js, "windows", sizes->window_cnt);
	json_key(&js, "kinds");
	json_array_begin(&js);
	for (size_t i = 0; i < sizes->kind_cnt; i++) {
		json_break(&js);
		json_object_begin(&js);
		json_kv_str(&js, "kind", sizes->kinds[i].name);
		json_kv_u64(&js, "bytes", sizes->kinds[i].bytes);
		json_kv_u64(&js, "rows", sizes->kinds[i].rows);
		json_kv_u64(&js, "samples", sizes->kinds[i].samples);
		json_object_end(&js);
	}
	json_array_end(&js);
	json_object_end(&js);
	buf_add_char(out, '\n');
}

static int run_sizes(const struct store_opts *opts, const char *path)
{
	_cleanup_(buf_deinit) struct buf out;
	struct store_sizes sizes;
	struct store *store;
	int err;

	buf_init(&out, BUF_NO_MAX);
	err = store_arg_open(path, &store);
	if (err)
		return CLI_FAILED;
	err = store_sizes(store, &sizes);
	store_close(store);
	if (err)
		return CLI_FAILED;
	if (opts->json)
		sizes_json(&sizes, &out);
	else
		sizes_text(&sizes, &out);
	return cli_print(&out);
}

static int run_ship(const struct store_opts *opts, const char *path)
{
	return fleet_ship_run(path, opts->to);
}

static int init_fleet(const struct store_opts *opts)
{
	return fleet_init_run(opts->store, opts->cluster);
}

static int migrate_fleet(const struct store_opts *opts)
{
	return fleet_init_run(opts->store, NULL);
}

static int fsck_fleet(const struct store_opts *opts)
{
	return fleet_fsck_run(opts->store, opts->since, opts->until);
}

static int drop_fleet(const struct store_opts *opts)
{
	return fleet_drop_run(opts->store, opts->retain_ns);
}

static int roll_up_fleet(const struct store_opts *opts)
{
	return fleet_rollup_run(opts->store, opts->since, opts->until);
}

static int symbolize_fleet(const struct store_opts *opts)
{
	return fleet_symbolize_run(opts->store, opts->since, opts->until, &opts->debug_dirs);
}

static int upload_to_fleet(const struct store_opts *opts)
{
	const struct opts_list *operands = &opts->args.operands;

	return fleet_upload_run(opts->store, operands->items + 1, operands->cnt - 1,
				&opts->debug_dirs);
}

static const struct action {
	const char *name;
	int (*run)(const struct store_opts *opts, const char *path); /* NULL: a fleet store's */
	int (*run_fleet)(const struct store_opts *opts); /* of a fleet store; NULL: not there */
} actions[] = {
	{"init", run_init, init_fleet},	   {"migrate", run_migrate, migrate_fleet},
	{"fsck", run_fsck, fsck_fleet},	   {"sizes", run_sizes, NULL},
	{"drop", NULL, drop_fleet},	   {"ship", run_ship, NULL},
	{"rollup", NULL, roll_up_fleet},   {"symbolize", NULL, symbolize_fleet},
	{"upload", NULL, upload_to_fleet},
};

#define ACTION_NAMES "init, migrate, fsck, sizes, drop, ship, rollup, symbolize"

enum { ACTION_CNT = sizeof(actions) / sizeof(*actions) };

/* Index into actions, ACTION_CNT after log_error(). */
static size_t find_action(const struct opts_list *operands)
{
	const char *name = operands->cnt ? operands->items[0] : "";
	struct nearest nearest;
	size_t i = 0;

	nearest_init(&nearest, name);
	for (; i < ACTION_CNT && strcmp(actions[i].name, name); i++)
		nearest_offer(&nearest, actions[i].name);
	if (i < ACTION_CNT)
		return i;
	if (!*name)
		log_error("what is to be done is missing: " ACTION_NAMES
			  " or upload (see bpfprof store --help)");
	else if (nearest.best)
		log_error("'%s' is none of " ACTION_NAMES
			  ", upload (did you mean '%s'? see bpfprof store --help)",
			  name, nearest.best);
	else
		log_error("'%s' is none of " ACTION_NAMES ", upload (see bpfprof store --help)",
			  name);
	return ACTION_CNT;
}

static bool is_fleet(const struct store_opts *opts)
{
	return opts->store && ch_url_is(opts->store);
}

/* Relays take uploads, and keep nothing that could be asked for. */
static bool is_relay(const struct store_opts *opts, const struct action *action)
{
	return opts->store && relay_symbols_is_url(opts->store) &&
	       action->run_fleet == upload_to_fleet;
}

/* Is it asked by days (--since, --until)? */
static bool has_days(const struct action *action)
{
	return action->run_fleet == fsck_fleet || action->run_fleet == roll_up_fleet ||
	       action->run_fleet == symbolize_fleet;
}

static bool check(const struct store_opts *opts, const struct action *action)
{
	const struct opts_list *operands = &opts->args.operands;
	const bool has_files = action->run_fleet == upload_to_fleet;

	if (operands->cnt > 1 && !has_files)
		log_error("unexpected argument '%s' (see bpfprof store --help)",
			  operands->items[1]);
	else if (operands->cnt == 1 && has_files)
		log_error("what is to be uploaded is missing: FILE... (see bpfprof store --help)");
	else if (opts->json && action->run != run_sizes)
		log_error("option '--json': of sizes only (see bpfprof store --help)");
	else if (opts->to && action->run != run_ship)
		log_error("option '--to': of ship only (see bpfprof store --help)");
	else if ((opts->since || opts->until) && (!has_days(action) || !is_fleet(opts)))
		log_error("options '--since' and '--until': of fsck, rollup and symbolize of a "
			  "fleet store only (see bpfprof store --help)");
	else if (opts->debug_dir_args.cnt && action->run_fleet != symbolize_fleet && !has_files)
		log_error("option '--debug-dir': of symbolize and upload only (see bpfprof store "
			  "--help)");
	else if (opts->cluster && (action->run != run_init || !is_fleet(opts)))
		log_error("option '--cluster': of init of a fleet store only (see bpfprof store "
			  "--help)");
	else if (opts->cluster && !fleet_cluster_is_name(opts->cluster))
		log_error("option '--cluster': '%s' is no cluster's name (wanted: letters, digits, "
			  "'_', '-' and '.')",
			  opts->cluster);
	else if ((opts->retain_ns > 0) != (action->run_fleet == drop_fleet))
		log_error("option '--retain': drop needs it, and nothing else has it (see bpfprof "
			  "store --help)");
	else if (!opts->to && action->run == run_ship)
		log_error("option '--to' is missing: where to (--to clickhouse://HOST/DATABASE)");
	else
		return true;
	return false;
}

static int run_on_fleet(const struct store_opts *opts, const struct action *action)
{
	if (!action->run_fleet) {
		log_error("store %s: of a local store only (--store FILE)", action->name);
		return CLI_USAGE;
	}
	if (action->run_fleet == symbolize_fleet)
		demangle_preload();
	confine_reader(true);
	return action->run_fleet(opts);
}

static int run(struct store_opts *opts)
{
	size_t index = find_action(&opts->args.operands);
	const struct action *action;
	const char *path;

	if (index == ACTION_CNT)
		return CLI_USAGE;
	action = &actions[index];
	if (!check(opts, action) || debug_dirs_init(&opts->debug_dirs, &opts->debug_dir_args))
		return CLI_USAGE;
	if (is_fleet(opts) || is_relay(opts, action))
		return run_on_fleet(opts, action);
	if (!action->run) {
		log_error("store %s: of a fleet store only (--store clickhouse://HOST/DATABASE)",
			  action->name);
		return CLI_USAGE;
	}
	if (store_arg_path(opts->store, &path))
		return CLI_USAGE;
	confine_reader(opts->to != NULL);
	return action->run(opts, path);
}

int cmd_store(int argc, char **argv)
{
	struct store_opts opts = {0};
	int status;

	if (cli_begin(&store_spec, argc, argv, &opts, &opts.args, &status))
		status = run(&opts);
	debug_dirs_deinit(&opts.debug_dirs);
	opts_deinit(&store_spec, &opts, &opts.args);
	return status;
}
