/* SPDX-License-Identifier: Apache-2.0 */
/* What URLs of all kinds have in common: [USER[:PASSWORD]@]HOST[:PORT], and %XX. */
#ifndef BPFPROF_HTTP_URL_H
#define BPFPROF_HTTP_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { HTTP_URL_PART_MAX = 256 /* of each part, with its NUL */ };

struct http_authority {
	char user[HTTP_URL_PART_MAX], password[HTTP_URL_PART_MAX]; /* "": none */
	char host[HTTP_URL_PART_MAX]; /* "[::1]" with its brackets */
	uint16_t port;
};

enum { HTTP_HOSTS_MAX = 16 };

/* One of several, any of which can be asked. */
struct http_host {
	char name[HTTP_URL_PART_MAX]; /* "[::1]" with its brackets */
	uint16_t port;
};

/*
 * The first @len bytes of @text, which are up to a '/' or '?'. A port that it does not have stays
 * what it was in @out. NULL; or what is wrong with it (static), and @out is not to be used.
 */
const char *http_authority_parse(const char *text, size_t len, struct http_authority *out);

/*
 * The same of "[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]...]": *@cnt hosts, at least one, into
 * @hosts, each with the port that @first had where it has none; @first is the first of them, with
 * the user for all.
 */
const char *http_hosts_parse(const char *text, size_t len, struct http_authority *first,
			     struct http_host hosts[static HTTP_HOSTS_MAX], size_t *cnt);

/* Append "HOST:PORT,HOST:PORT". */
void http_hosts_print(const struct http_host *hosts, size_t cnt, struct buf *out);

/* @len bytes of @text into @out, %XX decoded. False: too long, a '%' without two digits, or a
 * control byte. */
bool http_url_decode(const char *text, size_t len, char out[static HTTP_URL_PART_MAX]);

/* The inverse: append @text as a part of a URL. */
void http_url_add(struct buf *out, const char *text);

/* Append @text as a path of a URL: '/' stays, and so does all that RFC 3986 calls unreserved. */
void http_url_add_path(struct buf *out, const char *text);

/* Does @text have only letters, digits, '_', '-' and '.': what needs no quotes anywhere? */
bool http_url_is_name(const char *text);

/* The environment's @name into @out, which stays where it has something or the environment has not.
 * False: it is too long, or has a line break. */
bool http_url_take_environment(const char *name, char out[static HTTP_URL_PART_MAX]);

/* Append @text, which may have any number of lines and URLs, with "***" in the place of every URL's
 * password: for messages. */
void http_url_add_hidden(struct buf *out, const char *text);

#endif
