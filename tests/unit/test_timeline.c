/* SPDX-License-Identifier: Apache-2.0 */
/* Times of samples: the label, and the texts that carry it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "encode/decode.h"
#include "encode/encoder.h"
#include "profile/timeline.h"

static uint32_t named(struct profile *prof, const char *comm)
{
	struct profile_label label = {.key = profile_string(prof, "comm"),
				      .str = profile_string(prof, comm)};

	return profile_labels(prof, &label, 1);
}

static void add(struct profile *prof, const char *name, uint64_t time_ns, int64_t value)
{
	uint32_t location = profile_named_location(prof, name, 0);

	profile_sample(prof, profile_stack(prof, &location, 1),
		       timeline_labels(prof, named(prof, "app"), time_ns), &value);
}

static void make(struct profile *prof)
{
	assert_int_equal(profile_init(prof), 0);
	profile_add_value_type(prof, "cpu", "nanoseconds");
}

static void test_label(void **state)
{
	struct profile prof;
	uint32_t plain, at, again;
	uint64_t time_ns = 7;

	make(&prof);
	plain = named(&prof, "app");
	assert_false(timeline_time(&prof, plain, &time_ns));
	assert_int_equal(time_ns, 7);
	assert_int_equal(timeline_without(&prof, plain), plain);
	at = timeline_labels(&prof, plain, 40);
	assert_int_not_equal(at, plain);
	assert_true(timeline_time(&prof, at, &time_ns));
	assert_int_equal(time_ns, 40);
	assert_int_equal(timeline_without(&prof, at), plain);
	/* A second time takes the first one's place. */
	again = timeline_labels(&prof, at, 60);
	assert_int_equal(again, timeline_labels(&prof, plain, 60));
	at = timeline_labels(&prof, plain, UINT64_MAX);
	assert_true(timeline_time(&prof, at, &time_ns));
	assert_int_equal(time_ns, INT64_MAX);
	assert_int_equal(timeline_labels(&prof, PROFILE_NONE, 1), PROFILE_NONE);
	profile_deinit(&prof);
}

/* A foreign label of that name is none: text, another unit, less than nothing. */
static void test_other_labels(void **state)
{
	struct profile prof;
	struct profile_label label = {.str = PROFILE_NONE, .num = 5};
	uint64_t time_ns;

	make(&prof);
	label.key = profile_string(&prof, "time");
	label.num_unit = profile_string(&prof, "bytes");
	assert_false(timeline_time(&prof, profile_labels(&prof, &label, 1), &time_ns));
	label.num_unit = profile_string(&prof, "nanoseconds");
	label.num = -5;
	assert_false(timeline_time(&prof, profile_labels(&prof, &label, 1), &time_ns));
	label.str = profile_string(&prof, "noon");
	assert_false(timeline_time(&prof, profile_labels(&prof, &label, 1), &time_ns));
	profile_deinit(&prof);
}

static void test_bucket(void **state)
{
	struct profile prof;

	make(&prof);
	assert_int_equal(timeline_bucket_ns(&prof), 0);
	assert_false(timeline_is_kept(&prof));
	add(&prof, "f", 0, 1);
	assert_true(timeline_is_kept(&prof));
	assert_int_equal(timeline_bucket_ns(&prof), 0);
	add(&prof, "f", 60, 1);
	add(&prof, "f", 140, 1);
	assert_int_equal(timeline_bucket_ns(&prof), 20);
	profile_deinit(&prof);
}

static void test_order(void **state)
{
	struct profile prof;
	uint32_t order[3];

	make(&prof);
	add(&prof, "late", 60, 1);
	add(&prof, "early", 20, 1);
	add(&prof, "early too", 20, 1);
	assert_int_equal(timeline_order(&prof, order), 0);
	assert_int_equal(order[0], 1);
	assert_int_equal(order[1], 2);
	assert_int_equal(order[2], 0);
	profile_deinit(&prof);
}

static void encode(const struct profile *prof, const struct encoder *encoder, struct buf *out)
{
	const struct encoder_opts opts = {.value = PROFILE_NONE};

	buf_init(out, BUF_NO_MAX);
	assert_int_equal(encoder->encode(prof, &opts, out), 0);
}

static void test_speedscope(void **state)
{
	struct profile prof;
	struct buf text;

	make(&prof);
	add(&prof, "late", 60, 11);
	add(&prof, "early", 20, 22);
	encode(&prof, &encoder_speedscope, &text);
	assert_non_null(strstr(buf_cstr(&text), "\"weights\":[22,11]"));
	buf_deinit(&text);
	profile_deinit(&prof);
}

