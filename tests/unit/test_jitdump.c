/* SPDX-License-Identifier: Apache-2.0 */
/* The jitdumps that JIT runtimes write: which code an address belonged to and when, lines, and
 * files that are unfinished, broken, or made to be a burden. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strtab.h"
#include "jitdump_bytes.h"
#include "scratch.h"
#include "symbol/jitdump.h"

enum {
	ADDRESSES_MAX = 64,
	WINDOW_START = 1000,
	WINDOW_END = 2000,
	CODE = 0x10000,
	LINE_CNT_OFF = 16 + 8, /* in a record of lines: how many there are */
};

struct result {
	struct strtab strings;
	struct jitdump_name names[ADDRESSES_MAX];
	struct jitdump_stats stats;
};

static int read_fd(int fd, const uint64_t *addresses, size_t cnt, uint64_t deadline_ns,
		   struct result *out)
{
	const struct jitdump_query query = {
		.addresses = addresses,
		.cnt = cnt,
		.start_ns = WINDOW_START,
		.end_ns = WINDOW_END,
		.deadline_ns = deadline_ns,
	};

	assert_true(cnt <= ADDRESSES_MAX);
	assert_int_equal(strtab_init(&out->strings), 0);
	return jitdump_read(fd, &query, &out->strings, out->names, &out->stats);
}

/* Of the first @len bytes of @dump. */
static void read_part(const struct dump_bytes *dump, size_t len, const uint64_t *addresses,
		      size_t cnt, struct result *out)
{
	int fd = bytes_to_fd(dump->buf.data, len);

	assert_int_equal(read_fd(fd, addresses, cnt, 0, out), 0);
	close(fd);
}

static void read_dump(const struct dump_bytes *dump, const uint64_t *addresses, size_t cnt,
		      struct result *out)
{
	assert_int_equal(dump->buf.err, 0);
	read_part(dump, dump->buf.len, addresses, cnt, out);
}

/* NULL: none. */
static void check_name(const struct result *result, size_t index, const char *name)
{
	uint32_t found = result->names[index].name;

	if (!name) {
		assert_int_equal(found, STRTAB_NONE);
		return;
	}
	assert_int_not_equal(found, STRTAB_NONE);
	assert_string_equal(strtab_get(&result->strings, found), name);
}

static void check_line(const struct result *result, size_t index, const char *file, uint32_t line)
{
	assert_string_equal(strtab_get(&result->strings, result->names[index].file), file);
	assert_int_equal(result->names[index].line, line);
}

/* What @dump, which is released, calls @address. */
static void check_dump(struct dump_bytes *dump, uint64_t address, const char *name)
{
	struct result result;

	read_dump(dump, &address, 1, &result);
	check_name(&result, 0, name);
	assert_false(result.stats.is_cut);
	strtab_deinit(&result.strings);
	buf_deinit(&dump->buf);
}

static void test_ranges(void **state)
{
	static const uint64_t addresses[] = {0,		 CODE - 1,    CODE,	 CODE,
					     CODE + 0xf, CODE + 0x10, UINT64_MAX};

	for (int big = 0; big < 2; big++) {
		struct dump_bytes dump;
		struct result result;

		dump_begin(&dump, big, 0);
		dump_load(&dump, 1, CODE, 0x10, 0, "inside");
		dump_load(&dump, 2, CODE + 0x1000, 0x10, 1, "elsewhere");
		dump_record(&dump, 3, 0, 3);
		dump_load(&dump, 4, UINT64_MAX, 1, 2, "top");
		dump_load(&dump, 5, UINT64_MAX - 1, 3, 3, "wraps");
		dump_load(&dump, 6, CODE, 0, 4, "empty");
		read_dump(&dump, addresses, 7, &result);
		check_name(&result, 0, NULL);
		check_name(&result, 1, NULL);
		check_name(&result, 2, "inside");
		assert_int_equal(result.names[2].name, result.names[3].name);
		check_name(&result, 4, "inside");
		check_name(&result, 5, NULL);
		check_name(&result, 6, "top");
		assert_int_equal(result.stats.records, 6);
		assert_int_equal(result.stats.end_off, dump.buf.len);
		assert_false(result.stats.is_cut || result.stats.is_broken);
		strtab_deinit(&result.strings);
		buf_deinit(&dump.buf);
	}
}

