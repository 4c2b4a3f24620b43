/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled globs against fnmatch(3), on hand-picked and on random patterns. */
#include <errno.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/glob.h"

/* The loop of filter_comm() in bpf/filter.bpf.h. */
static int glob_run(const struct bp_glob *glob, const char *text)
{
	__u32 states = 1;

	for (; *text; text++)
		states = (states & glob->token_mask[(unsigned char)*text]) << 1 |
			 (states & glob->star_mask);
	return !!(states & glob->accept_mask);
}

static void check(const char *pattern, const char *text)
{
	struct bp_glob glob;

	assert_int_equal(glob_compile(pattern, &glob), 0);
	if (glob_run(&glob, text) != !fnmatch(pattern, text, 0))
		fail_msg("'%s' on '%s'", pattern, text);
}

static void test_picked(void **state)
{
	static const char *const patterns[] = {
		"", "*", "?", "nginx", "nginx*", "*sh", "k*er/*", "a*b*c", "**", "?*", "\\*x",
	};
	static const char *const texts[] = {
		"",    "x",  "nginx", "nginx: worker", "bash", "kworker/0:1", "aXbYc",
		"abc", "*x", "yx",
	};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++)
			check(patterns[i], texts[k]);
}

static void test_random(void **state)
{
	srandom(7);
	for (int round = 0; round < 200000; round++) {
		char pattern[8] = {0}, text[10] = {0};

		for (long i = random() % 7; i > 0; i--)
			pattern[i - 1] = "*?ab"[random() % 4];
		for (long i = random() % 9; i > 0; i--)
			text[i - 1] = "abc"[random() % 3];
		check(pattern, text);
	}
}

static void test_too_long(void **state)
{
	struct bp_glob glob;

	assert_int_equal(glob_compile("0123456789012345678901234567890", &glob), 0);
	assert_int_equal(glob_compile("01234567890123456789012345678901", &glob), -E2BIG);
	assert_int_equal(glob_compile("*0123456789012345678901234567890*", &glob), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_picked),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
