/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/s3.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/md5.h"
#include "base/sha256.h"
#include "encode/text.h"
#include "http/aws_sign.h"
#include "sink/objects.h"
#include "sink/remote.h"
#include "sink/s3_answer.h"
#include "sink/s3_url.h"

enum {
	KEY_MAX_BYTES = 1024, /* of an object's name */
	HEADERS_MAX = 7,
	SHOWN_BYTES = 200, /* of an answer that is no XML */
};

#define PUT_MAX_BYTES (UINT64_C(5) << 30)

static_assert(HTTP_URL_PART_MAX + SINK_OBJECT_NAME_BYTES <= KEY_MAX_BYTES, "no name is too long");

struct s3 {
	struct remote remote;
	struct s3_url url;
	uint32_t store_id;
	struct buf host, base; /* of requests: header Host, path up to the objects */
	struct buf target; /* of the request that is sent */
	struct aws_key key; /* of the round that is sent */
	struct buf key_from; /* where it was found */
	struct buf *why; /* borrowed, of the round that is sent */
};

/* Of an object that is put. */
struct sums {
	char md5[4 * ((MD5_BYTES + 2) / 3) + 1]; /* base64 */
	char sha256[2 * SHA256_BYTES + 1]; /* hexadecimal */
	char time[17]; /* at which it is put */
};

static const struct remote_kind kind = {.scheme = "s3", .may_pass = true, .takes_lost = true};

static bool is_url(const char *url)
{
	return !strncmp(url, "s3:", 3);
}

static int name_sink(const char *url, struct buf *out, struct buf *why)
{
	struct s3_url parsed;
	const char *reason = s3_url_parse(url, &parsed);

	if (reason)
		buf_add_str(why, reason);
	else
		s3_url_print(&parsed, out);
	explicit_bzero(&parsed, sizeof(parsed));
	return reason ? -EINVAL : 0;
}

static void close_sink(struct sink *sink)
{
	struct s3 *s3 = (struct s3 *)sink;

	remote_deinit(&s3->remote);
	buf_deinit(&s3->host);
	buf_deinit(&s3->base);
	buf_deinit(&s3->target);
	buf_deinit(&s3->key_from);
	explicit_bzero(s3->url.at.password, sizeof(s3->url.at.password));
	free(s3);
}

static int open_sink(const char *url, const struct sink_opts *opts, struct sink **out,
		     struct buf *why)
{
	struct s3 *s3 = calloc(1, sizeof(*s3));
	const char *reason;
	int err;

	if (!s3) {
		buf_add_str(why, strerror(ENOMEM));
		return -ENOMEM;
	}
	reason = s3_url_parse(url, &s3->url);
	if (reason) {
		buf_add_str(why, reason);
		free(s3);
		return -EINVAL;
	}
	buf_init(&s3->host, BUF_NO_MAX);
	buf_init(&s3->base, BUF_NO_MAX);
	buf_init(&s3->target, BUF_NO_MAX);
	buf_init(&s3->key_from, BUF_NO_MAX);
	s3_url_add_host(&s3->url, &s3->host);
	s3_url_add_path(&s3->url, &s3->base);
	s3->store_id = sink_store_id(opts->host_id);
	memcpy(s3->remote.ca_file, s3->url.ca_file, sizeof(s3->url.ca_file));
	err = remote_init(&s3->remote, &kind, opts, why);
	if (!err && (s3->host.err || s3->base.err)) {
		err = -ENOMEM;
		buf_add_str(why, strerror(ENOMEM));
	}
	if (err) {
		close_sink(&s3->remote.sink);
		return err;
	}
	*out = &s3->remote.sink;
	return 0;
}

/* --- Errors --- */

enum mend { MEND_NOTHING, MEND_AGAIN, MEND_KEY, MEND_RIGHT, MEND_BUCKET, MEND_PLACE, MEND_CLOCK };

/* Errors that their status does not say enough of: a 400 may be about who asks, where, or the wire.
 */
static const struct error {
	const char *code;
	int err; /* -EACCES: who asks, or where; -EAGAIN: later */
	enum mend mend;
} errors[] = {
	{"AccessDenied", -EACCES, MEND_RIGHT},
	{"AuthorizationHeaderMalformed", -EACCES, MEND_PLACE},
	{"BadDigest", -EAGAIN, MEND_AGAIN},
	{"ExpiredToken", -EACCES, MEND_KEY},
	{"IllegalLocationConstraintException", -EACCES, MEND_PLACE},
	{"IncompleteBody", -EAGAIN, MEND_AGAIN},
	{"InvalidAccessKeyId", -EACCES, MEND_KEY},
	{"InvalidBucketName", -EACCES, MEND_BUCKET},
	{"InvalidRequest", -EACCES, MEND_NOTHING},
	{"InvalidToken", -EACCES, MEND_KEY},
	{"MissingSecurityHeader", -EACCES, MEND_NOTHING},
	{"NoSuchBucket", -EACCES, MEND_BUCKET},
	{"OperationAborted", -EAGAIN, MEND_NOTHING},
	{"PermanentRedirect", -EACCES, MEND_PLACE},
	{"RequestTimeTooSkewed", -EACCES, MEND_CLOCK},
	{"RequestTimeout", -EAGAIN, MEND_NOTHING},
	{"SignatureDoesNotMatch", -EACCES, MEND_KEY},
	{"SlowDown", -EAGAIN, MEND_NOTHING},
	{"TemporaryRedirect", -EAGAIN, MEND_PLACE},
	{"TokenRefreshRequired", -EACCES, MEND_KEY},
	{"XAmzContentSHA256Mismatch", -EAGAIN, MEND_AGAIN},
};

