/* SPDX-License-Identifier: Apache-2.0 */
/* Samples are read without FINAL where each is there once, and only there. The server is made up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "clickhouse/rowbinary.h"
#include "fake_clickhouse.h"
#include "fleet/fleet.h"
#include "store/key_list.h"

/* 2026-11-20 23:00:00 UTC, and the next day's first hour */
#define FROM_S 1795215600
#define FROM_NS (FROM_S * NSEC_PER_SEC)
#define HOUR_S 3600

enum { KIND = 77, ONCE = 5, POINTS = 2 };

struct part {
	const char *partition, *name;
	uint64_t level;
};

static struct {
	const struct part *parts;
	size_t part_cnt;
	uint64_t shared; /* windows, of the second hour */
	size_t gone_cnt; /* of the parts, when they are looked for again */
	const char *cut; /* the answer to what has this in it lacks its last byte */
	const char *refused; /* what has this in it is refused ... */
	int why; /* ... negative errno */
	/* What was asked */
	size_t with_final, without, shared_cnt, looked_cnt;
	char last[4096]; /* the last question for samples without it */
} server;

static void add_text_list(struct buf *out, const char *text)
{
	rb_add_len(out, 1);
	rb_add_str(out, text);
}

static void answer_kind(struct buf *out)
{
	rb_add_u64(out, KIND);
	rb_add_str(out, "cpu");
	add_text_list(out, "samples");
	add_text_list(out, "count");
	rb_add_u8(out, 0);
	rb_add_str(out, "");
	rb_add_str(out, "");
	rb_add_i64(out, 0);
	rb_add_str(out, "cpu-clock");
}

static void answer_hours(struct buf *out)
{
	for (uint32_t i = 0; i < 2; i++) {
		rb_add_u32(out, FROM_S + i * HOUR_S);
		/* So many that each hour is asked for by itself. */
		rb_add_u64(out, 1 << 20);
	}
}

static void answer_parts(const char *sql, struct buf *out)
{
	if (strstr(sql, "SELECT toUInt64(count())")) {
		server.looked_cnt++;
		rb_add_u64(out, server.part_cnt - server.gone_cnt);
		return;
	}
	for (size_t i = 0; i < server.part_cnt; i++) {
		rb_add_str(out, server.parts[i].partition);
		rb_add_str(out, server.parts[i].name);
		rb_add_u64(out, server.parts[i].level);
	}
}

static void count_question(const char *sql)
{
	if (strstr(sql, "samples FINAL")) {
		server.with_final++;
		return;
	}
	server.without++;
	snprintf(server.last, sizeof(server.last), "%s", sql);
}

static void answer_samples(const char *sql, struct buf *out)
{
	count_question(sql);
	if (strstr(sql, "SELECT key, val")) {
		rb_add_str(out, "host");
		rb_add_str(out, "a");
		rb_add_i64(out, ONCE);
	} else if (strstr(sql, "SELECT label, toUInt64")) {
		rb_add_str(out, "");
		rb_add_u64(out, 0);
		rb_add_u8(out, 0);
		rb_add_u64(out, 0);
		rb_add_u64(out, 0);
		rb_add_i64(out, ONCE);
	} else {
		rb_add_str(out, "web");
		rb_add_u64(out, KIND);
		rb_add_u64(out, 1001);
		rb_add_i64(out, ONCE);
	}
}

static int answer(const char *sql, struct buf *out)
{
	if (server.refused && strstr(sql, server.refused))
		return server.why;
	if (strstr(sql, "FROM kinds FINAL")) {
		answer_kind(out);
	} else if (strstr(sql, "AS hour, count()")) {
		answer_hours(out);
	} else if (strstr(sql, "FROM system.parts")) {
		answer_parts(sql, out);
	} else if (strstr(sql, "first != last")) {
		/* Of the second hour, which is asked for after the first. */
		rb_add_u64(out, server.shared_cnt++ ? server.shared : 0);
	} else if (strstr(sql, "FROM samples ")) {
		answer_samples(sql, out);
	} else {
		return 0;
	}
	if (server.cut && strstr(sql, server.cut))
		out->len--;
	return out->err;
}

static const struct store_query two_hours = {
	.from_ns = FROM_NS, .to_ns = FROM_NS + 2 * HOUR_S * NSEC_PER_SEC, .by = no_keys};

static int take_total(void *arg, const char *key, const char *value, int64_t total)
{
	*(int64_t *)arg += total;
	return 0;
}

static int take_points(void *arg, const char *name, const int64_t *points, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		*(int64_t *)arg += points[i];
	return 0;
}

/* The sum of both hours, by whichever way of the three; or negative errno. */
static int64_t sum_of(struct store_source *source, int way)
{
	struct profile prof;
	int64_t sum = 0;
	int err;

	server.with_final = server.without = server.shared_cnt = server.looked_cnt = 0;
	if (way == 0) {
		err = store_source_each_label(source, &two_hours, take_total, &sum);
	} else if (way == 1) {
		err = store_source_timeline(source, &two_hours, NULL, NULL, POINTS, take_points,
					    &sum);
	} else {
		err = store_source_read(source, &two_hours, &prof, NULL, NULL);
		if (!err) {
			sum = profile_total(&prof, 0);
			profile_deinit(&prof);
		}
	}
	return err ? err : sum;
}

