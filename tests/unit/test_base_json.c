/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer: commas, escaping, UTF-8 repair; what it writes is read back by cJSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/json.h"

static void test_structure(void **state)
{
	struct json js;
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	json_init(&js, &out);
	json_object_begin(&js);
	json_kv_str(&js, "s", "v");
	json_kv_u64(&js, "u", UINT64_MAX);
	json_kv_i64(&js, "i", INT64_MIN);
	json_kv_double(&js, "d", 30.01);
	json_key(&js, "empty");
	json_object_begin(&js);
	json_object_end(&js);
	json_key(&js, "list");
	json_array_begin(&js);
	json_bool(&js, true);
	json_array_begin(&js);
	json_array_end(&js);
	json_bool(&js, false);
	json_object_begin(&js);
	json_kv_u64(&js, "k", 0);
	json_object_end(&js);
	json_u64(&js, 7);
	json_array_end(&js);
	json_kv_str(&js, "last", "");
	json_object_end(&js);
	assert_int_equal(out.err, 0);
	assert_string_equal(buf_cstr(&out),
			    "{\"s\":\"v\",\"u\":18446744073709551615,\"i\":-9223372036854775808,"
			    "\"d\":30.01,\"empty\":{},\"list\":[true,[],false,{\"k\":0},7],"
			    "\"last\":\"\"}");
	buf_deinit(&out);
}

static void test_doubles(void **state)
{
	struct json js;
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	json_init(&js, &out);
	json_array_begin(&js);
	json_double(&js, 0.5);
	json_double(&js, NAN);
	json_double(&js, INFINITY);
	json_double(&js, -INFINITY);
	json_double(&js, 1e300);
	json_double(&js, 3);
	json_array_end(&js);
	assert_string_equal(buf_cstr(&out), "[0.5,null,null,null,1e+300,3]");
	buf_deinit(&out);
}

/* @value as a JSON string, in @out. */
static void write_string(struct buf *out, const char *value, size_t len)
{
	struct json js;

	buf_reset(out);
	json_init(&js, out);
	json_strn(&js, value, len);
	assert_int_equal(out->err, 0);
}

#define REPAIR "\xef\xbf\xbd"

static void test_escapes(void **state)
{
	static const struct {
		const char *raw;
		const char *written;
	} cases[] = {
		{"", "\"\""},
		{"std::vector<int>::at", "\"std::vector<int>::at\""},
		{"a\"b\\c/d", "\"a\\\"b\\\\c/d\""},
		{"\n\t\r\b\f", "\"\\n\\t\\r\\b\\f\""},
		{"\x01\x1f\x7f", "\"\\u0001\\u001f\x7f\""},
		{"caf\xc3\xa9", "\"caf\xc3\xa9\""},
		{"\xe2\x82\xac\xf0\x9f\x94\xa5", "\"\xe2\x82\xac\xf0\x9f\x94\xa5\""},
		/* each bad byte for itself */
		{"\x80", "\"" REPAIR "\""},
		{"a\xff\xfe"
		 "b",
		 "\"a" REPAIR REPAIR "b\""},
		/* cut sequences, before a good byte and at the end */
		{"\xc3", "\"" REPAIR "\""},
		{"\xc3(", "\"" REPAIR "(\""},
		{"\xe2\x82", "\"" REPAIR REPAIR "\""},
		{"\xe2\x82\"", "\"" REPAIR REPAIR "\\\"\""},
		{"\xf0\x9f\x94", "\"" REPAIR REPAIR REPAIR "\""},
		/* overlong, surrogates, beyond U+10FFFF */
		{"\xc0\xaf", "\"" REPAIR REPAIR "\""},
		{"\xc1\xbf", "\"" REPAIR REPAIR "\""},
		{"\xe0\x9f\xbf", "\"" REPAIR REPAIR REPAIR "\""},
		{"\xf0\x8f\xbf\xbf", "\"" REPAIR REPAIR REPAIR REPAIR "\""},
		{"\xed\xa0\x80", "\"" REPAIR REPAIR REPAIR "\""},
		{"\xf4\x90\x80\x80", "\"" REPAIR REPAIR REPAIR REPAIR "\""},
		{"\xf5\x80\x80\x80", "\"" REPAIR REPAIR REPAIR REPAIR "\""},
	};
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_string(&out, cases[i].raw, strlen(cases[i].raw));
		assert_string_equal(buf_cstr(&out), cases[i].written);
	}
	write_string(&out, "a\0b", 3);
	assert_string_equal(buf_cstr(&out), "\"a\\u0000b\"");
	buf_deinit(&out);
}

