/* SPDX-License-Identifier: Apache-2.0 */
/* The checked reader: every read against the end, sticky errors, number forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/reader.h"

enum { LEB_MAX = 10 };

/* A copy of exactly @len bytes on the heap, so that a read past the end is seen by ASan. */
static struct reader heap_reader(const void *data, size_t len, void **memory)
{
	struct reader rd;

	*memory = malloc(len ? len : 1);
	assert_non_null(*memory);
	memcpy(*memory, data, len);
	reader_init(&rd, *memory, len);
	return rd;
}

static void test_fixed_width(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	struct reader rd;

	reader_init(&rd, bytes, sizeof(bytes));
	assert_int_equal(reader_u8(&rd), 0x01);
	assert_int_equal(reader_u16(&rd), 0x0302);
	assert_int_equal(reader_u32(&rd), 0x07060504);
	assert_true(reader_u64(&rd) == UINT64_C(0x0f0e0d0c0b0a0908));
	assert_true(reader_done(&rd));
	assert_int_equal(rd.err, 0);

	reader_init(&rd, bytes, sizeof(bytes));
	rd.big_endian = true;
	assert_int_equal(reader_u8(&rd), 0x01);
	assert_int_equal(reader_u16(&rd), 0x0203);
	assert_int_equal(reader_u32(&rd), 0x04050607);
	assert_true(reader_u64(&rd) == UINT64_C(0x08090a0b0c0d0e0f));
	assert_int_equal(reader_left(&rd), 0);
}

static void test_cut_fixed_width(void **state)
{
	static const uint8_t bytes[7] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	void *memory;
	struct reader rd = heap_reader(bytes, sizeof(bytes), &memory);

	assert_true(reader_u64(&rd) == 0);
	assert_int_equal(rd.err, -EBADMSG);
	assert_int_equal(reader_offset(&rd), 0);
	free(memory);
	rd = heap_reader(bytes, 3, &memory);
	assert_int_equal(reader_u32(&rd), 0);
	assert_int_equal(rd.err, -EBADMSG);
	free(memory);
	rd = heap_reader(bytes, 1, &memory);
	assert_int_equal(reader_u16(&rd), 0);
	assert_int_equal(rd.err, -EBADMSG);
	free(memory);
}

/* After a failure nothing moves and everything is 0, though bytes are left. */
static void test_sticky_error(void **state)
{
	struct reader rd, sub;
	size_t len = 99;

	reader_init(&rd, "12ab\0cd,", 8);
	reader_skip(&rd, 9);
	assert_int_equal(rd.err, -EBADMSG);
	assert_true(reader_done(&rd));
	assert_int_equal(reader_u8(&rd), 0);
	assert_int_equal(reader_u16(&rd), 0);
	assert_int_equal(reader_u32(&rd), 0);
	assert_true(reader_u64(&rd) == 0);
	assert_true(reader_uleb128(&rd) == 0);
	assert_true(reader_sleb128(&rd) == 0);
	assert_true(reader_number(&rd, 10) == 0);
	assert_null(reader_bytes(&rd, 1));
	assert_null(reader_cstr(&rd, &len));
	assert_int_equal(len, 0);
	len = 99;
	assert_null(reader_until(&rd, ',', &len));
	assert_int_equal(len, 0);
	assert_false(reader_accept(&rd, '1'));
	reader_seek(&rd, 2);
	sub = reader_sub(&rd, 1);
	assert_int_equal(sub.err, -EBADMSG);
	assert_int_equal(reader_left(&sub), 0);
	assert_int_equal(reader_offset(&rd), 0);
	assert_int_equal(rd.err, -EBADMSG);
}

static void test_empty(void **state)
{
	struct reader rd;
	size_t len;

	reader_init(&rd, NULL, 0);
	assert_true(reader_done(&rd));
	assert_int_equal(rd.err, 0);
	assert_null(reader_until(&rd, ',', &len));
	assert_int_equal(rd.err, 0);
	assert_non_null(reader_bytes(&rd, 0));
	assert_int_equal(rd.err, 0);
	assert_null(reader_cstr(&rd, NULL));
	assert_int_equal(rd.err, -EBADMSG);
}

