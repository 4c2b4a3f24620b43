/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that the fleet's store refuses for what they are. */
#ifndef BPFPROF_RELAY_RELAY_ASIDE_H
#define BPFPROF_RELAY_RELAY_ASIDE_H

#include "clickhouse/client.h"
#include "relay/relay_priv.h"
#include "sink/fleet_fill.h"

/*
 * Tell the store that the windows of @blocks, a message, are lost, and what of its dictionary it
 * takes, table by table. 0; or negative errno with the reason in @why: nothing is told then, or not
 * all.
 */
int relay_aside_tell(struct ch_client *client, const struct fleet_blocks *blocks, struct buf *why);

/* Keep @message in the quarantine, and count it. */
void relay_aside_keep(struct relay *relay, const struct relay_record *record,
		      const struct buf *message);

/* Add to @out, a block of the ledger, rows that say that the windows of @ledger are lost. 0 or
 * -ENOMEM. */
int relay_aside_tombstones(const struct native_block *ledger, struct native_block *out);

#endif
