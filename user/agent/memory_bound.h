/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to forget what can be read again (names, processes), so that an agent's memory stays
 * bounded.
 *
 * Beyond the bound it is forgotten at every look, and when that does not do memory is short. Far
 * below it, beyond MEMORY_CALM_BYTES, it is forgotten from time to time: on a host where other
 * programs run every minute, names of those that are gone would grow up to the bound. As names are
 * then read again, which costs CPU time, there is MEMORY_PAUSE_MIN_NS at least between two such
 * times, and twice as long each time that it has not helped.
 *
 * Pure: time and memory are arguments.
 */
#ifndef BPFPROF_AGENT_MEMORY_BOUND_H
#define BPFPROF_AGENT_MEMORY_BOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define MEMORY_PAUSE_MIN_NS (300 * NSEC_PER_SEC)
#define MEMORY_PAUSE_MAX_NS (3600 * NSEC_PER_SEC)

enum {
	MEMORY_MAX_DEFAULT_BYTES = 256 << 20, /* where no bound is given */
	MEMORY_CALM_BYTES = 36 << 20,
};

struct memory_bound {
	uint64_t max_bytes; /* anonymous memory; not 0 */
	uint64_t forgot_ns; /* CLOCK_MONOTONIC of the last time; 0: never */
	uint64_t pause_ns; /* from then to the next below the bound */
	bool has_helped; /* the last time: memory has been calm since */
	bool is_beyond; /* the bound, at the last look */
};

enum memory_step {
	MEMORY_KEEP,
	MEMORY_FORGET, /* as it is time */
	MEMORY_FORGET_BEYOND, /* the bound, which was held at the last look */
	MEMORY_SHORT, /* forget; and it did not do at the last look */
};

/* @max_bytes 0: MEMORY_MAX_DEFAULT_BYTES. */
void memory_bound_init(struct memory_bound *bound, uint64_t max_bytes);

/* At CLOCK_MONOTONIC @now_ns there are @rss_bytes of anonymous memory: what is to be done. */
enum memory_step memory_bound_step(struct memory_bound *bound, uint64_t now_ns, uint64_t rss_bytes);

#endif
