/* SPDX-License-Identifier: Apache-2.0 */
/* From windows to rows of the fleet store: numbers that do not change, rows that are there once. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "clickhouse/native.h"
#include "clickhouse/schema.h"
#include "sink/fleet_known.h"
#include "sink/fleet_names.h"
#include "sink/fleet_rows.h"

static const char BUILD_ID[] = "00112233445566778899aabbccddeeff00112233";

/* Do the columns of @table cover those of the schema's table, in name and type? */
static void assert_columns(const struct native_table *table)
{
	static const char *const types[] = {
		[NATIVE_U8] = "UInt8",
		[NATIVE_U16] = "UInt16",
		[NATIVE_U32] = "UInt32",
		[NATIVE_U64] = "UInt64",
		[NATIVE_I64] = "Int64",
		[NATIVE_DATE] = "Date",
		[NATIVE_DATETIME] = "DateTime('UTC')",
		[NATIVE_TEXT] = "String",
		[NATIVE_WORD] = "LowCardinality(String)",
		[NATIVE_U32_ARRAY] = "Array(UInt32)",
		[NATIVE_U64_ARRAY] = "Array(UInt64)",
		[NATIVE_I64_ARRAY] = "Array(Int64)",
		[NATIVE_TEXT_ARRAY] = "Array(String)",
	};
	struct buf columns;

	buf_init(&columns, BUF_NO_MAX);
	for (size_t i = 0; i < table->column_cnt; i++)
		buf_printf(&columns, "%s%s %s", i ? ", " : "", table->columns[i].name,
			   types[table->columns[i].type]);
	for (size_t i = 0; i < fleet_table_cnt; i++)
		if (!strcmp(fleet_tables[i].name, table->name))
			assert_string_equal(buf_cstr(&columns), fleet_tables[i].columns);
	assert_true(table->column_cnt <= NATIVE_COLUMNS_MAX);
	buf_deinit(&columns);
}

static void test_columns_are_the_schemas(void **state)
{
	for (size_t i = 0; i < FLEET_BLOCK_CNT; i++)
		assert_columns(&fleet_row_tables[i]);
}

static void test_native(void **state)
{
	static const struct native_column columns[] = {
		{"a", NATIVE_U16}, {"b", NATIVE_TEXT}, {"c", NATIVE_U64_ARRAY}, {"d", NATIVE_WORD}};
	static const struct native_table table = {"t", columns, 4};
	static const char wanted[] =
		"\x04\x02"
		"\x01"
		"a\x06UInt16\x34\x12\xff\xff"
		"\x01"
		"b\x06String\x02xy\x00"
		"\x01"
		"c\x0d"
		"Array(UInt64)\x02\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"
		"\x05\0\0\0\0\0\0\0\x06\0\0\0\0\0\0\0"
		"\x01"
		"d\x16LowCardinality(String)\x01\0\0\0\0\0\0\0\x02\x06\0\0\0\0\0\0"
		"\x02\0\0\0\0\0\0\0\x00\x01w\x02\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0";
	struct native_block block;
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	assert_int_equal(native_init(&block, &table), 0);
	for (int round = 0; round < 2; round++) {
		native_reset(&block);
		native_add(&block, 0x1234);
		native_add_str(&block, "xy");
		native_element(&block, 5);
		native_element(&block, 6);
		native_end_array(&block);
		native_add_str(&block, "w");
		native_add(&block, (uint64_t)-1);
		native_add_str(&block, "");
		native_end_array(&block);
		native_add_str(&block, "w");
	}
	assert_int_equal(block.row_cnt, 2);
	assert_int_equal(native_encode(&block, &out), 0);
	assert_int_equal(out.len, sizeof(wanted) - 1);
	assert_memory_equal(out.data, wanted, out.len);
	buf_reset(&out);
	native_add_insert(&table, &out);
	assert_string_equal(buf_cstr(&out), "INSERT INTO t (a, b, c, d) FORMAT Native");
	native_deinit(&block);
	buf_deinit(&out);
}

static void test_time(void **state)
{
	struct sink_window window = {.start_ns = 1795176000 * NSEC_PER_SEC + 5, .seq = 1795176000};
	struct fleet_time time;

	assert_int_equal(fleet_time_of(&window, &time), 0);
	assert_int_equal(time.h, 1795176000);
	assert_int_equal(time.minute, 0);
	assert_int_equal(time.second, 0);
	assert_int_equal(time.lead, 0);
	assert_int_equal(fleet_day(&time), 20777);
	/* After the clock was set back by two hours. */
	window.seq = 1795176000 + 7201;
	assert_int_equal(fleet_time_of(&window, &time), 0);
	assert_int_equal(time.lead, 7201);
	window.start_ns += 3599 * NSEC_PER_SEC;
	assert_int_equal(fleet_time_of(&window, &time), 0);
	assert_int_equal(time.h, 1795176000);
	assert_int_equal(time.minute, 59);
	assert_int_equal(time.second, 59);
	assert_int_equal(time.h + 3599 + time.lead, window.seq);
	/* What is left of a tombstone that began later. */
	window.seq = 1000;
	assert_int_equal(fleet_time_of(&window, &time), 0);
	assert_int_equal(time.h + time.minute * 60 + time.second + time.lead, 1000);
	window.seq = window.start_ns = UINT64_MAX;
	assert_int_equal(fleet_time_of(&window, &time), -ERANGE);
}

