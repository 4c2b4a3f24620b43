/* SPDX-License-Identifier: Apache-2.0 */
/* What `top` knows of the past: sums, decay, what is forgotten, callers, and which rows are shown.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "cli/top.h"

static const double second_ns = NSEC_PER_SEC;

static uint32_t row_of(struct top_table *table, const char *who, const char *name,
		       const char *module)
{
	uint32_t function = top_table_function(table, name, module, module[0] == 'k');

	return top_table_row(table, top_table_string(table, who), function);
}

static void assert_close(double found, double wanted)
{
	if (fabs(found - wanted) > 1e-6 * fabs(wanted) + 1e-9)
		fail_msg("%g is not %g", found, wanted);
}

/* main > f > f > read [k]: f calls itself, and waits in the kernel. */
struct example {
	struct top_table table;
	uint32_t main, f, read;
};

static void example_init(struct example *ex)
{
	uint32_t stack[4];

	assert_int_equal(top_table_init(&ex->table, TOP_SORT_MODULE | TOP_SORT_FUNCTION), 0);
	ex->main = row_of(&ex->table, "a", "main", "app");
	ex->f = row_of(&ex->table, "a", "f", "app");
	ex->read = row_of(&ex->table, "a", "read", "kernel");
	memcpy(stack, (uint32_t[]){ex->read, ex->f, ex->f, ex->main}, sizeof(stack));
	top_table_begin(&ex->table, 2 * second_ns, false);
	top_table_add(&ex->table, stack, 4, 1, &(struct top_time){1e9, 0});
	top_table_add(&ex->table, stack, 4, 1, &(struct top_time){0, 3e9});
	top_table_add(&ex->table, stack + 3, 1, 0, &(struct top_time){5e8, 0});
}

static void test_sums(void **state)
{
	struct example ex;

	example_init(&ex);
	assert_int_equal(ex.table.stack_cnt, 2);
	assert_int_equal(top_table_sum(&ex.table, false), 0);
	assert_close(ex.table.sums[ex.read].self.cpu, 1e9);
	assert_close(ex.table.sums[ex.read].self.off, 0);
	assert_close(ex.table.sums[ex.read].total.off, 3e9);
	/* Waiting is the innermost user function's; recursion counts once. */
	assert_close(ex.table.sums[ex.f].self.off, 3e9);
	assert_close(ex.table.sums[ex.f].total.cpu, 1e9);
	assert_close(ex.table.sums[ex.f].total.off, 3e9);
	assert_close(ex.table.sums[ex.main].self.cpu, 5e8);
	assert_close(ex.table.sums[ex.main].total.cpu, 1.5e9);
	assert_close(ex.table.past_all.cpu, 1.5e9);
	top_table_deinit(&ex.table);
}

/* A time is worth half after the half-life, and so is the span it is from: the rate of what goes on
 * stays as it is, whatever the windows' lengths. */
static void test_decay(void **state)
{
	struct example ex;

	example_init(&ex);
	top_table_begin(&ex.table, TOP_HALF_LIFE_S * second_ns, false);
	assert_int_equal(top_table_sum(&ex.table, false), 0);
	assert_close(ex.table.sums[ex.read].self.cpu, 5e8);
	assert_close(ex.table.past_ns, (1 + TOP_HALF_LIFE_S) * second_ns);
	assert_int_equal(top_table_sum(&ex.table, true), 0);
	assert_close(ex.table.sums[ex.read].self.cpu, 0);
	assert_close(ex.table.last_ns, TOP_HALF_LIFE_S * second_ns);
	for (int i = 1; i < 40; i++) {
		double ns = (i % 3 + 1) * second_ns;

		top_table_begin(&ex.table, ns, i == 1);
		top_table_add(&ex.table, &ex.main, 1, 0, &(struct top_time){0.25 * ns, 0});
		assert_close(ex.table.past_all.cpu / ex.table.past_ns, 0.25);
	}
	assert_int_equal(top_table_sum(&ex.table, false), 0);
	assert_close(ex.table.sums[ex.main].self.cpu / ex.table.past_ns, 0.25);
	assert_close(ex.table.sums[ex.f].total.off, 0);
	top_table_deinit(&ex.table);
}

