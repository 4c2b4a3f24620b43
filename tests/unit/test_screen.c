/* SPDX-License-Identifier: Apache-2.0 */
/* What full-screen views are made of, without a terminal: printable text, lists, prompts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <string.h>

#include "cli/screen.h"
#include "cli/screen_list.h"
#include "cli/screen_text.h"

static void fit(const char *text, int columns, const wchar_t *expected, int width)
{
	struct screen_text out;

	screen_text_fit(text, columns, &out);
	if (wcscmp(out.chars, expected) || out.columns != width || out.len != wcslen(expected))
		fail_msg("'%s' in %d: '%ls', %d columns", text, columns, out.chars, out.columns);
}

static void test_fit(void **state)
{
	fit("main", 10, L"main", 4);
	fit("main", 4, L"main", 4);
	fit("main", 3, L"ma…", 3);
	fit("main", 1, L"…", 1);
	fit("main", 0, L"", 0);
	fit("main", -5, L"", 0);
	fit("", 5, L"", 0);
	fit("Größe", 5, L"Größe", 5);
	/* Two columns each; never half of one. */
	fit("漢字", 4, L"漢字", 4);
	fit("漢字", 3, L"漢…", 3);
	fit("漢字", 2, L"…", 1);
	/* A combining accent takes no column; alone it is shown as what it is not. */
	fit("e\xcc\x81tat", 4, L"e\x301tat", 4);
	fit("\xcc\x81", 4, L"?", 1);
}

static void test_hostile_text(void **state)
{
	fit("a\033[2Jb", 20, L"a?[2Jb", 6);
	fit("a\tb\rc\nd\x7f", 20, L"a?b?c?d?", 8);
	fit("\xc2\x9b"
	    "31m",
	    20, L"?31m", 4); /* the C1 control that begins a sequence as ESC [ does */
	fit("\xff\xfe\xc0\xaf", 20, L"????", 4);
	fit("\xe2\x82", 20, L"??", 2); /* cut off */
	fit("user\xe2\x80\xae"
	    "txt.exe",
	    20, L"user?txt.exe", 12); /* written right to left */
	fit("ma\xe2\x80\x8bin", 20, L"ma?in", 5); /* zero width */
	fit("\xef\xbb\xbfmain", 20, L"?main", 5);
}

static void test_long_text(void **state)
{
	static char text[100000];
	struct screen_text out;

	memset(text, 'x', sizeof(text) - 1);
	screen_text_fit(text, 1 << 30, &out);
	assert_int_equal(out.columns, SCREEN_COLUMNS_MAX);
	assert_int_equal(out.chars[SCREEN_COLUMNS_MAX - 1], L'…');
	assert_int_equal(screen_text_columns(text), SCREEN_COLUMNS_MAX);
	assert_int_equal(screen_text_columns("漢字x"), 5);
	/* No end of combining characters. */
	text[0] = 'e';
	for (size_t i = 1; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "\xcc\x81", 2);
	screen_text_fit(text, 10, &out);
	assert_true(out.len <= 2 * SCREEN_COLUMNS_MAX);
	assert_true(out.columns <= 2);
}

static void test_plain_locale(void **state)
{
	setlocale(LC_CTYPE, "C");
	fit("Gr\xc3\xb6\xc3\x9f"
	    "e",
	    20, L"Gr??e", 5);
	fit("main", 3, L"ma~", 3);
	setlocale(LC_CTYPE, "C.UTF-8");
}

static void expect_list(const struct screen_list *list, size_t current, size_t first)
{
	if (list->current != current || list->first != first)
		fail_msg("current %zu first %zu, not %zu %zu", list->current, list->first, current,
			 first);
}

static void press(struct screen_list *list, uint32_t key, size_t current, size_t first)
{
	assert_true(screen_list_key(list, key));
	expect_list(list, current, first);
}

