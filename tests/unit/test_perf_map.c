/* SPDX-License-Identifier: Apache-2.0 */
/* The names that JIT runtimes write: the forms of a line, which of several holds, and files that
 * are long, unfinished, or made to be a burden. */
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

#include "base/buf.h"
#include "base/strtab.h"
#include "scratch.h"
#include "symbol/perf_map.h"

enum { ADDRESSES_MAX = 64 };

struct result {
	struct strtab strings;
	uint32_t names[ADDRESSES_MAX];
	struct perf_map_stats stats;
};

static void read_map(int fd, const uint64_t *addresses, size_t cnt, uint64_t deadline_ns,
		     struct result *out)
{
	assert_true(cnt <= ADDRESSES_MAX);
	assert_int_equal(strtab_init(&out->strings), 0);
	assert_int_equal(perf_map_read(fd, addresses, cnt, deadline_ns, &out->strings, out->names,
				       &out->stats),
			 0);
}

static void read_text(const char *text, size_t len, const uint64_t *addresses, size_t cnt,
		      struct result *out)
{
	int fd = bytes_to_fd(text, len);

	read_map(fd, addresses, cnt, 0, out);
	close(fd);
}

/* NULL for none. */
static const char *name_at(const struct result *result, size_t index)
{
	return result->names[index] == STRTAB_NONE
		       ? NULL
		       : strtab_get(&result->strings, result->names[index]);
}

static void check_name(const struct result *result, size_t index, const char *name)
{
	const char *found = name_at(result, index);

	if (!name) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_string_equal(found, name);
}

/* What @text calls 0x1000, and of how many lines how many are bad. */
static void check_text(const char *text, const char *name, uint64_t lines, uint64_t bad_lines)
{
	static const uint64_t address = 0x1000;
	struct result result;

	read_text(text, strlen(text), &address, 1, &result);
	check_name(&result, 0, name);
	assert_int_equal(result.stats.lines, lines);
	assert_int_equal(result.stats.bad_lines, bad_lines);
	assert_false(result.stats.is_cut);
	strtab_deinit(&result.strings);
}

static void test_forms(void **state)
{
	check_text("1000 20 py::main:/srv/app.py\n", "py::main:/srv/app.py", 1, 0);
	check_text("0x1000 0x20 void Foo.bar(java.lang.String, int)\n",
		   "void Foo.bar(java.lang.String, int)", 1, 0);
	check_text("0X0000000000001000 1F JS:*a /b.js:1:2 \n", "JS:*a /b.js:1:2 ", 1, 0);
	check_text("1000  20  spaced\n", "spaced", 1, 0);
	check_text("0 ffffffffffffffff all\n", "all", 1, 0);
	check_text("1000 fffffffffffff000 to the end\n", "to the end", 1, 0);
	check_text("1000 20 \xff\x01\x1b[0m\n", "\xff\x01\x1b[0m", 1, 0);
	check_text("1000 20 first\nsecond line\n", "first", 2, 1);
	check_text("", NULL, 0, 0);
}

static void test_bad_lines(void **state)
{
	static const char *const bad[] = {
		"\n",
		" 1000 20 name\n",
		"1000\n",
		"1000 20\n",
		"1000 20 \n",
		"1000 name\n",
		"1000 0 empty\n",
		"1000 fffffffffffff001 wraps\n",
		"11000000000001000 20 too large\n",
		"x1000 20 name\n",
		"0x 20 name\n",
		"0x0x1000 20 name\n",
		"1000 20name\n",
		"1000 -20 name\n",
		"1000,20,name\n",
		"# 1000 20 name\n",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		char text[128];

		check_text(bad[i], NULL, 1, 1);
		snprintf(text, sizeof(text), "%s1000 1 good\n%s", bad[i], bad[i]);
		check_text(text, "good", 3, 2);
	}
}

static void test_nul(void **state)
{
	static const uint64_t addresses[] = {0x1000, 0x2000};
	static const char text[] = "1000 10 name\0rest\n2000 10 \0name\n";
	struct result result;

	read_text(text, sizeof(text) - 1, addresses, 2, &result);
	check_name(&result, 0, "name");
	check_name(&result, 1, NULL);
	assert_int_equal(result.stats.bad_lines, 1);
	strtab_deinit(&result.strings);
}

