/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of roll-ups beside a server that is made up: what sums become, and when there are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>

#include "base/cleanup.h"
#include "clickhouse/native_read.h"
#include "clickhouse/rollup_trees.h"
#include "clickhouse/rowbinary.h"
#include "clickhouse/schema.h"
#include "fake_clickhouse.h"

/* 2026-11-20 12:00:00 UTC */
enum { NOON_S = 1795176000, KIND = 77, OTHER_KIND = 78, DEEP = 600, ROWS_MAX = 64 };

/* A stack's row of sums. */
struct sums {
	uint64_t kind;
	size_t depth;
	uint64_t frames[4]; /* of a deeper one the first is repeated */
	int64_t values[6]; /* n, v1 .. v3, v */
	bool is_lost;
};

static struct {
	const struct sums *sums; /* of service "web"; other ones have none */
	size_t cnt, value_cnt;
	const char *cut; /* the answer to what has this in it lacks its last byte */
	char *asked; /* owned: the question for sums of "web" */
	struct buf rows; /* that were inserted: "value h/tree ..." as lines */
	size_t inserts;
} server;

static void answer_sums(struct buf *out)
{
	for (size_t i = 0; i < server.cnt; i++) {
		const struct sums *sums = &server.sums[i];

		rb_add_str(out, "v1");
		rb_add_u64(out, sums->kind);
		rb_add_u8(out, !sums->is_lost);
		rb_add_len(out, sums->depth);
		for (size_t j = 0; j < sums->depth; j++)
			rb_add_u64(out, sums->frames[j < 4 ? j : 0]);
		for (size_t j = 0; j < 4; j++)
			rb_add_i64(out, sums->values[j]);
		rb_add_len(out, server.value_cnt - 4);
		for (size_t j = 4; j < server.value_cnt; j++)
			rb_add_i64(out, sums->values[j]);
	}
}

static int answer(const char *sql, struct buf *out)
{
	if (strstr(sql, "SELECT DISTINCT toString(service)")) {
		rb_add_str(out, "web");
	} else if (strstr(sql, "service = 'web'")) {
		free(server.asked);
		server.asked = strdup(sql);
		answer_sums(out);
	} else if (strstr(sql, "AND tree = 0")) {
		rb_add_u32(out, NOON_S);
		rb_add_u64(out, 0);
		rb_add_u64(out, 0);
		rb_add_u64(out, 9);
		rb_add_u64(out, 1000);
	}
	if (server.cut && strstr(sql, server.cut))
		out->len--;
	return out ? out->err : 0;
}

static const struct native_column columns[] = {
	{"span", NATIVE_U32},	      {"h", NATIVE_DATETIME},	     {"tree", NATIVE_U64},
	{"part", NATIVE_U32},	      {"value", NATIVE_U8},	     {"service", NATIVE_WORD},
	{"version", NATIVE_WORD},     {"kind", NATIVE_U64},	     {"built", NATIVE_U64},
	{"nodes", NATIVE_U64},	      {"factors", NATIVE_I64_ARRAY}, {"depths", NATIVE_U32_ARRAY},
	{"frames", NATIVE_U64_ARRAY}, {"selfs", NATIVE_I64_ARRAY},
};

static const struct native_table table = {"rollup_trees", columns,
					  sizeof(columns) / sizeof(*columns)};

/* "(1 2 3)"; of more than 8 how many. */
static void add_array(const struct native_block *block, const char *name, uint64_t row)
{
	const size_t at = native_column_of(&table, name);
	const uint64_t first = row ? native_array_end(block, at, row - 1) : 0;
	const uint64_t last = native_array_end(block, at, row);

	buf_printf(&server.rows, " %s(", name);
	if (last - first > 8)
		buf_printf(&server.rows, "%d)", (int)(last - first));
	for (uint64_t i = first; i < last && last - first <= 8; i++) {
		const char *data = block->data[at].data;
		uint32_t depth;
		int64_t number;

		if (columns[at].type == NATIVE_U32_ARRAY) {
			memcpy(&depth, data + 4 * i, sizeof(depth));
			number = depth;
		} else {
			memcpy(&number, data + 8 * i, sizeof(number));
		}
		buf_printf(&server.rows, "%s%" PRId64 "%s", i > first ? " " : "", number,
			   i + 1 == last ? ")" : "");
	}
	if (first == last)
		buf_add_char(&server.rows, ')');
}