/* Loads at one address at @times, named by their number: which holds? */
static void check_times(const uint64_t *times, int cnt, const char *name)
{
	struct dump_bytes dump;

	dump_begin(&dump, false, 0);
	for (int i = 0; i < cnt; i++) {
		char number[16];

		snprintf(number, sizeof(number), "%d", i);
		dump_load(&dump, times[i], CODE, 0x10, (uint64_t)i, number);
	}
	check_dump(&dump, CODE + 4, name);
}

/* The window is 1000 to 2000. */
static void test_longest_in_window_holds(void **state)
{
	check_times((const uint64_t[]){10}, 1, "0");
	check_times((const uint64_t[]){10, 999}, 2, "1");
	check_times((const uint64_t[]){10, 1000}, 2, "1");
	check_times((const uint64_t[]){10, 1400}, 2, "1");
	check_times((const uint64_t[]){10, 1600}, 2, "0");
	check_times((const uint64_t[]){10, 1999}, 2, "0");
	check_times((const uint64_t[]){10, 2000}, 2, "0");
	check_times((const uint64_t[]){10, 3000, 4000}, 3, "0");
	check_times((const uint64_t[]){10, 1100, 1900}, 3, "1");
	check_times((const uint64_t[]){1500}, 1, "0");
	check_times((const uint64_t[]){1999}, 1, "0");
	check_times((const uint64_t[]){2000}, 1, NULL);
	check_times((const uint64_t[]){5000}, 1, NULL);
	/* Of equal ones the last; what is written later is not older. */
	check_times((const uint64_t[]){10, 1500}, 2, "1");
	check_times((const uint64_t[]){10, 10}, 2, "1");
	check_times((const uint64_t[]){900, 800}, 2, "1");
	check_times((const uint64_t[]){1600, 1100, 1700}, 3, "2");
	check_times((const uint64_t[]){10, 5000, 1200}, 3, "2");
}

/* Another clock: the last one holds. */
static void test_other_clock(void **state)
{
	struct dump_bytes dump;

	dump_begin(&dump, false, 1);
	dump_load(&dump, 1000, CODE, 0x10, 0, "first");
	dump_load(&dump, 77000000, CODE, 0x10, 1, "last");
	check_dump(&dump, CODE, "last");
	dump_begin(&dump, true, 1);
	dump_load(&dump, 77000000, CODE, 0x10, 0, "code");
	dump_move(&dump, 77000001, CODE, CODE + 0x100, 0x10, 0);
	check_dump(&dump, CODE, NULL);
}

static void test_overlap(void **state)
{
	static const uint64_t addresses[] = {CODE, CODE + 0x10, CODE + 0x18, CODE + 0x20};
	struct dump_bytes dump;
	struct result result;

	dump_begin(&dump, false, 0);
	dump_load(&dump, 10, CODE, 0x40, 0, "outer");
	dump_load(&dump, 20, CODE + 0x10, 0x10, 1, "inner");
	read_dump(&dump, addresses, 4, &result);
	check_name(&result, 0, "outer");
	check_name(&result, 1, "inner");
	check_name(&result, 2, "inner");
	check_name(&result, 3, "outer");
	strtab_deinit(&result.strings);
	buf_deinit(&dump.buf);
}

