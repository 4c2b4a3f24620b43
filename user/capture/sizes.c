/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of the kernel-side tables from the number of CPUs and the memory bound. */
#include "capture/sizes.h"

#include <unistd.h>

#include "abi.h"

enum {
	STACKS_MAX = 4096,
	STACKS_MIN = 64,
	COUNTS_PER_STACK = 2,
	FRAMES_PER_STACK = 32,
	EXES_MAX = 8192,
	EXES_MIN = 1024,
	EXE_BYTES = 128, /* key, value and the kernel's element header, rounded up */
	RING_MAX = 2 << 20,
	RING_MIN = 64 << 10,
	TARGETS = 32768,
	ROWS_MIN_BYTES = 15 << 20,
	ROWS_MAX_BYTES = 256 << 20,
	ROW_BLOCK_BYTES = BP_ROWS_PER_BLOCK * 4,
	ROW_PAGES_PER_BLOCK = 1024,
	ROW_RULES_PER_BLOCK = 96,
};

static const uint64_t budget_fixed_bytes = 16 << 20, budget_cpu_bytes = 1 << 20;

size_t sizes_shard_bytes(const struct sizes *sizes)
{
	return sizeof(struct bp_shard) +
	       sizes->stacks_cnt * (sizeof(struct bp_stack) + 2 * sizeof(uint64_t)) +
	       sizes->counts_cnt * (sizeof(struct bp_count) + 2 * sizeof(uint64_t)) +
	       sizes->arena_cnt * sizeof(uint64_t);
}

static uint64_t host_memory_bytes(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

/* Room for rows: a page of code has 16 to 80 of them, so a block holds 200 to 1,000 pages. */
static void sizes_set_rows(struct sizes *sizes, uint64_t max_bytes)
{
	uint64_t bytes = host_memory_bytes() / 2048;

	if (bytes < ROWS_MIN_BYTES)
		bytes = ROWS_MIN_BYTES;
	if (bytes > ROWS_MAX_BYTES)
		bytes = ROWS_MAX_BYTES;
	if (max_bytes && bytes > max_bytes / 2)
		bytes = max_bytes / 2;
	sizes->row_blocks_cnt = 1 + bytes / ROW_BLOCK_BYTES;
	sizes->row_pages_cnt = sizes->row_blocks_cnt * ROW_PAGES_PER_BLOCK;
	sizes->row_rules_cnt = sizes->row_blocks_cnt * ROW_RULES_PER_BLOCK;
}

static void sizes_set_stacks(struct sizes *sizes, uint32_t stacks)
{
	sizes->stacks_cnt = stacks;
	sizes->counts_cnt = stacks * COUNTS_PER_STACK;
	sizes->arena_cnt = stacks * FRAMES_PER_STACK;
	if (sizes->arena_cnt < 2 * BP_FRAMES_MAX)
		sizes->arena_cnt = 2 * BP_FRAMES_MAX;
}

void sizes_choose(uint32_t cpu_cnt, uint64_t max_bytes, int has_targets, struct sizes *out)
{
	uint64_t budget = max_bytes ? max_bytes : budget_fixed_bytes + budget_cpu_bytes * cpu_cnt;
	uint32_t stacks = STACKS_MAX;

	out->cpu_cnt = cpu_cnt;
	out->exes_cnt = EXES_MAX;
	out->ring_bytes = RING_MAX;
	out->targets_cnt = has_targets ? TARGETS : 1;
	sizes_set_rows(out, max_bytes);
	while (out->exes_cnt > EXES_MIN && (uint64_t)out->exes_cnt * EXE_BYTES > budget / 8)
		out->exes_cnt /= 2;
	while (out->ring_bytes > RING_MIN && out->ring_bytes > budget / 8)
		out->ring_bytes /= 2;
	sizes_set_stacks(out, stacks);
	while (stacks > STACKS_MIN &&
	       2ULL * cpu_cnt * sizes_shard_bytes(out) > budget - budget / 4) {
		stacks /= 2;
		sizes_set_stacks(out, stacks);
	}
}
