/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fleet's minutes into a server, by one thread or several, each of which speaks for its share of
 * the hosts over a connection of its own.
 *
 * The last minutes may be a burst: their messages are made before, as the machines of a fleet would
 * make them, and sent as fast as the server takes them. So the rate is that of the server and of
 * what it takes to hand it bytes, not of who plays a thousand hosts.
 */
#ifndef BPFPROF_TOOLS_FLEET_SIM_PLAY_H
#define BPFPROF_TOOLS_FLEET_SIM_PLAY_H

#include <sys/types.h>

#include "hosts.h"

enum { SENDERS_MAX = 64 };

struct play_opts {
	uint64_t together; /* hosts of one insert */
	uint64_t sender_cnt; /* threads, 1 to SENDERS_MAX */
	uint64_t burst_cnt; /* minutes at the end: fewer than there are */
	pid_t server; /* on this machine, whose CPU time is told; 0: it is not */
};

/* Bytes of requests, with their headers. */
struct play_wire {
	uint64_t samples; /* they and their ledger */
	uint64_t dictionary; /* what is told of stacks, frames and so on, and asked */
};

struct play_result {
	struct sim_filled filled;
	uint64_t dict_rows;
	struct play_wire first, later; /* of the first minute, of those that were sent after it */
	uint64_t sending_ns; /* CPU time: to encode, compress and send them */
	uint64_t elapsed_ns; /* until the burst */
	uint64_t sent_rows; /* by then */
	uint64_t server_ns; /* CPU time by then */
	/* Of the burst */
	uint64_t burst_rows, burst_bytes;
	uint64_t burst_packing_ns; /* CPU time: to encode and compress it, before */
	uint64_t burst_sending_ns; /* CPU time, of all threads */
	uint64_t burst_ns; /* from the first byte to the last answer */
	uint64_t burst_server_ns; /* CPU time meanwhile */
};

/*
 * Play all of @sim; @clients: one for each thread. 0 or negative errno as fleet_fill() and
 * ch_client_insert(), then *@failed (borrowed) is the client that knows more of it, NULL where it
 * was none.
 */
int play(struct sim *sim, const struct play_opts *opts, struct ch_client *const *clients,
	 struct play_result *out, const struct ch_client **failed);

#endif
