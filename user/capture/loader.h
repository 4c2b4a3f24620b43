/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF object: opened, sized, loaded, tested, mapped; and what the kernel says of it. */
#ifndef BPFPROF_CAPTURE_LOADER_H
#define BPFPROF_CAPTURE_LOADER_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "capture/capture.h"
#include "capture/event_programs.h"
#include "capture/sizes.h"

struct bpf_link;
struct bpfprof;
struct pins;
struct samplers;

/* The mmap-able maps as userspace sees them; indices as in abi.h. */
struct shard_memory {
	struct bp_ctl *ctl;
	struct bp_shard *shards;
	uint64_t *stack_index;
	struct bp_stack *stacks;
	uint64_t *count_index;
	struct bp_count *counts;
	__u64 *arenas;
	uint32_t *rows; /* of all blocks */
	struct bp_row_page *row_pages;
	struct bp_rule *row_rules;
};

struct loader {
	struct bpfprof *skel; /* owned */
	struct sizes sizes;
	struct shard_memory mem; /* owned mappings */
	size_t mem_bytes[16];
	struct event_programs programs;
	struct pins *pins; /* borrowed; NULL: the recording ends with this process */
	/* Owned: of programs that were loaded by who began the recording; -1: there is none. */
	int sampler_fds[BP_EVENTS_SAMPLED], call_fds[BP_EVENTS_SAMPLED];
	int barrier_inner_fd; /* owned */
	int stats_fd; /* owned: keeps the kernel's run statistics on; -1 where there are none (needs
			 CAP_SYS_ADMIN) */
	bool vma_walk_ok;
};

/*
 * Load everything that @opts and the events of @samplers (borrowed for the call) need. With @pins
 * (opened, borrowed until loader_close(); or NULL) the recording that is pinned there is gone on
 * with, if there is one of these options, or a new one is pinned. 0 or negative errno, logged with
 * object and fix. @loader is to be loader_close()d also on failure.
 */
int loader_open(struct loader *loader, const struct capture_opts *opts,
		const struct samplers *samplers, struct pins *pins);
void loader_close(struct loader *loader);

/* File descriptors, borrowed. */
int loader_ring_fd(const struct loader *loader);
int loader_exes_fd(const struct loader *loader);

/* The program of event @nr, and the one at the entries of its functions: borrowed, -1: none. */
int loader_sampler_fd(const struct loader *loader, uint32_t nr);
int loader_call_fd(const struct loader *loader, uint32_t nr);

/* loader_open()'s parts with pins. Before loading, everything sized and configured: go on with what
 * is pinned, or begin. 0 or negative errno, logged. */
int loader_pins_choose(struct loader *loader, const struct capture_opts *opts,
		       const struct samplers *samplers, uint32_t possible_cnt);

/* After loading: pin what was loaded, or find what was pinned. 0 or negative errno, logged. */
int loader_pins_keep(struct loader *loader);

/* Keep @link, if anything is kept. 0 or negative errno. */
int loader_pins_keep_link(struct loader *loader, const char *name, const struct bpf_link *link);

/* Is this a recording that another process began? */
bool loader_is_resumed(const struct loader *loader);

/* Do probes sample? They are in place before and after. */
void loader_set_sampling(struct loader *loader, bool is_sampling);

/* @id: as /proc has it. 0 or negative errno. */
int loader_add_target(struct loader *loader, enum bp_target_kind kind, uint32_t id);

/* Attach the fork and exit tracepoints that keep the targets' children. 0 or negative errno. */
int loader_follow_children(struct loader *loader);

/* Count modules that are loaded from now on, and wake the ring's reader. Nothing on a kernel
 * without modules. 0 or negative errno. */
int loader_watch_modules(struct loader *loader);
uint32_t loader_module_loads(const struct loader *loader);

/* Begin the next epoch and wait until no program still writes the old one, whose number is then in
 * *@closed. 0 or negative errno. */
int loader_flip(struct loader *loader, uint32_t *closed);

/* Wait until every program that runs now has finished. 0 or negative errno. About 8 ms. */
int loader_wait_for_programs(struct loader *loader);

/* Publish (page_cnt > 0, or a state without pages) or withdraw the rows of the executable @key. */
void loader_publish_rows(struct loader *loader, const struct bp_exe_key *key,
			 const struct bp_rows *rows);

/* Program bp_meet, for preload.h. */
int loader_meet_fd(const struct loader *loader);

/* Program bp_idle_exits, for idle.h. */
int loader_idle_fd(const struct loader *loader);

/* The kernel's own numbers of the sampling program @prog_fd. */
struct program_stats {
	uint64_t runs, run_ns, verified_insns;
	uint64_t misses; /* not run because it ran; since 5.12 */
};
void loader_program_stats(int prog_fd, struct program_stats *out);

/* The kernel's numbers of all programs that run while we record, added up. */
void loader_cost(const struct loader *loader, struct program_stats *out);

/* Bytes of kernel memory that our maps and programs take (fdinfo's memlock). */
uint64_t loader_kernel_bytes(const struct loader *loader);

/* Verified instructions of all loaded programs; 0 where the kernel does not tell (below 5.16). */
uint64_t loader_verified_insns(const struct loader *loader);

#endif
