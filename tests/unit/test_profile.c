/* SPDX-License-Identifier: Apache-2.0 */
/* The profile model: interning, sums, sticky errors, images under several load biases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "profile/profile.h"

static int setup(void **state)
{
	static struct profile prof;

	*state = &prof;
	return profile_init(&prof);
}

static int teardown(void **state)
{
	profile_deinit(*state);
	return 0;
}

static void test_strings(void **state)
{
	struct profile *prof = *state;
	uint32_t id = profile_string(prof, "main");

	assert_int_equal(profile_string(prof, ""), 0);
	assert_int_equal(profile_string(prof, NULL), 0);
	assert_int_equal(profile_stringn(prof, "mainly", 4), id);
	assert_string_equal(profile_str(prof, id), "main");
	assert_string_equal(profile_str(prof, PROFILE_NONE), "");
}

static void test_tables_are_interned(void **state)
{
	struct profile *prof = *state;
	uint32_t map = profile_mapping(prof, "/bin/a", "ab");
	uint32_t func = profile_function(prof, "f", "_f", "f.c", 3);

	assert_int_equal(profile_mapping(prof, "/bin/a", "ab"), map);
	assert_int_not_equal(profile_mapping(prof, "/bin/a", "cd"), map);
	assert_int_not_equal(profile_mapping(prof, "/bin/b", "ab"), map);
	assert_int_equal(profile_function(prof, "f", "_f", "f.c", 3), func);
	assert_int_not_equal(profile_function(prof, "f", "_f", "f.c", 4), func);
	assert_int_not_equal(profile_function(prof, "f", "_g", "f.c", 3), func);
	assert_int_not_equal(profile_function(prof, "f", "_f", "g.c", 3), func);
	assert_int_equal(prof->mapping_cnt, 3);
	assert_int_equal(prof->function_cnt, 4);
}

static void test_locations(void **state)
{
	struct profile *prof = *state;
	uint32_t map = profile_mapping(prof, "/bin/a", "");
	uint32_t loc = profile_location(prof, map, 0x10, 0);

	assert_int_equal(profile_location(prof, map, 0x10, 0), loc);
	assert_int_not_equal(profile_location(prof, map, 0x10, LOCATION_WAKER), loc);
	assert_int_not_equal(profile_location(prof, map, 0x11, 0), loc);
	assert_int_not_equal(profile_location(prof, PROFILE_NONE, 0x10, 0), loc);
	assert_int_equal(profile_location_lines(prof, map, 0x10, 0, NULL, 0), loc);
	assert_string_equal(profile_location_name(prof, loc, 0), "");
	assert_int_equal(profile_named_location(prof, "x", 0),
			 profile_named_location(prof, "x", 0));
	assert_int_not_equal(profile_named_location(prof, "x", 0),
			     profile_named_location(prof, "x", LOCATION_KERNEL));
}

static void test_lines(void **state)
{
	struct profile *prof = *state;
	uint32_t map = profile_mapping(prof, "/bin/a", "");
	uint32_t loc = profile_location(prof, map, 0x10, 0);
	const struct profile_line lines[] = {
		{.function = profile_function(prof, "inner", "inner", "", 0), .line = 7},
		{.function = profile_function(prof, "outer", "outer", "", 0), .line = 9},
	};

	profile_set_lines(prof, loc, lines, 2);
	profile_set_lines(prof, loc, lines + 1, 1);
	assert_int_equal(prof->locations[loc].line_cnt, 2);
	assert_string_equal(profile_location_name(prof, loc, 0), "inner");
	assert_string_equal(profile_location_name(prof, loc, 1), "outer");
	assert_string_equal(profile_location_name(prof, loc, 2), "");
	/* known by its address as before, and from now on by its content */
	assert_int_equal(profile_location(prof, map, 0x10, 0), loc);
	assert_int_equal(profile_location_lines(prof, map, 0x10, 0, lines, 2), loc);
	assert_int_not_equal(profile_location_lines(prof, map, 0x10, 0, lines, 1), loc);
	assert_int_equal(prof->location_cnt, 2);
	assert_int_equal(prof->line_cnt, 3);
}

static void test_set_mapping(void **state)
{
	struct profile *prof = *state;
	uint32_t kernel = profile_mapping(prof, "[kernel.kallsyms]", "");
	uint32_t module = profile_mapping(prof, "[nf_tables]", "");
	uint32_t loc = profile_location(prof, kernel, 0x10, LOCATION_KERNEL);
	const struct profile_line line = {.function = profile_function(prof, "f", "f", "", 0)};

	profile_set_mapping(prof, loc, module);
	assert_int_equal(prof->locations[loc].mapping, module);
	assert_int_equal(profile_location(prof, module, 0x10, LOCATION_KERNEL), loc);
	assert_int_not_equal(profile_location(prof, kernel, 0x10, LOCATION_KERNEL), loc);
	/* With lines it stays where it is: they are what it is known by. */
	profile_set_lines(prof, loc, &line, 1);
	profile_set_mapping(prof, loc, kernel);
	assert_int_equal(prof->locations[loc].mapping, module);
	profile_set_mapping(prof, loc, PROFILE_NONE);
	profile_set_mapping(prof, PROFILE_NONE, kernel);
	assert_int_equal(prof->err, 0);
}

