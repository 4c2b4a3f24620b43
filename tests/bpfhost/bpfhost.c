/* SPDX-License-Identifier: Apache-2.0 */
/* The host build of the unwinder: the BPF headers as they are, and around them the maps' memory and
 * a VMA look-up over a list of mappings. */
#include "shim.bpf.h"

#include "abi.h"

#include "maps.bpf.h"
#ifdef __TARGET_ARCH_x86
#include "arch_x86.bpf.h"
#else
#include "arch_arm64.bpf.h"
#endif
#include "copy.bpf.h"
#include "scratch.bpf.h"

#include "bpfhost.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/search.h"
#include "unwind/rows.h"

enum { SLOT = 0 };

static const struct bpfhost_task *current;
static const struct pt_regs *current_regs;
static struct bp_scratch the_scratch;
static struct bp_rows *exe_rows;
static size_t exe_cnt, exe_cap;
static size_t page_cap, rule_cap, block_cap;
static uint32_t rows_used; /* of the last block */

static const void *compat_user_regs(struct task_struct *task)
{
	return current_regs;
}

static long bpf_probe_read_user(void *dst, __u32 bytes, const void *user)
{
	return current->read(current->ctx, (uintptr_t)user, dst, bytes);
}

/* No page is being copied. */
static int moving_read(__u32 slot, __u64 addr)
{
	return 0;
}

static const struct bpfhost_mapping *mapping_at(uint64_t ip)
{
	size_t at = SEARCH_CNT(i, current->mappings_cnt, current->mappings[i].end <= ip);

	return at < current->mappings_cnt && ip >= current->mappings[at].start
		       ? &current->mappings[at]
		       : NULL;
}

/* As in bpf/vma.bpf.h, over the list. */
static int vma_at(__u32 slot, struct bp_scratch *s, __u64 ip)
{
	const struct bpfhost_mapping *mapping;
	struct bp_mm *mm = walk_mm(s);
	struct bp_vma *cached;
	__u32 i;

	for (i = 0; i < BP_VMAS_CACHED; i++)
		if (ip >= mm->vmas[i].start && ip < mm->vmas[i].end)
			return (int)i;
	mapping = mapping_at(ip);
	if (!mapping)
		return -1;
	i = mm->next++ & (BP_VMAS_CACHED - 1);
	cached = &mm->vmas[i];
	*cached = (struct bp_vma){
		.start = mapping->start,
		.end = mapping->end,
		.is_exec = mapping->is_exec,
		.frame_base = BP_FRAME_RAW | mapping->start,
	};
	if (mapping->is_exec && mapping->exe_id != BP_EXE_NONE) {
		cached->frame_base =
			(__u64)mapping->exe_id << BP_FRAME_OFF_BITS | mapping->file_off;
		cached->rows = exe_rows[mapping->exe_id - BP_EXE_FIRST];
	}
	return (int)i;
}

#include "rows.bpf.h"

/* In place of bpf/snapshot.bpf.h: there is nobody to send a snapshot to. */
#define BPFPROF_SNAPSHOT_BPF_H
static int snapshot_take(__u32 slot)
{
	return 0;
}

#include "unwind.bpf.h"

static int exe_add(const struct bp_rows *rows)
{
	int err = array_reserve(&exe_rows, &exe_cap, exe_cnt + 1, sizeof(*exe_rows));

	if (err)
		return err;
	exe_rows[exe_cnt] = *rows;
	return (int)(BP_EXE_FIRST + exe_cnt++);
}

int bpfhost_add_unbuilt(void)
{
	return exe_add(&(struct bp_rows){0});
}

/* The rows of one page stand together in one block. */
static int page_add(const struct rows *rows, const struct row_page *page)
{
	uint32_t block;
	int err = array_reserve(&row_pages.value, &page_cap, row_pages.max_entries + 1,
				sizeof(*row_pages.value));

	if (err)
		return err;
	if (!row_blocks.max_entries || rows_used + page->cnt > BP_ROWS_PER_BLOCK) {
		err = array_reserve(&row_blocks.value, &block_cap, row_blocks.max_entries + 1,
				    sizeof(*row_blocks.value));
		if (err)
			return err;
		row_blocks.max_entries++;
		rows_used = 0;
	}
	block = row_blocks.max_entries - 1;
	memcpy(row_blocks.value[block].rows + rows_used, rows->items + page->first,
	       page->cnt * sizeof(__u32));
	row_pages.value[row_pages.max_entries++] = (struct bp_row_page){
		.block = block, .first = (__u16)rows_used, .cnt = (__u16)page->cnt};
	rows_used += page->cnt;
	return 0;
}

int bpfhost_add_rows(const struct rows *rows, const struct bp_rule *rules, size_t rules_cnt,
		     bool tracks_bx)
{
	struct bp_rows exe = {
		.page_base = row_pages.max_entries,
		.page_cnt = (__u32)rows->pages_cnt,
		.first_page = (__u32)rows->first_page,
		.rule_base = row_rules.max_entries,
		.state = BP_ROWS_BUILT,
		.tracks_bx = tracks_bx,
	};
	int err = array_reserve(&row_rules.value, &rule_cap, row_rules.max_entries + rules_cnt,
				sizeof(*rules));

	for (size_t i = 0; i < rows->pages_cnt && !err; i++)
		err = page_add(rows, &rows->pages[i]);
	if (err)
		return err;
	memcpy(row_rules.value + row_rules.max_entries, rules, rules_cnt * sizeof(*rules));
	row_rules.max_entries += (__u32)rules_cnt;
	return exe_add(&exe);
}

void bpfhost_walk(const struct bpfhost_task *task, const void *regs, bool is_call_site,
		  struct bpfhost_walk *out)
{
	struct bp_scratch *s = &the_scratch;
	struct mm_struct mm = {.start_stack = task->start_stack};

	current = task;
	current_regs = regs;
	scratch.value = s;
	scratch.max_entries = 1;
	s->walk = (struct bp_unwind){
		.ip = ARCH_CTX_IP(ARCH_REGS(current_regs)),
		.sp = ARCH_CTX_SP(ARCH_REGS(current_regs)),
		.fp = ARCH_CTX_FP(ARCH_REGS(current_regs)),
		.is_call_site = is_call_site,
		.is_leaf = 1,
		.mm = &mm,
	};
	mm_forget_vmas(walk_mm(s));
	s->rec.kernel_cnt = 0;
	out->outcome = (uint32_t)unwind_user(SLOT, s);
	out->total = s->walk.user_total;
	out->frames = s->rec.frames;
}

__u64 bpfhost_frame(const struct bpfhost_walk *walk, uint32_t i)
{
	return walk->frames[i < BP_FRAMES_LEAF
				    ? i
				    : BP_FRAMES_LEAF + (i - BP_FRAMES_LEAF) % BP_FRAMES_ROOT];
}

uint64_t bpfhost_frame_ip(const struct bpfhost_task *task, __u64 frame)
{
	uint64_t off = bp_frame_off(frame);

	if (frame & BP_FRAME_RAW)
		return frame & ~BP_FRAME_RAW;
	for (size_t i = 0; i < task->mappings_cnt; i++) {
		const struct bpfhost_mapping *mapping = &task->mappings[i];

		if (mapping->is_exec && mapping->exe_id == bp_frame_exe(frame) &&
		    off >= mapping->file_off &&
		    off - mapping->file_off < mapping->end - mapping->start)
			return mapping->start + (off - mapping->file_off);
	}
	return 0;
}
