/* SPDX-License-Identifier: Apache-2.0 */
/* Self and total, callers and callees, the tree: counted by hand on one small profile. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/report.h"

struct fixture {
	struct profile prof;
	struct func_table table;
	struct report report;
	struct buf out;
};

static uint32_t location_of(struct profile *prof, uint32_t mapping, uint64_t address,
			    const char *const *names)
{
	struct profile_line lines[4];
	size_t cnt = 0;

	for (; names[cnt]; cnt++)
		lines[cnt] = (struct profile_line){
			profile_function(prof, names[cnt], names[cnt], "", 0), 0};
	return profile_location_lines(prof, mapping, address, 0, lines, cnt);
}

#define LOCATION(prof, mapping, address, ...) \
	location_of(prof, mapping, address, (const char *const[]){__VA_ARGS__, NULL})

static void add(struct profile *prof, const char *comm, int64_t value, const uint32_t *stack,
		size_t cnt)
{
	struct profile_label label = {
		.key = profile_string(prof, "comm"),
		.str = profile_string(prof, comm),
		.num_unit = STRTAB_EMPTY,
	};

	profile_sample(prof, profile_stack(prof, stack, cnt), profile_labels(prof, &label, 1),
		       &value);
}

/*
 * Leaf first, in the images app and lib:
 *	50	leaf, inlined in work (one location); main
 *	30	fact, fact, fact, main
 *	15	[lib+0x9000] (no name), main
 *	 5	main of lib, below a synthetic root
 */
static int setup(void **state)
{
	static struct fixture fix;
	struct profile *prof = &fix.prof;
	uint32_t app, lib, main_app, main_lib, work, fact, bare, truncated;

	assert_int_equal(profile_init(prof), 0);
	profile_add_value_type(prof, "samples", "count");
	app = profile_mapping(prof, "/usr/bin/app", "");
	lib = profile_mapping(prof, "/usr/lib/lib\033.so", "");
	main_app = LOCATION(prof, app, 0x100, "main");
	main_lib = LOCATION(prof, lib, 0x100, "main");
	work = LOCATION(prof, app, 0x200, "leaf", "work");
	fact = LOCATION(prof, app, 0x300, "fact");
	bare = profile_location(prof, lib, 0x9000, 0);
	truncated = profile_named_location(prof, "[truncated: x]", LOCATION_SYNTHETIC);
	add(prof, "one", 50, (uint32_t[]){work, main_app}, 2);
	add(prof, "one", 30, (uint32_t[]){fact, fact, fact, main_app}, 4);
	add(prof, "two", 15, (uint32_t[]){bare, main_app}, 2);
	add(prof, "two", 5, (uint32_t[]){main_lib, truncated}, 2);
	assert_int_equal(prof->err, 0);
	assert_int_equal(func_table_init(&fix.table, prof, 0), 0);
	fix.report = (struct report){prof, &fix.table, 0, "count"};
	buf_init(&fix.out, BUF_NO_MAX);
	*state = &fix;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fix = *state;

	func_table_deinit(&fix->table);
	profile_deinit(&fix->prof);
	buf_deinit(&fix->out);
	return 0;
}

static void test_table(void **state)
{
	struct fixture *fix = *state;

	assert_int_equal(func_table_print(&fix->table, FUNC_BY_SELF, 10, "count", &fix->out), 0);
	assert_string_equal(buf_cstr(&fix->out),
			    "               self                total  function\n"
			    "  50.00%         50    50.00%         50  leaf  [app]\n"
			    "  30.00%         30    30.00%         30  fact  [app]\n"
			    "  15.00%         15    15.00%         15  [lib?.so+0x9000]\n"
			    "   5.00%          5     5.00%          5  main  [lib?.so]\n"
			    "   0.00%          0    95.00%         95  main  [app]\n"
			    "   0.00%          0    50.00%         50  work  [app]\n");
}

static void test_sorted(void **state)
{
	struct fixture *fix = *state;

	assert_int_equal(func_table_print(&fix->table, FUNC_BY_TOTAL, 1, "count", &fix->out), 0);
	assert_non_null(strstr(buf_cstr(&fix->out), "95.00%         95  main  [app]\n"));
	assert_null(strstr(buf_cstr(&fix->out), "leaf")); /* the limit */
	buf_reset(&fix->out);
	assert_int_equal(func_table_print(&fix->table, FUNC_BY_NAME, 3, "count", &fix->out), 0);
	assert_true(strstr(buf_cstr(&fix->out), "fact") < strstr(buf_cstr(&fix->out), "leaf"));
	assert_null(strstr(buf_cstr(&fix->out), "work"));
}

static void test_callers(void **state)
{
	struct fixture *fix = *state;

	assert_int_equal(report_neighbours(&fix->report, "fact", REPORT_CALLERS, 10, &fix->out), 0);
	assert_string_equal(buf_cstr(&fix->out), "callers of fact\n"
						 "  30.00%         30  self\n"
						 "  30.00%         30  total\n"
						 "    30.00%         30  main  [app]\n");
	buf_reset(&fix->out);
	/* both mains are one subject; their caller is the root */
	assert_int_equal(report_neighbours(&fix->report, "main", REPORT_CALLERS, 10, &fix->out), 0);
	assert_string_equal(buf_cstr(&fix->out), "callers of main\n"
						 "   5.00%          5  self\n"
						 " 100.00%        100  total\n"
						 "   100.00%        100  (root)\n");
}

