/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proof that a fleet store has everything once: day by day (UTC), the ledger beside the samples
 * that it tells of, the dictionary beside what is named, every host's chain of seqs, across the
 * days, and the roll-ups. The server compares; what comes back is what differs.
 */
#ifndef BPFPROF_CLICKHOUSE_FLEET_FSCK_H
#define BPFPROF_CLICKHOUSE_FLEET_FSCK_H

#include <stdint.h>

#include "base/buf.h"
#include "clickhouse/client.h"

/* What was looked at. */
struct fleet_fsck {
	uint64_t days, hosts; /* hosts: of the day that had most */
	uint64_t windows; /* as they were recorded */
	uint64_t batches, rows, samples;
	uint64_t tombstones, lost_windows, lost_samples; /* told by the ledger: no findings */
	uint64_t rolled; /* hours and days whose sums are good, and were compared */
	uint64_t findings;
};

/*
 * Check the days from that of @from_ns to that of @to_ns (UTC; UINT64_MAX: all that there is). Each
 * finding is a line in @out. 0, or negative errno as ch_client_query().
 */
int fleet_fsck(struct ch_client *client, uint64_t from_ns, uint64_t to_ns,
	       struct fleet_fsck *result, struct buf *out);

#endif
