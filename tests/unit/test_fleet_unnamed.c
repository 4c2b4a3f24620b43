/* SPDX-License-Identifier: Apache-2.0 */
/* What a fleet's store lacks of names, beside a server that is made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "clickhouse/fleet_frame.h"
#include "clickhouse/rowbinary.h"
#include "fake_clickhouse.h"
#include "fleet/fleet_unnamed.h"

#define DAY_NS (86400 * NSEC_PER_SEC)

static const char BUILD_ID[] = "00112233445566778899";

static struct {
	size_t cut; /* bytes that the answer lacks */
	bool has_no_module; /* the frames' rows are of none */
	char asked[4096]; /* last */
	size_t insert_cnt;
	int insert_err;
	struct buf frames, modules; /* inserted */
} server;

static void add_text_array(struct buf *out, const char *text)
{
	rb_add_len(out, text ? 1 : 0);
	if (text)
		rb_add_str(out, text);
}

/* Three: without a name, with its address for one, with a name. */
static void answer_frames(struct buf *out)
{
	static const char *const names[] = {NULL, "[tool+0x20]", "write"};

	for (uint64_t i = 0; i < 3; i++) {
		rb_add_u64(out, 1000 + i);
		rb_add_u16(out, 0);
		rb_add_str(out, server.has_no_module ? "" : "/usr/bin/tool");
		rb_add_str(out, server.has_no_module ? "" : BUILD_ID);
		rb_add_u64(out, 0x10 * (i + 1));
		for (int column = 0; column < 3; column++)
			add_text_array(out, names[i]);
		for (int column = 0; column < 2; column++) {
			rb_add_len(out, names[i] ? 1 : 0);
			if (names[i])
				rb_add_u32(out, 0);
		}
		rb_add_u16(out, 20000);
		rb_add_u8(out, i == 2);
	}
}

static int answer(const char *sql, struct buf *out)
{
	snprintf(server.asked, sizeof(server.asked), "%s", sql);
	if (strstr(sql, "SELECT build_id, any(file)")) {
		rb_add_str(out, BUILD_ID);
		rb_add_str(out, "/usr/bin/tool");
		rb_add_u64(out, 3);
	} else {
		answer_frames(out);
	}
	out->len -= server.cut;
	return 0;
}

static int take_rows(const char *sql, const void *rows, size_t len)
{
	struct buf *out = strstr(sql, "INSERT INTO frames ") ? &server.frames : &server.modules;

	if (server.insert_err)
		return server.insert_err;
	server.insert_cnt++;
	buf_reset(out);
	buf_add(out, rows, len);
	return 0;
}

static int setup(void **state)
{
	memset(&server, 0, sizeof(server));
	buf_init(&server.frames, BUF_NO_MAX);
	buf_init(&server.modules, BUF_NO_MAX);
	fake_answer = answer;
	fake_insert = take_rows;
	return ch_client_open("clickhouse://fake", NULL, (struct ch_client **)state, NULL);
}

static int teardown(void **state)
{
	buf_deinit(&server.frames);
	buf_deinit(&server.modules);
	ch_client_close(*state);
	return 0;
}

static void test_days(void **state)
{
	struct fleet_days days = fleet_days_of(3 * DAY_NS - 1, 5 * DAY_NS);

	assert_int_equal(days.first, 2);
	assert_int_equal(days.last, 5);
	assert_int_equal(fleet_days_of(0, UINT64_MAX).last, UINT16_MAX);
}

static uint8_t named_of(size_t line_cnt, const char *name, uint32_t number)
{
	struct profile_line lines[200];
	struct profile prof;
	uint32_t location;
	uint8_t named;

	assert_int_equal(profile_init(&prof), 0);
	for (size_t i = 0; i < line_cnt; i++)
		lines[i] = (struct profile_line){profile_function(&prof, name, name, "", 0), 0};
	if (line_cnt)
		lines[line_cnt - 1].line = number;
	location = profile_location_lines(&prof, PROFILE_NONE, 1, 0, lines, line_cnt);
	named = fleet_frame_named(&prof, location);
	profile_deinit(&prof);
	return named;
}

/* Any name is better than none, any line than none, and more inlined calls than fewer. */
static void test_named(void **state)
{
	assert_int_equal(named_of(0, "", 0), 0);
	assert_int_equal(named_of(1, "[libc.so.6+0x1f00]", 0), 0);
	assert_int_equal(named_of(1, "[libc.so.6+0x1f0x]", 0), 1);
	assert_int_equal(named_of(1, "write", 0), 1);
	assert_int_equal(named_of(150, "f", 0), FLEET_NAMED_ASKED - 1);
	assert_int_equal(named_of(1, "write", 7), FLEET_NAMED_LINES + 1);
	assert_int_equal(named_of(3, "write", 7), FLEET_NAMED_LINES + 3);
	assert_int_equal(named_of(200, "f", 7), UINT8_MAX);
}

static void read_all(struct ch_client *client, struct fleet_modules *modules,
		     struct fleet_unnamed *unnamed)
{
	const struct fleet_days days = {19999, 20001};

	assert_int_equal(fleet_unnamed_modules(client, &days, modules), 0);
	assert_int_equal(modules->cnt, 1);
	assert_int_equal(fleet_unnamed_read(client, &days, modules->items, modules->cnt, unnamed),
			 0);
}

