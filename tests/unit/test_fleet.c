/* SPDX-License-Identifier: Apache-2.0 */
/* The fleet's store beside a server that is made up: what is asked, and what comes of its answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "clickhouse/rowbinary.h"
#include "clickhouse/schema.h"
#include "fake_clickhouse.h"
#include "fleet/fleet.h"
#include "store/key_list.h"

/* 2026-11-20 12:00:00 UTC */
#define NOON_NS (1795176000 * NSEC_PER_SEC)
#define HOUR_NS (3600 * NSEC_PER_SEC)

enum { KIND = 77, STACK = 1001, OTHER_STACK = 1002, LOST_STACK = 1003, HOST = 5, ASKED_MAX = 64 };

/* What the server was asked, in order, and how it is to behave. */
static struct {
	char *asked[ASKED_MAX]; /* owned */
	size_t cnt;
	uint64_t windows; /* in each of two hours */
	int err; /* of everything */
	bool has_label; /* rows have one */
	bool has_source; /* rows have theirs */
	bool is_rolled; /* the first of them has sums */
	uint64_t built; /* of these, as they are told next */
	uint64_t begun; /* of the build that is told after that; 0: the same */
	const char *cut; /* the answer to what has this in it lacks its last byte */
} server;

static void forget(void)
{
	for (size_t i = 0; i < server.cnt; i++)
		free(server.asked[i]);
	memset(&server, 0, sizeof(server));
	server.windows = 60;
	server.built = 9;
	fake_number = 1;
}

/* The questions that have @text in them. */
static size_t asked(const char *text)
{
	size_t cnt = 0;

	for (size_t i = 0; i < server.cnt; i++)
		cnt += strstr(server.asked[i], text) != NULL;
	return cnt;
}

static void add_texts(struct buf *out, const char *const *texts)
{
	size_t cnt = 0;

	while (texts[cnt])
		cnt++;
	rb_add_len(out, cnt);
	for (size_t i = 0; i < cnt; i++)
		rb_add_str(out, texts[i]);
}

static void answer_kinds(struct buf *out)
{
	rb_add_u64(out, KIND);
	rb_add_str(out, "cpu");
	add_texts(out, (const char *const[]){"samples", "cpu", NULL});
	add_texts(out, (const char *const[]){"count", "nanoseconds", NULL});
	rb_add_u8(out, 1);
	rb_add_str(out, "");
	rb_add_str(out, "");
	rb_add_i64(out, 0);
	rb_add_str(out, "cpu-clock");
}

static void answer_combinations(struct buf *out)
{
	static const char *const rows[][2] = {
		{"web", "=it's a\\b"}, {"web", "=beta"}, {"", ""}, {"db", "=gamma"}};

	for (size_t i = 0; i < 4; i++) {
		rb_add_str(out, rows[i][0]);
		rb_add_str(out, rows[i][1]);
	}
}

static void answer_windows(struct buf *out)
{
	for (uint32_t i = 0; i < 2; i++) {
		rb_add_u32(out, (uint32_t)(NOON_NS / NSEC_PER_SEC) + i * 3600);
		rb_add_u64(out, server.windows);
	}
}

static void answer_states(struct buf *out)
{
	for (uint32_t i = 0; i < 2; i++) {
		rb_add_u32(out, (uint32_t)(NOON_NS / NSEC_PER_SEC) + i * 3600);
		rb_add_u64(out, server.windows);
		rb_add_u64(out, 1234 + i);
		rb_add_u64(out, 0);
		rb_add_u64(out, 0);
	}
}

/* Of the second hour a window was late. */
static void answer_rolled(struct buf *out)
{
	for (uint32_t i = 0; i < 2 && server.is_rolled; i++) {
		rb_add_u32(out, (uint32_t)(NOON_NS / NSEC_PER_SEC) + i * 3600);
		rb_add_u64(out, server.windows - i);
		rb_add_u64(out, 1234);
		rb_add_u64(out, server.built);
		rb_add_u64(out, 3);
	}
	server.built = server.begun ? server.begun : server.built;
}

