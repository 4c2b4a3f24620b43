/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an agent sends to a relay: windows of one host as the rows of the fleet store's tables
 * (fleet_rows.h), whole. A message has every row of samples of its windows, and the ledger's rows
 * of them, so that it can be stored, sent again, or given up as one.
 *
 *	struct seal	kind and version, version of the tables, checksum of what follows
 *	u64		epoch: the spool of which the host knows that it was told before what is
 *			named here and not told; 0: all that is named is told
 *	u64 u64		seqs of the first window and of the last one
 *	text text	the store's id, whose hash is the rows' host; the host's name (rowbinary.h)
 *	for each table, in the order in which they are inserted: u8 whether there are rows, then
 *	they as native.h writes them
 *
 * The answer is "stored EPOCH" in hexadecimal: it is on the relay's disk.
 */
#ifndef BPFPROF_SINK_RELAY_MESSAGE_H
#define BPFPROF_SINK_RELAY_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "sink/fleet_fill.h"

#define RELAY_PATH "/relay/v1/batch"

enum {
	RELAY_MESSAGE_VERSION = 1,
	RELAY_NAME_MAX = 256, /* of a host, with the NUL */
	/* Of a message that is not compressed: far above what a host has in a minute. */
	RELAY_MESSAGE_BYTES_MAX = 256 << 20,
};

struct relay_head {
	uint64_t epoch, first_seq, last_seq;
	char id[FLEET_HOST_ID_MAX], name[RELAY_NAME_MAX];
};

/* Append the message of @blocks. 0 or -ENOMEM. */
int relay_message_write(const struct relay_head *head, const struct fleet_blocks *blocks,
			struct buf *out);

/*
 * Take @data of @len bytes apart into @out and @blocks, which are without rows. 0; -EILSEQ: it is
 * not what was sent; -ESTALE: of another version; -EBADMSG: it is no message; -ENOMEM. After a
 * failure @blocks have to be reset.
 */
int relay_message_read(const void *data, size_t len, struct relay_head *out,
		       struct fleet_blocks *blocks);

/* May who sent it speak for the host of that name? */
typedef bool relay_may_fn(void *arg, const char *name, size_t len);

/*
 * Are all rows of the host that @head names, and each host's name that they tell one for which @may
 * holds; is the ledger there of all rows of samples, and right in rows and sums? 0; -EACCES: of
 * another host; -EBADMSG: the ledger is not theirs. @why has which.
 */
int relay_message_check(const struct relay_head *head, const struct fleet_blocks *blocks,
			relay_may_fn *may, void *arg, struct buf *why);

#endif
