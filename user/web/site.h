/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a request to a reply, without a server: what each route answers. server.c brings requests
 * here and takes replies away; tests do the same.
 */
#ifndef BPFPROF_WEB_SITE_H
#define BPFPROF_WEB_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "store/source.h"
#include "web/query.h"
#include "web/web.h"

enum {
	WEB_REPLY_BYTES_MAX = 64 << 20,
	WEB_BODY_BYTES_MAX = 1 << 20, /* of a request */
	WEB_RETRY_AFTER_S = 5,
};

enum web_method {
	WEB_GET = 1 << 0,
	WEB_HEAD = 1 << 1,
	WEB_POST = 1 << 2,
};

struct web_request {
	enum web_method method;
	const struct web_target *target; /* borrowed, as all here */
	/* Headers; NULL: not there, or a piece of the reply was sent. */
	const char *accept, *if_none_match, *accept_encoding, *content_type, *content_encoding;
	const char *authorization; /* likewise, and let in by it */
	const char *body; /* of a POST, body_len bytes and a NUL */
	size_t body_len;
	int client_fd; /* likewise -1 */
	bool is_near; /* nobody but this host can reach the server */
	bool is_shown; /* a browser shows the reply, as a page or in a frame */
	uint64_t now_ns; /* UTC */
	const struct web_sender *sender; /* NULL: the reply is sent when it is whole */
};

/* What a browser may do with a reply. */
enum web_policy {
	WEB_POLICY_DATA, /* nothing */
	WEB_POLICY_PAGE, /* our page: its own script, style and answers */
	WEB_POLICY_REPORT, /* a report: what it carries, by its hashes */
	WEB_POLICY_PICTURE, /* an SVG: what it carries */
	WEB_POLICY_CNT,
};

struct web_reply {
	int status; /* of HTTP */
	const char *type; /* of the content; static */
	const char *encoding; /* of the content; static; NULL: as it is */
	struct buf body;
	enum web_policy policy;
	const char *etag; /* static; NULL: none. With one the reply has nothing of this host */
	const char *allow; /* static; of 405 */
	char disposition[64]; /* file name; "": none */
	uint32_t retry_after_s; /* 0: not told */
	uint32_t piece_cnt; /* that were sent */
};

/* Who sends a reply piece by piece, for answers that take long and are of use before they are
 * whole. */
struct web_sender {
	/*
	 * Send what @reply has in its body, which is empty then. After the first piece its head is
	 * sent, too: its status cannot become that of an error any more, and a reply that has it
	 * all the same ends unfinished, which the client sees. 0, or negative errno: nobody takes
	 * it, or it cannot be kept until somebody does.
	 */
	int (*send)(void *arg, struct web_reply *reply);
	void *arg;
};

/* One at a time uses it: what a thread that answers keeps between requests. */
struct web_site {
	const struct web_host *host; /* borrowed; may be NULL */
	const char *store_url; /* borrowed; may be NULL */
	struct store_source *store; /* owned; NULL: not open */
};

void web_site_init(struct web_site *site, const struct web_host *host, const char *store_url);
void web_site_deinit(struct web_site *site);

/* The store, opened when it is first needed and anew where another file has taken its place.
 * Borrowed. NULL: @reply says why. */
struct store_source *web_site_store(struct web_site *site, struct web_reply *reply);

/* Who does the work of a route. */
enum web_lane {
	WEB_LANE_QUICK, /* the thread that serves all clients */
	WEB_LANE_STORE, /* reads the store */
	WEB_LANE_CAPTURE, /* records: seconds to minutes */
};

/* How a route tells errors. */
enum web_errors {
	WEB_ERRORS_TEXT,
	WEB_ERRORS_PPROF, /* text that go tool pprof shows: X-Go-Pprof */
	WEB_ERRORS_JSON,
	WEB_ERRORS_CONNECT, /* JSON with a code of the Connect protocol */
};

struct web_route {
	const char *path;
	unsigned int methods; /* enum web_method */
	enum web_lane lane;
	enum web_errors errors;
	void (*answer)(struct web_site *site, const struct web_request *request,
		       struct web_reply *reply);
	bool is_public; /* needs no token */
};

/* The route of @path, which is compared byte by byte; NULL: there is none. */
const struct web_route *web_route_find(const char *path);

/* The same of @service's. */
const struct web_route *web_service_route(const struct web_service *service, const char *path);

/* Who has to do the work of @request on @route: what records if nothing says that the store is
 * meant. */
enum web_lane web_route_lane(const struct web_route *route, const struct web_target *target);

/* "GET, HEAD" for the Allow header; static. */
const char *web_route_allow(const struct web_route *route);

void web_reply_init(struct web_reply *reply);
void web_reply_deinit(struct web_reply *reply);

/* Make @reply an error: @status, and a line of text, which web_route_answer() brings into the
 * route's form. */
void web_reply_fail(struct web_reply *reply, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A reply that is one JSON object: what is between goes into @js, which is borrowed from @reply. */
void web_reply_begin_json(struct web_reply *reply, struct json *js);
void web_reply_end_json(struct web_reply *reply, struct json *js);

/* Answer @request in any case: a failure is a reply, too. */
void web_route_answer(const struct web_route *route, struct web_site *site,
		      const struct web_request *request, struct web_reply *reply);

/* Bring a failure that web_reply_fail() told into the form of @route (NULL: text). */
void web_reply_finish(struct web_reply *reply, const struct web_route *route);

#endif
