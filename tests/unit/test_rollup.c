/* SPDX-License-Identifier: Apache-2.0 */
/* Roll-ups beside a server that is made up: what the job asks for, and what it does where the
 * answers say that something came in between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "clickhouse/rollup.h"
#include "clickhouse/rowbinary.h"
#include "fake_clickhouse.h"

/* 2026-11-20 00:00:00 UTC */
#define DAY_S 1795132800u
#define HOUR(nr) (DAY_S + (nr)*ROLLUP_HOUR_S)

enum { ASKED_MAX = 64, LEDGER_MAX = 4 };

static struct {
	char *asked[ASKED_MAX]; /* owned */
	size_t cnt;
	struct rollup_span ledger[LEDGER_MAX], hours[LEDGER_MAX], days[LEDGER_MAX];
	size_t ledger_cnt, hour_cnt, day_cnt;
	uint64_t late; /* windows that come while an hour is being made */
	uint64_t old_rows; /* that none has replaced */
	bool learns; /* what is noted as done is there from then on */
	bool is_cut; /* answers lack their last byte */
	struct rollup_span trees; /* of an hour */
	size_t tree_inserts;
	const char *fails; /* what has this in it */
} server;

static size_t asked(const char *text)
{
	size_t cnt = 0;

	for (size_t i = 0; i < server.cnt; i++)
		cnt += strstr(server.asked[i], text) != NULL;
	return cnt;
}

/* Those of the range that is asked for. */
static void answer_spans(const char *sql, const struct rollup_span *spans, size_t cnt,
			 struct buf *out)
{
	const char *from = strstr(sql, "h >= toDateTime("), *to = strstr(sql, "h < toDateTime(");
	unsigned int from_s = 0, to_s = 0;

	assert_int_equal(sscanf(from, "h >= toDateTime(%u", &from_s), 1);
	assert_int_equal(sscanf(to, "h < toDateTime(%u", &to_s), 1);
	for (size_t i = 0; i < cnt; i++) {
		if (spans[i].start_s < from_s || spans[i].start_s >= to_s)
			continue;
		rb_add_u32(out, spans[i].start_s);
		rb_add_u64(out, spans[i].windows);
		rb_add_u64(out, spans[i].state);
		rb_add_u64(out, spans[i].built);
		rb_add_u64(out, spans[i].rows);
	}
}

static void take_note(const char *sql)
{
	unsigned int start_s;
	const char *at = strstr(sql, "toDateTime(");

	if (!server.learns || !strstr(sql, "SELECT toUInt32(3600)") || !strstr(sql, "toUInt8(1)") ||
	    sscanf(at, "toDateTime(%u", &start_s) != 1)
		return;
	for (size_t i = 0; i < server.ledger_cnt; i++)
		if (server.ledger[i].start_s == start_s)
			server.hours[server.hour_cnt++] = server.ledger[i];
}

static int answer(const char *sql, struct buf *out)
{
	const bool is_started = asked("INSERT INTO rollup_1h");

	assert_true(server.cnt < ASKED_MAX);
	server.asked[server.cnt++] = strdup(sql);
	if (server.fails && strstr(sql, server.fails))
		return -ECONNRESET;
	if (strstr(sql, "cityHash64(host, seq)")) {
		server.ledger[0].windows += is_started ? server.late : 0;
		answer_spans(sql, server.ledger, server.ledger_cnt, out);
	} else if (strstr(sql, "span = 3600 AND tree = 0")) {
		answer_spans(sql, &server.trees, server.trees.built != 0, out);
	} else if (strstr(sql, "AND span = 3600")) {
		answer_spans(sql, server.hours, server.hour_cnt, out);
	} else if (strstr(sql, "AND span = 86400")) {
		answer_spans(sql, server.days, server.day_cnt, out);
	} else if (strstr(sql, "SELECT countIf(built = ")) {
		rb_add_u64(out, 5);
		rb_add_u64(out, server.old_rows);
	} else if (strstr(sql, "INSERT INTO rollups")) {
		take_note(sql);
	}
	if (server.is_cut && out && out->len)
		out->len--;
	return 0;
}

