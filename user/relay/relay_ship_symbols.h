/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbol tables from a relay's disk (relay_tables.h) into the fleet's store, one after the other,
 * as one who has the file would upload them (fleet/fleet_symbols.h); and the question which ones
 * that store wants. What fails is tried again, later and later; what the store refuses for what it
 * is goes, and is not asked for again until the relay is started anew.
 */
#ifndef BPFPROF_RELAY_RELAY_SHIP_SYMBOLS_H
#define BPFPROF_RELAY_RELAY_SHIP_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "clickhouse/client.h"
#include "relay/relay_priv.h"

struct relay_ship_symbols {
	struct relay *relay; /* borrowed */
	struct buf message;
	uint64_t next_ns; /* CLOCK_MONOTONIC: not before */
	uint32_t failures; /* in a row */
};

void relay_ship_symbols_init(struct relay_ship_symbols *ship, struct relay *relay);
void relay_ship_symbols_deinit(struct relay_ship_symbols *ship);

/* Is there something to ask or to ship, and may it be now? */
bool relay_ship_symbols_is_due(const struct relay_ship_symbols *ship);

/* Ask, where that is due, and ship one table, if there is one. 1: it is gone from here; 0: there
 * was none; negative errno, with the reason in @why: it waits. */
int relay_ship_symbols_step(struct relay_ship_symbols *ship, struct ch_client *client,
			    struct buf *why);

/* That failed, or what comes before it: wait, and say so once. */
void relay_ship_symbols_fail(struct relay_ship_symbols *ship, const struct ch_client *client,
			     const struct buf *why);

#endif
