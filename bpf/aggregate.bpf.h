/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Aggregation: the stack is interned by its content in this CPU's shard, then (stack, who, key)
 * is counted. A hash hit is believed only after comparing the frames, so no collision ever merges
 * two stacks. The caller owns the shard (slot 0).
 */
#ifndef BPFPROF_AGGREGATE_BPF_H
#define BPFPROF_AGGREGATE_BPF_H

enum { AGG_FULL = -1 };

enum { HASH_TURN = 16 };

/* Mix the next frames of the kernel stack, from frame @first on, into the walk's hash. 0 after the
 * last. */
__noinline int hash_turn(__u32 slot, __u32 first)
{
	struct bp_scratch *s = scratch_get(slot);

	if (!s)
		return 0;
	/* For the verifier. */
	first &= 127;
	for (int i = 0; i < HASH_TURN; i++) {
		if (first + i >= s->rec.kernel_cnt)
			return 0;
		s->walk.hash = hash_mix(s->walk.hash, s->rec.frames[first + i]);
	}
	return 1;
}

/* The hash of a stack begins with its kernel part. In turns: see unwind_user(). */
static __always_inline void hash_kernel(__u32 slot, struct bp_scratch *s)
{
	s->walk.hash = 0;
	for (__u32 first = 0; first < BP_FRAMES_KERNEL; first += HASH_TURN)
		if (!hash_turn(slot, first))
			break;
}

enum { EQUALS_TURN = 71 };
_Static_assert(BP_FRAMES_MAX % EQUALS_TURN == 0, "no turn reaches beyond the frames");

/* Are the record's next frames, from frame @first on, those in the arena at @off + @first? */
__noinline int equals_turn(__u32 slot, __u32 off, __u32 first)
{
	struct bp_scratch *s = scratch_get(slot);
	__u32 shard, cnt;
	__u64 *frames;

	if (!s || first > BP_FRAMES_MAX - EQUALS_TURN || off > cfg.arena_cnt - BP_FRAMES_MAX)
		return 0;
	shard = s->shard;
	frames = bpf_map_lookup_elem(&arenas, &shard);
	if (!frames)
		return 0;
	cnt = s->rec.kernel_cnt + s->rec.user_cnt;
	frames += off;
	for (__u32 i = 0; i < EQUALS_TURN; i++) {
		if (first + i >= cnt)
			break;
		if (frames[first + i] != s->rec.frames[first + i])
			return 0;
	}
	return 1;
}

/* Is stack @index of the slot's shard the one in the record, frame by frame? */
__noinline int stack_equals(__u32 slot, __u32 index)
{
	struct bp_scratch *s = scratch_get(slot);
	struct bp_stack *stack;
	__u32 cnt, off;

	if (!s)
		return 0;
	index += s->shard * cfg.stacks_cnt;
	stack = bpf_map_lookup_elem(&stacks, &index);
	if (!stack || stack->hash != s->walk.hash || stack->kernel_cnt != s->rec.kernel_cnt ||
	    stack->user_cnt != s->rec.user_cnt || stack->user_total != s->rec.user_total ||
	    stack->outcome != s->rec.outcome)
		return 0;
	off = stack->frames_off;
	cnt = s->rec.kernel_cnt + s->rec.user_cnt;
	for (__u32 first = 0; first < BP_FRAMES_MAX; first += EQUALS_TURN) {
		if (first >= cnt)
			break;
		if (!equals_turn(slot, off, first))
			return 0;
	}
	return 1;
}

/* Add the record's stack as stack @*used of its shard. Its index, or AGG_FULL. */
static __always_inline int stack_add(struct bp_scratch *s, struct bp_shard *shard)
{
	__u32 shard_nr = s->shard, cnt = s->rec.kernel_cnt + s->rec.user_cnt, index, at;
	__u64 off = shard->arena_cnt;
	struct bp_stack *stack;
	char *arena;

	index = shard->stack_cnt;
	if (index >= cfg.stacks_cnt || off > cfg.arena_cnt - BP_FRAMES_MAX || cnt > BP_FRAMES_MAX)
		return AGG_FULL;
	at = shard_nr * cfg.stacks_cnt + index;
	stack = bpf_map_lookup_elem(&stacks, &at);
	arena = bpf_map_lookup_elem(&arenas, &shard_nr);
	if (!stack || !arena)
		return AGG_FULL;
	bpf_probe_read_kernel(arena + off * 8, cnt * 8, s->rec.frames);
	stack->hash = s->walk.hash;
	stack->frames_off = off;
	stack->kernel_cnt = s->rec.kernel_cnt;
	stack->user_cnt = s->rec.user_cnt;
	stack->user_total = s->rec.user_total;
	stack->outcome = s->rec.outcome;
	shard->arena_cnt = off + cnt;
	shard->stack_cnt = index + 1;
	return index;
}