static void test_moves(void **state)
{
	static const struct dump_test_line lines[] = {{0, 7, "a.js"}, {8, 8, "a.js"}};
	static const uint64_t addresses[] = {CODE,	   CODE + 8,	 CODE + 0x100,
					     CODE + 0x108, CODE + 0x200, CODE + 0x208};

	for (int big = 0; big < 2; big++) {
		struct dump_bytes dump;
		struct result result;

		dump_begin(&dump, big, 0);
		dump_load(&dump, 5, CODE + 0x5000, 0x10, 3, "older");
		dump_lines(&dump, CODE, lines, 2);
		dump_load(&dump, 10, CODE, 0x10, 3, "mover");
		dump_move(&dump, 20, CODE, CODE + 0x100, 0x10, 3);
		/* For most of the window it is here. */
		dump_move(&dump, 1100, CODE + 0x100, CODE + 0x200, 0x10, 3);
		dump_load(&dump, 1200, CODE, 0x10, 4, "later");
		/* What takes its number afterwards is another. */
		dump_load(&dump, 1300, CODE + 0x6000, 0x10, 3, "namesake");
		read_dump(&dump, addresses, 6, &result);
		check_name(&result, 0, "later");
		check_line(&result, 0, "", 0);
		check_name(&result, 2, "mover");
		check_line(&result, 2, "a.js", 7);
		check_line(&result, 3, "a.js", 8);
		check_name(&result, 4, "mover");
		check_line(&result, 4, "a.js", 7);
		check_line(&result, 5, "a.js", 8);
		strtab_deinit(&result.strings);
		buf_deinit(&dump.buf);
	}
}

static void test_moved_away(void **state)
{
	struct dump_bytes dump;

	dump_begin(&dump, false, 0);
	dump_load(&dump, 10, CODE, 0x10, 3, "mover");
	dump_move(&dump, 999, CODE, CODE + 0x100, 0x10, 3);
	check_dump(&dump, CODE, NULL);
	/* Onto a part of itself. */
	dump_begin(&dump, false, 0);
	dump_load(&dump, 10, CODE, 0x10, 3, "mover");
	dump_move(&dump, 999, CODE, CODE + 8, 0x10, 3);
	check_dump(&dump, CODE + 9, "mover");
	/* Nobody has loaded it. */
	dump_begin(&dump, false, 0);
	dump_load(&dump, 10, CODE + 0x100, 0x10, 3, "old");
	dump_move(&dump, 999, CODE, CODE + 0x100, 0x10, 4);
	check_dump(&dump, CODE + 0x100, NULL);
}

/* A move of more than was loaded brings only that. */
static void test_moved_more(void **state)
{
	static const uint64_t addresses[] = {CODE + 0x100, CODE + 0x10f, CODE + 0x110};
	struct dump_bytes dump;
	struct result result;

	dump_begin(&dump, false, 0);
	dump_load(&dump, 10, CODE, 0x10, 3, "mover");
	dump_move(&dump, 20, CODE, CODE + 0x100, 0x1000, 3);
	read_dump(&dump, addresses, 3, &result);
	check_name(&result, 0, "mover");
	check_name(&result, 1, "mover");
	check_name(&result, 2, NULL);
	strtab_deinit(&result.strings);
	buf_deinit(&dump.buf);
}

static void test_other_processes(void **state)
{
	struct dump_bytes dump;

	dump_begin(&dump, false, 0);
	dump_load(&dump, 10, CODE, 0x10, 0, "own");
	dump_load_of(&dump, DUMP_PID + 1, 20, CODE, 0x10, 1, "child's");
	check_dump(&dump, CODE, "own");
}

