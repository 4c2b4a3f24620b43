/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often to sample, so that the whole of what the agent costs stays under a bound on any load.
 *
 * At the end of each window it is told what share of the machine's CPU time the window took, BPF
 * programs and our own threads together. Above the bound the frequency is halved at once, down to
 * RATE_MIN_HZ; where that does not do (a storm of context switches costs per switch, not per
 * sample), waits are given up. Under 3/4 of what the next step is expected to cost it goes up again
 * after `quiet_ns`: waits first, then the frequency by half. Each time that a step up is taken back
 * soon, the quiet time doubles, up to an hour, so that a steady load makes no seesaw.
 *
 * Pure: time and costs are arguments.
 */
#ifndef BPFPROF_AGENT_RATE_H
#define BPFPROF_AGENT_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define RATE_QUIET_MIN_NS (30 * NSEC_PER_SEC)
#define RATE_QUIET_MAX_NS (3600 * NSEC_PER_SEC)

enum { RATE_MIN_HZ = 1 };

struct rate_opts {
	uint64_t max_hz; /* what was asked for */
	double max_share; /* of the machine's CPU time: 0.01 is 1 %; 1 and more: no bound */
	bool has_waits; /* they were asked for */
};

struct rate {
	struct rate_opts opts;
	uint64_t hz; /* in force */
	bool waits; /* recorded */
	uint64_t quiet_ns; /* this long under the bound before a step up */
	uint64_t calm_since_ns; /* CLOCK_MONOTONIC since when it is under the bound; 0: it is not */
	uint64_t
		raised_ns; /* CLOCK_MONOTONIC of the last step up; 0: never, or a step down since */
	bool is_told; /* that nothing is left to lower */
};

enum rate_step {
	RATE_KEEP,
	RATE_LOWERED,
	RATE_RAISED,
	RATE_WAITS_OFF,
	RATE_WAITS_ON,
	RATE_STUCK, /* above the bound, and nothing is left to lower: told once */
};

void rate_init(struct rate *rate, const struct rate_opts *opts);

/*
 * The window that ended at CLOCK_MONOTONIC @now_ns took @share of the machine's CPU time;
 * @is_short_of_memory: lower it whatever the share is. Changes @rate->hz and @rate->waits.
 */
enum rate_step rate_step(struct rate *rate, uint64_t now_ns, double share, bool is_short_of_memory);

#endif
