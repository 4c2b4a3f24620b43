/* SPDX-License-Identifier: Apache-2.0 */
/* Binary search in what is sorted. */
#ifndef BPFPROF_BASE_SEARCH_H
#define BPFPROF_BASE_SEARCH_H

#include <stddef.h>

/*
 * For how many of the first of @cnt items @is_before holds, an expression of @index (a name that
 * the macro declares, size_t), true for some items from the first on and for none behind them:
 *
 *	size_t cnt = SEARCH_CNT(i, map->cnt, map->pieces[i].lo <= vaddr);
 *
 * are the pieces that begin at or before vaddr; the last of these is at cnt - 1. With < instead,
 * cnt is where vaddr is, or would have to be inserted. @is_before is asked O(log @cnt) times.
 */
#define SEARCH_CNT(index, cnt, is_before)                                           \
	({                                                                          \
		size_t search_low = 0, search_high = (cnt);                         \
                                                                                    \
		while (search_low < search_high) {                                  \
			size_t index = search_low + (search_high - search_low) / 2; \
                                                                                    \
			if (is_before)                                              \
				search_low = index + 1;                             \
			else                                                        \
				search_high = index;                                \
		}                                                                   \
		search_low;                                                         \
	})

#endif
