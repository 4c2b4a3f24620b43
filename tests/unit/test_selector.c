/* SPDX-License-Identifier: Apache-2.0 */
/* Label selectors: what they take, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "store/match_list.h"
#include "store/selector.h"

/* The one label that there is. */
struct label {
	const char *key, *value;
};

static const char *value_of(void *arg, const char *key)
{
	const struct label *label = arg;

	return strcmp(label->key, key) ? NULL : label->value;
}

static bool takes(const char *text, const char *value)
{
	struct label label = {"a", value};
	struct selector selector = {0};
	struct buf why;
	bool is_taken;

	buf_init(&why, BUF_NO_MAX);
	if (selector_parse(text, &selector, &why))
		fail_msg("%s", buf_cstr(&why));
	assert_int_equal(why.len, 0);
	is_taken = match_labels(selector.items, selector.cnt, value_of, &label);
	selector_deinit(&selector);
	buf_deinit(&why);
	return is_taken;
}

static void check_refused(const char *text, const char *said)
{
	struct selector selector = {0};
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(selector_parse(text, &selector, &why), -EINVAL);
	if (!strstr(buf_cstr(&why), said))
		fail_msg("'%s': said %s", text, buf_cstr(&why));
	selector_deinit(&selector);
	buf_deinit(&why);
}

static void test_texts(void **state)
{
	assert_true(takes("", "x"));
	assert_true(takes("{}", "x"));
	assert_true(takes(" { } ", "x"));
	assert_true(takes("{a=\"x\"}", "x"));
	assert_false(takes("{a=\"x\"}", "xy"));
	assert_false(takes("{a=\"x*\"}", "xy")); /* no glob */
	assert_true(takes("{a=\"x*\"}", "x*"));
	assert_true(takes("{ a = 'x' , }", "x"));
	assert_true(takes("{a!=\"x\"}", "y"));
	assert_false(takes("{a!=\"x\"}", "x"));
	assert_true(takes("{b=\"\"}", "x"));
	assert_false(takes("{b!=\"\"}", "x"));
	assert_true(takes("{a!=\"x\",a!=\"y\"}", "z"));
	assert_false(takes("{a!=\"x\",a!=\"y\"}", "y"));
	assert_false(takes("{a=\"x\",a=\"y\"}", "y"));
	assert_true(takes("{a=\"\\\"\\\\\\n\\x41\\t\"}", "\"\\\nA\t"));
	assert_true(takes("{a=`\\d\"`}", "\\d\""));
	assert_true(takes("{a=\"caf\xc3\xa9\"}", "caf\xc3\xa9"));
	assert_true(takes("{b.c-d/e:f_1=\"\"}", "x"));
}

static void test_expressions(void **state)
{
	assert_true(takes("{a=~\"x|yz\"}", "yz"));
	assert_false(takes("{a=~\"x|yz\"}", "xyz"));
	assert_false(takes("{a!~\"x|yz\"}", "x"));
	assert_true(takes("{a!~\"x\"}", "xx"));
	assert_true(takes("{a=~\"\"}", ""));
	assert_true(takes("{b=~\".*\"}", "x"));
	assert_false(takes("{b=~\".+\"}", "x"));
	assert_true(takes("{a=~\"(?:ab)+c?\"}", "ababc"));
	assert_true(takes("{a=~\"x.*?y\"}", "x12y"));
	assert_true(takes("{a=~`\\d+\\.\\w\\s`}", "12.b "));
	assert_false(takes("{a=~`\\d\\.\\D`}", "1x1"));
	assert_true(takes("{a=~`[\\d_]+`}", "1_2"));
	assert_true(takes("{a=~`[^a-c]`}", "d"));
	assert_false(takes("{a=~`[^a-c]`}", "b"));
	/* In POSIX these would be the ends of words. */
	assert_true(takes("{a=~`\\<x\\>`}", "<x>"));
	assert_true(takes("{a=~`\\{\\^\\\\\\[\\]`}", "{^\\[]"));
}

static void test_refused(void **state)
{
	struct buf text;

	check_refused("a", "'{' is wanted");
	check_refused("{", "name of a label is wanted");
	check_refused("{a", "=, !=, =~ or !~");
	check_refused("{a!", "=, !=, =~ or !~");
	check_refused("{a=", "a text in quotes");
	check_refused("{a=b}", "a text in quotes");
	check_refused("{a=\"b", "does not end");
	check_refused("{a=\"b\\", "escape");
	check_refused("{a=\"b\\x00\"}", "escape");
	check_refused("{a=\"b\\xz\"}", "escape");
	check_refused("{a=\"b\\q\"}", "escape");
	check_refused("{a=\"b\"", "',' or '}'");
	check_refused("{a=\"b\" c=\"d\"}", "',' or '}'");
	check_refused("{a=\"b\"} x", "behind '}'");
	check_refused("{,}", "name of a label");
	check_refused("{a=~\"(\"}", "'(' without ')'");
	check_refused("{a=~\")(\"}", "')' without '('");
	check_refused("{a=~\"[\"}", "'[' without ']'");
	check_refused("{a=~\"[]\"}", "empty '[]'");
	check_refused("{a=~\"[[:alpha:]]\"}", "'[' within brackets");
	check_refused("{a=~\"[z-a]\"}", "makes no sense");
	check_refused("{a=~\"*\"}", "repeats nothing");
	check_refused("{a=~\"(|+)\"}", "repeats nothing");
	check_refused("{a=~\"a**\"}", "repeats a repetition");
	check_refused("{a=~\"\xc3\xa9*\"}", "repeats nothing");
	check_refused("{a=~\"a{1000}\"}", "counted repetition");
	check_refused("{a=~`(a)\\1`}", "escape in the expression");
	check_refused("{a=~`\\pL`}", "escape in the expression");
	check_refused("{a=~`a\\`}", "ends in a backslash");
	check_refused("{a=~`[\\]]`}", "within brackets");
	check_refused("{a=~\"(?i)x\"}", "flags");
	check_refused("{a=~\"((((((a+)+)+)+)+)+)+\"}", "too many groups in each other");
	buf_init(&text, BUF_NO_MAX);
	buf_add_str(&text, "{a=~\"");
	for (int i = 0; i <= SELECTOR_REGEX_BYTES_MAX; i++)
		buf_add_char(&text, 'x');
	buf_add_str(&text, "\"}");
	check_refused(buf_cstr(&text), "too long an expression");
	buf_reset(&text);
	for (int i = 0; i <= SELECTOR_MATCHES_MAX; i++)
		buf_add_str(&text, i ? ",a=\"b\"" : "{a=\"b\"");
	buf_add_char(&text, '}');
	check_refused(buf_cstr(&text), "too many conditions");
	buf_deinit(&text);
}

/* Globs of one key are alternatives, whatever stands beside them. */
static void test_with_globs(void **state)
{
	const struct store_match where[] = {
		{.key = "a", .glob = "x*"},
		{.key = "a", .glob = "xy", .how = STORE_MATCH_UNEQUAL},
		{.key = "a", .glob = "y*"},
	};
	struct label label = {"a", "xz"};

	assert_true(match_labels(where, 3, value_of, &label));
	label.value = "xy";
	assert_false(match_labels(where, 3, value_of, &label));
	label.value = "yy";
	assert_true(match_labels(where, 3, value_of, &label));
	label.value = "z";
	assert_false(match_labels(where, 3, value_of, &label));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_with_globs),
	};

	return cmocka_run_group_tests_name("store/selector", tests, NULL, NULL);
}
