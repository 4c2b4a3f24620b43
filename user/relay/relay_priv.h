/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a running relay share. */
#ifndef BPFPROF_RELAY_RELAY_PRIV_H
#define BPFPROF_RELAY_RELAY_PRIV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "relay/relay_counts.h"
#include "relay/relay_opts.h"
#include "relay/relay_spool.h"
#include "relay/relay_tables.h"
#include "relay/relay_tokens.h"

struct relay {
	const struct relay_opts *opts; /* borrowed */
	struct relay_spool *spool; /* owned */
	struct relay_tables *tables; /* owned */
	struct relay_tokens tokens;
	struct relay_counts counts;
	_Atomic uint64_t failing_ns; /* CLOCK_MONOTONIC since which nothing is shipped; 0: it is */
	atomic_int spool_err; /* why the spool did not take the last message, negative errno; 0: it
				 did */
	_Atomic uint64_t end_ns; /* CLOCK_MONOTONIC at which shipping ends; 0: not yet */
};

#endif
