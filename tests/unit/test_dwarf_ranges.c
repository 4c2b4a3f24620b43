/* SPDX-License-Identifier: Apache-2.0 */
/* Range lists of both generations, every kind of entry in them, and lists that break off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "elf/dwarf_const.h"
#include "elf/dwarf_ranges.h"

enum { TEXT = 0x1000, TEXT_END = 0x2000, ADDR_BYTES = 8, BASE = 0x1100, ID = 7 };

/* A unit whose range lists are @lists, in a file whose code is [TEXT, TEXT_END). */
struct made {
	struct dwarf_image image;
	struct dwarf_account account;
	struct dwarf_unit unit;
	struct dwarf_spans spans;
	struct buf lists, addrs;
};

static void made_init(struct made *made, uint8_t version)
{
	*made = (struct made){
		.account = {.fuel_bytes = 1 << 20},
		.image = {.exec = {{TEXT, TEXT_END}}, .exec_cnt = 1},
		.unit = {.sizes = {.version = version, .addr_bytes = ADDR_BYTES, .off_bytes = 4},
			 .low_pc = BASE},
	};
	made->image.account = &made->account;
	made->unit.image = &made->image;
	buf_init(&made->lists, 4096);
	buf_init(&made->addrs, 4096);
}

static void made_deinit(struct made *made)
{
	dwarf_spans_deinit(&made->spans);
	buf_deinit(&made->lists);
	buf_deinit(&made->addrs);
}

static void add_number(struct buf *buf, uint64_t number, size_t bytes)
{
	buf_add(buf, &number, bytes);
}

/* An address, or a number below 128, as ULEB128. */
static void add_entry(struct made *made, uint8_t kind, uint64_t left, size_t left_bytes,
		      uint64_t right, size_t right_bytes)
{
	add_number(&made->lists, kind, 1);
	add_number(&made->lists, left, left_bytes);
	add_number(&made->lists, right, right_bytes);
}

static void lend(struct made *made)
{
	enum dwarf_section lists = made->unit.sizes.version >= 5 ? DWARF_RNGLISTS : DWARF_RANGES;

	made->image.sections[lists] =
		(struct dwarf_bytes){(const uint8_t *)made->lists.data, made->lists.len, false};
	made->image.sections[DWARF_ADDR] =
		(struct dwarf_bytes){(const uint8_t *)made->addrs.data, made->addrs.len, false};
}

/* What an entry with DW_AT_ranges of @form and @number gives. */
static int read_list(struct made *made, uint16_t form, uint64_t number)
{
	struct dwarf_where where = {.ranges = {.form = form, .number = number}};

	lend(made);
	made->spans.cnt = 0;
	return dwarf_spans_add(&made->spans, &made->unit, &where, ID);
}

static void check_spans(const struct made *made, const uint64_t (*wanted)[2], size_t cnt)
{
	assert_int_equal(made->spans.cnt, cnt);
	for (size_t i = 0; i < cnt; i++) {
		assert_int_equal(made->spans.items[i].lo, wanted[i][0]);
		assert_int_equal(made->spans.items[i].hi, wanted[i][1]);
		assert_int_equal(made->spans.items[i].id, ID);
	}
}

