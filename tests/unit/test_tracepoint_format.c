/* SPDX-License-Identifier: Apache-2.0 */
/* Format files of tracepoints. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "event/tracepoint_format.h"

static const char text[] = "name: made_up\nID: 341\nformat:\n"
			   "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			   "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
			   "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
			   "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
			   "\tfield:__data_loc char[] filename;\toffset:28;\tsize:4;\tsigned:0;\n"
			   "\tfield:__rel_loc char[] later;\toffset:32;\tsize:4;\tsigned:0;\n"
			   "\tfield:const char * path;\toffset:40;\tsize:8;\tsigned:0;\n"
			   "\tfield:unsigned long args[6];\toffset:48;\tsize:48;\tsigned:0;\n"
			   "\tfield:const char name[NAME_LEN];\toffset:96;\tsize:32;\tsigned:1;\n"
			   "\tfield:__data_loc u32[] ips;\toffset:128;\tsize:4;\tsigned:0;\n"
			   "\nprint fmt: \"field:int x; offset:1; size:1; signed:0;\", REC->pid\n";

static const struct event_field want[] = {
	{"comm", "char[16]", 8, 16, .is_array = true, .is_string = true},
	{"pid", "pid_t", 24, 4, .is_signed = true},
	{"filename", "char[]", 28, 4, .is_data_loc = true, .is_string = true},
	{"path", "const char *", 40, 8},
	{"args", "unsigned long[6]", 48, 48, .is_array = true},
	{"name", "const char[NAME_LEN]", 96, 32, .is_array = true, .is_string = true,
	 .is_signed = true},
	{"ips", "u32[]", 128, 4, .is_data_loc = true},
};

static void test_fields(void **state)
{
	struct tracepoint_format format;

	assert_int_equal(tracepoint_format_parse(text, strlen(text), &format), 0);
	assert_int_equal(format.id, 341);
	assert_int_equal(format.cnt, sizeof(want) / sizeof(want[0]));
	for (size_t i = 0; i < format.cnt; i++) {
		const struct event_field *got = &format.fields[i];

		assert_string_equal(got->name, want[i].name);
		assert_string_equal(got->type, want[i].type);
		assert_int_equal(got->off, want[i].off);
		assert_int_equal(got->size, want[i].size);
		assert_int_equal(got->is_signed, want[i].is_signed);
		assert_int_equal(got->is_array, want[i].is_array);
		assert_int_equal(got->is_data_loc, want[i].is_data_loc);
		assert_int_equal(got->is_string, want[i].is_string);
	}
	tracepoint_format_deinit(&format);
}

static void test_damaged(void **state)
{
	static const char *const lines[] = {
		"field:int;\toffset:8;\tsize:4;\tsigned:1;",
		"field:int x;\toffset:8;\tsize:4;",
		"field:int x;\toffset:eight;\tsize:4;\tsigned:1;",
		"field:int x;\toffset:8;\tsize:4;\tsigned:2;",
		"field:int x;\toffset:65000;\tsize:4000;\tsigned:1;",
		"field:int x;\toffset:99999999999999999999999;\tsize:4;\tsigned:1;",
		"field:int [4];\toffset:8;\tsize:4;\tsigned:1;",
		"field:]int x];\toffset:8;\tsize:4;\tsigned:1;",
		"field:;\toffset:8;\tsize:4;\tsigned:1;",
		"field:__data_loc ;\toffset:8;\tsize:4;\tsigned:1;",
		"field:__data_loc char[] x;\toffset:8;\tsize:2;\tsigned:1;",
	};
	struct tracepoint_format format;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char file[200];
		int len = snprintf(file, sizeof(file), "ID: 1\n\t%s\n", lines[i]);

		assert_int_equal(tracepoint_format_parse(file, (size_t)len, &format), 0);
		if (format.cnt)
			fail_msg("taken: %s", lines[i]);
		tracepoint_format_deinit(&format);
	}
	assert_int_equal(tracepoint_format_parse("", 0, &format), -EBADMSG);
	assert_int_equal(tracepoint_format_parse("ID: x\n", 6, &format), -EBADMSG);
}

static void test_intersect(void **state)
{
	static const char other[] =
		"ID: 7\n"
		"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
		"\tfield:char comm[16];\toffset:16;\tsize:16;\tsigned:0;\n"
		"\tfield:const char * path;\toffset:40;\tsize:8;\tsigned:1;\n"
		"\tfield:unsigned long args[6];\toffset:48;\tsize:48;\tsigned:0;\n";
	struct tracepoint_format one, two;

	assert_int_equal(tracepoint_format_parse(text, strlen(text), &one), 0);
	assert_int_equal(tracepoint_format_parse(other, strlen(other), &two), 0);
	tracepoint_format_intersect(&one, &two);
	assert_int_equal(one.cnt, 2);
	assert_string_equal(one.fields[0].name, "pid");
	assert_string_equal(one.fields[1].name, "args");
	tracepoint_format_deinit(&one);
	tracepoint_format_deinit(&two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_intersect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
