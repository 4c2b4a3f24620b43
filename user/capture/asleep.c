/* SPDX-License-Identifier: Apache-2.0 */
/* Reading threads that sleep. */
#include "capture/asleep.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/reader.h"
#include "proc/maps_line.h"

enum { MAPS_MAX_BYTES = 64 << 20, STATM_MAX_BYTES = 4096 };

void asleep_init(struct asleep *asleep, struct preload *preload)
{
	asleep->preload = preload;
	asleep->tgid = 0;
	buf_init(&asleep->maps, MAPS_MAX_BYTES);
	hmap_init(&asleep->exe_ids);
	hmap_init(&asleep->kept_index);
}

static void forget_kept(struct asleep *asleep)
{
	for (size_t i = 0; i < asleep->kept_cnt; i++)
		free(asleep->kept[i].vmas);
	asleep->kept_cnt = 0;
	hmap_clear(&asleep->kept_index);
}

void asleep_deinit(struct asleep *asleep)
{
	forget_kept(asleep);
	free(asleep->kept);
	hmap_deinit(&asleep->kept_index);
	buf_deinit(&asleep->maps);
	hmap_deinit(&asleep->exe_ids);
}

/* 64 bits of a good hash decide. */
static bool any(const void *owner, uint32_t index, const void *key)
{
	return true;
}

static uint32_t exe_id_of(struct asleep *asleep, pid_t tgid, const struct maps_line *line)
{
	uint64_t hash = hash_bytes(line->file, line->file_len);
	uint32_t id = hmap_find(&asleep->exe_ids, hash, any, NULL, NULL);

	if (id != HMAP_NONE)
		return id;
	id = preload_meet(asleep->preload, tgid, line->start, line->end);
	if (id != BP_EXE_NONE)
		hmap_insert(&asleep->exe_ids, hash, id);
	return id;
}

/* As vma_frame_base() of the kernel side. */
static uint64_t frame_base_of(struct asleep *asleep, pid_t tgid, const struct maps_line *line)
{
	static const char vdso[] = "[vdso]";
	uint32_t id;

	if (line->path_len == strlen(vdso) && !memcmp(line->path, vdso, strlen(vdso)))
		return (uint64_t)BP_EXE_VDSO << BP_FRAME_OFF_BITS;
	id = line->is_file ? exe_id_of(asleep, tgid, line) : BP_EXE_NONE;
	if (id == BP_EXE_NONE)
		return BP_FRAME_RAW | line->start;
	return (uint64_t)id << BP_FRAME_OFF_BITS |
	       (line->file_off & ((1ULL << BP_FRAME_OFF_BITS) - 1));
}

static void read_maps(struct asleep *asleep, const struct bp_asleep *thread)
{
	struct reader rd;
	const char *text;
	char path[64];
	size_t len;

	asleep->vma_cnt = 0;
	snprintf(path, sizeof(path), "/proc/%u/maps", thread->tgid);
	buf_reset(&asleep->maps);
	if (!asleep->preload || fs_read_file(path, &asleep->maps))
		return;
	reader_init(&rd, asleep->maps.data, asleep->maps.len);
	while (asleep->vma_cnt < BP_SNAPSHOT_VMAS && (text = reader_until(&rd, '\n', &len))) {
		struct maps_line line;

		if (!maps_line_parse(text, len, &line) || !line.is_exec)
			continue;
		asleep->vmas[asleep->vma_cnt++] = (struct bp_snapshot_vma){
			.start = line.start,
			.end = line.end,
			.frame_base = frame_base_of(asleep, (pid_t)thread->tgid, &line),
		};
	}
}

/* How much memory the process has mapped. False: it has gone. */
static bool read_sizes(uint32_t tgid, uint64_t *size_pages, uint64_t *data_pages)
{
	_cleanup_(buf_deinit) struct buf text;
	struct reader rd;
	char path[64];
	size_t len;

	buf_init(&text, STATM_MAX_BYTES);
	snprintf(path, sizeof(path), "/proc/%u/statm", tgid);
	if (fs_read_file(path, &text))
		return false;
	reader_init(&rd, text.data, text.len);
	*size_pages = reader_number(&rd, 10);
	reader_accept(&rd, ' ');
	/* resident, shared, text, lib */
	for (int i = 0; i < 4; i++)
		reader_until(&rd, ' ', &len);
	*data_pages = reader_number(&rd, 10);
	return !rd.err;
}

static bool is_kept(const void *owner, uint32_t index, const void *key)
{
	const struct asleep_maps *maps = &((const struct asleep *)owner)->kept[index];
	const struct bp_asleep *thread = key;

	return maps->tgid == thread->tgid && maps->start_ns == thread->start_ns;
}

static uint64_t process_hash(const struct bp_asleep *thread)
{
	return hash_mix(hash_mix(0, thread->tgid), thread->start_ns);
}

/* What is kept of the process, or a new one with nothing in it; NULL when memory is out. */
static struct asleep_maps *kept_of(struct asleep *asleep, const struct bp_asleep *thread)
{
	uint64_t hash = process_hash(thread);
	uint32_t at = hmap_find(&asleep->kept_index, hash, is_kept, asleep, thread);