static void test_too_many_lines(void **state)
{
	static struct profile_line lines[UINT16_MAX + 1];
	struct profile *prof = *state;

	profile_function(prof, "f", "f", "", 0);
	assert_int_not_equal(profile_location_lines(prof, PROFILE_NONE, 0, 0, lines, UINT16_MAX),
			     PROFILE_NONE);
	assert_int_equal(profile_location_lines(prof, PROFILE_NONE, 0, 0, lines, UINT16_MAX + 1),
			 PROFILE_NONE);
	assert_int_equal(prof->err, -EINVAL);
	assert_int_equal(prof->location_cnt, 1);
}

static void test_stacks(void **state)
{
	struct profile *prof = *state;
	const uint32_t locs[] = {profile_named_location(prof, "a", 0),
				 profile_named_location(prof, "b", 0)};
	const uint32_t bad[] = {locs[0], PROFILE_NONE};
	uint32_t stack = profile_stack(prof, locs, 2), empty = profile_stack(prof, NULL, 0);

	assert_int_equal(profile_stack(prof, locs, 2), stack);
	assert_int_not_equal(profile_stack(prof, locs, 1), stack);
	assert_int_not_equal(empty, stack);
	assert_int_equal(profile_stack(prof, locs, 0), empty);
	assert_int_equal(profile_stack(prof, bad, 2), PROFILE_NONE);
	assert_int_equal(prof->stack_cnt, 3);
	assert_int_equal(prof->err, 0);
}

static void test_labels(void **state)
{
	struct profile *prof = *state;
	uint32_t text = profile_string(prof, "x"), unit = profile_string(prof, "bytes");
	/* ids against the order of the texts */
	struct profile_label labels[] = {
		{.key = profile_string(prof, "pid"), .str = PROFILE_NONE, .num = 3},
		{.key = profile_string(prof, "comm"), .str = text, .num = 99, .num_unit = unit},
	};
	const struct profile_label turned[] = {labels[1], labels[0]};
	uint32_t set = profile_labels(prof, labels, 2);
	const struct profile_label *stored = prof->labels + prof->label_sets[set].first;

	assert_int_equal(profile_labels(prof, turned, 2), set);
	assert_string_equal(profile_str(prof, stored[0].key), "comm");
	/* a text has no number */
	assert_int_equal(stored[0].num, 0);
	assert_int_equal(stored[0].num_unit, 0);
	labels[1].num = 98;
	assert_int_equal(profile_labels(prof, labels, 2), set);
	labels[0].num_unit = unit;
	assert_int_not_equal(profile_labels(prof, labels, 2), set);
	assert_int_equal(profile_labels(prof, NULL, 0), profile_labels(prof, labels, 0));
	labels[0].key = PROFILE_NONE;
	assert_int_equal(profile_labels(prof, labels, 2), PROFILE_NONE);
	assert_int_equal(prof->label_set_cnt, 3);
	assert_int_equal(prof->label_cnt, 4);
}

static void test_samples_add_up(void **state)
{
	struct profile *prof = *state;
	uint32_t stack = profile_stack(prof, NULL, 0), labels = profile_labels(prof, NULL, 0);
	uint32_t sample;

	profile_add_value_type(prof, "samples", "count");
	assert_int_equal(profile_add_value_type(prof, "cpu", "nanoseconds"), 1);
	sample = profile_sample(prof, stack, labels, (int64_t[]){1, 10});
	assert_int_equal(profile_sample(prof, stack, labels, (int64_t[]){2, INT64_MAX}), sample);
	assert_int_equal(prof->sample_cnt, 1);
	assert_int_equal(prof->values[0], 3);
	assert_int_equal(prof->values[1], INT64_MAX);
	assert_int_equal(profile_total(prof, 0), 3);
	assert_int_equal(profile_find_value(prof, "cpu"), 1);
	assert_int_equal(profile_find_value(prof, "heap"), PROFILE_NONE);
	assert_int_equal(profile_sample(prof, PROFILE_NONE, labels, (int64_t[]){1, 1}),
			 PROFILE_NONE);
	assert_int_equal(prof->err, 0);
	/* too late */
	assert_int_equal(profile_add_value_type(prof, "late", "count"), PROFILE_NONE);
	assert_int_equal(prof->err, -EINVAL);
}

static void test_value_type_max(void **state)
{
	struct profile *prof = *state;

	for (int i = 0; i < PROFILE_VALUES_MAX; i++)
		assert_int_equal(profile_add_value_type(prof, "x", "count"), i);
	assert_int_equal(profile_add_value_type(prof, "x", "count"), PROFILE_NONE);
	assert_int_equal(prof->err, -EINVAL);
}