static int take_rows(const char *sql, const void *rows, size_t len)
{
	assert_non_null(strstr(sql, "INSERT INTO rollup_trees"));
	server.tree_inserts++;
	return 0;
}

static int setup(void **state)
{
	memset(&server, 0, sizeof(server));
	fake_answer = answer;
	fake_insert = take_rows;
	server.ledger[0] = (struct rollup_span){.start_s = HOUR(12), .windows = 60, .state = 100};
	server.ledger[1] = (struct rollup_span){.start_s = HOUR(13), .windows = 30, .state = 7};
	server.ledger_cnt = 2;
	server.learns = true;
	return 0;
}

static int teardown(void **state)
{
	for (size_t i = 0; i < server.cnt; i++)
		free(server.asked[i]);
	return 0;
}

/* At @now_s; what is said of spans that are left goes to @lines. */
static int run_at(uint64_t now_s, struct rollup_result *result, struct buf *lines)
{
	struct ch_client *client;
	const char *why;
	int err;

	buf_init(lines, BUF_NO_MAX);
	assert_int_equal(ch_client_open("clickhouse://fake", NULL, &client, &why), 0);
	err = rollup_run(client, 0, UINT64_MAX, now_s * NSEC_PER_SEC, result, lines);
	ch_client_close(client);
	return err;
}

/* In the order that makes it safe to be killed. */
static void makes_hours_and_then_their_day(void **state)
{
	_cleanup_(buf_deinit) struct buf lines;
	struct rollup_result result;
	size_t first = 0;

	assert_int_equal(run_at(DAY_S + ROLLUP_DAY_S, &result, &lines), 0);
	assert_int_equal(result.hours_made, 2);
	assert_int_equal(result.days_made, 1);
	assert_int_equal(result.rows, 15);
	assert_int_equal(result.left, 0);
	while (!strstr(server.asked[first], "INSERT"))
		first++;
	assert_non_null(strstr(server.asked[first], "toDateTime(1795176000, 'UTC'), toUInt8(0)"));
	assert_non_null(strstr(server.asked[first + 1], "INSERT INTO rollup_1h"));
	assert_non_null(strstr(server.asked[first + 2], "cityHash64(host, seq)"));
	assert_non_null(strstr(server.asked[first + 3], "SELECT countIf(built = "));
	assert_non_null(strstr(server.asked[first + 4], "toUInt8(1)"));
	assert_non_null(
		strstr(server.asked[first + 4], "toUInt64(60), toUInt64(100), toUInt64(5)"));
	/* The day's state is that of its hours. */
	assert_int_equal(asked("SELECT toUInt32(86400), toDateTime(1795132800, 'UTC'), toUInt8(1)"),
			 1);
	assert_int_equal(asked("toUInt64(90), toUInt64(107), toUInt64(5)"), 1);
}

static void leaves_what_is_not_over(void **state)
{
	_cleanup_(buf_deinit) struct buf lines;
	struct rollup_result result;

	assert_int_equal(run_at(HOUR(14) - 1, &result, &lines), 0);
	assert_int_equal(result.hours_made, 1);
	assert_int_equal(result.days_made, 0);
	assert_int_equal(asked("INSERT INTO rollup_1h"), 1);
	assert_int_equal(asked("INSERT INTO rollup_1d"), 0);
}

static void makes_again_what_has_changed(void **state)
{
	_cleanup_(buf_deinit) struct buf lines;
	struct rollup_result result;

	server.hours[0] = server.ledger[0];
	server.hours[1] = server.ledger[1];
	server.hours[1].windows--;
	server.hour_cnt = 2;
	server.learns = false;
	assert_int_equal(run_at(HOUR(14), &result, &lines), 0);
	assert_int_equal(result.hours_good, 1);
	assert_int_equal(result.hours_made, 1);
	assert_int_equal(asked("INSERT INTO rollup_1h"), 1);
	assert_int_equal(asked("samples FINAL WHERE h = toDateTime(1795179600, 'UTC')"), 1);
}

/* Sums that were made before, or by a job that was killed then, get trees; those that have some
 * of their build do not. */
