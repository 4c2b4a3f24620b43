/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the spool into the fleet's store: the messages of many hosts in one insert, about one a
 * second. Every row has its key, so that it does not matter which messages an insert has; the
 * ledger's rows go last, when all others are there.
 *
 * What fails is tried again for ever, later and later. What the store refuses for what it is, is
 * halved until the one message is found; that is put aside, and told as lost by a row of the ledger
 * for each of its windows. The dictionary that it tells is inserted as far as it is taken, as other
 * messages rely on it. Where those of several hosts in a row are refused alone, that is no answer
 * about messages: then nothing is put aside.
 */
#ifndef BPFPROF_RELAY_RELAY_SHIP_H
#define BPFPROF_RELAY_RELAY_SHIP_H

#include "relay/relay_priv.h"

struct relay_ship;

/* *@out is *owned* (relay_ship_close()); nothing is connected yet. 0, or negative errno after
 * log_error(). */
int relay_ship_open(struct relay *relay, struct relay_ship **out);
void relay_ship_close(struct relay_ship *ship); /* NULL is fine */

/* Ship until relay->end_ns, and until nothing is left when that is set. */
void relay_ship_run(struct relay_ship *ship);

#endif
