/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of roll-ups as a fleet's store reads them, beside a server that is made up: what comes of
 * rows, which questions have none, and what rows are no tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "clickhouse/rollup.h"
#include "clickhouse/rowbinary.h"
#include "clickhouse/schema.h"
#include "fake_clickhouse.h"
#include "fleet/fleet.h"
#include "store/key_list.h"

/* 2026-11-20 12:00:00 UTC */
#define NOON_S UINT32_C(1795176000)
#define NOON_NS (NOON_S * NSEC_PER_SEC)
#define HOUR_NS (3600 * NSEC_PER_SEC)

enum { KIND = 77, TREE = 11, BUILT = 9, WINDOWS = 60, NODES_MAX = 300 };

/* A row of rollup_trees. */
struct row {
	uint32_t hour; /* after noon */
	uint64_t tree;
	uint32_t part;
	uint8_t value;
	uint64_t nodes; /* of the tree */
	const char *service; /* "=web", "" */
	int64_t factors[3];
	size_t cnt; /* elements of the arrays */
	uint32_t depths[4];
	uint64_t frames[4];
	int64_t selfs[4];
};

static const struct row one_tree[] = {
	{.tree = TREE,
	 .nodes = 4,
	 .service = "=web",
	 .factors = {1, 10},
	 .cnt = 3,
	 .depths = {0, 1, 2},
	 .frames = {1, 2, 3},
	 .selfs = {0, 1, 5}},
	{.tree = TREE,
	 .part = 1,
	 .nodes = 4,
	 .service = "=web",
	 .factors = {1, 10},
	 .cnt = 1,
	 .depths = {1},
	 .frames = {99},
	 .selfs = {2}},
};

static struct {
	const struct row *rows;
	size_t cnt;
	uint64_t late; /* windows of the second hour that its sums lack */
	uint64_t built; /* of the trees */
	uint64_t begun; /* of the sums, when they are asked for the second time */
	uint16_t flags; /* of frames */
	size_t sums_asked, names_asked;
	char *asked; /* owned: the question for trees */
	const char *cut; /* the answer to what has this in it lacks its last byte */
	int err; /* of the question for trees */
	int books_err; /* of that for what is covered, which another thread asks */
	_Atomic size_t books_asked;
} server;

static void answer_kinds(struct buf *out)
{
	static const char *const texts[][2] = {{"samples", "cpu"}, {"count", "nanoseconds"}};

	rb_add_u64(out, KIND);
	rb_add_str(out, "cpu");
	for (size_t i = 0; i < 2; i++) {
		rb_add_len(out, 2);
		rb_add_str(out, texts[i][0]);
		rb_add_str(out, texts[i][1]);
	}
	rb_add_u8(out, 1);
	rb_add_str(out, "cpu");
	rb_add_str(out, "nanoseconds");
	rb_add_i64(out, 10);
	rb_add_str(out, "cpu-clock");
}

static void answer_spans(const char *sql, struct buf *out, bool are_sums)
{
	unsigned int from_s = 0;

	assert_int_equal(sscanf(strstr(sql, "h >= toDateTime("), "h >= toDateTime(%u", &from_s), 1);
	for (uint32_t i = from_s > NOON_S; i < 2; i++) {
		rb_add_u32(out, NOON_S + i * 3600);
		rb_add_u64(out, WINDOWS - (are_sums && i ? server.late : 0));
		rb_add_u64(out, 1234);
		rb_add_u64(out, are_sums && server.sums_asked > 1 && server.begun ? server.begun
										  : BUILT);
		rb_add_u64(out, 3);
	}
}

static void answer_trees(struct buf *out)
{
	for (uint32_t i = 0; i < 2; i++) {
		rb_add_u32(out, NOON_S + i * 3600);
		rb_add_u64(out, 0);
		rb_add_u64(out, 0);
		rb_add_u64(out, server.built);
		rb_add_u64(out, 4);
	}
}

static void answer_windows(struct buf *out)
{
	for (uint32_t i = 0; i < 2; i++) {
		rb_add_u32(out, NOON_S + i * 3600);
		rb_add_u64(out, WINDOWS);
	}
}

static void answer_rows(struct buf *out)
{
	for (size_t i = 0; i < server.cnt; i++) {
		const struct row *row = &server.rows[i];
		const size_t cnt = row->value ? 0 : row->cnt;

		rb_add_u32(out, NOON_S + row->hour * 3600);
		rb_add_u64(out, row->tree);
		rb_add_u32(out, row->part);
		rb_add_u8(out, row->value);
		rb_add_u64(out, KIND);
		rb_add_u64(out, row->nodes);
		rb_add_str(out, row->service);
		rb_add_len(out, row->value ? 0 : 3);
		for (size_t j = 0; j < 3 && !row->value; j++)
			rb_add_i64(out, row->factors[j]);
		rb_add_len(out, cnt);
		for (size_t j = 0; j < cnt; j++)
			rb_add_u32(out, row->depths[j % 4]);
		rb_add_len(out, cnt);
		for (size_t j = 0; j < cnt; j++)
			rb_add_u64(out, row->frames[j % 4]);
		rb_add_len(out, row->cnt);
		for (size_t j = 0; j < row->cnt; j++)
			rb_add_i64(out, row->selfs[j % 4]);
	}
}

