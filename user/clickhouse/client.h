/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ClickHouse server, or the servers of a cluster, over the HTTP interface. Nothing is logged
 * here: a call that fails returns a negative errno and leaves what is known of it in
 * ch_client_error().
 *
 * The first host of the URL that answers is asked, as long as it does: where none answers there, or
 * the connection ends midway, the request goes to the next one, once round. That is right for what
 * can be carried out twice, and nothing else is sent. A server that cannot now (-EAGAIN: it has
 * lost its ZooKeeper) gets no further request before the others.
 *
 * Queries ask the server to finish before it answers (wait_end_of_query), so that an answer with
 * status 200 is whole. Bodies of inserts are compressed, and answers of what is not this machine.
 */
#ifndef BPFPROF_CLICKHOUSE_CLIENT_H
#define BPFPROF_CLICKHOUSE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "clickhouse/error.h"
#include "clickhouse/url.h"
#include "http/http.h"

struct ch_client;

/* The oldest release that can be used: it has LowCardinality and keys apart from sorting. */
#define CH_VERSION_MIN 18016u
/* From here on columns have codecs and tables a TTL that ALTER can set. */
#define CH_VERSION_CODECS 20003u

enum { CH_ANSWER_MAX_BYTES = 512 << 20 /* a bound for ch_client_query()'s buffers */ };

/*
 * @url: url.h, *@why (borrowed, static) says what is wrong with it. @http: NULL, or time-outs and
 * so on; its ca_file is the URL's. *@out is *owned* (ch_client_close()); nothing is connected yet.
 * 0; -EINVAL; -ENOSYS: this build has no HTTP client; -ENOMEM.
 */
int ch_client_open(const char *url, const struct http_opts *http, struct ch_client **out,
		   const char **why);
/* Another one, for another thread, with @client's URL and settings, that asks first which host
 * @client asks now. *@out is *owned*. 0, -ENOSYS or -ENOMEM. */
int ch_client_open_same(const struct ch_client *client, const struct http_opts *http,
			struct ch_client **out);
void ch_client_close(struct ch_client *client); /* NULL is fine */

/* The URL without its password, for messages. Borrowed. */
const char *ch_client_name(const struct ch_client *client);
const struct ch_url *ch_client_url(const struct ch_client *client);

/* Say @settings ("&name=value&name=value", copied; "": none) with every request from now on. */
void ch_client_set(struct ch_client *client, const char *settings);

/*
 * The server's release as 1000 * major + minor ("18.16.1" is 18016), asked once. 0 or negative
 * errno: http_send()'s, ch_error_errno()'s, -EPROTO: what answers is no ClickHouse.
 */
int ch_client_version(struct ch_client *client, uint32_t *out);

/*
 * Carry out @sql and append what it answers to @answer (NULL: it is thrown away), whose max_bytes
 * bounds it. "FORMAT RowBinary" in @sql is for rowbinary.h. 0 or negative errno, as above.
 */
int ch_client_query(struct ch_client *client, const char *sql, struct buf *answer);

/* The same where the database need not be there. */
int ch_client_query_server(struct ch_client *client, const char *sql, struct buf *answer);

/*
 * The same with @cnt numbers beside @sql, in which CH_IDS is a table of them ("... IN " CH_IDS): a
 * server reads them ten times as fast as the digits of a list. @sql goes into the URL, of which
 * servers take CH_SQL_MAX_BYTES.
 */
#define CH_IDS "ids"
enum { CH_SQL_MAX_BYTES = 8 << 10 };
int ch_client_query_ids(struct ch_client *client, const char *sql, const uint64_t *ids, size_t cnt,
			struct buf *answer);

/* The one number that @sql ("SELECT toUInt64(...)") answers, as the first column of the first row;
 * 0 where it has no rows. */
int ch_client_number(struct ch_client *client, const char *sql, uint64_t *out);

/*
 * Insert @len bytes of @rows: @sql is "INSERT INTO t (...) FORMAT RowBinary". When it returns 0 the
 * server has them; after -EAGAIN, -ECONNRESET and -ETIMEDOUT it is not known whether it has.
 */
int ch_client_insert(struct ch_client *client, const char *sql, const void *rows, size_t len);

/* The two halves of it, for who has time in between. Append @rows, compressed, to @out: 0 or
 * -ENOMEM. */
int ch_client_pack(const void *rows, size_t len, struct buf *out);

/* Insert what ch_client_pack() made of rows. As ch_client_insert(). */
int ch_client_insert_packed(struct ch_client *client, const char *sql, const struct buf *packed);

/* Of the last call that failed. Borrowed. */
const struct ch_error *ch_client_error(const struct ch_client *client);

/*
 * Append what went wrong last, and how to mend it, to @out: "the server refuses user 'x' (Code 193:
 * Wrong password ...): give another one in the URL or in $CLICKHOUSE_PASSWORD".
 */
void ch_client_explain(const struct ch_client *client, struct buf *out);

struct http_traffic ch_client_traffic(const struct ch_client *client);

/* Append @text as a string of SQL, with its quotes. */
void ch_add_quoted(struct buf *sql, const char *text, size_t len);

#endif
