/* SPDX-License-Identifier: Apache-2.0 */
/* Waits as users see them: exact sums, labels, histograms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "off_cpu_fixture.h"

static int64_t total(const struct fixture *fix, uint32_t column, const char *comm)
{
	const struct profile *prof = &fix->prof;
	int64_t sum = 0;

	for (size_t i = 0; i < prof->sample_cnt; i++) {
		struct buf text;
		char label[64];

		snprintf(label, sizeof(label), "comm=%s ", comm);
		buf_init(&text, BUF_NO_MAX);
		add_labels(prof, prof->samples[i].label_set, &text);
		if (strstr(buf_cstr(&text), label))
			sum += prof->values[i * prof->value_type_cnt + column];
		buf_deinit(&text);
	}
	return sum;
}

/* Whatever is sampled, of whomever: his sums are the exact ones to the nanosecond. */
static void test_exact(void **state)
{
	uint64_t random = 1;

	for (uint64_t round = 0; round < 200; round++) {
		uint64_t exact[3][2];
		struct fixture fix;

		begin(&fix, false);
		for (uint32_t who = 0; who < 3; who++) {
			char comm[] = {'a' + (char)who, 0};
			uint32_t set = who_is(&fix, comm);

			for (uint32_t i = 0; i < 17; i++) {
				char name[NAME_BYTES];

				snprintf(name, sizeof(name), "f%u", i);
				random = random * 6364136223846793005ULL + 1442695040888963407ULL;
				add(&fix,
				    &(struct waits){.who = set,
						    .stack = stack_of(&fix, "pipe_read", name),
						    .log2_ns = i,
						    .cnt = 1,
						    .blocked = 1 + (int64_t)(random >> 30),
						    .runnable = (int64_t)(random >> 60)});
			}
			exact[who][0] = random >> (10 + round % 30);
			exact[who][1] = 1 + (random >> 60);
			assert_int_equal(off_cpu_add_total(&fix.off, set,
							   &(struct off_cpu_total){0, exact[who][0],
										   exact[who][1]}),
					 0);
		}
		finish(&fix);
		for (uint32_t who = 0; who < 3; who++) {
			char comm[] = {'a' + (char)who, 0};

			assert_true((uint64_t)total(&fix, BLOCKED, comm) == exact[who][0]);
			assert_true((uint64_t)total(&fix, RUNNABLE, comm) == exact[who][1]);
			assert_true((uint64_t)total(&fix, SUM, comm) ==
				    exact[who][0] + exact[who][1]);
		}
		end(&fix);
	}
}

/* Two waits of "a", 30 and 10 ns. */
static void add_two(struct fixture *fix)
{
	struct waits waits = {.who = who_is(fix, "a"), .cnt = 1, .blocked = 30};

	waits.stack = stack_of(fix, "pipe_read", "f");
	add(fix, &waits);
	waits.stack = stack_of(fix, "pipe_read", "g");
	waits.blocked = 10;
	add(fix, &waits);
}

static void test_shares(void **state)
{
	struct fixture fix;

	begin(&fix, false);
	add_two(&fix);
	off_cpu_add_total(&fix.off, who_is(&fix, "a"), &(struct off_cpu_total){0, 300, 0});
	off_cpu_add_total(&fix.off, who_is(&fix, "a"), &(struct off_cpu_total){0, 100, 0});
	finish(&fix);
	assert_values(&fix, WOKEN "|" WAITER, 1, 300, 0);
	assert_values(&fix, WOKEN "|[blocked: pipe]|(pipe_read)|g", 1, 100, 0);
	end(&fix);
}

/* Waits were left out by their length or state. */
static void test_not_all(void **state)
{
	struct fixture fix;

	begin(&fix, false);
	fix.off.has_all_blocked = fix.off.has_all_runnable = false;
	add_two(&fix);
	off_cpu_add_total(&fix.off, who_is(&fix, "a"), &(struct off_cpu_total){0, 400, 99});
	finish(&fix);
	assert_int_equal(fix.prof.sample_cnt, 2);
	assert_values(&fix, WOKEN "|" WAITER, 1, 30, 0);
	end(&fix);
}

/* --state runnable: time on run queues is all there, whatever was left out besides. */
static void test_all_runnable(void **state)
{
	struct fixture fix;

	begin(&fix, false);
	fix.off.has_all_blocked = false;
	add_two(&fix);
	off_cpu_add_total(&fix.off, who_is(&fix, "a"), &(struct off_cpu_total){0, 400, 99});
	finish(&fix);
	assert_values(&fix, WOKEN "|" WAITER, 1, 30, 0);
	assert_values(&fix, "cause=not sampled comm=a state=runnable |[runnable: not sampled]", 0,
		      0, 99);
	end(&fix);
}

