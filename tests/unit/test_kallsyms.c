/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's symbols: the forms of /proc/kallsyms, order, ends, and hidden addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "proc/kallsyms.h"

static struct kallsyms *parse(const char *text)
{
	size_t len = strlen(text);
	char *copy = malloc(len ? len : 1); /* no NUL behind it: ASan sees a read too far */
	struct kallsyms *syms;

	assert_non_null(copy);
	memcpy(copy, text, len);
	syms = kallsyms_parse(copy, len);
	assert_non_null(syms);
	free(copy);
	return syms;
}

static void check_name(const struct kallsyms *syms, uint64_t ip, const char *name)
{
	const char *found = kallsyms_find(syms, ip);

	if (!name)
		assert_null(found);
	else {
		assert_non_null(found);
		assert_string_equal(found, name);
	}
}

static void test_lookup(void **state)
{
	struct kallsyms *syms = parse("ffffffff81000000 T _stext\n"
				      "ffffffff81000000 T _text\n"
				      "ffffffff81000000 t first\n"
				      "ffffffff81000040 t local\n"
				      "ffffffff81000040 W weak\n"
				      "ffffffff81000080 T __sys_read\n"
				      "ffffffff81000080 T sys_read\n"
				      "ffffffff81000100 T _etext\n"
				      "ffffffff82000000 D some_data\n");

	check_name(syms, 0, NULL);
	check_name(syms, 0xffffffff80ffffff, NULL);
	check_name(syms, 0xffffffff81000000, "_stext");
	check_name(syms, 0xffffffff8100003f, "_stext");
	check_name(syms, 0xffffffff81000040, "weak");
	check_name(syms, 0xffffffff810000ff, "sys_read");
	check_name(syms, 0xffffffff81000100, NULL);
	check_name(syms, 0xffffffff82000000, NULL);
	check_name(syms, UINT64_MAX, NULL);
	assert_false(kallsyms_is_restricted(syms));
	kallsyms_free(syms);
}

/* Modules, trampolines and BPF programs come in any order, before or behind the core kernel. */
static void test_modules(void **state)
{
	struct kallsyms *syms = parse("ffff800080000000 T core_a\n"
				      "ffff800080000100 T core_b\n"
				      "ffffffffc0200000 t ext4_read\t[ext4]\n"
				      "ffffffffc0200100 t ext4_write\t[ext4]\n"
				      "ffff80007a000000 t xfs_open\t[xfs]\n"
				      "ffffffffc0100000 t bpf_prog_6deef7357e7b4530_sd_fw\t[bpf]\n"
				      "ffffffffc0100080 t $x\t[xfs]\n"
				      "ffffffffc0300000 d ext4_table\t[ext4]\n");

	check_name(syms, 0xffff80007a000010, "xfs_open");
	check_name(syms, 0xffff8000800000ff, "core_a");
	check_name(syms, 0xffff800080000100, "core_b");
	check_name(syms, 0xffffffffc0100090, "bpf_prog_6deef7357e7b4530_sd_fw");
	check_name(syms, 0xffffffffc02000ff, "ext4_read");
	check_name(syms, 0xffffffffc0200100, "ext4_write");
	check_name(syms, 0xffffffffc0300000, NULL);
	/* The last of its kind reaches only so far. */
	check_name(syms, 0xffff800080000100 + KALLSYMS_TAIL_BYTES - 1, "core_b");
	check_name(syms, 0xffff800080000100 + KALLSYMS_TAIL_BYTES, NULL);
	check_name(syms, 0xffffffffc0100000 + KALLSYMS_TAIL_BYTES, NULL);
	kallsyms_free(syms);
}

