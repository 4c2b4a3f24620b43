/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retention of a fleet store: whole partitions go, those of days (UTC) and months that are over.
 * The ledger goes first: what is not in it is not read, so an end midway shows no day in part, and
 * the next time takes what is left. (A server's own TTL would take table after table, whenever it
 * merges, and the ledger would not agree with the samples meanwhile; 18.16 has none.)
 */
#ifndef BPFPROF_CLICKHOUSE_FLEET_DROP_H
#define BPFPROF_CLICKHOUSE_FLEET_DROP_H

#include <stdint.h>

#include "clickhouse/client.h"

struct fleet_drop {
	uint64_t partitions; /* of all tables */
	uint64_t days; /* of the ledger */
};

/*
 * Drop the days that ended before @until_ns (CLOCK_REALTIME). *@out is what was dropped, of a
 * failure too. 0 or negative errno as ch_client_query().
 */
int fleet_drop(struct ch_client *client, uint64_t until_ns, struct fleet_drop *out);

#endif