/* Each hour is read so often, in all three ways, and counts once. */
static void check_reads(struct store_source *source, size_t without, size_t with_final)
{
	for (int way = 0; way < 3; way++) {
		assert_int_equal(sum_of(source, way), 2 * ONCE);
		assert_int_equal(server.without, without);
		assert_int_equal(server.with_final, with_final);
	}
}

static int setup(void **state)
{
	struct store_source *source = NULL;
	struct buf why;

	memset(&server, 0, sizeof(server));
	fake_answer = answer;
	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(fleet_open("clickhouse://fake", &source, &why), 0);
	buf_deinit(&why);
	*state = source;
	return 0;
}

static int teardown(void **state)
{
	store_source_close(*state);
	return 0;
}

#define PARTS(...)                                                                   \
	do {                                                                         \
		static const struct part list[] = {__VA_ARGS__};                     \
		server.parts = list, server.part_cnt = sizeof(list) / sizeof(*list); \
	} while (0)

static void one_part_of_each_day(void **state)
{
	PARTS({"20261120", "20261120_1_9_2", 2}, {"20261121", "20261121_10_12_1", 1});
	check_reads(*state, 2, 0);
	assert_non_null(strstr(server.last, "_part IN ('20261120_1_9_2', '20261121_10_12_1')"));
	/* No window is looked for, and whether the parts are still there once. */
	assert_int_equal(server.shared_cnt, 0);
	assert_int_equal(server.looked_cnt, 1);
}

/* A cluster tells none; nor does a day that has none. */
static void no_part(void **state)
{
	check_reads(*state, 0, 2);
	assert_int_equal(server.looked_cnt, 0);
}

static void a_part_that_was_never_merged(void **state)
{
	PARTS({"20261120", "20261120_1_9_2", 2}, {"20261121", "20261121_10_10_0", 0});
	check_reads(*state, 0, 2);
}

static void parts_without_a_common_window(void **state)
{
	PARTS({"20261120", "20261120_1_9_2", 2}, {"20261120", "20261120_10_12_1", 1});
	check_reads(*state, 2, 0);
	assert_int_equal(server.shared_cnt, 2);
}

static void a_window_in_two_parts(void **state)
{
	PARTS({"20261120", "20261120_1_9_2", 2}, {"20261120", "20261120_10_12_1", 1});
	server.shared = 1;
	check_reads(*state, 0, 2);
}

/* What was read of it may be half: none of it counts. */
static void a_part_that_goes_meanwhile(void **state)
{
	PARTS({"20261120", "20261120_1_9_2", 2}, {"20261121", "20261121_10_12_1", 1});
	server.gone_cnt = 1;
	check_reads(*state, 2, 2);
}

static void a_user_who_may_not_see_parts(void **state)
{
	PARTS({"20261120", "20261120_1_9_2", 2});
	server.refused = "partition, name";
	server.why = -EACCES;
	check_reads(*state, 0, 2);
}

static void too_many_parts(void **state)
{
	static struct part many[1001];

	for (size_t i = 0; i < 1001; i++)
		many[i] = (struct part){"20261120", "20261120_1_9_2", 2};
	server.parts = many;
	server.part_cnt = 1001;
	check_reads(*state, 0, 2);
	server.part_cnt = 1000;
	check_reads(*state, 2, 0);
}

static void answers_that_are_none(void **state)
{
	static const char *const questions[] = {"partition, name", "first != last",
						"SELECT toUInt64(count()) FROM system.parts"};
	static char long_name[300];

	PARTS({"20261120", "20261120_1_9_2", 2}, {"20261120", "20261120_10_12_1", 1});
	for (size_t i = 0; i < 3; i++) {
		server.cut = questions[i];
		assert_int_equal(sum_of(*state, 0), -EBADMSG);
		server.cut = NULL;
		server.refused = questions[i];
		server.why = -EIO;
		assert_int_equal(sum_of(*state, 0), -EIO);
		server.refused = NULL;
	}
	memset(long_name, 'x', sizeof(long_name) - 1);
	const struct part wrong = {"20261120", long_name, 2};

	server.parts = &wrong;
	server.part_cnt = 1;
	assert_int_equal(sum_of(*state, 0), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_part_of_each_day, setup, teardown),
		cmocka_unit_test_setup_teardown(no_part, setup, teardown),
		cmocka_unit_test_setup_teardown(a_part_that_was_never_merged, setup, teardown),
		cmocka_unit_test_setup_teardown(parts_without_a_common_window, setup, teardown),
		cmocka_unit_test_setup_teardown(a_window_in_two_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(a_part_that_goes_meanwhile, setup, teardown),
		cmocka_unit_test_setup_teardown(a_user_who_may_not_see_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(answers_that_are_none, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