/* The one that S3 calls @code, or what @status says of others. */
static struct error error_of(const char *code, uint32_t status)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (!strcmp(code, errors[i].code))
			return errors[i];
	return (struct error){
		.err = remote_errno(&kind, status),
		.mend = status == 301 || status == 307 ? MEND_PLACE : MEND_NOTHING,
	};
}

/* Where the bucket is: @region by the answer's head, what its body has, or what can be done. */
static void explain_place(const struct s3 *s3, const char *region, const struct s3_answer *answer,
			  struct buf *why)
{
	if (!*region)
		region = answer->region;
	if (*region)
		buf_printf(why, ": the bucket is in region '%s', not '%s': ?region=%s in the URL",
			   region, s3->url.region, region);
	else if (*answer->endpoint)
		buf_printf(why, ": the bucket is at '%s', not at '%s': name its region by ?region=",
			   answer->endpoint, buf_cstr(&s3->host));
	else
		buf_printf(why,
			   ": name the bucket's region (now '%s') by ?region=, or its server "
			   "by ?endpoint=",
			   s3->url.region);
}

static void explain_mend(const struct s3 *s3, enum mend mend, const struct s3_answer *answer,
			 struct buf *why)
{
	switch (mend) {
	case MEND_NOTHING:
		break;
	case MEND_AGAIN:
		buf_add_str(why, ": it was damaged on the way");
		break;
	case MEND_KEY:
		buf_printf(why, ": is the access key of %s right, and still valid?",
			   buf_cstr(&s3->key_from));
		break;
	case MEND_RIGHT:
		buf_printf(why, ": the access key of %s needs s3:PutObject there",
			   buf_cstr(&s3->key_from));
		break;
	case MEND_BUCKET:
		buf_add_str(why, ": make it, or name another one: s3://BUCKET");
		break;
	case MEND_PLACE:
		explain_place(s3, http_wanted(s3->remote.http), answer, why);
		break;
	case MEND_CLOCK:
		if (*answer->server_time && *answer->request_time)
			buf_printf(why, ": it is %s there, and was %s here", answer->server_time,
				   answer->request_time);
		buf_add_str(why, ": set the clock of this host");
		break;
	}
}

/* Append what the answer with that @body says, and how to mend it. 0, or the error that it is. */
static int judge(const struct s3 *s3, const struct buf *body, struct buf *why)
{
	const uint32_t status = s3->remote.status;
	const size_t shown = body->len < SHOWN_BYTES ? body->len : SHOWN_BYTES;
	struct s3_answer answer;
	struct error error;

	if (status >= 200 && status < 300)
		return 0;
	buf_printf(why, "bucket '%s': HTTP status %u", s3->url.at.host, status);
	if (!s3_answer_read(body->data, body->len, &answer)) {
		buf_printf(why, ", %s%s%s", answer.code, *answer.message ? ": " : "",
			   answer.message);
	} else if (shown) {
		buf_add_str(why, ": ");
		text_add_line(why, body->data, shown);
	}
	error = error_of(answer.code, status);
	explain_mend(s3, error.mend, &answer, why);
	if (!*answer.code && error.err == -EACCES && error.mend == MEND_NOTHING)
		buf_printf(why, ": is that S3, at '%s'?", buf_cstr(&s3->host));
	remote_explain_wait(&s3->remote, why);
	return error.err;
}

/* --- Requests --- */

/* What headers say of @object now. 0 or -ENOMEM. */
static int sum_up(const struct sink_object *object, struct sums *out)
{
	_cleanup_(buf_deinit) struct buf md5_text;
	uint8_t digest[SHA256_BYTES];

	buf_init(&md5_text, sizeof(out->md5) - 1);
	md5(object->data.data, object->data.len, digest);
	base64_add(&md5_text, digest, MD5_BYTES);
	if (md5_text.err)
		return -ENOMEM;
	memcpy(out->md5, buf_cstr(&md5_text), md5_text.len + 1);
	sha256(object->data.data, object->data.len, digest);
	hex_format(digest, sizeof(digest), out->sha256);
	clock_format_utc(clock_realtime_ns(), out->time);
	return 0;
}

