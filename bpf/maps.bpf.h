/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every map. Sizes marked "at load" are set by user/capture/sizes.c from the host and the options.
 * A shard number is 2 * (the CPU's shard) + the epoch's number modulo 2; per-shard tables are one
 * flat array each, shard after shard.
 */
#ifndef BPFPROF_MAPS_BPF_H
#define BPFPROF_MAPS_BPF_H

#define BP_ARRAY(name_, type_, flags_)            \
	struct {                                  \
		__uint(type, BPF_MAP_TYPE_ARRAY); \
		__uint(map_flags, flags_);        \
		__uint(max_entries, 1);           \
		__type(key, __u32);               \
		__type(value, type_);             \
	} name_ SEC(".maps")

/* A program each for the events that can be sampled, so that which it is, and what it asks for, is
 * known to the verifier. */
#define BP_EACH_EVENT(entry_) entry_(0) entry_(1) entry_(2) entry_(3) entry_(4) entry_(5)
_Static_assert(BP_EVENTS_SAMPLED == 6, "as many as BP_EACH_EVENT has");

const volatile struct bp_config cfg;
const volatile struct bp_glob globs[BP_GLOBS_MAX];

/* Written by userspace through mmap: the epoch. */
BP_ARRAY(ctl, struct bp_ctl, BPF_F_MMAPABLE);

/* CPU number -> shard; at load: possible CPUs. Written once by userspace. */
BP_ARRAY(cpus, struct bp_cpu, 0);

/* At load: 2 * CPUs present, times the table's size. Written by slot 0's owner on the CPU, read and
 * cleared by userspace. */
BP_ARRAY(shards, struct bp_shard, BPF_F_MMAPABLE);
BP_ARRAY(stack_index, __u64, BPF_F_MMAPABLE);
BP_ARRAY(stacks, struct bp_stack, BPF_F_MMAPABLE);
BP_ARRAY(count_index, __u64, BPF_F_MMAPABLE);
BP_ARRAY(counts, struct bp_count, BPF_F_MMAPABLE);

/* At load: value_size = cfg.arena_cnt * 8, one element per shard: frames are copied in and compared
 * as blocks. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 8 * 2 * BP_FRAMES_MAX);
} arenas SEC(".maps");

/* Executable identity -> id. Preallocated: perf-event programs may use no other hash before 6.1. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct bp_exe_key);
	__type(value, struct bp_exe);
} exes SEC(".maps");

/* Unwind rows (abi_unwind.h), filled by userspace through mmap. At load: the budget. */
struct bp_row_block {
	__u32 rows[BP_ROWS_PER_BLOCK];
};
BP_ARRAY(row_blocks, struct bp_row_block, BPF_F_MMAPABLE);
BP_ARRAY(row_pages, struct bp_row_page, BPF_F_MMAPABLE);
BP_ARRAY(row_rules, struct bp_rule, BPF_F_MMAPABLE);

/* Targets of -p, -t and -u; children of -p are added by the fork program. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct bp_target);
	__type(value, __u64); /* the thread group's start, ns; 0 where userspace put it */
} targets SEC(".maps");

/* Samples that found no room or no exclusive shard, and new executables. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

/* Never used by programs: updating it makes the kernel wait for all running programs
 * (maybe_wait_bpf_programs()). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_ARRAY);
			__uint(max_entries, 1);
			__type(key, __u32);
			__type(value, __u32);
		});
} barrier SEC(".maps");

#endif
