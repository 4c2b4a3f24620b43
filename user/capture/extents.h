/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator of ranges in arrays that we do not own the layout of: the kernel side's rows, pages
 * and rules. First fit, neighbours merged. */
#ifndef BPFPROF_CAPTURE_EXTENTS_H
#define BPFPROF_CAPTURE_EXTENTS_H

#include <stddef.h>
#include <stdint.h>

struct extent {
	uint32_t first, cnt;
};

struct extents {
	struct extent *free; /* owned, ascending, never adjacent unless a barrier lies between */
	size_t cnt, cap;
	uint32_t block_cnt; /* no range crosses a multiple of it; 0: no barriers */
};

/* Everything from 0 to @total is free. 0 or -ENOMEM. */
int extents_init(struct extents *extents, uint32_t total, uint32_t block_cnt);
void extents_deinit(struct extents *extents);

/* The first of @cnt consecutive elements, now taken; -ENOSPC when no range is long enough. @cnt 0
 * gives 0. */
int64_t extents_alloc(struct extents *extents, uint32_t cnt);

/* Take @cnt elements from @first on, which were handed out before there was this allocator. 0;
 * -EBUSY: not all of them are free, nothing is taken; -ENOMEM. */
int extents_take(struct extents *extents, uint32_t first, uint32_t cnt);

/* Give back what extents_alloc() gave. 0 or -ENOMEM (the range is then lost until the end). */
int extents_free(struct extents *extents, uint32_t first, uint32_t cnt);

#endif
