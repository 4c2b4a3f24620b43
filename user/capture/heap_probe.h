/* SPDX-License-Identifier: Apache-2.0 */
/* How the heap's programs are put on functions: heap.c's and heap_attach.c's alone. */
#ifndef BPFPROF_CAPTURE_HEAP_PROBE_H
#define BPFPROF_CAPTURE_HEAP_PROBE_H

#include <stdbool.h>
#include <sys/types.h>

#include "capture/heap_family.h"

struct bpfprof;
struct bpf_link;
struct heap;

struct heap_link {
	int fd; /* owned: by bpf(); -1 */
	struct bpf_link *link; /* owned: by perf_event_open(); NULL */
	bool frees; /* it is on what frees */
};

/* Does the kernel know uprobe sessions? Tried. */
bool heap_sessions_work(void);

/* Before loading, where it does: the programs' attach types. */
void heap_make_session(struct bpfprof *skel);

/* Be told of forks and execs. 0 or negative errno. */
int heap_watch_processes(struct heap *heap);

/* Probe @places of the file at @path in process @tgid, and in no other. 0 or negative errno. */
int heap_probe(struct heap *heap, pid_t tgid, const char *path, const struct heap_places *places);

#endif
