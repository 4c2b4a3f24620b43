/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a ClickHouse server is, as text:
 *
 *	clickhouse://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]...][/DATABASE][?ca=FILE]
 *
 * Several hosts are servers of one cluster, each of which can be asked for all of it (client.h).
 * "clickhouses:" is the same over TLS. USER and PASSWORD may have %XX. What is not in it is taken
 * from $CLICKHOUSE_USER and $CLICKHOUSE_PASSWORD, so that a password need not be in a command line.
 */
#ifndef BPFPROF_CLICKHOUSE_URL_H
#define BPFPROF_CLICKHOUSE_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "http/url.h"

enum {
	CH_URL_PART_MAX = HTTP_URL_PART_MAX, /* of each part, with its NUL */
	CH_PORT = 8123, /* where the URL has none */
	CH_PORT_TLS = 8443,
};

#define CH_DATABASE "bpfprof" /* where the URL has none */

struct ch_url {
	bool is_tls;
	struct http_host hosts[HTTP_HOSTS_MAX];
	size_t host_cnt; /* at least 1 */
	char database[CH_URL_PART_MAX];
	char user[CH_URL_PART_MAX]; /* "default" where nothing says another */
	char password[CH_URL_PART_MAX];
	char ca_file[CH_URL_PART_MAX]; /* "": the system's certificates */
};

/* Is @text meant to be one? */
bool ch_url_is(const char *text);

/* 0; -EINVAL: it is none, @why (borrowed, static) says what is wrong. */
int ch_url_parse(const char *text, struct ch_url *out, const char **why);

/* Append it as text without the password: for messages. */
void ch_url_print(const struct ch_url *url, struct buf *out);

#endif
