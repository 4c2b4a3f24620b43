/* SPDX-License-Identifier: Apache-2.0 */
/* Output names: patterns, refusals, and that nothing is visible before it is whole. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fs.h"
#include "cli/outputs.h"

/* 2026-11-20 18:30:12 UTC */
static const struct output_naming naming = {.utc_ns = 1795199412ULL * NSEC_PER_SEC, .window = 7};

static void check_expand(const char *pattern, const char *value, const char *expected)
{
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	output_expand(pattern, &naming, value, &out);
	assert_string_equal(buf_cstr(&out), expected);
	buf_deinit(&out);
}

static void test_expand(void **state)
{
	check_expand("plain.svg", NULL, "plain.svg");
	check_expand("a-%t-%n.svg", NULL, "a-20261120T183012Z-7.svg");
	check_expand("a-%v.svg", "cpu", "a-cpu.svg");
	check_expand("a-%v.svg", "x/y", "a-x-y.svg");
	check_expand("a-%v.svg", NULL, "a-%v.svg");
	check_expand("100%.svg", NULL, "100%.svg");
	check_expand("%%t%d%", NULL, "%t%d%");
	check_expand("%n%n", NULL, "77");
}

static void check_next(struct output_naming *now, uint64_t realtime_s, uint64_t monotonic_s,
		       uint64_t wanted_s)
{
	uint64_t window = now->window;

	output_naming_next(now, realtime_s * NSEC_PER_SEC, monotonic_s * NSEC_PER_SEC);
	assert_int_equal(now->utc_ns, wanted_s * NSEC_PER_SEC);
	assert_int_equal(now->window, window + 1);
}

/* The clock may be set at any time. */
static void test_clock_steps(void **state)
{
	struct output_naming now = output_naming_first(10000 * NSEC_PER_SEC, 50 * NSEC_PER_SEC);

	assert_int_equal(now.window, 1);
	check_next(&now, 10002, 52, 10002);
	/* ahead: the clock's time */
	check_next(&now, 13604, 54, 13604);
	/* back by an hour, and by a window's length: the names go on */
	check_next(&now, 10006, 56, 13606);
	check_next(&now, 10006, 58, 13608);
	/* and are the clock's again as soon as it has come so far */
	check_next(&now, 13611, 60, 13611);
}

static void check_number(const char *path, uint64_t interval_ns, const char *expected)
{
	struct output_set set;
	struct buf why;

	output_set_init(&set);
	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(output_set_add(&set, path, &why), 0);
	assert_int_equal(output_set_number(&set, interval_ns), 0);
	assert_string_equal(set.outputs[0].pattern, expected);
	output_set_deinit(&set);
	buf_deinit(&why);
}

static void test_number(void **state)
{
	const uint64_t minute = 60 * NSEC_PER_SEC;

	check_number("a.svg", minute, "a.%n.svg");
	check_number("dir.x/a.pb.gz", minute, "dir.x/a.%n.pb.gz");
	check_number("a-%t.svg", minute, "a-%t.svg");
	check_number("a-%n.svg", minute, "a-%n.svg");
	check_number("a-%%t.svg", minute, "a-%%t.%n.svg");
	check_number("-", minute, "-");
	check_number("-.pb.gz", minute, "-.pb.gz");
	/* two windows of one second's length may begin in the same second */
	check_number("a-%t.svg", NSEC_PER_SEC, "a-%t.%n.svg");
}

static void check_refused(struct output_set *set, const char *path, const char *expected)
{
	struct buf why;
	size_t before = set->output_cnt;

	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(output_set_add(set, path, &why), -EINVAL);
	assert_non_null(strstr(buf_cstr(&why), expected));
	assert_int_equal(set->output_cnt, before);
	buf_deinit(&why);
}

static void test_refused(void **state)
{
	struct output_set set;
	struct buf why;

	output_set_init(&set);
	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(output_set_add(&set, "-", &why), 0);
	assert_int_equal(output_set_add(&set, "a.svg", &why), 0);
	check_refused(&set, "-", "only once");
	check_refused(&set, "-.pb.gz", "only once");
	check_refused(&set, "a.svg", "named twice");
	check_refused(&set, "a.exe", "unknown extension (known: ");
	check_refused(&set, "a.exe", ".pb.gz");
	check_refused(&set, "%v.pb.gz", "hold every value");
	output_set_deinit(&set);
	buf_deinit(&why);
}

static size_t file_cnt(const char *dir)
{
	DIR *stream = opendir(dir);
	size_t cnt = 0;

	assert_non_null(stream);
	for (const struct dirent *entry; (entry = readdir(stream));)
		cnt += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(stream);
	return cnt;
}

/* One sample with two values, called "samples" and "cpu". */
static void make_profile(struct profile *prof)
{
	const int64_t values[] = {3, 30};
	uint32_t frame;

	assert_int_equal(profile_init(prof), 0);
	profile_add_value_type(prof, "samples", "count");
	profile_add_value_type(prof, "cpu", "nanoseconds");
	frame = profile_named_location(prof, "work", 0);
	profile_sample(prof, profile_stack(prof, &frame, 1), profile_labels(prof, NULL, 0), values);
	assert_int_equal(prof->err, 0);
}

static void check_content(const char *dir, const char *name, const char *expected)
{
	char path[128];
	struct buf data;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	buf_init(&data, BUF_NO_MAX);
	assert_int_equal(fs_read_file(path, &data), 0);
	assert_string_equal(buf_cstr(&data), expected);
	buf_deinit(&data);
	assert_int_equal(unlink(path), 0);
}

static void test_window(void **state)
{
	char dir[] = "/tmp/bpfprof-outputs-XXXXXX", one[64], each[64];
	const struct encoder_opts opts = {0};
	struct output_set set;
	struct profile prof;
	struct buf why;

	assert_non_null(mkdtemp(dir));
	snprintf(one, sizeof(one), "%s/one.folded", dir);
	snprintf(each, sizeof(each), "%s/%%v.folded", dir);
	make_profile(&prof);
	output_set_init(&set);
	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(output_set_add(&set, one, &why), 0);
	assert_int_equal(output_set_add(&set, each, &why), 0);

	assert_int_equal(output_set_open(&set, &naming), 0);
	assert_int_equal(output_set_resolve(&set, &naming, &prof, PROFILE_NONE), 0);
	assert_int_equal(file_cnt(dir), 0);
	assert_int_equal(output_set_write(&set, &prof, &opts), 0);
	assert_null(set.first_page); /* no browser shows folded stacks */
	check_content(dir, "one.folded", "work 3\n");
	check_content(dir, "samples.folded", "work 3\n");
	check_content(dir, "cpu.folded", "work 30\n");

	/* --value picks one of the files; abandoned ones are never seen */
	assert_int_equal(output_set_open(&set, &naming), 0);
	assert_int_equal(output_set_resolve(&set, &naming, &prof, 1), 0);
	assert_int_equal(set.file_cnt, 2);
	output_set_abandon(&set);
	assert_int_equal(file_cnt(dir), 0);

	output_set_deinit(&set);
	buf_deinit(&why);
	profile_deinit(&prof);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expand),	    cmocka_unit_test(test_number),
		cmocka_unit_test(test_clock_steps), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
