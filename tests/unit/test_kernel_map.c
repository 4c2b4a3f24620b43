/* SPDX-License-Identifier: Apache-2.0 */
/* Whose kernel code an address was in an epoch, from readings and announcements. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "proc/kernel_map.h"

/* Where modules and the rest are. */
#define AREA 0xffffffffc0000000ULL
#define CORE "ffffffff81000000 T schedule\nffffffff81000100 T _etext\n"

static void add_reading(struct kernel_map *map, const char *text, uint64_t from_ns)
{
	struct kallsyms *syms = kallsyms_parse(text, strlen(text));

	assert_non_null(syms);
	assert_int_equal(kernel_map_add(map, syms, from_ns), 0);
}

static struct kernel_map *new_map(const char *base)
{
	struct kernel_map *map = kernel_map_new();

	assert_non_null(map);
	assert_false(kernel_map_is_read(map));
	add_reading(map, base, 0);
	assert_true(kernel_map_is_read(map));
	return map;
}

static struct ksym_record record_of(const char *name, uint64_t ip, uint32_t bytes, uint64_t time_ns)
{
	return (struct ksym_record){
		.ip = ip, .code_bytes = bytes, .time_ns = time_ns, .name = name};
}

static bool came(struct kernel_map *map, const char *name, uint64_t ip, uint32_t bytes,
		 uint64_t time_ns, uint64_t epoch_ns)
{
	struct ksym_record record = record_of(name, ip, bytes, time_ns);

	return kernel_map_came(map, &record, epoch_ns);
}

static void went(struct kernel_map *map, const char *name, uint64_t ip, uint32_t bytes,
		 uint64_t time_ns)
{
	struct ksym_record record = record_of(name, ip, bytes, time_ns);

	kernel_map_went(map, &record);
}

static void check_owner(const struct kernel_map *map, uint64_t ip, uint64_t from_ns, uint64_t to_ns,
			const char *owner)
{
	const char *found = kernel_map_owner(map, ip, from_ns, to_ns);

	if (!owner) {
		assert_null(found);
	} else {
		assert_non_null(found);
		assert_string_equal(found, owner);
	}
}

/* @name NULL: there is none; @in NULL: the core. */
static void check_name(const struct kernel_map *map, uint64_t ip, const char *owner,
		       const char *name, const char *in)
{
	struct kernel_name found;
	int err = kernel_map_find(map, ip, owner, &found);

	if (!name) {
		assert_int_equal(err, -ENOENT);
		return;
	}
	assert_int_equal(err, 0);
	assert_string_equal(found.name, name);
	if (in)
		assert_string_equal(found.owner, in);
	else
		assert_null(found.owner);
}

static void test_nothing_changes(void **state)
{
	struct kernel_map *map =
		new_map(CORE "ffffffffc0000000 t nft_do_chain\t[nf_tables]\n"
			     "ffffffffc0100000 t bpf_prog_0123456789abcdef_x\t[bpf]\n"
			     "ffffffffc0200000 t ftrace_trampoline\t[__builtin__ftrace]\n");

	check_owner(map, AREA + 8, 0, 100, NULL);
	check_name(map, 0xffffffff81000010, NULL, "schedule", NULL);
	check_name(map, 0xffffffff81000110, NULL, NULL, NULL);
	check_name(map, AREA + 8, NULL, "nft_do_chain", "nf_tables");
	check_name(map, AREA + 0x100010, NULL, "bpf_prog_0123456789abcdef_x",
		   "bpf_prog_0123456789abcdef_x");
	check_name(map, AREA + 0x200010, NULL, "ftrace_trampoline", "ftrace_trampoline");
	check_name(map, AREA + 8, "nf_tables", "nft_do_chain", "nf_tables");
	check_name(map, AREA + 8, "xfs", NULL, NULL);
	assert_int_equal(kernel_map_dropped(map), 0);
	kernel_map_free(map);
}

