/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that met an executable before its unwind rows existed (struct bp_snapshot): kept until
 * the rows of every executable on their stack are there, then walked on to the bottom here. The
 * result is an ordinary record.
 */
#ifndef BPFPROF_CAPTURE_SNAPSHOT_H
#define BPFPROF_CAPTURE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "capture/rows_feed.h"

struct snapshot_item {
	struct bp_snapshot *snap; /* owned; as long as it was sent */
	size_t bytes;
	uint32_t awaits; /* id of the executable that the walk waits for; 0: not walked yet */
	bool is_closed; /* its epoch has been drained */
};

struct snapshots {
	struct rows_feed *feed; /* borrowed; NULL: nobody builds rows */
	struct snapshot_item *items; /* owned */
	size_t cnt, cap;
	size_t bytes; /* of all that wait, at most SNAPSHOTS_MAX_BYTES */
};

enum { SNAPSHOTS_MAX_BYTES = 8 << 20 };

void snapshots_deinit(struct snapshots *snapshots);

/* The walked record, and whether its epoch has been drained already. */
typedef void snapshot_done_fn(void *arg, const struct bp_record *rec, bool is_closed);

/*
 * A snapshot from the ring (@len bytes, copied). Where too many wait, it is walked at once with the
 * rows that are there. 0 or -ENOMEM.
 */
int snapshots_add(struct snapshots *snapshots, const void *data, size_t len, snapshot_done_fn *done,
		  void *arg);

/*
 * The same for one that was taken in userspace and whose epoch is not closed: walked at once where
 * all rows are there.
 */
int snapshots_walk_or_add(struct snapshots *snapshots, const struct bp_snapshot *snap, size_t len,
			  snapshot_done_fn *done, void *arg);

/* Walk those whose rows may have come and hand the finished ones to @done; with @force all whose
 * epoch is closed, whatever is missing. */
void snapshots_resolve(struct snapshots *snapshots, bool force, snapshot_done_fn *done, void *arg);

/* Epoch @epoch has been drained: results of its snapshots do not find a drain any more. */
void snapshots_close_epoch(struct snapshots *snapshots, uint32_t epoch);

/* Is there one whose epoch is closed? */
bool snapshots_have_closed(const struct snapshots *snapshots);

#endif
