/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows on their way to a store that may be full, read-only or broken for a while. They are kept
 * in memory up to a bound and tried again, later and later; beyond the bound the oldest are
 * dropped, and as soon as the store takes anything it is told how many, of when, and why: a
 * tombstone. Windows are stored in their order.
 */
#ifndef BPFPROF_AGENT_SPOOL_H
#define BPFPROF_AGENT_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/window.h"
#include "base/clock.h"

enum { SPOOL_MAX_BYTES = 4 << 20, SPOOL_REASON_MAX = 32 };

#define SPOOL_RETRY_MIN_NS NSEC_PER_SEC
#define SPOOL_RETRY_MAX_NS (60 * NSEC_PER_SEC)

/* Where windows go: the store, or what a test has instead. Results are those of store_add() and
 * store_add_tombstone(). */
struct spool_sink {
	void *arg;
	int (*add)(void *arg, const struct agent_window *window);
	int (*add_tombstone)(void *arg, uint64_t start_ns, uint64_t end_ns, uint64_t window_cnt,
			     uint64_t sample_cnt, const char *reason);
};

/* Windows that were dropped and of which the store does not know yet. */
struct spool_dropped {
	uint64_t start_ns, end_ns; /* UTC */
	uint64_t window_cnt, sample_cnt;
	char reason[SPOOL_REASON_MAX];
};

struct spool {
	struct spool_sink sink;
	size_t max_bytes;
	struct spool_item {
		struct agent_window window;
		size_t bytes;
	} * items; /* owned: the oldest first */
	size_t cnt, cap;
	size_t bytes; /* of all items */
	struct spool_dropped dropped; /* window_cnt 0: none */
	int err; /* why the store takes nothing now; 0: it does */
	uint64_t retry_ns; /* CLOCK_MONOTONIC: not before */
	uint64_t wait_ns; /* until the next try */
	/* So far. */
	uint64_t stored_windows, stored_samples, dropped_windows, dropped_samples;
};

void spool_init(struct spool *spool, const struct spool_sink *sink, size_t max_bytes);

/* What is in it is lost. */
void spool_deinit(struct spool *spool);

/* Take @window over (it is zeroed) and store what can be stored at CLOCK_MONOTONIC @now_ns. Never
 * fails: what finds no room is dropped and counted. */
void spool_add(struct spool *spool, struct agent_window *window, uint64_t now_ns);

/* Try to store what is in it; @must: also before its time. The error that the store has now, 0: all
 * of it is stored. */
int spool_flush(struct spool *spool, uint64_t now_ns, bool must);

#endif
