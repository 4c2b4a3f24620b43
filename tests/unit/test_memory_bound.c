/* SPDX-License-Identifier: Apache-2.0 */
/* When an agent forgets what it can read again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/memory_bound.h"

#define MIB (1ULL << 20)
#define WINDOW_NS (10 * NSEC_PER_SEC)

/* Of @cnt windows with @rss_bytes each: in how many something was forgotten. */
static unsigned int forgets(struct memory_bound *bound, uint64_t *now_ns, unsigned int cnt,
			    uint64_t rss_bytes)
{
	unsigned int forgot = 0;

	for (unsigned int i = 0; i < cnt; i++) {
		*now_ns += WINDOW_NS;
		forgot += memory_bound_step(bound, *now_ns, rss_bytes) != MEMORY_KEEP;
	}
	return forgot;
}

static void test_calm_forgets_nothing(void **state)
{
	uint64_t now_ns = NSEC_PER_SEC;
	struct memory_bound bound;

	memory_bound_init(&bound, 0);
	assert_int_equal(forgets(&bound, &now_ns, 10000, MEMORY_CALM_BYTES), 0);
}

/* What grows between two times and shrinks with each is forgotten every five minutes at most. */
static void test_growth(void **state)
{
	uint64_t now_ns = NSEC_PER_SEC, rss_bytes = 20 * MIB, most_bytes = 0;
	unsigned int forgot = 0;
	struct memory_bound bound;

	memory_bound_init(&bound, 0);
	for (unsigned int i = 0; i < 6 * 60; i++) { /* an hour */
		now_ns += WINDOW_NS;
		rss_bytes += MIB / 2;
		most_bytes = rss_bytes > most_bytes ? rss_bytes : most_bytes;
		if (memory_bound_step(&bound, now_ns, rss_bytes) != MEMORY_FORGET)
			continue;
		rss_bytes = 20 * MIB;
		forgot++;
	}
	assert_in_range(forgot, 10, 12);
	assert_true(most_bytes <= 37 * MIB);
}

/* Where it never helps, forgetting gets rare: at 0, 5, 15, 35 and 75 minutes, then every hour. */
static void test_does_not_help(void **state)
{
	uint64_t now_ns = NSEC_PER_SEC;
	struct memory_bound bound;

	memory_bound_init(&bound, 0);
	assert_int_equal(forgets(&bound, &now_ns, 1, 40 * MIB), 1);
	assert_int_equal(forgets(&bound, &now_ns, 6 * 80, 40 * MIB), 4);
	assert_int_equal(forgets(&bound, &now_ns, 6 * 600, 40 * MIB), 10);
	/* It helps once: then it is done as often as at first. */
	assert_int_equal(forgets(&bound, &now_ns, 6 * 60, 30 * MIB), 0);
	assert_int_equal(forgets(&bound, &now_ns, 1, 40 * MIB), 1);
	assert_int_equal(forgets(&bound, &now_ns, 29, 40 * MIB), 0);
	assert_int_equal(forgets(&bound, &now_ns, 1, 40 * MIB), 1);
}

static void test_beyond_the_bound(void **state)
{
	uint64_t now_ns = NSEC_PER_SEC;
	struct memory_bound bound;

	memory_bound_init(&bound, 48 * MIB);
	assert_int_equal(memory_bound_step(&bound, now_ns += WINDOW_NS, 49 * MIB),
			 MEMORY_FORGET_BEYOND);
	assert_int_equal(memory_bound_step(&bound, now_ns += WINDOW_NS, 49 * MIB), MEMORY_SHORT);
	assert_int_equal(memory_bound_step(&bound, now_ns += WINDOW_NS, 49 * MIB), MEMORY_SHORT);
	/* Below it, but not calm: it has just been forgotten. */
	assert_int_equal(memory_bound_step(&bound, now_ns += WINDOW_NS, 47 * MIB), MEMORY_KEEP);
	assert_int_equal(memory_bound_step(&bound, now_ns += WINDOW_NS, 49 * MIB),
			 MEMORY_FORGET_BEYOND);
}

/* A bound below what is calm. */
static void test_low_bound(void **state)
{
	struct memory_bound bound;

	memory_bound_init(&bound, 16 * MIB);
	assert_int_equal(memory_bound_step(&bound, WINDOW_NS, 17 * MIB), MEMORY_FORGET_BEYOND);
	assert_int_equal(memory_bound_step(&bound, 2 * WINDOW_NS, 15 * MIB), MEMORY_KEEP);
	memory_bound_init(&bound, 0);
	assert_int_equal(memory_bound_step(&bound, WINDOW_NS, 257 * MIB), MEMORY_FORGET_BEYOND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calm_forgets_nothing),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_does_not_help),
		cmocka_unit_test(test_beyond_the_bound),
		cmocka_unit_test(test_low_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
