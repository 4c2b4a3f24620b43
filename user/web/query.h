/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What clients write into a request: the path, the query string, the Accept header. Pure
 * functions over hostile text; each names what it does not take.
 */
#ifndef BPFPROF_WEB_QUERY_H
#define BPFPROF_WEB_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { WEB_PARAMS_MAX = 32, WEB_TARGET_BYTES_MAX = 8192 };

struct web_param {
	const char *name, *value; /* decoded; borrowed from web_target.text */
};

/* A request's target: "/api/labels?kind=cpu&from=-1h". */
struct web_target {
	char *text; /* owned */
	const char *path; /* as it was sent: what is not plain has no route */
	struct web_param params[WEB_PARAMS_MAX];
	size_t param_cnt;
};

/*
 * Split @target, and decode names and values ('+' is a space). 0; -EINVAL: no path from the root,
 * an escape that is none or means NUL, a name twice (but "select"), a name without letters; -E2BIG:
 * longer than WEB_TARGET_BYTES_MAX, more than WEB_PARAMS_MAX parameters; -ENOMEM. On failure *@out
 * is empty and one line of @why (may be NULL) says what it is. Release with web_target_deinit().
 */
int web_target_parse(const char *target, struct web_target *out, struct buf *why);
void web_target_deinit(struct web_target *target);

/* The value of parameter @name, "" where it has none; NULL: it is not there. */
const char *web_target_get(const struct web_target *target, const char *name);

/* The parameter behind the @nth (from 0 on) of that name; NULL: there are fewer. */
const char *web_target_get_nth(const struct web_target *target, const char *name, size_t nth);

/* Does the Accept header @accept (may be NULL) name @type itself ("text/html"), and not with q=0?
 */
bool web_accept_names(const char *accept, const char *type);

/* Is the If-None-Match header @header (may be NULL) "*", or has it the entity tag @etag, which is
 * quoted? */
bool web_etag_matches(const char *header, const char *etag);

/* The token of an Authorization header: behind "Bearer ", or the password of "Basic "; into @out.
 * False: there is none. */
bool web_token_of(const char *authorization, struct buf *out);

/* Is @host, a Host header (may be NULL), this machine by a name that nobody else can give it:
 * localhost or an address? */
bool web_host_is_plain(const char *host);

#endif
