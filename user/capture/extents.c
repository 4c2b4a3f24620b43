/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges, first fit. */
#include "capture/extents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static int insert_at(struct extents *extents, size_t at, struct extent extent)
{
	if (array_reserve(&extents->free, &extents->cap, extents->cnt + 1, sizeof(extent)))
		return -ENOMEM;
	memmove(extents->free + at + 1, extents->free + at, (extents->cnt - at) * sizeof(extent));
	extents->free[at] = extent;
	extents->cnt++;
	return 0;
}

static void remove_at(struct extents *extents, size_t at)
{
	extents->cnt--;
	memmove(extents->free + at, extents->free + at + 1,
		(extents->cnt - at) * sizeof(*extents->free));
}

int extents_init(struct extents *extents, uint32_t total, uint32_t block_cnt)
{
	uint32_t step = block_cnt ? block_cnt : total;

	*extents = (struct extents){.block_cnt = block_cnt};
	for (uint32_t first = 0; first < total; first += step) {
		uint32_t cnt = total - first < step ? total - first : step;
		int err = insert_at(extents, extents->cnt, (struct extent){first, cnt});

		if (err)
			return err;
	}
	return 0;
}

void extents_deinit(struct extents *extents)
{
	free(extents->free);
	*extents = (struct extents){0};
}

int64_t extents_alloc(struct extents *extents, uint32_t cnt)
{
	if (!cnt)
		return 0;
	for (size_t i = 0; i < extents->cnt; i++) {
		struct extent *extent = &extents->free[i];
		uint32_t first = extent->first;

		if (extent->cnt < cnt)
			continue;
		extent->first += cnt;
		extent->cnt -= cnt;
		if (!extent->cnt)
			remove_at(extents, i);
		return first;
	}
	return -ENOSPC;
}

int extents_take(struct extents *extents, uint32_t first, uint32_t cnt)
{
	struct extent *extent = extents->free;
	uint32_t before, behind;
	size_t at = 0;

	if (!cnt)
		return 0;
	while (at < extents->cnt && extent[at].first + (uint64_t)extent[at].cnt <= first)
		at++;
	if (at == extents->cnt || extent[at].first > first ||
	    extent[at].first + (uint64_t)extent[at].cnt < first + (uint64_t)cnt)
		return -EBUSY;
	before = first - extent[at].first;
	behind = extent[at].cnt - before - cnt;
	if (before && behind && insert_at(extents, at + 1, (struct extent){first + cnt, behind}))
		return -ENOMEM;
	extent = &extents->free[at];
	if (before)
		extent->cnt = before;
	else if (behind)
		*extent = (struct extent){first + cnt, behind};
	else
		remove_at(extents, at);
	return 0;
}

static int may_merge(const struct extents *extents, const struct extent *left, uint32_t right_first)
{
	return left->first + left->cnt == right_first &&
	       (!extents->block_cnt || right_first % extents->block_cnt);
}

int extents_free(struct extents *extents, uint32_t first, uint32_t cnt)
{
	struct extent *items = extents->free;
	size_t at = 0;

	if (!cnt)
		return 0;
	while (at < extents->cnt && items[at].first < first)
		at++;
	if (at && may_merge(extents, &items[at - 1], first)) {
		items[at - 1].cnt += cnt;
		at--;
	} else if (insert_at(extents, at, (struct extent){first, cnt})) {
		return -ENOMEM;
	}
	items = extents->free;
	if (at + 1 < extents->cnt && may_merge(extents, &items[at], items[at + 1].first)) {
		items[at].cnt += items[at + 1].cnt;
		remove_at(extents, at + 1);
	}
	return 0;
}
