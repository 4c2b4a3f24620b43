/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How large the kernel-side tables are on this host: A + B x CPUs.
 *
 * B, per CPU: two epochs of one shard and its scratch slots. The default shard holds 4,096 stacks,
 * 8,192 counts and 131,072 frames (2 MiB). As CPUs grow a shard shrinks by powers of two, so that
 * all of them stay within 16 MiB + 1 MiB x CPUs. A, once: the table of executables, the ring, the
 * targets.
 */
#ifndef BPFPROF_CAPTURE_SIZES_H
#define BPFPROF_CAPTURE_SIZES_H

#include <stddef.h>
#include <stdint.h>

struct sizes {
	uint32_t cpu_cnt; /* present CPUs: shards per epoch */
	uint32_t stacks_cnt; /* per shard, a power of two; the index has twice as many slots */
	uint32_t counts_cnt;
	uint32_t arena_cnt; /* frames per shard */
	uint32_t exes_cnt;
	uint32_t ring_bytes;
	uint32_t targets_cnt;
	uint32_t row_blocks_cnt; /* 64 KiB each */
	uint32_t row_pages_cnt;
	uint32_t row_rules_cnt;
};

/* Bytes of one shard of one epoch. */
size_t sizes_shard_bytes(const struct sizes *sizes);

/*
 * Choose for @cpu_cnt CPUs within @max_bytes (0: the default above). @has_targets: -p, -t, -u or a
 * COMMAND. Below a floor of 64 stacks a shard is not shrunk further.
 */
void sizes_choose(uint32_t cpu_cnt, uint64_t max_bytes, int has_targets, struct sizes *out);

#endif
