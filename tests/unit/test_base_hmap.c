/* SPDX-License-Identifier: Apache-2.0 */
/* The hash index and the interned strings on top of it: growth, collisions, aliasing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hmap.h"
#include "base/strtab.h"

enum { MANY = 100000 };

static size_t eq_calls;

/* The owner is an array of numbers, the key a number. */
static bool number_equal(const void *owner, uint32_t index, const void *key)
{
	eq_calls++;
	return ((const uint64_t *)owner)[index] == *(const uint64_t *)key;
}

static uint32_t find(const struct hmap *map, uint64_t hash, const uint64_t *numbers, uint64_t key)
{
	return hmap_find(map, hash, number_equal, numbers, &key);
}

static void test_empty_map(void **state)
{
	struct hmap map;

	hmap_init(&map);
	assert_int_equal(find(&map, 1, NULL, 1), HMAP_NONE);
	hmap_clear(&map);
	hmap_deinit(&map);
	hmap_deinit(&map);
}

static void test_growth(void **state)
{
	uint64_t *numbers = calloc(MANY, sizeof(*numbers));
	struct hmap map;

	assert_non_null(numbers);
	hmap_init(&map);
	for (uint32_t i = 0; i < MANY; i++) {
		numbers[i] = (uint64_t)i * i;
		assert_int_equal(hmap_insert(&map, hash_mix(7, numbers[i]), i), 0);
		assert_true(map.cnt * 2 <= map.mask + 1);
	}
	assert_int_equal(map.cnt, MANY);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(find(&map, hash_mix(7, numbers[i]), numbers, numbers[i]), i);
	assert_int_equal(find(&map, hash_mix(7, 3), numbers, 3), HMAP_NONE);

	hmap_clear(&map);
	assert_int_equal(map.cnt, 0);
	assert_int_equal(find(&map, hash_mix(7, 4), numbers, 4), HMAP_NONE);
	assert_int_equal(hmap_insert(&map, hash_mix(7, 4), 2), 0);
	assert_int_equal(find(&map, hash_mix(7, 4), numbers, 4), 2);
	hmap_deinit(&map);
	free(numbers);
}

/* All 64 bits agree: only the callback tells them apart. */
static void test_equal_hashes(void **state)
{
	uint64_t numbers[500];
	struct hmap map;

	hmap_init(&map);
	for (uint32_t i = 0; i < 500; i++) {
		numbers[i] = i + 1000;
		assert_int_equal(hmap_insert(&map, 42, i), 0);
	}
	for (uint32_t i = 0; i < 500; i++)
		assert_int_equal(find(&map, 42, numbers, i + 1000), i);
	assert_int_equal(find(&map, 42, numbers, 1), HMAP_NONE);
	hmap_deinit(&map);
}

/* The low bits agree, and probing has to wrap around the end: the callback is not asked. */
static void test_equal_slots(void **state)
{
	uint64_t numbers[200];
	struct hmap map;

	hmap_init(&map);
	for (uint32_t i = 0; i < 200; i++) {
		numbers[i] = i;
		assert_int_equal(hmap_insert(&map, (uint64_t)i << 32 | UINT32_MAX, i), 0);
	}
	eq_calls = 0;
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(find(&map, (uint64_t)i << 32 | UINT32_MAX, numbers, i), i);
	assert_int_equal(eq_calls, 200);
	assert_int_equal(find(&map, (uint64_t)200 << 32 | UINT32_MAX, numbers, 200), HMAP_NONE);
	assert_int_equal(eq_calls, 200);
	hmap_deinit(&map);
}

static void test_hashes(void **state)
{
	/* XXH3_64bits of nothing with seed 0, from the xxHash specification's sanity values. */
	assert_true(hash_bytes("", 0) == UINT64_C(0x2d06800538d394c2));
	assert_true(hash_bytes("a", 1) != hash_bytes("b", 1));
	assert_true(hash_bytes("a", 1) == hash_bytes("ab", 1));
	assert_true(hash_mix(1, 2) != hash_mix(2, 1) || hash_mix(1, 2) != hash_mix(1, 3));
}

static void test_strtab_basics(void **state)
{
	struct strtab tab;
	uint32_t id;

	assert_int_equal(strtab_init(&tab), 0);
	assert_int_equal(strtab_add(&tab, "", 0), STRTAB_EMPTY);
	assert_int_equal(strtab_add(&tab, NULL, 0), STRTAB_EMPTY);
	assert_int_equal(strtab_add(&tab, "\0abc", 4), STRTAB_EMPTY);
	assert_string_equal(strtab_get(&tab, STRTAB_EMPTY), "");
	assert_int_equal(strtab_find(&tab, "main", 4), STRTAB_NONE);
	id = strtab_add(&tab, "main", 4);
	assert_int_equal(id, 1);
	assert_int_equal(strtab_add(&tab, "main", 4), id);
	assert_int_equal(strtab_add(&tab, "main loop", 4), id);
	assert_int_equal(strtab_add(&tab, "main\0loop", 9), id);
	assert_int_equal(strtab_find(&tab, "main\0x", 6), id);
	assert_int_equal(strtab_find(&tab, "mai", 3), STRTAB_NONE);
	assert_int_equal(strtab_add(&tab, "mai", 3), 2);
	assert_string_equal(strtab_get(&tab, id), "main");
	assert_string_equal(strtab_get(&tab, 2), "mai");
	assert_int_equal(tab.cnt, 3);
	strtab_deinit(&tab);
	strtab_deinit(&tab);
}

static void test_strtab_many(void **state)
{
	struct strtab tab;
	char str[32];

	assert_int_equal(strtab_init(&tab), 0);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < MANY; i++) {
			int len = snprintf(str, sizeof(str), "symbol_%u", i * 2654435761u);

			assert_int_equal(strtab_add(&tab, str, (size_t)len), i + 1);
		}
		assert_int_equal(tab.cnt, MANY + 1);
	}
	for (uint32_t i = 0; i < MANY; i++) {
		snprintf(str, sizeof(str), "symbol_%u", i * 2654435761u);
		assert_string_equal(strtab_get(&tab, i + 1), str);
	}
	strtab_deinit(&tab);
}

/* Adding a part of one's own string while growth moves it. */
static void test_strtab_own_bytes(void **state)
{
	enum { LEN = 5000 };
	struct strtab tab;
	char text[LEN];

	for (size_t i = 0; i < LEN; i++)
		text[i] = (char)('a' + i * i % 26);
	assert_int_equal(strtab_init(&tab), 0);
	assert_int_equal(strtab_add(&tab, text, LEN), 1);
	for (uint32_t cut = 1; cut < 100; cut++) {
		uint32_t id = strtab_add(&tab, strtab_get(&tab, 1), LEN - cut);

		assert_int_equal(id, cut + 1);
		assert_int_equal(strlen(strtab_get(&tab, id)), LEN - cut);
		assert_memory_equal(strtab_get(&tab, id), text, LEN - cut);
	}
	strtab_deinit(&tab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_map),    cmocka_unit_test(test_growth),
		cmocka_unit_test(test_equal_hashes), cmocka_unit_test(test_equal_slots),
		cmocka_unit_test(test_hashes),	     cmocka_unit_test(test_strtab_basics),
		cmocka_unit_test(test_strtab_many),  cmocka_unit_test(test_strtab_own_bytes),
	};

	return cmocka_run_group_tests_name("base/hmap", tests, NULL, NULL);
}
