/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request and its reply between libmicrohttpd and site.h.
 *
 *	on_target      the request line is there
 *	on_request     once for the head, for each piece of the body, at its end
 *	    quick: the reply is made and queued at once
 *	    else:  the connection is suspended, a lane's thread makes the reply and resumes it,
 *	           on_request comes once more and queues the reply
 *	    or:    it is resumed with the first piece of the reply; the lane's thread goes on while
 *	           read_piece() is asked for more, and suspends where there is none yet
 *	on_completed   the reply was sent, or the client went away
 *
 * So an exchange has up to three users: the connection, the lane's thread, a reply that is read.
 *
 * What libmicrohttpd never brings to on_request (a head that is none) has no on_completed either;
 * then the exchange goes with the connection.
 */
#include "web/mhd_server.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/parse.h"

enum { SEND_BYTES = 64 << 10 };

enum exchange_state {
	EXCHANGE_NEW,
	EXCHANGE_RECEIVING,
	EXCHANGE_REFUSED, /* it is answered when the body is there, which is thrown away */
	EXCHANGE_ANSWERED,
};

enum {
	BODY_BYTES_PER_S = 4 << 10, /* at least, besides the time for the rest of a request */
	BODY_S_MAX = 120, /* as long as our own clients take for a request */
};

struct exchange {
	struct lane_job job; /* first: a job is its exchange */
	struct web_sender sender;
	atomic_uint users;
	struct web_server *server; /* borrowed, as the next two */
	struct client *client;
	struct MHD_Connection *connection;
	enum exchange_state state;
	struct web_target target;
	int target_err;
	struct buf target_why;
	const struct web_route *route; /* NULL: none */
	struct web_request request;
	struct buf body;
	struct web_reply reply;
	size_t held_bytes; /* of the reply */
	size_t body_bytes; /* that the body may have, and the server has counted */
	/* A reply in pieces */
	struct stream stream;
	bool is_sent; /* its first piece; the lane's thread knows */
	struct MHD_Response *response; /* owned until it is queued */
	size_t awaited_bytes; /* for which the client was given time */
};

static void exchange_put(struct exchange *exchange)
{
	if (atomic_fetch_sub(&exchange->users, 1) > 1)
		return;
	atomic_fetch_sub(&exchange->server->room.held_bytes, exchange->held_bytes);
	atomic_fetch_sub(&exchange->server->body_bytes, exchange->body_bytes);
	stream_deinit(&exchange->stream);
	web_target_deinit(&exchange->target);
	buf_deinit(&exchange->target_why);
	buf_deinit(&exchange->body);
	web_reply_deinit(&exchange->reply);
	free(exchange);
}