static void test_list_keys(void **state)
{
	struct screen_list list = {0};

	press(&list, SCREEN_KEY_DOWN, 0, 0);
	press(&list, SCREEN_KEY_END, 0, 0);
	press(&list, SCREEN_KEY_PAGE_DOWN, 0, 0);
	screen_list_resize(&list, 100, 10);
	press(&list, SCREEN_KEY_UP, 0, 0);
	press(&list, SCREEN_KEY_DOWN, 1, 0);
	press(&list, SCREEN_KEY_PAGE_DOWN, 10, 1);
	press(&list, ' ', 19, 10);
	press(&list, 'j', 20, 11);
	press(&list, 'k', 19, 11);
	press(&list, SCREEN_KEY_PAGE_UP, 10, 10);
	press(&list, SCREEN_KEY_END, 99, 90);
	press(&list, SCREEN_KEY_DOWN, 99, 90);
	press(&list, SCREEN_KEY_HOME, 0, 0);
	press(&list, SCREEN_KEY_PAGE_UP, 0, 0);
	assert_false(screen_list_key(&list, 'x'));
	assert_false(screen_list_key(&list, SCREEN_KEY_ENTER));
}

static void test_list_changes(void **state)
{
	struct screen_list list = {0};

	screen_list_resize(&list, 100, 10);
	screen_list_center(&list, 50);
	expect_list(&list, 50, 45);
	screen_list_go(&list, 200);
	expect_list(&list, 99, 90);
	screen_list_resize(&list, 95, 10); /* shorter than where it stands */
	expect_list(&list, 94, 85);
	screen_list_resize(&list, 95, 5); /* the terminal has become lower */
	expect_list(&list, 94, 90);
	screen_list_resize(&list, 95, 50); /* and higher */
	expect_list(&list, 94, 45);
	screen_list_resize(&list, 95, 0);
	screen_list_go(&list, 3);
	screen_list_resize(&list, 95, 1);
	expect_list(&list, 3, 3);
	screen_list_resize(&list, 0, 10);
	expect_list(&list, 0, 0);
	screen_list_center(&list, 7);
	expect_list(&list, 0, 0);
}

static void type(struct screen_prompt *prompt, uint32_t key, const char *expected)
{
	assert_int_equal(screen_prompt_key(prompt, key), SCREEN_PROMPT_TYPING);
	assert_true(prompt->is_open);
	assert_string_equal(prompt->text, expected);
}

static void test_prompt(void **state)
{
	struct screen_prompt prompt;

	screen_prompt_open(&prompt, "/", NULL);
	type(&prompt, 'a', "a");
	type(&prompt, 0xf6, "aö");
	type(&prompt, 0x6f22, "aö漢");
	type(&prompt, 0x1f600, "aö漢\xf0\x9f\x98\x80");
	type(&prompt, SCREEN_KEY_UP, "aö漢\xf0\x9f\x98\x80");
	type(&prompt, SCREEN_CTRL('a'), "aö漢\xf0\x9f\x98\x80");
	type(&prompt, SCREEN_KEY_BACKSPACE, "aö漢");
	type(&prompt, SCREEN_KEY_BACKSPACE, "aö");
	type(&prompt, SCREEN_KEY_BACKSPACE, "a");
	assert_int_equal(screen_prompt_key(&prompt, SCREEN_KEY_ENTER), SCREEN_PROMPT_DONE);
	assert_false(prompt.is_open);
	assert_string_equal(prompt.text, "a");

	screen_prompt_open(&prompt, "/", "main");
	type(&prompt, SCREEN_CTRL('u'), "");
	assert_int_equal(screen_prompt_key(&prompt, SCREEN_KEY_BACKSPACE), SCREEN_PROMPT_LEFT);
	screen_prompt_open(&prompt, "/", "main");
	assert_int_equal(screen_prompt_key(&prompt, SCREEN_KEY_ESCAPE), SCREEN_PROMPT_LEFT);
	assert_false(prompt.is_open);
}

static void test_prompt_is_bounded(void **state)
{
	struct screen_prompt prompt;

	screen_prompt_open(&prompt, "/", NULL);
	for (int i = 0; i < 1000; i++)
		screen_prompt_key(&prompt, 0x6f22);
	assert_int_equal(prompt.len, (SCREEN_PROMPT_BYTES - 1) / 3 * 3);
	assert_int_equal(strlen(prompt.text), prompt.len);
	for (int i = 0; i < SCREEN_PROMPT_BYTES / 3; i++)
		screen_prompt_key(&prompt, SCREEN_KEY_BACKSPACE);
	assert_string_equal(prompt.text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fit),	  cmocka_unit_test(test_hostile_text),
		cmocka_unit_test(test_long_text), cmocka_unit_test(test_plain_locale),
		cmocka_unit_test(test_list_keys), cmocka_unit_test(test_list_changes),
		cmocka_unit_test(test_prompt),	  cmocka_unit_test(test_prompt_is_bounded),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
