/* SPDX-License-Identifier: Apache-2.0 */
/* What a relay answers over HTTP: messages of agents are checked, and on the disk when they are
 * answered with 200. */
#ifndef BPFPROF_RELAY_RELAY_RECEIVE_H
#define BPFPROF_RELAY_RELAY_RECEIVE_H

#include "relay/relay_priv.h"
#include "web/site.h"
#include "web/web.h"

/*
 * POST /relay/v1/batch, /relay/v1/symbols, /metrics and /healthz, with @relay behind them; @host
 * and @service borrow it. Other answers to a message than 200:
 *
 *	400 no message, or its ledger is not that of its rows
 *	401 no token, or one that is not known; 403 it may not speak for the host
 *	409 it relies on what this spool was not told
 *	413 too large; 415 of another version, or not compressed
 *	503 damaged on its way; the spool is full or too far behind; the disk takes nothing
 */
void relay_receive_init(struct relay *relay, struct web_host *host, struct web_service *service);

/*
 * web_route.answer of messages about symbols (sink/relay_symbols.h): which files are wanted,
 * whether one is the host's to make, and tables, which are looked through, and on the disk when
 * they are answered. Whoever has a token may send them, as names are common to all hosts.
 *
 *	400 no such message, or its table is none
 *	413 too large; 415 of another version, or tables of another kind
 *	503 damaged on its way; there is no room; the disk takes nothing; the store has yet to be
 *	    asked
 */
void relay_answer_symbols(struct web_site *site, const struct web_request *request,
			  struct web_reply *reply);

#endif
