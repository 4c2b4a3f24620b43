/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of threads that do not run: what the kernel side walks when a thread comes back to a
 * CPU is read from here for those that have not come back by the end of a window. The memory is
 * read and made a snapshot (snapshot.h), which is walked like any other.
 *
 * Most of a machine's processes sleep from one window to the next. To list the mappings of one
 * takes some 0.3 ms, so they are kept, and believed as long as the process has as much memory
 * mapped, to the page and by kind, as it had then (/proc/PID/statm, 5 us): to load a library
 * changes that.
 */
#ifndef BPFPROF_CAPTURE_ASLEEP_H
#define BPFPROF_CAPTURE_ASLEEP_H

#include "abi.h"
#include "base/buf.h"
#include "base/hmap.h"
#include "capture/preload.h"

enum {
	ASLEEP_KEPT_MAX = 1024 /* processes: then all are forgotten */
};

/* The executable mappings of a process, as they were when it had so much memory mapped. */
struct asleep_maps {
	uint32_t tgid;
	uint32_t vma_cnt;
	uint64_t start_ns;
	uint64_t size_pages, data_pages; /* fields of /proc/PID/statm */
	struct bp_snapshot_vma *vmas; /* owned */
};

struct asleep {
	struct preload *preload; /* borrowed */
	/* The executable mappings of the process asked for last. */
	uint32_t tgid;
	uint64_t start_ns;
	struct bp_snapshot_vma vmas[BP_SNAPSHOT_VMAS];
	uint32_t vma_cnt;
	struct buf maps; /* owned: their text */
	struct asleep_maps *kept; /* owned: of processes that were asked for before */
	size_t kept_cnt, kept_cap;
	struct hmap kept_index;
	struct hmap exe_ids; /* by device and inode */
	struct bp_snapshot snap; /* the one at work */
};

void asleep_init(struct asleep *asleep, struct preload *preload);
void asleep_deinit(struct asleep *asleep);

/* What became of the user stack of a thread that sleeps. */
enum asleep_result {
	ASLEEP_SNAPSHOT, /* asleep->snap is to be walked */
	ASLEEP_KERNEL_ONLY, /* a kernel thread */
	ASLEEP_NO_REGS,
	ASLEEP_GONE, /* neither its mappings nor its stack can be read any more */
};

/* Read the stack of @thread. With ASLEEP_SNAPSHOT the snapshot's length goes into *@len. */
enum asleep_result asleep_read(struct asleep *asleep, const struct bp_asleep *thread, size_t *len);

#endif