/* A program that comes and goes where nothing was, and one that had been there before. */
static void test_announced(void **state)
{
	struct kernel_map *map = new_map(CORE "ffffffffc0000000 t old\t[bpf]\n");

	assert_false(came(map, "new", AREA + 0x1000, 0x100, 150, 100));
	check_owner(map, AREA + 0x1000, 100, 200, "new");
	check_owner(map, AREA + 0x10ff, 100, 200, "new");
	check_owner(map, AREA + 0x1100, 100, 200, NULL);
	check_owner(map, AREA + 0xfff, 100, 200, NULL);
	/* Not in the epoch before. */
	check_owner(map, AREA + 0x1000, 0, 100, NULL);
	went(map, "new", AREA + 0x1000, 0x100, 250);
	check_owner(map, AREA + 0x1000, 200, 300, "new");
	check_owner(map, AREA + 0x1000, 250, 300, NULL);
	check_name(map, AREA + 0x1010, "new", "new", "new");
	/* That of before had always been there. */
	went(map, "old", AREA, 0x100, 260);
	check_owner(map, AREA + 0x10, 0, 100, "old");
	check_owner(map, AREA + 0x10, 300, 400, NULL);
	/* The core never. */
	assert_false(came(map, "core?", 0xffffffff81000000, 0x100, 300, 300));
	check_owner(map, 0xffffffff81000010, 300, 400, NULL);
	kernel_map_free(map);
}

/* The example of the header. */
static void test_hands(void **state)
{
	struct kernel_map *map = new_map(CORE "ffffffffc0200000 t nft_do_chain\t[nf_tables]\n"
					      "ffffffffc0201000 t nft_exit\t[nf_tables]\n");
	uint64_t ip = AREA + 0x200010;

	assert_true(came(map, "bpf_prog_a", AREA + 0x200000, 0x1000, 600, 0));
	check_owner(map, ip, 0, 601, NULL);
	went(map, "bpf_prog_a", AREA + 0x200000, 0x1000, 799);
	assert_true(came(map, "bpf_prog_b", AREA + 0x200000, 0x800, 800, 601));
	check_owner(map, ip, 601, 801, "bpf_prog_a");
	check_owner(map, ip, 801, 1000, "bpf_prog_b");
	check_owner(map, AREA + 0x200900, 601, 801, "bpf_prog_a");
	check_name(map, ip, NULL, "nft_do_chain", "nf_tables");
	check_name(map, ip, "bpf_prog_a", "bpf_prog_a", "bpf_prog_a");
	check_name(map, ip, "bpf_prog_b", "bpf_prog_b", "bpf_prog_b");
	/* Without a flip in between: who was there longest. */
	check_owner(map, ip, 650, 1000, "bpf_prog_b");
	check_owner(map, ip, 0, 1000, NULL);
	kernel_map_free(map);
}

/* Beside it, or long after, is no reason to end an epoch. */
static void test_when_to_flip(void **state)
{
	struct kernel_map *map = new_map(CORE "ffffffffc0000000 t old\t[bpf]\n");

	/* In a reading a program reaches to the next symbol: it has announced its true end. */
	assert_false(came(map, "next", AREA + 0x40, 0x40, 110, 100));
	assert_false(came(map, "behind", AREA + 0x80, 0x40, 120, 100));
	went(map, "next", AREA + 0x40, 0x40, 130);
	assert_false(came(map, "later", AREA + 0x40, 0x40, 240, 200));
	assert_true(came(map, "wide", AREA, 0x200, 250, 200));
	/* What it took the place of has ended with that. */
	check_owner(map, AREA + 0x90, 250, 300, "wide");
	check_owner(map, AREA + 0x90, 200, 250, "behind");
	kernel_map_free(map);
}

