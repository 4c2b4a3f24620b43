/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that a heap recording begins with. */
#include "capture/heap.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "bpfprof.skel.h"
#include "capture/heap_search.h"
#include "capture/loader.h"

/* Its number in the tables; 0: none yet, exec makes it. */
static int add_process(struct heap *heap, pid_t tgid, uint64_t start_ns, bool is_pending)
{
	uint32_t key = (uint32_t)tgid, nr = 0;

	if (!is_pending) {
		nr = __atomic_fetch_add(&heap->mem.ctl->proc_cnt, 1, __ATOMIC_SEQ_CST);
		if (nr >= BP_HEAP_PROCS)
			return -E2BIG;
		heap->mem.procs[nr].tgid = key;
		heap->mem.procs[nr].start_ns = start_ns;
	}
	return bpf_map_update_elem(bpf_map__fd(heap->loader->skel->maps.heap_proc_of), &key, &nr,
				   BPF_ANY)
		       ? -errno
		       : 0;
}

/* None was found, or none could be probed. */
static int search_result(const struct heap_search *search, const char *what)
{
	if (search->found)
		return 0;
	if (!search->err && search->heap->opts.maps)
		log_error("heap: no mmap() and munmap() in %s: it calls the kernel by itself",
			  what);
	else if (!search->err)
		log_error("heap: no allocator known in %s; --alloc-prefix PREFIX names one whose "
			  "functions are PREFIXmalloc and PREFIXfree",
			  what);
	return search->err ? search->err : -ENOENT;
}

int heap_attach_process(struct heap *heap, pid_t tgid)
{
	struct heap_search search = {.heap = heap, .tgid = tgid};
	int err = add_process(heap, tgid, 0, false);
	char what[32];

	if (!err)
		err = heap_search_mapped(&search);
	if (err) {
		log_error("heap: process %d: %s", (int)tgid, strerror(-err));
		return err;
	}
	snprintf(what, sizeof(what), "process %d", (int)tgid);
	return search_result(&search, what);
}

int heap_attach_command(struct heap *heap, pid_t tgid, const char *program)
{
	struct heap_search search = {.heap = heap, .tgid = tgid};
	int err = add_process(heap, tgid, 0, true);
	char what[128];

	if (err)
		return err;
	/* Where exec fails, that is the message. */
	if (!heap_search_program(&search, program))
		return 0;
	snprintf(what, sizeof(what), "'%.100s'", program);
	/* What it runs may have one. */
	if (!search.found && !search.err && heap->follows) {
		log_warn("heap: no allocator known in %s itself (--alloc-prefix PREFIX names one): "
			 "what it runs is recorded",
			 what);
		return 0;
	}
	return search_result(&search, what);
}