static void test_errors_stick(void **state)
{
	struct profile *prof = *state;
	uint32_t map = profile_mapping(prof, "/bin/a", ""), stack = profile_stack(prof, NULL, 0);
	uint32_t labels = profile_labels(prof, NULL, 0);
	size_t string_cnt = prof->strings.cnt;

	profile_add_value_type(prof, "samples", "count");
	string_cnt = prof->strings.cnt;
	prof->err = -ENOMEM;
	assert_int_equal(profile_string(prof, "new"), PROFILE_NONE);
	assert_int_equal(profile_mapping(prof, "/bin/a", ""), PROFILE_NONE);
	assert_int_equal(profile_function(prof, "f", "f", "", 0), PROFILE_NONE);
	assert_int_equal(profile_location(prof, map, 1, 0), PROFILE_NONE);
	assert_int_equal(profile_named_location(prof, "f", 0), PROFILE_NONE);
	assert_int_equal(profile_stack(prof, NULL, 0), PROFILE_NONE);
	assert_int_equal(profile_labels(prof, NULL, 0), PROFILE_NONE);
	assert_int_equal(profile_sample(prof, stack, labels, (int64_t[]){1}), PROFILE_NONE);
	assert_int_equal(profile_add_value_type(prof, "x", "y"), PROFILE_NONE);
	profile_add_comment(prof, "c");
	assert_int_equal(prof->strings.cnt, string_cnt);
	assert_int_equal(prof->sample_cnt + prof->comment_cnt + prof->location_cnt, 0);
	assert_int_equal(prof->err, -ENOMEM);
}

static struct profile_mapping image(struct profile *prof, const char *path, uint64_t start,
				    uint64_t limit, uint64_t file_off)
{
	return (struct profile_mapping){
		.path = profile_string(prof, path),
		.build_id = profile_string(prof, "abcd"),
		.start = start,
		.limit = limit,
		.file_off = file_off,
		.flags = MAPPING_HAS_FUNCTIONS | MAPPING_HAS_LINES,
	};
}

static void test_image_under_two_biases(void **state)
{
	struct profile *prof = *state;
	struct profile_mapping first =
		image(prof, "/lib/x.so", 0x7f0000003000, 0x7f0000005000, 0x3000);
	struct profile_mapping second =
		image(prof, "/lib/x.so", 0x550000001000, 0x550000004000, 0x1000);
	uint64_t shift = 1;
	uint32_t map = profile_mapping_add(prof, &first, &shift);

	assert_int_equal(shift, 0);
	second.flags = MAPPING_HAS_FUNCTIONS | MAPPING_HAS_INLINES;
	assert_int_equal(profile_mapping_add(prof, &second, &shift), map);
	/* file offset 0x1000 is at 0x550000001000 there and would be at 0x7f0000001000 here */
	assert_true(0x550000001000 + shift == 0x7f0000001000);
	assert_true(prof->mappings[map].start == 0x7f0000001000);
	assert_true(prof->mappings[map].limit == 0x7f0000005000);
	assert_int_equal(prof->mappings[map].file_off, 0x1000);
	assert_int_equal(prof->mappings[map].flags, MAPPING_HAS_FUNCTIONS);
}

static void test_image_without_file_is_not_moved(void **state)
{
	struct profile *prof = *state;
	struct profile_mapping first = image(prof, "[vdso]", 0x7f0000003000, 0x7f0000005000, 0);
	struct profile_mapping second = image(prof, "[vdso]", 0x550000001000, 0x550000004000, 0);
	struct profile_mapping unknown = image(prof, "/lib/x.so", 0, 0, 0);
	struct profile_mapping known = image(prof, "/lib/x.so", 0x5000, 0x6000, 0x1000);
	uint64_t shift = 1;
	uint32_t map = profile_mapping_add(prof, &first, &shift);

	assert_int_equal(profile_mapping_add(prof, &second, &shift), map);
	assert_int_equal(shift, 0);
	assert_true(prof->mappings[map].start == 0x550000001000);
	assert_true(prof->mappings[map].limit == 0x7f0000005000);
	/* a range that is not known says nothing about the bias */
	map = profile_mapping_add(prof, &unknown, &shift);
	assert_int_equal(profile_mapping_add(prof, &known, &shift), map);
	assert_int_equal(shift, 0);
	assert_int_equal(prof->mappings[map].start, 0x5000);
	assert_int_equal(profile_mapping_add(prof, &unknown, &shift), map);
	assert_int_equal(shift, 0);
	assert_int_equal(prof->mappings[map].limit, 0x6000);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_strings),
		CASE(test_tables_are_interned),
		CASE(test_locations),
		CASE(test_lines),
		CASE(test_set_mapping),
		CASE(test_too_many_lines),
		CASE(test_stacks),
		CASE(test_labels),
		CASE(test_samples_add_up),
		CASE(test_value_type_max),
		CASE(test_errors_stick),
		CASE(test_image_under_two_biases),
		CASE(test_image_without_file_is_not_moved),
	};

	return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
