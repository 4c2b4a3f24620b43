/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges that contain, overlap and repeat one another, against the rule taken literally. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "elf/addr_map.h"

enum { SPANS_CNT = 40, ADDRS_CNT = 200, ROUNDS_CNT = 500 };

static uint32_t winner(const struct addr_span *spans, size_t cnt, uint64_t vaddr)
{
	uint32_t id = ADDR_MAP_NONE;

	for (size_t i = 0; i < cnt; i++)
		if (vaddr >= spans[i].lo && vaddr < spans[i].hi &&
		    (id == (uint32_t)ADDR_MAP_NONE || spans[i].id > id))
			id = spans[i].id;
	return id;
}

static void test_example(void **state)
{
	struct addr_span spans[] = {{20, 40, 1}, {10, 50, 0}, {30, 35, 2}};
	struct addr_map map;

	assert_int_equal(addr_map_build(spans, 3, &map), 0);
	assert_int_equal(map.cnt, 6);
	assert_int_equal(addr_map_find(&map, 9), (uint32_t)ADDR_MAP_NONE);
	assert_int_equal(addr_map_find(&map, 10), 0);
	assert_int_equal(addr_map_find(&map, 34), 2);
	assert_int_equal(addr_map_find(&map, 35), 1);
	assert_int_equal(addr_map_find(&map, 49), 0);
	assert_int_equal(addr_map_find(&map, 50), (uint32_t)ADDR_MAP_NONE);
	addr_map_deinit(&map);
}

static void test_empty(void **state)
{
	struct addr_map map;

	assert_int_equal(addr_map_build(NULL, 0, &map), 0);
	assert_int_equal(addr_map_find(&map, 0), (uint32_t)ADDR_MAP_NONE);
	addr_map_deinit(&map);
}

static void test_random(void **state)
{
	for (int round = 0; round < ROUNDS_CNT; round++) {
		struct addr_span spans[SPANS_CNT];
		struct addr_map map;

		for (size_t i = 0; i < SPANS_CNT; i++) {
			spans[i].lo = (uint64_t)(rand() % ADDRS_CNT);
			spans[i].hi = spans[i].lo + (uint64_t)(rand() % 30);
			spans[i].id = (uint32_t)(rand() % SPANS_CNT);
		}
		assert_int_equal(addr_map_build(spans, SPANS_CNT, &map), 0);
		for (uint64_t vaddr = 0; vaddr < ADDRS_CNT + 40; vaddr++)
			assert_int_equal(addr_map_find(&map, vaddr),
					 winner(spans, SPANS_CNT, vaddr));
		addr_map_deinit(&map);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_example),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
