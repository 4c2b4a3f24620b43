/* SPDX-License-Identifier: Apache-2.0 */
/* Hash index: 64-bit hash -> u32 index into an array that the owner keeps. */
#include "base/hmap.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/huge_pages.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { HMAP_FIRST_CAP = 16 };

void hmap_init(struct hmap *map)
{
	*map = (struct hmap){.slots = NULL};
}

void hmap_deinit(struct hmap *map)
{
	free(map->slots);
	hmap_init(map);
}

static size_t hmap_cap(const struct hmap *map)
{
	return map->slots ? map->mask + 1 : 0;
}

void hmap_clear(struct hmap *map)
{
	for (size_t i = 0; i < hmap_cap(map); i++)
		map->slots[i].index = HMAP_NONE;
	map->cnt = 0;
}

uint32_t hmap_find(const struct hmap *map, uint64_t hash, hmap_eq_fn *equal, const void *owner,
		   const void *key)
{
	if (!map->cnt)
		return HMAP_NONE;
	/* Ends: at most half of the slots are taken. */
	for (size_t i = hash & map->mask;; i = (i + 1) & map->mask) {
		const struct hmap_slot *slot = &map->slots[i];

		if (slot->index == HMAP_NONE)
			return HMAP_NONE;
		if (slot->hash == hash && equal(owner, slot->index, key))
			return slot->index;
	}
}

static void place(struct hmap *map, struct hmap_slot slot)
{
	size_t i = slot.hash & map->mask;

	/* NOLINTNEXTLINE(clang-analyzer-core.*): hmap_grow() sets all of the mask + 1 slots. */
	while (map->slots[i].index != HMAP_NONE)
		i = (i + 1) & map->mask;
	map->slots[i] = slot;
	map->cnt++;
}

static int hmap_grow(struct hmap *map)
{
	size_t old_cap = hmap_cap(map), bytes;
	size_t cap = old_cap ? old_cap * 2 : HMAP_FIRST_CAP;
	struct hmap grown = {.mask = cap - 1};

	if (__builtin_mul_overflow(cap, sizeof(*grown.slots), &bytes))
		return -ENOMEM;
	grown.slots = malloc(bytes);
	if (!grown.slots)
		return -ENOMEM;
	huge_pages_prefer(grown.slots, bytes);
	for (size_t i = 0; i < cap; i++)
		grown.slots[i] = (struct hmap_slot){.index = HMAP_NONE};
	for (size_t i = 0; i < old_cap; i++) {
		if (map->slots[i].index != HMAP_NONE)
			place(&grown, map->slots[i]);
	}
	free(map->slots);
	*map = grown;
	return 0;
}

int hmap_insert(struct hmap *map, uint64_t hash, uint32_t index)
{
	int err;

	assert(index != HMAP_NONE);
	if ((map->cnt + 1) * 2 > hmap_cap(map)) {
		err = hmap_grow(map);
		if (err)
			return err;
	}
	place(map, (struct hmap_slot){.hash = hash, .index = index});
	return 0;
}

uint64_t hash_bytes(const void *data, size_t len)
{
	return XXH3_64bits(data, len);
}
