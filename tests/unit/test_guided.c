/* SPDX-License-Identifier: Apache-2.0 */
/* What compilers are given: Go's PGO profile and clang's sample profile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "encode/decode.h"
#include "encode/encoder.h"
#include "sample_profile.h"

static int encode(const struct profile *prof, const struct encoder *encoder, uint32_t value,
		  struct buf *out)
{
	const struct encoder_opts opts = {.value = value};

	buf_init(out, BUF_NO_MAX);
	return encoder->encode(prof, &opts, out);
}

static void assert_text(const struct profile *prof, uint32_t value, const char *expected)
{
	struct buf text;

	assert_int_equal(encode(prof, &encoder_autofdo, value, &text), 0);
	assert_string_equal(buf_cstr(&text), expected);
	buf_deinit(&text);
}

/* A location of one line of function @name, which starts in line 10. */
static uint32_t at_line(struct profile *prof, uint64_t address, const char *name, uint32_t line)
{
	const struct profile_line at = {profile_function(prof, name, name, "/src/a.c", 10), line};
	uint32_t location = profile_location(prof, profile_mapping(prof, "/bin/a", ""), address, 0);

	profile_set_lines(prof, location, &at, 1);
	return location;
}

static void add(struct profile *prof, uint32_t leaf, int64_t samples)
{
	profile_sample(prof, profile_stack(prof, &leaf, 1), profile_labels(prof, NULL, 0),
		       (int64_t[]){samples, samples * 10});
}

static void test_inlined(void **state)
{
	struct profile prof;

	assert_int_equal(profile_init(&prof), 0);
	sample_profile(&prof);
	assert_text(&prof, PROFILE_NONE,
		    "# bpfprof: 3 counted, 20 in code whose lines are not known\n"
		    "work:3:0\n"
		    " 23: _Z5parseIcLi4EEvPKc:3\n"
		    "  11: next_char:3\n"
		    "   2: 3\n");
	profile_deinit(&prof);
}

/* Of a line's instructions the one that has most counts; of a function all do. */
static void test_lines(void **state)
{
	struct profile prof;

	assert_int_equal(profile_init(&prof), 0);
	sample_header(&prof);
	add(&prof, at_line(&prof, 0x10, "small", 11), 2);
	add(&prof, at_line(&prof, 0x20, "large", 19), 5);
	add(&prof, at_line(&prof, 0x24, "large", 19), 7);
	add(&prof, at_line(&prof, 0x28, "large", 12), 1);
	add(&prof, at_line(&prof, 0x2c, "large", 9), 3); /* before its start: a macro's, say */
	add(&prof, at_line(&prof, 0x30, "nowhere", 0), 4);
	add(&prof, at_line(&prof, 0x40, "2nd", 11), 4); /* a reader would take it for a count */
	assert_text(&prof, PROFILE_NONE,
		    "# bpfprof: 18 counted, 8 in code whose lines are not known\n"
		    "large:16:0\n 2: 1\n 9: 7\n 65535: 3\n"
		    "small:2:0\n 1: 2\n");
	assert_text(&prof, 1,
		    "# bpfprof: 180 counted, 80 in code whose lines are not known\n"
		    "large:160:0\n 2: 10\n 9: 70\n 65535: 30\n"
		    "small:20:0\n 1: 20\n");
	profile_deinit(&prof);
}

/* Two callees in one line, and the same one in two: each stands where it was inlined. */
static void test_call_sites(void **state)
{
	static const struct {
		const char *callee;
		uint32_t line;
		int64_t samples;
	} calls[] = {{"b", 12, 1}, {"a", 12, 2}, {"a", 11, 4}};
	struct profile prof;

	assert_int_equal(profile_init(&prof), 0);
	sample_header(&prof);
	add(&prof, at_line(&prof, 0x90, "top", 14), 8);
	for (size_t i = 0; i < 3; i++) {
		const struct profile_line lines[] = {
			{profile_function(&prof, calls[i].callee, "", "/src/a.c", 30), 31},
			{profile_function(&prof, "top", "top", "/src/a.c", 10), calls[i].line},
		};
		uint32_t location = profile_location(&prof, PROFILE_NONE, 0x100 + i, 0);

		profile_set_lines(&prof, location, lines, 2);
		add(&prof, location, calls[i].samples);
	}
	assert_text(&prof, PROFILE_NONE,
		    "# bpfprof: 15 counted, 0 in code whose lines are not known\n"
		    "top:15:0\n 4: 8\n 1: a:4\n  1: 4\n 2: a:2\n  1: 2\n 2: b:1\n  1: 1\n");
	profile_deinit(&prof);
}

