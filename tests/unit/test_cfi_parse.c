/* SPDX-License-Identifier: Apache-2.0 */
/* The walker over .eh_frame and .debug_frame: versions, augmentations, encodings, absurd records.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "cfi_bytes.h"
#include "unwind/cfi_parse.h"
#include "unwind/cfi_pointer.h"

static struct cfi_bytes bytes;

static int setup(void **state)
{
	memset(&bytes, 0, sizeof(bytes));
	return 0;
}

/* Over a copy of exactly the bytes there are, so that a read past the end is seen by ASan. */
static struct cfi_walk walk_bytes(struct cfi_section section)
{
	struct cfi_walk walk;
	uint8_t *copy = malloc(bytes.len ? bytes.len : 1);

	memcpy(copy, bytes.data, bytes.len);
	section.data = copy;
	section.len = bytes.len;
	section.vaddr = SECTION_VADDR;
	cfi_walk_init(&walk, &section);
	return walk;
}

static void walk_end(struct cfi_walk *walk)
{
	free((void *)walk->section.data);
	cfi_walk_deinit(walk);
}

/* Exactly one FDE is found, [0x1000, 0x1000 + 0x20), and nothing refused. */
static void assert_one_fde(struct cfi_section section)
{
	struct cfi_walk walk = walk_bytes(section);
	struct cfi_fde fde;

	assert_true(cfi_walk_next(&walk, &fde));
	assert_int_equal(fde.start_vaddr, 0x1000);
	assert_int_equal(fde.bytes, 0x20);
	assert_false(cfi_walk_next(&walk, &fde));
	assert_int_equal(walk.refused_cnt, 0);
	walk_end(&walk);
}

/* No FDE is found and @refused records were refused. */
static void assert_refused(struct cfi_section section, size_t refused)
{
	struct cfi_walk walk = walk_bytes(section);
	struct cfi_fde fde;

	assert_false(cfi_walk_next(&walk, &fde));
	assert_int_equal(walk.refused_cnt, refused);
	assert_int_equal(walk.err, 0);
	walk_end(&walk);
}

static void test_usual(void **state)
{
	struct cfi_walk walk;
	struct cfi_fde fde;
	struct reader program;

	cie_usual(&bytes);
	FDE(&bytes, 0x1000, 0x20, 0x41, 0x0e, 0x10);
	FDE(&bytes, 0x3000, 0x40, 0x00);
	walk = walk_bytes((struct cfi_section){0});
	assert_true(cfi_walk_next(&walk, &fde));
	assert_int_equal(fde.start_vaddr, 0x1000);
	assert_int_equal(fde.bytes, 0x20);
	program = cfi_walk_program(&walk, fde.program_off, fde.program_len);
	assert_int_equal(reader_left(&program), 3);
	assert_int_equal(reader_u8(&program), 0x41);
	assert_true(cfi_walk_next(&walk, &fde));
	assert_int_equal(fde.start_vaddr, 0x3000);
	assert_false(cfi_walk_next(&walk, &fde));
	assert_int_equal(walk.cies_cnt, 1);
	assert_int_equal(walk.cies[0].ra_reg, 16);
	assert_int_equal(walk.cies[0].data_align, -8);
	assert_false(walk.cies[0].is_signal);
	walk_end(&walk);
}

static void test_versions(void **state)
{
	static const uint8_t versions[] = {1, 3, 4};

	for (size_t i = 0; i < sizeof(versions); i++) {
		bytes.len = 0;
		cie_open(&bytes, versions[i], "zR", 16);
		PUT(&bytes, 1, 0x1b);
		record_close(&bytes);
		FDE(&bytes, 0x1000, 0x20, 0x00);
		assert_one_fde((struct cfi_section){0});
	}
	for (uint8_t version = 5; version < 8; version++) {
		bytes.len = 0;
		cie_open(&bytes, version, "zR", 16);
		PUT(&bytes, 1, 0x1b);
		record_close(&bytes);
		FDE(&bytes, 0x1000, 0x20, 0x00);
		assert_refused((struct cfi_section){0}, 1);
	}
}

/* Version 1 has the return address column as a byte, 3 as a ULEB128. */
static void test_ra_column(void **state)
{
	struct cfi_walk walk;
	struct cfi_fde fde;

	cie_open(&bytes, 1, "zR", 0x90);
	PUT(&bytes, 1, 0x1b);
	record_close(&bytes);
	FDE(&bytes, 0x1000, 0x20, 0x00);
	cie_open(&bytes, 3, "zR", 0x90);
	PUT(&bytes, 0x01, 1, 0x1b);
	record_close(&bytes);
	FDE(&bytes, 0x2000, 0x20, 0x00);
	walk = walk_bytes((struct cfi_section){0});
	assert_true(cfi_walk_next(&walk, &fde));
	assert_true(cfi_walk_next(&walk, &fde));
	assert_int_equal(walk.cies[0].ra_reg, 0x90);
	assert_int_equal(walk.cies[1].ra_reg, 0x90);
	walk_end(&walk);
}

