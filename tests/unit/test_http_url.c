/* SPDX-License-Identifier: Apache-2.0 */
/* URLs: what is shown of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "http/url.h"

static void test_passwords_are_hidden(void **state)
{
	static const char *const cases[][2] = {
		{"", ""},
		{"sink = clickhouse://fleet:se%3Acret@db:8123/fleet\n",
		 "sink = clickhouse://fleet:***@db:8123/fleet\n"},
		{"otlp+http://:token@host", "otlp+http://:***@host"},
		{"a://u:p@h/x b://v:q@g?c d://h:80/", "a://u:***@h/x b://v:***@g?c d://h:80/"},
		{"a://u:p@q@one,two", "a://u:***@one,two"},
		{"a://u@h:80", "a://u@h:80"},
		{"a://u:@h", "a://u:@h"},
		{"a://h/path:x@y", "a://h/path:x@y"},
		{"a://h\nmail = u:p@h", "a://h\nmail = u:p@h"},
		{"a://", "a://"},
		{"://u:p@://w:z@h", "://u:***@://w:***@h"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct buf out;

		buf_init(&out, BUF_NO_MAX);
		http_url_add_hidden(&out, cases[i][0]);
		assert_string_equal(buf_cstr(&out), cases[i][1]);
		buf_deinit(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_passwords_are_hidden),
	};

	return cmocka_run_group_tests_name("http/url", tests, NULL, NULL);
}
