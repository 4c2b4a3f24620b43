/* SPDX-License-Identifier: Apache-2.0 */
/* /etc/ld.so.cache in both layouts, and damaged at every byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/ld_cache.h"

#if defined(__x86_64__)
enum { OURS = 0x0303, OTHERS = 0x0a03 };
#else
enum { OURS = 0x0a03, OTHERS = 0x0303 };
#endif

enum { ENTRY_BYTES = 24, HEADER_BYTES = 48, STRINGS_AT = HEADER_BYTES + 4 * ENTRY_BYTES };

static const char strings[] = "libc.so.6\0/lib/libc.so.6\0libssl.so.3\0/lib/libssl.so.3\0relative";

static size_t put_entry(uint8_t *out, uint32_t flags, uint32_t name, uint32_t path)
{
	const uint32_t words[ENTRY_BYTES / 4] = {flags, STRINGS_AT + name, STRINGS_AT + path};

	memcpy(out, words, sizeof(words));
	return sizeof(words);
}

/* A cache of two libraries, one for another machine, and one without an absolute path. */
static size_t make_cache(uint8_t *out)
{
	const uint32_t counts[2] = {4, sizeof(strings)};
	size_t len = HEADER_BYTES;

	memset(out, 0, HEADER_BYTES);
	memcpy(out, "glibc-ld.so.cache1.1", 20);
	memcpy(out + 20, counts, sizeof(counts));
	len += put_entry(out + len, OURS, 0, 10);
	len += put_entry(out + len, OTHERS, 0, 10);
	len += put_entry(out + len, OURS, 25, 37);
	len += put_entry(out + len, OURS, 25, 54);
	assert_int_equal(len, STRINGS_AT);
	memcpy(out + len, strings, sizeof(strings));
	return len + sizeof(strings);
}

struct told {
	char text[256];
	int stop_after; /* 0: never */
	int cnt;
};

static int tell(void *arg, const char *name, const char *path)
{
	struct told *told = arg;
	size_t len = strlen(told->text);

	snprintf(told->text + len, sizeof(told->text) - len, "%s=%s ", name, path);
	return ++told->cnt == told->stop_after ? 7 : 0;
}

static void test_entries(void **state)
{
	uint8_t cache[512];
	struct told told = {""}, stopped = {.stop_after = 1};
	size_t len = make_cache(cache);

	assert_int_equal(ld_cache_for_each(cache, len, tell, &told), 0);
	assert_string_equal(told.text, "libc.so.6=/lib/libc.so.6 libssl.so.3=/lib/libssl.so.3 ");
	assert_int_equal(ld_cache_for_each(cache, len, tell, &stopped), 7);
	assert_int_equal(stopped.cnt, 1);
}

/* Three entries of 12 bytes: what follows them begins at the next multiple of 8. */
static void test_behind_the_old_table(void **state)
{
	uint8_t cache[512] = "ld.so-1.7.0";
	struct told told = {""};
	uint32_t cnt = 3;
	size_t len = 16 + 3 * 12 + 4;

	memcpy(cache + 12, &cnt, sizeof(cnt));
	len += make_cache(cache + len);
	assert_int_equal(ld_cache_for_each(cache, len, tell, &told), 0);
	assert_string_equal(told.text, "libc.so.6=/lib/libc.so.6 libssl.so.3=/lib/libssl.so.3 ");
}

static void test_what_is_none(void **state)
{
	struct told told = {""};

	assert_int_equal(ld_cache_for_each("", 0, tell, &told), -EBADMSG);
	assert_int_equal(ld_cache_for_each("ld.so-1.7.0", 12, tell, &told), -EBADMSG);
	assert_int_equal(ld_cache_for_each("#!/bin/sh\n", 10, tell, &told), -EBADMSG);
	assert_int_equal(told.cnt, 0);
}

/* Of a cache that is cut short no more is told than of the whole one. */
static void test_cut_anywhere(void **state)
{
	uint8_t cache[512];
	size_t len = make_cache(cache);

	for (size_t i = 0; i < len; i++) {
		uint8_t *cut = malloc(i + 1);
		struct told told = {""};

		assert_non_null(cut);
		memcpy(cut, cache, i);
		ld_cache_for_each(cut, i, tell, &told);
		assert_true(told.cnt < 2 || i >= STRINGS_AT + 54);
		free(cut);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_behind_the_old_table),
		cmocka_unit_test(test_what_is_none),
		cmocka_unit_test(test_cut_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