	if (at != HMAP_NONE)
		return &asleep->kept[at];
	if (asleep->kept_cnt == ASLEEP_KEPT_MAX)
		forget_kept(asleep);
	if (array_reserve(&asleep->kept, &asleep->kept_cap, asleep->kept_cnt + 1,
			  sizeof(*asleep->kept)) ||
	    hmap_insert(&asleep->kept_index, hash, (uint32_t)asleep->kept_cnt))
		return NULL;
	asleep->kept[asleep->kept_cnt] =
		(struct asleep_maps){.tgid = thread->tgid, .start_ns = thread->start_ns};
	return &asleep->kept[asleep->kept_cnt++];
}

/* The mappings of @thread's process into asleep->vmas, as they are kept or as they are now. */
static void find_maps(struct asleep *asleep, const struct bp_asleep *thread)
{
	struct asleep_maps *kept;
	uint64_t size_pages = 0, data_pages = 0;
	size_t bytes;

	kept = read_sizes(thread->tgid, &size_pages, &data_pages) ? kept_of(asleep, thread) : NULL;
	if (kept && kept->vmas && kept->size_pages == size_pages &&
	    kept->data_pages == data_pages) {
		asleep->vma_cnt = kept->vma_cnt;
		memcpy(asleep->vmas, kept->vmas, kept->vma_cnt * sizeof(*kept->vmas));
		return;
	}
	read_maps(asleep, thread);
	bytes = asleep->vma_cnt * sizeof(*asleep->vmas);
	if (!kept || !bytes)
		return;
	free(kept->vmas);
	kept->vmas = malloc(bytes);
	if (!kept->vmas)
		return;
	memcpy(kept->vmas, asleep->vmas, bytes);
	kept->vma_cnt = asleep->vma_cnt;
	kept->size_pages = size_pages;
	kept->data_pages = data_pages;
}

/* The frame at @ip; 0: it lies in no executable mapping. */
static uint64_t frame_of(const struct asleep *asleep, uint64_t ip)
{
	for (uint32_t i = 0; i < asleep->vma_cnt; i++)
		if (ip >= asleep->vmas[i].start && ip < asleep->vmas[i].end)
			return asleep->vmas[i].frame_base + (ip - asleep->vmas[i].start);
	return 0;
}

/* The stack from below sp up, as far as it is there. False when nothing of it is. */
static bool read_stack(struct bp_snapshot *snap, const struct bp_asleep *thread)
{
	uint64_t start = (thread->sp - BP_SNAPSHOT_BELOW_SP) & -(uint64_t)BP_SNAPSHOT_PAGE_BYTES;
	struct iovec ours = {snap->stack, BP_SNAPSHOT_STACK_BYTES};
	struct iovec theirs = {(void *)(uintptr_t)start, BP_SNAPSHOT_STACK_BYTES};
	ssize_t got = process_vm_readv((pid_t)thread->tgid, &ours, 1, &theirs, 1, 0);
	uint32_t pages =
		got > 0 ? ((uint32_t)got + BP_SNAPSHOT_PAGE_BYTES - 1) / BP_SNAPSHOT_PAGE_BYTES : 0;

	snap->stack_start = start;
	snap->stack_bytes = got > 0 ? (uint32_t)got : 0;
	snap->stack_pages = (uint32_t)((1ULL << pages) - 1);
	return got > 0;
}

static void fill_registers(struct bp_snapshot *snap, const struct bp_asleep *thread)
{
	snap->ip = thread->ip;
	snap->sp = thread->sp;
	snap->fp = thread->fp;
	snap->start_stack = thread->start_stack;
	snap->is_call_site = thread->is_call_site;
	snap->is_leaf = 1;
	snap->has_regs = 1;
	snap->has_bx = 0;
	snap->guess = 0;
	memcpy(snap->regs, thread->regs, sizeof(snap->regs));
}

enum asleep_result asleep_read(struct asleep *asleep, const struct bp_asleep *thread, size_t *len)
{
	struct bp_snapshot *snap = &asleep->snap;
	struct bp_record head;
	uint64_t frame;

	memcpy(&head, thread->head, BP_RECORD_HEAD_BYTES);
	if (!thread->has_regs)
		return thread->start_stack ? ASLEEP_NO_REGS : ASLEEP_KERNEL_ONLY;
	if (asleep->tgid != thread->tgid || asleep->start_ns != thread->start_ns) {
		find_maps(asleep, thread);
		asleep->tgid = thread->tgid;
		asleep->start_ns = thread->start_ns;
	}
	frame = frame_of(asleep, thread->ip - !!thread->is_call_site);
	if (!frame || !read_stack(snap, thread))
		return ASLEEP_GONE;
	fill_registers(snap, thread);
	memcpy(snap->vmas, asleep->vmas, asleep->vma_cnt * sizeof(*asleep->vmas));
	snap->vma_cnt = asleep->vma_cnt;
	head.type = BP_RING_SNAPSHOT;
	head.user_cnt = head.user_total = 1;
	/* What is walked through may be JIT code. */
	head.who.tgid = thread->tgid;
	head.who.start_ns = thread->start_ns;
	memcpy(snap->record, &head, BP_RECORD_HEAD_BYTES);
	memcpy((char *)snap->record + BP_RECORD_HEAD_BYTES, thread->kernel,
	       head.kernel_cnt * sizeof(uint64_t));
	memcpy((char *)snap->record + BP_RECORD_HEAD_BYTES + head.kernel_cnt * sizeof(uint64_t),
	       &frame, sizeof(frame));
	*len = offsetof(struct bp_snapshot, stack) + snap->stack_bytes;
	return ASLEEP_SNAPSHOT;
}
