/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of snapshots, and the walk of one. */
#include "capture/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "capture/frames.h"
#include "unwind/step.h"

/* Not an outcome: rows that the walk needs are being built. */
enum { WALK_WAITS = -2 };

struct walk {
	const struct snapshots *snapshots;
	const struct bp_snapshot *snap;
	bool force; /* do not wait for rows */
	uint32_t awaits; /* after WALK_WAITS: the executable */
	struct step_memory memory;
	struct step_frame at;
	struct bp_record *rec;
	uint64_t frame; /* the one pushed last */
};

/*
 * The frame at @ip, which the kernel side calls @frame: raw where it did not know yet that the file
 * is memory that code is written into.
 */
static uint64_t frame_at(const struct walk *walk, uint64_t frame, uint64_t ip)
{
	const struct rows_feed *feed = walk->snapshots->feed;
	const struct exe_entry *exe;

	if ((frame & BP_FRAME_RAW) || !feed)
		return frame;
	exe = exes_find(feed->exes, bp_frame_exe(frame));
	return exe && exe->module->kind == MODULE_ANON ? BP_FRAME_RAW | ip : frame;
}

static void walk_init(struct walk *walk, const struct bp_snapshot *snap, struct bp_record *rec)
{
	uint32_t first;

	memset(rec, 0, sizeof(*rec));
	memcpy(rec, snap->record, sizeof(snap->record));
	rec->type = BP_RING_SAMPLE;
	first = rec->kernel_cnt + rec->user_total - 1;
	walk->snap = snap;
	walk->rec = rec;
	walk->frame = frame_at(walk, rec->frames[first], snap->ip - snap->is_call_site);
	rec->frames[first] = walk->frame;
	walk->memory = (struct step_memory){
		.arch = step_native_arch(),
		.stack = snap->stack,
		.stack_start = snap->stack_start,
		.stack_bytes = snap->stack_bytes,
		.pages = snap->stack_pages,
		.start_stack = snap->start_stack,
	};
	walk->at = (struct step_frame){
		.ip = snap->ip,
		.sp = snap->sp,
		.fp = snap->fp,
		.bx = snap->bx,
		.is_call_site = snap->is_call_site,
		.is_leaf = snap->is_leaf,
		.has_regs = snap->has_regs,
		.has_bx = snap->has_bx,
		.guess = snap->guess,
	};
	memcpy(walk->at.regs, snap->regs, sizeof(walk->at.regs));
}

/* Leave the frame pushed last. */
static int walk_step(struct walk *walk)
{
	const struct rows_feed *feed = walk->snapshots->feed;
	uint32_t exe_id = bp_frame_exe(walk->frame);
	const struct exe_entry *exe;
	struct bp_rule rule;
	bool tracks_bx;

	if (walk->frame & BP_FRAME_RAW)
		return step_by_fp(&walk->memory, BP_STACK_JIT, &walk->at);
	if (!feed)
		return step_by_fp(&walk->memory, BP_STACK_NO_ROWS, &walk->at);
	if (!row_store_find(&feed->store, exe_id, bp_frame_off(walk->frame), &rule, &tracks_bx))
		return step_by_rule(&walk->memory, &rule, tracks_bx, &walk->at);
	exe = exes_find(feed->exes, exe_id);
	if (exe && exe->rows_at == ROWS_AWAITED && !walk->force) {
		walk->awaits = exe_id;
		return WALK_WAITS;
	}
	return step_by_fp(&walk->memory, BP_STACK_NO_ROWS, &walk->at);
}

/* Push the frame the walk has come to. STEP_NEXT, or the outcome when it lies in no code. */
static int walk_push(struct walk *walk)
{
	const struct bp_snapshot *snap = walk->snap;
	uint64_t ip = walk->at.ip - walk->at.is_call_site;
	struct bp_record *rec = walk->rec;

	for (uint32_t i = 0; i < snap->vma_cnt; i++) {
		const struct bp_snapshot_vma *vma = &snap->vmas[i];

		if (ip < vma->start || ip >= vma->end)
			continue;
		walk->frame = frame_at(walk, vma->frame_base + (ip - vma->start), ip);
		rec->frames[rec->kernel_cnt + user_frame_slot(rec->user_total++)] = walk->frame;
		return STEP_NEXT;
	}
	return snap->vma_cnt == BP_SNAPSHOT_VMAS ? BP_STACK_NO_ROWS : BP_STACK_BAD_RETURN;
}