static const char *header_of(const struct exchange *exchange, const char *name)
{
	return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

/* What is told of every reply. */
static void add_safety(struct MHD_Response *response, const struct web_reply *reply,
		       const char *policy)
{
	MHD_add_response_header(response, "Content-Type", reply->type);
	MHD_add_response_header(response, "Content-Security-Policy", policy);
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
	MHD_add_response_header(response, "Cache-Control", reply->etag ? "no-cache" : "no-store");
	if (reply->etag)
		MHD_add_response_header(response, "ETag", reply->etag);
}

static void add_headers(struct MHD_Response *response, const struct exchange *exchange)
{
	const struct web_reply *reply = &exchange->reply;
	const struct web_route *route = exchange->route;
	const char *mode = header_of(exchange, "Sec-Fetch-Mode");
	char text[128];

	add_safety(response, reply, exchange->server->policies[reply->policy]);
	if (reply->encoding)
		MHD_add_response_header(response, "Content-Encoding", reply->encoding);
	if (*reply->disposition) {
		snprintf(text, sizeof(text), "attachment; filename=\"%s\"", reply->disposition);
		MHD_add_response_header(response, "Content-Disposition", text);
	}
	if (reply->allow)
		MHD_add_response_header(response, "Allow", reply->allow);
	if (reply->retry_after_s) {
		snprintf(text, sizeof(text), "%" PRIu32, reply->retry_after_s);
		MHD_add_response_header(response, "Retry-After", text);
	}
	if (reply->status >= 400 && route && route->errors == WEB_ERRORS_PPROF)
		MHD_add_response_header(response, "X-Go-Pprof", "1");
	if (reply->status == 401) {
		MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
		/* Browsers and go tool pprof know Basic alone, and its user does not matter; our
		 * page asks for the token itself. */
		if (!mode || !strcmp(mode, "navigate"))
			MHD_add_response_header(response, "WWW-Authenticate",
						"Basic realm=\"bpfprof\"");
	}
}

/* --- A reply in pieces --- */

static void suspend_reader(void *connection)
{
	MHD_suspend_connection(connection);
}

static void resume_reader(void *connection)
{
	MHD_resume_connection(connection);
}

/* A client has time for what waits, and more for what was added; while nothing waits, it is our
 * turn. */
static void await_reader(struct exchange *exchange)
{
	size_t added, held;

	stream_sizes(&exchange->stream, &added, &held);
	if (added == exchange->awaited_bytes)
		return;
	exchange->awaited_bytes = added;
	clients_await(&exchange->server->clients, exchange->client,
		      CLIENT_REPLY_S + held / CLIENT_REPLY_BYTES_PER_S);
}

/* libmicrohttpd asks for more of the reply. */
static ssize_t read_piece(void *exchange_ptr, uint64_t pos, char *out, size_t max)
{
	struct exchange *exchange = exchange_ptr;
	ssize_t len = stream_read(&exchange->stream, out, max);

	if (len > 0) {
		await_reader(exchange);
	} else if (!len) {
		exchange->awaited_bytes = 0;
		clients_await(&exchange->server->clients, exchange->client, 0);
	}
	if (len == STREAM_END)
		return MHD_CONTENT_READER_END_OF_STREAM;
	return len < 0 ? MHD_CONTENT_READER_END_WITH_ERROR : len;
}

static void end_reading(void *exchange)
{
	exchange_put(exchange);
}

/* The head is sent, and the connection goes on: it may end at any moment. */
static int begin_sending(struct exchange *exchange)
{
	struct web_request *request = &exchange->request;
	struct MHD_Response *response = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, SEND_BYTES, read_piece, exchange, end_reading);

	assert(exchange->reply.status == MHD_HTTP_OK);
	if (!response)
		return -ENOMEM;
	atomic_fetch_add(&exchange->users, 1);
	add_headers(response, exchange);
	request->accept = request->if_none_match = request->accept_encoding = NULL;
	request->content_type = request->content_encoding = request->authorization = NULL;
	request->client_fd = -1;
	exchange->response = response;
	exchange->is_sent = true;
	exchange->state = EXCHANGE_ANSWERED;
	MHD_resume_connection(exchange->connection);
	return 0;
}

/* web_sender.send: by the lane's thread. */
static int send_piece(void *exchange_ptr, struct web_reply *reply)
{
	struct exchange *exchange = exchange_ptr;
	int err = stream_add(&exchange->stream, &reply->body);

	if (!err && !exchange->is_sent)
		err = begin_sending(exchange);
	reply->piece_cnt += !err;
	return err;
}

/* The lane's thread has sent pieces of a reply, and the last one is left, or why it is none. */
static void end_sending(struct exchange *exchange)
{
	int err = stream_add(&exchange->stream, &exchange->reply.body);

	if (!err && exchange->reply.status >= 400)
		err = -EIO;
	if (stream_end(&exchange->stream, err) && err)
		log_warn("web: a reply ended unfinished: %s", strerror(-err));
}

static enum MHD_Result queue_pieces(struct exchange *exchange)
{
	struct MHD_Response *response = take_ptr(exchange->response);
	enum MHD_Result result = MHD_queue_response(exchange->connection, MHD_HTTP_OK, response);

	MHD_destroy_response(response);
	return result;
}

/* --- The life of a request --- */

/* The connection has no more to do with it. */
static void exchange_leave(struct exchange *exchange)
{
	stream_leave(&exchange->stream);
	if (exchange->response)
		MHD_destroy_response(exchange->response);
	exchange_put(exchange);
}

