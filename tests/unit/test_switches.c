/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "proc/switches.h"

enum { NAPS = 20 };

static uint64_t parse(const char *text)
{
	return switches_parse(text, strlen(text));
}

static void test_text(void **state)
{
	assert_int_equal(parse("cpu  1 2 3 4\nintr 5 0 7\nctxt 8901\nbtime 17\n"), 8901);
	assert_int_equal(parse("ctxt 7"), 7);
	assert_int_equal(parse("ctxt \nctxt 9\n"), 0);
	assert_int_equal(parse("ctxt x\n"), 0);
	assert_int_equal(parse("ctxtures 8\nbtime 17\n"), 0);
	assert_int_equal(parse(""), 0);
}

static void test_naps_are_switches(void **state)
{
	uint64_t before = switches_read();

	assert_true(before > 0);
	for (int i = 0; i < NAPS; i++)
		usleep(1000);
	assert_true(switches_read() >= before + NAPS);
}

static void test_rate(void **state)
{
	assert_true(switches_rate(1000, 3000, 500000000) == 4000);
	assert_true(switches_rate(0, 3000, 500000000) == 0);
	assert_true(switches_rate(3000, 0, 500000000) == 0);
	assert_true(switches_rate(1000, 3000, 0) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_naps_are_switches),
		cmocka_unit_test(test_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
