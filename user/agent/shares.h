/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What share of each service's samples in a window is stored, by the policy in force, and what
 * those that are stored count for.
 *
 * Of N samples a share p is stored: row by row n p of its n, the fraction being carried on to the
 * next row, and what carries begins with a chance. So of each row n p are stored on average, and of
 * all N the next integer to N p (systematic sampling: Madow, "On the theory of systematic
 * sampling", 1944). A row's values are times k / (n p) then, for the k of its samples that are
 * stored, and divided by the chance that the hour had; fractions of them are carried likewise. Each
 * sum of values is thus right on average.
 */
#ifndef BPFPROF_AGENT_SHARES_H
#define BPFPROF_AGENT_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/policy.h"
#include "profile/profile.h"
#include "store/store.h"

struct shares_opts {
	const struct policy *policy;
	struct policy_facts facts;
	uint64_t now_ns; /* UTC: whose hour it is */
	uint64_t duration_ns; /* of the window; 0: not known, and no target is held */
	double clock_hz; /* at which the first kind was sampled; 0: not known */
	uint32_t waits_kind; /* index of the kind that has waits; PROFILE_NONE: none */
	uint64_t seed; /* another one for each window */
};

/* Of a service. */
struct share {
	uint32_t service; /* its name: string of the profile that is made */
	struct policy_verdict verdict;
	uint64_t seen[STORE_KINDS_MAX]; /* samples, by kind */
	double carried[PROFILE_VALUES_MAX]; /* by value of the profile; in [0, 1) */
};

struct shares {
	struct shares_opts opts; /* borrows */
	struct share *items; /* owned */
	size_t cnt, cap;
};

void shares_init(struct shares *shares, const struct shares_opts *opts);
void shares_deinit(struct shares *shares);

/* The index of the one of @name, whose string is @service; PROFILE_NONE: memory is out. */
uint32_t shares_find(struct shares *shares, uint32_t service, const char *name);

/* So many samples of kind @kind are there; all are told before the first is taken. */
void shares_count(struct shares *shares, uint32_t share, uint32_t kind, int64_t cnt);

/*
 * @values of a row, by value of the profile, of which those of kind @nr, described by @kind, become
 * what is stored; the number of samples that are not. Whole rows are left 0.
 */
uint64_t shares_take(struct shares *shares, uint32_t share, uint32_t nr,
		     const struct store_kind *kind, int64_t *values);

#endif