/* By no label, or one: every stack once. */
static void answer_rows(struct buf *out)
{
	for (uint64_t stack = STACK; stack <= LOST_STACK; stack++) {
		rb_add_str(out, "web");
		rb_add_u64(out, KIND);
		rb_add_u64(out, stack);
		if (server.has_label)
			rb_add_str(out, "=x");
		for (int i = 0; i < 2 && server.has_source; i++)
			rb_add_u64(out, HOST);
		rb_add_i64(out, (int64_t)(stack - STACK + 1));
		rb_add_i64(out, (int64_t)(stack - STACK + 1) * 10);
	}
}

/* main > handle > parse; main > a frame that is not there. */
static void answer_stacks(struct buf *out)
{
	rb_add_u64(out, STACK);
	rb_add_len(out, 3);
	for (uint64_t frame = 1; frame <= 3; frame++)
		rb_add_u64(out, frame);
	rb_add_u64(out, OTHER_STACK);
	rb_add_len(out, 2);
	rb_add_u64(out, 1);
	rb_add_u64(out, 99);
}

static void answer_frames(struct buf *out)
{
	static const char *const names[] = {"main", "handle", "parse"};

	for (uint64_t frame = 1; frame <= 3; frame++) {
		const char *const texts[] = {names[frame - 1], NULL};

		rb_add_u64(out, frame);
		rb_add_u16(out, 0);
		rb_add_str(out, "/usr/bin/web");
		rb_add_str(out, "abcd");
		rb_add_u64(out, 0x1000 * frame);
		add_texts(out, texts);
		add_texts(out, texts);
		add_texts(out, (const char *const[]){"web.c", NULL});
		rb_add_len(out, 1);
		rb_add_u32(out, (uint32_t)frame * 7);
		rb_add_len(out, 1);
		rb_add_u32(out, 3);
	}
}

static void answer_coverage(struct buf *out)
{
	rb_add_u64(out, NOON_NS);
	rb_add_u64(out, NOON_NS + 2 * HOUR_NS);
	rb_add_u64(out, 2 * server.windows);
	rb_add_u64(out, 2 * HOUR_NS);
	rb_add_u64(out, 1);
}

static void answer_ledger(struct buf *out)
{
	rb_add_str(out,
		   "{\"events\":[{\"name\":\"cpu-clock\",\"ticks\":6,\"ran\":6,\"recorded\":6}]}");
	rb_add_str(out, "no ledger");
}

static void answer_sums(struct buf *out)
{
	rb_add_str(out, "cpu-clock");
	rb_add_u64(out, 1000);
	rb_add_u64(out, 3);
	rb_add_u64(out, 5);
}

static void answer_labels(struct buf *out)
{
	static const char *const rows[][2] = {{"host", "beta"}, {"comm", "x"}, {"host", "alpha"}};

	for (size_t i = 0; i < 3; i++) {
		rb_add_str(out, rows[i][0]);
		rb_add_str(out, rows[i][1]);
		rb_add_i64(out, 10 + (int64_t)i);
	}
}

/* One that is sure, one that is not and began in the second step. */
static void answer_series(struct buf *out)
{
	for (uint64_t i = 0; i < 2; i++) {
		rb_add_str(out, i ? "=beta" : "");
		rb_add_u64(out, 0);
		rb_add_u8(out, (uint8_t)i);
		rb_add_u64(out, i ? HOST : 0);
		rb_add_u64(out, i ? 12345 : 0);
		rb_add_i64(out, 100);
	}
}

static void answer_starts(struct buf *out)
{
	rb_add_u64(out, HOST);
	rb_add_u64(out, 12345);
	rb_add_u64(out, NOON_NS + HOUR_NS);
	rb_add_u16(out, 0);
	rb_add_i64(out, 0);
	rb_add_i64(out, 0);
}

static const struct {
	const char *in; /* of the question */
	void (*answer)(struct buf *out);
} kinds_of_question[] = {
	{"cityHash64(host, seq)", answer_states},     {"AND span = 3600", answer_rolled},
	{" FROM kinds FINAL", answer_kinds},	      {"SELECT DISTINCT", answer_combinations},
	{"AS hour, count()", answer_windows},	      {" AS svc, ", answer_rows},
	{"SELECT stack, frames", answer_stacks},      {"SELECT frame, flags", answer_frames},
	{"SELECT min(start_ns)", answer_coverage},    {"SELECT ledger", answer_ledger},
	{"SELECT event, sum(recorded)", answer_sums}, {"SELECT key, val", answer_labels},
	{"SELECT label, toUInt64", answer_series},    {"SELECT host, seq, start_ns", answer_starts},
};

