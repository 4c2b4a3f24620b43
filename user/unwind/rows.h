/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows as abi_unwind.h lays them out, written in order of file offset. Every page of file offsets
 * begins with a row of key 0 that carries the rule in, so a look-up never leaves its page.
 */
#ifndef BPFPROF_UNWIND_ROWS_H
#define BPFPROF_UNWIND_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "abi_unwind.h"

enum {
	/* 2 GiB of file offsets; the largest executable segments known are a few hundred MiB. */
	ROW_PAGES_MAX = 1 << 20,
	/* 64 MiB of rows; ten times the largest executable known. */
	ROWS_MAX = 1 << 24,
};

struct row_page {
	uint32_t first; /* index into rows */
	uint32_t cnt; /* 0: no row, all of the page is a gap; at most one per byte */
};

struct rows {
	uint32_t *items; /* owned; key | rule16 << 16 */
	size_t cnt, cap;
	struct row_page *pages; /* owned */
	size_t pages_cnt;
	uint64_t first_page; /* file offset >> BP_ROW_PAGE_BITS of pages[0] */
	uint64_t start_off, end_off; /* what the pages are for */
	/* While writing. */
	size_t page; /* the one that rows are appended to */
	uint16_t rule16; /* in force */
	int err; /* -ENOMEM, or -EFBIG beyond ROWS_MAX; sticky */
};

/* For file offsets from @start_off to before @end_off. 0; -EFBIG: too wide; -ENOMEM. All is a gap
 * until rows are put. */
int rows_init(struct rows *rows, uint64_t start_off, uint64_t end_off);
void rows_deinit(struct rows *rows);

/* From @file_off on @rule16 holds. In order of @file_off, within the bounds of rows_init(); a
 * second rule for the same offset replaces the first. */
void rows_put(struct rows *rows, uint64_t file_off, uint16_t rule16);

/* No more rows come. Returns rows->err. */
int rows_finish(struct rows *rows);

/* The rule that governs @file_off; RULE16_GAP outside of what is known. O(log rows of a page). */
uint16_t rows_find(const struct rows *rows, uint64_t file_off);

/* The key of @file_off in its page. */
static inline uint16_t row_key_of(uint64_t file_off)
{
	return (uint16_t)(file_off & BP_ROW_KEY_MASK);
}

static inline uint16_t row_key(uint32_t row)
{
	return (uint16_t)row;
}

static inline uint16_t row_rule16(uint32_t row)
{
	return (uint16_t)(row >> 16);
}

/* The rule in force at @key, of the @cnt @rows (at least one) of a page. */
uint16_t row_page_find(const uint32_t *rows, size_t cnt, uint16_t key);

#endif
