/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a whole image: what governs each file offset, pages, and where the CFI is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "cfi_image.h"
#include "unwind/fde_list.h"
#include "unwind/table.h"

enum {
	UNKNOWN = -1, /* in place of a CFA offset */
	LOST = -2,
	PAGE_BYTES = 1 << BP_ROW_PAGE_BITS,
};

static struct cfi_bytes bytes;
static struct image image;
static struct unwind_table *table;

static int setup(void **state)
{
	memset(&bytes, 0, sizeof(bytes));
	image_init(&image, EM_X86_64);
	cie_usual(&bytes);
	table = NULL;
	return 0;
}

static int teardown(void **state)
{
	unwind_table_free(table);
	return 0;
}

/* A function of @len bytes at file offset @off whose frame is @cfa bytes throughout. */
static void function(uint64_t off, uint32_t len, uint8_t cfa)
{
	FDE(&bytes, off - TEXT_OFF + TEXT_VADDR, len, 0x0e, cfa);
}

static void compile_image(void)
{
	unwind_table_free(table);
	table = unwind_table_from_memory(&image, sizeof(image));
	assert_non_null(table);
}

static void compile(void)
{
	image_eh_frame(&image, &bytes);
	compile_image();
}

/* The CFA offset at @off, or UNKNOWN in a gap, LOST where the CFI is not understood. */
static int cfa_at(uint64_t off)
{
	struct bp_rule rule;

	unwind_table_find(table, off, &rule);
	if (rule.kind == BP_RULE_GAP)
		return UNKNOWN;
	return rule.kind == BP_RULE_UNSUPPORTED ? LOST : rule.cfa_off;
}

static void test_rows(void **state)
{
	FDE(&bytes, TEXT_VADDR + 0x100, 0x40, 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x70, 0x0c, 7,
	    8);
	compile();
	assert_int_equal(cfa_at(TEXT_OFF), UNKNOWN);
	assert_int_equal(cfa_at(TEXT_OFF + 0xff), UNKNOWN);
	assert_int_equal(cfa_at(TEXT_OFF + 0x100), 8);
	assert_int_equal(cfa_at(TEXT_OFF + 0x101), 16);
	assert_int_equal(cfa_at(TEXT_OFF + 0x133), 16);
	assert_int_equal(cfa_at(TEXT_OFF + 0x134), 8);
	assert_int_equal(cfa_at(TEXT_OFF + 0x13f), 8);
	assert_int_equal(cfa_at(TEXT_OFF + 0x140), UNKNOWN);
	assert_int_equal(cfa_at(0), UNKNOWN);
	assert_int_equal(cfa_at(UINT64_MAX), UNKNOWN);
	assert_int_equal(cfa_at((uint64_t)1 << 40), UNKNOWN);
	/* Carried in, four of the function, and the gap behind it. */
	assert_int_equal(table->rows.pages[0].cnt, 6);
}

static void test_padding_is_no_gap(void **state)
{
	function(0x2000, 0x31, 16);
	function(0x2040, 0x30, 24);
	function(0x2080, 0x30, 32);
	compile();
	assert_int_equal(cfa_at(0x203f), 16);
	assert_int_equal(cfa_at(0x2040), 24);
	assert_int_equal(cfa_at(0x206f), 24);
	assert_int_equal(cfa_at(0x2070), UNKNOWN);
	assert_int_equal(cfa_at(0x207f), UNKNOWN);
	assert_int_equal(cfa_at(0x2080), 32);
}

/* _fini is as short as padding, but it is code. */
static void test_stub_is_no_padding(void **state)
{
	Elf64_Shdr *fini = image_shdr(&image, IMAGE_FINI);

	function(0x2000, 0x31, 16);
	function(0x2040, 0x33, 24);
	function(0x2080, 0x30, 32);
	fini->sh_type = SHT_PROGBITS;
	fini->sh_addr = TEXT_VADDR + 0x2034 - TEXT_OFF;
	fini->sh_size = 9;
	compile();
	assert_int_equal(cfa_at(0x2030), 16);
	assert_int_equal(cfa_at(0x2034), UNKNOWN);
	assert_int_equal(cfa_at(0x203c), UNKNOWN);
	assert_int_equal(cfa_at(0x207f), 24);
}

static enum bp_rule_kind kind_at(uint64_t off)
{
	struct bp_rule rule;

	unwind_table_find(table, off, &rule);
	return rule.kind;
}

