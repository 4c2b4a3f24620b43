/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a relay tells of itself, in Prometheus' text format:
 *
 *	received = stored + refused		stored = shipped + quarantined + waiting
 *
 * in messages, since it was started, but for those that waited when it was. Of symbols:
 *
 *	received = asked + stored + again + refused
 *	stored = shipped + known + dropped + waiting
 */
#ifndef BPFPROF_RELAY_RELAY_COUNTS_H
#define BPFPROF_RELAY_RELAY_COUNTS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/buf.h"
#include "relay/relay_spool.h"
#include "relay/relay_tables.h"

/* Why a message is not stored. */
enum relay_refusal {
	RELAY_REFUSED_FORM, /* it is no message, or its ledger is not right */
	RELAY_REFUSED_VERSION,
	RELAY_REFUSED_DAMAGED, /* on its way */
	RELAY_REFUSED_HOST, /* the token may not speak for it */
	RELAY_REFUSED_EPOCH, /* it relies on what this spool was not told; it comes again with it */
	RELAY_REFUSED_TOO_LARGE,
	RELAY_REFUSED_FULL, /* the spool is */
	RELAY_REFUSED_OLD, /* the spool's oldest record is too old */
	RELAY_REFUSED_DISK, /* takes nothing */
	RELAY_REFUSED_MEMORY,
	RELAY_REFUSED_STORE, /* what it wants is not known yet */
	RELAY_REFUSAL_CNT,
};

struct relay_counts {
	_Atomic uint64_t received, received_bytes, stored, rows;
	_Atomic uint64_t refused[RELAY_REFUSAL_CNT];
	_Atomic uint64_t unknown; /* requests without a token that is one of ours */
	_Atomic uint64_t shipped, shipped_rows, inserts, failures;
	_Atomic uint64_t dict_rows, dict_known; /* of the dictionary: sent; not, as it was before */
	_Atomic uint64_t quarantined,
		unkept; /* messages; those that the quarantine has no room for */
	_Atomic uint64_t insert_ns; /* of the last insert */
	/* Messages about symbols: questions and claims; tables, those that were here before, too */
	_Atomic uint64_t symbols_received, symbols_asked, symbols_stored, symbols_again;
	_Atomic uint64_t symbols_refused[RELAY_REFUSAL_CNT];
	/* Tables: the store has them; had them before; refused them, or they were damaged here */
	_Atomic uint64_t symbols_shipped, symbols_known, symbols_dropped;
};

/* Append the text: 0 or -ENOMEM. @now_ns: UTC. */
int relay_counts_format(const struct relay_counts *counts, const struct relay_spool_state *spool,
			const struct relay_tables_state *tables, uint64_t now_ns, struct buf *out);

#endif
