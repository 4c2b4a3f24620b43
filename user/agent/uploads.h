/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols of what runs here, for a fleet's store that wants them: `bpfprof store symbolize` has
 * looked for the files of frames without names, and not found them. Where this host has such a file
 * with its symbols, or has its debug file, a table of them is uploaded, unless another host does so
 * (fleet/fleet_symbols.h), or sent to the relay in front of that store (sink/relay_symbols.h).
 * Nothing else is read, and no code is sent.
 */
#ifndef BPFPROF_AGENT_UPLOADS_H
#define BPFPROF_AGENT_UPLOADS_H

#include <stdbool.h>
#include <stdint.h>

struct uploads;

struct uploads_opts {
	const char *url; /* of the sink */
	const char *name; /* of the sink, for messages; borrowed for the life of the uploads */
	uint64_t bytes_per_s; /* 0: UPLOADS_BYTES_PER_S */
	uint64_t host; /* fleet_host() */
	/* As in struct sink_opts. */
	bool (*is_cancelled)(void *arg);
	void *arg;
};

enum { UPLOADS_BYTES_PER_S = 1 << 20 };

/* *Owned* (uploads_close()); NULL: @opts->url is neither a fleet's store nor a relay, or there is
 * no memory. */
struct uploads *uploads_open(const struct uploads_opts *opts);
void uploads_close(struct uploads *uploads); /* NULL is fine */

/* Where a minute or two have passed since the last look: look what is wanted, and upload one table
 * at most, which is said. True: one was, *@bytes_out of it, and there may be more. What fails is
 * tried again, and told by -v: windows matter more. NULL is fine. */
bool uploads_step(struct uploads *uploads, uint64_t *bytes_out);

#endif