static int answer(const char *sql, struct buf *out)
{
	assert_true(server.cnt < ASKED_MAX);
	server.asked[server.cnt++] = strdup(sql);
	if (server.err)
		return server.err;
	for (size_t i = 0; i < sizeof(kinds_of_question) / sizeof(*kinds_of_question); i++) {
		if (!strstr(sql, kinds_of_question[i].in))
			continue;
		kinds_of_question[i].answer(out);
		if (server.cut && strstr(sql, server.cut))
			out->len--;
		return out->err;
	}
	return 0; /* of nothing: no row */
}

static struct store_source *open_fleet(void)
{
	struct store_source *source = NULL;
	struct buf why;

	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(fleet_or_file_open("clickhouse://fake", &source, &why), 0);
	buf_deinit(&why);
	return source;
}

static int setup(void **state)
{
	fake_answer = answer;
	forget();
	*state = open_fleet();
	return 0;
}

static int teardown(void **state)
{
	store_source_close(*state);
	forget();
	return 0;
}

static const struct store_query two_hours = {
	.from_ns = NOON_NS, .to_ns = NOON_NS + 2 * HOUR_NS, .by = no_keys};

static void reads_a_profile(void **state)
{
	struct store_source *source = *state;
	struct store_coverage coverage;
	struct ledger ledger;
	struct profile prof;

	assert_int_equal(store_source_read(source, &two_hours, &prof, &ledger, &coverage), 0);
	assert_int_equal(prof.sample_cnt, 3);
	assert_int_equal(profile_total(&prof, 0), 6);
	assert_int_equal(profile_total(&prof, prof.default_value), 60);
	assert_int_equal(prof.time_ns, NOON_NS);
	assert_int_equal(coverage.window_cnt, 120);
	assert_true(coverage.hosts.is_fleet);
	assert_int_equal(coverage.hosts.cnt, 1);
	/* A stack that is not there, a ledger that is none: told, and counted. */
	assert_int_equal(coverage.damaged_cnt, 2);
	assert_int_equal(ledger.events[0].sum.recorded, 6);
	for (size_t i = 0; i < prof.sample_cnt; i++) {
		static const char *const leaves[] = {"parse", "[frame is not in the store]",
						     "[stack is not in the store]"};
		const struct profile_stack *stack = &prof.stacks[prof.samples[i].stack];

		assert_string_equal(profile_location_name(&prof, prof.stack_locations[stack->first],
							  0),
				    leaves[i]);
	}
	assert_int_equal(prof.mappings[0].flags & MAPPING_HAS_LINES, MAPPING_HAS_LINES);
	profile_deinit(&prof);
	ledger_deinit(&ledger);
}

static void read_and_drop(struct store_source *source, const struct store_query *query)
{
	struct profile prof;

	assert_int_equal(store_source_read(source, query, &prof, NULL, NULL), 0);
	profile_deinit(&prof);
}

static void learns_once(void **state)
{
	read_and_drop(*state, &two_hours);
	assert_int_equal(asked("SELECT frame, flags"), 1);
	read_and_drop(*state, &two_hours);
	/* What was not there is asked for again. */
	assert_int_equal(asked("SELECT stack, frames"), 2);
	assert_int_equal(asked("AND stack IN (1003)"), 1);
	assert_int_equal(asked("SELECT frame, flags"), 2);
	assert_int_equal(asked("AND frame IN (99)"), 1);
}

static void asks_in_parts(void **state)
{
	server.windows = 600000;
	read_and_drop(*state, &two_hours);
	assert_int_equal(asked(" AS svc, "), 2);
	/* Each has its hour alone. */
	assert_int_equal(asked("samples FINAL WHERE kind IN (77) AND h >= toDateTime(1795176000, "
			       "'UTC') AND h <= toDateTime(1795176000, 'UTC')"),
			 1);
	assert_int_equal(asked("AND h <= toDateTime(1795179600, 'UTC') AND (host,"), 1);
}