/* A sequence that ends behind @len must not be completed from what follows. */
static void test_length_bounds(void **state)
{
	char *cut = malloc(2);
	struct buf out;

	assert_non_null(cut);
	memcpy(cut, "x\xf0", 2);
	buf_init(&out, BUF_NO_MAX);
	write_string(&out, cut, 2);
	assert_string_equal(buf_cstr(&out), "\"x" REPAIR "\"");
	write_string(&out, "\xc3\xa9", 1);
	assert_string_equal(buf_cstr(&out), "\"" REPAIR "\"");
	buf_deinit(&out);
	free(cut);
}

static size_t encode_utf8(uint32_t point, char out[5])
{
	size_t len = 0;

	if (point < 0x80) {
		out[len++] = (char)point;
	} else if (point < 0x800) {
		out[len++] = (char)(0xc0 | point >> 6);
		out[len++] = (char)(0x80 | (point & 0x3f));
	} else if (point < 0x10000) {
		out[len++] = (char)(0xe0 | point >> 12);
		out[len++] = (char)(0x80 | (point >> 6 & 0x3f));
		out[len++] = (char)(0x80 | (point & 0x3f));
	} else {
		out[len++] = (char)(0xf0 | point >> 18);
		out[len++] = (char)(0x80 | (point >> 12 & 0x3f));
		out[len++] = (char)(0x80 | (point >> 6 & 0x3f));
		out[len++] = (char)(0x80 | (point & 0x3f));
	}
	out[len] = '\0';
	return len;
}

/* Every code point beyond ASCII passes unchanged, but for the surrogates. */
static void test_all_code_points(void **state)
{
	struct buf out;
	char seq[5];

	buf_init(&out, BUF_NO_MAX);
	for (uint32_t point = 0x80; point < 0x110400; point++) {
		bool is_valid = (point < 0xd800 || point > 0xdfff) && point <= 0x10ffff;
		size_t len = encode_utf8(point, seq);
		bool is_same;

		write_string(&out, seq, len);
		is_same = out.len == len + 2 && !memcmp(out.data + 1, seq, len);
		if (is_same != is_valid)
			fail_msg("U+%04X: %s", point, buf_cstr(&out));
	}
	buf_deinit(&out);
}

static void test_read_back(void **state)
{
	static const char ugly[] = "q\" b\\ n\n \x02 \xc3\xa9 \xf0\x9f\x94\xa5 </script>";
	struct json js;
	struct buf out;
	cJSON *root;

	buf_init(&out, BUF_NO_MAX);
	json_init(&js, &out);
	json_object_begin(&js);
	json_kv_str(&js, ugly, ugly);
	json_kv_double(&js, "n", -2.5);
	json_object_end(&js);
	root = cJSON_ParseWithLength(out.data, out.len);
	assert_non_null(root);
	assert_int_equal(cJSON_GetArraySize(root), 2);
	assert_string_equal(cJSON_GetObjectItemCaseSensitive(root, ugly)->valuestring, ugly);
	assert_true(cJSON_GetObjectItemCaseSensitive(root, "n")->valuedouble == -2.5);
	cJSON_Delete(root);
	buf_deinit(&out);
}

static void test_deepest(void **state)
{
	struct json js;
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	json_init(&js, &out);
	for (int i = 0; i < JSON_DEPTH_MAX - 1; i++)
		json_array_begin(&js);
	json_u64(&js, 1);
	for (int i = 0; i < JSON_DEPTH_MAX - 1; i++)
		json_array_end(&js);
	assert_int_equal(js.depth, 0);
	assert_int_equal(out.len, 2 * (JSON_DEPTH_MAX - 1) + 1);
	buf_deinit(&out);
}

/* A full buffer is the buffer's error, told once at the end. */
static void test_full_buffer(void **state)
{
	struct json js;
	struct buf out;

	buf_init(&out, 10);
	json_init(&js, &out);
	json_object_begin(&js);
	json_kv_str(&js, "key", "a long value");
	json_object_end(&js);
	assert_int_equal(out.err, -EFBIG);
	assert_true(out.len <= 10);
	buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_structure),	cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_escapes),		cmocka_unit_test(test_length_bounds),
		cmocka_unit_test(test_all_code_points), cmocka_unit_test(test_read_back),
		cmocka_unit_test(test_deepest),		cmocka_unit_test(test_full_buffer),
	};

	return cmocka_run_group_tests_name("base/json", tests, NULL, NULL);
}
