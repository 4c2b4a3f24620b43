/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CFI compiler on hostile bytes. The first byte of the input says what the others are: an ELF
 * image, or the .eh_frame or .debug_frame of an otherwise sound one. A table that comes of it must
 * be one that the kernel side can search.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/cfi_image.h"
#include "fuzz_image.h"
#include "unwind/table.h"

enum {
	AS_IMAGE = 1 << 0,
	AS_DEBUG_FRAME = 1 << 1,
	AS_AARCH64 = 1 << 2,
	AS_SECTIONLESS = 1 << 3,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* The rule at @off by walking all rows of its page. */
static uint16_t find_slowly(const struct rows *rows, const struct row_page *page, uint64_t off)
{
	uint16_t rule16 = RULE16_GAP;

	for (uint32_t i = 0; i < page->cnt; i++)
		if (row_key(rows->items[page->first + i]) <= row_key_of(off))
			rule16 = row_rule16(rows->items[page->first + i]);
	return rule16;
}

static void check_page(const struct unwind_table *table, size_t index)
{
	const struct rows *rows = &table->rows;
	const struct row_page *page = &rows->pages[index];
	const uint32_t *row = rows->items + page->first;
	uint64_t page_off = (rows->first_page + index) << BP_ROW_PAGE_BITS;

	check(page->cnt <= 1 << BP_ROW_PAGE_BITS);
	check(page->first + (size_t)page->cnt <= rows->cnt);
	for (uint32_t i = 0; i < page->cnt; i++) {
		uint16_t rule16 = row_rule16(row[i]);

		check(i ? row_key(row[i]) > row_key(row[i - 1]) : !row_key(row[i]));
		check(!i || rule16 != row_rule16(row[i - 1]));
		check(rule16_is_inline(rule16) ||
		      (size_t)(rule16 & ~BP_RULE16_ESCAPE) < table->rules.cnt);
		check(rows_find(rows, page_off + row_key(row[i])) == rule16);
	}
	for (uint64_t off = page_off; off < page_off + (1 << BP_ROW_PAGE_BITS); off += 131)
		check(rows_find(rows, off) == find_slowly(rows, page, off));
}

static void check_table(const struct unwind_table *table, size_t image_bytes, size_t cfi_bytes)
{
	struct unwind_stats stats;
	uint64_t bytes = 0;

	unwind_table_stats(table, &stats);
	for (int kind = 0; kind < BP_RULE_KIND_CNT; kind++)
		bytes += stats.bytes[kind];
	check(bytes == table->rows.end_off - table->rows.start_off);
	check(bytes <= image_bytes);
	/* Linear: no byte of CFI makes more than one row, a function two, the entry point two. */
	check(stats.rows_cnt <= cfi_bytes + 2 * table->fdes_cnt + table->rows.pages_cnt + 4);
	for (size_t i = 0; i < table->rows.pages_cnt; i++)
		check_page(table, i);
}

static void compile(void *image, size_t len, size_t cfi_bytes)
{
	struct unwind_table *table = unwind_table_from_memory(image, len);

	if (table)
		check_table(table, len, cfi_bytes);
	unwind_table_free(table);
}

/* A sound image around @data as its call frame information. */
static void compile_cfi(uint8_t flags, const uint8_t *data, size_t size)
{
	static struct image image;
	static struct cfi_bytes bytes;

	image_init(&image, flags & AS_AARCH64 ? EM_AARCH64 : EM_X86_64);
	bytes.len = size < sizeof(bytes.data) ? size : sizeof(bytes.data);
	memcpy(bytes.data, data, bytes.len);
	if (flags & AS_DEBUG_FRAME)
		image_debug_frame(&image, &bytes);
	else
		image_eh_frame(&image, &bytes);
	if (flags & AS_SECTIONLESS)
		image_strip_sections(&image);
	compile(&image, sizeof(image), bytes.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *image;

	if (!size)
		return 0;
	if (!(data[0] & AS_IMAGE)) {
		compile_cfi(data[0], data + 1, size - 1);
		return 0;
	}
	image = image_copy(data + 1, size - 1);
	/* Compressed sections say more than they weigh, within libelf's bound of 1032 to 1. */
	compile(image, size - 1, size * 1032 + 4096);
	free(image);
	return 0;
}
