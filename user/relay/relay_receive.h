/* SPDX-License-Identifier: Apache-2.0 */
/* What a relay answers over HTTP: messages of agents are checked, and on the disk when they are
 * answered with 200. */
#ifndef BPFPROF_RELAY_RELAY_RECEIVE_H
#define BPFPROF_RELAY_RELAY_RECEIVE_H

#include "relay/relay_priv.h"
#include "web/web.h"

/*
 * POST /relay/v1/batch, /metrics and /healthz, with @relay behind them; @host and @service borrow
 * it. Other answers to a message than 200:
 *
 *	400 no message, or its ledger is not that of its rows
 *	401 no token, or one that is not known; 403 it may not speak for the host
 *	409 it relies on what this spool was not told
 *	413 too large; 415 of another version, or not compressed
 *	503 damaged on its way; the spool is full or too far behind; the disk takes nothing
 */
void relay_receive_init(struct relay *relay, struct web_host *host, struct web_service *service);

#endif
