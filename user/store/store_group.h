/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows that become one: neighbours in the chain of seqs that began in one minute (UTC), of one
 * source and one generation, without a cut between them. Compaction puts them together in the
 * store, a shipper on their way: by the same rule, so that it makes no difference to what is
 * shipped whether, and when, they were compacted.
 */
#ifndef BPFPROF_STORE_STORE_GROUP_H
#define BPFPROF_STORE_STORE_GROUP_H

#include "store/store_priv.h"

struct group {
	uint64_t *seqs; /* owned: of the windows' rows */
	size_t cnt, cap;
	uint64_t prev_seq, last_seq, minute, source, generation;
	uint64_t epoch, last_epoch, start_ns, end_ns, covered_ns, windows;
	struct buf epochs; /* differences, each to the one before */
	struct ledger ledger;
	bool is_damaged; /* its only window's ledger cannot be read */
	bool is_compact; /* it was put together before, and is for itself */
};

void group_init(struct group *group);
void group_deinit(struct group *group);

/* What group_add()'s statements select of window. */
#define GROUP_COLUMNS                                                                         \
	"seq, last_seq, prev_seq, start_ns, end_ns, covered_ns, windows, source, epoch, "     \
	"last_epoch, generation, epochs, ledger, is_compact, EXISTS(SELECT 1 FROM cut WHERE " \
	"cut.seq=window.prev_seq)"

/* The window in @stmt's row, which comes after those of @group, into it. 0; 1: it is not of the
 * group, which is whole before it; or negative errno. */
int group_add(struct group *group, sqlite3_stmt *stmt);

/* The samples of @kind of all of its windows, sorted, into @out (initialised by the call, in any
 * case; batch_deinit()). 0; 1: there are none; -EBADMSG: some are damaged; or negative errno. */
int group_batch(struct store *store, const struct group *group, const struct kind *kind,
		struct batch *out);

#endif