static void test_restricted(void **state)
{
	struct kallsyms *syms = parse("0000000000000000 T _stext\n"
				      "0000000000000000 t read\n"
				      "0000000000000000 t ext4_read\t[ext4]\n");

	assert_true(kallsyms_is_restricted(syms));
	assert_int_equal(kallsyms_cnt(syms), 0);
	check_name(syms, 0, NULL);
	check_name(syms, 0xffffffff81000000, NULL);
	kallsyms_free(syms);

	/* Some symbols are at 0 in any kernel: the first of the per-CPU data. */
	syms = parse("0000000000000000 A fixed_percpu_data\nffffffff81000000 T a\n");
	assert_false(kallsyms_is_restricted(syms));
	check_name(syms, 0xffffffff81000001, "a");
	kallsyms_free(syms);

	syms = parse("");
	assert_false(kallsyms_is_restricted(syms));
	kallsyms_free(syms);
}

static void test_malformed_lines(void **state)
{
	struct kallsyms *syms = parse("\n"
				      "zzzzzzzzzzzzzzzz T not_hex\n"
				      "ffffffff8100000g T not_hex_either\n"
				      "ffffffff8100000: T nor_this\n"
				      "ffffffff81000010\n"
				      "ffffffff81000010 T\n"
				      "ffffffff81000010 T \n"
				      "fffffffff81000010f T too_long\n"
				      "ffffffff81000020 T good\n"
				      "c0100000 T of_32_bits\n"
				      "ffffffff81000030 T unfinished");

	assert_int_equal(kallsyms_cnt(syms), 3);
	check_name(syms, 0xffffffff8100002f, "good");
	check_name(syms, 0xffffffff81000030, "unfinished");
	check_name(syms, 0xc0100000, "of_32_bits");
	kallsyms_free(syms);
}

static void test_digits(void **state)
{
	struct kallsyms *syms = parse("0123456789abcdef T ascending\nfedcba9876543210 T falling\n");

	check_name(syms, 0x0123456789abcdee, NULL);
	check_name(syms, 0x0123456789abcdef, "ascending");
	check_name(syms, 0xfedcba987654320f, "ascending");
	check_name(syms, 0xfedcba9876543210, "falling");
	kallsyms_free(syms);
}

/* A file longer than the chunks in which it is read: no line is lost or cut at their borders. */
static void test_long_file(void **state)
{
	enum { CNT = 20000 };
	char path[] = "/tmp/test_kallsyms.XXXXXX";
	int fd = mkstemp(path);
	struct kallsyms *syms;
	struct buf text;

	assert_true(fd >= 0);
	buf_init(&text, BUF_NO_MAX);
	for (uint64_t i = 0; i < CNT; i++) {
		buf_printf(&text, "%016" PRIx64 " t fn", 0xffffffff81000000 + i * 16);
		for (uint64_t j = 0; j < i % 50; j++)
			buf_add_char(&text, 'x');
		buf_printf(&text, "_%" PRIu64 "%s\n", i, i % 3 ? "" : "\t[mod]");
	}
	assert_int_equal(write(fd, text.data, text.len), (ssize_t)text.len);
	close(fd);
	buf_deinit(&text);
	syms = kallsyms_open(path);
	assert_non_null(syms);
	assert_int_equal(kallsyms_cnt(syms), CNT);
	for (uint64_t i = 0; i < CNT; i++) {
		const char *name = kallsyms_find(syms, 0xffffffff81000000 + i * 16 + 15);
		char end[24];

		assert_non_null(name);
		snprintf(end, sizeof(end), "_%" PRIu64, i);
		assert_int_equal(strlen(name), 2 + i % 50 + strlen(end));
		assert_string_equal(name + 2 + i % 50, end);
	}
	kallsyms_free(syms);
	unlink(path);
}

static void test_no_file(void **state)
{
	assert_null(kallsyms_open("/nonexistent/kallsyms"));
	kallsyms_free(NULL);
}

