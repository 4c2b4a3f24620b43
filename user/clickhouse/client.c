/* SPDX-License-Identifier: Apache-2.0 */
#include "clickhouse/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/reader.h"
#include "clickhouse/rowbinary.h"
#include "encode/gzip.h"
#include "http/url.h"

enum {
	VERSION_UNKNOWN = 0,
	HTTP_OK = 200,
	REFUSAL_MAX_BYTES = 64 << 10, /* of an answer that is thrown away, or an error's text */
	HEADER_BYTES = CH_URL_PART_MAX + 32,
	ANSWER_GZIP_LEVEL = 1, /* the server's 3 costs it twice the time for a tenth less */
	COMPRESSED_MIN_BYTES = 4096, /* of queries */
};

struct ch_client {
	struct ch_url url;
	struct http *http; /* owned */
	struct buf name; /* of the server, for messages */
	struct ch_error error;
	uint32_t version;
	size_t host; /* of the URL's: that is asked */
	struct buf settings; /* "&name=value..." */
	char user[HEADER_BYTES], key[HEADER_BYTES]; /* headers */
};

/* @client has its URL; it is released after a failure. */
static int connect_client(struct ch_client *client, const struct http_opts *http,
			  struct ch_client **out)
{
	struct http_opts opts = http ? *http : (struct http_opts){0};
	int err;

	opts.ca_file = *client->url.ca_file ? client->url.ca_file : NULL;
	err = http_open(&opts, &client->http);
	if (err) {
		free(client);
		return err;
	}
	snprintf(client->user, sizeof(client->user), "X-ClickHouse-User: %s", client->url.user);
	snprintf(client->key, sizeof(client->key), "X-ClickHouse-Key: %s", client->url.password);
	buf_init(&client->name, BUF_NO_MAX);
	buf_init(&client->settings, BUF_NO_MAX);
	ch_url_print(&client->url, &client->name);
	*out = client;
	return 0;
}

int ch_client_open(const char *url, const struct http_opts *http, struct ch_client **out,
		   const char **why)
{
	struct ch_client *client = calloc(1, sizeof(*client));
	int err;

	if (!client)
		return -ENOMEM;
	err = ch_url_parse(url, &client->url, why);
	if (err) {
		free(client);
		return err;
	}
	return connect_client(client, http, out);
}

int ch_client_open_same(const struct ch_client *client, const struct http_opts *http,
			struct ch_client **out)
{
	struct ch_client *same = calloc(1, sizeof(*same));
	int err;

	if (!same)
		return -ENOMEM;
	same->url = client->url;
	same->version = client->version;
	same->host = client->host;
	err = connect_client(same, http, out);
	if (!err)
		ch_client_set(same, buf_cstr(&client->settings));
	return err;
}

void ch_client_close(struct ch_client *client)
{
	if (!client)
		return;
	http_close(client->http);
	buf_deinit(&client->name);
	buf_deinit(&client->settings);
	explicit_bzero(client, sizeof(*client));
	free(client);
}

const char *ch_client_name(const struct ch_client *client)
{
	return buf_cstr(&client->name);
}

const struct ch_url *ch_client_url(const struct ch_client *client)
{
	return &client->url;
}

const struct ch_error *ch_client_error(const struct ch_client *client)
{
	return &client->error;
}

void ch_client_set(struct ch_client *client, const char *settings)
{
	buf_reset(&client->settings);
	buf_add_str(&client->settings, settings);
}

struct http_traffic ch_client_traffic(const struct ch_client *client)
{
	return http_traffic(client->http);
}

/* What one request consists of. */
struct message {
	bool has_database;
	const char *query; /* in the URL; NULL: it is the body */
	const char *params; /* of the URL, besides: "&name=value"; may be NULL */
	const char *type; /* headers */
	const char *encoding; /* may be NULL */
	struct buf body;
};

static const char plain_text[] = "Content-Type: text/plain";
static const char gzip_encoding[] = "Content-Encoding: gzip";

/* To the same machine bytes cost less than to compress them. */
static bool is_near(const struct http_host *host)
{
	return !strncmp(host->name, "127.", strlen("127.")) || !strcmp(host->name, "localhost") ||
	       !strcmp(host->name, "[::1]");
}

static void add_url(const struct ch_client *client, const struct message *message, struct buf *url)
{
	const struct http_host *host = &client->url.hosts[client->host];

	buf_printf(url, "http%s://%s:%u/?wait_end_of_query=1", client->url.is_tls ? "s" : "",
		   host->name, host->port);
	if (!is_near(host))
		buf_printf(url, "&enable_http_compression=1&http_zlib_compression_level=%d",
			   ANSWER_GZIP_LEVEL);
	if (message->has_database) {
		buf_add_str(url, "&database=");
		http_url_add(url, client->url.database);
	}
	/* LowCardinality was an experiment up to 19. */
	if (client->version && client->version < 19000)
		buf_add_str(url, "&allow_experimental_low_cardinality_type=1");
	buf_add_str(url, buf_cstr(&client->settings));
	buf_add_str(url, message->params ? message->params : "");
	if (message->query) {
		buf_add_str(url, "&query=");
		http_url_add(url, message->query);
	}
}

