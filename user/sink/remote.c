/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "encode/gzip.h"
#include "encode/text.h"
#include "http/url.h"

enum {
	TIMEOUT_MS = 120000,
	TIMEOUT_MAX_MS = 24 * 3600 * 1000, /* more, at most */
	ANSWER_MAX_BYTES = 4 << 20, /* as OTLP/HTTP recommends it */
	SHOWN_BYTES = 200, /* of an answer, in messages */
	RETRY_AFTER_MAX_S = 3600, /* more is not believed */
};

struct remote_url {
	bool is_tls;
	struct http_authority at; /* the first host, and who asks */
	struct http_host hosts[HTTP_HOSTS_MAX];
	size_t host_cnt;
	char path[HTTP_URL_PART_MAX], tenant[HTTP_URL_PART_MAX], ca_file[HTTP_URL_PART_MAX];
};

/* --- URLs --- */

bool remote_is_url(const struct remote_kind *kind, const char *url)
{
	const size_t len = strlen(kind->scheme);

	return !strncmp(url, kind->scheme, len) && (url[len] == '+' || url[len] == ':');
}

static const char *take_option(const char *text, size_t len, struct remote_url *url)
{
	static const char wrong[] = "behind '?' only tenant=NAME and ca=FILE are known, with '&' "
				    "between them";

	if (len > 7 && !strncmp(text, "tenant=", 7))
		return http_url_decode(text + 7, len - 7, url->tenant) ? NULL : wrong;
	if (len > 3 && !strncmp(text, "ca=", 3))
		return http_url_decode(text + 3, len - 3, url->ca_file) ? NULL : wrong;
	return wrong;
}

static const char *take_tail(const char *text, struct remote_url *url)
{
	size_t len = strcspn(text, "?");
	const char *why = NULL;

	while (len && text[len - 1] == '/')
		len--;
	/* What a path may have without %XX. */
	if (len >= sizeof(url->path) ||
	    strspn(text, "/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.~") <
		    len)
		return "the path has other characters than letters, digits and '/_-.~'";
	memcpy(url->path, text, len);
	text += strcspn(text, "?");
	while (*text && !why) {
		len = strcspn(++text, "&");
		why = take_option(text, len, url);
		text += len;
	}
	return why;
}

static int parse(const struct remote_kind *kind, const char *text, struct remote_url *out,
		 struct buf *why)
{
	const size_t scheme_len = strlen(kind->scheme);
	const char *reason = NULL, *rest = text + scheme_len;
	size_t len;

	*out = (struct remote_url){.at.port = kind->port};
	out->is_tls = !strncmp(rest, "+https://", 9);
	if (!out->is_tls && strncmp(rest, "+http://", 8) != 0) {
		buf_printf(why, "it does not begin with %s+http:// or %s+https://", kind->scheme,
			   kind->scheme);
		return -EINVAL;
	}
	rest += out->is_tls ? 9 : 8;
	len = strcspn(rest, "/?");
	reason = http_hosts_parse(rest, len, &out->at, out->hosts, &out->host_cnt);
	if (!reason && out->host_cnt > 1 && !kind->has_hosts)
		reason = "it has more than one host";
	if (!reason)
		reason = take_tail(rest + len, out);
	if (!reason && (!http_url_take_environment(kind->user_variable, out->at.user) ||
			!http_url_take_environment(kind->password_variable, out->at.password)))
		reason = "the user or the password of the environment is too long, or has a line "
			 "break";
	if (reason)
		buf_add_str(why, reason);
	return reason ? -EINVAL : 0;
}

static void print_url(const struct remote_kind *kind, const struct remote_url *url, struct buf *out)
{
	buf_printf(out, "%s+http%s://", kind->scheme, url->is_tls ? "s" : "");
	http_hosts_print(url->hosts, url->host_cnt, out);
	buf_add_str(out, url->path);
	if (*url->tenant) {
		buf_add_str(out, "?tenant=");
		http_url_add(out, url->tenant);
	}
}

int remote_name(const struct remote_kind *kind, const char *url, struct buf *out, struct buf *why)
{
	struct remote_url parsed;
	int err = parse(kind, url, &parsed, why);

	if (!err)
		print_url(kind, &parsed, out);
	explicit_bzero(&parsed, sizeof(parsed));
	return err;
}

/* --- Opening --- */

/* The header that says who asks. 0 or -ENOMEM. */
static int take_user(struct remote *remote, const struct http_authority *at)
{
	_cleanup_(buf_deinit) struct buf plain;
	_cleanup_(buf_deinit) struct buf header;

	buf_init(&plain, BUF_NO_MAX);
	buf_init(&header, sizeof(remote->user) - 1);
	if (*at->user) {
		buf_printf(&plain, "%s:%s", at->user, at->password);
		buf_add_str(&header, "Authorization: Basic ");
		base64_add(&header, plain.data, plain.len);
	} else if (*at->password) {
		buf_printf(&header, "Authorization: Bearer %s", at->password);
	}
	if (plain.err || header.err)
		return -ENOMEM;
	memcpy(remote->user, buf_cstr(&header), header.len + 1);
	if (plain.len)
		explicit_bzero(plain.data, plain.len);
	if (header.len)
		explicit_bzero(header.data, header.len);
	return 0;
}

