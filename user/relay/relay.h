/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A relay: takes what many agents ship, keeps it on its disk, and inserts it into the fleet's store
 * together.
 *
 *	agents --HTTP--> threads of the server: check --> spool --200--> agents
 *	                                                   |
 *	                                a thread of its own: gather, insert, again and again
 *
 * Symbols go the same way beside them (relay_tables.h), and back what the store wants of them.
 *
 * It has no state besides its spool: any number of relays can stand side by side, an agent sends to
 * whichever is there, and what two of them have of one window is there once.
 */
#ifndef BPFPROF_RELAY_RELAY_H
#define BPFPROF_RELAY_RELAY_H

#include "relay/relay_opts.h"

/* Run until SIGTERM or SIGINT: what is in the spool then is shipped as far as it gets in ten
 * seconds. The exit status. */
int relay_run(const struct relay_opts *opts);

#endif
