/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Unwind rows in the kernel: which rule governs a file offset (the format is in abi_unwind.h). An
 * executable's pages stand together in row_pages; a page's rows stand together in one block.
 * Userspace fills all three through mmap, and publishes an executable last (entry_publish.bpf.h).
 */
#ifndef BPFPROF_ROWS_BPF_H
#define BPFPROF_ROWS_BPF_H

enum { ROW_NONE = -1 };

/*
 * The rule16 that governs @low in page @page, or ROW_NONE where the page has no rows. Binary
 * search: the comparison's result is a mask and no branch, so the verifier follows one path, and
 * the CPU mispredicts only the end.
 */
static __always_inline int row_find(__u32 page, __u32 low)
{
	struct bp_row_page *row_page = bpf_map_lookup_elem(&row_pages, &page);
	__u32 block, at, cnt, half;
	__u32 *rows;

	if (!row_page || !row_page->cnt)
		return ROW_NONE;
	block = row_page->block;
	at = row_page->first;
	cnt = row_page->cnt;
	rows = bpf_map_lookup_elem(&row_blocks, &block);
	if (!rows)
		return ROW_NONE;
	low &= BP_ROW_KEY_MASK;
	for (int i = 0; i < BP_ROW_SEARCH_STEPS; i++) {
		__u32 key;

		if (cnt <= 1)
			break;
		half = cnt >> 1;
		key = rows[(at + half) & (BP_ROWS_PER_BLOCK - 1)] & 0xffff;
		/* All ones when key <= low. */
		at += half & ~((__s32)(low - key) >> 31);
		cnt -= half;
	}
	return rows[at & (BP_ROWS_PER_BLOCK - 1)] >> 16;
}

#endif