/* Every kind of DWARF 5; entries of nothing, and of what is not code, are left out. */
static void test_rnglist(void **state)
{
	static const uint64_t wanted[][2] = {
		{BASE + 1, BASE + 2}, {0x1234, 0x1240}, {0x1200, 0x1208}, {0x1300, 0x1310},
		{0x1400, 0x1500},     {0x1600, 0x1620}, {0x1201, 0x1203},
	};
	struct made made;

	made_init(&made, 5);
	add_number(&made.addrs, 0x1234, ADDR_BYTES);
	add_number(&made.addrs, 0x1240, ADDR_BYTES);
	add_number(&made.addrs, 0x1200, ADDR_BYTES);
	add_entry(&made, DW_RLE_offset_pair, 1, 1, 2, 1);
	add_entry(&made, DW_RLE_offset_pair, 3, 1, 3, 1);
	add_entry(&made, DW_RLE_startx_endx, 0, 1, 1, 1);
	add_entry(&made, DW_RLE_startx_length, 2, 1, 8, 1);
	add_entry(&made, DW_RLE_base_address, 0x1300, ADDR_BYTES, 0, 0);
	add_entry(&made, DW_RLE_offset_pair, 0, 1, 0x10, 1);
	add_entry(&made, DW_RLE_start_end, 0x1400, ADDR_BYTES, 0x1500, ADDR_BYTES);
	add_entry(&made, DW_RLE_start_end, 0, ADDR_BYTES, 0x10, ADDR_BYTES);
	add_entry(&made, DW_RLE_start_length, 0x1600, ADDR_BYTES, 0x20, 1);
	add_entry(&made, DW_RLE_base_addressx, 2, 1, 0, 0);
	add_entry(&made, DW_RLE_offset_pair, 1, 1, 3, 1);
	add_entry(&made, DW_RLE_end_of_list, 0, 0, 0, 0);
	add_entry(&made, DW_RLE_offset_pair, 4, 1, 5, 1);
	assert_int_equal(read_list(&made, DW_FORM_sec_offset, 0), 0);
	check_spans(&made, wanted, sizeof(wanted) / sizeof(*wanted));
	made_deinit(&made);
}

/* A list that breaks off, names an address or uses a kind that is not there ends; what was before
 * counts. */
static void test_broken_rnglist(void **state)
{
	static const uint64_t wanted[][2] = {{BASE + 1, BASE + 2}};
	static const uint8_t kinds[] = {DW_RLE_startx_endx, DW_RLE_startx_length,
					DW_RLE_base_addressx, DW_RLE_start_end, 0x7f};
	struct made made;

	for (size_t i = 0; i < sizeof(kinds); i++) {
		made_init(&made, 5);
		add_number(&made.addrs, TEXT, ADDR_BYTES);
		add_entry(&made, DW_RLE_offset_pair, 1, 1, 2, 1);
		add_entry(&made, kinds[i], 1, 1, 2, 1);
		assert_int_equal(read_list(&made, DW_FORM_sec_offset, 0), 0);
		check_spans(&made, wanted, 1);
		assert_int_equal(read_list(&made, DW_FORM_sec_offset, made.lists.len + 1), 0);
		check_spans(&made, NULL, 0);
		made_deinit(&made);
	}
}

/* By its number in the table of offsets, which are counted from that table's begin. */
static void test_rnglistx(void **state)
{
	static const uint64_t wanted[][2] = {{BASE + 1, BASE + 2}};
	struct made made;

	made_init(&made, 5);
	add_number(&made.lists, 0, 4); /* a part's header */
	made.unit.rnglists_base = made.lists.len;
	add_number(&made.lists, 8, 4);
	add_number(&made.lists, 9, 4);
	add_entry(&made, DW_RLE_end_of_list, 0, 0, 0, 0);
	add_entry(&made, DW_RLE_offset_pair, 1, 1, 2, 1);
	add_entry(&made, DW_RLE_end_of_list, 0, 0, 0, 0);
	assert_int_equal(read_list(&made, DW_FORM_rnglistx, 0), 0);
	check_spans(&made, NULL, 0);
	assert_int_equal(read_list(&made, DW_FORM_rnglistx, 1), 0);
	check_spans(&made, wanted, 1);
	assert_int_equal(read_list(&made, DW_FORM_rnglistx, 3), 0);
	check_spans(&made, NULL, 0);
	assert_int_equal(read_list(&made, DW_FORM_rnglistx, UINT64_MAX), 0);
	check_spans(&made, NULL, 0);
	made_deinit(&made);
}

