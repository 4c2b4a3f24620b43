/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of a recording: CPU time over a window, and whose file may forbid one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/guard.h"

#define STEP_NS (GUARD_CHECK_MS * NSEC_PER_MSEC)

/* Readings of a steady share on two CPUs for @steps; how many until it is too much, or 0. */
static int steps_to_stop(double max_percent, double percent, int steps)
{
	struct guard guard = {.max_cpu_percent = max_percent};
	uint64_t now_ns = 1000 * NSEC_PER_SEC, used_ns = 77 * NSEC_PER_SEC;
	double observed = 0;

	for (int i = 1; i <= steps; i++) {
		if (guard_add_reading(&guard, now_ns, used_ns, 2, &observed)) {
			assert_true(observed > max_percent);
			return i;
		}
		now_ns += STEP_NS;
		used_ns += (uint64_t)(percent / 100 * 2 * STEP_NS);
	}
	return 0;
}

static void test_steady_share(void **state)
{
	/* For ever, what stays within the bound; what is used before the first reading is not its.
	 */
	assert_int_equal(steps_to_stop(2, 1.99, 10000), 0);
	assert_int_equal(steps_to_stop(2, 0, 10000), 0);
	/* A little more is seen when the window is full, ten times as much in a tenth of it. */
	assert_int_equal(steps_to_stop(2, 2.1, 100), GUARD_READINGS);
	assert_int_equal(steps_to_stop(2, 21, 100), 2);
}

static void test_burst_is_forgotten(void **state)
{
	struct guard guard = {.max_cpu_percent = 10};
	uint64_t now_ns = NSEC_PER_SEC, used_ns = 0;
	double observed;

	/* 10 % of 5 s of one CPU, at once, and again when the first has left the window. */
	assert_false(guard_add_reading(&guard, now_ns, used_ns, 1, &observed));
	for (int burst = 0; burst < 3; burst++) {
		used_ns += NSEC_PER_SEC / 2;
		for (int i = 0; i <= GUARD_READINGS; i++)
			assert_false(guard_add_reading(&guard, now_ns += STEP_NS, used_ns, 1,
						       &observed));
	}
	used_ns += NSEC_PER_SEC;
	assert_true(guard_add_reading(&guard, now_ns + STEP_NS, used_ns, 1, &observed));
	assert_true(observed > 19.99 && observed < 20.01);
}

static char folder[] = "/tmp/test_guard.XXXXXX";

static void make(const char *path, mode_t mode)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void test_whose_file(void **state)
{
	char path[64], link[64];
	const char *why;
	gid_t group = 12345;

	if (geteuid()) {
		skip();
		return;
	}
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/stop", folder);
	snprintf(link, sizeof(link), "%s/link", folder);
	assert_false(guard_file_counts(path, &why));
	assert_null(why);
	make(path, 0644);
	assert_true(guard_file_counts(path, &why));
	assert_null(why);
	assert_true(guard_file_counts(path, NULL));
	assert_int_equal(chmod(path, 0646), 0);
	assert_false(guard_file_counts(path, &why));
	assert_string_equal(why, "it is not root's alone to write");
	assert_int_equal(chmod(path, 0664), 0);
	assert_true(guard_file_counts(path, &why));
	assert_int_equal(chown(path, 0, group), 0);
	assert_false(guard_file_counts(path, &why));
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(chown(path, 65534, 0), 0);
	assert_false(guard_file_counts(path, &why));
	assert_int_equal(chown(path, 0, 0), 0);
	/* Whoever may write the folder may put root's file there. */
	assert_int_equal(chmod(folder, 01777), 0);
	assert_false(guard_file_counts(path, &why));
	assert_string_equal(why, "its folder is not root's alone to write");
	assert_int_equal(chmod(folder, 0755), 0);
	assert_int_equal(symlink("stop", link), 0);
	assert_false(guard_file_counts(link, &why));
	assert_string_equal(why, "it is no regular file");
	assert_true(guard_file_counts(path, &why));
	unlink(link);
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steady_share),
		cmocka_unit_test(test_burst_is_forgotten),
		cmocka_unit_test(test_whose_file),
	};

	return cmocka_run_group_tests_name("capture/guard", tests, NULL, NULL);
}
