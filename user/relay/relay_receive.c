/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/relay_receive.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "encode/gzip.h"
#include "sink/relay_message.h"
#include "web/routes.h"

enum {
	FULL_RETRY_S = 15, /* until there may be room again */
	BODIES = 8, /* of the largest kind, at once */
};

/* Longer than a server takes to begin again. */
#define FAILING_MAX_NS (120 * NSEC_PER_SEC)

/* A message on its way in. */
struct message {
	struct relay *relay;
	const struct web_request *request;
	struct web_reply *reply;
	struct relay_head head;
	struct fleet_blocks blocks;
	uint64_t epoch; /* the spool's, of which it was found to be */
	struct buf plain, why;
};

static void refuse(struct message *message, enum relay_refusal reason, int status, const char *text)
{
	atomic_fetch_add(&message->relay->counts.refused[reason], 1);
	web_reply_fail(message->reply, status, "%s", text);
	if (reason == RELAY_REFUSED_FULL || reason == RELAY_REFUSED_OLD ||
	    reason == RELAY_REFUSED_DISK)
		message->reply->retry_after_s = FULL_RETRY_S;
}

/* --- What it is --- */

/* False: it is answered. */
static bool inflate_body(struct message *message)
{
	const struct web_request *request = message->request;
	int err;

	if (!request->content_encoding || strcmp(request->content_encoding, "gzip") != 0) {
		refuse(message, RELAY_REFUSED_FORM, 415,
		       "messages are compressed (Content-Encoding: gzip)");
		return false;
	}
	err = gzip_inflate(request->body, request->body_len, &message->plain);
	if (err == -EFBIG)
		refuse(message, RELAY_REFUSED_TOO_LARGE, 413, "too large a message");
	else if (err == -ENOMEM)
		refuse(message, RELAY_REFUSED_MEMORY, 503, "no memory");
	else if (err)
		refuse(message, RELAY_REFUSED_DAMAGED, 503,
		       "the message was damaged on its way: send it again");
	return !err;
}

static bool read_message(struct message *message)
{
	int err = relay_message_read(message->plain.data, message->plain.len, &message->head,
				     &message->blocks);

	if (err == -ESTALE)
		refuse(message, RELAY_REFUSED_VERSION, 415,
		       "the message is of another version: agent and relay have to be of one");
	else if (err == -EILSEQ)
		refuse(message, RELAY_REFUSED_DAMAGED, 503,
		       "the message was damaged on its way: send it again");
	else if (err == -ENOMEM)
		refuse(message, RELAY_REFUSED_MEMORY, 503, "no memory");
	else if (err)
		refuse(message, RELAY_REFUSED_FORM, 400, "this is no message of an agent");
	return !err;
}

static bool may_speak(void *arg, const char *name, size_t len)
{
	const struct message *message = arg;
	char host[RELAY_NAME_MAX];

	if (len >= sizeof(host) || (len && memchr(name, '\0', len)))
		return false;
	memcpy(host, name, len);
	host[len] = '\0';
	return relay_tokens_allow(&message->relay->tokens, message->request->authorization, host);
}

static bool check_message(struct message *message)
{
	int err = relay_message_check(&message->head, &message->blocks, may_speak, message,
				      &message->why);

	message->epoch = relay_spool_epoch(message->relay->spool);
	if (err == -EACCES)
		refuse(message, RELAY_REFUSED_HOST, 403, buf_cstr(&message->why));
	else if (err)
		refuse(message, RELAY_REFUSED_FORM, 400, buf_cstr(&message->why));
	if (err)
		log_warn("relay: a message of host '%s' is refused: %s", message->head.name,
			 buf_cstr(&message->why));
	else if (message->head.epoch && message->head.epoch != message->epoch)
		refuse(message, RELAY_REFUSED_EPOCH, 409,
		       "this relay was not told what the message relies on: tell all of it");
	return message->reply->status < 400;
}

/* --- The disk --- */

/* What is wrong with the spool. */
static void explain_spool(int err, struct buf *out)
{
	if (err == -EDQUOT)
		buf_add_str(out, "the spool is full (max-spool): the fleet's store takes less than "
				 "arrives");
	else if (err == -ETIME)
		buf_add_str(out, "the spool is too far behind (max-age): the fleet's store takes "
				 "nothing");
	else
		buf_printf(out, "the relay's disk takes nothing: %s", strerror(-err));
}

static void refuse_store(struct message *message, int err)
{
	struct relay *relay = message->relay;

	explain_spool(err, &message->why);
	refuse(message,
	       err == -EDQUOT  ? RELAY_REFUSED_FULL
	       : err == -ETIME ? RELAY_REFUSED_OLD
			       : RELAY_REFUSED_DISK,
	       503, buf_cstr(&message->why));
	if (atomic_exchange(&relay->spool_err, err) != err)
		log_error("relay: spool '%s': %s; agents keep what they have", relay->opts->spool,
			  buf_cstr(&message->why));
}

