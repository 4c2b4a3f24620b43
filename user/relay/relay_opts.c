/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof relay`: its option table, whose long names are the keys of its configuration file. */
#include "relay/relay_opts.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/cli.h"
#include "clickhouse/url.h"
#include "web/listen.h"

#define AT(member, type) .offset = OPT_AT(struct relay_opts, member, type)

#define SPOOL_DEFAULT "/var/lib/bpfprof-relay"
#define LISTEN_DEFAULT "127.0.0.1:7711"

static const struct opt relay_options[] = {
	{OPT_GROUP, .help = "Configuration"},
	{OPT_STRING, 0, "config", "FILE", AT(config_path, const char *),
	 .flags = OPT_IS_FILE | OPT_NOT_IN_FILE, .help = "lines 'option = value'"},
	{OPT_FLAG, 0, "check-config", AT(check_config, bool), .flags = OPT_NOT_IN_FILE,
	 .help = "print the configuration that would be in force, and end"},

	{OPT_GROUP, .help = "The fleet's store"},
	{OPT_STRING, 0, "store", "URL", AT(store, const char *),
	 .help = "clickhouse://USER:PASSWORD@HOST:PORT,HOST.../DATABASE, or clickhouses: for TLS; "
		 "user and password also from $CLICKHOUSE_USER and $CLICKHOUSE_PASSWORD"},
	{OPT_DURATION, 0, "every", "TIME", AT(every_ns, uint64_t),
	 .help = "between two inserts, while they are not full (default: 1)"},
	{OPT_COUNT, 0, "max-rows", "N", AT(max_rows, uint64_t), .min = 1, .max = 10000000,
	 .help = "rows of samples behind which no message is put into an insert (default: 1M)"},

	{OPT_GROUP, .help = "The spool"},
	{OPT_STRING, 0, "spool", "DIR", AT(spool, const char *), .flags = OPT_IS_FILE,
	 .help = "where messages wait (default: " SPOOL_DEFAULT ")"},
	{OPT_BYTES, 0, "max-spool", "BYTES", AT(max_spool_bytes, uint64_t), .min = 64 << 10,
	 .help = "take nothing more beyond this size: agents keep what they have (default: 4G); "
		 "symbols, and what is put aside, may have a quarter of it each, besides"},
	{OPT_DURATION, 0, "max-age", "AGE", AT(max_age_ns, uint64_t),
	 .help = "take nothing more while the oldest message has waited longer (default: 1d; 0: "
		 "no bound)"},

	{OPT_GROUP, .help = "HTTP"},
	{OPT_STRING, 0, "listen", "ADDR", AT(listen, const char *),
	 .help = "address and port, a port, or unix:/PATH (default: " LISTEN_DEFAULT
		 "); what other machines reach needs tokens and TLS"},
	{OPT_STRING, 0, "token-file", "FILE", AT(token_file, const char *), .flags = OPT_IS_FILE,
	 .help = "lines HOSTGLOB TOKEN: who has the token may send for these hosts; read again "
		 "when it changes, and at SIGHUP"},
	{OPT_STRING, 0, "tls-cert", "FILE", AT(tls_cert, const char *), .flags = OPT_IS_FILE,
	 .help = "certificate for HTTPS"},
	{OPT_STRING, 0, "tls-key", "FILE", AT(tls_key, const char *), .flags = OPT_IS_FILE,
	 .help = "its key"},
	{OPT_NUMBER, 0, "max-clients", "N", AT(max_clients, uint64_t), .min = 1, .max = 100000,
	 .help = "connections at once (default: 1000)"},
	{OPT_BYTES, 0, "max-message", "BYTES", AT(max_message_bytes, uint64_t), .min = 64 << 10,
	 .max = 1 << 30,
	 .help = "of a message, compressed; eight times as much is held at once (default: 32M)"},
	{OPT_END},
};

static const struct opts_example relay_examples[] = {
	{"bpfprof relay --config /etc/bpfprof/relay.conf", "between agents and the store"},
	{"bpfprof relay --config /etc/bpfprof/relay.conf --check-config",
	 "is the file right, and what does it mean?"},
	{NULL},
};

const struct opts_spec relay_spec = {
	.name = "relay",
	.usage = "relay --config FILE [--check-config] [OPTIONS]",
	.summary = "Stand between many agents and the fleet's store: take what they ship, keep it, "
		   "insert it together",
	.details = "An agent sends to it with --sink relay+https://:TOKEN@HOST. What it has\n"
		   "acknowledged is on its disk. SIGHUP reads the tokens again, SIGTERM and\n"
		   "SIGINT end it.",
	.is_unprivileged = true,
	.options = relay_options,
	.examples = relay_examples,
};

static void set_defaults(struct relay_opts *opts)
{
	*opts = (struct relay_opts){
		.spool = SPOOL_DEFAULT,
		.max_spool_bytes = 4ULL << 30,
		.max_age_ns = 86400 * NSEC_PER_SEC,
		.every_ns = NSEC_PER_SEC,
		.max_rows = 1000000,
		.listen = LISTEN_DEFAULT,
		.max_clients = 1000,
		.max_message_bytes = 32 << 20,
	};
}

static int check_store(const struct relay_opts *opts, struct buf *why)
{
	struct ch_url url;
	const char *reason = NULL;
	int err = opts->store ? ch_url_parse(opts->store, &url, &reason) : -EINVAL;

	explicit_bzero(&url, sizeof(url));
	if (!opts->store)
		buf_add_str(why, "option '--store' is missing: the fleet's store, "
				 "clickhouse://HOST/DATABASE");
	else if (err)
		buf_printf(why, "option '--store': %s", reason);
	return err;
}

static int check(const struct relay_opts *opts, const struct opts_args *args, struct buf *why)
{
	struct web_place place;

	if (args->operands.cnt)
		buf_printf(why, "unexpected argument '%s'", args->operands.items[0]);
	else if (opts->config.policy_cnt || opts->config.sink_cnt || opts->config.policy.cnt)
		buf_printf(why, "configuration '%s': sections are an agent's: a relay has none",
			   opts->config_path);
	else if (!opts->tls_cert != !opts->tls_key)
		buf_add_str(why, "options '--tls-cert' and '--tls-key': one without the other");
	else if (web_place_parse(opts->listen, &place))
		buf_printf(why,
			   "option '--listen': '%s' is no address (wanted: 127.0.0.1:7711, "
			   "[::1]:7711, 7711 or unix:/PATH)",
			   opts->listen);
	else
		return check_store(opts, why);
	return -EINVAL;
}

static int parse(struct relay_opts *opts, int argc, char **argv, const char *config_path,
		 struct buf *why)
{
	struct opts_args args = {.help = false};
	int err = config_path ? config_read(config_path, &relay_spec, opts, &opts->config, why) : 0;

	err = err ? err : opts_parse(&relay_spec, argc, argv, opts, &args, why);
	err = err ? err : check(opts, &args, why);
	opts_deinit(&relay_spec, NULL, &args);
	return err;
}

bool relay_opts_parse(struct relay_opts *opts, int argc, char **argv, int *status_out)
{
	_cleanup_(buf_deinit) struct buf why;
	struct relay_opts first;
	struct opts_args args = {.help = false};
	bool goes_on;
	int err = 0;

	buf_init(&why, BUF_NO_MAX);
	set_defaults(opts);
	set_defaults(&first);
	/* Once for --help and the name of the file, which then comes before the rest. */
	goes_on = cli_begin(&relay_spec, argc, argv, &first, &args, status_out);
	if (goes_on)
		err = parse(opts, argc, argv, first.config_path, &why);
	opts_deinit(&relay_spec, &first, &args);
	if (!goes_on || !err)
		return goes_on;
	*status_out = cli_refuse(&relay_spec, &why, err);
	return false;
}

void relay_opts_deinit(struct relay_opts *opts)
{
	struct opts_args none = {.help = false};

	opts_deinit(&relay_spec, opts, &none);
	config_deinit(&opts->config);
}

void relay_opts_print(const struct relay_opts *opts, struct buf *out)
{
	opts_print(&relay_spec, opts, OPT_NOT_IN_FILE, out);
}
