/* SPDX-License-Identifier: Apache-2.0 */
/* Binary search: every border in lists of every small length, and how often it asks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>

#include "base/search.h"

enum { ITEMS_MAX = 40 };

static void test_every_border(void **state)
{
	for (size_t cnt = 0; cnt <= ITEMS_MAX; cnt++)
		for (size_t border = 0; border <= cnt; border++)
			assert_int_equal(SEARCH_CNT(i, cnt, i < border), border);
}

/* As a sorted list is asked: for the last item at or before a key, and for a key's place. */
static void test_equal_keys(void **state)
{
	static const struct {
		int32_t key;
	} items[] = {{-7}, {1}, {1}, {1}, {4}, {9}};
	const size_t cnt = sizeof(items) / sizeof(*items);

	assert_int_equal(SEARCH_CNT(i, cnt, items[i].key <= 1), 4);
	assert_int_equal(SEARCH_CNT(i, cnt, items[i].key < 1), 1);
	assert_int_equal(SEARCH_CNT(i, cnt, items[i].key < -7), 0);
	assert_int_equal(SEARCH_CNT(i, cnt, items[i].key < 5), 5);
	assert_int_equal(SEARCH_CNT(i, cnt, items[i].key <= 9), 6);
}

static bool is_before(size_t index, size_t cnt, size_t border, uint32_t *asked_cnt)
{
	assert_true(index < cnt);
	(*asked_cnt)++;
	return index < border;
}

static void test_asks_seldom(void **state)
{
	const size_t cnt = SIZE_MAX; /* no sum of two places overflows */

	for (size_t border = cnt; border; border /= 3) {
		uint32_t asked_cnt = 0;

		assert_true(SEARCH_CNT(i, cnt, is_before(i, cnt, border, &asked_cnt)) == border);
		assert_true(asked_cnt <= 64);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_border),
		cmocka_unit_test(test_equal_keys),
		cmocka_unit_test(test_asks_seldom),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