/* --- Names --- */

static uint32_t add_location(struct profile *dict, const char *build_id, uint64_t address,
			     const char *name)
{
	const uint32_t mapping = profile_mapping(dict, "/bin/x", build_id);
	const uint32_t function = profile_function(dict, name, name, "", 0);
	const struct profile_line line = {function, 7};

	return profile_location_lines(dict, mapping, address, 0, &line, *name ? 1 : 0);
}

static uint32_t add_labels(struct profile *dict, const char *service, const char *comm)
{
	const struct profile_label labels[] = {
		{.key = profile_string(dict, "service"),
		 .str = profile_string(dict, service),
		 .num_unit = profile_string(dict, "")},
		{.key = profile_string(dict, "comm"),
		 .str = profile_string(dict, comm),
		 .num_unit = profile_string(dict, "")},
	};

	return profile_labels(dict, labels, 2);
}

static uint64_t frame_of(struct profile *dict, uint64_t host, uint32_t location, bool is_late)
{
	struct sink_window window = {
		.dict = dict, .generation = 1, .named = &location, .named_cnt = is_late};
	struct fleet_names names;
	uint64_t frame;

	fleet_names_init(&names, host);
	assert_int_equal(fleet_names_update(&names, &window), 0);
	frame = fleet_frame(&names, location);
	assert_int_not_equal(frame, 0);
	fleet_names_deinit(&names);
	return frame;
}

/* The same code is the same frame, whoever saw it, and whether it has its names. */
static void test_frames(void **state)
{
	struct profile one, other;
	uint32_t a, b;

	profile_init(&one);
	profile_init(&other);
	profile_string(&other, "shifts the numbers");
	add_location(&other, BUILD_ID, 1, "before");
	/* By its build-id. */
	a = add_location(&one, BUILD_ID, 0x1000, "main");
	b = add_location(&other, BUILD_ID, 0x1000, "");
	assert_true(frame_of(&one, 1, a, false) == frame_of(&other, 2, b, false));
	assert_true(frame_of(&one, 1, a, false) == frame_of(&one, 1, a, true));
	b = add_location(&other, BUILD_ID, 0x1001, "main");
	assert_true(frame_of(&one, 1, a, false) != frame_of(&other, 2, b, false));
	/* By its names, where there is none; wherever it lies. */
	a = add_location(&one, "", 0x5000, "vfs_read");
	b = add_location(&other, "", 0x7000, "vfs_read");
	assert_true(frame_of(&one, 1, a, false) == frame_of(&other, 2, b, false));
	b = add_location(&other, "", 0x7000, "vfs_write");
	assert_true(frame_of(&one, 1, a, false) != frame_of(&other, 2, b, false));
	/* Nobody else can know what that is; and it stays so when its name comes later. */
	a = add_location(&one, "", 0x9000, "");
	b = add_location(&other, "", 0x9000, "");
	assert_true(frame_of(&one, 1, a, false) != frame_of(&other, 2, b, false));
	assert_true(frame_of(&one, 1, a, false) == frame_of(&one, 1, a, true));
	profile_set_lines(&one, a,
			  &(const struct profile_line){profile_function(&one, "f", "f", "", 0), 1},
			  1);
	b = add_location(&other, "", 0x9000, "f");
	assert_true(frame_of(&one, 1, a, true) != frame_of(&other, 1, b, false));
	profile_deinit(&one);
	profile_deinit(&other);
}

static void declare(struct profile *types)
{
	profile_init(types);
	profile_add_value_type(types, "samples", "count");
	profile_add_value_type(types, "cpu", "nanoseconds");
	types->default_value = 1;
	types->period = 10;
}

