/* SPDX-License-Identifier: Apache-2.0 */
/* Values out of foreign JSON: what is right is read exactly, what is not never gets through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/json_reader.h"

static void begin(struct json_reader *js, const char *text)
{
	json_reader_init(js, text, strlen(text));
}

static void test_structure(void **state)
{
	struct json_reader js;

	begin(&js,
	      " { \"a\" : [ 1 , -2, [] , {} ] ,\n\"skip\":{\"x\":[\"]}\\\"\",1.5e3]},\"b\":\"c\"}");
	json_read_object(&js);
	assert_true(json_read_key(&js) && json_text_is(&js, "a"));
	json_read_array(&js);
	assert_true(json_read_item(&js));
	assert_int_equal(json_read_u64(&js), 1);
	assert_true(json_read_item(&js));
	assert_int_equal(json_read_i64(&js), -2);
	assert_true(json_read_item(&js));
	json_read_array(&js);
	assert_false(json_read_item(&js));
	assert_true(json_read_item(&js));
	json_read_object(&js);
	assert_false(json_read_key(&js));
	assert_false(json_read_item(&js));
	assert_true(json_read_key(&js) && json_text_is(&js, "skip"));
	json_read_skip(&js);
	assert_true(json_read_key(&js) && json_text_is(&js, "b"));
	assert_string_equal(json_read_str(&js), "c");
	assert_false(json_read_key(&js));
	assert_int_equal(js.rd.err, 0);
	assert_int_equal(json_peek(&js), 0);
	json_reader_deinit(&js);
}

static void test_strings(void **state)
{
	static const char *const pairs[][2] = {
		{"\"\"", ""},
		{"\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"", "a\"\\/\b\f\n\r\tz"},
		{"\"\\u0041\\u00e9\\u20AC\"", "A\xc3\xa9\xe2\x82\xac"},
		{"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"},
		{"\"\\ud83dx\"", "\xef\xbf\xbdx"},
		{"\"\\ud83d\\u0041\"", "\xef\xbf\xbd"
				       "A"},
		{"\"\\ude00\"", "\xef\xbf\xbd"},
	};
	struct json_reader js;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		begin(&js, pairs[i][0]);
		assert_string_equal(json_read_str(&js), pairs[i][1]);
		assert_int_equal(js.rd.err, 0);
		json_reader_deinit(&js);
	}
}

static void test_numbers(void **state)
{
	struct json_reader js;

	begin(&js, "[9223372036854775807,-9223372036854775808,18446744073709551615,0]");
	json_read_array(&js);
	assert_true(json_read_item(&js));
	assert_int_equal(json_read_i64(&js), INT64_MAX);
	assert_true(json_read_item(&js));
	assert_int_equal(json_read_i64(&js), INT64_MIN);
	assert_true(json_read_item(&js));
	assert_true(json_read_u64(&js) == UINT64_MAX);
	assert_true(json_read_item(&js));
	assert_int_equal(json_read_i64(&js), 0);
	assert_false(json_read_item(&js));
	assert_int_equal(js.rd.err, 0);
	json_reader_deinit(&js);
}

static void test_bad_numbers(void **state)
{
	static const char *const texts[] = {
		"1.5",
		"1e3",
		"-",
		"",
		"x",
		"9223372036854775808",
		"-9223372036854775809",
		"99999999999999999999",
		"\"1\"",
	};
	struct json_reader js;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		begin(&js, texts[i]);
		json_read_i64(&js);
		assert_int_equal(js.rd.err, -EBADMSG);
		json_reader_deinit(&js);
	}
}

static void test_bad_structure(void **state)
{
	static const char *const texts[] = {
		"",	"[",	     "[1",	    "[1,",	"[1,]", "[,1]", "[1 2]",    "[1}",
		"[\"a", "[\"\\x\"]", "[\"\\u12\"]", "[\"\n\"]", "{}",	"[{]",	"[{\"a\"}", "[:]",
	};
	struct json_reader js;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		begin(&js, texts[i]);
		json_read_array(&js);
		while (json_read_item(&js)) {
			if (json_peek(&js) == '"')
				json_read_str(&js);
			else
				json_read_skip(&js);
		}
		if (js.rd.err != -EBADMSG)
			fail_msg("accepted: %s", texts[i]);
		json_reader_deinit(&js);
	}
}

/* Depth costs nothing. */
static void test_deep(void **state)
{
	enum { DEPTH = 1 << 20 };
	struct json_reader js;
	struct buf text;

	buf_init(&text, BUF_NO_MAX);
	for (int i = 0; i < DEPTH; i++)
		buf_add_char(&text, '[');
	for (int i = 0; i < DEPTH; i++)
		buf_add_char(&text, ']');
	json_reader_init(&js, text.data, text.len);
	json_read_skip(&js);
	assert_int_equal(js.rd.err, 0);
	assert_int_equal(reader_left(&js.rd), 0);
	json_reader_deinit(&js);
	buf_deinit(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_structure),     cmocka_unit_test(test_strings),
		cmocka_unit_test(test_numbers),	      cmocka_unit_test(test_bad_numbers),
		cmocka_unit_test(test_bad_structure), cmocka_unit_test(test_deep),
	};

	return cmocka_run_group_tests_name("base/json_reader", tests, NULL, NULL);
}
