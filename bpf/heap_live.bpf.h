/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of live blocks: buckets of seven keys in a cache line, so that to find a block, or that
 * it is not there, costs one miss of the cache. A block whose bucket is full lies in one of the
 * next fifteen, and the bucket counts those, so that nobody looks there in vain. Slots are taken by
 * compare-and-exchange; a block is put in before its address is known to the program and taken out
 * before it is free, so that there is never more than one who wants the same key.
 */
#ifndef BPFPROF_HEAP_LIVE_BPF_H
#define BPFPROF_HEAP_LIVE_BPF_H

const volatile struct bp_heap_config heap_cfg;

/* At load: heap_cfg.bucket_mask + 1; blocks: 8 times that. */
BP_ARRAY(heap_buckets, struct bp_heap_bucket, BPF_F_MMAPABLE);
BP_ARRAY(heap_blocks, struct bp_heap_block, BPF_F_MMAPABLE);

static __always_inline struct bp_heap_bucket *live_bucket(__u64 key, __u32 spill, __u32 *nr)
{
	*nr = (heap_place(key, heap_cfg.bucket_mask) + spill) & heap_cfg.bucket_mask;
	return bpf_map_lookup_elem(&heap_buckets, nr);
}

static __always_inline struct bp_heap_block *live_block(__u32 bucket, __u32 i)
{
	__u32 at = bucket * 8 + i;

	return bpf_map_lookup_elem(&heap_blocks, &at);
}

static __always_inline void live_count_spilled(__u64 key, __s64 more)
{
	__u32 nr;
	struct bp_heap_bucket *home = live_bucket(key, 0, &nr);

	if (home)
		__sync_fetch_and_add(&home->spilled, more);
}

/* Take the block @key out into *@out. False: it is not in the table. */
static __always_inline bool live_take(__u64 key, struct bp_heap_block *out)
{
	for (__u32 spill = 0; spill < BP_HEAP_SPILL; spill++) {
		__u32 nr;
		struct bp_heap_bucket *bucket = live_bucket(key, spill, &nr);

		if (!bucket)
			return false;
		for (__u32 i = 0; i < BP_HEAP_BUCKET_KEYS; i++) {
			struct bp_heap_block *block;

			if (bucket->keys[i] != key)
				continue;
			block = live_block(nr, i);
			if (!block)
				return false;
			*out = *block;
			block->is_set = 0;
			*(volatile __u64 *)&bucket->keys[i] = 0;
			if (spill)
				live_count_spilled(key, -1);
			return true;
		}
		if (!spill && !bucket->spilled)
			return false;
	}
	return false;
}

/* Put it in. False: there is no room. */
static __always_inline bool live_put(__u64 key, const struct bp_heap_block *from)
{
	for (__u32 spill = 0; spill < BP_HEAP_SPILL; spill++) {
		__u32 nr;
		struct bp_heap_bucket *bucket = live_bucket(key, spill, &nr);

		if (!bucket)
			return false;
		for (__u32 i = 0; i < BP_HEAP_BUCKET_KEYS; i++) {
			struct bp_heap_block *block;

			if (bucket->keys[i] ||
			    __sync_val_compare_and_swap(&bucket->keys[i], 0, key))
				continue;
			block = live_block(nr, i);
			if (!block)
				return false;
			*block = *from;
			if (spill)
				live_count_spilled(key, 1);
			return true;
		}
	}
	return false;
}

#endif