static void test_augmentations(void **state)
{
	struct cfi_walk walk;
	struct cfi_fde fde;

	/* Personality (indirect pcrel sdata4), LSDA, address encoding, signal frame, B key, MTE,
	 * and a letter that nobody knows, which the length lets us skip. */
	cie_open(&bytes, 1, "zPLRSBG?", 16);
	PUT(&bytes, 9, 0x9b, 1, 2, 3, 4, 0x1b, 0x1b, 0xaa, 0xbb);
	record_close(&bytes);
	record_open(&bytes);
	put_u32(&bytes, (uint32_t)(bytes.len - bytes.cie));
	put_u32(&bytes, (uint32_t)(0x1000 - (SECTION_VADDR + bytes.len)));
	put_u32(&bytes, 0x20);
	PUT(&bytes, 4, 9, 9, 9, 9, 0x41);
	record_close(&bytes);
	walk = walk_bytes((struct cfi_section){0});
	assert_true(cfi_walk_next(&walk, &fde));
	assert_int_equal(fde.start_vaddr, 0x1000);
	assert_int_equal(fde.program_len, 1);
	assert_true(walk.cies[0].is_signal);
	walk_end(&walk);
}

static void test_unknown_augmentation_refused(void **state)
{
	cie_open(&bytes, 1, "eh", 16);
	record_close(&bytes);
	FDE(&bytes, 0x1000, 0x20, 0x00);
	assert_refused((struct cfi_section){0}, 1);
}

/* An FDE whose address is written by @enc as @raw (@raw_len bytes), its length by the same format
 * as 0x20. */
static void put_encoded(uint8_t enc, const void *raw, const void *len, size_t raw_len)
{
	bytes.len = 0;
	cie_open(&bytes, 1, "zR", 16);
	PUT(&bytes, 1, enc);
	record_close(&bytes);
	record_open(&bytes);
	put_u32(&bytes, (uint32_t)(bytes.len - bytes.cie));
	put(&bytes, raw, raw_len);
	put(&bytes, len, raw_len);
	PUT(&bytes, 0);
	record_close(&bytes);
}

static void test_encodings(void **state)
{
	static const uint8_t leb[] = {0x80, 0x20}, leb_len[] = {0xa0, 0x00};
	const uint64_t u64 = 0x1000, len64 = 0x20, data64 = 0x1000 - 0x7000;
	const uint32_t u32 = 0x1000, len32 = 0x20, text32 = 0x1000 - 0x600000u;
	const uint16_t u16 = 0x1000, len16 = 0x20;
	struct cfi_section section = {.text_vaddr = 0x600000, .data_vaddr = 0x7000};

	put_encoded(0x00, &u64, &len64, 8);
	assert_one_fde(section);
	put_encoded(0x01, leb, leb_len, 2);
	assert_one_fde(section);
	put_encoded(0x02, &u16, &len16, 2);
	assert_one_fde(section);
	put_encoded(0x03, &u32, &len32, 4);
	assert_one_fde(section);
	put_encoded(0x04, &u64, &len64, 8);
	assert_one_fde(section);
	put_encoded(0x09, leb, leb_len, 2);
	assert_one_fde(section);
	put_encoded(0x0a, &u16, &len16, 2);
	assert_one_fde(section);
	put_encoded(0x0b, &u32, &len32, 4);
	assert_one_fde(section);
	put_encoded(0x0c, &u64, &len64, 8);
	assert_one_fde(section);
	put_encoded(0x2b, &text32, &len32, 4);
	assert_one_fde(section);
	put_encoded(0x3c, &data64, &len64, 8);
	assert_one_fde(section);
	/* A function's start relative to itself: nothing is known yet, so 0. */
	put_encoded(0x4b, &u32, &len32, 4);
	assert_one_fde(section);
}

static void test_encodings_refused(void **state)
{
	static const uint8_t refused[] = {0x9b, 0x05, 0x0d, 0x0f, 0x50, 0x60, 0x70, 0xff};
	const uint64_t u64 = 0x1000, len64 = 0x20;

	for (size_t i = 0; i < sizeof(refused); i++) {
		put_encoded(refused[i], &u64, &len64, 8);
		assert_refused((struct cfi_section){0}, 1);
	}
}

/* pcrel in front of the section as well as behind it. */
static void test_pcrel_is_signed(void **state)
{
	struct cfi_walk walk;
	struct cfi_fde fde;

	cie_usual(&bytes);
	FDE(&bytes, SECTION_VADDR + 0x10000, 0x20, 0x00);
	walk = walk_bytes((struct cfi_section){0});
	assert_true(cfi_walk_next(&walk, &fde));
	assert_int_equal(fde.start_vaddr, SECTION_VADDR + 0x10000);
	walk_end(&walk);
}

