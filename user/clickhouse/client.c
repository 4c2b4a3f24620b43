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

int ch_client_open(const char *url, const struct http_opts *http, struct ch_client **out,
		   const char **why)
{
	struct http_opts opts = http ? *http : (struct http_opts){0};
	struct ch_client *client = calloc(1, sizeof(*client));
	int err;

	if (!client)
		return -ENOMEM;
	err = ch_url_parse(url, &client->url, why);
	opts.ca_file = *client->url.ca_file ? client->url.ca_file : NULL;
	if (!err)
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

static void add_url(const struct ch_client *client, bool has_database, const char *query,
		    struct buf *url)
{
	const struct ch_host *host = &client->url.hosts[client->host];

	buf_printf(url, "http%s://%s:%u/?wait_end_of_query=1&enable_http_compression=1",
		   client->url.is_tls ? "s" : "", host->name, host->port);
	if (has_database) {
		buf_add_str(url, "&database=");
		http_url_add(url, client->url.database);
	}
	/* LowCardinality was an experiment up to 19. */
	if (client->version && client->version < 19000)
		buf_add_str(url, "&allow_experimental_low_cardinality_type=1");
	buf_add_str(url, buf_cstr(&client->settings));
	if (query) {
		buf_add_str(url, "&query=");
		http_url_add(url, query);
	}
}

static int fail(struct ch_client *client, int err, uint32_t status, const char *text)
{
	client->error = (struct ch_error){.err = err, .http_status = status};
	snprintf(client->error.text, sizeof(client->error.text), "%s", text);
	return err;
}

/* One request to one host; @query is in the URL where @body is rows. */
static int send_once(struct ch_client *client, bool has_database, const char *query,
		     const char *encoding, const struct buf *body, struct buf *answer)
{
	const char *const headers[] = {client->user, client->key, "Content-Type: text/plain",
				       encoding, NULL};
	_cleanup_(buf_deinit) struct buf url;
	struct http_request request = {.headers = headers};
	const size_t before = answer->len;
	uint32_t status = 0;
	int err;

	buf_init(&url, BUF_NO_MAX);
	add_url(client, has_database, query, &url);
	if (url.err || body->err || client->settings.err)
		return fail(client, -ENOMEM, 0, "out of memory");
	request.url = buf_cstr(&url);
	request.body = body->len ? body->data : "";
	request.body_len = body->len;
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

/* Is nobody there, or not any more? */
static bool is_gone(int err)
{
	return err == -ECONNREFUSED || err == -EHOSTUNREACH || err == -ECONNRESET ||
	       err == -ETIMEDOUT;
}

/* The same of all hosts, beginning with the one that answered last. */
static int send_request(struct ch_client *client, bool has_database, const char *query,
			const char *encoding, const struct buf *body, struct buf *answer)
{
	int err = 0;

	for (size_t i = 0; i < client->url.host_cnt; i++) {
		err = send_once(client, has_database, query, encoding, body, answer);
		if (is_gone(err) || err == -EAGAIN)
			client->host = (client->host + 1) % client->url.host_cnt;
		if (!is_gone(err))
			break;
	}
	return err;
}

static int pack(const void *data, size_t len, struct buf *out)
{
	struct gzip_writer writer;

	gzip_writer_init(&writer, out);
	gzip_writer_add(&writer, data, len);
	return gzip_writer_finish(&writer);
}

static const char gzip_header[] = "Content-Encoding: gzip";

static int query(struct ch_client *client, bool has_database, const char *sql, struct buf *answer)
{
	_cleanup_(buf_deinit) struct buf ignored;
	_cleanup_(buf_deinit) struct buf packed;
	/* Borrows @sql. */
	const struct buf body = {.data = (char *)sql, .len = strlen(sql)};

	buf_init(&ignored, REFUSAL_MAX_BYTES);
	buf_init(&packed, BUF_NO_MAX);
	if (!answer)
		answer = &ignored;
	/* Lists of numbers. */
	if (body.len < COMPRESSED_MIN_BYTES)
		return send_request(client, has_database, NULL, NULL, &body, answer);
	if (pack(sql, body.len, &packed))
		return fail(client, -ENOMEM, 0, "out of memory");
	return send_request(client, has_database, NULL, gzip_header, &packed, answer);
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

int ch_client_insert(struct ch_client *client, const char *sql, const void *rows, size_t len)
{
	_cleanup_(buf_deinit) struct buf body;
	_cleanup_(buf_deinit) struct buf answer;
	uint32_t version;
	int err = ch_client_version(client, &version);

	buf_init(&body, BUF_NO_MAX);
	buf_init(&answer, REFUSAL_MAX_BYTES);
	if (err)
		return err;
	if (pack(rows, len, &body))
		return fail(client, -ENOMEM, 0, "out of memory");
	return send_request(client, true, sql, gzip_header, &body, &answer);
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
