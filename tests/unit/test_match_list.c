/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on labels, and keys of labels, as text: what they become, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "store/key_list.h"
#include "store/match_list.h"

/* @text as "key|glob" lines. */
static void check_becomes(const char *text, const char *wanted)
{
	struct match_list list = {0};
	struct buf why, got;

	buf_init(&why, BUF_NO_MAX);
	buf_init(&got, BUF_NO_MAX);
	assert_int_equal(match_list_parse(&list, text, &why), 0);
	assert_int_equal(why.len, 0);
	for (size_t i = 0; i < list.cnt; i++)
		buf_printf(&got, "%s|%s\n", list.items[i].key, list.items[i].glob);
	assert_string_equal(buf_cstr(&got), wanted);
	match_list_deinit(&list);
	buf_deinit(&why);
	buf_deinit(&got);
}

static void check_refused(const char *text, int wanted, const char *said)
{
	struct match_list list = {0};
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(match_list_parse(&list, text, &why), wanted);
	if (!strstr(buf_cstr(&why), said))
		fail_msg("'%s': said %s", text, buf_cstr(&why));
	match_list_deinit(&list);
	buf_deinit(&why);
}

static void test_accepted(void **state)
{
	check_becomes("service=web", "service|web\n");
	check_becomes("service=web*,host=[ab]?", "service|web*\nhost|[ab]?\n");
	check_becomes("service=web,service=db", "service|web\nservice|db\n");
	check_becomes("service=", "service|\n");
	check_becomes("service=,host=a", "service|\nhost|a\n");
	check_becomes("a=b=c", "a|b=c\n");
	check_becomes("a=b\\,c,d=e", "a|b\\,c\nd|e\n");
	check_becomes("a=b\\\\,d=e", "a|b\\\\\nd|e\n");
	check_becomes(" a = b ", " a | b \n");
	check_becomes("a=\xff\x01", "a|\xff\x01\n");
}

static void test_refused(void **state)
{
	check_refused("", -EINVAL, "'' is not of the form KEY=GLOB");
	check_refused("service", -EINVAL, "'service' is not of the form KEY=GLOB");
	check_refused("=web", -EINVAL, "'=web' is not");
	check_refused("a=b,", -EINVAL, "'' is not");
	check_refused(",a=b", -EINVAL, "'' is not");
	check_refused("a=b,,c=d", -EINVAL, "'' is not");
	check_refused("a=b,c", -EINVAL, "'c' is not");
	check_refused("a=b\\", -EINVAL, "'a=b\\' ends in a backslash");
	check_refused("a=b\\\\\\", -EINVAL, "ends in a backslash");
}

static void test_many(void **state)
{
	struct match_list list = {0};
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	for (int i = 0; i < MATCHES_MAX / 2; i++)
		assert_int_equal(match_list_parse(&list, "a=b,c=d", &why), 0);
	assert_int_equal(list.cnt, MATCHES_MAX);
	assert_int_equal(match_list_parse(&list, "a=b", &why), -E2BIG);
	assert_int_equal(list.cnt, MATCHES_MAX);
	assert_string_equal(buf_cstr(&why), "more than 64 conditions");
	match_list_deinit(&list);
	assert_int_equal(list.cnt, 0);
	buf_deinit(&why);
}

/* @text as "key|" behind each other; "!" where it is refused. */
static void check_keys(const char *text, const char *wanted)
{
	struct key_list list = {0};
	int err = key_list_parse(&list, text);
	struct buf got;

	buf_init(&got, BUF_NO_MAX);
	for (size_t i = 0; !err && list.items[i]; i++)
		buf_printf(&got, "%s|", list.items[i]);
	if (err == -EINVAL)
		buf_add_str(&got, "!");
	assert_string_equal(buf_cstr(&got), wanted);
	key_list_deinit(&list);
	buf_deinit(&got);
}

static void test_keys(void **state)
{
	check_keys(NULL, "");
	check_keys("", "");
	check_keys("service", "service|");
	check_keys("service,host", "service|host|");
	check_keys(" a ,b", " a |b|");
	check_keys(",", "!");
	check_keys("a,", "!");
	check_keys(",a", "!");
	check_keys("a,,b", "!");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