/* The entry point is the bottom, from the byte before it on, unless an FDE says otherwise. */
static void test_entry_point(void **state)
{
	function(0x2000, 0x40, 16);
	image_ehdr(&image)->e_entry = TEXT_VADDR + 0x3000 - TEXT_OFF;
	compile();
	assert_int_equal(kind_at(0x2ffe), BP_RULE_GAP);
	assert_int_equal(kind_at(0x2fff), BP_RULE_END);
	assert_int_equal(kind_at(0x3000 + UNWIND_ENTRY_BYTES - 1), BP_RULE_END);
	assert_int_equal(kind_at(0x3000 + UNWIND_ENTRY_BYTES), BP_RULE_GAP);
	image_ehdr(&image)->e_entry = TEXT_VADDR + 0x2000 - TEXT_OFF;
	compile();
	assert_int_equal(cfa_at(0x2000), 16);
	assert_int_equal(kind_at(0x3000), BP_RULE_GAP);
}

/* Where a frame keeps its CFA in rbx, all rows say what becomes of rbx; elsewhere none does. */
static void test_rbx(void **state)
{
	struct bp_rule rule;

	FDE(&bytes, TEXT_VADDR + 0x2000 - TEXT_OFF, 0x40, 0x41, 0x0e, 16, 0x83, 2);
	compile();
	unwind_table_find(table, 0x2001, &rule);
	assert_int_equal(rule.bx_slot, 0);
	assert_false(table->rules.tracks_bx);
	FDE(&bytes, TEXT_VADDR + 0x2040 - TEXT_OFF, 0x40, 0x0c, 3, 16, 0x41, 0x07, 3);
	compile();
	assert_true(table->rules.tracks_bx);
	unwind_table_find(table, 0x2000, &rule);
	assert_int_equal(rule.bx_slot, 0);
	unwind_table_find(table, 0x2001, &rule);
	assert_int_equal(rule.bx_slot, 2);
	unwind_table_find(table, 0x2041, &rule);
	assert_int_equal(rule.cfa_reg, 3);
	assert_int_equal(rule.bx_slot, -1);
}

/* Padding behind the last function; more than that is a gap. */
static void test_end_of_segment(void **state)
{
	function(EH_OFF - 0x40, 0x31, 16);
	compile();
	assert_int_equal(cfa_at(EH_OFF - 1), 16);
	bytes.len = 0;
	cie_usual(&bytes);
	function(EH_OFF - 0x40, 0x30, 16);
	compile();
	assert_int_equal(cfa_at(EH_OFF - 1), UNKNOWN);
}

static void test_overlap(void **state)
{
	function(0x2000, 0x100, 16);
	function(0x2040, 0x40, 24);
	compile();
	assert_int_equal(cfa_at(0x203f), 16);
	assert_int_equal(cfa_at(0x2040), 24);
	assert_int_equal(cfa_at(0x207f), 24);
	assert_int_equal(cfa_at(0x2080), UNKNOWN);
}

static void test_same_start(void **state)
{
	function(0x2000, 0x40, 16);
	function(0x2000, 0x80, 24);
	compile();
	assert_int_equal(cfa_at(0x2000), 16);
	assert_int_equal(cfa_at(0x2040), UNKNOWN);
	assert_int_equal(table->fdes_cnt, 1);
}

/* The order of the FDEs makes no difference. */
static void test_unsorted(void **state)
{
	struct unwind_table *sorted;

	for (int i = 0; i < 1000; i++)
		function(0x2000 + 0x40 * (uint64_t)i, 0x40, (uint8_t)(8 + 8 * (i % 7)));
	compile();
	sorted = table;
	table = NULL;
	bytes.len = 0;
	cie_usual(&bytes);
	for (int i = 0; i < 1000; i++) {
		int at = i * 377 % 1000;

		function(0x2000 + 0x40 * (uint64_t)at, 0x40, (uint8_t)(8 + 8 * (at % 7)));
	}
	compile();
	assert_int_equal(table->rows.cnt, sorted->rows.cnt);
	assert_memory_equal(table->rows.items, sorted->rows.items,
			    sorted->rows.cnt * sizeof(*sorted->rows.items));
	unwind_table_free(sorted);
}

