/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How surely two measurements differ: tails of distributions, control of many tests at once, and
 * the rank test for a handful of runs. Pure arithmetic; nothing is drawn by chance.
 */
#ifndef BPFPROF_PROFILE_SIGNIFICANCE_H
#define BPFPROF_PROFILE_SIGNIFICANCE_H

#include <stddef.h>

/* What is called significant: at most this share of what is told may be chance. */
#define SIGNIFICANCE_LEVEL 0.05

/*
 * Two-sided tail of Student's t with @df degrees of freedom (INFINITY: the normal distribution):
 * how often chance alone gives |t| >= |@t|. 1 for NaN.
 */
double significance_tail(double t, double df);

/* The t beyond which only a share of SIGNIFICANCE_LEVEL lies, both tails together; 1.96 for
 * INFINITY. */
double significance_bound(double df);

/*
 * Benjamini and Hochberg 1995: make each of @cnt p-values the smallest false discovery rate at
 * which it would be told. NaN stands for "not tested", is left alone and does not count. 0 or
 * -ENOMEM.
 */
int significance_adjust(double *values, size_t cnt);

/* What changed between two sets of runs. */
struct significance_shift {
	double before, after; /* medians */
	double shift; /* median of all differences (Hodges and Lehmann 1963) */
	double low, high; /* its interval at 1 - SIGNIFICANCE_LEVEL; NaN: too few runs for one */
	double p; /* Mann and Whitney's test, exact, two-sided */
};

enum { SIGNIFICANCE_RUNS_MAX = 100 };

/*
 * Compare @before and @after, 1 to SIGNIFICANCE_RUNS_MAX values each, which are sorted by the call.
 * The distribution of the rank sum is counted out exactly as if there were no ties; ties count
 * half. 0 or -ENOMEM.
 */
int significance_compare(double *before, size_t before_cnt, double *after, size_t after_cnt,
			 struct significance_shift *out);

#endif
