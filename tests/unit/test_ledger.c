/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger: equations that can fail, the line, the JSON, the sum of two. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/ledger.h"
#include "profile/profile.h"
#include "sample_profile.h"

static void assert_line(const struct ledger *ledger, const char *expected)
{
	struct buf line;

	buf_init(&line, BUF_NO_MAX);
	ledger_format_line(ledger, &line);
	assert_string_equal(buf_cstr(&line), expected);
	buf_deinit(&line);
}

static void assert_unbalanced(const struct ledger *ledger, const char *expected)
{
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	assert_false(ledger_balances(ledger, &why));
	assert_string_equal(buf_cstr(&why), expected);
	assert_false(ledger_balances(ledger, NULL));
	assert_false(ledger_is_strictly_clean(ledger));
	buf_deinit(&why);
}

static void test_balanced(void **state)
{
	struct ledger ledger;

	sample_ledger(&ledger);
	assert_true(ledger_balances(&ledger, NULL));
	assert_true(ledger_is_strictly_clean(&ledger));
	assert_line(&ledger, "ledger: 5,936 ran of 5,940 ticks (never ran: 1 busy, 3 idle) = "
			     "5,124 recorded + 812 filtered + 0 lost; balanced");
	ledger_deinit(&ledger);
	assert_line(&ledger, "ledger: no event was counted; balanced");
}

static void test_sum(void **state)
{
	struct ledger ledger;

	sample_ledger(&ledger);
	assert_int_equal(ledger.events[0].sum.ticks, 5940);
	assert_int_equal(ledger.events[0].sum.ran, 5936);
	assert_int_equal(ledger.events[0].sum.kernel_runs, 5936);
	assert_int_equal(ledger.events[0].sum.lost.cnt, 1);
	assert_string_equal(ledger.events[0].sum.lost.items[0].name, "map_full");
	/* again: computed anew, not added */
	ledger_sum(&ledger);
	assert_int_equal(ledger.events[0].sum.ticks, 5940);
	ledger_deinit(&ledger);
}

static void test_unbalanced(void **state)
{
	struct ledger ledger;

	sample_ledger(&ledger);
	ledger.events[0].sum.recorded--;
	assert_unbalanced(&ledger,
			  "cpu-clock: ran = 5,936, but recorded + filtered + lost = 5,935");
	assert_line(&ledger, "ledger: 5,936 ran of 5,940 ticks (never ran: 1 busy, 3 idle) = "
			     "5,123 recorded + 812 filtered + 0 lost; UNBALANCED: "
			     "cpu-clock: ran = 5,936, but recorded + filtered + lost = 5,935");
	ledger_sum(&ledger);
	ledger.events[0].sum.never_ran_idle++;
	assert_unbalanced(&ledger, "cpu-clock: ticks = 5,940, but ran + never ran = 5,941");
	ledger_sum(&ledger);
	ledger.events[0].sum.kernel_runs++;
	assert_unbalanced(&ledger,
			  "cpu-clock: ran = 5,936, but the kernel's count of runs = 5,937");
	ledger.events[0].sum.kernel_runs = 0;
	assert_true(ledger_balances(&ledger, NULL));
	ledger_row(&ledger.events[0], 1)->filtered--;
	ledger_row(&ledger.events[0], 0)->filtered++;
	assert_unbalanced(
		&ledger, "cpu-clock on CPU 0: ran = 2,969, but recorded + filtered + lost = 2,970");
	ledger_deinit(&ledger);
}

/* Each row holds on its own, but the CPUs are not the sum. */
static void test_sum_does_not_agree(void **state)
{
	struct ledger ledger;

	sample_ledger(&ledger);
	ledger.events[0].sum.recorded--;
	ledger.events[0].sum.filtered++;
	assert_unbalanced(&ledger, "cpu-clock: recorded = 5,123, but the sum over CPUs = 5,124");
	ledger_deinit(&ledger);
}