/* The return address into a trampoline is its first byte, and is looked up minus one. */
static void test_trampoline(void **state)
{
	struct bp_rule rule;

	function(0x2000, 0x40, 16);
	cie_open(&bytes, 1, "zRS", 16);
	PUT(&bytes, 1, 0x1b, 0x0f, 4, 0x77, 0xa0, 0x01, 0x06);
	record_close(&bytes);
	FDE(&bytes, TEXT_VADDR + 0x2040 - TEXT_OFF, 9, 0x00);
	compile();
	assert_int_equal(cfa_at(0x203e), 16);
	for (uint64_t off = 0x203f; off < 0x2049; off++) {
		unwind_table_find(table, off, &rule);
		assert_int_equal(rule.kind, BP_RULE_SIGNAL);
	}
	assert_int_equal(cfa_at(0x2049), UNKNOWN);
}

/* The page of @file_off. */
static const struct row_page *page_at(uint64_t file_off)
{
	size_t page = (file_off >> BP_ROW_PAGE_BITS) - table->rows.first_page;

	assert_true(page < table->rows.pages_cnt);
	return &table->rows.pages[page];
}

/* Every page begins with the rule that is in force there; a page without code has no row. */
static void test_pages(void **state)
{
	static const uint32_t want[] = {0, 2, 1, 2, 0};
	const uint64_t first = TEXT_OFF + PAGE_BYTES, off = first + PAGE_BYTES / 2;

	function(off, 2 * PAGE_BYTES, 16);
	compile();
	assert_int_equal(table->rows.pages_cnt, TEXT_BYTES / PAGE_BYTES);
	for (int i = 0; i < 5; i++) {
		const struct row_page *page = page_at(TEXT_OFF + (uint64_t)i * PAGE_BYTES);

		assert_int_equal(page->cnt, want[i]);
		if (page->cnt)
			assert_int_equal(row_key(table->rows.items[page->first]), 0);
	}
	assert_int_equal(cfa_at(off - 1), UNKNOWN);
	assert_int_equal(cfa_at(off), 16);
	assert_int_equal(cfa_at(first + PAGE_BYTES), 16);
	assert_int_equal(cfa_at(off + 2 * PAGE_BYTES - 1), 16);
	assert_int_equal(cfa_at(off + 2 * PAGE_BYTES), UNKNOWN);
	assert_int_equal(cfa_at(first + 3 * PAGE_BYTES), UNKNOWN);
}

/* A function that starts with a page has no row carried in before it. */
static void test_page_start(void **state)
{
	const uint64_t off = TEXT_OFF + PAGE_BYTES;

	function(off, 0x40, 16);
	compile();
	assert_int_equal(page_at(off)->cnt, 2);
	assert_int_equal(cfa_at(off - 1), UNKNOWN);
	assert_int_equal(cfa_at(off), 16);
}

/* A row for every byte of a page. */
static void test_full_page(void **state)
{
	const uint64_t off = TEXT_OFF + PAGE_BYTES;

	fde_open(&bytes, TEXT_VADDR + PAGE_BYTES, 2 * PAGE_BYTES);
	for (uint32_t i = 0; i < PAGE_BYTES; i++)
		PUT(&bytes, 0x41, 0x0e, (uint8_t)(i % 2 ? 24 : 16));
	record_close(&bytes);
	compile();
	assert_int_equal(page_at(off)->cnt, PAGE_BYTES);
	for (uint32_t i = 1; i < PAGE_BYTES; i++)
		assert_int_equal(cfa_at(off + i), i % 2 ? 16 : 24);
	assert_int_equal(cfa_at(off + PAGE_BYTES), 24);
}

static void test_outside_of_segments(void **state)
{
	function(TEXT_OFF - 0x20, 0x40, 16);
	function(EH_OFF - 0x20, 0x1000, 24);
	function(EH_OFF + 0x1000, 0x40, 32);
	compile();
	assert_int_equal(table->fdes_cnt, 1);
	assert_int_equal(cfa_at(TEXT_OFF), UNKNOWN);
	assert_int_equal(cfa_at(EH_OFF - 1), 24);
}

static void test_not_understood(void **state)
{
	function(0x2000, 0x40, 16);
	FDE(&bytes, TEXT_VADDR + 0x2040 - TEXT_OFF, 0x40, 0x48, 0x3f);
	cie_open(&bytes, 1, "zR", 16);
	PUT(&bytes, 1, 0x1b, 0x3f);
	record_close(&bytes);
	function(0x2080, 0x40, 16);
	compile();
	assert_int_equal(cfa_at(0x203f), 16);
	assert_int_equal(cfa_at(0x2040), 8);
	assert_int_equal(cfa_at(0x2048), LOST);
	assert_int_equal(cfa_at(0x2080), LOST);
	assert_int_equal(cfa_at(0x20c0), UNKNOWN);
}