/* Two stacks of the local store that are one of the fleet's. */
static void test_rows_that_become_one(void **state)
{
	struct profile dict, types;
	struct sink_row rows[4];
	const int64_t values[] = {1, 10, 2, 20, 4, 40, 8, 80};
	struct sink_batch batch = {.kind = "cpu",
				   .event = "",
				   .types = &types,
				   .rows = rows,
				   .values = values,
				   .row_cnt = 4};
	struct sink_window window = {.dict = &dict, .generation = 3};
	struct fleet_sample *samples;
	struct fleet_names names;
	int64_t *sums;
	uint32_t here, there, web, db;
	size_t cnt;

	profile_init(&dict);
	declare(&types);
	here = add_location(&dict, "", 0x100, "run");
	there = add_location(&dict, "", 0x200, "run");
	here = profile_stack(&dict, &here, 1);
	there = profile_stack(&dict, &there, 1);
	web = add_labels(&dict, "web", "a");
	db = add_labels(&dict, "db", "a");
	rows[0] = (struct sink_row){here, web};
	rows[1] = (struct sink_row){here, db};
	rows[2] = (struct sink_row){there, web};
	rows[3] = (struct sink_row){there, add_labels(&dict, "web", "b")};
	fleet_names_init(&names, 5);
	assert_int_equal(fleet_names_update(&names, &window), 0);
	assert_int_equal(fleet_samples(&names, &batch, &samples, &sums, &cnt), 0);
	assert_int_equal(cnt, 3);
	for (size_t i = 0; i < cnt; i++) {
		const bool is_sum = samples[i].src == (3ULL << 32 | web);

		assert_int_equal(sums[2 * i], is_sum ? 5 : samples[i].label_set == db ? 2 : 8);
		assert_int_equal(sums[2 * i + 1], 10 * sums[2 * i]);
	}
	/* A stack is a service's. */
	assert_true(fleet_stack(&names, profile_string(&dict, "web"), here) ==
		    fleet_stack(&names, profile_string(&dict, "web"), there));
	assert_true(fleet_stack(&names, profile_string(&dict, "web"), here) !=
		    fleet_stack(&names, profile_string(&dict, "db"), here));
	free(samples);
	free(sums);
	fleet_names_deinit(&names);
	profile_deinit(&dict);
	profile_deinit(&types);
}

/* The number in the last row of column @name. */
static int64_t last_of(const struct native_block *block, const char *name)
{
	int64_t value = 0;

	for (size_t i = 0; i < block->table->column_cnt; i++)
		if (!strcmp(block->table->columns[i].name, name))
			memcpy(&value, block->data[i].data + block->data[i].len - sizeof(value),
			       sizeof(value));
	return value;
}

/* A row's second value is stored as the period where it is that often the first one. */
static void test_units(void **state)
{
	static const struct {
		int64_t values[2], unit, rest;
	} cases[] = {
		{{3, 30}, 10, 0},   {{3, 31}, 0, 31},		{{0, 0}, 10, 0},
		{{-2, -20}, 10, 0}, {{INT64_MAX, -10}, 0, -10},
	};
	const struct fleet_time time = {.h = 3600};
	struct native_block block;
	struct fleet_names names;
	struct profile dict, types;

	profile_init(&dict);
	declare(&types);
	types.period = 10;
	fleet_names_init(&names, 5);
	names.dict = &dict;
	assert_int_equal(native_init(&block, &fleet_row_tables[FLEET_SAMPLES]), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct fleet_sample sample = {.stack = 7};

		fleet_add_sample(&block, &names, 1, &time, &sample, cases[i].values, &types);
		assert_int_equal(block.row_cnt, i + 1);
		assert_true(last_of(&block, "n") == cases[i].values[0]);
		assert_true(last_of(&block, "v1") == cases[i].rest);
		assert_true(last_of(&block, "unit") == cases[i].unit);
	}
	native_deinit(&block);
	fleet_names_deinit(&names);
	profile_deinit(&types);
	profile_deinit(&dict);
}

static void test_kinds(void **state)
{
	struct profile types;
	struct sink_batch batch = {.kind = "cpu", .event = "cycles", .types = &types};
	uint64_t kind;

	declare(&types);
	kind = fleet_kind(&batch);
	assert_int_not_equal(kind, 0);
	assert_true(fleet_kind(&batch) == kind);
	types.period = 20;
	assert_true(fleet_kind(&batch) != kind);
	types.period = 10;
	batch.event = "";
	assert_true(fleet_kind(&batch) != kind);
	profile_deinit(&types);
}

static void test_known(void **state)
{
	struct fleet_known known;

	fleet_known_init(&known);
	assert_int_equal(fleet_known_add(&known, 1, FLEET_STACK, 7), 1);
	assert_int_equal(fleet_known_add(&known, 1, FLEET_STACK, 7), 0);
	assert_int_equal(fleet_known_add(&known, 1, FLEET_FRAME, 7), 1);
	assert_int_equal(fleet_known_add(&known, 2, FLEET_STACK, 7), 1);
	assert_int_equal(fleet_known_add(&known, 1, FLEET_STACK, 7), 0);
	/* A third day has the room of the second, which was used the longest time ago. */
	assert_int_equal(fleet_known_add(&known, 3, FLEET_STACK, 7), 1);
	assert_int_equal(fleet_known_add(&known, 1, FLEET_STACK, 7), 0);
	assert_int_equal(fleet_known_add(&known, 2, FLEET_STACK, 7), 1);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(fleet_known_add(&known, 2, FLEET_SOURCE, 1ULL << 32 | i), 1);
	fleet_known_forget(&known);
	assert_int_equal(fleet_known_add(&known, 2, FLEET_STACK, 7), 1);
	fleet_known_deinit(&known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns_are_the_schemas),
		cmocka_unit_test(test_native),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_rows_that_become_one),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_known),
	};

	return cmocka_run_group_tests_name("fleet_rows", tests, NULL, NULL);
}