/* 2^64 counts do not wrap round to a balance. */
static void test_overflow_does_not_balance(void **state)
{
	struct ledger ledger;
	struct ledger_row *sum = &ledger.events[0].sum;

	ledger_init(&ledger);
	ledger.event_cnt = 1;
	sum->cpu = -1;
	sum->recorded = UINT64_MAX;
	sum->filtered = 1;
	assert_false(ledger_balances(&ledger, NULL));
	sum->recorded = sum->filtered = 0;
	sum->never_ran_busy = UINT64_MAX;
	sum->never_ran_idle = 1;
	assert_false(ledger_balances(&ledger, NULL));
}

static void test_strict(void **state)
{
	struct ledger ledger;
	struct ledger_row *sum = &ledger.events[0].sum;

	ledger_init(&ledger);
	ledger.event_cnt = 1;
	*sum = (struct ledger_row){.cpu = -1, .ticks = 1000, .ran = 995, .recorded = 995};
	sum->never_ran_busy = 5; /* 0.5 % exactly */
	assert_true(ledger_is_strictly_clean(&ledger));
	*sum = (struct ledger_row){.cpu = -1, .ticks = 1000, .ran = 994, .recorded = 994};
	sum->never_ran_busy = 6;
	assert_true(ledger_balances(&ledger, NULL));
	assert_false(ledger_is_strictly_clean(&ledger));
	sum->never_ran_busy = 0;
	sum->never_ran_idle = 6; /* the kernel's, and nothing was running */
	assert_true(ledger_is_strictly_clean(&ledger));
	sum->recorded--;
	ledger_reason_add(&sum->lost, "map_full", 1);
	assert_true(ledger_balances(&ledger, NULL));
	assert_false(ledger_is_strictly_clean(&ledger));
}

static void test_line_names_events_and_losses(void **state)
{
	struct ledger ledger;
	struct ledger_row *second = &ledger.events[1].sum;

	sample_ledger(&ledger);
	ledger.event_cnt = 2;
	snprintf(ledger.events[1].name, sizeof(ledger.events[1].name), "%s", "off-cpu");
	*second = (struct ledger_row){
		.cpu = -1, .ticks = 1234567, .ran = 1234567, .recorded = 1234560};
	ledger_reason_add(&second->lost, "map_full", 5);
	ledger_reason_add(&second->lost, "nothing", 0);
	ledger_reason_add(&second->lost, "slot_busy", 2);
	assert_line(&ledger,
		    "ledger: cpu-clock: 5,936 ran of 5,940 ticks (never ran: 1 busy, 3 idle) = "
		    "5,124 recorded + 812 filtered + 0 lost; "
		    "off-cpu: 1,234,567 ran of 1,234,567 ticks (never ran: 0 busy, 0 idle) = "
		    "1,234,560 recorded + 0 filtered + 7 lost (map_full 5, slot_busy 2); balanced");
	ledger_deinit(&ledger);
}

