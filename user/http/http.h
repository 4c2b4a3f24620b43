/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP as a client, by libcurl: requests to one server, one after another, over a connection that
 * is kept. Answers are hostile: they are bounded by the buffer that takes them. libcurl is loaded
 * when it is needed; a static build can load none.
 */
#ifndef BPFPROF_HTTP_HTTP_H
#define BPFPROF_HTTP_HTTP_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct http;

enum { HTTP_ERROR_MAX = 256 /* bytes of an error's text, with the NUL */ };

struct http_opts {
	const char *ca_file; /* certificates that are trusted; NULL: the system's */
	uint32_t connect_timeout_ms; /* 0: 10 s */
	uint32_t timeout_ms; /* of a whole request; 0: none */
	uint64_t send_bytes_per_s; /* 0: no bound */
	/* Asked about once a second while a request runs: true ends it (-ECANCELED). May be NULL.
	 */
	bool (*is_cancelled)(void *arg);
	void *arg;
};

struct http_request {
	const char *url; /* http: or https:, with path and query */
	const char *const *headers; /* "Name: value", NULL-terminated; may be NULL */
	/* NULL: a GET, else a POST of body_len bytes */
	const void *body;
	size_t body_len;
	const char *method; /* another one, with a body: "PUT"; or NULL */
	const char *wanted; /* the name of a header of the answer, for http_wanted(); or NULL */
};

/* *@out is *owned* (http_close()); nothing is connected yet. @opts is copied, its strings are
 * borrowed. 0; -ENOSYS: libcurl cannot be loaded, http_missing() says why; -ENOMEM. */
int http_open(const struct http_opts *opts, struct http **out);
const char *http_missing(void); /* static */
void http_close(struct http *http); /* NULL is fine */

/*
 * Send @request and append the answer's body to @answer, whose max_bytes bounds it; a body that is
 * compressed arrives as what was compressed. 0 with the answer's *@status, whichever it is; else
 * negative errno, with http_error() as its text: -ECONNREFUSED, -EHOSTUNREACH (no such host, no
 * way to it), -ETIMEDOUT, -ECONNRESET (it ended midway: whether it was carried out is not known),
 * -EPERM (TLS: the server's certificate is not trusted), -EFBIG, -ECANCELED, -EIO, -ENOMEM.
 */
int http_send(struct http *http, const struct http_request *request, struct buf *answer,
	      uint32_t *status);

/* Of what http_send() returned: is nobody there, or not any more? */
static inline bool http_is_gone(int err)
{
	return err == -ECONNREFUSED || err == -EHOSTUNREACH || err == -ECONNRESET ||
	       err == -ETIMEDOUT;
}

/* What went wrong last, "" if nothing did. Borrowed until the next request. */
const char *http_error(const struct http *http);

/* How long the last answer asks to be left alone (Retry-After, in either form): seconds, 0 where it
 * does not. */
uint64_t http_retry_after_s(const struct http *http);

/* The value of the last answer's header that the request wanted, of HTTP_ERROR_MAX bytes at most;
 * "": it has none, or one with bytes that are none of text. Borrowed until the next request. */
const char *http_wanted(const struct http *http);

/* Bytes that went out and came in since it was opened, headers too, as they were on the wire. */
struct http_traffic {
	uint64_t sent_bytes, received_bytes;
};

struct http_traffic http_traffic(const struct http *http);

#endif