static struct client *client_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static size_t body_max(const struct exchange *exchange)
{
	const struct web_service *service = exchange->server->service;

	return service ? service->body_bytes_max : WEB_BODY_BYTES_MAX;
}

void mhd_on_connection(void *server_ptr, struct MHD_Connection *connection, void **client_ptr,
		       enum MHD_ConnectionNotificationCode code)
{
	struct web_server *server = server_ptr;
	const union MHD_ConnectionInfo *info;
	struct client *client = *client_ptr;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
		*client_ptr = info ? clients_add(&server->clients, info->connect_fd) : NULL;
		return;
	}
	*client_ptr = NULL;
	if (!client)
		return;
	if (client->exchange)
		exchange_leave(client->exchange);
	clients_remove(&server->clients, client);
}

void *mhd_on_target(void *server, const char *target, struct MHD_Connection *connection)
{
	struct client *client = client_of(connection);
	struct exchange *exchange = client ? calloc(1, sizeof(*exchange)) : NULL;

	if (!exchange)
		return NULL;
	atomic_init(&exchange->users, 1);
	exchange->server = server;
	exchange->client = client;
	exchange->connection = connection;
	exchange->sender = (struct web_sender){send_piece, exchange};
	stream_init(&exchange->stream, WEB_REPLY_BYTES_MAX, &exchange->server->room,
		    &(struct stream_sleep){suspend_reader, resume_reader, connection});
	buf_init(&exchange->target_why, BUF_NO_MAX);
	buf_init(&exchange->body, body_max(exchange));
	web_reply_init(&exchange->reply);
	exchange->target_err = web_target_parse(target, &exchange->target, &exchange->target_why);
	if (client->exchange)
		exchange_leave(client->exchange);
	client->exchange = exchange;
	return exchange;
}

void mhd_on_completed(void *server_ptr, struct MHD_Connection *connection, void **exchange_ptr,
		      enum MHD_RequestTerminationCode code)
{
	struct web_server *server = server_ptr;
	struct exchange *exchange = *exchange_ptr;

	*exchange_ptr = NULL;
	if (!exchange)
		return;
	clients_await(&server->clients, exchange->client, CLIENT_REQUEST_S);
	exchange->client->exchange = NULL;
	exchange_leave(exchange);
}

/* Account for what is to be sent; there is no more room: say so instead. */
static void hold(struct exchange *exchange)
{
	struct stream_room *room = &exchange->server->room;
	size_t len = exchange->reply.body.len;

	if (atomic_fetch_add(&room->held_bytes, len) + len <= room->max_bytes) {
		exchange->held_bytes = len;
		return;
	}
	atomic_fetch_sub(&room->held_bytes, len);
	web_reply_fail(&exchange->reply, 503, "too many large replies are under way");
	web_reply_finish(&exchange->reply, exchange->route);
}

static enum MHD_Result queue_reply(struct exchange *exchange)
{
	struct MHD_Response *response;
	enum MHD_Result result;
	size_t len;
	char *data;

	hold(exchange);
	len = exchange->reply.body.len;
	data = buf_take(&exchange->reply.body, NULL);
	clients_await(&exchange->server->clients, exchange->client,
		      CLIENT_REPLY_S + len / CLIENT_REPLY_BYTES_PER_S);
	response = data ? MHD_create_response_from_buffer(len, data, MHD_RESPMEM_MUST_FREE)
			: MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	if (!response) {
		free(data);
		return MHD_NO;
	}
	add_headers(response, exchange);
	result = MHD_queue_response(exchange->connection, (unsigned int)exchange->reply.status,
				    response);
	MHD_destroy_response(response);
	return result;
}

static void fail(struct exchange *exchange, int status, const char *text)
{
	web_reply_fail(&exchange->reply, status, "%s", text);
	web_reply_finish(&exchange->reply, exchange->route);
}

/*
 * May a browser that is on another site be answered? What it loads there as an image, a script or
 * by fetch() is refused; following a link to us is not. A name that somebody has made for a
 * loopback address (DNS rebinding) is no name of ours. Programs that are no browsers send none of
 * this.
 */