static void answer_names(struct buf *out)
{
	static const char *const names[] = {"main", "handle", "parse"};

	for (uint64_t frame = 1; frame <= 3; frame++) {
		rb_add_u64(out, frame);
		rb_add_u16(out, server.flags);
		rb_add_str(out, "/usr/bin/web");
		rb_add_u64(out, 0x1000 * frame);
		rb_add_len(out, 1);
		rb_add_str(out, names[frame - 1]);
	}
}

static void answer_coverage(struct buf *out)
{
	rb_add_u64(out, NOON_NS);
	rb_add_u64(out, NOON_NS + 2 * HOUR_NS);
	rb_add_u64(out, 2 * WINDOWS);
	rb_add_u64(out, 2 * HOUR_NS);
	rb_add_u64(out, 1);
}

static int answer(const char *sql, struct buf *out)
{
	if (strstr(sql, "cityHash64(host, seq)")) {
		answer_spans(sql, out, false);
	} else if (strstr(sql, "AND span = 3600")) {
		server.sums_asked++;
		answer_spans(sql, out, true);
	} else if (strstr(sql, "tree = 0")) {
		answer_trees(out);
	} else if (strstr(sql, " FROM kinds FINAL")) {
		answer_kinds(out);
	} else if (strstr(sql, "AS hour, count()")) {
		answer_windows(out);
	} else if (strstr(sql, "FROM rollup_trees WHERE span = 3600 AND tree != 0")) {
		free(server.asked);
		server.asked = strdup(sql);
		answer_rows(out);
		if (server.err)
			return server.err;
	} else if (strstr(sql, "SELECT frame, flags")) {
		server.names_asked++;
		answer_names(out);
	} else if (strstr(sql, "SELECT min(start_ns)")) {
		server.books_asked++;
		answer_coverage(out);
		if (server.books_err)
			return server.books_err;
	}
	if (server.cut && strstr(sql, server.cut))
		out->len--;
	return out->err;
}

static int setup(void **state)
{
	struct store_source *source = NULL;
	struct buf why;

	memset(&server, 0, sizeof(server));
	server.rows = one_tree;
	server.cnt = 2;
	server.built = BUILT;
	fake_answer = answer;
	fake_number = FLEET_SCHEMA_VERSION;
	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(fleet_open("clickhouse://fake", &source, &why), 0);
	buf_deinit(&why);
	*state = source;
	return 0;
}

static int teardown(void **state)
{
	store_source_close(*state);
	free(server.asked);
	return 0;
}

static const char *const by_service[] = {"service", NULL};
static const struct store_query two_hours = {
	.from_ns = NOON_NS, .to_ns = NOON_NS + 2 * HOUR_NS, .by = by_service};

static int ask(struct store_source *source, const struct store_query *query, const char *value,
	       struct profile_calls *out)
{
	struct store_coverage coverage;
	int err = store_source_calls(source, query, value, out, NULL, &coverage);

	if (!err)
		assert_int_equal(coverage.window_cnt, 2 * WINDOWS);
	return err;
}

/* "service: a 0 (b 5)" would be long: each node as "parent name self". */
static void expect_calls(const struct profile_calls *calls, const char *expected)
{
	_cleanup_(buf_deinit) struct buf text;

	buf_init(&text, BUF_NO_MAX);
	for (size_t i = 0; i < calls->node_cnt; i++) {
		const struct profile_call *node = &calls->nodes[i];
		const bool is_root = node->parent == PROFILE_NONE;
		const struct profile_label_set *set =
			is_root ? &calls->head.label_sets[node->ref] : NULL;
		const char *name =
			!is_root   ? profile_location_name(calls->places, node->ref, 0)
			: set->cnt ? profile_str(&calls->head, calls->head.labels[set->first].str)
				   : "-";

		buf_printf(&text, "%d %s %d\n", is_root ? -1 : (int)node->parent, name,
			   (int)node->self);
	}
	assert_string_equal(buf_cstr(&text), expected);
}

