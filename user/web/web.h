/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP over what an agent records and a store keeps: the endpoints of Go's net/http/pprof, the JSON
 * that the page reads, the page, metrics. Who starts it decides who may come near: loopback or a
 * unix socket as it is, any other address only with a token and TLS.
 *
 *	/debug/pprof/...	profiles: recorded now (seconds=) or from the store (from=)
 *	/api/...		JSON over the store
 *	/querier.v1...		Pyroscope's querier API: Grafana's data source
 *	/metrics /healthz	for those who watch the agent
 *	/			the page
 */
#ifndef BPFPROF_WEB_WEB_H
#define BPFPROF_WEB_WEB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define WEB_DEFAULT_LISTEN "127.0.0.1:7710"

enum web_capture_kind {
	WEB_CAPTURE_CPU,
	WEB_CAPTURE_ALLOCS, /* the heap of a process */
	WEB_CAPTURE_OFF_CPU,
};

enum { WEB_CAPTURE_SECONDS_MAX = 600, WEB_CAPTURE_HZ_MAX = 10000 };

/* A recording that a client asks for. Strings are borrowed, and not yet known to be sensible. */
struct web_capture {
	enum web_capture_kind kind;
	uint64_t duration_ns; /* at most WEB_CAPTURE_SECONDS_MAX */
	uint32_t hz; /* 0: the default; at most WEB_CAPTURE_HZ_MAX */
	uint32_t pid; /* 0: every process */
	const char *comm, *cgroup, *event; /* NULL: not given */
	int client_fd; /* when its other side hangs up, nobody waits any more */
};

/*
 * What an agent offers beside its store. Callbacks may be NULL: then there is no such thing here.
 * metrics and is_healthy are called by the threads that serve all clients and must return at once;
 * capture by a thread that has nothing else to do. All at the same time.
 */
struct web_host {
	void *arg;
	/* Append the Prometheus text format, version 0.0.4. 0 or negative errno. */
	int (*metrics)(void *arg, struct buf *out);
	/*
	 * Record, and append pprof. 0, or with a line in @why: -EINVAL wrong request, -EBUSY too
	 * many at once, -ECANCELED the client went away, -ETIMEDOUT, other negative errno.
	 */
	int (*capture)(void *arg, const struct web_capture *request, struct buf *out,
		       struct buf *why);
	/* False with a line in @why. */
	bool (*is_healthy)(void *arg, struct buf *why);
};

struct web_route;

/* What is served in the place of the table above (site.h): by a relay. */
struct web_service {
	const struct web_route *routes; /* the one without a path ends them */
	/* Does @authorization, a header or NULL, let somebody in? Called by the threads that serve
	 * all clients, with web_host.arg. */
	bool (*allow)(void *arg, const char *authorization);
	size_t body_bytes_max; /* of a request */
	size_t bodies_bytes_max; /* of those that are held at once */
	uint32_t client_max; /* that are connected at once */
};

/* All strings are borrowed for the call of web_server_start() alone. */
struct web_opts {
	const char *listen; /* ADDRESS:PORT, PORT, or unix:/PATH; NULL: WEB_DEFAULT_LISTEN */
	const char *token_file; /* NULL: no token is asked for; with a service it alone reads it */
	const char *tls_cert, *tls_key; /* PEM files; NULL: no TLS */
	const char *store_url; /* NULL: no store */
	const struct web_host *host; /* borrowed until web_server_stop(); NULL: a store alone */
	const struct web_service *service; /* likewise; NULL: none, and host may be NULL, too */
	bool is_optional; /* what keeps it from listening is a warning */
};

struct web_server;

/*
 * Listen; clients that come wait. Who is to be confined does so next, as no socket is made later,
 * and threads have the capabilities of who starts them. *@out is *owned*. 0, or negative errno
 * after log_error() (opts->is_optional: log_warn()) that says how to mend it: -EPERM an address
 * that others reach without token and TLS, -EADDRINUSE, -EACCES, -ENOSYS a build without an HTTP
 * server.
 */
int web_server_open(const struct web_opts *opts, struct web_server **out);

/* Serve with threads of our own until web_server_stop(). 0, or negative errno after log_error(). */
int web_server_run(struct web_server *server);

/* Both at once. */
int web_server_start(const struct web_opts *opts, struct web_server **out);

/* CPU time that the server's threads have taken so far, nanoseconds; 0 for NULL. Any thread. */
uint64_t web_server_cpu_ns(const struct web_server *server);

/* Hang up on every client, end what is recorded for them, release. NULL is fine. */
void web_server_stop(struct web_server *server);

/* Where clients find it: "http://127.0.0.1:7710/", "unix:/run/bpfprof.sock". Borrowed until
 * web_server_stop(). */
const char *web_server_address(const struct web_server *server);

#endif