static void test_callees(void **state)
{
	struct fixture *fix = *state;

	assert_int_equal(report_neighbours(&fix->report, "mai*", REPORT_CALLEES, 3, &fix->out), 0);
	assert_string_equal(buf_cstr(&fix->out), "callees of mai*\n"
						 "   5.00%          5  self\n"
						 " 100.00%        100  total\n"
						 "    50.00%         50  work  [app]\n"
						 "    30.00%         30  fact  [app]\n"
						 "    15.00%         15  [lib?.so+0x9000]\n");
	assert_int_equal(report_neighbours(&fix->report, "gone", REPORT_CALLEES, 3, &fix->out),
			 -ENOENT);
}

static void test_tree(void **state)
{
	struct fixture *fix = *state;

	assert_int_equal(report_tree(&fix->report, 10, &fix->out), 0);
	assert_string_equal(buf_cstr(&fix->out), " 80.00%  one\n"
						 " 80.00%    main  [app]\n"
						 " 50.00%      work  [app]\n"
						 " 50.00%        leaf  [app]\n"
						 " 30.00%      fact  [app]\n"
						 " 30.00%        fact  [app]\n"
						 " 30.00%          fact  [app]\n"
						 " 20.00%  two\n"
						 " 15.00%    main  [app]\n"
						 " 15.00%      [lib?.so+0x9000]\n");
}

/* The time of a wait is the waiter's: its state stands in the tree, the waker nowhere. */
static void test_waits(void **state)
{
	struct fixture fix;
	struct profile *prof = &fix.prof;
	uint32_t app, stack[6];

	(void)state;
	assert_int_equal(profile_init(prof), 0);
	buf_init(&fix.out, BUF_NO_MAX);
	profile_add_value_type(prof, "wall", "nanoseconds");
	app = profile_mapping(prof, "/usr/bin/app", "");
	stack[0] = profile_named_location(prof, "writer", LOCATION_WAKER);
	stack[1] = profile_named_location(prof, "unlock", LOCATION_WAKER);
	stack[2] = profile_named_location(prof, "--", LOCATION_SYNTHETIC);
	stack[3] = profile_named_location(prof, "[blocked: futex]", LOCATION_SYNTHETIC);
	stack[4] = LOCATION(prof, app, 0x200, "lock");
	stack[5] = LOCATION(prof, app, 0x100, "main");
	add(prof, "one", 60, stack, 6);
	add(prof, "one", 25, stack + 4, 2);
	stack[3] = profile_named_location(prof, "[runnable: not sampled]", LOCATION_SYNTHETIC);
	add(prof, "one", 15, stack + 3, 1);
	assert_int_equal(func_table_init(&fix.table, prof, 0), 0);
	fix.report = (struct report){prof, &fix.table, 0, "count"};
	assert_int_equal(func_table_print(&fix.table, FUNC_BY_SELF, 10, "count", &fix.out), 0);
	assert_string_equal(buf_cstr(&fix.out),
			    "               self                total  function\n"
			    "  85.00%         85    85.00%         85  lock  [app]\n"
			    "   0.00%          0    85.00%         85  main  [app]\n");
	buf_reset(&fix.out);
	assert_int_equal(report_tree(&fix.report, 0, &fix.out), 0);
	assert_string_equal(buf_cstr(&fix.out), "100.00%  one\n"
						" 85.00%    main  [app]\n"
						" 85.00%      lock  [app]\n"
						" 60.00%        [blocked: futex]\n"
						" 15.00%    [runnable: not sampled]\n");
	buf_deinit(&fix.out);
	func_table_deinit(&fix.table);
	profile_deinit(prof);
}

static void test_amounts(void **state)
{
	static const struct {
		int64_t amount;
		const char *unit, *text;
	} cases[] = {
		{0, "count", "0"},
		{1234567, "count", "1234567"},
		{4096, "bytes", "4096 B"},
		{3700000000, "nanoseconds", "3.70 s"},
		{20200000, "nanoseconds", "20.20 ms"},
		{1500, "nanoseconds", "1.50 us"},
		{999, "nanoseconds", "999 ns"},
		{0, "nanoseconds", "0 ns"},
		{-20200000, "nanoseconds", "-20.20 ms"},
	};
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		buf_reset(&out);
		amount_format(cases[i].amount, cases[i].unit, &out);
		assert_string_equal(buf_cstr(&out), cases[i].text);
	}
	buf_deinit(&out);
	assert_true(percent_of(0, 0) == 0);
}

static void test_empty(void **state)
{
	struct func_table table;
	struct profile prof;
	struct report report = {&prof, &table, 0, "count"};
	struct buf out;

	assert_int_equal(profile_init(&prof), 0);
	profile_add_value_type(&prof, "samples", "count");
	assert_int_equal(func_table_init(&table, &prof, 0), 0);
	buf_init(&out, BUF_NO_MAX);
	assert_int_equal(report_tree(&report, 0, &out), 0);
	assert_int_equal(out.len, 0);
	assert_int_equal(func_table_print(&table, FUNC_BY_SELF, 10, "count", &out), 0);
	assert_string_equal(buf_cstr(&out), "               self                total  function\n");
	func_table_deinit(&table);
	profile_deinit(&prof);
	buf_deinit(&out);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_table),
		CASE(test_sorted),
		CASE(test_callers),
		CASE(test_callees),
		CASE(test_tree),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_amounts),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
