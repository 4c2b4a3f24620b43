/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fleet in one process: what one host recorded, played as many hosts into a ClickHouse store, by
 * the code that an agent's sink consists of (sink/fleet_fill.h); as fast as the server takes it.
 *
 * An agent inserts for itself alone. `--together N` lets N hosts' minutes go in one insert, as a
 * relay between them and the server would: the rows are the same, byte for byte, but they compress
 * better on their way, and the server makes fewer parts of them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/parse_time.h"
#include "cli/cli.h"
#include "cli/opts_help.h"
#include "clickhouse/schema.h"
#include "hosts.h"

enum {
	TIMEOUT_MS = 120000,
	ROWS_AT_ONCE = 500000, /* a server takes a block of twice as many whole */
	MINUTE_S = 60,
};

struct fleet_opts {
	const char *store, *to, *at;
	uint64_t hosts, minutes, services, per_host, together, seed;
	struct opts_args args;
};

#define AT(member, type) .offset = OPT_AT(struct fleet_opts, member, type)

static const struct opt fleet_options[] = {
	{OPT_GROUP, .help = "From where to where"},
	{OPT_STRING, 0, "store", "FILE", AT(store, const char *),
	 .help = "the recorded store; its minutes are played in a circle"},
	{OPT_STRING, 0, "to", "URL", AT(to, const char *),
	 .help = "the fleet's store, which bpfprof store init made"},
	{OPT_GROUP, .help = "Which fleet"},
	{OPT_NUMBER, 0, "hosts", "N", AT(hosts, uint64_t), 1, 100000, .help = "hosts (10)"},
	{OPT_NUMBER, 0, "minutes", "N", AT(minutes, uint64_t), 1, 1000000, .help = "minutes (10)"},
	{OPT_STRING, 0, "at", "TIME", AT(at, const char *),
	 .help = "when they begin: " PARSE_TIME_FORMS " (so many minutes ago that they end now)"},
	{OPT_NUMBER, 0, "services", "N", AT(services, uint64_t), 1, 100000,
	 .help = "services that there are, each one of the recorded ones (100)"},
	{OPT_NUMBER, 0, "per-host", "N", AT(per_host, uint64_t), 1, 1000,
	 .help = "of which each host runs N, popular ones more often (8)"},
	{OPT_NUMBER, 0, "seed", "N", AT(seed, uint64_t), .help = "of all that is random (1)"},
	{OPT_GROUP, .help = "How"},
	{OPT_NUMBER, 0, "together", "N", AT(together, uint64_t), 1, 100000,
	 .help = "hosts whose minutes are inserted together, as a relay does (1)"},
	{OPT_END},
};

static const struct opts_example fleet_examples[] = {
	{"fleet-sim --store store.db --to clickhouse://127.0.0.1/sim --hosts 100 --minutes 60",
	 "an hour of a hundred hosts"},
	{NULL},
};

static const struct opts_spec fleet_spec = {
	.name = "fleet-sim",
	.usage = "fleet-sim --store FILE --to URL [--hosts N] [--minutes N] ...",
	.summary = "Play what one host recorded as a whole fleet",
	.details = "The same seed, store and options make the same rows, so that a run that was\n"
		   "cut off is made whole by another one.",
	.options = fleet_options,
	.examples = fleet_examples,
};

static void close_client(struct ch_client **client)
{
	ch_client_close(*client);
}

/* --- Playing --- */

struct progress {
	struct ch_client *client; /* borrowed */
	uint64_t begun_ns, told_ns; /* CLOCK_MONOTONIC */
	uint64_t samples, dict_rows;
	uint64_t first_bytes; /* sent for the first minute, in which the dictionary travels */
};

static uint64_t sent_bytes(const struct progress *progress)
{
	return ch_client_traffic(progress->client).sent_bytes;
}

static double seconds_of(const struct progress *progress)
{
	return (double)(clock_monotonic_ns() - progress->begun_ns) / (double)NSEC_PER_SEC;
}

