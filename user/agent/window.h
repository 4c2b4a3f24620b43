/* SPDX-License-Identifier: Apache-2.0 */
/* One drained window on its way into the store. */
#ifndef BPFPROF_AGENT_WINDOW_H
#define BPFPROF_AGENT_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include "profile/ledger.h"
#include "profile/profile.h"
#include "store/store.h"

struct agent_window {
	struct profile *prof; /* owned */
	struct ledger *ledger; /* owned */
	struct store_origin origin;
	uint64_t start_ns, end_ns; /* UTC */
	struct store_kind kinds[STORE_KINDS_MAX];
	size_t kind_cnt;
	uint64_t sample_cnt; /* samples and waits, of all kinds */
};

/* Release what it owns; fine on a zeroed one. */
void agent_window_deinit(struct agent_window *window);

/* The same as the store takes it; borrows from @window. */
struct store_window agent_window_stored(const struct agent_window *window);

/* Memory that its profile takes, about. */
size_t agent_window_bytes(const struct agent_window *window);

#endif
