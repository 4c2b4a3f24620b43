/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks as programs have them find room in the table of live ones as long as it is half full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/types.h>
#include <string.h>

#include "abi.h"
#include "heap_place.bpf.h"

enum {
	BUCKETS = 1 << 18,
	BLOCKS = BUCKETS / 2 * BP_HEAP_BUCKET_KEYS,
};

static const uint64_t heap_base = 0x55d0c0000000;
static uint8_t filled[BUCKETS];

static bool has_room(uint32_t proc, uint64_t addr)
{
	uint32_t home = heap_place(bp_heap_key(proc, addr), BUCKETS - 1);

	for (uint32_t spill = 0; spill < BP_HEAP_SPILL; spill++) {
		uint8_t *keys = &filled[(home + spill) & (BUCKETS - 1)];

		if (*keys < BP_HEAP_BUCKET_KEYS) {
			++*keys;
			return true;
		}
	}
	return false;
}

static void test_one_size(void **unused)
{
	(void)unused;
	for (uint64_t bytes = 16; bytes <= 8192; bytes += 16) {
		size_t lost = 0;

		memset(filled, 0, sizeof(filled));
		for (uint64_t i = 0; i < BLOCKS; i++)
			lost += !has_room(1, heap_base + i * bytes);
		if (lost)
			fail_msg("%zu of %d blocks of %d bytes found no room", lost, BLOCKS,
				 (int)bytes);
	}
}

static void test_many_sizes(void **unused)
{
	uint64_t addr = heap_base, state = 88172645463325252ULL;
	size_t lost = 0;

	(void)unused;
	memset(filled, 0, sizeof(filled));
	for (uint64_t i = 0; i < BLOCKS; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		addr += 16 * (1 + state % 64);
		lost += !has_room(1, addr);
	}
	assert_int_equal(lost, 0);
}

/* After fork all have the same addresses. */
static void test_processes(void **unused)
{
	size_t lost = 0;

	(void)unused;
	memset(filled, 0, sizeof(filled));
	for (uint32_t proc = 1; proc < BP_HEAP_PROCS; proc++)
		for (uint64_t i = 0; i < BLOCKS / BP_HEAP_PROCS; i++)
			lost += !has_room(proc, heap_base + i * 48);
	assert_int_equal(lost, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_size),
		cmocka_unit_test(test_many_sizes),
		cmocka_unit_test(test_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