static void tell_minute(const struct sim *sim, uint64_t minute, struct progress *progress)
{
	const uint64_t now_ns = clock_monotonic_ns();

	if (now_ns - progress->told_ns < NSEC_PER_SEC)
		return;
	progress->told_ns = now_ns;
	log_info("minute %" PRIu64 " of %" PRIu64 ": %" PRIu64 " rows, %.0f/s", minute + 1,
		 sim->opts.minute_cnt, sim_rows(sim), (double)sim_rows(sim) / seconds_of(progress));
}

static int play_minute(struct sim *sim, uint64_t minute, uint64_t together,
		       struct fleet_blocks *blocks, struct progress *progress)
{
	uint64_t gathered = 0;
	int err = fleet_blocks_reset(blocks);

	for (size_t nr = 0; nr < sim->opts.host_cnt && !err; nr++) {
		err = sim_fill(sim, nr, minute, progress->client, blocks, &progress->samples);
		gathered++;
		if (err || (gathered < together && nr + 1 < sim->opts.host_cnt &&
			    blocks->of[FLEET_SAMPLES].row_cnt < ROWS_AT_ONCE))
			continue;
		err = fleet_blocks_insert(blocks, progress->client, &progress->dict_rows);
		gathered = 0;
		if (!err)
			err = fleet_blocks_reset(blocks);
	}
	return err;
}

static int play(struct sim *sim, uint64_t together, struct progress *progress)
{
	struct fleet_blocks blocks;
	int err = fleet_blocks_init(&blocks);

	progress->begun_ns = clock_monotonic_ns();
	progress->told_ns = progress->begun_ns;
	for (uint64_t minute = 0; minute < sim->opts.minute_cnt && !err; minute++) {
		err = play_minute(sim, minute, together, &blocks, progress);
		if (!minute)
			progress->first_bytes = sent_bytes(progress);
		tell_minute(sim, minute, progress);
	}
	fleet_blocks_deinit(&blocks);
	return err;
}

/* --- What it was --- */

static int tell(const struct sim *sim, const struct progress *progress)
{
	const double rows = (double)sim_rows(sim), hosts = (double)sim->opts.host_cnt;
	const uint64_t later = sim->opts.minute_cnt - 1;
	_cleanup_(buf_deinit) struct buf out;

	buf_init(&out, BUF_NO_MAX);
	buf_printf(&out,
		   "hosts       %" PRIu64 "\nminutes     %" PRIu64 "\nrows        %.0f (%.0f/s)\n"
		   "samples     %" PRIu64 "\ndictionary  %" PRIu64 " rows\n",
		   sim->opts.host_cnt, sim->opts.minute_cnt, rows, rows / seconds_of(progress),
		   progress->samples, progress->dict_rows);
	buf_printf(&out, "on the wire %.0f bytes per host in the first minute",
		   (double)progress->first_bytes / hosts);
	if (later)
		buf_printf(&out, ", %.0f in each one after it",
			   (double)(sent_bytes(progress) - progress->first_bytes) / hosts /
				   (double)later);
	buf_add_char(&out, '\n');
	return cli_print(&out);
}

static int tell_failure(const struct ch_client *client, int err)
{
	_cleanup_(buf_deinit) struct buf why;

	buf_init(&why, BUF_NO_MAX);
	if (err == -ENOMEM || err == -ERANGE)
		buf_add_str(&why, strerror(-err));
	else
		ch_client_explain(client, &why);
	log_error("store '%s': %s", ch_client_name(client), buf_cstr(&why));
	return CLI_FAILED;
}

/* --- Begin --- */

static int open_client(const char *url, struct ch_client **out)
{
	const struct http_opts http = {.timeout_ms = TIMEOUT_MS};
	_cleanup_(buf_deinit) struct buf lack;
	const char *why = NULL;
	int err = ch_client_open(url, &http, out, &why);

	buf_init(&lack, BUF_NO_MAX);
	if (err) {
		log_error("option '--to': %s", why ? why : strerror(-err));
		return err;
	}
	err = fleet_schema_check(*out, &lack);
	if (err)
		log_error("store '%s': %s", ch_client_name(*out), buf_cstr(&lack));
	return err;
}

