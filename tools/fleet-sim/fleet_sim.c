/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fleet in one process: what one host recorded, played as many hosts into a ClickHouse store, by
 * the code that an agent's sink consists of (sink/fleet_fill.h); as fast as the server takes it.
 *
 * An agent inserts for itself alone. `--together N` lets N hosts' minutes go in one insert, as a
 * relay between them and the server would: the rows of samples are the same, byte for byte, but
 * they compress better on their way, the server makes fewer parts of them, and what hosts have in
 * common is told once.
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
#include "play.h"

enum {
	TIMEOUT_MS = 120000,
	MINUTE_S = 60,
};

struct fleet_opts {
	const char *store, *to, *at;
	uint64_t hosts, minutes, services, per_host, together, senders, burst, server, seed;
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
	{OPT_NUMBER, 0, "senders", "N", AT(senders, uint64_t), 1, SENDERS_MAX,
	 .help = "connections, each with its share of the hosts (1)"},
	{OPT_NUMBER, 0, "burst", "N", AT(burst, uint64_t), 0, 1000000,
	 .help = "make the last N minutes' messages before, then send them at once"},
	{OPT_NUMBER, 0, "server", "PID", AT(server, uint64_t), 1, INT32_MAX,
	 .help = "whose CPU time is told: the server, where it is on this machine"},
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

/* --- What it was --- */

static double seconds(uint64_t ns)
{
	return (double)ns / (double)NSEC_PER_SEC;
}

/* Bytes per host and minute: all, and of them what tells and asks of the dictionary. */
static void add_wire(const char *name, const struct play_wire *wire, double host_minutes,
		     struct buf *out)
{
	buf_printf(out,
		   "%-11s %.0f bytes per host and minute on the wire, %.0f of them dictionary\n",
		   name, (double)(wire->samples + wire->dictionary) / host_minutes,
		   (double)wire->dictionary / host_minutes);
}

static void add_burst(const struct play_result *result, struct buf *out)
{
	buf_printf(out,
		   "burst       %" PRIu64 " rows in %.3f s (%.0f/s), %" PRIu64 " bytes; CPU time: "
		   "%.3f s to send, %.3f to encode and compress before, %.3f of the server\n",
		   result->burst_rows, seconds(result->burst_ns),
		   (double)result->burst_rows / seconds(result->burst_ns), result->burst_bytes,
		   seconds(result->burst_sending_ns), seconds(result->burst_packing_ns),
		   seconds(result->burst_server_ns));
}

static int tell(const struct sim *sim, uint64_t burst, const struct play_result *result)
{
	const double hosts = (double)sim->opts.host_cnt;
	const uint64_t later = sim->opts.minute_cnt - burst - 1;
	_cleanup_(buf_deinit) struct buf out;

	buf_init(&out, BUF_NO_MAX);
	buf_printf(&out,
		   "hosts       %" PRIu64 "\nminutes     %" PRIu64 "\nrows        %" PRIu64
		   " (%.0f/s)\nsamples     %" PRIu64 "\ndictionary  %" PRIu64 " rows\n",
		   sim->opts.host_cnt, sim->opts.minute_cnt, result->filled.rows,
		   (double)result->sent_rows / seconds(result->elapsed_ns), result->filled.samples,
		   result->dict_rows);
	add_wire("first", &result->first, hosts, &out);
	if (later)
		add_wire("later", &result->later, hosts * (double)later, &out);
	buf_printf(&out,
		   "CPU time    %.3f s to play hosts; sinks: %.3f to fill, %.3f to send; server: "
		   "%.3f\n",
		   seconds(result->filled.making_ns), seconds(result->filled.filling_ns),
		   seconds(result->sending_ns), seconds(result->server_ns));
	if (burst)
		add_burst(result, &out);
	return cli_print(&out);
}

static int tell_failure(const char *url, const struct ch_client *client, int err)
{
	_cleanup_(buf_deinit) struct buf why;

	buf_init(&why, BUF_NO_MAX);
	if (!client || err == -ENOMEM || err == -ERANGE)
		buf_add_str(&why, strerror(-err));
	else
		ch_client_explain(client, &why);
	log_error("store '%s': %s", client ? ch_client_name(client) : url, buf_cstr(&why));
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

static int play_recording(const struct fleet_opts *opts, struct ch_client *const *clients,
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
	const struct play_opts play_opts = {
		.together = opts->together,
		.sender_cnt = opts->senders,
		.burst_cnt = opts->burst,
		.server = (pid_t)opts->server,
	};
	const struct ch_client *failed = NULL;
	struct play_result result;
	struct sim sim;
	int err = sim_init(&sim, &sim_opts, recording);

	log_info("%zu rows in %u minutes of %zu services are recorded", recording->row_cnt,
		 recording->minute_cnt, recording->service_cnt);
	if (!err)
		err = play(&sim, &play_opts, clients, &result, &failed);
	err = err ? tell_failure(opts->to, failed, err) : tell(&sim, opts->burst, &result);
	sim_deinit(&sim);
	return err;
}

static int play_store(const struct fleet_opts *opts, uint64_t start_s)
{
	struct ch_client *clients[SENDERS_MAX] = {NULL};
	struct recording recording;
	int status = CLI_FAILED, err = 0;

	for (uint64_t i = 0; i < opts->senders && !err; i++)
		err = open_client(opts->to, &clients[i]);
	if (!err) {
		if (!recording_init(&recording, opts->store))
			status = play_recording(opts, clients, &recording, start_s);
		recording_deinit(&recording);
	}
	for (uint64_t i = 0; i < opts->senders; i++)
		ch_client_close(clients[i]);
	return status;
}

static int run(const struct fleet_opts *opts)
{
	uint64_t start_s;

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
	if (opts->burst >= opts->minutes) {
		log_error("option '--burst': not fewer than there are (--minutes %" PRIu64 ")",
			  opts->minutes);
		return CLI_USAGE;
	}
	return take_start(opts, &start_s) ? CLI_USAGE : play_store(opts, start_s);
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
		.senders = 1,
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