/* .debug_frame of one function at file offset @off, CFA = rsp + @cfa. */
static void debug_function(struct cfi_bytes *out, uint64_t off, uint8_t cfa)
{
	out->len = 0;
	record_open(out);
	put_u32(out, UINT32_MAX);
	PUT(out, 4, 0, 8, 0, 1, 0x78, 16, 0x0c, 7, cfa, 0x90, 1);
	record_close(out);
	record_open(out);
	put_u32(out, 0);
	put_u64(out, off - TEXT_OFF + TEXT_VADDR);
	put_u64(out, 0x40);
	record_close(out);
}

static void test_debug_frame(void **state)
{
	static struct cfi_bytes debug;

	/* Start-up code only in .eh_frame, which wins where both know. */
	for (uint64_t i = 0; i < UNWIND_FDES_FEW - 1; i++)
		function(0x2000 + 0x40 * i, 0x40, 16);
	image_eh_frame(&image, &bytes);
	debug_function(&debug, 0x3000, 32);
	image_debug_frame(&image, &debug);
	compile_image();
	assert_int_equal(cfa_at(0x2000), 16);
	assert_int_equal(cfa_at(0x3000), 32);
	debug_function(&debug, 0x2000, 32);
	image_debug_frame(&image, &debug);
	compile_image();
	assert_int_equal(cfa_at(0x2000), 16);
	/* One more function, and .debug_frame is not asked. */
	function(0x4000, 0x40, 24);
	image_eh_frame(&image, &bytes);
	debug_function(&debug, 0x3000, 32);
	image_debug_frame(&image, &debug);
	compile_image();
	assert_int_equal(cfa_at(0x3000), UNKNOWN);
}

static void test_separate_debug_file(void **state)
{
	static struct image debug_image;
	static struct cfi_bytes debug;
	struct cfi_sections exe_sections, debug_sections;

	image_init(&debug_image, EM_X86_64);
	debug_function(&debug, 0x3000, 32);
	image_debug_frame(&debug_image, &debug);
	assert_int_equal(cfi_sections_from_memory(&image, sizeof(image), &exe_sections), 0);
	assert_int_equal(
		cfi_sections_from_memory(&debug_image, sizeof(debug_image), &debug_sections), 0);
	table = unwind_table_build(&exe_sections, &debug_sections);
	cfi_sections_deinit(&exe_sections);
	cfi_sections_deinit(&debug_sections);
	assert_non_null(table);
	assert_int_equal(cfa_at(0x3000), 32);
}

static void test_without_section_headers(void **state)
{
	function(0x2000, 0x40, 16);
	put_u32(&bytes, 0);
	/* Behind the terminator is something else. */
	function(0x3000, 0x40, 24);
	image_eh_frame(&image, &bytes);
	image_strip_sections(&image);
	compile_image();
	assert_int_equal(cfa_at(0x2000), 16);
	assert_int_equal(cfa_at(0x3000), UNKNOWN);
}

/* An image of aarch64 with a CIE as GCC writes it: CFA = sp. */
static void begin_aarch64(void)
{
	image_init(&image, EM_AARCH64);
	bytes.len = 0;
	record_open(&bytes);
	bytes.cie = bytes.record;
	put_u32(&bytes, 0);
	PUT(&bytes, 1, 'z', 'R', 0, 4, 0x78, 30, 1, 0x1b, 0x0c, 31, 0);
	record_close(&bytes);
}

static void test_aarch64(void **state)
{
	struct bp_rule rule;

	begin_aarch64();
	FDE(&bytes, TEXT_VADDR + 0x1000, 0x40, 0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3);
	compile();
	unwind_table_find(table, 0x2000, &rule);
	assert_int_equal(rule.cfa_reg, 31);
	assert_int_equal(rule.ra_save, BP_SAVE_SAME);
	unwind_table_find(table, 0x2004, &rule);
	assert_int_equal(rule.cfa_off, 32);
	assert_int_equal(rule.fp_off, -32);
	assert_int_equal(rule.ra_off, -24);
}