static bool is_from_elsewhere(const struct exchange *exchange)
{
	const char *site = header_of(exchange, "Sec-Fetch-Site");
	const char *mode = header_of(exchange, "Sec-Fetch-Mode");
	const char *host = header_of(exchange, "Host");
	const struct web_place *place = &exchange->server->listener.place;

	if (site && !strcmp(site, "cross-site") && (!mode || strcmp(mode, "navigate")))
		return true;
	return host && !place->is_unix && !place->is_wide && !exchange->server->secrets.token &&
	       !web_host_is_plain(host);
}

/* What the head says of the body's length; false: nothing, or no number. */
static bool body_length(const struct exchange *exchange, uint64_t *out)
{
	const char *text = header_of(exchange, "Content-Length");

	return text && !parse_u64(text, out);
}

static bool is_too_long(const struct exchange *exchange)
{
	uint64_t len;

	return header_of(exchange, "Content-Length") &&
	       (!body_length(exchange, &len) || len > body_max(exchange));
}

/* A service takes bodies as far as all of them have room. */
static void reserve_body(struct exchange *exchange)
{
	struct web_server *server = exchange->server;
	uint64_t len = 0, wait_s;

	if (!server->service || exchange->request.method != WEB_POST)
		return;
	if (!body_length(exchange, &len)) {
		fail(exchange, 411, "the body's length is needed (Content-Length)");
		return;
	}
	if (atomic_fetch_add(&server->body_bytes, len) + len > server->service->bodies_bytes_max) {
		atomic_fetch_sub(&server->body_bytes, len);
		fail(exchange, 503, "too many large requests at once");
		return;
	}
	exchange->body_bytes = len;
	wait_s = CLIENT_REQUEST_S + len / BODY_BYTES_PER_S;
	clients_await(&server->clients, exchange->client,
		      wait_s < BODY_S_MAX ? wait_s : BODY_S_MAX);
}

static const struct web_route *route_of(const struct exchange *exchange)
{
	const struct web_service *service = exchange->server->service;
	const char *path = exchange->target.path;

	return service ? web_service_route(service, path) : web_route_find(path);
}

static bool is_let_in(const struct exchange *exchange)
{
	const struct web_server *server = exchange->server;
	const char *authorization = header_of(exchange, "Authorization");

	if (exchange->route && exchange->route->is_public)
		return true;
	return server->service ? server->service->allow(server->host->arg, authorization)
			       : web_secrets_allow(&server->secrets, authorization);
}

static void take_method(struct exchange *exchange, const char *name)
{
	exchange->request.method = !strcmp(name, "GET")	   ? WEB_GET
				   : !strcmp(name, "HEAD") ? WEB_HEAD
				   : !strcmp(name, "POST") ? WEB_POST
							   : 0;
}

/* The head of a request is there. False: it is answered already. */
static bool check_head(struct exchange *exchange, const char *method)
{
	const char *why = buf_cstr(&exchange->target_why);

	take_method(exchange, method);
	if (!exchange->target_err)
		exchange->route = route_of(exchange);
	if (!is_let_in(exchange))
		fail(exchange, 401,
		     header_of(exchange, "Authorization")
			     ? "this token is not known"
			     : "a token is needed (Authorization: Bearer TOKEN)");
	else if (exchange->target_err == -ENOMEM)
		fail(exchange, 503, strerror(ENOMEM));
	else if (exchange->target_err)
		fail(exchange, exchange->target_err == -E2BIG ? 414 : 400, why);
	else if (is_from_elsewhere(exchange))
		fail(exchange, 403, "requests of other sites are not answered");
	else if (!exchange->route)
		fail(exchange, 404, "there is nothing here");
	else if (!(exchange->route->methods & exchange->request.method)) {
		fail(exchange, 405, "no such method here");
		exchange->reply.allow = web_route_allow(exchange->route);
	} else if (is_too_long(exchange))
		fail(exchange, 413, "too long a body");
	else
		reserve_body(exchange);
	return exchange->reply.status < 400;
}

/* Who is in the middle of sending a body may not see an answer that comes before its end. */
static enum MHD_Result refuse(struct exchange *exchange)
{
	if (!exchange->server->service || exchange->request.method != WEB_POST)
		return queue_reply(exchange);
	exchange->state = EXCHANGE_REFUSED;
	return MHD_YES;
}

