/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sampling by duration: walking a stack costs the same for a wait of a microsecond as for one of a
 * second, so where waits are too many to walk them all, chance decides by their length (threshold
 * sampling: Duffield, Lund, Thorup, "Learn more, sample less", 2005). With a threshold of q ns
 *
 *	a wait of d >= q is always kept, and counts as what it is;
 *	a shorter one is kept with probability d/q, and counts as q ns, or q/d waits.
 *
 * The mean of what it counts as is d (and 1 wait) in either case, whatever q is and whenever it
 * changes, as long as it does not change for a wait that is being decided on: sums are unbiased.
 * The variance of a wait's contribution is d (q - d), nought from q on; where a kept one is said to
 * have q (q - d), and a dropped one none, the mean of that is the same (Horvitz and Thompson,
 * 1952). Of a part of the wait, which is kept with the whole, so is the variance x^2 (1 - d/q),
 * where x is what the part counts as.
 *
 * With --wakers a wait is judged twice: when it has lasted so long, by the waker, and when the
 * thread is back and it has lasted longer. It is one choice, by one number of chance: what the
 * waker keeps stays, and in the end a wait is kept with the probability that its own length has.
 *
 * The threshold follows what the walks have cost of late, so that they take a given share of a
 * CPU's time.
 */
#ifndef BPFPROF_WEIGHT_BPF_H
#define BPFPROF_WEIGHT_BPF_H

enum {
	WEIGHT_PERIOD_NS = 10000000, /* the threshold is looked at so often */
	WEIGHT_FIRST_NS = 1000, /* the smallest threshold but 0 */
	WEIGHT_MAX_NS = 1 << 30,
	WEIGHT_WALK_NS = 300, /* of a kept wait, what is not measured: entry, exit, the measuring */
	WEIGHT_STEP = 8, /* by how much a threshold grows at most in a period; it falls by half */
};

struct bp_weight {
	__u64 since_ns; /* when the period began */
	__u64 spent_ns; /* in it, on walks */
	__u32 threshold_ns; /* at most WEIGHT_MAX_NS; 0: all waits are kept */
	__u32 random; /* state of the generator; 0: not seeded */
};

/* Whether a wait is kept: with the number of chance that it got, under the threshold of then. */
struct bp_choice {
	__u32 draw; /* 0: not made yet */
	__u32 threshold_ns;
};

struct bp_counted {
	__u64 waits, blocked_ns, runnable_ns;
	__u64 variance; /* of blocked_ns */
};

/* Marsaglia's xorshift: 13, 17, 5. Never 0. */
static __always_inline __u32 weight_random(struct bp_weight *weight)
{
	__u32 x = weight->random;

	if (!x)
		x = bpf_get_prandom_u32() | 1;
	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	weight->random = x;
	return x;
}

/* Made for a wait, of whatever length it will be. */
static __always_inline struct bp_choice weight_choose(struct bp_weight *weight)
{
	return (struct bp_choice){weight_random(weight), weight->threshold_ns};
}

/* Is the wait kept if it is one of @ns? If so, a longer one is, too. */
static __always_inline bool weight_keeps(const struct bp_choice *choice, __u64 ns)
{
	return ns >= choice->threshold_ns ||
	       ((__u64)choice->draw * choice->threshold_ns >> 32) < ns;
}

/* What @part, at most @ns, of a kept wait of @ns counts as under @threshold: part * threshold / ns,
 * rounded by chance. */
static __always_inline __u64 weight_scale(struct bp_weight *weight, __u64 part, __u64 ns,
					  __u32 threshold)
{
	__u64 scaled, rest;

	if (ns >= threshold || !ns)
		return part;
	part *= threshold;
	scaled = part / ns;
	rest = part - scaled * ns;
	return scaled + (((__u64)weight_random(weight) * ns >> 32) < rest);
}

/* Its variance, rounded up, in units of 1 << BP_VARIANCE_SHIFT; @scaled: of weight_scale(). */
static __always_inline __u64 weight_variance(__u64 scaled, __u64 ns, __u32 threshold)
{
	__u64 rest;

	if (ns >= threshold || !ns)
		return 0;
	rest = scaled * (threshold - ns) / threshold + 1;
	return (scaled * rest >> BP_VARIANCE_SHIFT) + 1;
}

/* What a kept wait counts as. */
static __always_inline struct bp_counted weight_count(struct bp_weight *weight, __u64 blocked_ns,
						      __u64 runnable_ns, __u32 threshold)
{
	__u64 ns = blocked_ns + runnable_ns;
	struct bp_counted counted;

	counted.waits = weight_scale(weight, 1, ns, threshold);
	counted.blocked_ns = weight_scale(weight, blocked_ns, ns, threshold);
	counted.runnable_ns = weight_scale(weight, ns, ns, threshold) - counted.blocked_ns;
	counted.variance = weight_variance(counted.blocked_ns, ns, threshold);
	return counted;
}

/* The threshold after a period of @elapsed_ns in which walks took @spent_ns of the @budget/1024
 * that they may. */
static __always_inline __u32 weight_adapt(__u32 threshold, __u64 spent_ns, __u64 elapsed_ns,
					  __u32 budget)
{
	__u64 may_ns = (elapsed_ns >> 10) * budget, next = threshold;

	if (!may_ns)
		may_ns = 1;
	if (spent_ns > may_ns) {
		if (next < WEIGHT_FIRST_NS)
			next = WEIGHT_FIRST_NS;
		else if (spent_ns > may_ns * WEIGHT_STEP)
			next *= WEIGHT_STEP;
		else
			next = next * (spent_ns * 64 / may_ns) / 64 + 1;
	} else if (spent_ns < may_ns - may_ns / 8) {
		/* It is looked at when a wait is kept, and after a burst that is rarely. */
		next = 2 * spent_ns > may_ns ? next * (spent_ns * 64 / may_ns) / 64 : next / 2;
		if (next < WEIGHT_FIRST_NS)
			next = 0;
	}
	return next < WEIGHT_MAX_NS ? next : WEIGHT_MAX_NS;
}

/* A walk that ended at @now_ns has taken @ns. */
static __always_inline void weight_spend(struct bp_weight *weight, __u64 ns, __u64 now_ns,
					 __u32 budget)
{
	__u64 elapsed = now_ns - weight->since_ns;

	weight->spent_ns += ns + WEIGHT_WALK_NS;
	/* A burst is answered before the period is over. */
	if (elapsed < WEIGHT_PERIOD_NS &&
	    weight->spent_ns < 2 * ((__u64)WEIGHT_PERIOD_NS * budget >> 10))
		return;
	weight->threshold_ns =
		weight_adapt(weight->threshold_ns, weight->spent_ns, elapsed, budget);
	weight->spent_ns = 0;
	weight->since_ns = now_ns;
}

#endif