static void store_message(struct message *message)
{
	struct relay *relay = message->relay;
	const struct web_request *request = message->request;
	const uint64_t rows = message->blocks.of[FLEET_SAMPLES].row_cnt;
	const struct relay_record record = {
		.received_ns = request->now_ns,
		.host = fleet_host(message->head.id),
		.first_seq = message->head.first_seq,
		.last_seq = message->head.last_seq,
		.rows = rows,
	};
	int err = relay_spool_append(relay->spool, &record, request->body, request->body_len);

	if (err) {
		refuse_store(message, err);
		return;
	}
	if (atomic_exchange(&relay->spool_err, 0))
		log_info("relay: spool '%s' takes messages again", relay->opts->spool);
	atomic_fetch_add(&relay->counts.stored, 1);
	atomic_fetch_add(&relay->counts.rows, rows);
	buf_printf(&message->reply->body, "stored %016" PRIx64 "\n", message->epoch);
}

/* --- The routes --- */

static void answer_batch(struct web_site *site, const struct web_request *request,
			 struct web_reply *reply)
{
	struct message message = {.relay = site->host->arg, .request = request, .reply = reply};
	struct relay_counts *counts = &message.relay->counts;
	int err = fleet_blocks_init(&message.blocks);

	buf_init(&message.plain, RELAY_MESSAGE_BYTES_MAX);
	buf_init(&message.why, BUF_NO_MAX);
	atomic_fetch_add(&counts->received, 1);
	atomic_fetch_add(&counts->received_bytes, request->body_len);
	if (!err)
		err = relay_spool_room(message.relay->spool, request->body_len, request->now_ns);
	if (err == -ENOMEM)
		refuse(&message, RELAY_REFUSED_MEMORY, 503, "no memory");
	else if (err)
		refuse_store(&message, err);
	else if (inflate_body(&message) && read_message(&message) && check_message(&message))
		store_message(&message);
	fleet_blocks_deinit(&message.blocks);
	buf_deinit(&message.plain);
	buf_deinit(&message.why);
}

static const struct web_route routes[] = {
	{RELAY_PATH, WEB_POST, WEB_LANE_STORE, WEB_ERRORS_TEXT, answer_batch, false},
	{RELAY_SYMBOLS_PATH, WEB_POST, WEB_LANE_STORE, WEB_ERRORS_TEXT, relay_answer_symbols,
	 false},
	{"/metrics", WEB_GET | WEB_HEAD, WEB_LANE_QUICK, WEB_ERRORS_TEXT, web_answer_metrics,
	 false},
	{"/healthz", WEB_GET | WEB_HEAD, WEB_LANE_QUICK, WEB_ERRORS_TEXT, web_answer_health, false},
	{NULL},
};

static bool allow(void *arg, const char *authorization)
{
	struct relay *relay = arg;
	const bool is_allowed = relay_tokens_allow(&relay->tokens, authorization, NULL);

	if (!is_allowed)
		atomic_fetch_add(&relay->counts.unknown, 1);
	return is_allowed;
}

static int format_metrics(void *arg, struct buf *out)
{
	struct relay *relay = arg;
	const struct relay_spool_state state = relay_spool_state(relay->spool);
	const struct relay_tables_state tables = relay_tables_state(relay->tables);

	return relay_counts_format(&relay->counts, &state, &tables, clock_realtime_ns(), out);
}

static bool is_healthy(void *arg, struct buf *why)
{
	struct relay *relay = arg;
	const uint64_t failing_ns = atomic_load(&relay->failing_ns);
	const uint64_t now_ns = clock_monotonic_ns();
	const int err = atomic_load(&relay->spool_err);

	if (err)
		explain_spool(err, why);
	else if (failing_ns && now_ns - failing_ns > FAILING_MAX_NS)
		buf_printf(why, "the fleet's store has taken nothing for %llu s",
			   (unsigned long long)((now_ns - failing_ns) / NSEC_PER_SEC));
	return !why->len;
}

void relay_receive_init(struct relay *relay, struct web_host *host, struct web_service *service)
{
	*host = (struct web_host){
		.arg = relay,
		.metrics = format_metrics,
		.is_healthy = is_healthy,
	};
	*service = (struct web_service){
		.routes = routes,
		.allow = allow,
		.body_bytes_max = relay->opts->max_message_bytes,
		.bodies_bytes_max = BODIES * relay->opts->max_message_bytes,
		.client_max = (uint32_t)relay->opts->max_clients,
	};
}
