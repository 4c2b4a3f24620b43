/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols that hosts send: see relay_receive.h. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "fleet/fleet_symbols.h"
#include "relay/relay_receive.h"
#include "sink/relay_symbols.h"
#include "symbol/symbol_table.h"

enum { RETRY_S = 15 /* until there may be room, or the store was asked */ };

/* A message on its way in. */
struct message {
	struct relay *relay;
	const struct web_request *request;
	struct web_reply *reply;
	struct relay_symbols symbols;
};

static void refuse(const struct message *message, enum relay_refusal reason, int status,
		   const char *text)
{
	atomic_fetch_add(&message->relay->counts.symbols_refused[reason], 1);
	web_reply_fail(message->reply, status, "%s", text);
	if (status == 503)
		message->reply->retry_after_s = RETRY_S;
}

/* What the answer begins with is in the reply. */
static void end_answer(const struct message *message, _Atomic uint64_t *count)
{
	message->reply->type = "application/vnd.bpfprof.relay";
	if (relay_answer_end(&message->reply->body))
		refuse(message, RELAY_REFUSED_MEMORY, 503, "no memory");
	else
		atomic_fetch_add(count, 1);
}

static void answer(const struct message *message, enum relay_symbols_answer what,
		   _Atomic uint64_t *count)
{
	relay_answer_begin(what, &message->reply->body);
	end_answer(message, count);
}

/* --- What it is --- */

/* False: it is answered. */
static bool read_message(struct message *message)
{
	char format[SYMBOL_TABLE_FORMAT_BYTES];
	int err = relay_symbols_read(message->request->body, message->request->body_len,
				     &message->symbols);

	symbol_table_format(format);
	if (err == -EILSEQ)
		refuse(message, RELAY_REFUSED_DAMAGED, 503,
		       "the message was damaged on its way: send it again");
	else if (!err && strcmp(message->symbols.format, format) != 0)
		refuse(message, RELAY_REFUSED_VERSION, 415,
		       "tables of symbols are of another kind: agent and relay have to be of one "
		       "version");
	else if (err == -ESTALE)
		refuse(message, RELAY_REFUSED_VERSION, 415,
		       "the message is of another version: agent and relay have to be of one");
	else if (err)
		refuse(message, RELAY_REFUSED_FORM, 400, "this is no message about symbols");
	return message->reply->status < 400;
}

/* 0; -EBADMSG: it is none of that build-id; -ENOMEM. */
static int check_table(const struct relay_symbols *symbols)
{
	_cleanup_(buf_deinit) struct buf plain;
	struct name_table table;
	int err;

	buf_init(&plain, BUF_NO_MAX);
	err = fleet_symbols_unpack(symbols->build_id, symbols->table, symbols->table_len, &plain);
	return err ? err : symbol_table_read(plain.data, plain.len, &table);
}

/* --- Answers --- */

static void answer_ask(const struct message *message)
{
	struct relay *relay = message->relay;
	struct buf *body = &message->reply->body;
	int err;

	relay_answer_begin(RELAY_SYMBOLS_WANTED, body);
	err = relay_tables_list(relay->tables, message->symbols.host, clock_monotonic_ns(), body);
	if (err)
		refuse(message, RELAY_REFUSED_STORE, 503,
		       "the fleet's store could not be asked yet which symbols it wants");
	else
		end_answer(message, &relay->counts.symbols_asked);
}

static void answer_claim(const struct message *message)
{
	struct relay *relay = message->relay;
	bool is_ours;

	if (relay_tables_claim(relay->tables, message->symbols.build_id, message->symbols.host,
			       clock_monotonic_ns(), &is_ours))
		refuse(message, RELAY_REFUSED_MEMORY, 503, "no memory");
	else
		answer(message, is_ours ? RELAY_SYMBOLS_OURS : RELAY_SYMBOLS_OTHERS,
		       &relay->counts.symbols_asked);
}

static void refuse_table(const struct message *message, int err)
{
	if (err == -EFBIG) {
		refuse(message, RELAY_REFUSED_TOO_LARGE, 413,
		       "larger than all the room that symbols have (a quarter of max-spool)");
		return;
	}
	if (err == -EDQUOT) {
		refuse(message, RELAY_REFUSED_FULL, 503,
		       "there is no room for symbols (a quarter of max-spool): the fleet's store "
		       "takes less than arrives");
		return;
	}
	refuse(message, RELAY_REFUSED_DISK, 503, "the relay's disk takes nothing");
	log_warn("relay: spool '%s': symbols of build-id %s cannot be stored: %s",
		 message->relay->opts->spool, message->symbols.build_id, strerror(-err));
}

static void answer_table(const struct message *message)
{
	struct relay *relay = message->relay;
	const struct web_request *request = message->request;
	int err = check_table(&message->symbols);

	if (err == -ENOMEM) {
		refuse(message, RELAY_REFUSED_MEMORY, 503, "no memory");
		return;
	}
	if (err) {
		refuse(message, RELAY_REFUSED_FORM, 400,
		       "this is no table of symbols of that build-id");
		return;
	}
	err = relay_tables_put(relay->tables, message->symbols.build_id, request->body,
			       request->body_len);
	if (!err)
		answer(message, RELAY_SYMBOLS_STORED, &relay->counts.symbols_stored);
	else if (err == -EEXIST)
		answer(message, RELAY_SYMBOLS_OTHERS, &relay->counts.symbols_again);
	else
		refuse_table(message, err);
}

void relay_answer_symbols(struct web_site *site, const struct web_request *request,
			  struct web_reply *reply)
{
	struct message message = {.relay = site->host->arg, .request = request, .reply = reply};

	atomic_fetch_add(&message.relay->counts.symbols_received, 1);
	if (!read_message(&message))
		return;
	switch (message.symbols.step) {
	case RELAY_SYMBOLS_ASK:
		answer_ask(&message);
		break;
	case RELAY_SYMBOLS_CLAIM:
		answer_claim(&message);
		break;
	case RELAY_SYMBOLS_TABLE:
		answer_table(&message);
		break;
	}
}