/* What nobody would see goes; what stays is found again and keeps its time. */
static void test_forgotten(void **state)
{
	struct example ex;
	uint32_t stack[2];

	example_init(&ex);
	stack[1] = ex.main;
	for (uint32_t i = 0; i < 10; i++) {
		char name[16];

		snprintf(name, sizeof(name), "brief%u", i);
		stack[0] = row_of(&ex.table, "a", name, "app");
		top_table_add(&ex.table, stack, 2, 0, &(struct top_time){1000, 0});
	}
	assert_int_equal(ex.table.stack_cnt, 12);
	top_table_prune(&ex.table);
	assert_int_equal(ex.table.stack_cnt, 2);
	assert_int_equal(ex.table.frame_cnt, 5);
	top_table_add(&ex.table, &ex.main, 1, 0, &(struct top_time){5e8, 0});
	assert_int_equal(ex.table.stack_cnt, 2);
	assert_int_equal(top_table_sum(&ex.table, false), 0);
	assert_close(ex.table.sums[ex.main].self.cpu, 1e9);
	assert_close(ex.table.sums[ex.main].total.cpu, 2e9);
	top_table_deinit(&ex.table);
}

/* Stacks without end: the large ones stay. */
static void test_bounds(void **state)
{
	struct top_table table;
	uint32_t large = 0, stack[2];

	assert_int_equal(top_table_init(&table, TOP_SORT_FUNCTION), 0);
	top_table_begin(&table, second_ns, false);
	for (uint32_t i = 0; i < 3 * TOP_STACKS_MAX; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%u", i % 512);
		stack[0] = row_of(&table, "", name, "");
		snprintf(name, sizeof(name), "g%u", i / 512);
		stack[1] = row_of(&table, "", name, "");
		if (i == 0)
			large = stack[0];
		top_table_add(&table, stack, 2, 0, &(struct top_time){i ? 1e6 : 1e12, 0});
		if (i % 1024 == 0)
			top_table_prune(&table);
	}
	top_table_prune(&table);
	assert_int_equal(table.err, 0);
	assert_in_range(table.stack_cnt, 1, TOP_STACKS_MAX);
	assert_int_equal(top_table_sum(&table, false), 0);
	assert_true(table.sums[large].self.cpu >= 1e12);
	assert_false(top_table_is_full(&table));
	top_table_deinit(&table);
}

static void test_callers(void **state)
{
	struct example ex;
	struct top_caller *callers;
	uint32_t stack[2];
	size_t cnt;

	example_init(&ex);
	stack[0] = ex.f;
	stack[1] = row_of(&ex.table, "a", "other", "app");
	top_table_add(&ex.table, stack, 2, 0, &(struct top_time){4e9, 0});
	callers = top_table_callers(&ex.table, ex.f, false, &cnt);
	assert_int_equal(cnt, 2);
	assert_int_equal(callers[0].row, stack[1]);
	assert_close(callers[0].time.cpu, 4e9);
	/* From outside of the recursion. */
	assert_int_equal(callers[1].row, ex.main);
	assert_close(callers[1].time.cpu, 1e9);
	assert_close(callers[1].time.off, 3e9);
	free(callers);
	callers = top_table_callers(&ex.table, ex.main, false, &cnt);
	assert_int_equal(cnt, 1);
	assert_int_equal(callers[0].row, TOP_NONE);
	free(callers);
	top_table_deinit(&ex.table);
}

/* Rows are told apart by what was asked for, and by nothing else. */
static void test_keys(void **state)
{
	struct top_table table;

	assert_int_equal(top_table_init(&table, TOP_SORT_MODULE), 0);
	assert_int_equal(row_of(&table, "a", "f", "app"), row_of(&table, "b", "g", "app"));
	assert_int_not_equal(row_of(&table, "a", "f", "app"), row_of(&table, "a", "f", "lib"));
	top_table_deinit(&table);
	assert_int_equal(top_table_init(&table, TOP_SORT_WHO | TOP_SORT_FUNCTION), 0);
	assert_int_equal(row_of(&table, "a", "f", "app"), row_of(&table, "a", "f", "lib"));
	assert_int_not_equal(row_of(&table, "a", "f", "app"), row_of(&table, "b", "f", "app"));
	top_table_deinit(&table);
}