/* The record's stack in its shard, known or added: its index, or AGG_FULL. */
__noinline int stack_intern(__u32 slot)
{
	struct bp_scratch *s = scratch_get(slot);
	struct bp_shard *shard;
	__u64 *entry = NULL;
	int index;

	if (!s)
		return AGG_FULL;
	shard = scratch_shard(s);
	if (!shard)
		return AGG_FULL;
	for (__u32 i = 0; i < BP_PROBES_MAX; i++) {
		__u32 at = s->shard * (cfg.stack_index_mask + 1) +
			   ((s->walk.hash + i) & cfg.stack_index_mask);

		entry = bpf_map_lookup_elem(&stack_index, &at);
		if (!entry)
			return AGG_FULL;
		if (!*entry)
			break;
		index = bp_index_of(*entry);
		if (bp_index_tag(*entry) == bp_index_tag(s->walk.hash) && stack_equals(slot, index))
			return index;
		entry = NULL;
	}
	if (!entry)
		return AGG_FULL;
	index = stack_add(s, shard);
	if (index >= 0)
		*entry = bp_index_entry(s->walk.hash, index);
	return index;
}

enum { WHO_WORDS = sizeof(struct bp_who) / 8 };

/* Is count @index of the slot's shard that of the record's (who, key, @stack)? Then add to it. */
__noinline int count_hit(__u32 slot, __u32 index, __u32 stack)
{
	struct bp_scratch *s = scratch_get(slot);
	struct bp_count *count;
	__u64 *a, *b;

	if (!s)
		return 0;
	index += s->shard * cfg.counts_cnt;
	count = bpf_map_lookup_elem(&counts, &index);
	if (!count || count->stack != stack || count->key != s->rec.key)
		return 0;
	a = (__u64 *)&count->who;
	b = (__u64 *)&s->rec.who;
	for (int i = 0; i < WHO_WORDS; i++)
		if (a[i] != b[i])
			return 0;
	count->count++;
	count->weight += s->rec.weight;
	count->sum += s->rec.value;
	count->sum2 += s->rec.value2;
	count->variance += s->rec.variance;
	return 1;
}

static __always_inline int count_add(struct bp_scratch *s, struct bp_shard *shard, __u32 stack)
{
	__u32 index = shard->count_cnt, at = s->shard * cfg.counts_cnt + index;
	struct bp_count *count;

	if (index >= cfg.counts_cnt)
		return AGG_FULL;
	count = bpf_map_lookup_elem(&counts, &at);
	if (!count)
		return AGG_FULL;
	count->who = s->rec.who;
	count->count = 1;
	count->weight = s->rec.weight;
	count->sum = s->rec.value;
	count->sum2 = s->rec.value2;
	count->variance = s->rec.variance;
	count->stack = stack;
	count->key = s->rec.key;
	shard->count_cnt = index + 1;
	return index;
}

/* Count the record under @stack. 0, or AGG_FULL. */
__noinline int count_sample(__u32 slot, __u32 stack)
{
	struct bp_scratch *s = scratch_get(slot);
	struct bp_shard *shard;
	__u64 hash, *who, *entry = NULL;
	__u32 base;
	int index;

	if (!s)
		return AGG_FULL;
	shard = scratch_shard(s);
	if (!shard)
		return AGG_FULL;
	hash = hash_mix(stack, s->rec.key);
	who = (__u64 *)&s->rec.who;
	for (int i = 0; i < WHO_WORDS; i++)
		hash = hash_mix(hash, who[i]);
	base = s->shard * (cfg.count_index_mask + 1);
	for (__u32 i = 0; i < BP_PROBES_MAX; i++) {
		__u32 at = base + ((hash + i) & cfg.count_index_mask);

		entry = bpf_map_lookup_elem(&count_index, &at);
		if (!entry)
			return AGG_FULL;
		if (!*entry)
			break;
		if (bp_index_tag(*entry) == bp_index_tag(hash) &&
		    count_hit(slot, bp_index_of(*entry), stack))
			return 0;
		entry = NULL;
	}
	index = entry ? count_add(s, shard, stack) : AGG_FULL;
	if (index < 0)
		return AGG_FULL;
	*entry = bp_index_entry(hash, index);
	return 0;
}

/* Record the sample in the slot: into the shard, else through the ring. 0, or the bp_loss + 1. */
__noinline int record_sample(__u32 slot)
{
	struct bp_scratch *s = scratch_get(slot);
	struct bp_shard *shard;
	__u32 cnt;
	int stack;

	if (!s)
		return 1 + BP_LOST_NO_SHARD;
	if (s->is_exclusive) {
		stack = stack_intern(slot);
		if (stack >= 0 && !count_sample(slot, stack))
			return 0;
	}
	cnt = s->rec.kernel_cnt + s->rec.user_cnt;
	if (cnt > BP_FRAMES_MAX)
		return 1 + BP_LOST_MAP_FULL;
	if (bpf_ringbuf_output(&ring, &s->rec, BP_RECORD_HEAD_BYTES + cnt * 8, 0))
		return 1 + BP_LOST_RING_FULL;
	shard = scratch_shard(s);
	if (shard)
		__sync_fetch_and_add(&shard->ring_records, 1);
	return 0;
}

#endif
