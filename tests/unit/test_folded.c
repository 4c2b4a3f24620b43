/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks, written and read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "encode/decode.h"
#include "encode/encoder.h"
#include "encode/gzip.h"
#include "profile_dump.h"
#include "sample_profile.h"

static void encode(const struct profile *prof, const struct encoder_opts *opts, struct buf *out)
{
	buf_init(out, BUF_NO_MAX);
	assert_int_equal(encoder_folded.encode(prof, opts, out), 0);
}

static void assert_folded(const struct profile *prof, const struct encoder_opts *opts,
			  const char *expected)
{
	struct buf text;

	encode(prof, opts, &text);
	assert_string_equal(buf_cstr(&text), expected);
	buf_deinit(&text);
}

static void assert_golden(const struct profile *prof, const struct encoder_opts *opts,
			  const char *path)
{
	struct buf golden;

	buf_init(&golden, BUF_NO_MAX);
	assert_int_equal(fs_read_file(path, &golden), 0);
	assert_folded(prof, opts, buf_cstr(&golden));
	buf_deinit(&golden);
}

static void test_golden(void **state)
{
	struct encoder_opts opts = {.value = PROFILE_NONE};
	struct profile prof;

	assert_int_equal(profile_init(&prof), 0);
	sample_profile(&prof);
	assert_golden(&prof, &opts, "tests/golden/sample.folded");
	opts.annotate = true;
	assert_golden(&prof, &opts, "tests/golden/sample-annotated.folded");
	opts.by = "comm,nothing,tid";
	opts.value = 1;
	assert_golden(&prof, &opts, "tests/golden/sample-by-tid.folded");
	profile_deinit(&prof);
}

/* The first frame: labels in the order asked for, numbers as numbers, none where there is none. */
static void test_by(void **state)
{
	struct profile prof;
	struct profile_label labels[3];
	uint32_t main_loc;

	assert_int_equal(profile_init(&prof), 0);
	profile_add_value_type(&prof, "samples", "count");
	main_loc = profile_named_location(&prof, "main", 0);
	labels[0] = (struct profile_label){.key = profile_string(&prof, "comm"),
					   .str = profile_string(&prof, "ng;inx")};
	labels[1] = (struct profile_label){
		.key = profile_string(&prof, "pid"), .str = PROFILE_NONE, .num = 12};
	labels[2] = (struct profile_label){.key = profile_string(&prof, "empty"), .str = 0};
	profile_sample(&prof, profile_stack(&prof, &main_loc, 1), profile_labels(&prof, labels, 3),
		       (int64_t[]){7});
	assert_folded(&prof, &(struct encoder_opts){.value = 0}, "ng:inx;main 7\n");
	assert_folded(&prof, &(struct encoder_opts){.by = "pid,comm"}, "12-ng:inx;main 7\n");
	assert_folded(&prof, &(struct encoder_opts){.by = "pid"}, "12;main 7\n");
	assert_folded(&prof, &(struct encoder_opts){.by = "com,p,comms,,pid,"}, "12;main 7\n");
	assert_folded(&prof, &(struct encoder_opts){.by = "tid"}, "main 7\n");
	assert_folded(&prof, &(struct encoder_opts){.by = ""}, "main 7\n");
	assert_folded(&prof, &(struct encoder_opts){.by = "empty"}, "?;main 7\n");
	assert_folded(&prof, &(struct encoder_opts){.by = "empty,pid"}, "-12;main 7\n");
	profile_deinit(&prof);
}

