/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges that were handed out before there was the allocator: taken exactly, or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "capture/extents.h"

enum { TOTAL = 64, BLOCK = 16 };

static uint32_t free_cnt(const struct extents *extents)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < extents->cnt; i++)
		sum += extents->free[i].cnt;
	return sum;
}

static void test_take(void **state)
{
	struct extents extents;

	assert_int_equal(extents_init(&extents, TOTAL, 0), 0);
	assert_int_equal(extents_take(&extents, 10, 5), 0); /* out of the middle */
	assert_int_equal(extents_take(&extents, 0, 3), 0); /* from the begin */
	assert_int_equal(extents_take(&extents, TOTAL - 4, 4), 0); /* to the end */
	assert_int_equal(extents_take(&extents, 15, 1), 0); /* behind a taken one */
	assert_int_equal(free_cnt(&extents), TOTAL - 13);
	assert_int_equal(extents_take(&extents, 14, 2), -EBUSY);
	assert_int_equal(extents_take(&extents, 9, 2), -EBUSY);
	assert_int_equal(extents_take(&extents, TOTAL - 5, 2), -EBUSY);
	assert_int_equal(extents_take(&extents, TOTAL + 1, 1), -EBUSY);
	assert_int_equal(extents_take(&extents, UINT32_MAX, 2), -EBUSY);
	assert_int_equal(extents_take(&extents, 10, 0), 0);
	assert_int_equal(free_cnt(&extents), TOTAL - 13);
	assert_int_equal(extents_take(&extents, 3, 7), 0); /* a whole one */
	assert_int_equal(extents_alloc(&extents, TOTAL - 20), 16);
	assert_int_equal(extents_alloc(&extents, 1), -ENOSPC);
	assert_int_equal(extents_free(&extents, 0, TOTAL), 0);
	assert_int_equal(extents_alloc(&extents, TOTAL), 0);
	extents_deinit(&extents);
}

/* What the allocator gives later does not overlap, and goes over no barrier. */
static void test_blocks(void **state)
{
	struct extents extents;

	assert_int_equal(extents_init(&extents, TOTAL, BLOCK), 0);
	assert_int_equal(extents_take(&extents, BLOCK - 2, 4), -EBUSY);
	assert_int_equal(extents_take(&extents, 4, 8), 0);
	assert_int_equal(extents_alloc(&extents, 4), 0);
	assert_int_equal(extents_alloc(&extents, 4), 12);
	assert_int_equal(extents_alloc(&extents, 4), 16);
	assert_int_equal(extents_free(&extents, 4, 8), 0);
	assert_int_equal(extents_alloc(&extents, 8), 4);
	extents_deinit(&extents);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
