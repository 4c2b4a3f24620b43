/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ClickHouse client without a server: what the functions of clickhouse/client.h ask is answered
 * by `fake_answer`. A test that includes this is linked without the real one.
 */
#ifndef BPFPROF_TESTS_FAKE_CLICKHOUSE_H
#define BPFPROF_TESTS_FAKE_CLICKHOUSE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clickhouse/client.h"

struct ch_client {
	struct ch_error error;
};

/* Append the answer to @sql. 0 or negative errno: then the server has refused. */
static int (*fake_answer)(const char *sql, struct buf *answer);

int ch_client_open(const char *url, const struct http_opts *http, struct ch_client **out,
		   const char **why)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

int ch_client_open_same(const struct ch_client *client, const struct http_opts *http,
			struct ch_client **out)
{
	return ch_client_open("", http, out, NULL);
}

void ch_client_close(struct ch_client *client)
{
	free(client);
}

const char *ch_client_name(const struct ch_client *client)
{
	return "clickhouse://fake:8123/bpfprof";
}

const struct ch_url *ch_client_url(const struct ch_client *client)
{
	static const struct ch_url url = {.database = "bpfprof"};

	return &url;
}

void ch_client_set(struct ch_client *client, const char *settings)
{
}

int ch_client_version(struct ch_client *client, uint32_t *out)
{
	*out = CH_VERSION_MIN;
	return 0;
}

int ch_client_query(struct ch_client *client, const char *sql, struct buf *answer)
{
	const int err = fake_answer(sql, answer);

	client->error = (struct ch_error){.err = err};
	if (err)
		snprintf(client->error.text, sizeof(client->error.text), "it refuses");
	return err;
}

int ch_client_query_server(struct ch_client *client, const char *sql, struct buf *answer)
{
	return ch_client_query(client, sql, answer);
}

/* The numbers stand as a list where the question has their table. */
int ch_client_query_ids(struct ch_client *client, const char *sql, const uint64_t *ids, size_t cnt,
			struct buf *answer)
{
	const char *table = strstr(sql, " IN " CH_IDS);
	struct buf text;
	int err;

	buf_init(&text, BUF_NO_MAX);
	if (!table)
		abort();
	buf_add(&text, sql, (size_t)(table - sql));
	buf_add_str(&text, " IN (");
	for (size_t i = 0; i < cnt; i++) {
		buf_add_str(&text, i ? "," : "");
		buf_add_u64(&text, ids[i]);
	}
	buf_printf(&text, ")%s", table + strlen(" IN " CH_IDS));
	err = ch_client_query(client, buf_cstr(&text), answer);
	buf_deinit(&text);
	return err;
}

/* What numbers are asked for: is the schema there, and which version of it? */
static uint64_t fake_number = 1;
/* Other numbers, where that is not NULL. */
static int (*fake_number_of)(const char *sql, uint64_t *out);

int ch_client_number(struct ch_client *client, const char *sql, uint64_t *out)
{
	*out = fake_number;
	return fake_number_of ? fake_number_of(sql, out) : 0;
}

/* Take the rows, as ch_client_insert() would. NULL: they are refused. */
static int (*fake_insert)(const char *sql, const void *rows, size_t len);

int ch_client_insert(struct ch_client *client, const char *sql, const void *rows, size_t len)
{
	return fake_insert ? fake_insert(sql, rows, len) : -EINVAL;
}

const struct ch_error *ch_client_error(const struct ch_client *client)
{
	return &client->error;
}

void ch_client_explain(const struct ch_client *client, struct buf *out)
{
	buf_add_str(out, client->error.text);
}

struct http_traffic ch_client_traffic(const struct ch_client *client)
{
	return (struct http_traffic){0};
}

void ch_add_quoted(struct buf *sql, const char *text, size_t len)
{
	buf_add_char(sql, '\'');
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\'' || text[i] == '\\')
			buf_add_char(sql, '\\');
		buf_add_char(sql, text[i]);
	}
	buf_add_char(sql, '\'');
}

#endif
