/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbol tables at a relay: which ones the fleet's store wants, which host makes each, and those
 * that wait to be shipped:
 *
 *	SPOOL/symbols/BUILD-ID		a host's message (sink/relay_symbols.h), as it was received
 *
 * A file is whole: it has its name when it is on the disk. It goes when the fleet's store has the
 * table, and a relay that is killed in between ships it again, which changes nothing. What is
 * wanted is asked of the store now and then; claims are in memory alone: after a restart another
 * host may make a table that one makes already, and the store has it once all the same.
 *
 * All functions can be called by several threads; one of them ships.
 */
#ifndef BPFPROF_RELAY_RELAY_TABLES_H
#define BPFPROF_RELAY_RELAY_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "fleet/fleet_unnamed.h"
#include "sink/relay_symbols.h"

struct relay_tables;

/* How old what is known to be wanted may become while hosts ask for it. */
#define RELAY_TABLES_LIST_NS (60 * NSEC_PER_SEC)

/* Those of the spool in folder @path, which have @max_bytes in all. *@out is *owned*
 * (relay_tables_close()). 0 or negative errno. */
int relay_tables_open(const char *path, uint64_t max_bytes, struct relay_tables **out);
void relay_tables_close(struct relay_tables *tables); /* NULL is fine */

/* All times are CLOCK_MONOTONIC. */

/* Is it time to ask the fleet's store what is wanted: at first, and when hosts have asked? */
bool relay_tables_is_due(struct relay_tables *tables, uint64_t now_ns);

/* These are wanted (*taken*). */
void relay_tables_want(struct relay_tables *tables, struct fleet_modules *wanted, uint64_t now_ns);

/* Append to @answer the files whose tables @host could make: those that are wanted, and neither
 * here nor another host's. 0; -EAGAIN: it is not known yet what is wanted. */
int relay_tables_list(struct relay_tables *tables, uint64_t host, uint64_t now_ns,
		      struct buf *answer);

/* Is the table of @build_id for @host to make? It is for ten minutes, then, and for no other. None
 * is while there is no room. 0, or -ENOMEM. */
int relay_tables_claim(struct relay_tables *tables, const char *build_id, uint64_t host,
		       uint64_t now_ns, bool *is_ours);

/* Keep @message, @len bytes, the table of @build_id, whoever makes it. 0: it is on the disk;
 * -EEXIST: it was; -EDQUOT: there is no room; -EFBIG: there never is; or negative errno of the
 * disk. */
int relay_tables_put(struct relay_tables *tables, const char *build_id, const void *message,
		     size_t len);

/* The next table that waits, another one each time while there are several; @message is replaced.
 * 1; 0: none; or negative errno, and @build_id says of which. */
int relay_tables_next(struct relay_tables *tables, char build_id[static RELAY_BUILD_ID_MAX],
		      struct buf *message);

/* It need not wait any more. @is_refused: no host is to make it again. */
void relay_tables_done(struct relay_tables *tables, const char *build_id, bool is_refused);

struct relay_tables_state {
	uint64_t cnt, bytes; /* that wait */
};

struct relay_tables_state relay_tables_state(struct relay_tables *tables);

#endif
