/* SPDX-License-Identifier: Apache-2.0 */
/* Which ticks that never ran fell into idle time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/idle.h"

enum { PERIOD_NS = 1000000 };

static uint64_t never_ran(uint64_t idle_ms, uint32_t exits, uint64_t ran_idle, uint64_t never)
{
	struct idle from = {.ns = 5 * NSEC_PER_SEC, .exits = UINT32_MAX};
	struct idle to = {.ns = from.ns + idle_ms * 1000000, .exits = from.exits + exits};

	return idle_never_ran(&from, &to, PERIOD_NS, ran_idle, never);
}

static void test_delivered(void **state)
{
	/* Idle ticks run: what is missing was missed by a busy CPU. */
	assert_int_equal(never_ran(1000, 2000, 1000, 300), 0);
	assert_int_equal(never_ran(1000, 2000, 1040, 300), 0);
}

static void test_not_delivered(void **state)
{
	/* The CPU is taken away while it is idle: a second of idle time, and 0.2 s around it. */
	assert_int_equal(never_ran(1000, 2000, 0, 1200), 1200);
	/* Never more than there are. */
	assert_int_equal(never_ran(1000, 2000, 0, 700), 700);
}

static void test_blind_and_idle(void **state)
{
	/* Few idle periods hide little: the other second was busy. 10 * 0.25 ms and a clock tick.
	 */
	assert_int_equal(never_ran(1000, 10, 0, 2000), 1012);
	/* Half of the idle ticks ran: so did half of what is hidden. */
	assert_int_equal(never_ran(1000, 400, 500, 2000), 500 + 110 / 2);
}

static void test_periods_unknown(void **state)
{
	struct idle from = {.ns = 0, .exits = 4000}, to = {.ns = NSEC_PER_SEC};

	assert_int_equal(never_ran(1000, 0, 0, 1200), 1000);
	/* Gone offline since, or come back. */
	assert_int_equal(idle_never_ran(&from, &to, PERIOD_NS, 0, 1200), 1000);
	from.exits = 0;
	to.exits = 4000;
	assert_int_equal(idle_never_ran(&from, &to, PERIOD_NS, 0, 1200), 1000);
}

static void test_no_idle_time(void **state)
{
	struct idle idle = {.ns = 30, .exits = 4}, earlier = {.ns = 20, .exits = 4};

	assert_int_equal(never_ran(0, 0, 0, 1743), 0);
	assert_int_equal(never_ran(0, 100, 0, 1743), 0);
	/* A clock that steps back, as /proc/stat's may: no idle time. */
	assert_int_equal(idle_never_ran(&idle, &earlier, PERIOD_NS, 0, 100), 0);
}

static void test_read(void **state)
{
	struct idle idle[2];

	memset(idle, 0xff, sizeof(idle));
	assert_int_equal(idle_read(-1, idle, 1), 0);
	assert_true(idle[0].ns < UINT64_MAX);
	assert_int_equal(idle[0].exits, 0);
	/* Beyond the count: untouched. */
	assert_true(idle[1].ns == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_delivered),      cmocka_unit_test(test_not_delivered),
		cmocka_unit_test(test_blind_and_idle), cmocka_unit_test(test_periods_unknown),
		cmocka_unit_test(test_no_idle_time),   cmocka_unit_test(test_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