static void test_deep_inlines(void **state)
{
	struct profile_line lines[100];
	struct profile prof;
	uint32_t location;

	assert_int_equal(profile_init(&prof), 0);
	sample_header(&prof);
	for (size_t i = 0; i < 100; i++)
		lines[i] = (struct profile_line){profile_function(&prof, "f", "f", "", 1), 2};
	location = profile_location(&prof, PROFILE_NONE, 1, 0);
	profile_set_lines(&prof, location, lines, 100);
	add(&prof, location, 6);
	assert_text(&prof, PROFILE_NONE,
		    "# bpfprof: 0 counted, 6 in code whose lines are not known\n");
	profile_deinit(&prof);
}

static void test_pgo(void **state)
{
	struct profile prof, again;
	struct buf file;
	int64_t sum = 0;

	assert_int_equal(profile_init(&prof), 0);
	sample_profile(&prof);
	assert_int_equal(encode(&prof, &encoder_pgo, 0, &file), 0);
	assert_int_equal(profile_init(&again), 0);
	assert_int_equal(profile_decode(buf_cstr(&file), file.len, &again, NULL), 0);
	assert_int_equal(again.value_type_cnt, 1);
	assert_int_equal(profile_find_value(&again, "samples"), 0);
	assert_int_equal(again.period, 10101010);
	assert_int_equal(again.label_cnt, 0);
	for (size_t i = 0; i < again.location_cnt; i++)
		assert_int_equal(again.locations[i].flags & ~LOCATION_JIT, 0);
	for (size_t i = 0; i < again.sample_cnt; i++)
		sum += again.values[i];
	/* Without the waker's, and the one that has no stack: 10 + 3, 4, 5. */
	assert_int_equal(again.sample_cnt, 3);
	assert_int_equal(sum, 22);
	assert_int_equal(again.values[0], 13);
	for (size_t i = 0; i < again.function_cnt; i++)
		if (!strcmp(profile_str(&again, again.functions[i].name), "work"))
			assert_int_equal(again.functions[i].start_line, 100);
	buf_deinit(&file);
	profile_deinit(&again);
	assert_int_equal(encode(&prof, &encoder_pgo, PROFILE_NONE, &file), 0);
	assert_int_equal(profile_init(&again), 0);
	assert_int_equal(profile_decode(buf_cstr(&file), file.len, &again, NULL), 0);
	assert_int_equal(profile_find_value(&again, "cpu"), 0);
	assert_int_equal(again.values[0], 101010100 + 30303030);
	buf_deinit(&file);
	profile_deinit(&again);
	profile_deinit(&prof);
}

static void test_no_cpu(void **state)
{
	struct profile prof;
	struct buf file;

	assert_int_equal(profile_init(&prof), 0);
	assert_int_equal(encode(&prof, &encoder_pgo, PROFILE_NONE, &file), 0);
	assert_true(file.len > 0);
	buf_deinit(&file);
	assert_text(&prof, PROFILE_NONE,
		    "# bpfprof: 0 counted, 0 in code whose lines are not known\n");
	profile_add_value_type(&prof, "off_cpu", "nanoseconds");
	profile_add_value_type(&prof, "samples", "bytes");
	add(&prof, at_line(&prof, 0x10, "f", 11), 2);
	assert_int_equal(encode(&prof, &encoder_pgo, PROFILE_NONE, &file), -ENODATA);
	assert_int_equal(file.len, 0);
	buf_deinit(&file);
	profile_deinit(&prof);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inlined),	   cmocka_unit_test(test_lines),
		cmocka_unit_test(test_call_sites), cmocka_unit_test(test_deep_inlines),
		cmocka_unit_test(test_pgo),	   cmocka_unit_test(test_no_cpu),
	};

	return cmocka_run_group_tests_name("encode/guided", tests, NULL, NULL);
}
