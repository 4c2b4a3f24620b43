/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sampling of allocations by bytes: a Poisson process over the bytes that a thread asks for, with
 * one point in rate_bytes on average. An allocation that a point falls into is recorded; that is
 * one of s bytes with probability p = 1 - exp(-s / rate), so it counts as 1/p objects and s/p
 * bytes, and sums are unbiased (Horvitz and Thompson, 1952; gperftools and Go sample the same way).
 * The variance of such an estimate of bytes is the sum over all allocations of s^2 (1 - p) / p,
 * whose own estimate from those recorded is the sum of s^2 (1 - p) / p^2.
 *
 * Example, rate 512 KiB: one of 64 bytes has p = 1/8192.5, and counts as 8192.5 objects of 64
 * bytes; one of 4 MiB has p = 0.99966 and counts as what it is.
 *
 * Arithmetic alone, for the host build as well.
 */
#ifndef BPFPROF_HEAP_CHANCE_BPF_H
#define BPFPROF_HEAP_CHANCE_BPF_H

enum { CHANCE_LOG2_BITS = 20 };

/* -log2(@draw / 2^32) in units of 1 / 2^CHANCE_LOG2_BITS; @draw is not 0. One bit of the fraction
 * for each time that the mantissa is squared. */
static __always_inline __u64 chance_minus_log2(__u32 draw)
{
	__u64 mantissa = draw, log2 = 31;

	for (int shift = 16; shift; shift >>= 1) {
		if (!(mantissa >> (32 - shift))) {
			mantissa <<= shift;
			log2 -= shift;
		}
	}
	/* mantissa / 2^31 is in [1, 2). */
	for (int i = 0; i < CHANCE_LOG2_BITS; i++) {
		mantissa = mantissa * mantissa >> 31;
		log2 <<= 1;
		if (mantissa >> 32) {
			mantissa >>= 1;
			log2 |= 1;
		}
	}
	return ((__u64)32 << CHANCE_LOG2_BITS) - log2;
}

/* Bytes to the next point, by a random number: exponential, with mean @rate (below 2^38). */
static __always_inline __u64 chance_gap(__u32 draw, __u64 rate)
{
	const __u64 ln2 = 726817; /* ln 2 * 2^20 */
	__u64 gap = chance_minus_log2(draw | 1) * ln2 >> CHANCE_LOG2_BITS;

	return (gap * rate >> CHANCE_LOG2_BITS) + 1;
}

/*
 * 1 - exp(-@bytes / @rate) in units of 1 / 2^32, at least 1. The series of a small enough part of
 * the exponent, then 1 - e^-2y = q (2 - q), where q = 1 - e^-y.
 */
static __always_inline __u64 chance_of(__u64 bytes, __u64 rate)
{
	const __u64 one = 1ULL << 32;
	__u32 halvings = 0;
	__u64 y, q;

	if (bytes / 22 >= rate)
		return one;
	y = (bytes << 20) / rate << 12 | ((bytes << 20) % rate << 12) / rate;
	for (int i = 0; i < 12; i++) {
		if (y <= one >> 6)
			break;
		y >>= 1;
		halvings++;
	}
	q = y - (y * y >> 33) + ((y * y >> 32) * y / 6 >> 32);
	for (int i = 0; i < 12; i++) {
		if ((__u32)i >= halvings)
			break;
		q = (q >> 1) * (2 * one - q) >> 31;
	}
	return q ? q : 1;
}

/* What a recorded allocation of @bytes counts as: objects in units of 1 / 2^BP_HEAP_UNIT_BITS. */
static __always_inline __u64 chance_objects(__u64 bytes, __u64 rate)
{
	return ((__u64)1 << (32 + BP_HEAP_UNIT_BITS)) / chance_of(bytes ? bytes : 1, rate);
}

/* The variance of the bytes that @objects of @bytes each stand for one: in units of 2^20. */
static __always_inline __u64 chance_variance(__u64 objects, __u64 bytes)
{
	__u64 more = objects - (1 << BP_HEAP_UNIT_BITS), sum = objects * bytes >> BP_HEAP_UNIT_BITS;

	if ((__s64)more <= 0)
		return 0;
	return (sum >> 4) * (more * bytes >> (BP_HEAP_UNIT_BITS + 4)) >> 12;
}

#endif