static void decode(const char *text, size_t len, struct profile *out)
{
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(profile_init(out), 0);
	if (profile_decode(text, len, out, &why))
		fail_msg("%s", buf_cstr(&why));
	buf_deinit(&why);
}

static void test_perf_script(void **state)
{
	static const char expected[] =
		"# ========\n# written by bpfprof\n"
		"# times are since the recording's start, of buckets this wide\n"
		"# bucket_ns: 5000000\n"
		"# unit: nanoseconds\n# ========\n#\n\n"
		"app 0/0 [000] 0.010000000:         22 cpu: \n\t               0 early "
		"([unknown])\n\n"
		"app 0/0 [000] 1.005000000:         11 cpu: \n\t               0 late "
		"([unknown])\n\n";
	struct profile prof, again;
	struct buf first, second;

	make(&prof);
	add(&prof, "late", 1005000000, 11);
	add(&prof, "early", 10000000, 22);
	encode(&prof, &encoder_perf_script, &first);
	assert_string_equal(buf_cstr(&first), expected);
	decode(first.data, first.len, &again);
	assert_int_equal(timeline_bucket_ns(&again), 5000000);
	encode(&again, &encoder_perf_script, &second);
	/* It has a further value, but shows the same one. */
	assert_string_equal(buf_cstr(&second), expected);
	buf_deinit(&first);
	buf_deinit(&second);
	profile_deinit(&again);
	profile_deinit(&prof);
}

/* The sum of the samples at @time_ns; UINT64_MAX: of those without a time. */
static int64_t sum_at(const struct profile *prof, uint64_t time_ns)
{
	int64_t sum = 0;

	for (size_t i = 0; i < prof->sample_cnt; i++) {
		uint64_t at = UINT64_MAX;

		timeline_time(prof, prof->samples[i].label_set, &at);
		if (at == time_ns)
			sum += prof->values[i * prof->value_type_cnt];
	}
	return sum;
}

/* perf's own: times since the earliest, in buckets; whatever their order, digits and size. */
static void test_perf_times(void **state)
{
	static const char text[] = "a 1 100.05: 1 x: \n\t 1 f (/x)\n\n"
				   "a 1 100.010000: 1 x: \n\t 1 f (/x)\n\n"
				   "a 1 100.029999999999: 1 x: \n\t 1 f (/x)\n\n"
				   "a 1 99999999999999999999.5: 1 x: \n\t 1 f (/x)\n\n"
				   "a 1 x: \n\t 1 f (/x)\n\n";
	struct profile prof;

	decode(text, strlen(text), &prof);
	assert_int_equal(sum_at(&prof, 0), 2);
	assert_int_equal(sum_at(&prof, 40000000), 1);
	assert_int_equal(sum_at(&prof, (INT64_MAX - UINT64_C(100010000000)) / 20000000 * 20000000),
			 1);
	assert_int_equal(sum_at(&prof, UINT64_MAX), 1);
	profile_deinit(&prof);
}

/* Sums of values in the place of times are none. */
static void test_perf_no_times(void **state)
{
	struct profile prof, again;
	struct buf text;
	int64_t value = 5;
	uint32_t location;

	make(&prof);
	location = profile_named_location(&prof, "f", 0);
	profile_sample(&prof, profile_stack(&prof, &location, 1), named(&prof, "app"), &value);
	encode(&prof, &encoder_perf_script, &text);
	decode(text.data, text.len, &again);
	assert_int_equal(again.sample_cnt, 1);
	assert_false(timeline_is_kept(&again));
	buf_deinit(&text);
	profile_deinit(&again);
	profile_deinit(&prof);
}

/* A width of nothing is no width. */
static void test_perf_bad_bucket(void **state)
{
	static const char text[] =
		"# bucket_ns: 0\n# bucket_ns: x\na 1 7.5: 1 x: \n\t 1 f (/x)\n\n";
	struct profile prof;

	decode(text, strlen(text), &prof);
	assert_int_equal(sum_at(&prof, 0), 1);
	profile_deinit(&prof);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_label),		cmocka_unit_test(test_other_labels),
		cmocka_unit_test(test_bucket),		cmocka_unit_test(test_order),
		cmocka_unit_test(test_speedscope),	cmocka_unit_test(test_perf_script),
		cmocka_unit_test(test_perf_times),	cmocka_unit_test(test_perf_no_times),
		cmocka_unit_test(test_perf_bad_bucket),
	};

	return cmocka_run_group_tests_name("profile/timeline", tests, NULL, NULL);
}