/* When the first minute begins. */
static int take_start(const struct fleet_opts *opts, uint64_t *out)
{
	const uint64_t now_ns = clock_realtime_ns();
	uint64_t at_ns = now_ns - opts->minutes * MINUTE_S * NSEC_PER_SEC;

	if (opts->at && parse_time_ns(opts->at, now_ns, &at_ns)) {
		log_error("option '--at': '%s' is no time (wanted: " PARSE_TIME_FORMS ")",
			  opts->at);
		return -EINVAL;
	}
	*out = at_ns / NSEC_PER_SEC / MINUTE_S * MINUTE_S;
	return 0;
}

static int play_recording(const struct fleet_opts *opts, struct ch_client *client,
			  struct recording *recording, uint64_t start_s)
{
	const struct sim_opts sim_opts = {
		.host_cnt = opts->hosts,
		.minute_cnt = opts->minutes,
		.service_cnt = opts->services,
		.per_host = opts->per_host,
		.seed = opts->seed,
		.start_s = start_s,
	};
	struct progress progress = {.client = client};
	struct sim sim;
	int err = sim_init(&sim, &sim_opts, recording);

	log_info("%zu rows in %u minutes of %zu services are recorded", recording->row_cnt,
		 recording->minute_cnt, recording->service_cnt);
	if (!err)
		err = play(&sim, opts->together, &progress);
	err = err ? tell_failure(client, err) : tell(&sim, &progress);
	sim_deinit(&sim);
	return err;
}

static int run(const struct fleet_opts *opts)
{
	_cleanup_(close_client) struct ch_client *client = NULL;
	struct recording recording;
	uint64_t start_s;
	int status = CLI_FAILED;

	log_set_level(opts->args.quiet	   ? LOG_QUIET
		      : opts->args.verbose ? LOG_VERBOSE
					   : log_get_level());
	if (!opts->store || !opts->to || opts->args.operands.cnt) {
		log_error("wanted: --store FILE --to clickhouse://HOST/DATABASE (see --help)");
		return CLI_USAGE;
	}
	if (opts->per_host > opts->services) {
		log_error("option '--per-host': more than there are (--services %" PRIu64 ")",
			  opts->services);
		return CLI_USAGE;
	}
	if (take_start(opts, &start_s))
		return CLI_USAGE;
	if (open_client(opts->to, &client))
		return CLI_FAILED;
	if (!recording_init(&recording, opts->store))
		status = play_recording(opts, client, &recording, start_s);
	recording_deinit(&recording);
	return status;
}

static int show_help(void)
{
	static const char other[] = "Usage: bpfprof ";
	_cleanup_(buf_deinit) struct buf text;
	_cleanup_(buf_deinit) struct buf out;

	buf_init(&text, BUF_NO_MAX);
	buf_init(&out, BUF_NO_MAX);
	opts_help(&fleet_spec, &text);
	/* It is no command of bpfprof. */
	buf_printf(&out, "Usage: %s", buf_cstr(&text) + sizeof(other) - 1);
	return cli_print(&out);
}

int main(int argc, char **argv)
{
	struct fleet_opts opts = {
		.hosts = 10,
		.minutes = 10,
		.services = 100,
		.per_host = 8,
		.together = 1,
		.seed = 1,
	};
	_cleanup_(buf_deinit) struct buf why;
	int status = CLI_USAGE;

	buf_init(&why, BUF_NO_MAX);
	if (opts_parse(&fleet_spec, argc - 1, argv + 1, &opts, &opts.args, &why))
		log_error("%s", buf_cstr(&why));
	else if (opts.args.help)
		status = show_help();
	else if (opts.args.version)
		status = cli_print_version();
	else
		status = run(&opts);
	opts_deinit(&fleet_spec, &opts, &opts.args);
	return status;
}
