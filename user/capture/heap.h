/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heap's programs (bpf/heap.bpf.h): probes on the allocators of processes, and their tables
 * read into the profile.
 *
 * Probes are of a process, never of a file alone: others that have the same library mapped run
 * without traps. Where the kernel knows sessions ("uprobe: Add support for session consumer",
 * 6.13), one program is at entry and return, and the return is paid for only where it is of
 * interest; else it is a uprobe and a uretprobe of perf_event_open(). Which of the two, is tried.
 */
#ifndef BPFPROF_CAPTURE_HEAP_H
#define BPFPROF_CAPTURE_HEAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi.h"
#include "capture/capture.h"
#include "capture/heap_files.h"
#include "profile/heap.h"

struct bpfprof;
struct bpf_link;
struct drain;
struct loader;

/* The event's name in ledgers. */
#define HEAP_EVENT "heap"

/* The tables as userspace sees them. */
struct heap_memory {
	struct bp_heap_ctl *ctl;
	struct bp_heap_proc *procs;
	struct bp_heap_site *sites;
	struct bp_heap_bucket *buckets;
	struct bp_heap_block *blocks;
};

/* Processes that came by fork; written by the thread that follows them. */
struct heap_children {
	uint64_t cnt;
	uint64_t missed; /* ended before they were probed */
	uint64_t lag_ns; /* the longest from fork to probes */
};

struct heap {
	struct loader *loader; /* borrowed; NULL: no heap is recorded */
	struct capture_heap_opts opts;
	bool has_sessions, follows;
	struct heap_memory mem; /* owned mappings */
	size_t mem_bytes[5];
	uint32_t site_cnt; /* room */
	struct heap_stack **stacks; /* owned, each owned: by site; NULL: not told yet */
	uint32_t bucket_cnt;
	struct heap_old *old; /* owned: by site, live and old at the window's end */
	struct heap_told *told; /* owned: by site, what windows before have had */
	struct heap_files files;
	struct heap_probed *probed; /* owned: what has probes */
	size_t probed_cnt, probed_cap;
	struct heap_follower *follower; /* owned; NULL */
	struct heap_children children;
	struct heap_link *links; /* owned */
	size_t link_cnt, link_cap;
	uint64_t ran_before, recorded_before, lost_before; /* in the ledgers of windows before */
	struct heap_summary summary; /* of the window filled last */
};

/* Does the kernel know cookies of probes ("bpf: Allow to specify user-provided bpf_cookie for BPF
 * perf links", 5.15)? Tried. */
bool heap_probes_work(void);

/* Before loading: which programs and maps there are, and how large, in at most @max_bytes (0: by
 * default). */
void heap_configure(struct bpfprof *skel, const struct capture_opts *opts, uint32_t cpu_cnt);

/* After loading. 0 or negative errno after log_error(). */
int heap_open(struct heap *heap, struct loader *loader, const struct capture_opts *opts);
void heap_close(struct heap *heap);

/*
 * Put probes on the allocators that process @tgid has mapped. 0; negative errno after log_error():
 * -ENOENT when it has none that we know.
 */
int heap_attach_process(struct heap *heap, pid_t tgid);

/* The same of a child that is about to exec @program, a path or a name in $PATH: on what that file
 * and the libraries that it needs will be. */
int heap_attach_command(struct heap *heap, pid_t tgid, const char *program);

/* From now on children of these processes are probed too, and what all load later. 0; negative
 * errno after log_error(). */
int heap_follow(struct heap *heap);

/* Nothing is probed any more. */
void heap_stop(struct heap *heap);

/* A record says what stack a site is. 0 or -ENOMEM. */
int heap_define(struct heap *heap, uint32_t site, const struct bp_stack *stack, const __u64 *frames,
		const struct bp_who *who);

/* Site @nr as a stack of the window's profile, and whose it is. PROFILE_NONE: -ENOMEM. */
uint32_t heap_site_stack(const struct heap *heap, struct drain *drain, uint32_t nr,
			 uint32_t *labels_out);

/* At a window's end: who freed what whom allocated. */
void heap_fill_pairs(struct heap *heap, struct drain *drain);

/* At a window's end: all sites into its profile. */
void heap_fill(struct heap *heap, struct drain *drain);

#endif
