/* SPDX-License-Identifier: Apache-2.0 */
/* The first picture of a difference: widths, what became of each node, and the picture itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "encode/diff_report.h"
#include "encode/html.h"
#include "encode/html_changes.h"
#include "flame_fixture.h"

/* 1,600 samples, then 1,900 */
struct pair {
	struct profile before, after;
	struct diff diff;
	struct diff_report report;
};

static void pair_init(struct pair *pair, bool normalize)
{
	fixture_init(&pair->before, "samples", "count");
	fixture_add(&pair->before, "app", 900, "main|grows");
	fixture_add(&pair->before, "app", 300, "main|shrinks");
	fixture_add(&pair->before, "app", 400, "main|stays");
	fixture_init(&pair->after, "samples", "count");
	fixture_add(&pair->after, "app", 1300, "main|grows");
	fixture_add(&pair->after, "app", 200, "main|comes");
	fixture_add(&pair->after, "app", 400, "main|stays");
	assert_int_equal(diff_init(&pair->diff, NULL, normalize), 0);
	assert_int_equal(diff_add(&pair->diff, DIFF_BEFORE, &pair->before, 0), 0);
	assert_int_equal(diff_add(&pair->diff, DIFF_AFTER, &pair->after, 0), 0);
	assert_int_equal(diff_finish(&pair->diff), 0);
	assert_int_equal(diff_report_init(&pair->report, &pair->diff, DIFF_BY_CHANGE), 0);
}

static void pair_deinit(struct pair *pair)
{
	diff_report_deinit(&pair->report);
	diff_deinit(&pair->diff);
	profile_deinit(&pair->before);
	profile_deinit(&pair->after);
}

static uint32_t find_node(const struct html_changes *changes, const char *name)
{
	for (uint32_t i = 0; i < changes->tree.node_cnt; i++)
		if (!strcmp(flame_name(&changes->tree, &changes->tree.nodes[i]), name))
			return i;
	fail_msg("no node '%s'", name);
	return 0;
}

static void expect_share(const struct html_changes *changes, const char *name, double share)
{
	double whole = (double)changes->tree.nodes[0].total;
	double total = (double)changes->tree.nodes[find_node(changes, name)].total;

	assert_true(total / whole > share - 1e-9 && total / whole < share + 1e-9);
}

static void widths_are_of_either_side_or_both(void **state)
{
	static const struct {
		enum diff_width width;
		double whole, grows, shrinks, comes;
	} cases[] = {
		{DIFF_WIDTH_BEFORE, 1600, 900, 300, 0},
		{DIFF_WIDTH_AFTER, 1900, 1300, 0, 200},
		{DIFF_WIDTH_MAX, 2200, 1300, 300, 200},
		{DIFF_WIDTH_SUM, 3500, 2200, 300, 200},
	};
	struct pair pair;

	pair_init(&pair, false);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct html_changes changes;

		assert_int_equal(html_changes_init(&changes, &pair.report, cases[i].width), 0);
		expect_share(&changes, "main", 1);
		expect_share(&changes, "grows", cases[i].grows / cases[i].whole);
		expect_share(&changes, "shrinks", cases[i].shrinks / cases[i].whole);
		expect_share(&changes, "comes", cases[i].comes / cases[i].whole);
		html_changes_deinit(&changes);
	}
	pair_deinit(&pair);
}

static void expect_change(const struct html_changes *changes, const char *name, const char *colour,
			  const char *words)
{
	uint32_t node = find_node(changes, name);
	struct buf text;

	buf_init(&text, BUF_NO_MAX);
	html_change_colour(&changes->nodes[node], &text);
	assert_string_equal(buf_cstr(&text), colour);
	buf_reset(&text);
	html_change_words(changes, node, &text);
	assert_string_equal(buf_cstr(&text), words);
	buf_deinit(&text);
}

static void nodes_say_what_became_of_them(void **state)
{
	struct html_changes changes;
	struct pair pair;

	pair_init(&pair, false);
	assert_int_equal(html_changes_init(&changes, &pair.report, DIFF_WIDTH_SUM), 0);
	expect_change(&changes, "all", "x4", " +18.8 %");
	expect_change(&changes, "app", "same", "");
	expect_change(&changes, "main", "x4", " +18.8 %");
	expect_change(&changes, "grows", "x4", " +44.4 %");
	expect_change(&changes, "shrinks", "y4", " gone");
	expect_change(&changes, "comes", "x4", " new");
	expect_change(&changes, "stays", "same", "");
	html_changes_deinit(&changes);
	pair_deinit(&pair);
}

/* Of shares the whole is as large on both sides. */
static void shares_are_compared(void **state)
{
	struct html_changes changes;
	struct pair pair;

	pair_init(&pair, true);
	assert_int_equal(html_changes_init(&changes, &pair.report, DIFF_WIDTH_AFTER), 0);
	expect_change(&changes, "all", "same", "");
	expect_change(&changes, "grows", "x4", " +21.7 %");
	html_changes_deinit(&changes);
	pair_deinit(&pair);
}

static void the_picture_is_drawn(void **state)
{
	struct html_changes changes;
	struct pair pair;
	struct buf out;

	pair_init(&pair, false);
	assert_int_equal(html_changes_init(&changes, &pair.report, DIFF_WIDTH_AFTER), 0);
	buf_init(&out, BUF_NO_MAX);
	assert_int_equal(html_add_first_changes(&out, &changes), 0);
	assert_string_equal(buf_cstr(&out), "[0,0,100000,\"x4\",0,\"all +18.8 %\","
					    "1,0,100000,\"p\",0,\"app\","
					    "2,0,100000,\"x4\",0,\"main +18.8 %\","
					    "3,0,68421,\"x4\",0,\"grows +44.4 %\","
					    "3,68421,21053,\"same\",0,\"stays\","
					    "3,89474,10526,\"x4\",0,\"comes new\"]");
	buf_deinit(&out);
	html_changes_deinit(&changes);
	pair_deinit(&pair);
}

/* Neither side has anything. */
static void nothing_is_no_picture(void **state)
{
	struct html_changes changes;
	struct diff_report report;
	struct profile prof;
	struct diff diff;
	struct buf out;

	fixture_init(&prof, "samples", "count");
	assert_int_equal(diff_init(&diff, NULL, false), 0);
	assert_int_equal(diff_add(&diff, DIFF_BEFORE, &prof, 0), 0);
	assert_int_equal(diff_add(&diff, DIFF_AFTER, &prof, 0), 0);
	assert_int_equal(diff_finish(&diff), 0);
	assert_int_equal(diff_report_init(&report, &diff, DIFF_BY_CHANGE), 0);
	assert_int_equal(html_changes_init(&changes, &report, DIFF_WIDTH_AFTER), 0);
	buf_init(&out, BUF_NO_MAX);
	assert_int_equal(html_add_first_changes(&out, &changes), 0);
	assert_string_equal(buf_cstr(&out), "[]");
	buf_deinit(&out);
	html_changes_deinit(&changes);
	diff_report_deinit(&report);
	diff_deinit(&diff);
	profile_deinit(&prof);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(widths_are_of_either_side_or_both),
		cmocka_unit_test(nodes_say_what_became_of_them),
		cmocka_unit_test(shares_are_compared),
		cmocka_unit_test(the_picture_is_drawn),
		cmocka_unit_test(nothing_is_no_picture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