static int fail(struct ch_client *client, int err, uint32_t status, const char *text)
{
	client->error = (struct ch_error){.err = err, .http_status = status};
	snprintf(client->error.text, sizeof(client->error.text), "%s", text);
	return err;
}

/* One request to one host. */
static int send_once(struct ch_client *client, const struct message *message, struct buf *answer)
{
	const char *const headers[] = {client->user, client->key, message->type, message->encoding,
				       NULL};
	_cleanup_(buf_deinit) struct buf url;
	struct http_request request = {.headers = headers};
	const size_t before = answer->len;
	uint32_t status = 0;
	int err;

	buf_init(&url, BUF_NO_MAX);
	add_url(client, message, &url);
	if (url.err || message->body.err || client->settings.err)
		return fail(client, -ENOMEM, 0, "out of memory");
	request.url = buf_cstr(&url);
	request.body = message->body.len ? message->body.data : "";
	request.body_len = message->body.len;
	err = http_send(client->http, &request, answer, &status);
	if (!err && status == HTTP_OK)
		return 0;
	if (err) {
		fail(client, err, 0, http_error(client->http));
	} else {
		client->error = (struct ch_error){.http_status = status};
		ch_error_parse(answer->len ? answer->data + before : "", answer->len - before,
			       &client->error);
	}
	/* That was no answer. */
	answer->len = before;
	return client->error.err;
}

/* The same of all hosts, beginning with the one that answered last. */
static int send_request(struct ch_client *client, const struct message *message, struct buf *answer)
{
	int err = 0;

	for (size_t i = 0; i < client->url.host_cnt; i++) {
		err = send_once(client, message, answer);
		if (http_is_gone(err) || err == -EAGAIN)
			client->host = (client->host + 1) % client->url.host_cnt;
		if (!http_is_gone(err))
			break;
	}
	return err;
}

int ch_client_pack(const void *rows, size_t len, struct buf *out)
{
	struct gzip_writer writer;

	gzip_writer_init(&writer, out);
	gzip_writer_add(&writer, rows, len);
	return gzip_writer_finish(&writer);
}

static int query(struct ch_client *client, bool has_database, const char *sql, struct buf *answer)
{
	_cleanup_(buf_deinit) struct buf ignored;
	_cleanup_(buf_deinit) struct buf packed;
	struct message message = {.has_database = has_database, .type = plain_text};

	buf_init(&ignored, REFUSAL_MAX_BYTES);
	buf_init(&packed, BUF_NO_MAX);
	/* Borrowed, either. */
	message.body = (struct buf){.data = (char *)sql, .len = strlen(sql)};
	/* Lists of numbers. */
	if (message.body.len >= COMPRESSED_MIN_BYTES) {
		if (ch_client_pack(sql, message.body.len, &packed))
			return fail(client, -ENOMEM, 0, "out of memory");
		message.body = packed;
		message.encoding = gzip_encoding;
	}
	return send_request(client, &message, answer ? answer : &ignored);
}

/* "18.16.1\n" */
static int parse_version(const struct buf *answer, uint32_t *out)
{
	struct reader rd;
	uint64_t major, minor;

	reader_init(&rd, answer->data, answer->len);
	major = reader_number(&rd, 10);
	if (!reader_accept(&rd, '.'))
		return -EPROTO;
	minor = reader_number(&rd, 10);
	if (rd.err || !major || major > 1000 || minor > 999)
		return -EPROTO;
	*out = (uint32_t)(1000 * major + minor);
	return 0;
}

int ch_client_version(struct ch_client *client, uint32_t *out)
{
	_cleanup_(buf_deinit) struct buf answer;
	int err = 0;

	buf_init(&answer, REFUSAL_MAX_BYTES);
	if (client->version == VERSION_UNKNOWN) {
		err = query(client, false, "SELECT version()", &answer);
		if (!err)
			err = parse_version(&answer, &client->version);
		if (err == -EPROTO && client->error.err != -EPROTO)
			fail(client, err, HTTP_OK, "it does not tell a version");
	}
	if (!err)
		*out = client->version;
	return err;
}

static int query_known(struct ch_client *client, bool has_database, const char *sql,
		       struct buf *answer)
{
	uint32_t version;
	int err = ch_client_version(client, &version);

	return err ? err : query(client, has_database, sql, answer);
}

int ch_client_query(struct ch_client *client, const char *sql, struct buf *answer)
{
	return query_known(client, true, sql, answer);
}

int ch_client_query_server(struct ch_client *client, const char *sql, struct buf *answer)
{
	return query_known(client, false, sql, answer);
}