static void test_read(void **state)
{
	struct fleet_modules modules;
	struct fleet_unnamed unnamed;

	read_all(*state, &modules, &unnamed);
	assert_string_equal(modules.items[0].build_id, BUILD_ID);
	assert_string_equal(modules.items[0].path, "/usr/bin/tool");
	assert_int_equal(modules.items[0].lacking, 3);
	assert_non_null(strstr(server.asked, "day >= toDate(19999) AND day <= toDate(20001)"));
	assert_non_null(strstr(server.asked, "IN ('00112233445566778899')"));
	assert_int_equal(unnamed.cnt, 3);
	assert_int_equal(unnamed.frames[1].frame, 1001);
	assert_int_equal(unnamed.frames[1].day, 20000);
	assert_int_equal(unnamed.frames[2].named, 1);
	assert_int_equal(unnamed.prof.mapping_cnt, 1);
	assert_int_equal(unnamed.prof.mappings[0].flags, 0);
	assert_int_equal(unnamed.prof.locations[unnamed.frames[0].location].address, 0x10);
	fleet_unnamed_deinit(&unnamed);
	fleet_modules_deinit(&modules);
}

/* How many rows a block has, whose columns are as many as that. */
static int rows_of(const struct buf *block)
{
	return block->len > 1 ? block->data[1] : 0;
}

static bool has_text(const struct buf *block, const char *text)
{
	return memmem(block->data, block->len, text, strlen(text)) != NULL;
}

/* The first gets a line, the second nothing, the third keeps what it has. */
static void test_write(void **state)
{
	struct fleet_modules modules;
	struct fleet_unnamed unnamed;
	struct profile_line line;

	read_all(*state, &modules, &unnamed);
	modules.items[0].why = "no_lines";
	assert_int_equal(fleet_unnamed_write(*state, &unnamed, modules.items, 1), 0);
	assert_int_equal(rows_of(&server.frames), 0);
	assert_int_equal(rows_of(&server.modules), 1);
	assert_true(has_text(&server.modules, "no_lines"));
	assert_int_equal(modules.items[0].bettered, 0);

	line = (struct profile_line){
		profile_function(&unnamed.prof, "chain::drive", "drive", "a.cc", 3), 5};
	profile_set_lines(&unnamed.prof, unnamed.frames[0].location, &line, 1);
	assert_int_equal(fleet_unnamed_write(*state, &unnamed, modules.items, 1), 0);
	assert_int_equal(rows_of(&server.frames), 1);
	assert_true(has_text(&server.frames, "chain::drive"));
	assert_int_equal(modules.items[0].bettered, 1);

	/* A file with lines was asked: the others need not be again. */
	unnamed.prof.mappings[0].flags = MAPPING_HAS_LINES;
	assert_int_equal(fleet_unnamed_write(*state, &unnamed, modules.items, 1), 0);
	assert_int_equal(rows_of(&server.frames), 3);
	assert_true(has_text(&server.frames, "write"));
	assert_int_equal(modules.items[0].bettered, 1);
	fleet_unnamed_deinit(&unnamed);
	fleet_modules_deinit(&modules);
}

/* Of many days, each a partition, several inserts. */
static void test_many_days(void **state)
{
	struct fleet_modules modules;
	struct fleet_unnamed unnamed;
	const size_t cnt = 120;

	read_all(*state, &modules, &unnamed);
	unnamed.frames = realloc(unnamed.frames, cnt * sizeof(*unnamed.frames));
	assert_non_null(unnamed.frames);
	for (size_t i = 0; i < cnt; i++)
		unnamed.frames[i] = (struct fleet_unnamed_frame){
			.frame = 1, .location = unnamed.frames[0].location, .day = (uint16_t)i};
	unnamed.cnt = cnt;
	unnamed.prof.mappings[0].flags = MAPPING_HAS_LINES;
	assert_int_equal(fleet_unnamed_write(*state, &unnamed, modules.items, 1), 0);
	assert_int_equal(server.insert_cnt, 4);
	assert_int_equal(rows_of(&server.frames), 20);
	assert_int_equal(rows_of(&server.modules), 1);
	server.insert_err = -EAGAIN;
	assert_int_equal(fleet_unnamed_write(*state, &unnamed, modules.items, 1), -EAGAIN);
	fleet_unnamed_deinit(&unnamed);
	fleet_modules_deinit(&modules);
}

static void test_foreign(void **state)
{
	const struct fleet_days days = {0, 1};
	struct fleet_module module = {.build_id = (char *)BUILD_ID,
				      .path = (char *)"/usr/bin/tool"};
	struct fleet_modules modules;
	struct fleet_unnamed unnamed;

	server.cut = 1;
	assert_int_equal(fleet_unnamed_modules(*state, &days, &modules), -EPROTO);
	fleet_modules_deinit(&modules);
	assert_int_equal(fleet_unnamed_read(*state, &days, &module, 1, &unnamed), -EPROTO);
	fleet_unnamed_deinit(&unnamed);
	server.cut = 0;
	server.has_no_module = true;
	assert_int_equal(fleet_unnamed_read(*state, &days, &module, 1, &unnamed), -EPROTO);
	fleet_unnamed_deinit(&unnamed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_days),
		cmocka_unit_test(test_named),
		cmocka_unit_test_setup_teardown(test_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_write, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_days, setup, teardown),
		cmocka_unit_test_setup_teardown(test_foreign, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