static void reads_sums_where_they_are_good(void **state)
{
	static const char *const by_service[] = {"service", NULL};
	struct store_query query = two_hours;

	fake_number = FLEET_SCHEMA_ROLLUPS;
	server.is_rolled = true;
	store_source_close(*state);
	*state = open_fleet();
	read_and_drop(*state, &query);
	assert_int_equal(asked(" AS svc, "), 2);
	assert_int_equal(asked("rollup_1h FINAL WHERE kind IN (77) AND h >= toDateTime(1795176000, "
			       "'UTC') AND h <= toDateTime(1795176000, 'UTC') AND (toUInt32(h), "
			       "built) IN ((1795176000, 9))"),
			 1);
	/* The rest. */
	assert_int_equal(asked("samples FINAL WHERE kind IN (77) AND h >= toDateTime(1795179600, "),
			 1);
	/* A service is no host. */
	query = two_hours;
	query.by = by_service;
	server.has_label = true;
	read_and_drop(*state, &query);
	assert_int_equal(asked("rollup_1h FINAL"), 2);
	/* Of hours that are asked for in part nothing is to be known. */
	query.from_ns++;
	read_and_drop(*state, &query);
	assert_int_equal(asked("FROM rollups WHERE h >= toDateTime(1795179600, 'UTC') AND h < "
			       "toDateTime(1795183200, 'UTC') AND span = 3600"),
			 1);
}

static void reads_samples_for_hosts(void **state)
{
	static const struct store_match where[] = {{"host", "it's*"}};
	static const char *const by_host[] = {"host", NULL};
	struct store_query query = two_hours;

	fake_number = FLEET_SCHEMA_ROLLUPS;
	server.is_rolled = true;
	store_source_close(*state);
	*state = open_fleet();
	query.where = where;
	query.where_cnt = 1;
	read_and_drop(*state, &query);
	query = two_hours;
	query.by = by_host;
	server.has_label = true;
	read_and_drop(*state, &query);
	assert_int_equal(asked("FROM rollup"), 0);
	assert_int_equal(asked("samples FINAL WHERE"), 2);
}

/* A job began to replace them between the first look and the last. */
static void forgets_sums_that_were_replaced(void **state)
{
	struct profile prof;

	fake_number = FLEET_SCHEMA_ROLLUPS;
	server.is_rolled = true;
	server.begun = 10;
	store_source_close(*state);
	*state = open_fleet();
	assert_int_equal(store_source_read(*state, &two_hours, &prof, NULL, NULL), 0);
	assert_int_equal(asked("rollup_1h FINAL"), 1);
	assert_int_equal(asked("samples FINAL WHERE kind IN (77) AND h >= toDateTime(1795176000, "
			       "'UTC') AND h <= toDateTime(1795179600, 'UTC')"),
			 1);
	/* Once. */
	assert_int_equal(profile_total(&prof, 0), 6);
	profile_deinit(&prof);
}

static void does_not_read_every_ledger(void **state)
{
	struct store_coverage coverage;
	struct ledger ledger;

	server.windows = 600000;
	assert_int_equal(store_source_ledger(*state, &two_hours, &ledger, &coverage), 0);
	assert_int_equal(asked("SELECT ledger"), 0);
	assert_int_equal(ledger.event_cnt, 1);
	assert_string_equal(ledger.events[0].name, "cpu-clock");
	assert_int_equal(ledger.events[0].sum.recorded, 1000);
	assert_true(ledger_balances(&ledger, NULL));
	ledger_deinit(&ledger);
}

static void selects_sources(void **state)
{
	static const struct store_match where[] = {{"host", "it's*"}, {"host", "g?mma"}};
	struct store_query query = two_hours;

	query.where = where;
	query.where_cnt = 2;
	read_and_drop(*state, &query);
	assert_int_equal(asked("SELECT DISTINCT toString(service) AS s, if(has(keys, 'host'), "
			       "concat('=', vals[indexOf(keys, 'host')]), '') FROM sources"),
			 1);
	assert_int_equal(asked("AND service IN ('web', 'db')"), 1);
	assert_int_equal(asked(") IN ('=it\\'s a\\\\b', '=gamma'))"), 1);
}