static void test_lines(void **state)
{
	static const struct dump_test_line lines[] = {
		{0x10, 20, "\xff"},
		{4, 10, "/srv/app.js"},
		{0x10, 21, "\xff"},
		{0x1c, 5, "b.js"},
	};
	static const uint64_t addresses[] = {CODE,	  CODE + 3,    CODE + 4,   CODE + 0xf,
					     CODE + 0x10, CODE + 0x1b, CODE + 0x1f};

	for (int big = 0; big < 2; big++) {
		struct dump_bytes dump;
		struct result result;

		dump_begin(&dump, big, 0);
		dump_lines(&dump, CODE, lines, 4);
		dump_record(&dump, 4, 24, 9); /* unwind information may come between */
		dump_int(&dump, 0, 8);
		dump_int(&dump, 0, 8);
		dump_int(&dump, 0, 8);
		dump_load(&dump, 10, CODE, 0x20, 0, "code");
		/* Its lines are not those of what is loaded next. */
		dump_load(&dump, 11, CODE + 0x100, 0x20, 1, "next");
		read_dump(&dump, addresses, 7, &result);
		for (size_t i = 0; i < 7; i++)
			check_name(&result, i, "code");
		check_line(&result, 0, "", 0);
		check_line(&result, 1, "", 0);
		check_line(&result, 2, "/srv/app.js", 10);
		check_line(&result, 3, "/srv/app.js", 10);
		check_line(&result, 4, "/srv/app.js", 21);
		check_line(&result, 5, "/srv/app.js", 21);
		check_line(&result, 6, "b.js", 5);
		strtab_deinit(&result.strings);
		buf_deinit(&dump.buf);
	}
}

/* @lines of code of 0x80 bytes: those of @address are @file and @line. */
static void check_lines(const struct dump_test_line *lines, size_t cnt, uint64_t address,
			const char *file, uint32_t line)
{
	struct dump_bytes dump;
	struct result result;

	dump_begin(&dump, false, 0);
	dump_lines(&dump, CODE, lines, cnt);
	dump_load(&dump, 10, CODE, 0x80, 0, "code");
	read_dump(&dump, &address, 1, &result);
	check_name(&result, 0, "code");
	check_line(&result, 0, file, line);
	strtab_deinit(&result.strings);
	buf_deinit(&dump.buf);
}

/* V8 counts from 0x40 before the code. */
static void test_lines_of_v8(void **state)
{
	static const struct dump_test_line shifted[] = {
		{0x43, 1, "a.js"}, {0x50, 2, "a.js"}, {0xb0, 3, "a.js"}};
	static const struct dump_test_line plain[] = {
		{0x3f, 1, "a.js"}, {0x50, 2, "a.js"}, {0x70, 3, "a.js"}};

	check_lines(shifted, 3, CODE + 2, "", 0);
	check_lines(shifted, 3, CODE + 3, "a.js", 1);
	check_lines(shifted, 3, CODE + 0x4f, "a.js", 2);
	check_lines(shifted, 3, CODE + 0x70, "a.js", 3);
	check_lines(plain, 3, CODE + 0x4f, "a.js", 1);
	check_lines(plain, 3, CODE + 0x50, "a.js", 2);
}

static void test_lines_not_believed(void **state)
{
	static const struct dump_test_line behind[] = {{0, 1, "a.js"}, {0x81, 2, "a.js"}};
	static const struct dump_test_line before[] = {{0, 1, "a.js"}, {(uint64_t)-1, 2, "a.js"}};
	static const struct dump_test_line far[] = {{0x41, 1, "a.js"}, {0xc1, 2, "a.js"}};
	static const struct dump_test_line nameless[] = {{0, 1, "\xff"}, {8, 2, ""}};

	check_lines(behind, 2, CODE + 4, "", 0);
	check_lines(before, 2, CODE + 4, "", 0);
	check_lines(far, 2, CODE + 4, "", 0);
	check_lines(nameless, 2, CODE + 4, "", 0);
	check_lines(nameless, 2, CODE + 8, "", 0);
	check_lines(NULL, 0, CODE + 8, "", 0);
}