static void test_rows_are_in_order(void **state)
{
	struct ledger_event event = {.name = "x"};

	ledger_row(&event, 5)->ticks = 5;
	ledger_row(&event, 1)->ticks = 1;
	ledger_row(&event, 3)->ticks = 3;
	ledger_row(&event, 1)->ran = 9;
	assert_int_equal(event.per_cpu_cnt, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(event.per_cpu[i].cpu, 1 + 2 * i);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(event.per_cpu[i].ticks, 1 + 2 * i);
	assert_int_equal(event.per_cpu[0].ran, 9);
	free(event.per_cpu);
}

static void test_reasons_beyond_max(void **state)
{
	struct ledger_reasons reasons = {.cnt = 0};
	char name[64];

	for (int i = 0; i < 3 * LEDGER_REASONS_MAX; i++) {
		snprintf(name, sizeof(name), "reason_%d", i);
		ledger_reason_add(&reasons, name, 1);
	}
	assert_int_equal(reasons.cnt, LEDGER_REASONS_MAX);
	assert_int_equal(ledger_reasons_sum(&reasons), 3 * LEDGER_REASONS_MAX);
	assert_string_equal(reasons.items[LEDGER_REASONS_MAX - 1].name, "other");
	assert_int_equal(reasons.items[LEDGER_REASONS_MAX - 1].cnt, 2 * LEDGER_REASONS_MAX + 1);
	/* too long a name is cut, and found again cut */
	reasons.cnt = 0;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	ledger_reason_add(&reasons, name, UINT64_MAX);
	ledger_reason_add(&reasons, name, 1);
	assert_int_equal(reasons.cnt, 1);
	assert_true(reasons.items[0].cnt == UINT64_MAX);
	assert_int_equal(strlen(reasons.items[0].name), sizeof(reasons.items[0].name) - 1);
}

/* The JSON without its first pair, the version. */
static char *ledger_text(const struct ledger *ledger)
{
	struct buf json;
	char *comma;

	buf_init(&json, BUF_NO_MAX);
	ledger_to_json(ledger, &json);
	assert_int_equal(json.err, 0);
	assert_int_equal(strncmp(json.data, "{\"version\":\"", 12), 0);
	comma = strchr(json.data, ',');
	memmove(json.data, comma + 1, strlen(comma));
	return buf_take(&json, NULL);
}

static void test_json(void **state)
{
	struct ledger ledger;
	char *text;

	sample_ledger(&ledger);
	text = ledger_text(&ledger);
	assert_string_equal(
		text,
		"\"kernel\":\"6.18.44\",\"arch\":\"x86_64\",\"duration_s\":30.5,\"events\":["
		"{\"name\":\"cpu-clock\",\"unit\":\"samples\",\"period\":10101010,"
		"\"kernel_runs\":5936,\"ticks\":5940,\"ran\":5936,\"filtered\":812,"
		"\"recorded\":5124,\"lost\":{\"map_full\":0},\"never_ran\":{\"busy\":1,\"idle\":3},"
		"\"per_cpu\":[{\"cpu\":0,\"ticks\":2970,\"ran\":2969,\"filtered\":12,"
		"\"recorded\":2957,\"lost\":{\"map_full\":0},\"never_ran\":{\"busy\":1,\"idle\":0}}"
		","
		"{\"cpu\":1,\"ticks\":2970,\"ran\":2967,\"filtered\":800,\"recorded\":2167,"
		"\"lost\":{\"map_full\":0},\"never_ran\":{\"busy\":0,\"idle\":3}}]}],"
		"\"stacks\":{\"complete\":5101,\"no_user_stack\":20,\"distinct\":640,"
		"\"deepest\":212,\"truncated\":{\"no_rows\":3},"
		"\"snapshots\":{\"taken\":9,\"completed\":8,\"refused\":2}},"
		"\"frames\":{\"distinct\":2210,\"named\":2204,\"lines_cut\":3,\"unnamed\":{\"no_"
		"symbol\":6}},"
		"\"cost\":{\"bpf_run_ns\":12000000,\"bpf_runs\":5936,\"capture_cpu_ns\":0,"
		"\"symbolize_cpu_ns\":0,\"rss_anon_peak_bytes\":0,\"kernel_bytes\":0,"
		"\"start_ns\":0,\"finish_ns\":0,\"verifier_insns\":0}}");
	free(text);
	ledger_deinit(&ledger);
}

static void test_json_and_back(void **state)
{
	struct ledger ledger, copy;
	struct buf json;
	char *before, *after;

	sample_ledger(&ledger);
	ledger.cost = (struct ledger_cost){1, 2, 3, 4, 5, 6, 7, 8, 1ULL << 53};
	snprintf(ledger.events[0].name, sizeof(ledger.events[0].name), "%s",
		 "uprobe:/a \"b\"\\\xc3\xa9");
	buf_init(&json, BUF_NO_MAX);
	ledger_to_json(&ledger, &json);
	assert_int_equal(ledger_from_json(json.data, json.len, &copy), 0);
	before = ledger_text(&ledger);
	after = ledger_text(&copy);
	assert_string_equal(before, after);
	assert_int_equal(copy.events[0].sum.cpu, -1);
	assert_true(ledger_balances(&copy, NULL));
	free(before);
	free(after);
	/* cut anywhere, it is no ledger */
	for (size_t len = 0; len < json.len; len++) {
		struct ledger none;

		assert_int_equal(ledger_from_json(json.data, len, &none), -EBADMSG);
	}
	ledger_deinit(&ledger);
	ledger_deinit(&copy);
	buf_deinit(&json);
}

/* Sums that have reached their end, and those that a double would round to 2^64. */
static void test_greatest_counts(void **state)
{
	const uint64_t greatest = 18446744073709549568U; /* the double before 2^64 */
	struct ledger ledger, copy;
	struct buf json;

	sample_ledger(&ledger);
	ledger.events[0].sum.ticks = UINT64_MAX;
	ledger.events[0].sum.ran = UINT64_MAX - 1000;
	ledger.events[0].period = greatest;
	ledger_reason_add(&ledger.events[0].sum.lost, "map_full", UINT64_MAX - 1);
	ledger_reason_add(&ledger.events[0].sum.lost, "map_full", UINT64_MAX / 2);
	buf_init(&json, BUF_NO_MAX);
	ledger_to_json(&ledger, &json);
	assert_int_equal(ledger_from_json(json.data, json.len, &copy), 0);
	assert_true(copy.events[0].sum.ticks == greatest);
	assert_true(copy.events[0].sum.ran == greatest);
	assert_true(copy.events[0].period == greatest);
	assert_true(copy.events[0].sum.lost.items[0].cnt == greatest);
	ledger_deinit(&ledger);
	ledger_deinit(&copy);
	buf_deinit(&json);
}

/* Sums that are no doubles: what is written is what is read, and written the same again. */
static void test_inexact_counts(void **state)
{
	const uint64_t odd = (1ULL << 53) + 1;
	struct ledger ledger, copy;
	struct buf first, second;

	sample_ledger(&ledger);
	ledger.events[0].sum.ticks = odd;
	ledger.events[0].sum.ran = odd - 2;
	ledger_reason_add(&ledger.events[0].sum.lost, "map_full", 9821537637362331648U);
	ledger_reason_add(&ledger.events[0].sum.lost, "map_full", 1196331201015112704U);
	buf_init(&first, BUF_NO_MAX);
	ledger_to_json(&ledger, &first);
	assert_int_equal(ledger_from_json(first.data, first.len, &copy), 0);
	assert_true(copy.events[0].sum.ticks == odd - 1);
	assert_true(copy.events[0].sum.ran == odd - 2);
	buf_init(&second, BUF_NO_MAX);
	ledger_to_json(&copy, &second);
	assert_string_equal(buf_cstr(&second), buf_cstr(&first));
	ledger_deinit(&ledger);
	ledger_deinit(&copy);
	buf_deinit(&first);
	buf_deinit(&second);
}

static void test_bad_json(void **state)
{
	static const char *const bad[] = {
		"",
		"null",
		"[]",
		"{}",
		"{\"events\":{}}",
		"{\"events\":[]} x",
		"{\"events\":[1]}",
		"{\"events\":[{}]}",
		"{\"events\":[{\"name\":1}]}",
		"{\"events\":[{\"name\":\"a\\u001b[2J\"}]}",
		"{\"events\":[{\"name\":\"a\",\"ticks\":-1}]}",
		"{\"events\":[{\"name\":\"a\",\"ticks\":1.5}]}",
		"{\"events\":[{\"name\":\"a\",\"ticks\":18446744073709551616}]}",
		"{\"events\":[{\"name\":\"a\",\"ticks\":1e999}]}",
		"{\"events\":[{\"name\":\"a\",\"ticks\":\"1\"}]}",
		"{\"events\":[{\"name\":\"a\",\"lost\":[]}]}",
		"{\"events\":[{\"name\":\"a\",\"lost\":{\"x\":null}}]}",
		"{\"events\":[{\"name\":\"a\",\"lost\":{\"x\\n\":1}}]}",
		"{\"events\":[{\"name\":\"a\",\"never_ran\":3}]}",
		"{\"events\":[{\"name\":\"a\",\"per_cpu\":{}}]}",
		"{\"events\":[{\"name\":\"a\",\"per_cpu\":[{}]}]}",
		"{\"events\":[{\"name\":\"a\",\"per_cpu\":[7]}]}",
		"{\"events\":[{\"name\":\"a\",\"per_cpu\":[{\"cpu\":-1}]}]}",
		"{\"events\":[{\"name\":\"a\",\"per_cpu\":[{\"cpu\":0.5}]}]}",
		"{\"events\":[{\"name\":\"a\",\"per_cpu\":[{\"cpu\":8192}]}]}",
		"{\"events\":[{\"name\":\"a\",\"per_cpu\":[{\"cpu\":1},{\"cpu\":1}]}]}",
		"{\"events\":[],\"kernel\":5}",
		"{\"events\":[],\"duration_s\":-1}",
		"{\"events\":[],\"duration_s\":\"x\"}",
		"{\"events\":[],\"stacks\":[]}",
		"{\"events\":[],\"stacks\":{\"truncated\":1}}",
		"{\"events\":[],\"frames\":{\"named\":true}}",
		"{\"events\":[],\"cost\":{\"bpf_runs\":{}}}",
		"{\"events\":[{\"name\":\"1\"},{\"name\":\"2\"},{\"name\":\"3\"},{\"name\":\"4\"},"
		"{\"name\":\"5\"},{\"name\":\"6\"},{\"name\":\"7\"},{\"name\":\"8\"},"
		"{\"name\":\"9\"}]}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct ledger ledger;
		int err = ledger_from_json(bad[i], strlen(bad[i]), &ledger);

		if (err != -EBADMSG)
			fail_msg("%s gave %d", bad[i], err);
	}
}

/* A name of another program may be longer than our fields: it is cut, between two characters. */
static void test_long_names(void **state)
{
	static const char text[] = "{\"events\":[{\"name\":\"a\",\"lost\":{"
				   "\"a23456789012345678901234567890\xc3\xa9\":1,"
				   "\"a23456789012345678901234567890\xc3\xa8\":2}}],"
				   "\"arch\":\"a234567890123456789\"}";
	struct ledger ledger;

	assert_int_equal(ledger_from_json(text, strlen(text), &ledger), 0);
	assert_string_equal(ledger.arch, "a23456789012345");
	assert_int_equal(ledger.events[0].sum.lost.cnt, 1);
	assert_string_equal(ledger.events[0].sum.lost.items[0].name,
			    "a23456789012345678901234567890");
	assert_int_equal(ledger.events[0].sum.lost.items[0].cnt, 3);
	ledger_deinit(&ledger);
}

/* Other versions: keys that are missing are 0, keys that are new are skipped. */
static void test_other_versions(void **state)
{
	static const char text[] =
		"{\"events\":[{\"name\":\"a\",\"ticks\":7,\"new\":[1]}],\"x\":{}}";
	struct ledger ledger;

	assert_int_equal(ledger_from_json(text, strlen(text), &ledger), 0);
	assert_int_equal(ledger.event_cnt, 1);
	assert_int_equal(ledger.events[0].sum.ticks, 7);
	assert_int_equal(ledger.events[0].sum.ran, 0);
	ledger_deinit(&ledger);
}

static void test_too_long(void **state)
{
	struct buf json;
	struct ledger ledger;

	buf_init(&json, BUF_NO_MAX);
	buf_add_str(&json, "{\"events\":[]");
	while (json.len < 5 << 20)
		buf_add_str(&json,
			    "                                                                ");
	buf_add_char(&json, '}');
	assert_int_equal(ledger_from_json(json.data, json.len, &ledger), -EBADMSG);
	buf_deinit(&json);
}

static void test_merge(void **state)
{
	struct ledger sum, other;

	sample_ledger(&sum);
	sample_ledger(&other);
	ledger_row(&other.events[0], 4)->ticks = 2;
	ledger_row(&other.events[0], 4)->never_ran_idle = 2;
	ledger_sum(&other);
	snprintf(other.kernel, sizeof(other.kernel), "%s", "5.10.0");
	other.stacks.deepest = 7;
	other.cost.rss_anon_peak_bytes = 99;
	assert_int_equal(ledger_merge(&sum, &other), 0);
	assert_int_equal(sum.event_cnt, 1);
	assert_int_equal(sum.events[0].sum.ticks, 5940 + 5942);
	assert_int_equal(sum.events[0].sum.kernel_runs, 2 * 5936);
	assert_int_equal(sum.events[0].per_cpu_cnt, 3);
	assert_int_equal(sum.events[0].per_cpu[2].ticks, 2);
	assert_true(ledger_balances(&sum, NULL));
	assert_string_equal(sum.kernel, "several");
	assert_string_equal(sum.arch, "x86_64");
	assert_int_equal(sum.stacks.complete, 2 * 5101);
	assert_int_equal(sum.stacks.deepest, 212);
	assert_int_equal(sum.stacks.truncated.items[0].cnt, 6);
	assert_int_equal(sum.stacks.snapshots.taken, 18);
	assert_int_equal(sum.stacks.snapshots.completed, 16);
	assert_int_equal(sum.stacks.snapshots.refused, 4);
	assert_int_equal(sum.cost.bpf_runs, 2 * 5936);
	assert_int_equal(sum.cost.rss_anon_peak_bytes, 99);
	assert_int_equal(sum.events[0].period, 10101010);
	ledger_deinit(&sum);
	ledger_deinit(&other);
}

/* Half of a proof is no proof: without the CPUs or the kernel's count of one side, both go. */
static void test_merge_of_less(void **state)
{
	struct ledger sum, other;

	sample_ledger(&sum);
	sample_ledger(&other);
	other.events[0].per_cpu_cnt = 0;
	other.events[0].sum.kernel_runs = 0;
	other.events[0].period = 1;
	assert_int_equal(ledger_merge(&sum, &other), 0);
	assert_int_equal(sum.events[0].per_cpu_cnt, 0);
	assert_int_equal(sum.events[0].sum.kernel_runs, 0);
	assert_int_equal(sum.events[0].sum.ran, 2 * 5936);
	assert_int_equal(sum.events[0].period, 0);
	assert_true(ledger_balances(&sum, NULL));
	ledger_deinit(&sum);
	ledger_deinit(&other);
}

/* One event in common, one of its own, CPUs that overlap in part. */
static void numbered_ledger(struct ledger *ledger, int number)
{
	sample_ledger(ledger);
	ledger->event_cnt = 2;
	snprintf(ledger->events[1].name, LEDGER_NAME_MAX, "event-%d", number % 2);
	for (int32_t cpu = number; cpu < number + 3; cpu++) {
		ledger_row(&ledger->events[1], cpu)->ticks = 10 + (uint64_t)number;
		ledger_row(&ledger->events[1], cpu)->never_ran_busy = 10 + (uint64_t)number;
	}
	if (number == 3)
		ledger->events[0].per_cpu_cnt = 0;
	else
		ledger_sum(ledger);
	ledger->duration_s = number;
	ledger->events[1].period = (uint64_t)number;
}

static void test_merge_is_associative(void **state)
{
	struct ledger left, middle, last, right;
	char *left_text, *right_text;

	numbered_ledger(&left, 1);
	numbered_ledger(&middle, 2);
	numbered_ledger(&last, 3);
	numbered_ledger(&right, 1);
	assert_int_equal(ledger_merge(&left, &middle), 0);
	assert_int_equal(ledger_merge(&left, &last), 0);
	assert_int_equal(ledger_merge(&middle, &last), 0);
	assert_int_equal(ledger_merge(&right, &middle), 0);
	left_text = ledger_text(&left);
	right_text = ledger_text(&right);
	assert_string_equal(left_text, right_text);
	assert_int_equal(left.event_cnt, 3);
	free(left_text);
	free(right_text);
	ledger_deinit(&left);
	ledger_deinit(&middle);
	ledger_deinit(&last);
	ledger_deinit(&right);
}

static void test_in_a_profile(void **state)
{
	struct profile prof;
	struct ledger ledger, found;

	assert_int_equal(profile_init(&prof), 0);
	sample_ledger(&ledger);
	assert_int_equal(profile_get_ledger(&prof, &found), -ENOENT);
	profile_add_comment(&prof, "bpfprof-ledger: no JSON");
	profile_add_comment(&prof, "bpfprof-ledger: {\"events\":3}");
	assert_int_equal(profile_get_ledger(&prof, &found), -ENOENT);
	assert_int_equal(profile_set_ledger(&prof, &ledger), 0);
	assert_int_equal(profile_set_ledger(&prof, &ledger), 0);
	assert_int_equal(prof.comment_cnt, 3);
	assert_int_equal(profile_get_ledger(&prof, &found), 0);
	assert_int_equal(found.events[0].sum.ticks, 5940);
	ledger_deinit(&found);
	/* as another tool's merge leaves it: two of them */
	profile_add_comment(&prof, profile_str(&prof, prof.comments[2]));
	assert_int_equal(profile_get_ledger(&prof, &found), 0);
	assert_int_equal(found.events[0].sum.ticks, 2 * 5940);
	ledger_deinit(&found);
	ledger_deinit(&ledger);
	profile_deinit(&prof);
}

static void stop(struct ledger *ledger, const char *reason, double observed, double allowed)
{
	snprintf(ledger->stopped.reason, sizeof(ledger->stopped.reason), "%s", reason);
	ledger->stopped.observed = observed;
	ledger->stopped.allowed = allowed;
}

/* Time in which nobody recorded an event: told, kept and added up, and nothing is unbalanced by it.
 */
static void test_absence(void **state)
{
	struct ledger ledger, other;
	struct buf json;

	sample_ledger(&ledger);
	ledger.events[0].absent_ns = 2300000;
	assert_line(&ledger, "ledger: 5,936 ran of 5,940 ticks (never ran: 1 busy, 3 idle) = "
			     "5,124 recorded + 812 filtered + 0 lost, not recorded for 2.3 ms; "
			     "balanced");
	buf_init(&json, BUF_NO_MAX);
	ledger_to_json(&ledger, &json);
	assert_int_equal(ledger_from_json(json.data, json.len, &other), 0);
	assert_int_equal(other.events[0].absent_ns, 2300000);
	other.events[0].absent_ns = 4000000000;
	assert_int_equal(ledger_merge(&ledger, &other), 0);
	assert_int_equal(ledger.events[0].absent_ns, 4002300000);
	buf_reset(&json);
	ledger_format_line(&ledger, &json);
	assert_non_null(strstr(buf_cstr(&json), " lost, not recorded for 4.0 s; balanced"));
	buf_deinit(&json);
	ledger_deinit(&other);
	ledger_deinit(&ledger);
}

static void test_stopped_line(void **state)
{
	struct ledger ledger;

	ledger_init(&ledger);
	stop(&ledger, "max_cpu", 3.456, 1);
	assert_line(&ledger,
		    "ledger: no event was counted; balanced; stopped by --max-cpu: it took "
		    "3.46 % of this machine's CPU time, 1.00 % are allowed");
	stop(&ledger, "max_memory", 96 << 20, 64 << 20);
	assert_line(&ledger, "ledger: no event was counted; balanced; stopped by --max-memory: it "
			     "took 96.0 MiB of memory, 64.0 MiB are allowed");
	stop(&ledger, "stop_file", 0, 0);
	assert_line(&ledger, "ledger: no event was counted; balanced; stopped by the file "
			     "/run/bpfprof/stop");
	stop(&ledger, "<b>", 0, 0);
	assert_line(&ledger, "ledger: no event was counted; balanced; stopped: <b>");
}

static void test_stopped_json(void **state)
{
	static const char *const bad[] = {
		"{\"events\": [], \"stopped\": \"max_cpu\"}",
		"{\"events\": [], \"stopped\": {\"reason\": 1}}",
		"{\"events\": [], \"stopped\": {\"reason\": \"a\\u001bb\"}}",
		"{\"events\": [], \"stopped\": {\"reason\": \"a\", \"observed\": -1}}",
		"{\"events\": [], \"stopped\": {\"reason\": \"a\", \"allowed\": 1e999}}",
	};
	struct ledger ledger, back;
	struct buf json;

	buf_init(&json, BUF_NO_MAX);
	sample_ledger(&ledger);
	ledger_to_json(&ledger, &json);
	assert_null(strstr(buf_cstr(&json), "stopped"));
	buf_reset(&json);
	stop(&ledger, "max_cpu", 3.5, 1);
	ledger_to_json(&ledger, &json);
	assert_non_null(strstr(buf_cstr(&json), "\"stopped\""));
	assert_int_equal(ledger_from_json(json.data, json.len, &back), 0);
	assert_string_equal(back.stopped.reason, "max_cpu");
	assert_true(back.stopped.observed == 3.5 && back.stopped.allowed == 1);
	ledger_deinit(&back);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(ledger_from_json(bad[i], strlen(bad[i]), &back), -EBADMSG);
	ledger_deinit(&ledger);
	buf_deinit(&json);
}

static void test_stopped_merge(void **state)
{
	struct ledger whole, cut, other;

	ledger_init(&whole);
	ledger_init(&cut);
	ledger_init(&other);
	stop(&cut, "max_cpu", 3, 1);
	stop(&other, "stop_file", 0, 0);
	assert_int_equal(ledger_merge(&whole, &cut), 0);
	assert_int_equal(ledger_merge(&whole, &other), 0);
	assert_string_equal(whole.stopped.reason, "max_cpu");
	assert_true(whole.stopped.observed == 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_balanced),
		cmocka_unit_test(test_sum),
		cmocka_unit_test(test_unbalanced),
		cmocka_unit_test(test_sum_does_not_agree),
		cmocka_unit_test(test_overflow_does_not_balance),
		cmocka_unit_test(test_strict),
		cmocka_unit_test(test_line_names_events_and_losses),
		cmocka_unit_test(test_rows_are_in_order),
		cmocka_unit_test(test_reasons_beyond_max),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_and_back),
		cmocka_unit_test(test_greatest_counts),
		cmocka_unit_test(test_inexact_counts),
		cmocka_unit_test(test_bad_json),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_other_versions),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_merge_of_less),
		cmocka_unit_test(test_merge_is_associative),
		cmocka_unit_test(test_in_a_profile),
		cmocka_unit_test(test_absence),
		cmocka_unit_test(test_stopped_line),
		cmocka_unit_test(test_stopped_json),
		cmocka_unit_test(test_stopped_merge),
	};

	return cmocka_run_group_tests_name("profile/ledger", tests, NULL, NULL);
}