/* The headers of putting @object at @path: into @lines, each with a NUL behind it. */
static void add_headers(const struct s3 *s3, const char *path, const struct sink_object *object,
			const struct sums *sums, struct buf *lines)
{
	const struct aws_header headers[] = {
		{"content-md5", sums->md5},
		{"content-type", object->row_cnt ? "application/gzip" : "application/json"},
		{"host", buf_cstr(&s3->host)},
		{"x-amz-content-sha256", sums->sha256},
		{"x-amz-date", sums->time},
		{"x-amz-security-token", s3->key.token},
	};
	const struct aws_request request = {
		.method = "PUT",
		.path = path,
		.headers = headers,
		.header_cnt = *s3->key.token ? 6 : 5,
		.body_sha256 = sums->sha256,
		.time = sums->time,
		.region = s3->url.region,
		.service = "s3",
	};

	for (size_t i = 0; i < request.header_cnt; i++) {
		buf_printf(lines, "%s: %s", headers[i].name, headers[i].value);
		buf_add_char(lines, '\0');
	}
	buf_add_str(lines, "authorization: ");
	aws_sign(&request, &s3->key, lines);
	buf_add_char(lines, '\0');
}

static int put_at(struct s3 *s3, const struct sink_object *object, const char *const *headers)
{
	struct buf *target = &s3->target;
	const struct http_request request = {
		.url = buf_cstr(target),
		.headers = headers,
		.body = object->data.data,
		.body_len = object->data.len,
		.method = "PUT",
		.wanted = "x-amz-bucket-region",
	};
	_cleanup_(buf_deinit) struct buf answer;
	int err;

	buf_init(&answer, BUF_NO_MAX);
	err = remote_exchange(&s3->remote, &request, &answer, s3->why);
	if (!err)
		err = judge(s3, &answer, s3->why);
	if (!err)
		s3->remote.sink.counts.rows += object->row_cnt;
	return err;
}

static int put_object(void *arg, struct sink_object *object)
{
	struct s3 *s3 = arg;
	_cleanup_(buf_deinit) struct buf path;
	_cleanup_(buf_deinit) struct buf lines;
	struct buf *target = &s3->target;
	const char *headers[HEADERS_MAX + 1];
	size_t cnt = 0;
	struct sums sums;
	int err;

	if (object->data.len > PUT_MAX_BYTES) {
		buf_add_str(s3->why, "an object of more than 5 GiB is more than S3 takes at once");
		return -EINVAL;
	}
	buf_init(&path, BUF_NO_MAX);
	buf_init(&lines, BUF_NO_MAX);
	buf_printf(&path, "%s/", buf_cstr(&s3->base));
	http_url_add_path(&path, buf_cstr(&object->folder));
	buf_add_char(&path, '/');
	http_url_add_path(&path, buf_cstr(&object->name));
	buf_reset(target);
	buf_printf(target, "http%s://%s%s", s3->url.is_tls ? "s" : "", buf_cstr(&s3->host),
		   buf_cstr(&path));
	err = sum_up(object, &sums);
	if (!err)
		add_headers(s3, buf_cstr(&path), object, &sums, &lines);
	for (size_t at = 0; at < lines.len; at += strlen(lines.data + at) + 1)
		headers[cnt++] = lines.data + at;
	headers[cnt] = NULL;
	if (path.err || lines.err || target->err)
		err = -ENOMEM;
	if (!err)
		err = put_at(s3, object, headers);
	if (lines.len)
		explicit_bzero(lines.data, lines.len);
	return err;
}

/* --- Windows --- */

static int send_one(struct remote *remote, const struct sink_window *window, struct buf *why)
{
	struct s3 *s3 = (struct s3 *)remote;
	_cleanup_(sink_object_deinit) struct sink_object object;

	sink_object_init(&object);
	s3->why = why;
	return sink_put_objects(window, s3->store_id, put_object, s3, &object);
}

static int find_key(struct s3 *s3, struct buf *why)
{
	const struct http_authority *at = &s3->url.at;

	buf_reset(&s3->key_from);
	if (!*at->user)
		return aws_key_find(&s3->key, &s3->key_from, why);
	memcpy(s3->key.id, at->user, sizeof(at->user));
	memcpy(s3->key.secret, at->password, sizeof(at->password));
	buf_add_str(&s3->key_from, "the URL");
	return 0;
}

static int send_windows(struct sink *sink, const struct sink_window *windows, size_t cnt,
			struct buf *why)
{
	struct s3 *s3 = (struct s3 *)sink;
	int err = find_key(s3, why);

	/* It is not about the window. */
	if (err)
		return err == -EINVAL ? -EACCES : err;
	err = remote_send(&s3->remote, windows, cnt, send_one, why);
	explicit_bzero(s3->key.secret, sizeof(s3->key.secret));
	explicit_bzero(s3->key.token, sizeof(s3->key.token));
	if (err && !why->len)
		buf_add_str(why, strerror(-err));
	return err;
}

const struct sink_ops s3_sink = {
	.is_url = is_url,
	.name = name_sink,
	.open = open_sink,
	.send = send_windows,
	.close = close_sink,
	.lost_told = "objects in (lost)/ say so",
};
