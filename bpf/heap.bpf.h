/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The heap: who allocates how much, what of it is live, and what was when the process had most.
 *
 * A site is a stack of a process' thread (what --by tells apart), with sums that only userspace
 * reads. A block that is allocated adds to its site and is put into the table of live ones; when it
 * is freed it is found there, and its site is told. So a table of sites does not depend on epochs,
 * only the stacks go to userspace by the way that all stacks go, once each.
 *
 * Each site's share of the peak, without replay: a process counts its peaks (peak_nr), which are
 * the moments after an allocation when it has more live than ever. What a site has live changes
 * only when it allocates or frees. So before it changes we look: if there were peaks since it
 * changed last, then at the last of them it had what it has now. It is noted with the number of
 * the peaks so far, and userspace settles those that have not changed since. Example, blocks of A
 * and B:
 *
 *	       live  peak_nr   A live, at peak (seen)    B live, at peak (seen)
 *	A +10    10     1          10  -                      0  -
 *	B + 5    15     2          10  -                      5  -
 *	A -10     5     2           0  10 (2)                 5  -
 *	B + 9    14     2           0  10 (2)                14  5 (2)
 *	end: settled            A 10                      B 5 (seen 2 is the last), 15 in sum
 *
 * One thread's numbers are exact. Of threads that allocate in the same moment on several CPUs one
 * may see the other's sum of the process and not yet its site: the parts of a peak then are off by
 * what is being allocated in that moment, at most one block for each CPU; everything else is exact.
 */
#ifndef BPFPROF_HEAP_BPF_H
#define BPFPROF_HEAP_BPF_H

/* At load: heap_cfg.site_cnt, and twice as many. */
BP_ARRAY(heap_sites, struct bp_heap_site, BPF_F_MMAPABLE);
BP_ARRAY(heap_site_index, __u64, BPF_F_MMAPABLE);
/* At load: BP_HEAP_PROCS */
BP_ARRAY(heap_procs, struct bp_heap_proc, BPF_F_MMAPABLE);
BP_ARRAY(heap_ctl, struct bp_heap_ctl, BPF_F_MMAPABLE);

/* Process number -> index of heap_procs. Userspace puts those in that it attaches to. At load:
 * BP_HEAP_PROCS */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} heap_proc_of SEC(".maps");

/* Processes that come: not behind samples, because theirs begin at once. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16);
} heap_ring SEC(".maps");

/* --heap=sites; struct bp_heap_pair -> its sum. At load. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct bp_heap_pair);
	__type(value, struct bp_heap_pair_sum);
} heap_pairs SEC(".maps");

static __always_inline struct bp_heap_proc *heap_proc(__u32 nr)
{
	return bpf_map_lookup_elem(&heap_procs, &nr);
}

static __always_inline struct bp_heap_site *heap_site(__u32 nr)
{
	return bpf_map_lookup_elem(&heap_sites, &nr);
}

static __always_inline struct bp_heap_ctl *heap_control(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&heap_ctl, &zero);
}

/* What a block of @bytes that was recorded counts as. */
static __always_inline __u64 heap_objects(__u64 bytes)
{
	return heap_cfg.rate_bytes ? chance_objects(bytes, heap_cfg.rate_bytes) : 1;
}

static __always_inline __u64 heap_bytes(__u64 objects, __u64 bytes)
{
	return heap_cfg.rate_bytes ? objects * bytes >> BP_HEAP_UNIT_BITS : bytes;
}

/* Before what the site has live changes. */
static __always_inline void site_settle(struct bp_heap_site *site, const struct bp_heap_proc *proc)
{
	__u64 peak_nr = *(volatile __u64 *)&proc->peak_nr;

	if (site->peak_nr == peak_nr)
		return;
	site->peak_objects = site->alloc_objects - site->freed_objects;
	site->peak_bytes = site->alloc_bytes - site->freed_bytes;
	site->peak_nr = peak_nr;
}

static __always_inline void proc_grow(struct bp_heap_proc *proc, __u64 objects, __u64 bytes)
{
	__u64 live = __sync_fetch_and_add(&proc->live_bytes, bytes) + bytes;

	__sync_fetch_and_add(&proc->live_objects, objects);
	if ((__s64)live <= (__s64)proc->peak_bytes)
		return;
	proc->peak_bytes = live;
	proc->peak_objects = proc->live_objects;
	__sync_fetch_and_add(&proc->peak_nr, 1);
}