/* A program ends before the next symbol; where one begins there, that is no end. */
static void test_ends(void **state)
{
	static const uint64_t ends[] = {0xffffffffc0300040, 0xffffffffc0200100, 0xffffffff81000100,
					0xffffffffc0900000};
	struct kallsyms *syms = parse("ffffffff81000000 T core_a\n"
				      "ffffffffc0200000 t bpf_prog_x\t[bpf]\n"
				      "ffffffffc0200100 t bpf_prog_y\t[bpf]\n"
				      "ffffffffc0300000 t bpf_prog_z\t[bpf]\n");
	struct kallsyms *modules;

	check_name(syms, 0xffffffffc0300050, "bpf_prog_z");
	assert_int_equal(kallsyms_add_ends(syms, NULL, 0), 0);
	assert_int_equal(kallsyms_add_ends(syms, ends, 4), 0);
	check_name(syms, 0xffffffffc020003f, "bpf_prog_x");
	check_name(syms, 0xffffffffc0200100, "bpf_prog_y");
	check_name(syms, 0xffffffffc030003f, "bpf_prog_z");
	check_name(syms, 0xffffffffc0300040, NULL);
	check_name(syms, 0xffffffff810000ff, "core_a");
	check_name(syms, 0xffffffff81000100, NULL);
	modules = kallsyms_split(syms);
	assert_non_null(modules);
	check_name(modules, 0xffffffffc030003f, "bpf_prog_z");
	check_name(modules, 0xffffffffc0300040, NULL);
	check_name(syms, 0xffffffff810000ff, "core_a");
	kallsyms_free(modules);
	kallsyms_free(syms);
}

/* The core apart from what comes and goes; each still finds its own, and only that. */
static void test_split(void **state)
{
	struct kallsyms *syms = parse("ffffffffc0400000 t early\t[early]\n"
				      "ffffffff81000000 T core_a\n"
				      "ffffffff81000100 T core_b\n"
				      "ffffffff81000200 D core_data\n"
				      "ffffffffc0200000 d ext4_first\t[ext4]\n"
				      "ffffffffc0200100 t ext4_read\t[ext4]\n"
				      "ffffffffc0200200 d ext4_data\t[ext4]\n"
				      "ffffffffc0300000 t bpf_prog_x\t[bpf]\n");
	struct kallsyms *modules;

	assert_string_equal(kallsyms_module(syms, 0xffffffffc0200110), "ext4");
	modules = kallsyms_split(syms);
	assert_non_null(modules);
	assert_int_equal(kallsyms_cnt(syms), 3);
	assert_int_equal(kallsyms_cnt(modules), 5);
	check_name(syms, 0xffffffff81000010, "core_a");
	check_name(syms, 0xffffffff81000110, "core_b");
	check_name(syms, 0xffffffffc0200110, NULL);
	check_name(modules, 0xffffffff81000010, NULL);
	check_name(modules, 0xffffffffc0200010, NULL);
	check_name(modules, 0xffffffffc0200110, "ext4_read");
	check_name(modules, 0xffffffffc0200210, NULL);
	check_name(modules, 0xffffffffc0300010, "bpf_prog_x");
	check_name(modules, 0xffffffffc0400010, "early");
	assert_string_equal(kallsyms_module(modules, 0xffffffffc0200110), "ext4");
	assert_string_equal(kallsyms_module(modules, 0xffffffffc0200210), "");
	assert_string_equal(kallsyms_module(modules, 0xffffffffc0300010), "bpf");
	assert_string_equal(kallsyms_module(modules, 0xffffffffc0400010), "early");
	assert_string_equal(kallsyms_module(syms, 0xffffffff81000010), "");
	kallsyms_free(modules);
	kallsyms_free(syms);
}

static void test_split_restricted(void **state)
{
	struct kallsyms *syms = parse("0000000000000000 T core\n0000000000000000 t x\t[mod]\n");
	struct kallsyms *modules = kallsyms_split(syms);

	assert_non_null(modules);
	assert_true(kallsyms_is_restricted(syms));
	assert_true(kallsyms_is_restricted(modules));
	kallsyms_free(modules);
	kallsyms_free(syms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lookup),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_split_restricted),
		cmocka_unit_test(test_modules),
		cmocka_unit_test(test_restricted),
		cmocka_unit_test(test_malformed_lines),
		cmocka_unit_test(test_digits),
		cmocka_unit_test(test_long_file),
		cmocka_unit_test(test_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
