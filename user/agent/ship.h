/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes that ship an agent's windows, one for each sink, beside it and at a lower priority:
 * a server that is slow or dead, or the libraries that talk to it, do not hold up recording, nor
 * one another.
 *
 *	agent --pipe: it ends--> keeper --fork--> worker: store (its own connection) --> sink
 *	  ^                                          |
 *	  +---- memory that they share: counters ----+
 *
 * The agent is confined and can fork nothing, so the keeper, which does nothing else, begins a
 * worker again that has died. A worker is confined to files and the network. When the agent has
 * stored its last window it says so; the worker then ships what is left, as far as it gets within
 * SHIP_LAST_NS, and ends; what is left after that is the next agent's to ship.
 */
#ifndef BPFPROF_AGENT_SHIP_H
#define BPFPROF_AGENT_SHIP_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/agent_opts.h"
#include "base/clock.h"
#include "store/store.h"

#define SHIP_LAST_NS (10 * NSEC_PER_SEC)

/* What a worker tells; those of one before it are part of it. */
struct ship_counts {
	_Atomic uint64_t acked; /* batches: windows of a minute are one */
	_Atomic uint64_t retries, quarantined, rejected, dict_rows, sent_bytes;
	_Atomic uint64_t uploads, upload_bytes; /* symbol tables */
	_Atomic uint64_t lag_windows;
	_Atomic uint64_t oldest_ns; /* UTC; 0: nothing waits */
	_Atomic uint64_t cpu_ns, restarts;
};

struct shipping {
	char label[STORE_NAME_MAX]; /* its name, or URL without the password: of metrics */
	pid_t pid; /* of the keeper; 0: none */
	int fd; /* owned: closed when the agent ends; -1: none */
	struct ship_counts *counts; /* owned: shared */
};

struct shippings {
	struct shipping items[AGENT_SINKS_MAX];
	size_t cnt;
};

/*
 * Begin one for each sink of @opts, for the store that it names, which need not be there yet.
 * Before there is a second thread; @other_fd (-1: none) is closed in them. 0, or
 * negative errno; end with shippings_stop() in any case.
 */
int shippings_start(const struct agent_opts *opts, int other_fd, struct shippings *out);

/* The last window is stored: let them ship it, and wait for them. Fine when never started on
 * {.cnt = 0}. */
void shippings_stop(struct shippings *shippings);

#endif