static void reads_a_tree(void **state)
{
	struct profile_calls calls;

	assert_int_equal(ask(*state, &two_hours, NULL, &calls), 0);
	expect_calls(&calls, "-1 web 0\n0 main 0\n1 handle 10\n2 parse 50\n"
			     "1 [frame is not in the store] 20\n");
	assert_int_equal(calls.value, 1);
	assert_int_equal(calls.head.time_ns, NOON_NS);
	assert_int_equal(calls.head.duration_ns, 2 * HOUR_NS);
	assert_int_equal(calls.head.period, 10);
	profile_calls_deinit(&calls);
	assert_non_null(strstr(server.asked, "(toUInt32(h), built) IN ((1795176000, 9), "
					     "(1795179600, 9))"));
	assert_non_null(strstr(server.asked, "(value = 0 OR (kind = 77 AND value = 1))"));
	/* Of the other value, by no label; names are known. */
	assert_int_equal(ask(*state,
			     &(struct store_query){.from_ns = NOON_NS,
						   .to_ns = NOON_NS + 2 * HOUR_NS,
						   .by = by_service},
			     "samples", &calls),
			 0);
	expect_calls(&calls, "-1 web 0\n0 main 0\n1 handle 1\n2 parse 5\n"
			     "1 [frame is not in the store] 2\n");
	assert_non_null(strstr(server.asked, "(value = 0)"));
	/* But the one that was not there: it may be there by now. */
	assert_int_equal(server.names_asked, 2);
	profile_calls_deinit(&calls);
}

static void values_of_their_own_and_stacks_without_frames(void **state)
{
	static const struct row rows[] = {
		{.tree = TREE,
		 .nodes = 2,
		 .service = "=web",
		 .factors = {1, 0},
		 .cnt = 2,
		 .depths = {0, 0},
		 .frames = {0, 2},
		 .selfs = {3, 4}},
		{.tree = TREE,
		 .value = 1,
		 .nodes = 2,
		 .service = "=web",
		 .cnt = 2,
		 .selfs = {7, 8}},
		{.hour = 1,
		 .tree = TREE,
		 .nodes = 1,
		 .service = "",
		 .factors = {1, 0},
		 .cnt = 1,
		 .depths = {0},
		 .frames = {1},
		 .selfs = {9}},
		{.hour = 1,
		 .tree = TREE + 1,
		 .nodes = 1,
		 .service = "=web",
		 .factors = {1, 2},
		 .cnt = 1,
		 .depths = {0},
		 .frames = {1},
		 .selfs = {5}},
	};
	struct profile_calls calls;

	server.rows = rows;
	server.cnt = 4;
	assert_int_equal(ask(*state, &two_hours, "cpu", &calls), 0);
	/* Without a factor and without a row the value is 0. */
	expect_calls(&calls, "-1 web 7\n0 handle 8\n-1 - 0\n2 main 0\n0 main 10\n");
	profile_calls_deinit(&calls);
}

/* They come as a server has them: parts are not merged, and are read at once. */
static void rows_come_in_any_order_and_twice(void **state)
{
	static const struct row rest = {.tree = TREE - 1,
					.nodes = 1,
					.service = "",
					.factors = {1, 3},
					.cnt = 1,
					.depths = {0},
					.frames = {2},
					.selfs = {4}};
	const struct row rows[] = {one_tree[1], rest, one_tree[0], one_tree[1], rest};
	struct profile_calls calls;

	server.rows = rows;
	server.cnt = 5;
	assert_int_equal(ask(*state, &two_hours, NULL, &calls), 0);
	expect_calls(&calls, "-1 - 0\n0 handle 12\n-1 web 0\n2 main 0\n3 handle 10\n4 parse 50\n"
			     "3 [frame is not in the store] 20\n");
	profile_calls_deinit(&calls);
}

static void expect_none(struct store_source *source, const struct store_query *query,
			const char *value)
{
	struct profile_calls calls;

	assert_int_equal(ask(source, query, value, &calls), -ENOTSUP);
	assert_string_equal(source->why, "");
}

static void tells_what_it_has_not(void **state)
{
	static const char *const by_host[] = {"host", NULL};
	static const struct row empty[] = {{.tree = TREE,
					    .nodes = 1,
					    .service = "",
					    .factors = {1, 1},
					    .cnt = 1,
					    .frames = {1}}};
	struct store_query query = two_hours;

	query.by = by_host;
	expect_none(*state, &query, NULL);
	query.by = NULL;
	expect_none(*state, &query, NULL);
	query = two_hours;
	query.from_ns++; /* the first hour is no whole one */
	expect_none(*state, &query, NULL);
	expect_none(*state, &two_hours, "wall");
	server.rows = empty;
	server.cnt = 1;
	expect_none(*state, &two_hours, NULL);
}

static void trees_of_other_sums_are_none(void **state)
{
	server.built = BUILT + 1;
	expect_none(*state, &two_hours, NULL);
	assert_null(server.asked);
	server.built = BUILT;
	assert_int_equal(server.books_asked, 0);
	/* What is late is found out while the trees are read: nothing is made of them. */
	server.late = 1;
	expect_none(*state, &two_hours, NULL);
	assert_int_equal(server.books_asked, 0);
	/* Sums that are begun anew while the trees are read. */
	server.late = 0;
	server.sums_asked = 0;
	server.begun = BUILT + 1;
	expect_none(*state, &two_hours, NULL);
	assert_non_null(server.asked);
}