/* _start says from its second instruction on that it is the bottom; another function may. */
static void test_aarch64_entry_point(void **state)
{
	begin_aarch64();
	FDE(&bytes, TEXT_VADDR + 0x1000, 0x40, 0x41, 0x07, 30);
	FDE(&bytes, TEXT_VADDR + 0x1040, 0x40, 0x41, 0x07, 30);
	FDE(&bytes, TEXT_VADDR + 0x1080, 0x40, 0x0e, 16);
	image_ehdr(&image)->e_entry = TEXT_VADDR + 0x1000;
	compile();
	assert_int_equal(kind_at(0x2000), BP_RULE_END);
	assert_int_equal(kind_at(0x2004), BP_RULE_END);
	assert_int_equal(kind_at(0x2040), BP_RULE_REG);
	assert_int_equal(kind_at(0x2044), BP_RULE_END);
	image_ehdr(&image)->e_entry = TEXT_VADDR + 0x1080;
	compile();
	assert_int_equal(kind_at(0x2000), BP_RULE_REG);
	assert_int_equal(cfa_at(0x2080), 16);
}

/* glibc's _dl_runtime_resolve(): the PLT has pushed 16 bytes that its CFA leaves out, in all rows.
 */
static void test_aarch64_hidden_push(void **state)
{
	struct bp_rule rule;

	begin_aarch64();
	FDE(&bytes, TEXT_VADDR + 0x1000, 0x40, 0x41, 0x11, 30, 0x7f, 0x41, 0x0e, 0xd0, 0x01);
	/* __longjmp(): the registers are in a jmp_buf at x0. */
	FDE(&bytes, TEXT_VADDR + 0x1040, 0x40, 0x41, 0x0c, 0, 0, 0x11, 30, 0x75);
	compile();
	unwind_table_find(table, 0x2000, &rule);
	assert_int_equal(rule.cfa_off, 16);
	assert_int_equal(rule.ra_save, BP_SAVE_SAME);
	unwind_table_find(table, 0x2004, &rule);
	assert_int_equal(rule.cfa_off, 16);
	assert_int_equal(rule.ra_save, BP_SAVE_CFA);
	assert_int_equal(rule.ra_off, -8);
	unwind_table_find(table, 0x2008, &rule);
	assert_int_equal(rule.cfa_off, 208 + 16);
	assert_int_equal(rule.ra_off, -8);
	unwind_table_find(table, 0x2044, &rule);
	assert_int_equal(rule.cfa_reg, 0);
	assert_int_equal(rule.cfa_off, 0);
	assert_int_equal(rule.ra_off, 88);
}

/* What the vdso does not describe is read from its instructions, between what it does, too. */
static void test_aarch64_vdso(void **state)
{
	static const uint32_t sigreturn[] = {0xd2801168, 0xd4000001};
	Elf64_Shdr *text = image_shdr(&image, IMAGE_FINI);
	struct bp_rule rule;

	begin_aarch64();
	FDE(&bytes, TEXT_VADDR + 0x1000, 0x3c, 0x0e, 32);
	FDE(&bytes, TEXT_VADDR + 0x1080, 0x40, 0x0e, 48);
	memcpy(image.data + NAMES_AT + text->sh_name, ".text", strlen(".text"));
	text->sh_type = SHT_PROGBITS;
	text->sh_addr = TEXT_VADDR + 0x1000;
	text->sh_offset = TEXT_OFF + 0x1000;
	text->sh_size = 0x100;
	memcpy(image.data + 0x2060, sigreturn, sizeof(sigreturn));
	memcpy(image.data + 0x20f8, sigreturn, sizeof(sigreturn));
	compile();
	assert_int_equal(cfa_at(0x203b), 32);
	unwind_table_find(table, 0x203c, &rule);
	assert_int_equal(rule.kind, BP_RULE_REG);
	assert_int_equal(rule.cfa_off, 0);
	assert_int_equal(rule.ra_save, BP_SAVE_SAME);
	assert_int_equal(kind_at(0x205f), BP_RULE_SIGNAL);
	assert_int_equal(kind_at(0x2067), BP_RULE_SIGNAL);
	assert_int_equal(kind_at(0x2068), BP_RULE_REG);
	assert_int_equal(cfa_at(0x2080), 48);
	assert_int_equal(kind_at(0x20f7), BP_RULE_SIGNAL);
	assert_int_equal(kind_at(0x20ff), BP_RULE_SIGNAL);
	assert_int_equal(kind_at(0x2100), BP_RULE_GAP);
}

static void test_no_cfi(void **state)
{
	struct unwind_stats stats;

	compile_image();
	unwind_table_stats(table, &stats);
	assert_int_equal(stats.rows_cnt, 0);
	assert_int_equal(stats.bytes[BP_RULE_GAP], TEXT_BYTES);
	assert_int_equal(cfa_at(0x2000), UNKNOWN);
}