/* More lines or fewer than there are bytes for, and a last one without its end. */
static void test_lines_broken(void **state)
{
	static const struct dump_test_line lines[] = {{0, 1, "a.js"}, {8, 2, "b.js"}};
	static const uint64_t counts[] = {3, UINT64_MAX, 1ULL << 60, 2, 1, 0};
	static const bool is_good[] = {false, false, false, true, false, false};
	static const uint64_t address = CODE;

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		struct dump_bytes dump;
		struct result result;
		size_t at;

		dump_begin(&dump, false, 0);
		at = dump.buf.len;
		dump_lines(&dump, CODE, lines, 2);
		memcpy(dump.buf.data + at + LINE_CNT_OFF, &counts[i], sizeof(counts[i]));
		dump_load(&dump, 10, CODE, 0x10, 0, "code");
		read_dump(&dump, &address, 1, &result);
		check_name(&result, 0, "code");
		check_line(&result, 0, is_good[i] ? "a.js" : "", is_good[i]);
		strtab_deinit(&result.strings);
		/* The name of the last one is as long as the file. */
		memset(dump.buf.data + at + 32 + 16, 'x', dump.buf.len - at - 32 - 16);
		dump.buf.data[at + 4] = (char)(dump.buf.len - at);
		read_dump(&dump, &address, 1, &result);
		check_name(&result, 0, NULL);
		strtab_deinit(&result.strings);
		buf_deinit(&dump.buf);
	}
}

static void check_long_name(size_t len, size_t wanted_len)
{
	char *name = malloc(len + 1);
	uint64_t address = CODE;
	struct dump_bytes dump;
	struct result result;

	assert_non_null(name);
	memset(name, 'n', len);
	name[len] = '\0';
	dump_begin(&dump, false, 0);
	dump_load(&dump, 10, CODE, 0x10, 0, name);
	read_dump(&dump, &address, 1, &result);
	name[wanted_len] = '\0';
	check_name(&result, 0, wanted_len ? name : NULL);
	strtab_deinit(&result.strings);
	buf_deinit(&dump.buf);
	free(name);
}

static void test_names(void **state)
{
	struct dump_bytes dump;

	check_long_name(0, 0);
	check_long_name(1, 1);
	check_long_name(JITDUMP_NAME_BYTES_MAX, JITDUMP_NAME_BYTES_MAX);
	check_long_name(JITDUMP_NAME_BYTES_MAX + 1, JITDUMP_NAME_BYTES_MAX);
	check_long_name(100000, JITDUMP_NAME_BYTES_MAX);
	dump_begin(&dump, false, 0);
	dump_load(&dump, 10, CODE, 0x10, 0, "py::f:\xc3\xa4\x1b[0m ;");
	check_dump(&dump, CODE, "py::f:\xc3\xa4\x1b[0m ;");
}

/* However much of it has been written, no name is wrong and what is finished has one. */
static void test_unfinished(void **state)
{
	static const struct dump_test_line lines[] = {{0, 1, "a.js"}};
	uint64_t address = CODE + 1;
	struct dump_bytes dump;
	size_t first_end, second_end;

	dump_begin(&dump, false, 0);
	dump_load(&dump, 10, CODE, 0x10, 0, "first");
	first_end = dump.buf.len;
	dump_lines(&dump, CODE, lines, 1);
	dump_load(&dump, 20, CODE, 0x10, 1, "second");
	second_end = dump.buf.len;
	dump_move(&dump, 30, CODE, CODE + 0x100, 0x10, 1);
	for (size_t len = 40; len <= dump.buf.len; len++) {
		struct result result;

		read_part(&dump, len, &address, 1, &result);
		check_name(&result, 0,
			   len < first_end	? NULL
			   : len < second_end	? "first"
			   : len < dump.buf.len ? "second"
						: NULL);
		assert_false(result.stats.is_cut || result.stats.is_broken);
		strtab_deinit(&result.strings);
	}
	buf_deinit(&dump.buf);
}

static void test_no_jitdump(void **state)
{
	struct dump_bytes dump;
	struct result result;

	dump_begin(&dump, true, 0);
	for (size_t len = 0; len < 40; len++) {
		int fd = bytes_to_fd(dump.buf.data, len);

		assert_int_equal(read_fd(fd, NULL, 0, 0, &result), -EBADMSG);
		strtab_deinit(&result.strings);
		close(fd);
	}
	/* A header that ends within itself, and one that is beyond the end. */
	for (int size = 0; size < 2; size++) {
		int fd;

		memset(dump.buf.data + 8, size ? 0xff : 0, 4);
		fd = bytes_to_fd(dump.buf.data, 40);
		assert_int_equal(read_fd(fd, NULL, 0, 0, &result), size ? 0 : -EBADMSG);
		if (size)
			assert_int_equal(result.stats.end_off, 40);
		strtab_deinit(&result.strings);
		close(fd);
	}
	buf_deinit(&dump.buf);
}