/* --- What is shown --- */

static void assert_rows(const struct top_view *view, const struct top_table *table,
			const char *wanted)
{
	struct buf text;

	buf_init(&text, BUF_NO_MAX);
	for (size_t i = 0; i < view->cnt; i++)
		buf_printf(&text, "%s ", top_table_str(table, table->rows[view->rows[i]].name));
	assert_string_equal(buf_cstr(&text), wanted);
	buf_deinit(&text);
}

static void test_view(void **state)
{
	struct top_view view = {.cpu_cnt = 2, .has_off_cpu = true};
	struct example ex;
	struct buf why;

	example_init(&ex);
	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(top_view_update(&view, &ex.table), 0);
	assert_rows(&view, &ex.table, "read main f ");
	view.order = TOP_BY_OFF_SELF;
	assert_int_equal(top_view_update(&view, &ex.table), 0);
	assert_rows(&view, &ex.table, "f main read ");
	view.hide_kernel = true;
	assert_int_equal(top_view_update(&view, &ex.table), 0);
	assert_rows(&view, &ex.table, "f main ");
	view.hide_kernel = false;
	assert_int_equal(top_view_filter(&view, "^(re|ma)", &why), 0);
	assert_int_equal(top_view_update(&view, &ex.table), 0);
	assert_rows(&view, &ex.table, "main read ");
	/* What is no expression changes nothing. */
	assert_int_equal(top_view_filter(&view, "(", &why), -EINVAL);
	assert_true(why.len > 0);
	assert_int_equal(top_view_update(&view, &ex.table), 0);
	assert_rows(&view, &ex.table, "main read ");
	assert_int_equal(top_view_filter(&view, "", &why), 0);
	assert_int_equal(top_view_update(&view, &ex.table), 0);
	assert_int_equal(view.cnt, 3);
	buf_deinit(&why);
	top_view_deinit(&view);
	top_table_deinit(&ex.table);
}

/* 1 s of 2 s of two CPUs is a quarter; the columns say which one orders the rows. */
static void test_text(void **state)
{
	struct top_view view = {.cpu_cnt = 2, .has_off_cpu = true};
	struct top_state none = {0};
	struct example ex;
	struct buf out;

	example_init(&ex);
	buf_init(&out, BUF_NO_MAX);
	assert_int_equal(top_view_update(&view, &ex.table), 0);
	top_print(&view, &ex.table, &none, 1, &out);
	assert_non_null(strstr(buf_cstr(&out), "     >self       total   off ms/s  off total "));
	assert_non_null(strstr(buf_cstr(&out), "    25.00%      25.00%        0.0     1500.0  "
					       "read  [kernel]\n\n"));
	assert_null(strstr(buf_cstr(&out), "main"));
	buf_reset(&out);
	view.in_ms = true;
	top_print_row(&view, &ex.table, ex.main, &out);
	assert_string_equal(buf_cstr(&out),
			    "     250.0       750.0        0.0     1500.0  main  [app]");
	buf_deinit(&out);
	top_view_deinit(&view);
	top_table_deinit(&ex.table);
}

/* Names of others do not steer the terminal. */
static void test_hostile(void **state)
{
	struct top_table table;
	struct buf out;
	uint32_t row;

	assert_int_equal(top_table_init(&table, TOP_SORT_WHO | TOP_SORT_MODULE | TOP_SORT_FUNCTION),
			 0);
	buf_init(&out, BUF_NO_MAX);
	row = row_of(&table, "w\x1b[2J\n", "f\x07|<b>", "m\t\x7f");
	top_print_name(&table, row, &out);
	assert_string_equal(buf_cstr(&out), "w?[2J?           f?|<b>  [m??]");
	buf_deinit(&out);
	top_table_deinit(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),	  cmocka_unit_test(test_decay),
		cmocka_unit_test(test_forgotten), cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_callers),	  cmocka_unit_test(test_keys),
		cmocka_unit_test(test_view),	  cmocka_unit_test(test_text),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
