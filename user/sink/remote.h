/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receivers over HTTP, what they have in common: who of a round has been taken already, bounds,
 * errors. Those of whole profiles have URLs that are alike, too:
 *
 *	SCHEME+http://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...][/PATH][?tenant=NAME][&ca=FILE]
 *
 * and "+https:" for TLS. USER and PASSWORD may have %XX; a password without a user is a token
 * (Authorization: Bearer). What the URL does not have is taken from $SCHEME_USER and
 * $SCHEME_PASSWORD (in capitals), so that a password need not be in a command line. The tenant is
 * sent as X-Scope-OrgID. PATH goes before that of the protocol.
 *
 * Several hosts, where the kind allows it, are as good as each other: the one that took something
 * last is asked, and the next one, once round, where it is gone or says that it cannot now. The
 * first one is tried again after REMOTE_RETURN_NS.
 *
 * Where an answer does not arrive, what was sent is sent again. What one has taken of a round is
 * not sent a second time for another window's sake.
 */
#ifndef BPFPROF_SINK_REMOTE_H
#define BPFPROF_SINK_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "http/http.h"
#include "http/url.h"
#include "sink/sink.h"

enum {
	REMOTE_HOST_ID_MAX = 64,
	REMOTE_HEADER_MAX = 800,
	REMOTE_BODY_BYTES = 4 << 20 /* of receivers' default bounds */
};

#define REMOTE_RETURN_NS (300 * NSEC_PER_SEC)

struct remote_kind {
	const char *scheme; /* before "+http://" */
	const char *user_variable, *password_variable; /* of the environment */
	const char *path; /* of what is posted */
	const char *const *headers; /* NULL-terminated, at most four */
	uint16_t port; /* where the URL has none */
	uint32_t body_bytes_max; /* of large ones, which take as long as their rate wants; 0: there
				    are none */
	bool is_packed; /* bodies are compressed */
	bool has_hosts; /* the URL may name several */
	bool may_pass; /* a 5xx that is none of 502, 503, 504: else it is a refusal */
	bool takes_lost; /* it can be told of windows that are lost */
};

/* Such a sink, or what one begins with. */
struct remote {
	struct sink sink;
	const struct remote_kind *kind; /* static */
	char host_id[REMOTE_HOST_ID_MAX];
	struct http *http; /* owned */
	bool is_tls;
	struct http_host hosts[HTTP_HOSTS_MAX];
	size_t host_cnt;
	size_t host; /* that is asked */
	uint64_t moved_ns; /* CLOCK_MONOTONIC at which it was left for another one, or tried last */
	struct buf path; /* behind the host */
	char user[REMOTE_HEADER_MAX], tenant[REMOTE_HEADER_MAX]; /* headers, or "" */
	const char *headers[8];
	char ca_file[HTTP_URL_PART_MAX];
	uint32_t status; /* of the last answer; 0: there was none */
	uint64_t acked_seq; /* windows up to here were taken, since it was opened */
};

bool remote_is_url(const struct remote_kind *kind, const char *url);

/* sink_name() */
int remote_name(const struct remote_kind *kind, const char *url, struct buf *out, struct buf *why);

/* open() of struct sink_ops: *@out is a struct remote. And close(). */
int remote_open(const struct remote_kind *kind, const char *url, const struct sink_opts *opts,
		struct sink **out, struct buf *why);
void remote_close(struct sink *sink);

/*
 * For those that embed it, zeroed: begin, after ca_file was set ("": none), and end. @kind has but
 * what is not about URLs. 0, or negative errno with the reason in @why; remote_deinit() in any
 * case.
 */
int remote_init(struct remote *remote, const struct remote_kind *kind, const struct sink_opts *opts,
		struct buf *why);
void remote_deinit(struct remote *remote);

/*
 * Send @request. 0 with the answer's body in @answer, its remote->status, and the sink's
 * retry_after_ns as it has it; or http_send()'s error, @why then has the reason and how to mend it.
 */
int remote_exchange(struct remote *remote, const struct http_request *request, struct buf *answer,
		    struct buf *why);

/* What @status means: an error of remote_post(). */
int remote_errno(const struct remote_kind *kind, uint32_t status);

/* Append to @why how long the receiver wants to be left alone, where it does. */
void remote_explain_wait(const struct remote *remote, struct buf *why);

/*
 * Post @body. 0 with the answer's body in @answer; -EINVAL: it is refused for what it is; -EACCES:
 * for who asks, or where; -EAGAIN: later, not before the sink's retry_after_ns; or http_send()'s.
 * @why has the reason then, and how to mend it; it is that of the host that was asked last.
 */
int remote_post(struct remote *remote, const struct buf *body, struct buf *answer, struct buf *why);

/* send() of struct sink_ops: each window by @send_one, which adds to the sink's counts.rows; those
 * that are lost, too, where the kind takes them. */
int remote_send(struct remote *remote, const struct sink_window *windows, size_t cnt,
		int (*send_one)(struct remote *remote, const struct sink_window *window,
				struct buf *why),
		struct buf *why);

#endif