int ch_client_number(struct ch_client *client, const char *sql, uint64_t *out)
{
	_cleanup_(buf_deinit) struct buf text;
	_cleanup_(buf_deinit) struct buf answer;
	struct reader rd;
	uint64_t value = 0;
	int err;

	buf_init(&text, BUF_NO_MAX);
	buf_init(&answer, REFUSAL_MAX_BYTES);
	buf_printf(&text, "%s FORMAT RowBinary", sql);
	if (text.err)
		return fail(client, text.err, 0, "out of memory");
	err = ch_client_query(client, buf_cstr(&text), &answer);
	if (err)
		return err;
	reader_init(&rd, answer.data, answer.len);
	if (answer.len)
		value = reader_u64(&rd);
	if (rd.err)
		return fail(client, -EPROTO, HTTP_OK, "the answer is no number");
	*out = value;
	return 0;
}

/* The numbers as a file of a form: a table that is there for this one query. */
#define BOUNDARY "bpfprof-4e7d0c3a91b25f68"

static void add_ids(const uint64_t *ids, size_t cnt, struct buf *body)
{
	buf_add_str(body, "--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"" CH_IDS
			  "\"; filename=\"" CH_IDS "\"\r\n\r\n");
	for (size_t i = 0; i < cnt; i++)
		rb_add_u64(body, ids[i]);
	buf_add_str(body, "\r\n--" BOUNDARY "--\r\n");
}

int ch_client_query_ids(struct ch_client *client, const char *sql, const uint64_t *ids, size_t cnt,
			struct buf *answer)
{
	_cleanup_(buf_deinit) struct buf body;
	struct message message = {
		.has_database = true,
		.query = sql,
		.params = "&" CH_IDS "_structure=id%20UInt64&" CH_IDS "_format=RowBinary",
		.type = "Content-Type: multipart/form-data; boundary=" BOUNDARY,
	};
	uint32_t version;
	int err = ch_client_version(client, &version);

	buf_init(&body, BUF_NO_MAX);
	if (err)
		return err;
	add_ids(ids, cnt, &body);
	message.body = body; /* borrowed */
	return send_request(client, &message, answer);
}

int ch_client_insert_packed(struct ch_client *client, const char *sql, const struct buf *packed)
{
	_cleanup_(buf_deinit) struct buf answer;
	struct message message = {.has_database = true,
				  .query = sql,
				  .type = plain_text,
				  .encoding = gzip_encoding,
				  .body = *packed}; /* borrowed */
	uint32_t version;
	int err = ch_client_version(client, &version);

	buf_init(&answer, REFUSAL_MAX_BYTES);
	return err ? err : send_request(client, &message, &answer);
}

int ch_client_insert(struct ch_client *client, const char *sql, const void *rows, size_t len)
{
	_cleanup_(buf_deinit) struct buf packed;

	buf_init(&packed, BUF_NO_MAX);
	if (ch_client_pack(rows, len, &packed))
		return fail(client, -ENOMEM, 0, "out of memory");
	return ch_client_insert_packed(client, sql, &packed);
}

static void explain_refusal(const struct ch_client *client, struct buf *out)
{
	const struct ch_error *error = &client->error;
	const char *user = client->url.user;

	switch (error->err) {
	case -EACCES:
		buf_printf(out,
			   "it refuses user '%s' (Code %u: %s): name another one as USER:PASSWORD@ "
			   "in the URL, or in $CLICKHOUSE_USER and $CLICKHOUSE_PASSWORD",
			   user, error->code, error->text);
		break;
	case -ENOENT:
		buf_printf(out, "%s (Code %u): bpfprof store init --store URL makes what is needed",
			   error->text, error->code);
		break;
	case -EINVAL:
	case -ENOTSUP:
	case -EAGAIN:
		buf_printf(out, "%s (Code %u)", error->text, error->code);
		break;
	default:
		buf_printf(out,
			   "what answers there is no ClickHouse (HTTP status %u: %s): is that the "
			   "port of its HTTP interface (http_port, %u where nothing else is set)?",
			   error->http_status, error->text, CH_PORT);
	}
}

void ch_client_explain(const struct ch_client *client, struct buf *out)
{
	const struct ch_error *error = &client->error;

	if (error->http_status) {
		explain_refusal(client, out);
		return;
	}
	buf_add_str(out, error->text);
	if (error->err == -ECONNREFUSED || error->err == -EHOSTUNREACH)
		buf_add_str(out, ": does the server run, and listen there?");
	else if (error->err == -EPERM)
		buf_add_str(out, ": name the file of the authority that signed the server's "
				 "certificate: ?ca=FILE at the end of the URL");
	else if (error->err == -EFBIG)
		buf_add_str(out, ": its answer is too large");
}

void ch_add_quoted(struct buf *sql, const char *text, size_t len)
{
	buf_add_char(sql, '\'');
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\'' || text[i] == '\\')
			buf_add_char(sql, '\\');
		if (text[i])
			buf_add_char(sql, text[i]);
		else
			buf_add_str(sql, "\\0");
	}
	buf_add_char(sql, '\'');
}