static void makes_trees_that_are_missing(void **state)
{
	_cleanup_(buf_deinit) struct buf lines, others;
	struct rollup_result result;

	server.learns = false;
	server.hours[0] = server.ledger[0];
	server.hours[1] = server.ledger[1];
	server.hour_cnt = 2;
	server.hours[0].built = 9;
	server.hours[1].built = 8;
	server.trees = (struct rollup_span){.start_s = HOUR(12), .built = 9};
	assert_int_equal(run_at(HOUR(14), &result, &lines), 0);
	assert_int_equal(result.hours_good, 2);
	assert_int_equal(result.trees, 1);
	assert_int_equal(server.tree_inserts, 1);
	server.trees.built = 8;
	assert_int_equal(run_at(HOUR(14), &result, &others), 0);
	assert_int_equal(result.trees, 2);
	assert_int_equal(server.tree_inserts, 3);
}

static void is_not_done_where_windows_came_meanwhile(void **state)
{
	_cleanup_(buf_deinit) struct buf lines;
	struct rollup_result result;

	server.ledger_cnt = 1;
	server.late = 1;
	assert_int_equal(run_at(DAY_S + ROLLUP_DAY_S, &result, &lines), 0);
	assert_int_equal(result.hours_made, 0);
	assert_int_equal(result.left, 1);
	assert_int_equal(asked("toUInt8(1)"), 0);
	assert_string_equal(buf_cstr(&lines), "hour of 20261120T120000Z: windows came meanwhile: "
					      "the next run has them\n");
}

static void does_not_hide_what_is_there_too_much(void **state)
{
	_cleanup_(buf_deinit) struct buf lines;
	_cleanup_(buf_deinit) struct buf others;
	struct rollup_result result;

	server.ledger_cnt = 1;
	server.old_rows = 1;
	assert_int_equal(run_at(HOUR(14), &result, &lines), 0);
	assert_int_equal(asked("toUInt8(1)"), 0);
	assert_non_null(strstr(buf_cstr(&lines), "has sums of stacks that none of its samples"));
	/* Retention has dropped windows: sums are all that is left. */
	server.hours[0] = server.ledger[0];
	server.hours[0].windows++;
	server.hour_cnt = 1;
	assert_int_equal(run_at(HOUR(14), &result, &others), 0);
	assert_int_equal(asked("INSERT INTO rollup_1h"), 1);
	assert_int_equal(result.left, 1);
	assert_non_null(strstr(buf_cstr(&others), "made of more windows than the ledger has now"));
}

static void fails_as_the_server_does(void **state)
{
	_cleanup_(buf_deinit) struct buf lines;
	_cleanup_(buf_deinit) struct buf others;
	struct rollup_result result;

	server.fails = "INSERT INTO rollup_1h";
	assert_int_equal(run_at(HOUR(14), &result, &lines), -ECONNRESET);
	assert_int_equal(asked("toUInt8(1)"), 0);
	server.is_cut = true;
	assert_int_equal(run_at(HOUR(14), &result, &others), -EPROTO);
}

/* How many sums differ, of what is asked for: the hours from 13 o'clock on, and the day. */
static int count_wrong(const char *sql, uint64_t *out)
{
	const bool is_day = strstr(sql, "FROM rollup_1d FINAL") != NULL;
	unsigned int start_s = 0;

	assert_int_equal(sscanf(strstr(sql, "toDateTime("), "toDateTime(%u", &start_s), 1);
	if (strstr(sql, "rollup_trees")) {
		*out = 5;
		return 0;
	}
	assert_true(is_day || strstr(sql, "FROM rollup_1h FINAL"));
	*out = is_day ? 3 : start_s >= HOUR(13);
	return server.fails && strstr(sql, server.fails) ? -ECONNRESET : 0;
}

static int check(struct buf *lines, uint64_t *checked, uint64_t *differ)
{
	struct ch_client *client;
	const char *why;
	int err;

	buf_init(lines, BUF_NO_MAX);
	*checked = *differ = 0;
	fake_number_of = count_wrong;
	assert_int_equal(ch_client_open("clickhouse://fake", NULL, &client, &why), 0);
	err = rollup_check(client, DAY_S, DAY_S + ROLLUP_DAY_S, lines, checked, differ);
	ch_client_close(client);
	fake_number_of = NULL;
	return err;
}