/* What went on another CPU may be told after what came. */
static void test_told_late(void **state)
{
	struct kernel_map *map = new_map(CORE);

	came(map, "one", AREA, 0x100, 10, 0);
	came(map, "two", AREA, 0x100, 40, 0);
	went(map, "one", AREA, 0x100, 30);
	check_owner(map, AREA, 50, 90, "two");
	check_owner(map, AREA, 10, 30, "one");
	check_owner(map, AREA, 31, 39, NULL);
	kernel_map_free(map);
}

/* Modules: one in place of another, one that has moved, and one that was there all the time. */
static void test_readings(void **state)
{
	struct kernel_map *map = new_map(CORE "ffffffffc0000000 t stays\t[ext4]\n"
					      "ffffffffc0100000 t first\t[tcrypt]\n"
					      "ffffffffc0200000 t moved\t[xor]\n");

	add_reading(map,
		    CORE "ffffffffc0000000 t stays\t[ext4]\n"
			 "ffffffffc0100000 t second\t[raid6_pq]\n"
			 "ffffffffc0300000 t moved\t[xor]\n",
		    500);
	check_owner(map, AREA + 0x10, 500, 900, NULL);
	check_owner(map, AREA + 0x100010, 0, 500, NULL);
	check_owner(map, AREA + 0x100010, 500, 900, "raid6_pq");
	check_owner(map, AREA + 0x100010, 400, 700, "raid6_pq");
	check_owner(map, AREA + 0x100010, 200, 700, NULL);
	check_owner(map, AREA + 0x300010, 500, 900, "xor");
	check_name(map, AREA + 0x100010, NULL, "first", "tcrypt");
	check_name(map, AREA + 0x100010, "raid6_pq", "second", "raid6_pq");
	check_name(map, AREA + 0x300010, "xor", "moved", "xor");
	/* Sampled while the reading was under way, and so left to the base, which does not know. */
	check_name(map, AREA + 0x300010, NULL, "moved", "xor");
	/* Of lost announcements a reading tells too. */
	add_reading(map, CORE "ffffffffc0100000 t bpf_prog_z\t[bpf]\n", 1000);
	check_owner(map, AREA + 0x100010, 1000, 2000, "bpf_prog_z");
	check_name(map, AREA + 0x100010, "bpf_prog_z", "bpf_prog_z", "bpf_prog_z");
	kernel_map_free(map);
}

/* A program of a reading has no end: what was loaded behind it is not its code. */
static void test_tail(void **state)
{
	struct kernel_map *map = new_map(CORE "ffffffffc0100000 t bpf_prog_old\t[bpf]\n");

	add_reading(map,
		    CORE "ffffffffc0100000 t bpf_prog_old\t[bpf]\n"
			 "ffffffffc0104000 t init_module\t[raid6_pq]\n",
		    500);
	came(map, "bpf_prog_new", AREA + 0x102000, 0x100, 100, 0);
	check_name(map, AREA + 0x100010, NULL, "bpf_prog_old", "bpf_prog_old");
	check_name(map, AREA + 0x104010, NULL, "init_module", "raid6_pq");
	check_name(map, AREA + 0x102010, NULL, "bpf_prog_new", "bpf_prog_new");
	kernel_map_free(map);
}

/* Windows: what ended before is forgotten, what is there stays. */
static void test_forget(void **state)
{
	struct kernel_map *map = new_map(CORE "ffffffffc0100000 t first\t[tcrypt]\n");

	add_reading(map, CORE "ffffffffc0100000 t second\t[raid6_pq]\n", 500);
	came(map, "short", AREA, 0x100, 300, 0);
	went(map, "short", AREA, 0x100, 400);
	came(map, "stays", AREA + 0x1000, 0x100, 450, 0);
	kernel_map_forget(map, 400);
	check_name(map, AREA, NULL, NULL, NULL);
	check_name(map, AREA + 0x1000, NULL, "stays", "stays");
	check_name(map, AREA + 0x100010, NULL, "first", "tcrypt");
	/* From the next reading on it is the base. */
	kernel_map_forget(map, 600);
	check_name(map, AREA + 0x100010, NULL, "second", "raid6_pq");
	check_owner(map, AREA + 0x100010, 600, 900, NULL);
	check_name(map, 0xffffffff81000010, NULL, "schedule", NULL);
	check_owner(map, AREA + 0x1000, 600, 900, "stays");
	assert_int_equal(kernel_map_dropped(map), 0);
	kernel_map_free(map);
}