static void add_number(const struct native_block *block, const char *name, uint64_t row)
{
	buf_printf(&server.rows, " %s %llu", name,
		   (unsigned long long)native_number(block, native_column_of(&table, name), row));
}

static int take_rows(const char *sql, const void *rows, size_t len)
{
	static const char *const numbers[] = {"part", "value", "kind", "built", "nodes"};
	static const char *const arrays[] = {"factors", "depths", "frames", "selfs"};
	struct native_block block;
	struct reader rd;

	assert_non_null(strstr(sql, "INSERT INTO rollup_trees (span, h, tree, part, value,"));
	assert_int_equal(native_init(&block, &table), 0);
	reader_init(&rd, rows, len);
	assert_int_equal(native_decode(&rd, &block), 0);
	for (uint64_t row = 0; row < block.row_cnt; row++) {
		assert_int_equal(native_number(&block, 0, row), ROLLUP_HOUR_S);
		assert_int_equal(native_number(&block, 1, row), NOON_S);
		buf_printf(&server.rows, "%s'%s'", native_number(&block, 2, row) ? "" : "end ",
			   native_word(&block, 5, row));
		for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
			add_number(&block, numbers[i], row);
		for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
			add_array(&block, arrays[i], row);
		buf_add_char(&server.rows, '\n');
	}
	native_deinit(&block);
	server.inserts++;
	return 0;
}

static int setup(void **state)
{
	memset(&server, 0, sizeof(server));
	server.value_cnt = 4;
	buf_init(&server.rows, BUF_NO_MAX);
	fake_answer = answer;
	fake_insert = take_rows;
	return 0;
}

static int teardown(void **state)
{
	free(server.asked);
	buf_deinit(&server.rows);
	fake_insert = NULL;
	return 0;
}

static int make(const struct sums *sums, size_t cnt, uint64_t row_cnt)
{
	const struct rollup_span span = {
		.start_s = NOON_S, .length_s = ROLLUP_HOUR_S, .built = 9, .rows = row_cnt};
	struct ch_client *client;
	const char *why;
	int err;

	server.sums = sums;
	server.cnt = cnt;
	assert_int_equal(ch_client_open("clickhouse://fake", NULL, &client, &why), 0);
	err = rollup_trees_make(client, &span);
	ch_client_close(client);
	return err;
}

static void sorted_stacks_become_a_tree(void **state)
{
	static const struct sums sums[] = {
		{KIND, 2, {1, 2}, {1, 10}},
		{KIND, 3, {1, 2, 3}, {5, 50}},
		{KIND, 2, {1, 4}, {2, 20}},
	};

	assert_int_equal(make(sums, 3, 3), 0);
	assert_string_equal(buf_cstr(&server.rows),
			    "'web' part 0 value 0 kind 77 built 9 nodes 4 factors(1 10 0 0) "
			    "depths(0 1 2 1) frames(1 2 3 4) selfs(0 1 5 2)\n"
			    "end '' part 0 value 0 kind 0 built 9 nodes 4 factors() depths() "
			    "frames() selfs()\n");
	/* What is read is what will be replaced as one: the build's rows. */
	assert_non_null(strstr(server.asked, "rollup_1h FINAL WHERE h = toDateTime(1795176000, "
					     "'UTC') AND built = toUInt64(9)"));
	assert_non_null(strstr(server.asked, "WHERE day = toDate(20777)"));
	assert_non_null(strstr(server.asked, "ORDER BY ver, kind, frames"));
	/* The last row comes when all others are there. */
	assert_int_equal(server.inserts, 2);
}

static void values_that_are_no_multiple_have_rows(void **state)
{
	static const struct sums sums[] = {
		{KIND, 1, {1}, {2, 6, 7, 0, 0, -4}},
		{KIND, 2, {1, 2}, {3, 9, 8, 0, 0, -6}},
		{OTHER_KIND, 0, {0}, {4, 0, 0, 0, 1, 0}},
	};

	server.value_cnt = 6;
	assert_int_equal(make(sums, 3, 3), 0);
	assert_string_equal(buf_cstr(&server.rows),
			    "'web' part 0 value 0 kind 77 built 9 nodes 2 factors(1 3 0 0 0 -2) "
			    "depths(0 1) frames(1 2) selfs(2 3)\n"
			    "'web' part 0 value 2 kind 77 built 9 nodes 2 factors() depths() "
			    "frames() selfs(7 8)\n"
			    "'web' part 0 value 0 kind 78 built 9 nodes 1 factors(1 0 0 0 0 0) "
			    "depths(0) frames(0) selfs(4)\n"
			    "'web' part 0 value 4 kind 78 built 9 nodes 1 factors() depths() "
			    "frames() selfs(1)\n"
			    "end '' part 0 value 0 kind 0 built 9 nodes 3 factors() depths() "
			    "frames() selfs()\n");
}