/* Records that are too small for what they are, or for a record. */
static void test_bad_records(void **state)
{
	struct dump_bytes dump;
	struct result result;
	uint64_t address = CODE;

	for (uint32_t id = 0; id < 6; id++) {
		dump_begin(&dump, false, 0);
		dump_load(&dump, 10, CODE, 0x10, 0, "code");
		for (uint64_t bytes = 0; bytes < 48 && (id || bytes < 41); bytes++) {
			dump_record(&dump, id, bytes, 20);
			for (uint64_t i = 0; i < bytes; i++)
				buf_add_char(&dump.buf, '\0');
		}
		check_dump(&dump, CODE, "code");
	}
	for (uint32_t bytes = 1; bytes < 16; bytes++) {
		dump_begin(&dump, false, 0);
		dump_load(&dump, 10, CODE, 0x10, 0, "before");
		dump_int(&dump, 0, 4);
		dump_int(&dump, bytes, 4);
		dump_int(&dump, 20, 8);
		dump_load(&dump, 20, CODE, 0x10, 0, "behind");
		read_dump(&dump, &address, 1, &result);
		check_name(&result, 0, "before");
		assert_true(result.stats.is_broken);
		assert_int_equal(result.stats.records, 1);
		strtab_deinit(&result.strings);
		buf_deinit(&dump.buf);
	}
	/* Zeros are what nobody has written yet. */
	dump_begin(&dump, false, 0);
	dump_load(&dump, 10, CODE, 0x10, 0, "before");
	for (int i = 0; i < 4096; i++)
		buf_add_char(&dump.buf, '\0');
	read_dump(&dump, &address, 1, &result);
	check_name(&result, 0, "before");
	assert_false(result.stats.is_broken || result.stats.is_cut);
	strtab_deinit(&result.strings);
	buf_deinit(&dump.buf);
}

/* Ten gigabytes that are not there, the first four of them in one record: its code is not read. */
static void test_sparse(void **state)
{
	uint64_t address = CODE, start_ns = clock_monotonic_ns();
	struct dump_bytes dump;
	struct result result;
	int fd;

	dump_begin(&dump, false, 0);
	dump_load(&dump, 10, CODE, 0x10, 0, "code");
	dump_record(&dump, 0, 0xffffffffULL - 16, 20);
	fd = bytes_to_fd(dump.buf.data, dump.buf.len);
	assert_int_equal(ftruncate(fd, (off_t)10 << 30), 0);
	assert_int_equal(read_fd(fd, &address, 1, 0, &result), 0);
	check_name(&result, 0, "code");
	assert_true(clock_monotonic_ns() - start_ns < NSEC_PER_SEC);
	strtab_deinit(&result.strings);
	close(fd);
	buf_deinit(&dump.buf);
}

/* Only what an address is left with is kept, whatever was there before. */
static void test_memory(void **state)
{
	static const uint64_t addresses[] = {CODE, CODE + 1};
	struct dump_bytes dump;
	struct result result;

	dump_begin(&dump, false, 0);
	for (uint64_t i = 0; i < 100000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "name %" PRIu64, i);
		dump_load(&dump, i / 1000, CODE, 1 + (i < 70000), i, name);
	}
	read_dump(&dump, addresses, 2, &result);
	check_name(&result, 0, "name 99999");
	check_name(&result, 1, "name 69999");
	assert_int_equal(result.strings.cnt, 1 + 2);
	assert_int_equal(result.stats.records, 100000);
	strtab_deinit(&result.strings);
	buf_deinit(&dump.buf);
}

