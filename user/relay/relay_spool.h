/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a relay has taken and not shipped yet, on its disk:
 *
 *	SPOOL/segment-NR	records (relay_record.h), to whose end they are written, up to a
 *				size; each start begins a new one
 *	SPOOL/cursor		up to where they are shipped. It is no more than a help: what is
 *				shipped again changes nothing
 *	SPOOL/epoch		a number by which hosts know whether it is this spool that they told
 *				of what they name
 *	SPOOL/quarantine/	messages that the fleet's store refused, compressed
 *	SPOOL/symbols/		tables of symbols: relay_tables.h
 *	SPOOL/lock		one relay has it
 *
 * What relay_spool_append() has returned 0 for is on the disk. After a crash the records that are
 * whole are there; what was being written is cut off. Nothing is ever dropped: a spool that is
 * full, or whose oldest record is too old, takes nothing more, and hosts keep what they have.
 *
 * All functions can be called by several threads; one of them reads.
 */
#ifndef BPFPROF_RELAY_RELAY_SPOOL_H
#define BPFPROF_RELAY_RELAY_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "relay/relay_record.h"

struct relay_spool;

struct relay_spool_opts {
	const char *path; /* of the folder, which is made */
	uint64_t max_bytes; /* of segments */
	uint64_t max_age_ns; /* of the oldest record; 0: no bound */
};

/* *@out is *owned* (relay_spool_close()). 0, or negative errno with a line in @why: -EBUSY another
 * relay has it. Reads all of it. */
int relay_spool_open(const struct relay_spool_opts *opts, struct relay_spool **out,
		     struct buf *why);
void relay_spool_close(struct relay_spool *spool); /* NULL is fine */

/* Never 0. */
uint64_t relay_spool_epoch(const struct relay_spool *spool);

/* What hosts told is not in the fleet's store any more: with another epoch they tell it again. */
void relay_spool_renew_epoch(struct relay_spool *spool);

/* Can it take @len bytes more at UTC @now_ns? 0; -EDQUOT: it is full; -ETIME: its oldest record is
 * too old. */
int relay_spool_room(struct relay_spool *spool, size_t len, uint64_t now_ns);

/* Store @message, @len bytes; record->nr is set here. 0: it is on the disk; as above; or other
 * negative errno of the disk (-ENOSPC, -EIO, ...): it is not. */
int relay_spool_append(struct relay_spool *spool, const struct relay_record *record,
		       const void *message, size_t len);

/*
 * The next record behind the one that was read last; @message is replaced. 1; 0: there is none; or
 * negative errno. One that was damaged meanwhile is passed over and counted.
 */
int relay_spool_next(struct relay_spool *spool, struct relay_record *out, struct buf *message);

/* What was read and is not done will be read again. */
void relay_spool_rewind(struct relay_spool *spool);

/* What was read is shipped: it can go. */
void relay_spool_done(struct relay_spool *spool);

/* Keep @message, the record that was read last, in the quarantine. 0; -EDQUOT: that has a quarter
 * of what the spool may have; or negative errno. */
int relay_spool_put_aside(struct relay_spool *spool, const struct relay_record *record,
			  const struct buf *message);

struct relay_spool_state {
	uint64_t bytes, records; /* that wait; bytes: of the files that have them */
	uint64_t oldest_ns; /* UTC at which the oldest of them was received; 0: none */
	uint64_t damaged_bytes; /* of which no record could be made, since it was opened */
	uint64_t torn_bytes; /* that were being written when a relay ended */
};

struct relay_spool_state relay_spool_state(struct relay_spool *spool);

#endif
