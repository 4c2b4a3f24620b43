/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often to sample, and how many stacks of waits, so that the whole of what the agent costs
 * stays under a bound on any load.
 *
 * At the end of each window it is told what share of the machine's CPU time the window took, in all
 * and of it the BPF programs of the clock and of waits. Above the bound the one of the two that
 * costs more is lowered at once:
 *
 *	the clock	half the frequency, down to RATE_MIN_HZ
 *	waits		half the time for their stacks, where that can do; else they are given
 *			up: a storm of context switches costs per switch, not per stack
 *
 * and where it has nothing left to lower, the other one. Each comes back by itself: under 3/4 of
 * the bound, with what its next step up is expected to cost, it takes that step after its quiet
 * time; where both may, what costs less. Of a clock, and of waits that are recorded, the cost of a
 * step is known; waits that were given up are expected to cost per context switch of the machine
 * what they did then: in a storm of switches they are not tried again, after it they are. Each time
 * that a step up is taken back soon, the quiet time doubles, up to RATE_QUIET_MAX_NS, so that a
 * steady load makes no seesaw; each one that stands halves it, as the load has changed.
 *
 * Pure: time and costs are arguments.
 */
#ifndef BPFPROF_AGENT_RATE_H
#define BPFPROF_AGENT_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define RATE_QUIET_MIN_NS (30 * NSEC_PER_SEC)
#define RATE_QUIET_MAX_NS (900 * NSEC_PER_SEC)

enum { RATE_MIN_HZ = 1, RATE_MIN_PERMILLE = 1 };

struct rate_opts {
	uint64_t max_hz; /* what was asked for */
	double max_share; /* of the machine's CPU time: 0.01 is 1 %; 1 and more: no bound */
	uint32_t max_permille; /* of each CPU's time for stacks of waits; 0: no waits were asked
				  for */
};

/* What a window took: shares of the machine's CPU time. */
struct rate_cost {
	double all;
	double clock, waits; /* of all: the programs of each */
	double switches; /* context switches of the machine per second; 0: not known */
};

/* When one of the two may go up. */
struct rate_ladder {
	uint64_t quiet_ns; /* this long with room before a step up */
	uint64_t calm_since_ns; /* CLOCK_MONOTONIC since when there is room; 0: there is none */
	/* CLOCK_MONOTONIC of the last step up; 0: never, or a step down since */
	uint64_t raised_ns;
};

struct rate {
	struct rate_opts opts;
	uint64_t hz; /* in force */
	uint32_t permille; /* in force, for stacks of waits; 0: none are recorded */
	struct rate_ladder clock, waits;
	double waits_per_switch; /* what they cost when they were given up, by cost.switches */
	bool is_told; /* that nothing is left to lower */
};

enum rate_step {
	RATE_KEEP,
	RATE_LOWERED,
	RATE_RAISED,
	RATE_WAITS_LESS, /* stacks of them */
	RATE_WAITS_MORE,
	RATE_WAITS_OFF,
	RATE_WAITS_ON,
	RATE_STUCK, /* above the bound, and nothing is left to lower: told once */
};

void rate_init(struct rate *rate, const struct rate_opts *opts);

/*
 * The window that ended at CLOCK_MONOTONIC @now_ns took @cost; @is_short_of_memory: lower what
 * costs more, whatever it is. Changes @rate->hz and @rate->permille.
 */
enum rate_step rate_step(struct rate *rate, uint64_t now_ns, const struct rate_cost *cost,
			 bool is_short_of_memory);

#endif