static void test_equal_lines_add_up(void **state)
{
	struct profile prof;
	uint32_t map, first[2], second[2];
	struct profile_line line = {.line = 1};

	assert_int_equal(profile_init(&prof), 0);
	profile_add_value_type(&prof, "samples", "count");
	/* one function at two addresses, on two lines, for two threads: one line of text */
	map = profile_mapping(&prof, "/bin/x", "");
	line.function = profile_function(&prof, "work", "work", "", 0);
	first[0] = profile_location_lines(&prof, map, 0x10, 0, &line, 1);
	line.line = 2;
	second[0] = profile_location_lines(&prof, map, 0x20, 0, &line, 1);
	first[1] = second[1] = profile_named_location(&prof, "main", 0);
	profile_sample(&prof, profile_stack(&prof, first, 2), sample_labels(&prof, "x", 1, 0),
		       (int64_t[]){3});
	profile_sample(&prof, profile_stack(&prof, second, 2), sample_labels(&prof, "x", 2, 0),
		       (int64_t[]){4});
	profile_sample(&prof, profile_stack(&prof, first, 1), sample_labels(&prof, "x", 1, 0),
		       (int64_t[]){0});
	assert_folded(&prof, &(struct encoder_opts){.value = 0}, "x;main;work 7\n");
	/* what cancels out is gone, what is negative stays */
	profile_sample(&prof, profile_stack(&prof, second, 2), sample_labels(&prof, "x", 3, 0),
		       (int64_t[]){-7});
	profile_sample(&prof, profile_stack(&prof, first, 1), sample_labels(&prof, "x", 1, 0),
		       (int64_t[]){-5});
	assert_folded(&prof, &(struct encoder_opts){.value = 0}, "x;work -5\n");
	profile_deinit(&prof);
}

