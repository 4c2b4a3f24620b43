/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of all formats, on profiles made by chance and on hostile ones: what a format can hold
 * comes back from it, and no writer loses or invents any of the total. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_reader.h"
#include "encode/decode.h"
#include "encode/encoder.h"
#include "encode/text.h"
#include "profile_dump.h"
#include "random_profile.h"

enum { SEEDS = 12, LONG_NAME = 1 << 20 };

/* --- Helpers --- */

static void encode(const struct profile *prof, const struct encoder *encoder, uint32_t value,
		   struct buf *out)
{
	const struct encoder_opts opts = {.value = value};

	buf_init(out, BUF_NO_MAX);
	assert_int_equal(encoder->encode(prof, &opts, out), 0);
}

static void decode(const struct buf *file, struct profile *out)
{
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(profile_init(out), 0);
	if (profile_decode(buf_cstr(file), file->len, out, &why))
		fail_msg("%s", buf_cstr(&why));
	buf_deinit(&why);
}

/* @prof through @encoder and the reader that profile_decode() chooses. */
static void through(const struct profile *prof, const struct encoder *encoder, uint32_t value,
		    struct profile *out)
{
	struct buf file;

	encode(prof, encoder, value, &file);
	decode(&file, out);
	buf_deinit(&file);
}

static void assert_same_folded(const struct profile *left, uint32_t left_value,
			       const struct profile *right, uint32_t right_value)
{
	struct buf left_text, right_text;

	encode(left, &encoder_folded, left_value, &left_text);
	encode(right, &encoder_folded, right_value, &right_text);
	assert_string_equal(buf_cstr(&left_text), buf_cstr(&right_text));
	buf_deinit(&left_text);
	buf_deinit(&right_text);
}

static void from_folded(const char *text, struct profile *out)
{
	assert_int_equal(profile_init(out), 0);
	assert_int_equal(folded_decode(text, strlen(text), out, NULL), 0);
}

static int64_t number_after(const char *text, const char *mark)
{
	const char *found = strstr(text, mark);

	assert_non_null(found);
	return strtoll(found + strlen(mark), NULL, 10);
}

/* --- Round trips --- */

static void test_json_is_lossless(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct profile prof, json, pprof;
		struct buf before, after;

		random_profile(&prof, seed);
		through(&prof, &encoder_json, PROFILE_NONE, &json);
		assert_same(&prof, &json);
		through(&json, &encoder_pprof, PROFILE_NONE, &pprof);
		encode(&prof, &encoder_json, PROFILE_NONE, &before);
		encode(&pprof, &encoder_json, PROFILE_NONE, &after);
		assert_string_equal(buf_cstr(&before), buf_cstr(&after));
		buf_deinit(&before);
		buf_deinit(&after);
		profile_deinit(&prof);
		profile_deinit(&json);
		profile_deinit(&pprof);
	}
}

static void test_stacks_survive(void **state)
{
	static const struct encoder *const encoders[] = {
		&encoder_folded,
		&encoder_json,
		&encoder_pprof,
		&encoder_perf_script,
	};

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct profile prof, folded, other;

		random_profile(&prof, seed);
		through(&prof, &encoder_folded, 1, &folded);
		assert_same_folded(&prof, 1, &folded, 0);
		for (size_t i = 0; i < sizeof(encoders) / sizeof(encoders[0]); i++) {
			through(&folded, encoders[i], 0, &other);
			assert_same_folded(&folded, 0, &other, other.default_value);
			profile_deinit(&other);
		}
		profile_deinit(&folded);
		profile_deinit(&prof);
	}
}

static void test_two_columns(void **state)
{
	struct profile prof, json;

	from_folded("app;main;f 3 5\napp;main;g 0 2\napp;main 7 0\n", &prof);
	assert_int_equal(prof.value_type_cnt, 2);
	assert_int_equal(profile_total(&prof, profile_find_value(&prof, "before")), 10);
	assert_int_equal(profile_total(&prof, profile_find_value(&prof, "after")), 7);
	through(&prof, &encoder_json, PROFILE_NONE, &json);
	assert_same(&prof, &json);
	profile_deinit(&json);
	profile_deinit(&prof);
}