/* Give the request to a lane, which resumes the connection. */
static enum MHD_Result suspend(struct exchange *exchange, struct lane *lane)
{
	clients_await(&exchange->server->clients, exchange->client, 0);
	atomic_fetch_add(&exchange->users, 1);
	MHD_suspend_connection(exchange->connection);
	if (lane_push(lane, &exchange->job))
		return MHD_YES;
	/* The connection has it still. */
	atomic_fetch_sub(&exchange->users, 1);
	fail(exchange, 503, "too many requests of this kind at once");
	exchange->state = EXCHANGE_ANSWERED;
	MHD_resume_connection(exchange->connection);
	return MHD_YES;
}

static enum MHD_Result dispatch(struct exchange *exchange, const char *version)
{
	struct web_server *server = exchange->server;
	struct web_request *request = &exchange->request;
	enum web_lane lane = web_route_lane(exchange->route, &exchange->target);
	const char *mode = header_of(exchange, "Sec-Fetch-Mode");

	request->target = &exchange->target;
	request->accept = header_of(exchange, "Accept");
	request->authorization = header_of(exchange, "Authorization");
	request->if_none_match = header_of(exchange, "If-None-Match");
	request->accept_encoding = header_of(exchange, "Accept-Encoding");
	request->content_type = header_of(exchange, "Content-Type");
	request->content_encoding = header_of(exchange, "Content-Encoding");
	request->body = buf_cstr(&exchange->body);
	request->body_len = exchange->body.len;
	request->client_fd = exchange->client->fd;
	request->is_near = !server->listener.place.is_wide;
	request->is_shown = mode && !strcmp(mode, "navigate");
	request->now_ns = clock_realtime_ns();
	/* To an older client the end of an unfinished reply looks as any other. */
	if (lane != WEB_LANE_QUICK && request->method == WEB_GET &&
	    !strcmp(version, MHD_HTTP_VERSION_1_1))
		request->sender = &exchange->sender;
	switch (lane) {
	case WEB_LANE_STORE:
		return suspend(exchange, &server->stores);
	case WEB_LANE_CAPTURE:
		return suspend(exchange, &server->captures);
	default:
		web_route_answer(exchange->route, &server->quick, request, &exchange->reply);
		return queue_reply(exchange);
	}
}

void mhd_work(struct lane_job *job, struct web_site *site)
{
	struct exchange *exchange = (struct exchange *)job;

	if (client_is_gone(exchange->client->fd))
		fail(exchange, 503, "the client went away");
	else
		web_route_answer(exchange->route, site, &exchange->request, &exchange->reply);
	if (exchange->is_sent) {
		end_sending(exchange);
	} else {
		exchange->state = EXCHANGE_ANSWERED;
		MHD_resume_connection(exchange->connection);
	}
	exchange_put(exchange);
}

enum MHD_Result mhd_on_request(void *server, struct MHD_Connection *connection, const char *url,
			       const char *method, const char *version, const char *upload,
			       size_t *upload_len, void **exchange_ptr)
{
	struct exchange *exchange = *exchange_ptr;

	if (!exchange)
		return MHD_NO; /* no memory */
	if (exchange->state == EXCHANGE_NEW) {
		exchange->state = EXCHANGE_RECEIVING;
		return check_head(exchange, method) ? MHD_YES : refuse(exchange);
	}
	if (exchange->state == EXCHANGE_ANSWERED)
		return exchange->response ? queue_pieces(exchange) : queue_reply(exchange);
	if (*upload_len) { /* beyond the most that it holds, the buffer takes no more */
		if (exchange->state == EXCHANGE_RECEIVING)
			buf_add(&exchange->body, upload, *upload_len);
		*upload_len = 0;
		return MHD_YES;
	}
	if (exchange->state == EXCHANGE_REFUSED)
		return queue_reply(exchange);
	if (!exchange->body.err)
		return dispatch(exchange, version);
	fail(exchange, 413, "too long a body");
	return queue_reply(exchange);
}
