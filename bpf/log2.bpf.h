/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Powers of two, for histograms. */
#ifndef BPFPROF_LOG2_BPF_H
#define BPFPROF_LOG2_BPF_H

/* The power of two that @value has reached; 0 for 0. */
static __always_inline __u32 log2_of(__u64 value)
{
	__u32 log2 = 0;

	if (value >> 32) {
		value >>= 32;
		log2 = 32;
	}
#pragma unroll
	for (__u32 shift = 16; shift; shift >>= 1) {
		if (value >> shift) {
			value >>= shift;
			log2 += shift;
		}
	}
	return log2 < BP_LOG2_CNT ? log2 : BP_LOG2_CNT - 1;
}

#endif