/* --- Totals --- */

struct speedscope {
	size_t frame_cnt, profile_cnt, sample_cnt;
	int64_t weights, end;
};

static void read_speedscope_stacks(struct json_reader *js, struct speedscope *out)
{
	json_read_array(js);
	for (; json_read_item(js); out->sample_cnt++) {
		json_read_array(js);
		while (json_read_item(js))
			assert_true(json_read_u64(js) < out->frame_cnt);
	}
}

/* A profile; of the one that is number @wanted the sums go to @out. */
static void read_speedscope_profile(struct json_reader *js, bool is_wanted, struct speedscope *out)
{
	struct speedscope sums = {.frame_cnt = out->frame_cnt};
	size_t weight_cnt = 0;

	json_read_object(js);
	while (json_read_key(js)) {
		if (json_text_is(js, "weights")) {
			json_read_array(js);
			for (; json_read_item(js); weight_cnt++)
				sums.weights += json_read_i64(js);
		} else if (json_text_is(js, "endValue")) {
			sums.end = json_read_i64(js);
		} else if (json_text_is(js, "samples")) {
			read_speedscope_stacks(js, &sums);
		} else {
			json_read_skip(js);
		}
	}
	assert_int_equal(weight_cnt, sums.sample_cnt);
	assert_int_equal(sums.weights, sums.end);
	if (is_wanted)
		out->weights = sums.weights;
	out->profile_cnt++;
}

static void read_speedscope_frames(struct json_reader *js, struct speedscope *out)
{
	json_read_object(js);
	assert_true(json_read_key(js) && json_text_is(js, "frames"));
	json_read_array(js);
	for (; json_read_item(js); out->frame_cnt++)
		json_read_skip(js);
	assert_false(json_read_key(js));
}

static void read_speedscope(const struct buf *file, size_t wanted, struct speedscope *out)
{
	struct json_reader js;

	*out = (struct speedscope){.frame_cnt = 0};
	json_reader_init(&js, buf_cstr(file), file->len);
	json_read_object(&js);
	while (json_read_key(&js)) {
		if (json_text_is(&js, "shared")) {
			read_speedscope_frames(&js, out);
		} else if (json_text_is(&js, "profiles")) {
			json_read_array(&js);
			while (json_read_item(&js))
				read_speedscope_profile(&js, out->profile_cnt == wanted, out);
		} else {
			json_read_skip(&js);
		}
	}
	assert_int_equal(js.rd.err, 0);
	json_reader_deinit(&js);
}

static int64_t speedscope_total(const struct profile *prof, uint32_t value)
{
	struct speedscope sums;
	struct buf file;

	encode(prof, &encoder_speedscope, value, &file);
	read_speedscope(&file, value, &sums);
	assert_int_equal(sums.profile_cnt, prof->value_type_cnt);
	buf_deinit(&file);
	return sums.weights;
}

/* The sum of the lines' own costs; summary and totals say the same. */
static int64_t callgrind_total(const struct profile *prof, uint32_t value)
{
	int64_t own = 0, cost;
	bool is_call = false;
	struct buf file;
	char *text, *line;
	unsigned at;

	encode(prof, &encoder_callgrind, value, &file);
	assert_int_equal(number_after(buf_cstr(&file), "\nsummary: "),
			 number_after(buf_cstr(&file), "\ntotals: "));
	cost = number_after(buf_cstr(&file), "\ntotals: ");
	text = file.data;
	while ((line = strsep(&text, "\n"))) {
		int64_t number;

		if (sscanf(line, "%u %" SCNd64, &at, &number) == 2 && !is_call)
			own += number;
		is_call = !strncmp(line, "calls=", strlen("calls="));
	}
	assert_int_equal(own, cost);
	buf_deinit(&file);
	return own;
}

static int64_t perf_script_total(const struct profile *prof, uint32_t value)
{
	struct profile again;
	int64_t total;

	through(prof, &encoder_perf_script, value, &again);
	total = profile_total(&again, again.default_value);
	profile_deinit(&again);
	return total;
}

