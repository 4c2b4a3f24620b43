/* SPDX-License-Identifier: Apache-2.0 */
/* Searching sorted addresses. Private to symbol/. */
#ifndef BPFPROF_SYMBOL_ADDRESSES_H
#define BPFPROF_SYMBOL_ADDRESSES_H

#include <stddef.h>
#include <stdint.h>

/* How many of the @cnt @addresses (ascending) lie before @limit. */
static inline size_t addresses_before(const uint64_t *addresses, size_t cnt, uint64_t limit)
{
	const uint64_t *base = addresses;
	size_t left = cnt;

	while (left > 1) {
		size_t half = left / 2;

		/* No branch: half of them would be mispredicted, for each entry of a list. */
		base += base[half - 1] < limit ? half : 0;
		left -= half;
	}
	return (size_t)(base - addresses) + (left && *base < limit);
}

#endif