static void put_debug_frame(uint32_t cie_off)
{
	record_open(&bytes);
	put_u32(&bytes, UINT32_MAX);
	PUT(&bytes, 4, 0, 8, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1);
	record_close(&bytes);
	record_open(&bytes);
	put_u32(&bytes, cie_off);
	put_u64(&bytes, 0x1000);
	put_u64(&bytes, 0x20);
	record_close(&bytes);
}

static void test_debug_frame(void **state)
{
	const struct cfi_section section = {.is_debug_frame = true};

	put_debug_frame(0);
	assert_one_fde(section);
	bytes.len = 0;
	put_debug_frame(0x7fffffff);
	assert_refused(section, 1);
}

/* The 64-bit format: lengths and ids of 8 bytes after the escape. */
static void test_dwarf64(void **state)
{
	const struct cfi_section section = {.is_debug_frame = true};

	put_u32(&bytes, UINT32_MAX);
	put_u64(&bytes, 8 + 5);
	put_u64(&bytes, UINT64_MAX);
	PUT(&bytes, 3, 0, 1, 0x78, 16);
	put_u32(&bytes, UINT32_MAX);
	put_u64(&bytes, 8 + 16);
	put_u64(&bytes, 0);
	put_u64(&bytes, 0x1000);
	put_u64(&bytes, 0x20);
	assert_one_fde(section);
}

/* CIE pointers to the FDE itself, to another FDE, behind the section's end and before its start. */
static void test_absurd_cie_pointers(void **state)
{
	size_t first_fde;

	cie_usual(&bytes);
	first_fde = bytes.len;
	bytes.cie = bytes.len;
	FDE(&bytes, 0x1000, 0x20, 0x00);
	bytes.cie = first_fde;
	FDE(&bytes, 0x1000, 0x20, 0x00);
	bytes.cie = 0x10000;
	FDE(&bytes, 0x1000, 0x20, 0x00);
	bytes.cie = (size_t)-0x10000;
	FDE(&bytes, 0x1000, 0x20, 0x00);
	/* Into the middle of the CIE: whatever is there, the walk ends. */
	bytes.cie = 1;
	FDE(&bytes, 0x1000, 0x20, 0x00);
	assert_refused((struct cfi_section){0}, 5);
}

static void test_terminator(void **state)
{
	struct cfi_walk walk;
	struct cfi_fde fde;

	cie_usual(&bytes);
	put_u32(&bytes, 0);
	FDE(&bytes, 0x1000, 0x20, 0x00);
	/* A section of known length goes on behind a stray terminator... */
	assert_one_fde((struct cfi_section){0});
	/* ...one of unknown length ends there. */
	walk = walk_bytes((struct cfi_section){.is_open = true});
	assert_false(cfi_walk_next(&walk, &fde));
	assert_int_equal(walk.refused_cnt, 0);
	walk_end(&walk);
}

/* Whatever byte the section is cut at: no read past the end, and nothing but refusals. */
static void test_truncated(void **state)
{
	size_t whole;

	cie_usual(&bytes);
	FDE(&bytes, 0x1000, 0x20, 0x41, 0x0e, 0x10);
	whole = bytes.len;
	for (size_t len = 0; len < whole; len++) {
		struct cfi_walk walk;
		struct cfi_fde fde;

		bytes.len = len;
		walk = walk_bytes((struct cfi_section){0});
		assert_false(cfi_walk_next(&walk, &fde));
		walk_end(&walk);
	}
}

static void test_other_address_sizes_refused(void **state)
{
	cie_open(&bytes, 4, "zR", 16);
	bytes.data[bytes.len - 5] = 4; /* address_size */
	PUT(&bytes, 1, 0x1b);
	record_close(&bytes);
	FDE(&bytes, 0x1000, 0x20, 0x00);
	assert_refused((struct cfi_section){0}, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_usual, setup),
		cmocka_unit_test_setup(test_versions, setup),
		cmocka_unit_test_setup(test_ra_column, setup),
		cmocka_unit_test_setup(test_augmentations, setup),
		cmocka_unit_test_setup(test_unknown_augmentation_refused, setup),
		cmocka_unit_test_setup(test_encodings, setup),
		cmocka_unit_test_setup(test_encodings_refused, setup),
		cmocka_unit_test_setup(test_pcrel_is_signed, setup),
		cmocka_unit_test_setup(test_debug_frame, setup),
		cmocka_unit_test_setup(test_dwarf64, setup),
		cmocka_unit_test_setup(test_absurd_cie_pointers, setup),
		cmocka_unit_test_setup(test_terminator, setup),
		cmocka_unit_test_setup(test_truncated, setup),
		cmocka_unit_test_setup(test_other_address_sizes_refused, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