/* "1,234" after @mark */
static int64_t grouped_after(const char *text, const char *mark)
{
	const char *at = strstr(text, mark);
	int64_t number = 0;

	assert_non_null(at);
	for (at += strlen(mark); (*at >= '0' && *at <= '9') || *at == ','; at++)
		number = *at == ',' ? number : number * 10 + (*at - '0');
	return number;
}

/* Of a value that is a count: others are written with units. */
static int64_t dot_total(const struct profile *prof, uint32_t value)
{
	struct buf file;
	int64_t total;

	encode(prof, &encoder_dot, value, &file);
	total = grouped_after(buf_cstr(&file), "label=\"bpfprof\\l");
	buf_deinit(&file);
	return total;
}

static int64_t massif_total(const struct profile *prof, uint32_t value)
{
	struct buf file;
	int64_t total;

	encode(prof, &encoder_massif, value, &file);
	total = number_after(strstr(buf_cstr(&file), "snapshot=1"), "mem_heap_B=");
	buf_deinit(&file);
	return total;
}

static int64_t folded_total(const struct profile *prof, uint32_t value)
{
	struct profile again;
	int64_t total;

	through(prof, &encoder_folded, value, &again);
	total = profile_total(&again, 0);
	profile_deinit(&again);
	return total;
}

static void test_totals(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct profile prof;

		random_profile(&prof, seed);
		for (uint32_t i = 0; i < prof.value_type_cnt; i++) {
			int64_t total = profile_total(&prof, i);

			assert_int_equal(folded_total(&prof, i), total);
			assert_int_equal(massif_total(&prof, i), total);
			assert_int_equal(speedscope_total(&prof, i), total);
			assert_int_equal(callgrind_total(&prof, i), total);
			assert_int_equal(perf_script_total(&prof, i), total);
		}
		assert_int_equal(dot_total(&prof, 0), profile_total(&prof, 0));
		profile_deinit(&prof);
	}
}

/* --- Odd profiles --- */

static void long_name(struct profile *prof)
{
	char *name = malloc(LONG_NAME + 1);
	uint32_t location;

	assert_non_null(name);
	memset(name, 'x', LONG_NAME);
	name[LONG_NAME] = '\0';
	location = profile_named_location(prof, name, 0);
	profile_sample(prof, profile_stack(prof, &location, 1), sample_labels(prof, name, 1, 0),
		       (int64_t[]){1, 1});
	free(name);
}

static void hostile_profile(struct profile *prof)
{
	static const char *const names[] = {
		"</script><svg onload=alert(1)>",
		"\"quoted\\\"",
		"\\",
		"%s%n",
		"a;b;c 12",
		"\x01\x02\x1b[31m\x7f",
		"line\nfn=(1) evil\ncalls=1 1\n",
		"]]>",
		"&amp;&#0;",
		"\xff\xfe",
		"\xed\xa0\x80",
		"\xf4\x90\x80\x80",
		"# ========",
		"(1) x",
		" ",
		"\xe2\x80\xaertl",
		"--",
		"[no stack]",
		"12 34/56 [000] 1.5: 7 cpu:",
	};
	uint32_t stack[sizeof(names) / sizeof(names[0])], cnt = sizeof(names) / sizeof(names[0]);

	assert_int_equal(profile_init(prof), 0);
	sample_profile(prof);
	sample_set_ledger(prof);
	for (uint32_t i = 0; i < cnt; i++) {
		const struct profile_line line = {
			.function = profile_function(prof, names[i], names[i], names[i], 1),
			.line = i,
		};

		stack[i] = profile_location_lines(prof, profile_mapping(prof, names[i], ""), i, 0,
						  &line, 1);
		profile_sample(prof, profile_stack(prof, stack, i + 1),
			       sample_labels(prof, names[i], i, i), (int64_t[]){1, 100});
	}
	long_name(prof);
	assert_int_equal(prof->err, 0);
}

/* Text that nothing chokes on: UTF-8, on lines. */
static void assert_clean(const struct buf *file, const char *name)
{
	for (size_t i = 0; i < file->len; i++)
		if ((uint8_t)file->data[i] < ' ' && file->data[i] != '\n' && file->data[i] != '\t')
			fail_msg("%s: control byte %d at %zu", name, file->data[i], i);
	if (!text_is_utf8(buf_cstr(file), file->len))
		fail_msg("%s: not UTF-8", name);
}