/* Their frames are named by where they stand; or nothing is drawn of less than nothing. */
static void what_it_cannot_tell_is_read_otherwise(void **state)
{
	struct row row = one_tree[1];

	server.flags = LOCATION_WAKER;
	expect_none(*state, &two_hours, NULL);
	server.flags = 0;
	row.part = 0;
	row.depths[0] = 0;
	row.nodes = 1;
	row.selfs[0] = -1;
	server.rows = &row;
	server.cnt = 1;
	expect_none(*state, &two_hours, NULL);
	row.selfs[0] = INT64_MAX;
	expect_none(*state, &two_hours, NULL);
}

static void old_stores_have_none(void **state)
{
	struct store_source *source = NULL;
	struct profile_calls calls;
	struct buf why;

	fake_number = FLEET_SCHEMA_TREES - 1;
	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(fleet_open("clickhouse://fake", &source, &why), 0);
	assert_int_equal(ask(source, &two_hours, NULL, &calls), -ENOTSUP);
	assert_int_equal(server.sums_asked, 0);
	store_source_close(source);
}

static void expect_bad(struct store_source *source, struct row *rows, size_t cnt)
{
	struct profile_calls calls;

	server.rows = rows;
	server.cnt = cnt;
	assert_int_equal(ask(source, &two_hours, NULL, &calls), -EBADMSG);
	assert_non_null(strstr(source->why, "is not what was asked for"));
}

static void answers_that_are_no_trees_fail(void **state)
{
	struct row rows[3];

	memcpy(rows, one_tree, sizeof(one_tree));
	expect_bad(*state, rows, 1); /* nodes are missing */
	expect_bad(*state, rows + 1, 1); /* the first part is */
	rows[1].part = 2;
	expect_bad(*state, rows, 2);
	memcpy(rows, one_tree, sizeof(one_tree));
	rows[0].depths[0] = 1; /* below nothing */
	expect_bad(*state, rows, 2);
	memcpy(rows, one_tree, sizeof(one_tree));
	rows[1].depths[0] = 4; /* below what is not there */
	expect_bad(*state, rows, 2);
	memcpy(rows, one_tree, sizeof(one_tree));
	rows[1].nodes = rows[0].nodes = 3; /* more than there are */
	expect_bad(*state, rows, 2);
	memcpy(rows, one_tree, sizeof(one_tree));
	rows[2] = rows[1];
	rows[2].value = 1; /* of what has a factor */
	expect_bad(*state, rows, 3);
	rows[1].factors[1] = 0;
	rows[2].cnt = 2; /* more values than nodes */
	expect_bad(*state, rows, 3);
	rows[2].cnt = 1;
	rows[2].part = 0; /* of another part */
	expect_bad(*state, rows, 3);
	memcpy(rows, one_tree, sizeof(one_tree));
	rows[0].cnt = NODES_MAX; /* more than a row has */
	rows[0].nodes = NODES_MAX + 1;
	expect_bad(*state, rows, 2);
	memcpy(rows, one_tree, sizeof(one_tree));
	server.cut = "AND tree != 0";
	expect_bad(*state, rows, 2);
	server.cut = "SELECT frame, flags";
	expect_bad(*state, rows, 2);
}

static void the_server_s_failure_is_told(void **state)
{
	struct store_source *source = *state;
	struct profile_calls calls;

	server.err = -ECONNREFUSED;
	assert_int_equal(ask(source, &two_hours, NULL, &calls), -ECONNREFUSED);
	assert_non_null(strstr(source->why, "it refuses"));
	server.err = 0;
	server.books_err = -EACCES;
	source->why[0] = '\0';
	assert_int_equal(ask(source, &two_hours, NULL, &calls), -EACCES);
	assert_non_null(strstr(source->why, "it refuses"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_a_tree, setup, teardown),
		cmocka_unit_test_setup_teardown(values_of_their_own_and_stacks_without_frames,
						setup, teardown),
		cmocka_unit_test_setup_teardown(rows_come_in_any_order_and_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(tells_what_it_has_not, setup, teardown),
		cmocka_unit_test_setup_teardown(trees_of_other_sums_are_none, setup, teardown),
		cmocka_unit_test_setup_teardown(what_it_cannot_tell_is_read_otherwise, setup,
						teardown),
		cmocka_unit_test_setup_teardown(old_stores_have_none, setup, teardown),
		cmocka_unit_test_setup_teardown(answers_that_are_no_trees_fail, setup, teardown),
		cmocka_unit_test_setup_teardown(the_server_s_failure_is_told, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
