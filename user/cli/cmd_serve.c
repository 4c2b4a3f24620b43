/* SPDX-License-Identifier: Apache-2.0 */
/* `bpfprof serve`: the page and its answers over a store, without an agent. */
#include <signal.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/confinement.h"
#include "cli/store_arg.h"
#include "fleet/fleet.h"
#include "web/web.h"

struct serve_opts {
	const char *store;
	struct web_opts web;
	struct opts_args args;
};

#define AT(member, type) .offset = OPT_AT(struct serve_opts, member, type)

static const struct opt serve_options[] = {
	{OPT_GROUP, .help = "What is served"},
	{OPT_STRING, 0, "store", "URL", AT(store, const char *), .flags = OPT_IS_FILE,
	 .help = STORE_ARG_ANY_HELP},

	{OPT_GROUP, .help = "HTTP"},
	{OPT_STRING, 0, "listen", "ADDR", AT(web.listen, const char *),
	 .help = "address and port, a port, or unix:/PATH (default: " WEB_DEFAULT_LISTEN
		 "; port 0: one that is free)"},
	{OPT_STRING, 0, "token-file", "FILE", AT(web.token_file, const char *),
	 .flags = OPT_IS_FILE, .help = "whoever asks has to know what is in it"},
	{OPT_STRING, 0, "tls-cert", "FILE", AT(web.tls_cert, const char *), .flags = OPT_IS_FILE,
	 .help = "certificate for HTTPS"},
	{OPT_STRING, 0, "tls-key", "FILE", AT(web.tls_key, const char *), .flags = OPT_IS_FILE,
	 .help = "its key"},
	{OPT_END},
};

static const struct opts_example serve_examples[] = {
	{"bpfprof serve", "the agent's store in a browser"},
	{"bpfprof serve --store copy.db --listen 127.0.0.1:8080", "a copy of one"},
	{"CLICKHOUSE_PASSWORD=... bpfprof serve --store clickhouse://reader@db.example/profiles",
	 "a whole fleet's"},
	{"bpfprof serve --listen 0.0.0.0:7710 --token-file token --tls-cert cert.pem --tls-key "
	 "key.pem",
	 "for other machines, which takes a token and TLS"},
	{NULL},
};

const struct opts_spec serve_spec = {
	.name = "serve",
	.usage = "serve [--store URL] [--listen ADDR] [--token-file FILE] [--tls-cert FILE "
		 "--tls-key FILE]",
	.summary = "Serve the page and the query API over a host's store, without an agent, or a "
		   "fleet's",
	.details = "SIGTERM and SIGINT end it.",
	.is_unprivileged = true,
	.options = serve_options,
	.examples = serve_examples,
};

/* True, or false after log_error(). */
static bool check(const struct serve_opts *opts)
{
	if (opts->args.operands.cnt)
		log_error("unexpected argument '%s' (see bpfprof serve --help)",
			  opts->args.operands.items[0]);
	else if (!opts->web.tls_cert != !opts->web.tls_key)
		log_error("options '--tls-cert' and '--tls-key': one without the other (see "
			  "bpfprof serve --help)");
	else
		return true;
	return false;
}

/* The signals are blocked from before the first thread on. */
static int serve_until_told(const char *url, struct web_server *server, const sigset_t *ends)
{
	_cleanup_free_ char *name = store_arg_name(url);
	struct store_source *store;
	int number;

	confine_server(fleet_is_url(url));
	/* What is wrong with it is told now, and not only to who asks. */
	if (store_arg_open_source(url, &store))
		return CLI_FAILED;
	store_source_close(store);
	if (web_server_run(server))
		return CLI_FAILED;
	log_info("serving '%s' at %s", name ? name : "the store", web_server_address(server));
	while (sigwait(ends, &number))
		;
	return CLI_OK;
}

static int run(struct serve_opts *opts)
{
	struct web_server *server;
	sigset_t ends;
	const char *url;
	int status;

	if (!check(opts) || store_arg_url(opts->store, &url))
		return CLI_USAGE;
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
	opts->web.store_url = url;
	if (web_server_open(&opts->web, &server))
		return CLI_FAILED;
	status = serve_until_told(url, server, &ends);
	web_server_stop(server);
	return status;
}

int cmd_serve(int argc, char **argv)
{
	struct serve_opts opts = {0};
	int status;

	if (cli_begin(&serve_spec, argc, argv, &opts, &opts.args, &status))
		status = run(&opts);
	opts_deinit(&serve_spec, &opts, &opts.args);
	return status;
}