static void test_stats(void **state)
{
	struct unwind_stats stats;
	uint64_t sum = 0;

	function(TEXT_OFF, 0x100, 16);
	function(TEXT_OFF + PAGE_BYTES - 0x80, 0x100, 24);
	compile();
	unwind_table_stats(table, &stats);
	assert_int_equal(stats.bytes[BP_RULE_REG], 0x200);
	for (int kind = 0; kind < BP_RULE_KIND_CNT; kind++)
		sum += stats.bytes[kind];
	assert_int_equal(sum, TEXT_BYTES);
	assert_int_equal(stats.rows_cnt, table->rows.cnt);
	assert_int_equal(stats.inline_cnt, 3); /* the second function's once more, carried in */
}

static void assert_not_ours(void)
{
	errno = 0;
	assert_null(unwind_table_from_memory(&image, sizeof(image)));
	assert_int_equal(errno, EBADMSG);
}

static void test_not_ours(void **state)
{
	image_ehdr(&image)->e_machine = EM_386;
	assert_not_ours();
	image_ehdr(&image)->e_machine = EM_X86_64;
	image_ehdr(&image)->e_ident[EI_CLASS] = ELFCLASS32;
	assert_not_ours();
	image_ehdr(&image)->e_ident[EI_CLASS] = ELFCLASS64;
	image.data[0] = 0;
	assert_not_ours();
	assert_null(unwind_table_open(-1));
	assert_int_equal(errno, EBADF);
}

/* Sizes that the file does not have. */
static void test_absurd_sizes(void **state)
{
	function(0x2000, UINT32_MAX, 16);
	image_eh_frame(&image, &bytes);
	image_phdr(&image, 0)->p_filesz = (uint64_t)1 << 60;
	compile_image();
	assert_int_equal(table->rows.end_off, IMAGE_BYTES);
	assert_int_equal(cfa_at(0x2000), 16);
	image_phdr(&image, 0)->p_offset = UINT64_MAX - 0x10;
	compile_image();
	assert_int_equal(cfa_at(0x2000), UNKNOWN);
	image_shdr(&image, IMAGE_EH_FRAME)->sh_size = (uint64_t)1 << 60;
	errno = 0;
	assert_null(unwind_table_from_memory(&image, sizeof(image)));
	assert_int_equal(errno, EFBIG);
	image_shdr(&image, IMAGE_EH_FRAME)->sh_size = IMAGE_BYTES;
	assert_not_ours();
}

/* Thousands of segments would make every FDE cost thousands of steps. */
static void test_too_many_segments(void **state)
{
	Elf64_Phdr *phdrs = (Elf64_Phdr *)(image.data + DEBUG_OFF);
	Elf64_Phdr text = *image_phdr(&image, 0);

	function(0x2000, 0x40, 16);
	image_eh_frame(&image, &bytes);
	for (int i = 0; i <= EXEC_SEGMENTS_MAX; i++)
		phdrs[i] = text;
	image_ehdr(&image)->e_phoff = DEBUG_OFF;
	image_ehdr(&image)->e_phnum = EXEC_SEGMENTS_MAX;
	compile_image();
	assert_int_equal(cfa_at(0x2000), 16);
	image_ehdr(&image)->e_phnum = EXEC_SEGMENTS_MAX + 1;
	errno = 0;
	assert_null(unwind_table_from_memory(&image, sizeof(image)));
	assert_int_equal(errno, EFBIG);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_rows),
		TEST(test_padding_is_no_gap),
		TEST(test_stub_is_no_padding),
		TEST(test_entry_point),
		TEST(test_rbx),
		TEST(test_end_of_segment),
		TEST(test_overlap),
		TEST(test_same_start),
		TEST(test_unsorted),
		TEST(test_trampoline),
		TEST(test_pages),
		TEST(test_page_start),
		TEST(test_full_page),
		TEST(test_outside_of_segments),
		TEST(test_not_understood),
		TEST(test_debug_frame),
		TEST(test_separate_debug_file),
		TEST(test_without_section_headers),
		TEST(test_aarch64),
		TEST(test_aarch64_entry_point),
		TEST(test_aarch64_hidden_push),
		TEST(test_aarch64_vdso),
		TEST(test_no_cfi),
		TEST(test_stats),
		TEST(test_not_ours),
		TEST(test_absurd_sizes),
		TEST(test_too_many_segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