/* @block, just recorded, is @proc's. @is_live: it is in the table. */
static __always_inline void heap_account_alloc(struct bp_heap_proc *proc,
					       const struct bp_heap_block *block, bool is_live)
{
	__u64 objects = heap_objects(block->bytes), bytes = heap_bytes(objects, block->bytes);
	struct bp_heap_site *site = heap_site(block->site);

	if (!site)
		return;
	site_settle(site, proc);
	__sync_fetch_and_add(&site->alloc_objects, objects);
	__sync_fetch_and_add(&site->alloc_bytes, bytes);
	if (heap_cfg.rate_bytes)
		__sync_fetch_and_add(&site->variance, chance_variance(objects, block->bytes));
	if (is_live) {
		proc_grow(proc, objects, bytes);
		return;
	}
	__sync_fetch_and_add(&site->freed_objects, objects);
	__sync_fetch_and_add(&site->freed_bytes, bytes);
}

/* @block was taken out of the table. */
static __always_inline void heap_account_free(struct bp_heap_proc *proc,
					      const struct bp_heap_block *block, bool is_temporary)
{
	__u64 objects = heap_objects(block->bytes), bytes = heap_bytes(objects, block->bytes);
	struct bp_heap_site *site = heap_site(block->site);
	__u32 lifetime;

	if (!site)
		return;
	site_settle(site, proc);
	lifetime = bp_heap_lifetime(log2_of(bpf_ktime_get_ns() - block->born_ns));
	__sync_fetch_and_add(&site->freed_objects, objects);
	__sync_fetch_and_add(&site->freed_bytes, bytes);
	__sync_fetch_and_add(&site->lifetimes[lifetime & (BP_HEAP_LIFETIMES - 1)], objects);
	if (is_temporary)
		__sync_fetch_and_add(&site->temporary, objects);
	__sync_fetch_and_add(&proc->live_bytes, -bytes);
	__sync_fetch_and_add(&proc->live_objects, -objects);
}

/* A new number for the process @tgid; 0: there is none left. */
static __always_inline __u32 proc_new(__u32 tgid, __u64 start_ns)
{
	struct bp_heap_ctl *control = heap_control();
	struct bp_heap_proc *proc;
	__u32 nr;

	if (!control)
		return 0;
	nr = __sync_fetch_and_add(&control->proc_cnt, 1);
	proc = nr < BP_HEAP_PROCS ? heap_proc(nr) : NULL;
	if (!nr || !proc) {
		__sync_fetch_and_add(&control->proc_cnt, -1);
		__sync_fetch_and_add(&control->procs_full, 1);
		return 0;
	}
	proc->tgid = tgid;
	proc->start_ns = start_ns;
	return nr;
}

/* The identity of the stack in the slot: its frames, whose it is, of which process. Never 0. */
static __always_inline __u64 site_hash(const struct bp_scratch *s, __u32 proc)
{
	__u64 hash = hash_mix(s->walk.hash, proc | (__u64)s->rec.outcome << 32);
	const __u64 *who = (const __u64 *)&s->rec.who;

	hash = hash_mix(hash, s->walk.user_total);
#pragma unroll
	for (int i = 0; i < WHO_WORDS; i++)
		hash = hash_mix(hash, who[i]);
	return hash | 1;
}

/* A new site. 0: no room. */
static __always_inline __u32 site_new(__u64 hash, __u32 proc)
{
	struct bp_heap_ctl *control = heap_control();
	struct bp_heap_site *site;
	__u32 nr;

	if (!control || control->site_cnt >= heap_cfg.site_cnt)
		return 0;
	nr = __sync_fetch_and_add(&control->site_cnt, 1);
	site = heap_site(nr);
	if (!nr || !site)
		return 0;
	site->proc = proc;
	*(volatile __u64 *)&site->hash = hash;
	return nr;
}

/* The site with @hash; *@is_new: its stack is to be told. 0: no room. */
static __always_inline __u32 site_find(__u64 hash, __u32 proc, bool *is_new)
{
	__u32 made = 0;

	*is_new = false;
	for (__u32 i = 0; i < BP_HEAP_SITE_PROBES; i++) {
		__u32 at = ((__u32)(hash >> 8) + i) & heap_cfg.site_mask;
		__u64 *slot = bpf_map_lookup_elem(&heap_site_index, &at), entry;
		struct bp_heap_site *site;

		if (!slot)
			return 0;
		entry = *slot;
		if (!entry) {
			made = made ?: site_new(hash, proc);
			if (!made)
				return 0;
			entry = __sync_val_compare_and_swap(slot, 0, bp_index_entry(hash, made));
			if (!entry) {
				*is_new = true;
				return made;
			}
		}
		if (bp_index_tag(entry) != bp_index_tag(hash))
			continue;
		site = heap_site(bp_index_of(entry));
		if (site && site->hash == hash)
			return bp_index_of(entry);
	}
	return 0;
}

#endif
