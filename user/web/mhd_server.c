/* SPDX-License-Identifier: Apache-2.0 */
/* The server: sockets, threads and limits around libmicrohttpd. */
#include "web/mhd_server.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/signals.h"
#include "encode/encoder.h"

enum {
	THREADS = 2,
	CONNECTIONS_MAX = 512,
	CONNECTIONS_PER_IP_MAX = 64, /* of addresses that others reach */
	CONNECTION_BYTES = 32 << 10, /* for a request's head */
};

/* Modern TLS alone. */
static const char TLS_PRIORITIES[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

static void log_server(void *arg, const char *fmt, va_list args)
{
	log_debug_va(fmt, args);
}

static struct MHD_Daemon *start_daemon(struct web_server *server)
{
	bool has_tls = server->secrets.cert != NULL;
	unsigned int flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
			     MHD_USE_ERROR_LOG | (has_tls ? MHD_USE_TLS : 0u);
	struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_MEM_CERT, 0, server->secrets.cert},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, server->secrets.key},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)TLS_PRIORITIES},
		{MHD_OPTION_END, 0, NULL},
	};
	const unsigned int client_max =
		server->service ? server->service->client_max : CONNECTIONS_MAX;
	struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
	/* All clients of loopback have one address. */
	unsigned int per_ip = server->listener.place.is_wide ? CONNECTIONS_PER_IP_MAX : 0;

	return MHD_start_daemon(
		flags, 0, NULL, NULL, mhd_on_request, server, MHD_OPTION_EXTERNAL_LOGGER,
		log_server, NULL, MHD_OPTION_LISTEN_SOCKET, server->listener.fd,
		MHD_OPTION_THREAD_POOL_SIZE, (unsigned int)THREADS, MHD_OPTION_CONNECTION_LIMIT,
		client_max, MHD_OPTION_PER_IP_CONNECTION_LIMIT, per_ip,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK, mhd_on_target, server,
		MHD_OPTION_NOTIFY_COMPLETED, mhd_on_completed, server, MHD_OPTION_NOTIFY_CONNECTION,
		mhd_on_connection, server, MHD_OPTION_ARRAY, has_tls ? tls : none, MHD_OPTION_END);
}

/* Where others may come near, they have to show that they may, and nobody may listen in. */
static int check_place(const struct web_opts *opts, const struct web_place *place)
{
	const char *listen = opts->listen ? opts->listen : WEB_DEFAULT_LISTEN;

	if (!place->is_wide || (opts->token_file && opts->tls_cert && opts->tls_key))
		return 0;
	log_error("web: '%s' can be reached by other machines: that needs a token (--token-file) "
		  "and TLS (--tls-cert, --tls-key); or listen on 127.0.0.1 or unix:/PATH",
		  listen);
	return -EPERM;
}

/* Where nobody listens. */
static void tell_place(const struct web_opts *opts, const char *text, int err)
{
	const char *cause =
		err == -EEXIST ? "something that is no socket of ours is there" : strerror(-err);
	const char *fix = err == -EADDRINUSE ? " (another --listen, or stop who has it)" : "";

	if (opts->is_optional)
		log_warn("web: listen on '%s': %s%s", text, cause, fix);
	else
		log_error("web: listen on '%s': %s%s", text, cause, fix);
}

static int open_listener(struct web_server *server, const struct web_opts *opts)
{
	const char *text = opts->listen ? opts->listen : WEB_DEFAULT_LISTEN;
	_cleanup_(buf_deinit) struct buf address;
	struct web_place place;
	int err = web_place_parse(text, &place);

	buf_init(&address, BUF_NO_MAX);
	if (err) {
		log_error("web: '%s' is no address to listen on (wanted: 127.0.0.1:7710, "
			  "[::1]:7710, 7710 or unix:/PATH)",
			  text);
		return err;
	}
	err = check_place(opts, &place);
	if (err)
		return err;
	err = web_listener_open(&place, &server->listener);
	if (err) {
		tell_place(opts, text, err);
		return err;
	}
	web_place_format(&server->listener.place, server->secrets.cert != NULL, &address);
	server->address = strdup(buf_cstr(&address));
	return server->address ? 0 : -ENOMEM;
}

