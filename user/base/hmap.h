/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash index: 64-bit hash -> u32 index into an array that the owner keeps. Open addressing, linear
 * probing, load <= 1/2. It stores (hash, index) and knows nothing of the elements; equality is the
 * caller's callback, asked only where all 64 bits of the hash agree.
 */
#ifndef BPFPROF_BASE_HMAP_H
#define BPFPROF_BASE_HMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HMAP_NONE = UINT32_MAX };

struct hmap_slot {
	uint64_t hash;
	uint32_t index; /* HMAP_NONE: free */
};

struct hmap {
	struct hmap_slot *slots; /* owned */
	size_t mask; /* capacity - 1, or 0 while empty */
	size_t cnt;
};

/* Is element @index of the owner's array equal to @key? @owner and @key are what hmap_find() was
 * given. */
typedef bool hmap_eq_fn(const void *owner, uint32_t index, const void *key);

void hmap_init(struct hmap *map); /* allocates nothing */
void hmap_deinit(struct hmap *map);
void hmap_clear(struct hmap *map); /* forget all, keep the memory */

/* The index stored under (@hash, @key), or HMAP_NONE. */
uint32_t hmap_find(const struct hmap *map, uint64_t hash, hmap_eq_fn *equal, const void *owner,
		   const void *key);

/* Store @index under @hash; the caller knows that the key is absent. Returns 0 or -ENOMEM. */
int hmap_insert(struct hmap *map, uint64_t hash, uint32_t index);

/* 64-bit hash of bytes (XXH3), and a cheap mix of one word into another. */
uint64_t hash_bytes(const void *data, size_t len);

static inline uint64_t hash_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 32);
}

#endif