/* No totals of whoever has samples: he keeps what was sampled, wherever in the order he comes. */
static void test_no_totals(void **state)
{
	struct fixture fix;

	begin(&fix, false);
	add_two(&fix);
	off_cpu_add_total(&fix.off, who_is(&fix, "later"), &(struct off_cpu_total){0, 5, 6});
	finish(&fix);
	assert_values(&fix, WOKEN "|" WAITER, 1, 30, 0);
	assert_values(&fix, "cause=not sampled comm=later state=unknown |[blocked: not sampled]", 0,
		      5, 0);
	assert_values(&fix, "cause=not sampled comm=later state=runnable |[runnable: not sampled]",
		      0, 0, 6);
	end(&fix);
}

/* Some threads' totals are lost: the sums of the others are no longer all. */
static void test_lost_totals(void **state)
{
	struct fixture fix;

	begin(&fix, true);
	fix.off.has_totals = false;
	add_two(&fix);
	profile_sample(&fix.prof, stack_of(&fix, "", "busy"), who_is(&fix, "a"),
		       (int64_t[]){1, 1000, 0, 0, 0, 1000});
	off_cpu_add_total(&fix.off, who_is(&fix, "a"), &(struct off_cpu_total){1, 1, 1});
	finish(&fix);
	assert_values(&fix, WOKEN "|" WAITER, 1, 30, 0);
	assert_int_equal(values_of(&fix, "comm=a |busy")[1], 1000);
	assert_int_equal(fix.prof.sample_cnt, 3);
	end(&fix);
}

/* Samples of an event and waits side by side: each has its columns, and each is made exact. */
static void test_wall(void **state)
{
	const int64_t *values;
	struct fixture fix;

	begin(&fix, true);
	add_two(&fix);
	profile_sample(&fix.prof, stack_of(&fix, "", "busy"), who_is(&fix, "a"),
		       (int64_t[]){3, 3000, 0, 0, 0, 3000});
	off_cpu_add_total(&fix.off, who_is(&fix, "a"), &(struct off_cpu_total){2700, 80, 5});
	off_cpu_add_total(&fix.off, who_is(&fix, "b"), &(struct off_cpu_total){7, 0, 0});
	finish(&fix);
	assert_values(&fix, WOKEN "|" WAITER, 1, 60, 0);
	values = values_of(&fix, "comm=a |busy");
	assert_int_equal(values[0], 3);
	assert_int_equal(values[1], 2700);
	assert_int_equal(values[CPU_COLUMNS + SUM], 2700);
	values = values_of(&fix, "comm=b |[running: not sampled]");
	assert_int_equal(values[0], 0);
	assert_int_equal(values[1], 7);
	assert_int_equal(values[CPU_COLUMNS + SUM], 7);
	assert_values(&fix, "cause=not sampled comm=a state=runnable |[runnable: not sampled]", 0,
		      0, 5);
	assert_int_equal(profile_total(&fix.prof, CPU_COLUMNS + SUM), 2700 + 80 + 5 + 7);
	end(&fix);
}

static void test_many_labels(void **state)
{
	struct profile_label labels[100];
	struct fixture fix;
	uint32_t set;

	begin(&fix, false);
	for (uint32_t i = 0; i < 100; i++) {
		char key[NAME_BYTES];

		snprintf(key, sizeof(key), "key%02u", i);
		labels[i] = (struct profile_label){
			.key = profile_string(&fix.prof, key), .str = PROFILE_NONE, .num = i};
	}
	set = profile_labels(&fix.prof, labels, 100);
	add(&fix, &(struct waits){.who = set,
				  .stack = stack_of(&fix, "pipe_read", "f"),
				  .cnt = 1,
				  .blocked = 10,
				  .runnable = 20});
	finish(&fix);
	assert_int_equal(fix.prof.sample_cnt, 2);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(fix.prof.label_sets[fix.prof.samples[i].label_set].cnt, 102);
	end(&fix);
}

/* What capture adds for this pass alone is in no sample that is left. */
static void test_hidden_labels(void **state)
{
	struct fixture fix;

	begin(&fix, true);
	add_woken(&fix);
	add_two(&fix);
	profile_sample(&fix.prof, stack_of(&fix, "", "busy"), who_is(&fix, "a"),
		       (int64_t[]){1, 10, 0, 0, 0, 10});
	finish(&fix);
	for (size_t i = 0; i < fix.prof.sample_cnt; i++) {
		struct buf text;

		buf_init(&text, BUF_NO_MAX);
		add_labels(&fix.prof, fix.prof.samples[i].label_set, &text);
		assert_null(strstr(buf_cstr(&text), "bpfprof"));
		buf_deinit(&text);
	}
	end(&fix);
}

