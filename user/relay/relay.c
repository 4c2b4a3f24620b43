/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/relay.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "agent/notify.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/confinement.h"
#include "relay/relay_receive.h"
#include "relay/relay_ship.h"

enum {
	LOOK_S = 1, /* between two looks at the token file */
	TABLES_SHARE = 4, /* symbols may have so much more than the spool: a part of the same */
	OTHER_FILES = 64, /* besides clients */
};

#define LAST_NS (10 * NSEC_PER_SEC)

static void *ship(void *arg)
{
	relay_ship_run(arg);
	return NULL;
}

/* As many clients as may come need a descriptor each. */
static void raise_limit(uint64_t clients)
{
	const rlim_t wanted = clients + OTHER_FILES;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < wanted)
		log_warn("relay: no more than %llu descriptors are possible: max-clients cannot be "
			 "had (ulimit -n)",
			 (unsigned long long)limit.rlim_cur);
}

/* The signals are blocked from before the first thread on. */
static void watch(struct relay *relay, const sigset_t *signals, const struct notify *notify)
{
	const struct timespec look = {.tv_sec = LOOK_S};
	int number;

	do {
		number = sigtimedwait(signals, NULL, &look);
		relay_tokens_refresh(&relay->tokens, number == SIGHUP);
		if (notify->watchdog_ns)
			notify_send(notify, "WATCHDOG=1");
	} while (number != SIGTERM && number != SIGINT);
}

/* From here on clients are served and messages shipped. */
static int serve(struct relay *relay, struct web_server *server, const sigset_t *signals,
		 const struct notify *notify)
{
	struct relay_ship *shipping = NULL;
	pthread_t thread;
	int err;

	confine_server(true);
	err = relay_ship_open(relay, &shipping);
	if (!err)
		err = -pthread_create(&thread, NULL, ship, shipping);
	if (err) {
		relay_ship_close(shipping);
		web_server_stop(server);
		return CLI_FAILED;
	}
	err = web_server_run(server);
	if (!err) {
		log_info("relay: takes messages at %s", web_server_address(server));
		notify_send(notify, "READY=1");
		watch(relay, signals, notify);
		notify_send(notify, "STOPPING=1");
	}
	/* Nothing comes any more; then what is there goes. */
	web_server_stop(server);
	atomic_store(&relay->end_ns, clock_monotonic_ns() + LAST_NS);
	pthread_join(thread, NULL);
	relay_ship_close(shipping);
	return err ? CLI_FAILED : CLI_OK;
}

static int open_server(struct relay *relay, struct web_host *host, struct web_service *service,
		       struct web_server **out)
{
	const struct relay_opts *opts = relay->opts;
	const struct web_opts web = {
		.listen = opts->listen,
		.token_file = opts->token_file,
		.tls_cert = opts->tls_cert,
		.tls_key = opts->tls_key,
		.host = host,
		.service = service,
	};

	relay_receive_init(relay, host, service);
	return web_server_open(&web, out);
}

static int open_spool(struct relay *relay)
{
	const struct relay_spool_opts opts = {
		.path = relay->opts->spool,
		.max_bytes = relay->opts->max_spool_bytes,
		.max_age_ns = relay->opts->max_age_ns,
	};
	_cleanup_(buf_deinit) struct buf why;
	struct relay_spool_state state;
	int err;

	buf_init(&why, BUF_NO_MAX);
	err = relay_spool_open(&opts, &relay->spool, &why);
	if (!err)
		err = relay_tables_open(opts.path, opts.max_bytes / TABLES_SHARE, &relay->tables);
	if (err) {
		log_error("relay: %s", buf_error_text(&why, err));
		return err;
	}
	state = relay_spool_state(relay->spool);
	if (state.records)
		log_info("relay: spool '%s': %llu messages wait in it", relay->opts->spool,
			 (unsigned long long)state.records);
	return 0;
}

static int run(struct relay *relay, const sigset_t *signals)
{
	struct web_service service;
	struct web_host host;
	struct web_server *server;
	struct notify notify;
	int status = CLI_FAILED;

	if (open_spool(relay))
		return CLI_FAILED;
	if (notify_open(getenv("NOTIFY_SOCKET"), getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"),
			&notify))
		log_warn("relay: the manager cannot be told (NOTIFY_SOCKET)");
	if (!open_server(relay, &host, &service, &server))
		status = serve(relay, server, signals, &notify);
	notify_close(&notify);
	return status;
}

int relay_run(const struct relay_opts *opts)
{
	struct relay relay = {.opts = opts};
	sigset_t signals;
	int status = CLI_FAILED;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	raise_limit(opts->max_clients);
	if (!relay_tokens_open(opts->token_file, &relay.tokens))
		status = run(&relay, &signals);
	relay_tables_close(relay.tables);
	relay_spool_close(relay.spool);
	relay_tokens_close(&relay.tokens);
	return status;
}