/* More than there is room for: the oldest that are gone make room first, and are counted. */
static void test_bounds(void **state)
{
	struct kernel_map *map = new_map(CORE "ffffffffc0100000 t first\t[tcrypt]\n");
	char name[32];

	came(map, "stays", AREA, 0x10, 1, 0);
	for (uint64_t i = 0; i < KERNEL_MAP_STRETCHES + 10; i++) {
		snprintf(name, sizeof(name), "prog_%u", (unsigned int)i);
		came(map, name, AREA + 0x1000 + i * 16, 16, 10 + 2 * i, 0);
		went(map, name, AREA + 0x1000 + i * 16, 16, 11 + 2 * i);
	}
	assert_int_equal(kernel_map_dropped(map), 11);
	check_name(map, AREA, NULL, "stays", "stays");
	check_name(map, AREA + 0x1000 + 10 * 16, NULL, NULL, NULL);
	check_name(map, AREA + 0x1000 + 11 * 16, NULL, "prog_11", "prog_11");
	for (uint64_t i = 1; i < KERNEL_MAP_READINGS + 3; i++) {
		char text[128];

		snprintf(text, sizeof(text), CORE "ffffffffc01%05x t fn_%u\t[mod_%u]\n",
			 (unsigned int)i * 16, (unsigned int)i, (unsigned int)i);
		add_reading(map, text, i * 1000);
	}
	assert_int_equal(kernel_map_dropped(map), 11 + 3);
	/* The base is the last to go. */
	check_name(map, AREA + 0x100000, NULL, "first", "tcrypt");
	check_name(map, AREA + 0x100010, "mod_1", NULL, NULL);
	check_name(map, AREA + 0x100040, "mod_4", "fn_4", "mod_4");
	kernel_map_free(map);
}

static void test_restricted(void **state)
{
	struct kernel_map *map = new_map("0000000000000000 T schedule\n"
					 "0000000000000000 t nft_do_chain\t[nf_tables]\n");
	struct kernel_name found;

	came(map, "prog", AREA, 0x100, 10, 0);
	check_owner(map, AREA, 0, 100, NULL);
	assert_int_equal(kernel_map_find(map, AREA, NULL, &found), -EPERM);
	assert_int_equal(kernel_map_find(map, 0xffffffff81000000, NULL, &found), -EPERM);
	assert_true(kernel_map_say_once(map));
	assert_false(kernel_map_say_once(map));
	kernel_map_free(map);
}

/* Before the first reading. */
static void test_unread(void **state)
{
	struct kernel_map *map = kernel_map_new();

	assert_non_null(map);
	check_owner(map, AREA, 0, 100, NULL);
	came(map, "prog", AREA, 0x100, 10, 0);
	came(map, "", AREA + 0x1000, 0x100, 10, 0);
	check_owner(map, AREA, 0, 100, "prog");
	check_owner(map, AREA + 0x1000, 0, 100, NULL);
	check_name(map, AREA + 0x1000, NULL, NULL, NULL);
	came(map, "end", UINT64_MAX - 4, 0x100, 10, 0);
	check_owner(map, UINT64_MAX - 2, 0, 100, "end");
	kernel_map_free(map);
	kernel_map_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_changes), cmocka_unit_test(test_announced),
		cmocka_unit_test(test_hands),		cmocka_unit_test(test_when_to_flip),
		cmocka_unit_test(test_told_late),	cmocka_unit_test(test_readings),
		cmocka_unit_test(test_forget),		cmocka_unit_test(test_tail),
		cmocka_unit_test(test_bounds),		cmocka_unit_test(test_restricted),
		cmocka_unit_test(test_unread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