static void test_addresses(void **state)
{
	static const struct {
		const char *path, *expected;
	} cases[] = {
		{"/usr/lib/libc.so.6", "x;[libc.so.6+0x1f] 1\n"},
		{"/tmp/a;b\n (deleted)", "x;[a:b?+0x1f] 1\n"},
		{"[vdso]", "x;[vdso+0x1f] 1\n"},
		{"//anon", "x;[anon+0x1f] 1\n"},
		{"/dir/", "x;[unknown+0x1f] 1\n"},
		{"", "x;[unknown+0x1f] 1\n"},
		{"[]", "x;[[]+0x1f] 1\n"},
		{"\xff", "x;[?+0x1f] 1\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct profile prof;
		uint32_t loc;

		assert_int_equal(profile_init(&prof), 0);
		profile_add_value_type(&prof, "samples", "count");
		loc = profile_location(&prof, profile_mapping(&prof, cases[i].path, ""), 0x1f, 0);
		profile_sample(&prof, profile_stack(&prof, &loc, 1),
			       sample_labels(&prof, "x", 1, 0), (int64_t[]){1});
		assert_folded(&prof, &(struct encoder_opts){.value = 0}, cases[i].expected);
		profile_deinit(&prof);
	}
}

static void test_nothing(void **state)
{
	struct profile prof;

	assert_int_equal(profile_init(&prof), 0);
	assert_folded(&prof, &(struct encoder_opts){.value = PROFILE_NONE}, "");
	profile_add_value_type(&prof, "samples", "count");
	assert_folded(&prof, &(struct encoder_opts){.value = 0}, "");
	profile_sample(&prof, profile_stack(&prof, NULL, 0), profile_labels(&prof, NULL, 0),
		       (int64_t[]){3});
	assert_folded(&prof, &(struct encoder_opts){.value = 0}, "[no stack] 3\n");
	profile_deinit(&prof);
}

static void test_no_such_value(void **state)
{
	struct profile prof;
	struct buf out;

	assert_int_equal(profile_init(&prof), 0);
	sample_profile(&prof);
	buf_init(&out, BUF_NO_MAX);
	assert_int_equal(encoder_folded.encode(&prof, &(struct encoder_opts){.value = 2}, &out),
			 -EINVAL);
	assert_int_equal(out.len, 0);
	/* a full output is an error, not a shorter profile */
	buf_init(&out, 20);
	assert_int_equal(encoder_folded.encode(&prof, &(struct encoder_opts){.value = 0}, &out),
			 -EFBIG);
	buf_deinit(&out);
	profile_deinit(&prof);
}

static int compare_strings(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Names of few letters, among them those that the format uses: many share beginnings. */
static void nasty_name(uint64_t *seed, char name[static 8])
{
	static const char letters[] = "a 1;-\x01";
	size_t len;

	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	len = 1 + (*seed >> 60) % 6;
	for (size_t i = 0; i < len; i++)
		name[i] = letters[(*seed >> (20 + 5 * i)) % (sizeof(letters) - 1)];
	name[len] = '\0';
}

static void test_order_is_that_of_bytes(void **state)
{
	struct profile prof;
	struct buf text;
	uint64_t seed = 1;
	char name[8], *lines[4096], *rest;
	size_t cnt = 0;

	assert_int_equal(profile_init(&prof), 0);
	profile_add_value_type(&prof, "samples", "count");
	for (int i = 0; i < 3000; i++) {
		uint32_t stack[3], depth = (uint32_t)i % 4;

		for (uint32_t j = 0; j < depth; j++) {
			nasty_name(&seed, name);
			stack[j] = profile_named_location(&prof, name, 0);
		}
		nasty_name(&seed, name);
		profile_sample(&prof, profile_stack(&prof, stack, depth),
			       sample_labels(&prof, name, 0, 0),
			       (int64_t[]){(int64_t)(seed >> 58) - 20});
	}
	encode(&prof, &(struct encoder_opts){.value = 0}, &text);
	rest = text.data;
	for (char *line = strsep(&rest, "\n"); rest; line = strsep(&rest, "\n"))
		lines[cnt++] = line;
	assert_true(cnt > 1000);
	for (size_t i = 1; i < cnt; i++)
		assert_true(compare_strings(&lines[i - 1], &lines[i]) < 0);
	buf_deinit(&text);
	profile_deinit(&prof);
}

/* --- Reading --- */

static int decode(const char *text, struct profile *out, const char *reason)
{
	struct buf why;
	int err;

	assert_int_equal(profile_init(out), 0);
	buf_init(&why, BUF_NO_MAX);
	err = folded_decode(text, strlen(text), out, &why);
	assert_string_equal(buf_cstr(&why), reason);
	buf_deinit(&why);
	return err;
}

/* @text read and written again is @expected. */
static void assert_rewritten(const char *text, const char *expected)
{
	struct profile prof;

	assert_int_equal(decode(text, &prof, ""), 0);
	assert_folded(&prof, &(struct encoder_opts){.value = PROFILE_NONE, .annotate = true},
		      expected);
	profile_deinit(&prof);
}

static void test_rewrites_alike(void **state)
{
	static const char *const texts[] = {
		"",
		"sh 1\n",
		"sh;main 9223372036854775807\n",
		"sh;main -3\n",
		"a b;c d 12\nx 1\n",
		"web;[truncated: no_rows];f;g 2\n",
		"web;a;[3 frames elided];b_[k] 1\n",
		"web;outer;mid_[i];in_[i];k1_[k];k2_[i];j_[j];w_[w] 4\n",
		"web;orphan_[i];next_[i] 4\n",
		"web;_[k];_[x];x_[] 4\n",
		"web;main;[blocked: futex];--;unlock_[w];in_[i];main_[w];sh_[w] 4\n",
		"web;[running: not sampled] 1\nweb;main;[runnable: woken] 4\n",
		"web  ;f  5\nweb ;f 5\nx 1\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_rewritten(texts[i], texts[i]);
}

static void test_forms(void **state)
{
	assert_rewritten("sh;main 1\r\nsh;main 2\r\n", "sh;main 3\n");
	assert_rewritten("# perf script\n#\n\n  \nsh;main\t3", "sh;main 3\n");
	assert_rewritten("#a;b 1\n", "#a;b 1\n");
	assert_rewritten("a 1.49\nb 1.5\nc 2.\nd 0.4\ne -0.5\n", "a 1\nb 2\nc 2\ne -1\n");
	assert_rewritten("a;b 3  \n", "a;b 3\n");
	assert_rewritten("a;;b 3\n", "a;[unknown+0x0];b 3\n");
	assert_rewritten("; 3\n", "? 3\n");
}

static void test_golden_rewritten(void **state)
{
	struct buf golden;

	buf_init(&golden, BUF_NO_MAX);
	assert_int_equal(fs_read_file("tests/golden/sample-annotated.folded", &golden), 0);
	assert_rewritten(buf_cstr(&golden), buf_cstr(&golden));
	buf_deinit(&golden);
}

static void test_flags_and_inlines(void **state)
{
	struct profile prof;
	const struct profile_location *loc;

	assert_int_equal(decode("c;outer_[k];in_[i];[truncated: x] 1\n", &prof, ""), 0);
	assert_int_equal(prof.location_cnt, 2);
	loc = &prof.locations[prof.stack_locations[1]];
	assert_int_equal(loc->flags, LOCATION_KERNEL);
	assert_int_equal(loc->line_cnt, 2);
	assert_string_equal(profile_location_name(&prof, prof.stack_locations[1], 0), "in");
	assert_string_equal(profile_location_name(&prof, prof.stack_locations[1], 1), "outer");
	assert_int_equal(prof.locations[prof.stack_locations[0]].flags, LOCATION_SYNTHETIC);
	assert_string_equal(profile_str(&prof, prof.labels[0].key), "comm");
	assert_string_equal(profile_str(&prof, prof.labels[0].str), "c");
	profile_deinit(&prof);
}

/* A waker's frames are that by their place too, and the same text before it is another frame. */
static void test_wakers(void **state)
{
	const uint32_t *stack;
	struct profile prof;

	assert_rewritten("c;main;[blocked: futex];--;unlock;in_[i];main;sh 1\n",
			 "c;main;[blocked: futex];--;unlock_[w];in_[i];main_[w];sh_[w] 1\n");
	assert_rewritten("c;main;--_[k] 1\n", "c;main;--_[k] 1\n");
	assert_int_equal(decode("c;main;[blocked: futex];--;unlock_[w];main 1\n", &prof, ""), 0);
	assert_int_equal(prof.stacks[0].cnt, 5);
	stack = prof.stack_locations + prof.stacks[0].first;
	assert_int_equal(prof.locations[stack[0]].flags, LOCATION_WAKER);
	assert_int_equal(prof.locations[stack[1]].flags, LOCATION_WAKER);
	assert_int_equal(prof.locations[stack[2]].flags, LOCATION_SYNTHETIC);
	assert_int_equal(prof.locations[stack[3]].flags, LOCATION_SYNTHETIC);
	assert_int_equal(prof.locations[stack[4]].flags, 0);
	assert_folded(&prof, &(struct encoder_opts){.value = PROFILE_NONE},
		      "c;main;[blocked: futex];--;unlock;main 1\n");
	profile_deinit(&prof);
}

static void test_two_columns(void **state)
{
	struct profile prof;

	assert_int_equal(decode("a;b 3 5\na;c 0 7\n", &prof, ""), 0);
	assert_int_equal(prof.value_type_cnt, 2);
	assert_int_equal(profile_total(&prof, profile_find_value(&prof, "before")), 3);
	assert_int_equal(profile_total(&prof, profile_find_value(&prof, "after")), 12);
	assert_folded(&prof, &(struct encoder_opts){.value = 0}, "a;b 3\n");
	assert_folded(&prof, &(struct encoder_opts){.value = PROFILE_NONE}, "a;b 5\na;c 7\n");
	profile_deinit(&prof);
	/* one line without: the number is part of a name */
	assert_int_equal(decode("a;b 3 5\na;c 7\n", &prof, ""), 0);
	assert_int_equal(prof.value_type_cnt, 1);
	assert_folded(&prof, &(struct encoder_opts){.value = 0}, "a;b 3 5\na;c 7\n");
	profile_deinit(&prof);
}

static void test_bad_lines(void **state)
{
	struct profile prof;

	assert_int_equal(decode("a;b 1\nno count\n5\n 5\na;b 9223372036854775808\n", &prof,
				"4 of 5 lines do not end in a count and are left out, the first "
				"is line 2"),
			 0);
	assert_int_equal(profile_total(&prof, 0), 1);
	profile_deinit(&prof);
	assert_int_equal(decode("# x\nhello\nworld 1x\nx .5\nx -\n", &prof,
				"no folded stacks: none of 4 lines ends in a count"),
			 -EBADMSG);
	profile_deinit(&prof);
}

static void test_sniffing(void **state)
{
	static const char text[] = "caf\xc3\xa9;b 3\n";
	struct profile prof;
	struct gzip_writer gzip;
	struct buf packed;

	assert_int_equal(profile_init(&prof), 0);
	assert_int_equal(profile_decode(text, strlen(text), &prof, NULL), 0);
	assert_int_equal(profile_total(&prof, 0), 3);
	profile_deinit(&prof);
	buf_init(&packed, BUF_NO_MAX);
	gzip_writer_init(&gzip, &packed);
	gzip_writer_add(&gzip, text, strlen(text));
	assert_int_equal(gzip_writer_finish(&gzip), 0);
	assert_int_equal(profile_init(&prof), 0);
	assert_int_equal(profile_decode(packed.data, packed.len, &prof, NULL), 0);
	assert_int_equal(profile_total(&prof, 0), 3);
	profile_deinit(&prof);
	assert_int_equal(profile_init(&prof), 0);
	assert_int_equal(profile_decode("\x7f"
					"ELF\x02\x01",
					6, &prof, NULL),
			 -EBADMSG);
	profile_deinit(&prof);
	assert_int_equal(profile_init(&prof), 0);
	assert_int_equal(profile_decode("", 0, &prof, NULL), 0);
	assert_int_equal(prof.sample_cnt, 0);
	profile_deinit(&prof);
	buf_deinit(&packed);
}

/* A location of very many lines, referred to very often: the output of a small file would not fit
 * in any memory. */
static void test_amplification(void **state)
{
	enum { REFS = 8192 };
	struct profile_line *lines = calloc(UINT16_MAX, sizeof(*lines));
	uint32_t *stack = calloc(REFS, sizeof(*stack));
	struct profile prof;
	struct buf out;

	assert_int_equal(profile_init(&prof), 0);
	profile_add_value_type(&prof, "samples", "count");
	profile_function(&prof, "f", "f", "", 0);
	stack[0] = profile_location_lines(&prof, PROFILE_NONE, 0, 0, lines, UINT16_MAX);
	for (int i = 1; i < REFS; i++)
		stack[i] = stack[0];
	profile_sample(&prof, profile_stack(&prof, stack, REFS), profile_labels(&prof, NULL, 0),
		       (int64_t[]){1});
	assert_int_equal(prof.err, 0);
	buf_init(&out, BUF_NO_MAX);
	assert_int_equal(encoder_folded.encode(&prof, &(struct encoder_opts){.value = 0}, &out),
			 -EFBIG);
	buf_deinit(&out);
	profile_deinit(&prof);
	free(lines);
	free(stack);
}

/* The same with one very long name. */
static void test_long_names(void **state)
{
	enum { NAME_BYTES = 1 << 20, REFS = 5000 };
	char *name = malloc(NAME_BYTES + 1);
	uint32_t stack[REFS];
	struct profile prof;
	struct buf out;

	memset(name, 'n', NAME_BYTES);
	name[NAME_BYTES] = '\0';
	assert_int_equal(profile_init(&prof), 0);
	profile_add_value_type(&prof, "samples", "count");
	for (int i = 0; i < REFS; i++)
		stack[i] = profile_named_location(&prof, name, 0);
	profile_sample(&prof, profile_stack(&prof, stack, REFS), profile_labels(&prof, NULL, 0),
		       (int64_t[]){1});
	buf_init(&out, BUF_NO_MAX);
	assert_int_equal(encoder_folded.encode(&prof, &(struct encoder_opts){.value = 0}, &out),
			 -EFBIG);
	assert_int_equal(out.len, 0);
	buf_deinit(&out);
	profile_deinit(&prof);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_by),
		cmocka_unit_test(test_equal_lines_add_up),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_no_such_value),
		cmocka_unit_test(test_order_is_that_of_bytes),
		cmocka_unit_test(test_rewrites_alike),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_golden_rewritten),
		cmocka_unit_test(test_flags_and_inlines),
		cmocka_unit_test(test_wakers),
		cmocka_unit_test(test_two_columns),
		cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_sniffing),
		cmocka_unit_test(test_amplification),
		cmocka_unit_test(test_long_names),
	};

	return cmocka_run_group_tests_name("encode/folded", tests, NULL, NULL);
}
