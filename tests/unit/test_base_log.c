/* SPDX-License-Identifier: Apache-2.0 */
/* Messages (levels, prefixes, control bytes) and clocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

static char captured[512];
static int saved_stderr = -1;
static FILE *capture_file;

static void capture_begin(void)
{
	capture_file = tmpfile();
	assert_non_null(capture_file);
	fflush(stderr);
	saved_stderr = dup(STDERR_FILENO);
	assert_true(dup2(fileno(capture_file), STDERR_FILENO) >= 0);
}

static const char *capture_end(void)
{
	ssize_t len;

	fflush(stderr);
	assert_true(dup2(saved_stderr, STDERR_FILENO) >= 0);
	close(saved_stderr);
	len = pread(fileno(capture_file), captured, sizeof(captured) - 1, 0);
	assert_true(len >= 0);
	captured[len] = '\0';
	fclose(capture_file);
	return captured;
}

static void say_all(void)
{
	log_error("%s %d", "error", 1);
	log_warn("warn %d", 2);
	log_info("info %d", 3);
	log_debug("debug %d", 4);
}

static void test_levels(void **state)
{
	assert_int_equal(log_get_level(), LOG_NORMAL);
	capture_begin();
	say_all();
	assert_string_equal(capture_end(),
			    "bpfprof: error 1\nbpfprof: warning: warn 2\nbpfprof: info 3\n");
	log_set_level(LOG_QUIET);
	capture_begin();
	say_all();
	assert_string_equal(capture_end(), "bpfprof: error 1\n");
	log_set_level(LOG_VERBOSE);
	assert_int_equal(log_get_level(), LOG_VERBOSE);
	capture_begin();
	say_all();
	assert_string_equal(capture_end(), "bpfprof: error 1\nbpfprof: warning: warn 2\n"
					   "bpfprof: info 3\nbpfprof: debug 4\n");
	log_set_level(LOG_NORMAL);
}

/* A file name must not steer the terminal; a message of several lines is prefixed on each. */
static void test_control_bytes(void **state)
{
	capture_begin();
	log_error("open '%s'", "\x1b[2Jx\r\x7f\t\xc3\xa9");
	log_info("one\ntwo\n");
	log_info("%s", "");
	assert_string_equal(capture_end(), "bpfprof: open '?[2Jx??\t\xc3\xa9'\n"
					   "bpfprof: one\nbpfprof: two\nbpfprof: \n");
}

static void test_errno_kept(void **state)
{
	capture_begin();
	errno = EXDEV;
	log_error("x");
	assert_int_equal(errno, EXDEV);
	capture_end();
}

static void test_clocks_advance(void **state)
{
	uint64_t mono = clock_monotonic_ns(), boot = clock_boottime_ns();
	uint64_t cpu = clock_process_cpu_ns(), real = clock_realtime_ns();
	const struct timespec pause = {.tv_nsec = 2000000};

	nanosleep(&pause, NULL);
	assert_true(clock_monotonic_ns() - mono >= 2 * NSEC_PER_MSEC);
	assert_true(clock_boottime_ns() - boot >= 2 * NSEC_PER_MSEC);
	/* The boot clock counts suspension too. */
	mono = clock_monotonic_ns();
	assert_true(clock_boottime_ns() >= mono);
	assert_true(real / NSEC_PER_SEC + 60 >= (uint64_t)time(NULL));
	/* Sleeping costs no CPU time, computing does. */
	while (clock_process_cpu_ns() - cpu < NSEC_PER_MSEC)
		;
	assert_true(clock_process_cpu_ns() < clock_boottime_ns());
}

/* A comm as nasty as it can be must not shift the fields behind it. */
static void test_process_start(void **state)
{
	uint64_t start = clock_process_start_ns();
	uint64_t now = clock_boottime_ns();

	assert_true(start > 0 && start <= now);
	assert_true(now - start < 600 * NSEC_PER_SEC);
	assert_int_equal(prctl(PR_SET_NAME, "a) (b) 1 2 3)"), 0);
	assert_true(clock_process_start_ns() == start);
	assert_int_equal(prctl(PR_SET_NAME, "(((("), 0);
	assert_true(clock_process_start_ns() == start);
}

static void test_format_utc(void **state)
{
	char out[17];

	clock_format_utc(0, out);
	assert_string_equal(out, "19700101T000000Z");
	clock_format_utc(UINT64_C(1795199412) * NSEC_PER_SEC + NSEC_PER_SEC - 1, out);
	assert_string_equal(out, "20261120T183012Z");
	clock_format_utc(UINT64_C(951782400) * NSEC_PER_SEC, out);
	assert_string_equal(out, "20000229T000000Z");
	clock_format_utc(UINT64_MAX, out);
	assert_string_equal(out, "25540721T233433Z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels),	      cmocka_unit_test(test_control_bytes),
		cmocka_unit_test(test_errno_kept),    cmocka_unit_test(test_clocks_advance),
		cmocka_unit_test(test_process_start), cmocka_unit_test(test_format_utc),
	};

	return cmocka_run_group_tests_name("base/log", tests, NULL, NULL);
}