static void checks_what_is_made_of_the_ledger(void **state)
{
	_cleanup_(buf_deinit) struct buf lines, others, last;
	uint64_t checked, differ;

	/* The third hour has got windows since it was made; the day has what both hours have. */
	server.ledger[2] = (struct rollup_span){.start_s = HOUR(14), .windows = 9, .state = 1};
	server.ledger_cnt = 3;
	for (size_t i = 0; i < 3; i++)
		server.hours[server.hour_cnt++] = server.ledger[i];
	server.hours[2].windows = 8;
	server.days[server.day_cnt++] =
		(struct rollup_span){.start_s = DAY_S, .windows = 99, .state = 108};
	assert_int_equal(check(&lines, &checked, &differ), 0);
	assert_int_equal(checked, 3);
	assert_int_equal(differ, 2);
	assert_string_equal(buf_cstr(&lines),
			    "hour of 20261120T130000Z: 1 of its sums are not those of its samples\n"
			    "day of 20261120T000000Z: 3 of its sums are not those of its hours\n");
	server.days[0].windows = 98;
	assert_int_equal(check(&others, &checked, &differ), 0);
	assert_int_equal(checked, 2);
	server.fails = "FROM rollup_1h FINAL";
	assert_int_equal(check(&last, &checked, &differ), -ECONNRESET);
	assert_int_equal(checked, 0);
}

static void checks_trees_of_the_sums(void **state)
{
	_cleanup_(buf_deinit) struct buf lines, others;
	uint64_t checked, differ;

	server.ledger_cnt = 1;
	server.hours[server.hour_cnt++] = server.ledger[0];
	server.hours[0].built = 9;
	server.trees = (struct rollup_span){.start_s = HOUR(12), .built = 9};
	assert_int_equal(check(&lines, &checked, &differ), 0);
	assert_int_equal(checked, 1);
	assert_int_equal(differ, 1);
	assert_string_equal(
		buf_cstr(&lines),
		"hour of 20261120T120000Z: 5 totals of its trees are not those of its sums\n");
	/* Trees of other sums are none. */
	server.trees.built = 10;
	assert_int_equal(check(&others, &checked, &differ), 0);
	assert_int_equal(differ, 0);
}

static void finds_spans(void **state)
{
	struct rollup_spans spans = {.cnt = 0};
	struct rollup_span day;

	assert_null(rollup_spans_find(&spans, HOUR(0)));
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(rollup_spans_add(&spans,
						  &(struct rollup_span){.start_s = HOUR(12 * i),
									.windows = i + 1,
									.state = UINT64_MAX}),
				 0);
	assert_int_equal(rollup_spans_find(&spans, HOUR(12))->windows, 2);
	assert_null(rollup_spans_find(&spans, HOUR(13)));
	/* The third is the next day's. */
	day = rollup_day_of(&spans, DAY_S);
	assert_int_equal(day.windows, 3);
	assert_true(day.state == UINT64_MAX - 1);
	assert_false(rollup_is_good(NULL, &day));
	assert_true(rollup_is_good(&day, &day));
	free(spans.items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(makes_hours_and_then_their_day, setup, teardown),
		cmocka_unit_test_setup_teardown(leaves_what_is_not_over, setup, teardown),
		cmocka_unit_test_setup_teardown(makes_again_what_has_changed, setup, teardown),
		cmocka_unit_test_setup_teardown(makes_trees_that_are_missing, setup, teardown),
		cmocka_unit_test_setup_teardown(is_not_done_where_windows_came_meanwhile, setup,
						teardown),
		cmocka_unit_test_setup_teardown(does_not_hide_what_is_there_too_much, setup,
						teardown),
		cmocka_unit_test_setup_teardown(fails_as_the_server_does, setup, teardown),
		cmocka_unit_test_setup_teardown(checks_what_is_made_of_the_ledger, setup, teardown),
		cmocka_unit_test_setup_teardown(checks_trees_of_the_sums, setup, teardown),
		cmocka_unit_test(finds_spans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