static void test_hostile_names(void **state)
{
	struct profile prof, again;
	struct buf file;

	hostile_profile(&prof);
	for (const struct encoder *const *encoder = encoder_list(); *encoder; encoder++) {
		encode(&prof, *encoder, 0, &file);
		if (*encoder != &encoder_pprof && *encoder != &encoder_pgo) /* gzip */
			assert_clean(&file, (*encoder)->name);
		buf_deinit(&file);
	}
	assert_int_equal(speedscope_total(&prof, 0), profile_total(&prof, 0));
	assert_int_equal(callgrind_total(&prof, 0), profile_total(&prof, 0));
	assert_int_equal(perf_script_total(&prof, 0), profile_total(&prof, 0));
	through(&prof, &encoder_json, PROFILE_NONE, &again);
	for (uint32_t i = 0; i < prof.value_type_cnt; i++)
		assert_int_equal(profile_total(&prof, i), profile_total(&again, i));
	profile_deinit(&again);
	profile_deinit(&prof);
}

static void test_empty(void **state)
{
	static const struct encoder *const tell[] = {
		&encoder_speedscope,
		&encoder_callgrind,
		&encoder_dot,
		&encoder_perf_script,
	};
	struct profile prof, again;
	struct buf file;

	for (int has_types = 0; has_types < 2; has_types++) {
		assert_int_equal(profile_init(&prof), 0);
		if (has_types)
			sample_header(&prof);
		for (size_t i = 0; i < sizeof(tell) / sizeof(tell[0]); i++) {
			encode(&prof, tell[i], PROFILE_NONE, &file);
			assert_non_null(strstr(buf_cstr(&file), "empty"));
			buf_deinit(&file);
		}
		through(&prof, &encoder_perf_script, PROFILE_NONE, &again);
		assert_int_equal(again.sample_cnt, 0);
		profile_deinit(&again);
		through(&prof, &encoder_json, PROFILE_NONE, &again);
		assert_same(&prof, &again);
		profile_deinit(&again);
		profile_deinit(&prof);
	}
}

/* As many value types as there may be; values that are 0, negative and as large as can be. */
static void test_values(void **state)
{
	int64_t values[PROFILE_VALUES_MAX];
	struct profile prof, again;
	uint32_t location;
	char type[16];

	assert_int_equal(profile_init(&prof), 0);
	for (int i = 0; i < PROFILE_VALUES_MAX; i++) {
		snprintf(type, sizeof(type), "value%d", i);
		profile_add_value_type(&prof, type, i % 2 ? "bytes" : "nanoseconds");
		values[i] = i - 1;
	}
	values[PROFILE_VALUES_MAX - 1] = INT64_MAX;
	values[PROFILE_VALUES_MAX - 2] = INT64_MIN;
	location = profile_named_location(&prof, "f", 0);
	profile_sample(&prof, profile_stack(&prof, &location, 1), profile_labels(&prof, NULL, 0),
		       values);
	for (uint32_t i = 0; i < PROFILE_VALUES_MAX; i++) {
		int64_t expected = values[i] < 0 ? 0 : values[i];

		assert_int_equal(speedscope_total(&prof, i), expected);
		assert_int_equal(callgrind_total(&prof, i), expected);
		assert_int_equal(perf_script_total(&prof, i), expected);
	}
	through(&prof, &encoder_json, PROFILE_NONE, &again);
	assert_same(&prof, &again);
	profile_deinit(&again);
	profile_deinit(&prof);
}

/* The middle of a stack that nobody could look at is left out, and said so. */
static void test_deep_stack(void **state)
{
	static const struct encoder *const cut[] = {
		&encoder_speedscope,
		&encoder_callgrind,
		&encoder_perf_script,
	};
	enum { DEPTH = 100000 };
	uint32_t *stack = calloc(DEPTH, sizeof(*stack));
	struct profile prof;
	char name[16];

	assert_non_null(stack);
	assert_int_equal(profile_init(&prof), 0);
	sample_header(&prof);
	for (int i = 0; i < DEPTH; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		stack[i] = profile_named_location(&prof, name, 0);
	}
	profile_sample(&prof, profile_stack(&prof, stack, DEPTH),
		       sample_labels(&prof, "deep", 1, 0), (int64_t[]){1, 7});
	for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
		struct buf file;

		encode(&prof, cut[i], 1, &file);
		assert_non_null(strstr(buf_cstr(&file), "[98200 frames elided]"));
		assert_true(file.len < 100000 * 64);
		buf_deinit(&file);
	}
	assert_int_equal(callgrind_total(&prof, 1), 7);
	profile_deinit(&prof);
	free(stack);
}