/* What browsers may do with each kind of reply. */
static int make_policies(struct web_server *server)
{
	static const char rest[] = "base-uri 'none'; form-action 'none'; frame-ancestors";
	_cleanup_(buf_deinit) struct buf script, style;
	int err = 0;

	buf_init(&script, BUF_NO_MAX);
	buf_init(&style, BUF_NO_MAX);
	html_add_script_source(&script);
	html_add_style_source(&style);
	if (asprintf(&server->policies[WEB_POLICY_DATA], "default-src 'none'; %s 'none'", rest) < 0)
		err = -ENOMEM;
	/* It shows reports that it has fetched with the token, which then stand under its policy.
	 */
	if (asprintf(&server->policies[WEB_POLICY_PAGE],
		     "default-src 'none'; script-src 'self' %s; style-src 'self' %s; connect-src "
		     "'self'; img-src 'self' data:; frame-src 'self' blob:; %s 'none'",
		     buf_cstr(&script), buf_cstr(&style), rest) < 0)
		err = -ENOMEM;
	if (asprintf(&server->policies[WEB_POLICY_REPORT],
		     "default-src 'none'; script-src %s; style-src %s; %s 'self'",
		     buf_cstr(&script), buf_cstr(&style), rest) < 0)
		err = -ENOMEM;
	if (asprintf(&server->policies[WEB_POLICY_PICTURE],
		     "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
		     "%s 'self'",
		     rest) < 0)
		err = -ENOMEM;
	return err;
}

static int start_threads(struct web_server *server)
{
	const struct web_host *host = server->host;
	int err = clients_start(&server->clients);

	server->has_clients = true;
	web_site_init(&server->quick, host, NULL);
	if (!err)
		err = lane_start(&server->stores, LANE_THREADS + LANE_STORE_QUEUE_MAX, mhd_work,
				 host, server->store_url);
	if (!err)
		err = lane_start(&server->captures, LANE_THREADS, mhd_work, host,
				 server->store_url);
	if (err) {
		log_error("web: threads cannot be started: %s", strerror(-err));
		return err;
	}
	server->daemon = start_daemon(server);
	if (!server->daemon) {
		log_error("web: the server cannot be started%s",
			  server->secrets.cert ? " (are certificate and key PEM files that belong "
						 "together?)"
					       : "");
		return -EINVAL;
	}
	server->listener.fd = -1; /* the daemon's now */
	return 0;
}

/* Start them, and note which they are: the daemon makes some of them itself. */
static int start_noted_threads(struct web_server *server)
{
	_cleanup_(threads_deinit) struct threads before;
	int err = threads_list(&before);

	err = err ? err : start_threads(server);
	if (!err)
		err = threads_list(&server->threads);
	if (!err)
		threads_subtract(&server->threads, &before);
	return err;
}

/* Signals are for the program's own threads. */
int web_server_run(struct web_server *server)
{
	sigset_t all, before;
	int err;

	signals_fill_but_faults(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = start_noted_threads(server);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

int web_server_open(const struct web_opts *opts, struct web_server **out)
{
	struct web_server *server = calloc(1, sizeof(*server));
	int err = server ? 0 : -ENOMEM;

	if (err)
		return err;
	server->listener.fd = -1;
	server->host = opts->host;
	server->service = opts->service;
	server->room.max_bytes = REPLIES_BYTES_MAX;
	if (opts->store_url) {
		server->store_url = strdup(opts->store_url);
		err = server->store_url ? 0 : -ENOMEM;
	}
	if (!err)
		err = make_policies(server);
	if (!err)
		err = web_secrets_read(opts, &server->secrets);
	if (!err)
		err = open_listener(server, opts);
	if (err)
		web_server_stop(server);
	else
		*out = server;
	return err;
}

int web_server_start(const struct web_opts *opts, struct web_server **out)
{
	struct web_server *server;
	int err = web_server_open(opts, &server);

	if (err)
		return err;
	err = web_server_run(server);
	if (err)
		web_server_stop(server);
	else
		*out = server;
	return err;
}

void web_server_stop(struct web_server *server)
{
	if (!server)
		return;
	/* Who is hung up on has nothing recorded any more, so that the lanes come to an end. */
	if (server->daemon)
		clients_hang_up(&server->clients);
	lane_stop(&server->captures);
	lane_stop(&server->stores);
	if (server->daemon)
		MHD_stop_daemon(server->daemon);
	if (server->has_clients)
		clients_stop(&server->clients);
	web_site_deinit(&server->quick);
	threads_deinit(&server->threads);
	web_listener_close(&server->listener);
	web_secrets_deinit(&server->secrets);
	free(server->store_url);
	free(server->address);
	for (size_t i = 0; i < WEB_POLICY_CNT; i++)
		free(server->policies[i]);
	free(server);
}

uint64_t web_server_cpu_ns(const struct web_server *server)
{
	return server ? threads_cpu_ns(&server->threads) : 0;
}

const char *web_server_address(const struct web_server *server)
{
	return server->address;
}