static size_t encode_uleb(uint64_t value, uint8_t out[LEB_MAX])
{
	size_t len = 0;

	do {
		out[len++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		value >>= 7;
	} while (value);
	return len;
}

static size_t encode_sleb(int64_t value, uint8_t out[LEB_MAX])
{
	size_t len = 0;
	bool more = true;

	while (more) {
		uint8_t byte = value & 0x7f;

		value >>= 7; /* arithmetic, as gcc and clang define it */
		more = !((value == 0 && !(byte & 0x40)) || (value == -1 && (byte & 0x40)));
		out[len++] = byte | (more ? 0x80 : 0);
	}
	return len;
}

/* @bytes must read as @value, and be malformed with any number of bytes fewer. */
static void check_leb(const uint8_t *bytes, size_t len, uint64_t value, bool is_signed)
{
	for (size_t cut = 0; cut <= len; cut++) {
		void *memory;
		struct reader rd = heap_reader(bytes, cut, &memory);
		uint64_t got = is_signed ? (uint64_t)reader_sleb128(&rd) : reader_uleb128(&rd);

		assert_int_equal(rd.err, cut == len ? 0 : -EBADMSG);
		assert_true(got == (cut == len ? value : 0));
		assert_int_equal(reader_offset(&rd), cut == len ? len : 0);
		free(memory);
	}
}

static void test_leb128_round_trip(void **state)
{
	uint8_t bytes[LEB_MAX];

	for (unsigned int bit = 0; bit < 64; bit++) {
		for (int delta = -2; delta <= 2; delta++) {
			uint64_t value = (UINT64_C(1) << bit) + (uint64_t)(int64_t)delta;

			check_leb(bytes, encode_uleb(value, bytes), value, false);
			check_leb(bytes, encode_sleb((int64_t)value, bytes), value, true);
			value = ~value;
			check_leb(bytes, encode_uleb(value, bytes), value, false);
			check_leb(bytes, encode_sleb((int64_t)value, bytes), value, true);
		}
	}
}

static void check_bad_leb(const char *bytes, size_t len, bool is_signed)
{
	void *memory;
	struct reader rd = heap_reader(bytes, len, &memory);

	if (is_signed)
		assert_true(reader_sleb128(&rd) == 0);
	else
		assert_true(reader_uleb128(&rd) == 0);
	assert_int_equal(rd.err, -EBADMSG);
	assert_int_equal(reader_offset(&rd), 0);
	free(memory);
}

static void test_leb128_overflow(void **state)
{
	struct reader rd;

	/* The tenth byte: bit 63 is the last. */
	reader_init(&rd, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 10);
	assert_true(reader_uleb128(&rd) == UINT64_C(1) << 63);
	check_bad_leb("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 10, false);
	check_bad_leb("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10, false);
	check_bad_leb("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11, false);
	check_bad_leb("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x81\x00", 11, false);

	reader_init(&rd, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 10);
	assert_true(reader_sleb128(&rd) == INT64_MIN);
	reader_init(&rd, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", 10);
	assert_true(reader_sleb128(&rd) == INT64_MAX);
	check_bad_leb("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 10, true);
	check_bad_leb("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x3f", 10, true);
	check_bad_leb("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11, true);

	/* Padding within 64 bits is legal: assemblers reserve room that way. */
	reader_init(&rd, "\x83\x80\x80\x00\xfd\xff\xff\x7f", 8);
	assert_true(reader_uleb128(&rd) == 3);
	assert_true(reader_sleb128(&rd) == -3);
	assert_true(reader_done(&rd) && !rd.err);
}

static void test_strings(void **state)
{
	void *memory;
	struct reader rd = heap_reader("one\0\0cut", 8, &memory);
	size_t len = 99;

	assert_string_equal(reader_cstr(&rd, &len), "one");
	assert_int_equal(len, 3);
	assert_string_equal(reader_cstr(&rd, NULL), "");
	assert_int_equal(reader_offset(&rd), 5);
	assert_null(reader_cstr(&rd, &len));
	assert_int_equal(len, 0);
	assert_int_equal(rd.err, -EBADMSG);
	assert_int_equal(reader_offset(&rd), 5);
	free(memory);
}

static void test_until(void **state)
{
	void *memory;
	struct reader rd = heap_reader("a;;bcd", 6, &memory);
	const char *field;
	size_t len;

	field = reader_until(&rd, ';', &len);
	assert_memory_equal(field, "a", 1);
	assert_int_equal(len, 1);
	assert_non_null(reader_until(&rd, ';', &len));
	assert_int_equal(len, 0);
	field = reader_until(&rd, ';', &len);
	assert_int_equal(len, 3);
	assert_memory_equal(field, "bcd", 3);
	assert_null(reader_until(&rd, ';', &len));
	assert_int_equal(rd.err, 0);
	free(memory);

	/* A delimiter at the very end closes the last field and opens no empty one. */
	rd = heap_reader("x\n", 2, &memory);
	assert_non_null(reader_until(&rd, '\n', &len));
	assert_int_equal(len, 1);
	assert_null(reader_until(&rd, '\n', &len));
	free(memory);
}

static void test_seek_skip(void **state)
{
	struct reader rd;

	reader_init(&rd, "abcdef", 6);
	reader_skip(&rd, 4);
	assert_int_equal(reader_u8(&rd), 'e');
	reader_seek(&rd, 1);
	assert_int_equal(reader_u8(&rd), 'b');
	reader_seek(&rd, 6);
	assert_true(reader_done(&rd));
	assert_int_equal(rd.err, 0);
	reader_seek(&rd, 7);
	assert_int_equal(rd.err, -EBADMSG);
	assert_int_equal(reader_offset(&rd), 6);

	/* A length that would wrap pos around. */
	reader_init(&rd, "abcdef", 6);
	reader_skip(&rd, 2);
	reader_skip(&rd, SIZE_MAX);
	assert_int_equal(rd.err, -EBADMSG);
	assert_int_equal(reader_offset(&rd), 2);
}

static void test_sub(void **state)
{
	struct reader rd, sub;

	reader_init(&rd, "\x00\x01\x00\x02\x00\x03", 6);
	rd.big_endian = true;
	sub = reader_sub(&rd, 4);
	assert_int_equal(reader_offset(&rd), 4);
	assert_int_equal(reader_u16(&sub), 1);
	assert_int_equal(reader_u16(&sub), 2);
	assert_int_equal(reader_u8(&sub), 0);
	assert_int_equal(sub.err, -EBADMSG);
	assert_int_equal(rd.err, 0); /* the record was bad, not what holds it */
	assert_int_equal(reader_u16(&rd), 3);

	sub = reader_sub(&rd, 1);
	assert_int_equal(rd.err, -EBADMSG);
	assert_int_equal(sub.err, -EBADMSG);
	assert_true(reader_done(&sub));
}

static void test_numbers(void **state)
{
	struct reader rd;

	reader_init(&rd, "1234-7fFf rw", 12);
	assert_true(reader_number(&rd, 10) == 1234);
	assert_false(reader_accept(&rd, ' '));
	assert_true(reader_accept(&rd, '-'));
	assert_true(reader_number(&rd, 16) == 0x7fff);
	assert_true(reader_accept(&rd, ' '));
	assert_true(reader_number(&rd, 10) == 0);
	assert_int_equal(rd.err, -EBADMSG);
	assert_int_equal(reader_offset(&rd), 10);

	reader_init(&rd, "18446744073709551615", 20);
	assert_true(reader_number(&rd, 10) == UINT64_MAX);
	reader_init(&rd, "18446744073709551616", 20);
	assert_true(reader_number(&rd, 10) == 0);
	assert_int_equal(rd.err, -EBADMSG);
	assert_int_equal(reader_offset(&rd), 0);
	reader_init(&rd, "ffffffffffffffff", 16);
	assert_true(reader_number(&rd, 16) == UINT64_MAX);
	reader_init(&rd, "10000000000000000", 17);
	assert_true(reader_number(&rd, 16) == 0);
	assert_int_equal(rd.err, -EBADMSG);
	/* 'a' is no decimal digit. */
	reader_init(&rd, "9a", 2);
	assert_true(reader_number(&rd, 10) == 9);
	assert_int_equal(reader_left(&rd), 1);
}

static void random_op(struct reader *rd, uint64_t random)
{
	size_t len = (random >> 8) % 24;
	struct reader sub;

	switch (random % 12) {
	case 0:
		reader_u8(rd);
		break;
	case 1:
		reader_u16(rd);
		break;
	case 2:
		reader_u32(rd);
		break;
	case 3:
		reader_u64(rd);
		break;
	case 4:
		reader_uleb128(rd);
		break;
	case 5:
		reader_sleb128(rd);
		break;
	case 6:
		reader_cstr(rd, &len);
		break;
	case 7:
		reader_until(rd, (char)(random >> 16), &len);
		break;
	case 8:
		reader_seek(rd, len);
		break;
	case 9:
		sub = reader_sub(rd, len);
		assert_true(sub.err || reader_left(&sub) == len);
		break;
	case 10:
		reader_number(rd, random & 0x100 ? 10 : 16);
		break;
	default:
		reader_skip(rd, len);
		break;
	}
}

/* Whatever is read from whatever bytes, the cursor stays within them and an error stays put. */
static void test_random_reads(void **state)
{
	uint64_t random = 1;

	for (int round = 0; round < 20000; round++) {
		uint8_t bytes[40];
		struct reader rd;
		void *memory;

		for (size_t i = 0; i < sizeof(bytes); i++) {
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
			bytes[i] = (uint8_t)(random >> 56);
		}
		rd = heap_reader(bytes, random >> 33 & 31, &memory);
		for (int op = 0; op < 12; op++) {
			const uint8_t *before = rd.pos;
			int err = rd.err;

			random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
			random_op(&rd, random >> 24);
			assert_true(rd.pos >= rd.start && rd.pos <= rd.end);
			if (rd.err)
				assert_ptr_equal(rd.pos, before);
			if (err)
				assert_int_equal(rd.err, err);
		}
		free(memory);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixed_width),	  cmocka_unit_test(test_cut_fixed_width),
		cmocka_unit_test(test_sticky_error),	  cmocka_unit_test(test_empty),
		cmocka_unit_test(test_leb128_round_trip), cmocka_unit_test(test_leb128_overflow),
		cmocka_unit_test(test_strings),		  cmocka_unit_test(test_until),
		cmocka_unit_test(test_seek_skip),	  cmocka_unit_test(test_sub),
		cmocka_unit_test(test_numbers),		  cmocka_unit_test(test_random_reads),
	};

	return cmocka_run_group_tests_name("base/reader", tests, NULL, NULL);
}
