/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which bucket a block lies in. Arithmetic alone, for the host build as well. */
#ifndef BPFPROF_HEAP_PLACE_BPF_H
#define BPFPROF_HEAP_PLACE_BPF_H

/*
 * The bucket of @key, of @mask + 1, which is a power of two. Blocks of one size lie at equal
 * distances, and a product alone maps some of those to few buckets: by bits from its middle half of
 * a million blocks of 32 bytes found no room, by its uppermost ones those of 496. So the upper half
 * is mixed into the lower one before a second product.
 */
static __always_inline __u32 heap_place(__u64 key, __u32 mask)
{
	__u64 hash = key * 0x9e3779b97f4a7c15ULL;

	hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15ULL;
	return (hash >> 32) * (mask + 1ULL) >> 32;
}

#endif
