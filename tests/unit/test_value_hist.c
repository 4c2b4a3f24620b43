/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of probes' values, and labels that name calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "profile/call_sites.h"
#include "profile/value_hist.h"

static uint32_t comm_labels(struct profile *prof)
{
	const struct profile_label label = {
		.key = profile_string(prof, "comm"),
		.str = profile_string(prof, "a.out"),
		.num_unit = profile_string(prof, ""),
	};

	return profile_labels(prof, &label, 1);
}

static uint32_t function_location(struct profile *prof, const char *name, const char *file,
				  uint32_t line, uint64_t address)
{
	const struct profile_line lines[] = {
		{.function = profile_function(prof, name, name, file, 0), .line = line},
	};

	return profile_location_lines(prof, profile_mapping(prof, "/bin/a.out", ""), address, 0,
				      lines, 1);
}

static void add(struct profile *prof, uint32_t log2, int64_t calls, int64_t ns)
{
	const uint32_t location = profile_named_location(prof, "f", 0);
	const int64_t values[] = {calls, ns};

	profile_sample(prof, profile_stack(prof, &location, 1),
		       value_hist_labels(prof, comm_labels(prof), log2, "nanoseconds"), values);
}

static void test_columns(void **state)
{
	_cleanup_(buf_deinit) struct buf text;
	struct profile prof;

	assert_int_equal(profile_init(&prof), 0);
	buf_init(&text, BUF_NO_MAX);
	profile_add_value_type(&prof, "calls", "count");
	profile_add_value_type(&prof, "time", "nanoseconds");
	value_hist_format(&prof, 1, 0, &text);
	assert_int_equal(text.len, 0);
	add(&prof, 3, 40, 400);
	add(&prof, 5, 1, 33);
	add(&prof, 5, 1, 35); /* the same stack, the same column */
	add(&prof, 0, 7, 0);
	assert_int_equal(prof.sample_cnt, 3);
	value_hist_format(&prof, 1, 0, &text);
	assert_int_equal(text.err, 0);
	assert_non_null(strstr(buf_cstr(&text), "  0 -> 1  "));
	assert_non_null(strstr(buf_cstr(&text), "7 |*******   "));
	assert_non_null(strstr(buf_cstr(&text), "40 |****************************************|\n"));
	assert_non_null(strstr(buf_cstr(&text), "  8 -> 15 "));
	/* Nothing at 16, which is between two that have some. */
	assert_non_null(strstr(buf_cstr(&text), " 16 -> 31 "));
	assert_non_null(strstr(buf_cstr(&text), " 0 |    "));
	assert_non_null(strstr(buf_cstr(&text), "2 |**  "));
	assert_null(strstr(buf_cstr(&text), " 64 -> 127"));
	profile_deinit(&prof);
}

/* The largest power of two that a label can hold. */
static void test_highest_column(void **state)
{
	_cleanup_(buf_deinit) struct buf text;
	struct profile prof;

	assert_int_equal(profile_init(&prof), 0);
	buf_init(&text, BUF_NO_MAX);
	profile_add_value_type(&prof, "calls", "count");
	profile_add_value_type(&prof, "time", "nanoseconds");
	add(&prof, 63, 1, INT64_MAX);
	value_hist_format(&prof, 1, 0, &text);
	assert_non_null(strstr(buf_cstr(&text), "4611686018427387904 -> "));
	profile_deinit(&prof);
}

/* Counts of any size: a full bar, and none for what is no count. */
static void test_counts(void **state)
{
	_cleanup_(buf_deinit) struct buf text;
	struct profile prof;

	assert_int_equal(profile_init(&prof), 0);
	buf_init(&text, BUF_NO_MAX);
	profile_add_value_type(&prof, "calls", "count");
	profile_add_value_type(&prof, "time", "nanoseconds");
	add(&prof, 3, -5, 400);
	value_hist_format(&prof, 1, 0, &text);
	assert_int_equal(text.len, 0);
	add(&prof, 3, INT64_MAX, 400);
	add(&prof, 4, INT64_MAX / 2, 400);
	value_hist_format(&prof, 1, 0, &text);
	assert_non_null(strstr(buf_cstr(&text), "|****************************************|\n"));
	assert_non_null(strstr(buf_cstr(&text), "|********************                    |\n"));
	profile_deinit(&prof);
}

/* The caller label of sample @i. */
static const char *caller_of(const struct profile *prof, size_t i)
{
	const struct profile_label_set *set = &prof->label_sets[prof->samples[i].label_set];

	for (uint32_t k = set->first; k < set->first + set->cnt; k++)
		if (!strcmp(profile_str(prof, prof->labels[k].key), "caller"))
			return profile_str(prof, prof->labels[k].str);
	return NULL;
}

static void test_call_sites(void **state)
{
	const int64_t value = 5;
	uint32_t stack[2], labels;
	struct profile prof;

	assert_int_equal(profile_init(&prof), 0);
	profile_add_value_type(&prof, "calls", "count");
	labels = comm_labels(&prof);
	stack[0] = function_location(&prof, "malloc", "malloc.c", 1, 0x10);
	stack[1] = function_location(&prof, "main", "src/main.c", 12, 0x20);
	profile_sample(&prof, profile_stack(&prof, stack, 2), labels, &value);
	stack[1] = function_location(&prof, "nolines", "", 0, 0x30);
	profile_sample(&prof, profile_stack(&prof, stack, 2), labels, &value);
	stack[1] = profile_location(&prof, profile_mapping(&prof, "/bin/a.out", ""), 0x1234, 0);
	profile_sample(&prof, profile_stack(&prof, stack, 2), labels, &value);
	profile_sample(&prof, profile_stack(&prof, stack, 1), labels, &value);
	assert_int_equal(call_sites_label(&prof), 0);
	assert_int_equal(prof.sample_cnt, 4);
	assert_string_equal(caller_of(&prof, 0), "main (main.c:12)");
	assert_string_equal(caller_of(&prof, 1), "nolines");
	assert_string_equal(caller_of(&prof, 2), "[a.out+0x1234]");
	assert_string_equal(caller_of(&prof, 3), "[unknown caller]");
	assert_int_equal(profile_total(&prof, 0), 20);
	profile_deinit(&prof);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_highest_column),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_call_sites),
	};

	return cmocka_run_group_tests_name("profile/value_hist", tests, NULL, NULL);
}