/* --- Graphs --- */

static void test_callgrind_recursion(void **state)
{
	static const char expected[] = "ob=(1) ???\nfl=(1) ???\nfn=(2) main\n"
				       "cob=(1)\ncfi=(1)\ncfn=(3) f\ncalls=1 0\n0 5\n"
				       "\nob=(1)\nfl=(1)\nfn=(3)\n"
				       "cob=(1)\ncfi=(1)\ncfn=(3)\ncalls=1 0\n0 0\n"
				       "cob=(1)\ncfi=(1)\ncfn=(4) g\ncalls=1 0\n0 5\n"
				       "\nob=(1)\nfl=(1)\nfn=(4)\n0 5\n";
	struct profile prof;
	struct buf file;

	from_folded("app;main;f;f;f;g 5\n", &prof);
	encode(&prof, &encoder_callgrind, 0, &file);
	assert_non_null(strstr(buf_cstr(&file), expected));
	buf_deinit(&file);
	profile_deinit(&prof);
}

static void test_callgrind_lines(void **state)
{
	struct profile prof;
	struct buf file;

	assert_int_equal(profile_init(&prof), 0);
	sample_profile(&prof);
	encode(&prof, &encoder_callgrind, 0, &file);
	/* work() calls parse() in its line 123; parse(), inlined, calls next_char() in its 31st. */
	assert_non_null(strstr(buf_cstr(&file), "calls=1 20\n123 13\n"));
	assert_non_null(strstr(buf_cstr(&file), "calls=1 10\n31 13\n"));
	buf_deinit(&file);
	profile_deinit(&prof);
}

static void test_dot(void **state)
{
	struct profile prof;
	struct buf file;

	from_folded("app;main;f;f;\"q\\ 60\napp;main;f 39\napp;main;tiny 1\n"
		    "app;main;none;f;less 0\n",
		    &prof);
	encode(&prof, &encoder_dot, 0, &file);
	assert_non_null(strstr(buf_cstr(&file), "100 samples\\l5 functions\\l5 calls\\l"));
	assert_non_null(
		strstr(buf_cstr(&file), "\"f\\n39 samples (39.00%)\\nof 99 samples (99.00%)\""));
	assert_non_null(strstr(buf_cstr(&file), "[label=\"\\\"q\\\\\\n60 samples (60.00%)\""));
	buf_deinit(&file);
	profile_deinit(&prof);
}

static void test_dot_cuts(void **state)
{
	struct profile prof;
	struct buf file, text;

	buf_init(&text, BUF_NO_MAX);
	buf_add_str(&text, "app;main;large 100000\n");
	for (int i = 0; i < 300; i++)
		buf_printf(&text, "app;main;small%d 1\n", i);
	from_folded(buf_cstr(&text), &prof);
	encode(&prof, &encoder_dot, 0, &file);
	assert_non_null(strstr(buf_cstr(&file), "\\l303 functions, the 300 smallest not shown\\l"
						"302 calls, 300 not shown"));
	assert_null(strstr(buf_cstr(&file), "small7"));
	buf_deinit(&file);
	buf_deinit(&text);
	profile_deinit(&prof);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_is_lossless),
		cmocka_unit_test(test_stacks_survive),
		cmocka_unit_test(test_two_columns),
		cmocka_unit_test(test_totals),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_deep_stack),
		cmocka_unit_test(test_callgrind_recursion),
		cmocka_unit_test(test_callgrind_lines),
		cmocka_unit_test(test_dot),
		cmocka_unit_test(test_dot_cuts),
	};

	return cmocka_run_group_tests_name("encode/roundtrip", tests, NULL, NULL);
}