/* The writer may be in the middle of the line. */
static void test_unfinished(void **state)
{
	check_text("1000 20 old\n1000 20 ne", "old", 1, 0);
	check_text("1000 20 new", NULL, 0, 0);
	check_text("1000 20 new\n", "new", 1, 0);
}

static void test_ranges(void **state)
{
	static const uint64_t addresses[] = {
		0, 0xfff, 0x1000, 0x1000, 0x1010, 0x101f, 0x1020, 0x2000, UINT64_MAX,
	};
	static const char text[] = "1000 20 outer\n"
				   "1010 8 inner\n"
				   "101f 1 end\n"
				   "1fff 1 before\n"
				   "2001 100 behind\n"
				   "ffffffffffffffff 1 top\n"
				   "0 1 bottom\n";
	static const char *const names[] = {
		"bottom", NULL, "outer", "outer", "inner", "end", NULL, NULL, "top",
	};
	size_t cnt = sizeof(addresses) / sizeof(*addresses);
	struct result result;

	read_text(text, sizeof(text) - 1, addresses, cnt, &result);
	for (size_t i = 0; i < cnt; i++)
		check_name(&result, i, names[i]);
	assert_int_equal(result.names[2], result.names[3]);
	strtab_deinit(&result.strings);
	/* Without addresses the lines are still counted. */
	read_text(text, sizeof(text) - 1, NULL, 0, &result);
	assert_int_equal(result.stats.lines, 7);
	strtab_deinit(&result.strings);
}

/* Only what is used is interned, however often the file has something new to say. */
static void test_last_line_holds(void **state)
{
	static const uint64_t addresses[] = {0x1000, 0x1001};
	struct result result;
	struct buf text;

	buf_init(&text, BUF_NO_MAX);
	for (int i = 0; i < 100000; i++)
		buf_printf(&text, "1000 %x name %d\n", 1 + (i < 70000), i);
	read_text(text.data, text.len, addresses, 2, &result);
	check_name(&result, 0, "name 99999");
	check_name(&result, 1, "name 69999");
	assert_int_equal(result.strings.cnt, 1 + 2);
	assert_int_equal(result.stats.lines, 100000);
	strtab_deinit(&result.strings);
	buf_deinit(&text);
}

/* Random lines over few addresses, of lengths that put the ends of pieces anywhere, against the
 * plain way: each line to each address. */
static void test_against_plain(void **state)
{
	for (unsigned int seed = 1; seed <= 20; seed++) {
		uint64_t addresses[ADDRESSES_MAX];
		int wanted[ADDRESSES_MAX];
		size_t cnt = 1 + seed * 7 % ADDRESSES_MAX;
		struct result result;
		struct buf text;

		srand(seed);
		buf_init(&text, BUF_NO_MAX);
		for (size_t i = 0; i < cnt; i++) {
			addresses[i] = (i ? addresses[i - 1] : 0x1000) + (uint64_t)(rand() % 20);
			wanted[i] = -1;
		}
		for (int line = 0; line < 4000; line++) {
			uint64_t start = 0xf80 + (uint64_t)(rand() % 1024);
			uint64_t size = 1 + (uint64_t)(rand() % (1 << rand() % 10));

			buf_printf(&text, "%" PRIx64 " %" PRIx64 " %d%*s\n", start, size, line,
				   rand() % 300, "");
			for (size_t i = 0; i < cnt; i++) {
				if (addresses[i] >= start && addresses[i] - start < size)
					wanted[i] = line;
			}
		}
		assert_true(text.len > 2 * 256 * 1024);
		read_text(text.data, text.len, addresses, cnt, &result);
		for (size_t i = 0; i < cnt; i++) {
			const char *name = name_at(&result, i);

			assert_int_equal(name ? strtol(name, NULL, 10) : -1, wanted[i]);
		}
		assert_int_equal(result.stats.lines, 4000);
		assert_int_equal(result.stats.bad_lines, 0);
		strtab_deinit(&result.strings);
		buf_deinit(&text);
	}
}

