/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store as the spool of sinks: windows in the order of their seqs, each sink with a cursor of
 * its own, which is on the disk (store_open() with STORE_SHIP, or STORE_WRITE).
 *
 * What is handed out depends on the store alone, so that it is the same when it is handed out
 * again: windows of one minute are put together as compaction does it (store_group.h), and only
 * when the minute cannot get another one; where somebody wants the rest before that, a cut is noted
 * first, which every later reader and compaction obey.
 */
#ifndef BPFPROF_STORE_SHIP_H
#define BPFPROF_STORE_SHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "sink/sink.h"
#include "store/store.h"

/* What a store knows of a sink. */
struct store_sink {
	uint64_t seq; /* all up to here is there */
	uint64_t windows; /* shipped, as they were recorded */
	uint64_t quarantined; /* of them refused, or damaged here */
};

/* A sink that nobody has tried to reach for so long holds nothing back. */
#define STORE_SINK_FORGOTTEN_NS (7 * 86400 * NSEC_PER_SEC)

/*
 * Make sink @name known, from the beginning of the store on, and say that it is in use at UTC
 * @now_ns: from then on retention by age leaves what it has not got. *@out (may be NULL) is where
 * it is. 0 or negative errno.
 */
int store_sink_use(struct store *store, const char *name, uint64_t now_ns, struct store_sink *out);

/* How much there is behind @seq: windows as they were recorded, and the UTC end of the first of
 * them (0: none). 0 or negative errno. */
struct store_lag {
	uint64_t windows, oldest_ns;
};

int store_sink_lag(struct store *store, uint64_t seq, struct store_lag *out);

/* Windows that become one on their way, or a tombstone (window.lost). */
struct store_shipment;

/*
 * The first that has something after @cursor. *@out is *owned* (store_shipment_free()); its
 * dictionary is borrowed from @store until that reads those of two other generations. @is_last: the
 * rest of a minute that may still grow, too. 1; 0: there is none (yet); or negative errno.
 *
 * What is damaged is given as a window that is lost, with the reason.
 */
int store_ship_next(struct store *store, uint64_t cursor, bool is_last,
		    struct store_shipment **out);
void store_shipment_free(struct store_shipment *shipment); /* NULL is fine */

/* As sinks take it. Borrowed. */
const struct sink_window *store_shipment_window(const struct store_shipment *shipment);

/* Sum of the first values of its batches. */
uint64_t store_shipment_samples(const struct store_shipment *shipment);

/* All up to @window is with sink @name; the cursor never goes back. 0 or negative errno. */
int store_sink_acked(struct store *store, const char *name, const struct sink_window *window,
		     uint64_t windows);

/* Note that @window was given up for @reason; the cursor stays. 1; 0: it was noted before; or
 * negative errno. */
int store_sink_quarantine(struct store *store, const char *name, const struct sink_window *window,
			  uint64_t samples, const char *reason);

#endif