/* Walk to the end: the outcome, or WALK_WAITS. */
static int walk_user(struct walk *walk)
{
	while (walk->rec->user_total < BP_WALK_MAX) {
		int outcome = walk_step(walk);

		if (outcome == STEP_NEXT)
			outcome = walk_push(walk);
		if (outcome == STEP_NEXT)
			continue;
		if (outcome == WALK_WAITS || outcome == BP_STACK_COMPLETE)
			return outcome;
		/* What fails after a guess fails because of it. */
		return walk->at.guess ? walk->at.guess : outcome;
	}
	return BP_STACK_TOO_DEEP;
}

/* True when @item is finished: its record is in @rec. */
static bool item_walk(const struct snapshots *snapshots, struct snapshot_item *item, bool force,
		      struct bp_record *rec)
{
	struct walk walk = {.snapshots = snapshots, .force = force};
	int outcome;

	if (item->awaits && !force) {
		const struct exe_entry *exe = exes_find(snapshots->feed->exes, item->awaits);

		if (exe && exe->rows_at == ROWS_AWAITED)
			return false;
	}
	walk_init(&walk, item->snap, rec);
	outcome = walk_user(&walk);
	if (outcome == WALK_WAITS) {
		item->awaits = walk.awaits;
		row_builder_hurry(snapshots->feed->builder, walk.awaits);
		return false;
	}
	rec->outcome = outcome;
	rec->user_cnt = rec->user_total < BP_FRAMES_USER ? rec->user_total : BP_FRAMES_USER;
	return true;
}

void snapshots_deinit(struct snapshots *snapshots)
{
	for (size_t i = 0; i < snapshots->cnt; i++)
		free(snapshots->items[i].snap);
	free(snapshots->items);
	*snapshots = (struct snapshots){0};
}

/* Is what came as long as it says, and within its arrays? */
static bool is_sound(const struct bp_snapshot *snap, size_t len)
{
	struct bp_record rec;

	if (len < offsetof(struct bp_snapshot, stack))
		return false;
	memcpy(&rec, snap->record, BP_RECORD_HEAD_BYTES);
	return snap->stack_bytes <= len - offsetof(struct bp_snapshot, stack) &&
	       snap->vma_cnt <= BP_SNAPSHOT_VMAS && rec.user_total &&
	       rec.kernel_cnt + rec.user_total <= BP_SNAPSHOT_FRAMES;
}

int snapshots_add(struct snapshots *snapshots, const void *data, size_t len, snapshot_done_fn *done,
		  void *arg)
{
	struct snapshot_item item = {.bytes = len};
	struct bp_record rec;

	/* The ring aligns its records to 8 bytes. */
	if (!is_sound(data, len))
		return 0;
	if (snapshots->bytes + len > SNAPSHOTS_MAX_BYTES) {
		item.snap = (struct bp_snapshot *)data;
		item_walk(snapshots, &item, true, &rec);
		done(arg, &rec, false);
		return 0;
	}
	if (array_reserve(&snapshots->items, &snapshots->cap, snapshots->cnt + 1, sizeof(item)))
		return -ENOMEM;
	item.snap = malloc(len);
	if (!item.snap)
		return -ENOMEM;
	memcpy(item.snap, data, len);
	snapshots->items[snapshots->cnt++] = item;
	snapshots->bytes += len;
	return 0;
}

int snapshots_walk_or_add(struct snapshots *snapshots, const struct bp_snapshot *snap, size_t len,
			  snapshot_done_fn *done, void *arg)
{
	struct snapshot_item item = {.snap = (struct bp_snapshot *)snap, .bytes = len};
	struct bp_record rec;

	if (!is_sound(snap, len))
		return -EINVAL;
	if (!item_walk(snapshots, &item, false, &rec))
		return snapshots_add(snapshots, snap, len, done, arg);
	done(arg, &rec, false);
	return 0;
}

void snapshots_resolve(struct snapshots *snapshots, bool force, snapshot_done_fn *done, void *arg)
{
	size_t kept = 0;

	for (size_t i = 0; i < snapshots->cnt; i++) {
		struct snapshot_item *item = &snapshots->items[i];
		struct bp_record rec;

		if (!item_walk(snapshots, item, force && item->is_closed, &rec)) {
			snapshots->items[kept++] = *item;
			continue;
		}
		done(arg, &rec, item->is_closed);
		snapshots->bytes -= item->bytes;
		free(item->snap);
	}
	snapshots->cnt = kept;
}

void snapshots_close_epoch(struct snapshots *snapshots, uint32_t epoch)
{
	for (size_t i = 0; i < snapshots->cnt; i++) {
		struct bp_record rec;

		memcpy(&rec, snapshots->items[i].snap->record, BP_RECORD_HEAD_BYTES);
		snapshots->items[i].is_closed |= rec.epoch == epoch;
	}
}

bool snapshots_have_closed(const struct snapshots *snapshots)
{
	for (size_t i = 0; i < snapshots->cnt; i++)
		if (snapshots->items[i].is_closed)
			return true;
	return false;
}
