/* SPDX-License-Identifier: Apache-2.0 */
/* Writing and searching rows. */
#include "unwind/rows.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "unwind/rule.h"

/* Append to the current page, which has room. */
static void rows_append(struct rows *rows, uint16_t key, uint16_t rule16)
{
	if (rows->cnt == ROWS_MAX)
		rows->err = -EFBIG;
	else
		rows->err = array_reserve(&rows->items, &rows->cap, rows->cnt + 1,
					  sizeof(*rows->items));
	if (rows->err)
		return;
	rows->items[rows->cnt++] = key | (uint32_t)rule16 << 16;
	rows->pages[rows->page].cnt++;
}

static void page_begin(struct rows *rows, size_t page)
{
	rows->page = page;
	rows->pages[page] = (struct row_page){.first = (uint32_t)rows->cnt};
	rows_append(rows, 0, rows->rule16);
}

/* A page that is one gap needs no row. */
static void page_end(struct rows *rows)
{
	struct row_page *page = &rows->pages[rows->page];

	if (!rows->err && page->cnt == 1 && row_rule16(rows->items[page->first]) == RULE16_GAP) {
		rows->cnt--;
		page->cnt = 0;
	}
}

int rows_init(struct rows *rows, uint64_t start_off, uint64_t end_off)
{
	uint64_t first = start_off >> BP_ROW_PAGE_BITS;
	uint64_t last = (end_off - 1) >> BP_ROW_PAGE_BITS;

	*rows = (struct rows){.start_off = start_off, .end_off = end_off, .rule16 = RULE16_GAP};
	if (start_off >= end_off)
		return 0;
	if (last - first >= ROW_PAGES_MAX)
		return -EFBIG;
	rows->first_page = first;
	rows->pages_cnt = last - first + 1;
	rows->pages = calloc(rows->pages_cnt, sizeof(*rows->pages));
	if (!rows->pages)
		return -ENOMEM;
	page_begin(rows, 0);
	if (rows->err)
		rows_deinit(rows);
	return rows->err;
}

void rows_deinit(struct rows *rows)
{
	free(rows->items);
	free(rows->pages);
	rows->items = NULL;
	rows->pages = NULL;
	rows->cnt = rows->cap = rows->pages_cnt = 0;
}

/* Replace the rule of the last row, and the row altogether when it then repeats the one before. */
static void row_replace(struct rows *rows, uint16_t rule16)
{
	struct row_page *page = &rows->pages[rows->page];
	uint32_t *last = &rows->items[rows->cnt - 1];

	*last = row_key(*last) | (uint32_t)rule16 << 16;
	if (page->cnt > 1 && row_rule16(last[-1]) == rule16) {
		rows->cnt--;
		page->cnt--;
	}
}

void rows_put(struct rows *rows, uint64_t file_off, uint16_t rule16)
{
	size_t page = (file_off >> BP_ROW_PAGE_BITS) - rows->first_page;
	uint16_t key = row_key_of(file_off);

	if (rule16 == rows->rule16 || rows->err)
		return;
	while (rows->page < page && !rows->err) {
		page_end(rows);
		page_begin(rows, rows->page + 1);
	}
	rows->rule16 = rule16;
	if (rows->err)
		return;
	if (row_key(rows->items[rows->cnt - 1]) == key)
		row_replace(rows, rule16);
	else
		rows_append(rows, key, rule16);
}

int rows_finish(struct rows *rows)
{
	uint32_t *fitted;

	while (rows->page + 1 < rows->pages_cnt && !rows->err) {
		page_end(rows);
		page_begin(rows, rows->page + 1);
	}
	if (rows->err || !rows->pages_cnt)
		return rows->err;
	page_end(rows);
	/* Growth left up to half of it unused. */
	fitted = realloc(rows->items, (rows->cnt ? rows->cnt : 1) * sizeof(*fitted));
	if (fitted) {
		rows->items = fitted;
		rows->cap = rows->cnt;
	}
	return 0;
}

uint16_t row_page_find(const uint32_t *rows, size_t cnt, uint16_t key)
{
	/* rows[0] has key 0 and always qualifies. */
	while (cnt > 1) {
		size_t half = cnt / 2;

		rows = row_key(rows[half]) <= key ? rows + half : rows;
		cnt -= half;
	}
	return row_rule16(*rows);
}

uint16_t rows_find(const struct rows *rows, uint64_t file_off)
{
	uint64_t at = (file_off >> BP_ROW_PAGE_BITS) - rows->first_page;
	const struct row_page *page;

	if (at >= rows->pages_cnt || !rows->pages[at].cnt)
		return RULE16_GAP;
	page = &rows->pages[at];
	return row_page_find(&rows->items[page->first], page->cnt, row_key_of(file_off));
}