/* Of a service and a kind nothing but the stack is left to tell rows apart. */
static void adds_up_by_stack(void **state)
{
	static const struct store_match where[] = {{"service", "beta"}};
	static const char *const by_service[] = {"service", NULL};
	struct store_query query = two_hours;

	fake_number = FLEET_SCHEMA_UNITS;
	store_source_close(*state);
	*state = open_fleet();
	query.where = where;
	query.where_cnt = 1;
	query.by = by_service;
	server.has_label = true;
	read_and_drop(*state, &query);
	assert_int_equal(asked("SELECT toString('web' AS service) AS svc, toUInt64(77) AS kind, "
			       "stack, if(service = '', '', concat('=', toString(service))), s0, "
			       "s1 FROM (SELECT stack, sum(n) AS s0, sum((v1 + n * unit)) AS s1 "
			       "FROM samples FINAL WHERE kind IN (77) AND h >= "),
			 1);
	assert_int_equal(asked(" AND service IN ('web') AND (host, toUInt64(toUInt32(h)) + ts + "
			       "lead) IN (SELECT host, seq FROM batches WHERE "),
			 1);
	assert_int_equal(asked("start_ns < toUInt64(1795183200000000000)) GROUP BY stack) AS q"),
			 1);
}

/* What differs is a key: services, versions, labels of sources, which need the source. */
static void adds_up_by_what_differs(void **state)
{
	static const struct store_match where[] = {{"version", "beta"}};
	static const char *const by_version[] = {"version", NULL};
	static const char *const by_host[] = {"host", NULL};
	struct store_query query = two_hours;

	server.has_label = true;
	query.by = by_version;
	read_and_drop(*state, &query);
	assert_int_equal(asked("SELECT toString(service) AS svc, toUInt64(77) AS kind, stack, "
			       "if(version = '', "),
			 1);
	assert_int_equal(asked(") GROUP BY stack, service, version) AS q"), 1);
	query.by = by_host;
	query.where = where;
	query.where_cnt = 1;
	read_and_drop(*state, &query);
	assert_int_equal(asked("kind, stack, l0, s0, s1 FROM (SELECT stack, l0, sum(n) AS s0, "
			       "sum(v1) AS s1 FROM (SELECT stack, host, src, n, v1 AS v1 FROM "
			       "samples FINAL WHERE "),
			 1);
	/* Of a service there may be other versions. */
	assert_int_equal(asked(" AND service IN ('web') AND (host, "), 1);
	assert_int_equal(asked(" AND (if(version = '', '', concat('=', toString(version)))) IN "
			       "('=beta')) AS a ANY LEFT JOIN (SELECT host, src, if(has(keys, "
			       "'host'), "),
			 1);
	assert_int_equal(asked(" USING (host, src) GROUP BY stack, l0) AS q"), 1);
	query = two_hours;
	query.by = NULL;
	server.has_label = false;
	server.has_source = true;
	read_and_drop(*state, &query);
	assert_int_equal(asked("kind, stack, host, src, s0, s1 FROM (SELECT stack, service, host, "
			       "src, sum(n) AS s0"),
			 1);
}

static void matches_what_has_no_label(void **state)
{
	static const struct store_match where[] = {{"host", ""}};
	struct store_query query = two_hours;

	query.where = where;
	query.where_cnt = 1;
	read_and_drop(*state, &query);
	assert_int_equal(asked("AND service IN ('') AND (host,"), 1);
	assert_int_equal(asked(") IN (''))"), 1);
}

static void asks_no_more_when_nothing_matches(void **state)
{
	static const struct store_match where[] = {{"host", "nobody"}};
	struct store_query query = two_hours;
	struct profile prof;

	query.where = where;
	query.where_cnt = 1;
	assert_int_equal(store_source_read(*state, &query, &prof, NULL, NULL), 0);
	assert_int_equal(prof.sample_cnt, 0);
	assert_int_equal(asked(" AS svc, "), 0);
	profile_deinit(&prof);
}

static void is_not_misled_by_everything(void **state)
{
	static const struct store_match where[] = {{"host", "*"}, {"host", ""}};
	struct store_query query = two_hours;

	query.where = where;
	query.where_cnt = 2;
	read_and_drop(*state, &query);
	assert_int_equal(asked("service IN ('web', "), 0);
	assert_int_equal(asked("src) IN (SELECT"), 0);
}