/* 2 s in pipes, exactly; 1 s in a futex, with a standard deviation of 0.1 s. */
static void begin_hists(struct fixture *fix)
{
	uint32_t sample;

	begin(fix, false);
	fix->off.has_all_blocked = fix->off.has_all_runnable = false;
	add(fix, &(struct waits){.who = who_is(fix, "a"),
				 .stack = stack_of(fix, PIPE, "f"),
				 .log2_ns = 20,
				 .cnt = 2000,
				 .blocked = 2000000000});
	sample = add(fix, &(struct waits){.who = who_is(fix, "a"),
					  .stack = stack_of(fix, FUTEX, "f"),
					  .log2_ns = 60,
					  .cnt = 5,
					  .blocked = 1000000000});
	assert_int_equal(off_cpu_add_variance(&fix->off, sample, 4e15), 0);
	assert_int_equal(off_cpu_add_variance(&fix->off, sample, 6e15), 0);
	fix->off.run_delays[11] = 2005;
	fix->off.waits = 2005;
	fix->off.thinned = 1900;
	fix->off.judged = 2000;
	fix->off.threshold_sum_ns = 2000 * 20000ULL;
	fix->off.threshold_ns = 50000;
	finish(fix);
}

static double number_of(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	assert_true(cJSON_IsNumber(item));
	return item->valuedouble;
}

static void test_comment(void **state)
{
	static const char prefix[] = "bpfprof-waits: ";
	const cJSON *blocked, *pipe, *futex, *bins;
	const char *text;
	struct fixture fix;
	cJSON *root;

	begin_hists(&fix);
	off_cpu_add_comment(&fix.prof, &fix.off);
	assert_int_equal(fix.prof.comment_cnt, 1);
	text = profile_str(&fix.prof, fix.prof.comments[0]);
	assert_memory_equal(text, prefix, sizeof(prefix) - 1);
	root = cJSON_Parse(text + sizeof(prefix) - 1);
	assert_non_null(root);
	assert_true(number_of(root, "waits") == 2005);
	assert_true(number_of(root, "thinned") == 1900);
	assert_true(number_of(root, "threshold_ns") == 50000);
	assert_int_equal(
		cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(root, "run_queue_log2_ns")),
		12);
	blocked = cJSON_GetObjectItemCaseSensitive(root, "blocked");
	pipe = blocked->child;
	futex = pipe->next;
	assert_null(futex->next);
	assert_string_equal(pipe->string, "pipe");
	assert_string_equal(futex->string, "futex");
	assert_true(number_of(pipe, "ns") == 2e9);
	/* 3.84 thresholds, in the mean: in so much there may have been one. */
	assert_true(number_of(pipe, "error_ns") > 3.83 * 20000);
	assert_true(number_of(pipe, "error_ns") < 3.85 * 20000);
	assert_true(number_of(futex, "ns") == 1e9);
	assert_true(number_of(futex, "error_ns") > 1.96e8);
	assert_true(number_of(futex, "error_ns") < 1.961e8);
	bins = cJSON_GetObjectItemCaseSensitive(pipe, "log2_ns");
	assert_int_equal(cJSON_GetArraySize(bins), 21);
	assert_true(cJSON_GetArrayItem(bins, 20)->valuedouble == 2000);
	/* What is longer than the last column is in it. */
	bins = cJSON_GetObjectItemCaseSensitive(futex, "log2_ns");
	assert_int_equal(cJSON_GetArraySize(bins), OFF_CPU_LOG2_CNT);
	assert_true(cJSON_GetArrayItem(bins, OFF_CPU_LOG2_CNT - 1)->valuedouble == 5);
	cJSON_Delete(root);
	end(&fix);
}

static void test_table(void **state)
{
	struct fixture fix;
	struct buf out;

	begin_hists(&fix);
	buf_init(&out, BUF_NO_MAX);
	off_cpu_format(&fix.prof, &fix.off, &out);
	assert_string_equal(
		buf_cstr(&out),
		"waits for                    time                  waits  1us       1ms       1s\n"
		"pipe                      2.000 s                   2000            "
		"\u2588              \n"
		"futex                     1.000 s \u00b10.197               5                     "
		"   "
		"  \u2588\n"
		"a CPU (run queue)                                   2005   \u2588                 "
		"  "
		"    \n");
	buf_deinit(&out);
	end(&fix);
}

/* Nothing has waited. */
static void test_empty(void **state)
{
	struct fixture fix;
	struct buf out;

	begin(&fix, false);
	finish(&fix);
	buf_init(&out, BUF_NO_MAX);
	off_cpu_add_comment(&fix.prof, &fix.off);
	off_cpu_format(&fix.prof, &fix.off, &out);
	assert_int_equal(fix.prof.sample_cnt, 0);
	assert_string_equal(profile_str(&fix.prof, fix.prof.comments[0]),
			    "bpfprof-waits: {\"waits\":0,\"thinned\":0,\"threshold_ns\":0,"
			    "\"run_queue_log2_ns\":[],\"blocked\":{}}");
	buf_deinit(&out);
	end(&fix);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),	      cmocka_unit_test(test_shares),
		cmocka_unit_test(test_not_all),	      cmocka_unit_test(test_all_runnable),
		cmocka_unit_test(test_no_totals),     cmocka_unit_test(test_lost_totals),
		cmocka_unit_test(test_wall),	      cmocka_unit_test(test_many_labels),
		cmocka_unit_test(test_hidden_labels), cmocka_unit_test(test_comment),
		cmocka_unit_test(test_table),	      cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests_name("off_cpu", tests, NULL, NULL);
}