static void list_headers(struct remote *remote)
{
	size_t cnt = 0;

	for (const char *const *header = remote->kind->headers; *header; header++)
		remote->headers[cnt++] = *header;
	if (remote->kind->is_packed)
		remote->headers[cnt++] = "Content-Encoding: gzip";
	if (*remote->user)
		remote->headers[cnt++] = remote->user;
	if (*remote->tenant)
		remote->headers[cnt++] = remote->tenant;
	remote->headers[cnt] = NULL;
}

static int take_url(struct remote *remote, const struct remote_url *url)
{
	int err = take_user(remote, &url->at);

	if (*url->tenant)
		snprintf(remote->tenant, sizeof(remote->tenant), "X-Scope-OrgID: %s", url->tenant);
	remote->is_tls = url->is_tls;
	memcpy(remote->hosts, url->hosts, sizeof(remote->hosts));
	remote->host_cnt = url->host_cnt;
	buf_printf(&remote->path, "%s%s", url->path, remote->kind->path);
	list_headers(remote);
	return err ? err : remote->path.err;
}

/* Of a request. */
static uint32_t timeout_ms(const struct remote_kind *kind, uint64_t bytes_per_s)
{
	const uint64_t sending_ms = bytes_per_s ? kind->body_bytes_max * 1000ULL / bytes_per_s : 0;

	return (uint32_t)(TIMEOUT_MS + (sending_ms < TIMEOUT_MAX_MS ? sending_ms : TIMEOUT_MAX_MS));
}

int remote_init(struct remote *remote, const struct remote_kind *kind, const struct sink_opts *opts,
		struct buf *why)
{
	const struct http_opts http = {
		.ca_file = *remote->ca_file ? remote->ca_file : NULL,
		.timeout_ms = timeout_ms(kind, opts->bytes_per_s),
		.send_bytes_per_s = opts->bytes_per_s,
		.is_cancelled = opts->is_cancelled,
		.arg = opts->arg,
	};
	int err;

	remote->kind = kind;
	strncpy(remote->host_id, opts->host_id, sizeof(remote->host_id) - 1);
	buf_init(&remote->path, BUF_NO_MAX);
	err = http_open(&http, &remote->http);
	if (err)
		buf_add_str(why, err == -ENOSYS ? http_missing() : strerror(-err));
	return err;
}

void remote_deinit(struct remote *remote)
{
	http_close(remote->http);
	buf_deinit(&remote->path);
	explicit_bzero(remote->user, sizeof(remote->user));
}

void remote_close(struct sink *sink)
{
	remote_deinit((struct remote *)sink);
	free(sink);
}

int remote_open(const struct remote_kind *kind, const char *url, const struct sink_opts *opts,
		struct sink **out, struct buf *why)
{
	struct remote_url parsed;
	int err = parse(kind, url, &parsed, why);
	struct remote *remote = err ? NULL : calloc(1, sizeof(*remote));

	if (!remote) {
		explicit_bzero(&parsed, sizeof(parsed));
		return err ? err : -ENOMEM;
	}
	memcpy(remote->ca_file, parsed.ca_file, sizeof(remote->ca_file));
	err = remote_init(remote, kind, opts, why);
	if (!err)
		err = take_url(remote, &parsed);
	explicit_bzero(&parsed, sizeof(parsed));
	if (err) {
		if (!why->len)
			buf_add_str(why, strerror(-err));
		remote_close(&remote->sink);
		return err;
	}
	*out = &remote->sink;
	return 0;
}

/* --- Posting --- */

int remote_errno(const struct remote_kind *kind, uint32_t status)
{
	switch (status) {
	case 200 ... 299:
		return 0;
	case 408:
	case 429:
	case 502:
	case 503:
	case 504:
		return -EAGAIN;
	/* Nothing that is sent changes it, whoever is to blame: it must not be given up. */
	case 300 ... 399:
	case 401:
	case 403:
	case 404:
	case 405:
	case 407:
	case 415:
		return -EACCES;
	default:
		return status >= 500 && kind->may_pass ? -EAGAIN : -EINVAL;
	}
}

static void explain_transport(const struct remote *remote, int err, struct buf *why)
{
	buf_add_str(why, http_error(remote->http));
	if (err == -ECONNREFUSED || err == -EHOSTUNREACH)
		buf_add_str(why, ": does the server run, and listen there?");
	else if (err == -EPERM)
		buf_add_str(why, ": name the file of the authority that signed the server's "
				 "certificate: ?ca=FILE at the end of the URL");
	else if (err == -EFBIG)
		buf_add_str(why, ": its answer is too large");
}

void remote_explain_wait(const struct remote *remote, struct buf *why)
{
	if (remote->sink.retry_after_ns)
		buf_printf(why, ": not before %llu s are over",
			   remote->sink.retry_after_ns / NSEC_PER_SEC);
}