/* The least number is -1 times no other. */
static void the_least_number_is_no_multiple(void **state)
{
	static const struct sums sums[] = {{KIND, 1, {1}, {-1, INT64_MIN, 5}}};

	assert_int_equal(make(sums, 1, 1), 0);
	assert_string_equal(buf_cstr(&server.rows),
			    "'web' part 0 value 0 kind 77 built 9 nodes 1 factors(1 0 -5 0) "
			    "depths(0) frames(1) selfs(-1)\n"
			    "'web' part 0 value 1 kind 77 built 9 nodes 1 factors() depths() "
			    "frames() selfs(-9223372036854775808)\n"
			    "end '' part 0 value 0 kind 0 built 9 nodes 1 factors() depths() "
			    "frames() selfs()\n");
}

static void large_trees_are_cut(void **state)
{
	static const struct sums sums[] = {{KIND, DEEP, {1, 2, 3, 4}, {2, 6}}};

	assert_int_equal(make(sums, 1, 1), 0);
	assert_string_equal(
		buf_cstr(&server.rows),
		"'web' part 0 value 0 kind 77 built 9 nodes 600 factors(1 3 0 0) depths(256) "
		"frames(256) selfs(256)\n"
		"'web' part 1 value 0 kind 77 built 9 nodes 600 factors(1 3 0 0) depths(256) "
		"frames(256) selfs(256)\n"
		"'web' part 2 value 0 kind 77 built 9 nodes 600 factors(1 3 0 0) depths(88) "
		"frames(88) selfs(88)\n"
		"end '' part 0 value 0 kind 0 built 9 nodes 600 factors() depths() frames() "
		"selfs()\n");
}

/* Nobody reads rows without a last one. */
static void there_are_none_where_something_lacks(void **state)
{
	static const struct sums sums[] = {
		{KIND, 1, {1}, {2}},
		{KIND, 0, {0}, {3}, .is_lost = true},
	};

	assert_int_equal(make(sums, 2, 2), -ENODATA);
	assert_null(strstr(buf_cstr(&server.rows), "end"));
	/* Fewer sums than the span has. */
	assert_int_equal(make(sums, 1, 2), -ENODATA);
	assert_null(strstr(buf_cstr(&server.rows), "end"));
	server.cut = "service = 'web'";
	assert_int_equal(make(sums, 1, 1), -EPROTO);
	assert_null(strstr(buf_cstr(&server.rows), "end"));
	fake_insert = NULL;
	server.cut = NULL;
	assert_int_equal(make(sums, 1, 1), -EINVAL);
}

static void tells_what_is_there(void **state)
{
	struct rollup_spans spans = {.cnt = 0};
	struct ch_client *client;
	const char *why;

	assert_int_equal(ch_client_open("clickhouse://fake", NULL, &client, &why), 0);
	assert_int_equal(rollup_trees_done(client, ROLLUP_DAY_S, 0, NOON_S + 1, &spans), 0);
	assert_int_equal(spans.cnt, 1);
	assert_int_equal(spans.items[0].start_s, NOON_S);
	assert_int_equal(spans.items[0].length_s, ROLLUP_DAY_S);
	assert_int_equal(spans.items[0].built, 9);
	assert_int_equal(spans.items[0].rows, 1000);
	server.cut = "AND tree = 0";
	assert_int_equal(rollup_trees_done(client, ROLLUP_DAY_S, 0, NOON_S + 1, &spans), -EPROTO);
	free(spans.items);
	ch_client_close(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sorted_stacks_become_a_tree, setup, teardown),
		cmocka_unit_test_setup_teardown(values_that_are_no_multiple_have_rows, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_least_number_is_no_multiple, setup, teardown),
		cmocka_unit_test_setup_teardown(large_trees_are_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(there_are_none_where_something_lacks, setup,
						teardown),
		cmocka_unit_test_setup_teardown(tells_what_is_there, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