/* Of DWARF 4: pairs from the unit's base, until one of zeroes; all ones choose another base. */
static void test_ranges(void **state)
{
	static const uint64_t wanted[][2] = {{BASE + 1, BASE + 2}, {0x1204, 0x1208}};
	const uint64_t words[] = {1, 2, UINT64_MAX, 0x1200, 4, 8, 0x5000, 0x5001, 0, 0, 5, 6};
	struct made made;

	made_init(&made, 4);
	buf_add(&made.lists, words, sizeof(words));
	assert_int_equal(read_list(&made, DW_FORM_sec_offset, 0), 0);
	check_spans(&made, wanted, 2);
	made.lists.len = 7 * sizeof(uint64_t); /* in the middle of a pair */
	assert_int_equal(read_list(&made, DW_FORM_sec_offset, 0), 0);
	check_spans(&made, wanted, 2);
	made_deinit(&made);
}

/* Before DWARF 5 a split unit's lists are in the executable, from where the skeleton says. */
static void test_split_ranges(void **state)
{
	static const uint64_t wanted[][2] = {{BASE + 4, BASE + 8}};
	const uint64_t words[] = {1, 2, 4, 8, 0, 0};
	struct dwarf_where where = {.ranges = {.form = DW_FORM_sec_offset}};
	struct made made, split;

	made_init(&made, 4);
	made_init(&split, 4);
	buf_add(&made.lists, words, sizeof(words));
	made.unit.ranges_base = 2 * sizeof(uint64_t);
	split.unit.skeleton = &made.unit;
	lend(&made);
	assert_int_equal(dwarf_spans_add(&split.spans, &split.unit, &where, ID), 0);
	check_spans(&split, wanted, 1);
	made_deinit(&made);
	made_deinit(&split);
}

/* low_pc with high_pc as a length or as an address; without either there is no code. */
static void test_pcs(void **state)
{
	const struct dwarf_value low = {.form = DW_FORM_addr, .number = 0x1200};
	const struct dwarf_where wheres[] = {
		{.low_pc = low, .high_pc = {.form = DW_FORM_data4, .number = 8}},
		{.low_pc = low, .high_pc = {.form = DW_FORM_addr, .number = 0x1208}},
		{.low_pc = low, .high_pc = {.form = DW_FORM_addrx, .number = 5}},
		{.low_pc = low},
		{.high_pc = low},
		{.low_pc = low, .high_pc = {.form = DW_FORM_addr, .number = 0x11ff}},
	};
	struct made made;

	made_init(&made, 5);
	lend(&made);
	for (size_t i = 0; i < sizeof(wheres) / sizeof(*wheres); i++) {
		static const uint64_t wanted[][2] = {{0x1200, 0x1208}};

		made.spans.cnt = 0;
		assert_int_equal(dwarf_spans_add(&made.spans, &made.unit, &wheres[i], ID), 0);
		check_spans(&made, wanted, i < 2);
	}
	made_deinit(&made);
}

/* Lists that many entries share are paid for each time, and end when there is nothing left. */
static void test_fuel(void **state)
{
	const uint64_t words[] = {1, 2, 3, 4, 0, 0};
	struct made made;

	for (uint8_t version = 4; version <= 5; version++) {
		made_init(&made, version);
		if (version == 4)
			buf_add(&made.lists, words, sizeof(words));
		add_entry(&made, DW_RLE_offset_pair, 1, 1, 2, 1);
		add_entry(&made, DW_RLE_offset_pair, 3, 1, 4, 1);
		made.account.fuel_bytes = sizeof(struct addr_span);
		assert_int_equal(read_list(&made, DW_FORM_sec_offset, 0), -E2BIG);
		made_deinit(&made);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rnglist),	     cmocka_unit_test(test_broken_rnglist),
		cmocka_unit_test(test_rnglistx),     cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_split_ranges), cmocka_unit_test(test_pcs),
		cmocka_unit_test(test_fuel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
