/* SPDX-License-Identifier: Apache-2.0 */
/* The byte buffer: its maximum, its sticky error, its NUL; and growth of plain arrays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"

static void test_empty(void **state)
{
	struct buf buf;
	size_t len = 99;
	char *taken;

	buf_init(&buf, BUF_NO_MAX);
	assert_null(buf.data);
	assert_string_equal(buf_cstr(&buf), "");
	buf_add(&buf, NULL, 0);
	assert_int_equal(buf.err, 0);
	taken = buf_take(&buf, &len);
	assert_string_equal(taken, "");
	assert_int_equal(len, 0);
	free(taken);
	buf_deinit(&buf);
}

static void test_appends(void **state)
{
	struct buf buf;

	buf_init(&buf, BUF_NO_MAX);
	buf_add_str(&buf, "a");
	buf_add_char(&buf, 'b');
	buf_add(&buf, "c\0d", 3);
	buf_add_u64(&buf, 0);
	buf_add_u64(&buf, UINT64_MAX);
	buf_printf(&buf, "%s=%d", "x", -7);
	assert_int_equal(buf.err, 0);
	assert_int_equal(buf.len, 5 + 1 + 20 + 4);
	assert_memory_equal(buf.data, "abc\0d018446744073709551615x=-7", buf.len + 1);
	buf_reset(&buf);
	assert_string_equal(buf_cstr(&buf), "");
	buf_add_str(&buf, "again");
	assert_string_equal(buf_cstr(&buf), "again");
	buf_deinit(&buf);
	assert_null(buf.data);
}

/* Every length around a growth, by both ways of appending, always followed by a NUL. */
static void test_growth(void **state)
{
	struct buf added, printed;
	char text[300];

	memset(text, 'x', sizeof(text));
	for (size_t len = 0; len < sizeof(text); len++) {
		text[len] = '\0';
		buf_init(&added, BUF_NO_MAX);
		buf_init(&printed, BUF_NO_MAX);
		for (int i = 0; i < 5; i++) {
			buf_add(&added, text, len);
			buf_printf(&printed, "%s", text);
		}
		assert_int_equal(added.len, 5 * len);
		assert_int_equal(printed.len, 5 * len);
		assert_int_equal(strlen(buf_cstr(&added)), 5 * len);
		assert_string_equal(buf_cstr(&added), buf_cstr(&printed));
		buf_deinit(&added);
		buf_deinit(&printed);
		text[len] = 'x';
	}
}

static void test_max(void **state)
{
	struct buf buf;

	buf_init(&buf, 8);
	buf_add_str(&buf, "12345678");
	assert_int_equal(buf.err, 0);
	buf_add_char(&buf, '9');
	assert_int_equal(buf.err, -EFBIG);
	assert_string_equal(buf_cstr(&buf), "12345678");

	buf_reset(&buf);
	assert_int_equal(buf.err, 0);
	buf_add_str(&buf, "1234567");
	buf_add_str(&buf, "89"); /* whole or not at all */
	assert_int_equal(buf.err, -EFBIG);
	buf_add_char(&buf, '8'); /* would fit, but the error is sticky */
	buf_printf(&buf, "8");
	buf_add_u64(&buf, 8);
	assert_string_equal(buf_cstr(&buf), "1234567");
	assert_int_equal(buf.len, 7);
	buf_deinit(&buf);
}

static void test_printf_max(void **state)
{
	struct buf buf;

	buf_init(&buf, 8);
	buf_printf(&buf, "%s", "12345678");
	assert_int_equal(buf.err, 0);
	buf_reset(&buf);
	buf_add_char(&buf, 'a');
	buf_printf(&buf, "%d", 12345678);
	assert_int_equal(buf.err, -EFBIG);
	assert_int_equal(buf.len, 1);
	assert_string_equal(buf_cstr(&buf), "a");
	buf_deinit(&buf);
}

static void test_take(void **state)
{
	struct buf buf;
	size_t len = 99;
	char *taken;

	buf_init(&buf, 4);
	buf_add_str(&buf, "abc");
	taken = buf_take(&buf, &len);
	assert_string_equal(taken, "abc");
	assert_int_equal(len, 3);
	free(taken);
	assert_null(buf.data);
	assert_int_equal(buf.len, 0);

	buf_add_str(&buf, "abcde"); /* the maximum is still known */
	assert_int_equal(buf.err, -EFBIG);
	assert_null(buf_take(&buf, &len));
	assert_int_equal(buf.err, -EFBIG);
	assert_null(buf.data);
	buf_deinit(&buf);
}