/* Names are cut; what is behind a long line's begin is not taken for other lines. */
static void test_long_lines(void **state)
{
	static const size_t lengths[] = {1023, 1024,   1025,   4000,   4088,   4089,
					 4090, 262135, 262136, 262137, 1000000};
	static const uint64_t addresses[] = {0x1000, 0x2000, 0x3000};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct result result;
		struct buf text;
		char name[1025];

		buf_init(&text, BUF_NO_MAX);
		buf_add_str(&text, "1000 10 ");
		for (size_t chr = 0; chr < lengths[i]; chr++)
			buf_add_char(&text, "3000 10 "[chr % 8]);
		memcpy(name, text.data + 8, 1024);
		name[lengths[i] < 1024 ? lengths[i] : 1024] = '\0';
		buf_add_str(&text, "\n2000 10 next\n");
		read_text(text.data, text.len, addresses, 3, &result);
		check_name(&result, 0, name);
		check_name(&result, 1, "next");
		check_name(&result, 2, NULL);
		assert_int_equal(result.stats.lines, 2);
		assert_int_equal(result.stats.bad_lines, 0);
		strtab_deinit(&result.strings);
		buf_deinit(&text);
	}
}

static void test_cut_between_characters(void **state)
{
	char text[2048] = "1000 10 ", name[1024];

	memset(name, 'a', 1023);
	name[1023] = '\0';
	memcpy(text + strlen(text), name, sizeof(name));
	snprintf(text + strlen(text), 64, "%s", "\xc3\xa9 and more\n");
	check_text(text, name, 1, 0);
}

static void test_limits(void **state)
{
	static const uint64_t addresses[] = {0x1000, 0x2000, 0x3000};
	static const char first[] = "1000 10 first\n";
	static const char later[] = "\n2000 10 within\n3000 10 beyond\n";
	int fd = bytes_to_fd(first, sizeof(first) - 1);
	struct result result;

	/* A time that has passed: nothing is read, which matters if there is something. */
	read_map(fd, addresses, 3, 1, &result);
	check_name(&result, 0, NULL);
	assert_true(result.stats.is_cut);
	assert_int_equal(result.stats.lines, 0);
	strtab_deinit(&result.strings);
	/* The last line ends one byte behind what is read. */
	assert_int_equal(pwrite(fd, later, sizeof(later) - 1,
				PERF_MAP_MAX_BYTES - (off_t)sizeof(later) + 2),
			 (ssize_t)sizeof(later) - 1);
	read_map(fd, addresses, 3, 0, &result);
	check_name(&result, 0, "first");
	check_name(&result, 1, "within");
	check_name(&result, 2, NULL);
	assert_true(result.stats.is_cut);
	strtab_deinit(&result.strings);
	/* Exactly what may be read is not too much. */
	assert_int_equal(ftruncate(fd, PERF_MAP_MAX_BYTES), 0);
	read_map(fd, addresses, 3, 0, &result);
	assert_false(result.stats.is_cut);
	strtab_deinit(&result.strings);
	assert_int_equal(ftruncate(fd, 0), 0);
	read_map(fd, addresses, 3, 1, &result);
	assert_false(result.stats.is_cut);
	strtab_deinit(&result.strings);
	close(fd);
}

static void test_errors(void **state)
{
	static const uint64_t address = 0x1000;
	struct perf_map_stats stats = {.lines = 77};
	struct strtab strings;
	uint32_t name;
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(strtab_init(&strings), 0);
	assert_int_equal(perf_map_read(-1, &address, 1, 0, &strings, &name, &stats), -EBADF);
	assert_int_equal(perf_map_read(fd, &address, 1, 0, &strings, &name, &stats), -EISDIR);
	assert_int_equal(stats.lines, 77);
	strtab_deinit(&strings);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_nul),
		cmocka_unit_test(test_unfinished),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_last_line_holds),
		cmocka_unit_test(test_against_plain),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_cut_between_characters),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
