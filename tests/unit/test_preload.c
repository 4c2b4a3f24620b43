/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the kernel side is shown before they are sampled: it may miss them for a moment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>

#include "abi.h"
#include "capture/preload.h"
#include "capture/rows_feed.h"

enum { EXE_ID = 77, NEVER = 1 << 20 };

/* The program that the kernel would run: how often it is going to miss what this thread shows it,
 * and how often it was run; or the error that it cannot be run for. */
static int misses, runs, run_error;
static pthread_t tester;

int bpf_prog_test_run_opts(int fd, struct bpf_test_run_opts *opts)
{
	opts->retval = EXE_ID;
	if (!pthread_equal(pthread_self(), tester))
		return 0;
	runs++;
	if (run_error) {
		errno = run_error;
		return -run_error;
	}
	if (runs <= misses)
		opts->retval = BP_EXE_NONE;
	return 0;
}

/* What it is told of this program when so many runs miss it. */
static uint32_t met(const char *path, int miss_cnt, int error)
{
	struct preload *preload;
	uint32_t exe_id;

	tester = pthread_self();
	misses = miss_cnt;
	run_error = error;
	runs = 0;
	preload = preload_start(-1);
	assert_non_null(preload);
	exe_id = preload_meet_path(preload, path);
	preload_stop(preload);
	return exe_id;
}

static void test_met(void **state)
{
	assert_int_equal(met("/proc/self/exe", 0, 0), EXE_ID);
	assert_int_equal(runs, 1);
}

/* While another thread changes our memory map. */
static void test_missed_at_first(void **state)
{
	assert_int_equal(met("/proc/self/exe", 3, 0), EXE_ID);
	assert_int_equal(runs, 4);
}

/* No room for it: that is found out with the first such file. */
static void test_always_missed(void **state)
{
	struct preload *preload = preload_start(-1);

	assert_non_null(preload);
	tester = pthread_self();
	misses = NEVER;
	run_error = runs = 0;
	assert_int_equal(preload_meet_path(preload, "/proc/self/exe"), BP_EXE_NONE);
	assert_in_range(runs, 2, 100);
	runs = 0;
	assert_int_equal(preload_meet_path(preload, "/proc/self/exe"), BP_EXE_NONE);
	assert_int_equal(runs, 1);
	preload_stop(preload);
}

static void test_cannot_be_shown(void **state)
{
	assert_int_equal(met("/proc/self/exe", 0, ENOMEM), BP_EXE_NONE);
	assert_int_equal(runs, 1);
	assert_int_equal(met("/nowhere", 0, 0), BP_EXE_NONE);
	assert_int_equal(runs, 0);
}

/* It has an id, and its announcement lies in the ring, behind one that is still being written. */
static void test_expected_but_unread(void **state)
{
	struct exes exes = {0};
	uint32_t expected[] = {EXE_ID};
	struct rows_feed feed = {.exes = &exes, .expected = expected, .expected_cnt = 1};

	assert_false(rows_feed_has_expected(&feed));
	feed.expected_cnt = 0;
	assert_true(rows_feed_has_expected(&feed));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_met),
		cmocka_unit_test(test_missed_at_first),
		cmocka_unit_test(test_always_missed),
		cmocka_unit_test(test_cannot_be_shown),
		cmocka_unit_test(test_expected_but_unread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