static void test_impossible_size(void **state)
{
	struct buf buf;

	buf_init(&buf, BUF_NO_MAX);
	buf_add_char(&buf, 'a');
	buf_add(&buf, "b", SIZE_MAX);
	assert_int_equal(buf.err, -ENOMEM);
	assert_string_equal(buf_cstr(&buf), "a");
	buf_deinit(&buf);
	buf_init(&buf, 100);
	buf_add(&buf, "b", SIZE_MAX);
	assert_int_equal(buf.err, -EFBIG);
	buf_deinit(&buf);
}

struct item {
	uint32_t number;
	char rest[9];
};

static void test_array(void **state)
{
	struct item *items = NULL;
	size_t cap = 0, moves = 0;

	for (uint32_t i = 0; i < 10000; i++) {
		size_t before = cap;

		assert_int_equal(array_reserve(&items, &cap, i + 1, sizeof(*items)), 0);
		moves += cap != before;
		assert_int_equal(items[i].number, 0);
		assert_int_equal(items[i].rest[8], 0);
		items[i].number = i + 1;
		items[i].rest[8] = 'x';
	}
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(items[i].number, i + 1);
	assert_in_range(moves, 1, 14); /* doubling, not creeping */
	for (size_t i = 10000; i < cap; i++)
		assert_int_equal(items[i].number, 0);
	free(items);
}

static void test_array_limits(void **state)
{
	uint64_t *items = NULL;
	size_t cap = 0;

	assert_int_equal(array_reserve(&items, &cap, 0, sizeof(*items)), 0);
	assert_null(items);
	assert_int_equal(array_reserve(&items, &cap, 1000, sizeof(*items)), 0);
	assert_true(cap >= 1000);
	items[999] = 7;
	assert_int_equal(array_reserve(&items, &cap, SIZE_MAX, sizeof(*items)), -ENOMEM);
	assert_int_equal(array_reserve(&items, &cap, SIZE_MAX / 8 + 1, sizeof(*items)), -ENOMEM);
	assert_int_equal(items[999], 7);
	assert_in_range(cap, 1000, 2000);
	free(items);
}

static void test_hex(void **state)
{
	static const uint8_t bytes[] = {0x00, 0x9a, 0xff};
	char out[8] = "xxxxxxx";

	hex_format(bytes, sizeof(bytes), out);
	assert_string_equal(out, "009aff");
	hex_format(bytes, 0, out);
	assert_string_equal(out, "");
}

static void test_hex_parse(void **state)
{
	static const uint8_t bytes[] = {0x00, 0x9a, 0xff};
	uint8_t out[3];

	assert_int_equal(hex_parse("009aff", out, sizeof(out)), 3);
	assert_memory_equal(out, bytes, sizeof(bytes));
	assert_int_equal(hex_parse("009aff", out, 2), 0);
	assert_int_equal(hex_parse("", out, sizeof(out)), 0);
	assert_int_equal(hex_parse("9a0", out, sizeof(out)), 0);
	assert_int_equal(hex_parse("9A", out, sizeof(out)), 0);
	assert_int_equal(hex_parse("9g", out, sizeof(out)), 0);
	assert_int_equal(hex_parse(" 9", out, sizeof(out)), 0);
}

/* A reason has words, whatever became of its own. */
static void test_error_text(void **state)
{
	struct buf why;

	buf_init(&why, 4);
	assert_string_equal(buf_error_text(&why, -ENOMEM), strerror(ENOMEM));
	buf_add_str(&why, "bad");
	assert_string_equal(buf_error_text(&why, -EINVAL), "bad");
	buf_add_str(&why, "ly");
	assert_string_equal(buf_error_text(&why, -EINVAL), strerror(EFBIG));
	buf_deinit(&why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hex),	   cmocka_unit_test(test_hex_parse),
		cmocka_unit_test(test_empty),	   cmocka_unit_test(test_appends),
		cmocka_unit_test(test_growth),	   cmocka_unit_test(test_max),
		cmocka_unit_test(test_error_text), cmocka_unit_test(test_printf_max),
		cmocka_unit_test(test_take),	   cmocka_unit_test(test_impossible_size),
		cmocka_unit_test(test_array),	   cmocka_unit_test(test_array_limits),
	};

	return cmocka_run_group_tests_name("base/buf", tests, NULL, NULL);
}
