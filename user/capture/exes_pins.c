/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of executables, kept for the next process: files and whoever mapped them may be
 * gone then. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "capture/exes.h"
#include "capture/pins.h"

/* The build-id is worth nothing without all segments that a frame may be in. */
static void keep_identity(const struct exe_entry *entry, struct pin_exe *kept)
{
	uint32_t cnt = 0;

	for (size_t i = 0; i < entry->segments.cnt; i++) {
		if (!entry->segments.items[i].is_exec)
			continue;
		if (cnt == PIN_EXE_SEGMENTS)
			return;
		kept->segments[cnt++] = entry->segments.items[i];
	}
	kept->segment_cnt = cnt;
	kept->build_id_len = entry->module->build_id_len;
	memcpy(kept->build_id, entry->module->build_id, sizeof(kept->build_id));
}

void exes_keep(const struct exes *exes, const struct bp_exe_event *event, uint32_t path_bytes,
	       pid_t root_tgid)
{
	const struct exe_entry *entry = exes_find(exes, event->id);
	struct pin_exe kept;

	memset(&kept, 0, sizeof(kept));
	kept.key = event->key;
	kept.vma_start = event->vma_start;
	kept.vma_end = event->vma_end;
	kept.tgid = event->tgid;
	/* Of what we had mapped ourselves only the root is left that its path counts from. */
	if (root_tgid) {
		kept.tgid = (uint32_t)root_tgid;
		kept.vma_start = kept.vma_end = 0;
	}
	kept.is_sampled = entry->is_sampled;
	keep_identity(entry, &kept);
	kept.path_bytes = path_bytes;
	memcpy(kept.path, event->path, path_bytes);
	/* Where there is no room it is met again, while it is there. */
	pins_keep_exe(exes->pins, event->id, &kept);
}

_Static_assert(sizeof(((struct pin_exe *)NULL)->build_id) == BUILD_ID_MAX, "all of it");

/* What it was when it was kept. 0 or -ENOMEM. */
static int restore_identity(struct exe_entry *entry, const struct pin_exe *kept)
{
	struct elf_segments segments = {0};

	if (!kept->segment_cnt || kept->segment_cnt > PIN_EXE_SEGMENTS)
		return 0;
	if (array_reserve(&segments.items, &segments.cap, kept->segment_cnt,
			  sizeof(*segments.items)))
		return -ENOMEM;
	memcpy(segments.items, kept->segments, kept->segment_cnt * sizeof(*segments.items));
	segments.cnt = kept->segment_cnt;
	exe_identify(entry, &segments, kept->build_id, kept->build_id_len);
	return 0;
}

static int restore(void *arg, uint32_t id, const struct pin_exe *kept)
{
	struct exes *exes = arg;
	struct bp_exe_event event;
	struct exe_entry *entry;
	int err;

	if (kept->path_bytes > BP_PATH_BYTES || kept->build_id_len > BUILD_ID_MAX)
		return 0;
	memset(&event, 0, sizeof(event));
	event.type = BP_RING_EXE;
	event.id = id;
	event.tgid = kept->tgid;
	event.path_bytes = kept->path_bytes;
	event.vma_start = kept->vma_start;
	event.vma_end = kept->vma_end;
	event.key = kept->key;
	memcpy(event.path, kept->path, kept->path_bytes);
	err = exes_announce(exes, &event, offsetof(struct bp_exe_event, path) + kept->path_bytes);
	entry = err ? NULL : exes_find(exes, id);
	if (!entry)
		return err;
	entry->is_sampled = kept->is_sampled;
	return entry->module->fd < 0 ? restore_identity(entry, kept) : 0;
}

int exes_restore(struct exes *exes, struct pins *pins)
{
	int err = pins_each_exe(pins, restore, exes);

	exes->pins = pins;
	return err;
}
