/* SPDX-License-Identifier: Apache-2.0 */
/* Users and groups as the files have them, which is all that a static build knows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <grp.h>
#include <stdio.h>
#include <string.h>

#include "base/account.h"
#include "base/cleanup.h"

enum { GROUPS = 8 };

static FILE *text_file(const char *text)
{
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

	assert_non_null(file);
	return file;
}

static void test_users(void **state)
{
	static const char passwd[] = "root:x:0:0:root:/root:/bin/sh\n"
				     "not a line\n"
				     "tess:x:1000:100::/home/tess:\n"
				     "twin:x:1000:200::/home/twin:\n";
	static const struct {
		uid_t uid;
		const char *name, *home;
		gid_t gid;
	} cases[] = {
		{0, "root", "/root", 0},
		{1000, "tess", "/home/tess", 100},
		{1001, NULL, NULL, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_fclose_ FILE *file = text_file(passwd);
		const struct passwd *entry = account_in(file, cases[i].uid);

		assert_int_equal(!entry, !cases[i].name);
		if (!entry)
			continue;
		assert_string_equal(entry->pw_name, cases[i].name);
		assert_string_equal(entry->pw_dir, cases[i].home);
		assert_int_equal(entry->pw_gid, cases[i].gid);
	}
}

static const char group[] = "root:x:0:\n"
			    "adm:x:4:tess,root\n"
			    "broken\n"
			    "users:x:100:tess\n"
			    "video:x:44:tes,tessa\n"
			    "again:x:4:tess\n"
			    "docker:x:998:other,tess\n";

static void test_groups(void **state)
{
	static const gid_t expected[] = {100, 4, 998};
	_cleanup_fclose_ FILE *file = text_file(group);
	gid_t groups[GROUPS];
	int cnt = GROUPS;

	assert_int_equal(account_groups_in(file, "tess", 100, groups, &cnt), 3);
	assert_int_equal(cnt, 3);
	assert_memory_equal(groups, expected, sizeof(expected));
}

static void test_too_many_groups(void **state)
{
	_cleanup_fclose_ FILE *file = text_file(group);
	gid_t groups[GROUPS] = {0};
	int cnt = 2;

	assert_int_equal(account_groups_in(file, "tess", 100, groups, &cnt), -1);
	assert_int_equal(cnt, 3);
	assert_int_equal(groups[1], 4);
	assert_int_equal(groups[2], 0);
}

static void test_no_group_file(void **state)
{
	gid_t groups[GROUPS];
	int cnt = GROUPS;

	assert_int_equal(account_groups_in(NULL, "tess", 100, groups, &cnt), 1);
	assert_int_equal(groups[0], 100);
}

/* What the machine's own files say is what its C library makes of them. */
static void test_root(void **state)
{
	_cleanup_fclose_ FILE *passwd = fopen("/etc/passwd", "re");
	const struct passwd *entry;

	assert_non_null(passwd);
	entry = account_in(passwd, 0);
	assert_non_null(entry);
	assert_string_equal(entry->pw_name, "root");
	entry = account_of(0);
	assert_non_null(entry);
	assert_string_equal(entry->pw_name, "root");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_too_many_groups),
		cmocka_unit_test(test_no_group_file),
		cmocka_unit_test(test_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