static int check_label(void *arg, const char *key, const char *value, int64_t total)
{
	static const char *const wanted[] = {"comm=x", "host=alpha", "host=beta"};
	size_t *nr = arg;
	char text[32];

	snprintf(text, sizeof(text), "%s=%s", key, value);
	assert_string_equal(text, wanted[*nr]);
	return ++*nr == 3 ? 7 : 0;
}

static void tells_labels_in_order(void **state)
{
	size_t nr = 0;

	assert_int_equal(store_source_each_label(*state, &two_hours, check_label, &nr), 7);
	assert_int_equal(nr, 3);
}

static int check_series(void *arg, const char *name, const int64_t *points, size_t point_cnt)
{
	size_t *nr = arg;

	assert_int_equal(point_cnt, 2);
	assert_int_equal(points[0], *name ? 0 : 100);
	assert_int_equal(points[1], *name ? 100 : 0);
	++*nr;
	return 0;
}

static void places_windows_by_their_start(void **state)
{
	size_t nr = 0;

	assert_int_equal(
		store_source_timeline(*state, &two_hours, "host", "it's", 2, check_series, &nr), 0);
	assert_int_equal(nr, 2);
	assert_int_equal(asked("has(names, 'it\\'s')"), 1);
	assert_int_equal(store_source_timeline(*state, &two_hours, NULL, NULL, 0, check_series,
					       &nr),
			 -EINVAL);
}

static void does_not_believe_everything(void **state)
{
	struct store_source *source = *state;
	static const char *const cuts[] = {" FROM kinds FINAL",	  "AS hour, count()",
					   " AS svc, ",		  "SELECT stack, frames",
					   "SELECT frame, flags", "SELECT min(start_ns)",
					   "SELECT ledger"};

	for (size_t i = 0; i < sizeof(cuts) / sizeof(*cuts); i++) {
		struct store_coverage coverage;
		struct ledger ledger;
		struct profile prof;

		server.cut = cuts[i];
		assert_int_equal(store_source_read(source, &two_hours, &prof, &ledger, &coverage),
				 -EBADMSG);
		assert_non_null(strstr(source->why, "not what was asked for"));
	}
}

static void tells_what_the_server_says(void **state)
{
	struct store_source *source = *state;
	struct store_coverage coverage;

	server.err = -ECONNREFUSED;
	assert_int_equal(store_source_coverage(source, 0, UINT64_MAX, &coverage), -ECONNREFUSED);
	assert_string_equal(source->why, "store 'clickhouse://fake:8123/bpfprof': it refuses");
	server.err = -EFBIG;
	assert_int_equal(store_source_coverage(source, 0, UINT64_MAX, &coverage), -EFBIG);
	assert_non_null(strstr(source->why, "a shorter range"));
	server.err = 0;
	assert_int_equal(store_source_coverage(source, 0, UINT64_MAX, &coverage), 0);
	assert_string_equal(source->why, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_a_profile, setup, teardown),
		cmocka_unit_test_setup_teardown(learns_once, setup, teardown),
		cmocka_unit_test_setup_teardown(asks_in_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(reads_sums_where_they_are_good, setup, teardown),
		cmocka_unit_test_setup_teardown(reads_samples_for_hosts, setup, teardown),
		cmocka_unit_test_setup_teardown(forgets_sums_that_were_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(does_not_read_every_ledger, setup, teardown),
		cmocka_unit_test_setup_teardown(selects_sources, setup, teardown),
		cmocka_unit_test_setup_teardown(adds_up_by_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(adds_up_by_what_differs, setup, teardown),
		cmocka_unit_test_setup_teardown(matches_what_has_no_label, setup, teardown),
		cmocka_unit_test_setup_teardown(asks_no_more_when_nothing_matches, setup, teardown),
		cmocka_unit_test_setup_teardown(is_not_misled_by_everything, setup, teardown),
		cmocka_unit_test_setup_teardown(tells_labels_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(places_windows_by_their_start, setup, teardown),
		cmocka_unit_test_setup_teardown(does_not_believe_everything, setup, teardown),
		cmocka_unit_test_setup_teardown(tells_what_the_server_says, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