static void explain_status(const struct remote *remote, uint32_t status, const struct buf *answer,
			   struct buf *why)
{
	const struct remote_kind *kind = remote->kind;
	size_t shown = answer->len < SHOWN_BYTES ? answer->len : SHOWN_BYTES;

	while (shown && answer->data[shown - 1] == '\n')
		shown--;
	buf_printf(why, "HTTP status %u", status);
	if (shown) {
		buf_add_str(why, ": ");
		text_add_line(why, answer->data, shown);
	}
	if (status == 401 || status == 403)
		buf_printf(why,
			   ": name another user and password as USER:PASSWORD@ in the URL, or in "
			   "$%s and $%s",
			   kind->user_variable, kind->password_variable);
	else if (remote_errno(kind, status) == -EACCES)
		buf_printf(why, ": is that a receiver of %s, and %s below the URL's path?",
			   kind->scheme, kind->path);
	remote_explain_wait(remote, why);
}

static int pack(const struct buf *body, struct buf *out)
{
	struct gzip_writer writer;

	gzip_writer_init(&writer, out);
	gzip_writer_add(&writer, body->data, body->len);
	return gzip_writer_finish(&writer);
}

int remote_exchange(struct remote *remote, const struct http_request *request, struct buf *answer,
		    struct buf *why)
{
	uint64_t wait_s;
	int err;

	buf_reset(answer);
	answer->max_bytes = ANSWER_MAX_BYTES;
	remote->status = 0;
	err = http_send(remote->http, request, answer, &remote->status);
	remote->sink.counts.sent_bytes = http_traffic(remote->http).sent_bytes;
	wait_s = http_retry_after_s(remote->http);
	wait_s = wait_s < RETRY_AFTER_MAX_S ? wait_s : RETRY_AFTER_MAX_S;
	remote->sink.retry_after_ns = wait_s * NSEC_PER_SEC;
	if (err)
		explain_transport(remote, err, why);
	return err;
}

/* @request to the host whose turn it is. */
static int post_once(struct remote *remote, struct http_request *request, struct buf *answer,
		     struct buf *why)
{
	const struct http_host *host = &remote->hosts[remote->host];
	_cleanup_(buf_deinit) struct buf target;
	int err;

	buf_init(&target, BUF_NO_MAX);
	buf_printf(&target, "http%s://%s:%u%s", remote->is_tls ? "s" : "", host->name, host->port,
		   buf_cstr(&remote->path));
	if (target.err)
		return target.err;
	request->url = buf_cstr(&target);
	buf_reset(why);
	if (remote->host_cnt > 1)
		buf_printf(why, "%s:%u: ", host->name, host->port);
	err = remote_exchange(remote, request, answer, why);
	if (err)
		return err;
	err = remote_errno(remote->kind, remote->status);
	if (err)
		explain_status(remote, remote->status, answer, why);
	else
		buf_reset(why);
	return err;
}

/* The first one is tried again after a while. */
static void choose_host(struct remote *remote)
{
	const uint64_t now_ns = clock_monotonic_ns();

	if (!remote->host || now_ns - remote->moved_ns < REMOTE_RETURN_NS)
		return;
	remote->host = 0;
	remote->moved_ns = now_ns;
}

int remote_post(struct remote *remote, const struct buf *body, struct buf *answer, struct buf *why)
{
	_cleanup_(buf_deinit) struct buf packed = {0};
	const struct buf *sent = remote->kind->is_packed ? &packed : body;
	struct http_request request = {.headers = remote->headers};
	int err = body->err;

	buf_init(&packed, BUF_NO_MAX);
	if (!err && remote->kind->is_packed)
		err = pack(body, &packed);
	if (err) {
		buf_add_str(why, strerror(-err));
		return err;
	}
	request.body = sent->data;
	request.body_len = sent->len;
	choose_host(remote);
	for (size_t i = 0; i < remote->host_cnt; i++) {
		err = post_once(remote, &request, answer, why);
		if (!http_is_gone(err) && err != -EAGAIN)
			break;
		remote->host = (remote->host + 1) % remote->host_cnt;
		remote->moved_ns = clock_monotonic_ns();
	}
	return err;
}

int remote_send(struct remote *remote, const struct sink_window *windows, size_t cnt,
		int (*send_one)(struct remote *remote, const struct sink_window *window,
				struct buf *why),
		struct buf *why)
{
	struct sink_counts *counts = &remote->sink.counts;

	remote->sink.retry_after_ns = 0;
	for (size_t i = 0; i < cnt; i++) {
		const struct sink_window *window = &windows[i];
		const uint64_t rows = counts->rows;
		int err = 0;

		if (window->last_seq <= remote->acked_seq)
			continue;
		if (!window->lost || remote->kind->takes_lost)
			err = send_one(remote, window, why);
		if (err == -ENOMEM && !why->len)
			buf_add_str(why, strerror(ENOMEM));
		if (err) {
			counts->rows = rows;
			return err;
		}
		counts->windows += window->window_cnt;
		remote->acked_seq = window->last_seq;
	}
	return 0;
}
