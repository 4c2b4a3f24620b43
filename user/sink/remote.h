/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receivers of whole profiles over HTTP:
 *
 *	SCHEME+http://[USER:PASSWORD@]HOST[:PORT][/PATH][?tenant=NAME][&ca=FILE]
 *
 * and "+https:" for TLS. USER and PASSWORD may have %XX; a password without a user is a token
 * (Authorization: Bearer). What the URL does not have is taken from $SCHEME_USER and
 * $SCHEME_PASSWORD (in capitals), so that a password need not be in a command line. The tenant is
 * sent as X-Scope-OrgID. PATH goes before that of the protocol.
 *
 * They are at least once: where an answer does not arrive, what was sent is sent again. What one
 * has taken of a round is not sent a second time for another window's sake.
 */
#ifndef BPFPROF_SINK_REMOTE_H
#define BPFPROF_SINK_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "http/http.h"
#include "sink/sink.h"

enum {
	REMOTE_HOST_ID_MAX = 64,
	REMOTE_HEADER_MAX = 800,
	REMOTE_BODY_BYTES = 4 << 20 /* of receivers' default bounds */
};

struct remote_kind {
	const char *scheme; /* before "+http://" */
	const char *user_variable, *password_variable; /* of the environment */
	const char *path; /* of what is posted */
	const char *const *headers; /* NULL-terminated, at most four */
	uint16_t port; /* where the URL has none */
	bool is_packed; /* bodies are compressed */
	bool may_pass; /* a 5xx that is none of 502, 503, 504: else it is a refusal */
};

/* Such a sink. */
struct remote {
	struct sink sink;
	const struct remote_kind *kind; /* static */
	char host_id[REMOTE_HOST_ID_MAX];
	struct http *http; /* owned */
	struct buf target; /* where to post to */
	char user[REMOTE_HEADER_MAX], tenant[REMOTE_HEADER_MAX]; /* headers, or "" */
	const char *headers[8];
	char ca_file[256];
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
 * Post @body. 0 with the answer's body in @answer; -EINVAL: it is refused for what it is; -EACCES:
 * for who asks, or where; -EAGAIN: later, not before the sink's retry_after_ns; or http_send()'s.
 * @why has the reason then, and how to mend it.
 */
int remote_post(struct remote *remote, const struct buf *body, struct buf *answer, struct buf *why);

/* send() of struct sink_ops: each window by @send_one, which adds to the sink's counts.rows. Of
 * those that are lost nothing can be told. */
int remote_send(struct remote *remote, const struct sink_window *windows, size_t cnt,
		int (*send_one)(struct remote *remote, const struct sink_window *window,
				struct buf *why),
		struct buf *why);

#endif