/* Records that each cover all the addresses, and no time. */
static void test_deadline(void **state)
{
	uint64_t addresses[ADDRESSES_MAX];
	struct dump_bytes dump;
	struct result result;
	int fd;

	for (uint64_t i = 0; i < ADDRESSES_MAX; i++)
		addresses[i] = CODE + i;
	dump_begin(&dump, false, 0);
	for (int i = 0; i < 100000; i++)
		dump_load(&dump, 10, CODE, ADDRESSES_MAX, 0, "n");
	fd = bytes_to_fd(dump.buf.data, dump.buf.len);
	assert_int_equal(read_fd(fd, addresses, ADDRESSES_MAX, 1, &result), 0);
	assert_true(result.stats.is_cut);
	assert_true(result.stats.records < 5000);
	strtab_deinit(&result.strings);
	assert_int_equal(read_fd(fd, addresses, ADDRESSES_MAX,
				 clock_monotonic_ns() + 100 * NSEC_PER_SEC, &result),
			 0);
	assert_false(result.stats.is_cut);
	assert_int_equal(result.stats.records, 100000);
	strtab_deinit(&result.strings);
	close(fd);
	buf_deinit(&dump.buf);
}

/* Which of @loads (starts, sizes, times) is at @address the longest, the plain way. */
static int plain_holder(const uint64_t (*loads)[3], int cnt, uint64_t address)
{
	uint64_t since = 0, best_ns = 0;
	int now = -1, best = -1;

	for (int i = 0; i <= cnt; i++) {
		uint64_t time_ns = i < cnt ? loads[i][2] : WINDOW_END, from, to;

		if (i < cnt && (address < loads[i][0] || address - loads[i][0] >= loads[i][1]))
			continue;
		from = since > WINDOW_START ? since : WINDOW_START;
		to = time_ns < WINDOW_END ? time_ns : WINDOW_END;
		if (now >= 0 && to > from && to - from >= best_ns) {
			best = now;
			best_ns = to - from;
		}
		now = i;
		since = time_ns;
	}
	return best;
}

static void check_random(unsigned int seed)
{
	enum { LOADS = 300 };
	uint64_t loads[LOADS][3], addresses[ADDRESSES_MAX], time_ns = 0;
	struct dump_bytes dump;
	struct result result;

	srand(seed);
	dump_begin(&dump, seed & 1, 0);
	for (size_t i = 0; i < ADDRESSES_MAX; i++)
		addresses[i] = (i ? addresses[i - 1] : CODE) + (uint64_t)(rand() % 8);
	for (int i = 0; i < LOADS; i++) {
		char name[16];

		time_ns += (uint64_t)(rand() % 16);
		loads[i][0] = CODE - 64 + (uint64_t)(rand() % 384);
		loads[i][1] = 1 + (uint64_t)(rand() % (1 << rand() % 9));
		loads[i][2] = time_ns;
		snprintf(name, sizeof(name), "%d", i);
		dump_load(&dump, time_ns, loads[i][0], loads[i][1], (uint64_t)i, name);
	}
	read_dump(&dump, addresses, ADDRESSES_MAX, &result);
	for (size_t i = 0; i < ADDRESSES_MAX; i++) {
		int wanted = plain_holder(loads, LOADS, addresses[i]);
		char name[16];

		snprintf(name, sizeof(name), "%d", wanted);
		check_name(&result, i, wanted < 0 ? NULL : name);
	}
	strtab_deinit(&result.strings);
	buf_deinit(&dump.buf);
}

static void test_against_plain(void **state)
{
	for (unsigned int seed = 1; seed <= 40; seed++)
		check_random(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_longest_in_window_holds),
		cmocka_unit_test(test_other_clock),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_moved_away),
		cmocka_unit_test(test_moved_more),
		cmocka_unit_test(test_other_processes),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_lines_of_v8),
		cmocka_unit_test(test_lines_not_believed),
		cmocka_unit_test(test_lines_broken),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_unfinished),
		cmocka_unit_test(test_no_jitdump),
		cmocka_unit_test(test_bad_records),
		cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_against_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
