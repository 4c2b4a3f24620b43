/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From kernel records to the profile. What arrives: shards of a closed epoch, and ring records
 * (samples that found no room in their shard, new executables). Samples in the ring belong to an
 * epoch like all others and wait until it is closed.
 *
 * A drain has two halves: what is read is still there until it is given back (drain_give_back()),
 * so that who dies in between has lost nothing, and the next one reads the same.
 */
#ifndef BPFPROF_CAPTURE_DRAIN_H
#define BPFPROF_CAPTURE_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "base/buf.h"
#include "capture/capture.h"
#include "capture/asleep.h"
#include "capture/exes.h"
#include "capture/jit.h"
#include "capture/loader.h"
#include "capture/ring_reader.h"
#include "capture/snapshot.h"
#include "proc/kernel_map.h"
#include "profile/ledger.h"
#include "profile/off_cpu.h"
#include "profile/profile.h"

struct heap;
struct samplers;

/* Indices of value types; PROFILE_NONE where the window has none. */
struct drain_columns {
	uint32_t samples, waits, blocked, runnable, sum;
	/* counts: how often, where the event's value is something else. */
	uint32_t events[BP_EVENTS_SAMPLED], counts[BP_EVENTS_SAMPLED], parallel[BP_EVENTS_SAMPLED];
};

struct drain {
	struct loader *loader; /* borrowed */
	const struct samplers *samplers; /* borrowed */
	struct exes exes;
	uint64_t nr; /* of this drain, counting from 1 */
	struct ring_reader ring;
	bool holds_ring; /* records stay in the ring until their epoch is given back */
	uint64_t first_at[2]; /* of an epoch's number modulo 2, where its first record in the ring
				 is; UINT64_MAX: none was read */
	uint64_t
		old_at; /* records before it, of the epochs that old_parity means, are given back */
	uint32_t old_parity;
	struct buf waiting; /* samples from the ring, of epochs not closed yet */
	struct snapshots snapshots;
	struct asleep asleep;
	uint64_t asleep_cnt; /* threads whose sleep at the window's end was recorded */
	bool wants_flip; /* a shard is full, or much is waiting: do not wait for the timer */
	uint32_t by; /* enum capture_by */
	uint32_t max_depth; /* user frames, both ends together; 0: all that were kept */

	struct profile *prof; /* owned: the window's */
	struct module **modules; /* owned array of borrowed: per mapping of prof */
	size_t module_cnt, module_cap;
	uint32_t kernel_mapping, anon_mapping, unknown_mapping;
	const struct kernel_map *kernel; /* borrowed; NULL: nobody wants names */
	uint64_t bucket_ns; /* of the time that is kept; 0: none is */
	uint64_t window_start_ns; /* CLOCK_MONOTONIC */
	uint64_t epoch_start_ns, epoch_end_ns; /* of the one that is drained, CLOCK_MONOTONIC */
	struct jit jit;
	uint32_t *stack_ids; /* owned: shard stack -> profile stack */
	uint64_t outcomes[BP_STACK_OUTCOME_CNT];
	uint64_t deepest;
	uint32_t full_stack; /* what stacks beyond the bound are counted under; PROFILE_NONE: no
				need yet */
	uint64_t recorded[BP_EVENTS_MAX]; /* samples put into the window's profile, by enum bp_event
					   */
	struct capture_wait_opts wait_opts;
	bool parallelism, has_hist;
	const char *hist_unit; /* borrowed */
	const char *unit; /* borrowed: of what probes give instead of their number; NULL: that */
	struct drain_columns columns; /* of the window's profile */
	struct off_cpu *off_cpu; /* owned: the window's; NULL: no waits are recorded */
	struct heap *heap; /* borrowed: told what stacks its sites are; NULL: none is recorded */
	uint64_t totals_lost;
	uint64_t vma_misses, exe_misses, targets_full;
	struct ledger_snapshots snapshot_cnt; /* of the window */
};

/* @loader and @samplers: borrowed. 0 or -ENOMEM. */
int drain_init(struct drain *drain, struct loader *loader, const struct capture_opts *opts,
	       const struct samplers *samplers);
void drain_deinit(struct drain *drain);

/* Begin a window: a new empty profile with value types for the events and for waits; 0 or -ENOMEM.
 * The caller took prof and off_cpu before. */
int drain_begin_window(struct drain *drain);

/* A thread at the end of a window, before its epoch is flipped: its times, and where it sleeps. 0
 * or negative errno. */
int drain_thread(struct drain *drain, const struct bp_asleep *thread);

/* The window's module per mapping of its profile: the array is the caller's (free()), the modules
 * stay ours. The next window starts without. */
struct module **drain_take_modules(struct drain *drain, size_t *cnt);

/* Take what the ring holds now: announcements at once, samples set aside. Cheap when empty. 0 or
 * negative errno. */
int drain_ring(struct drain *drain);

/* Is a shard of the open epoch @epoch half full, or did one spill into the ring? */
bool drain_is_half_full(const struct drain *drain, uint32_t epoch);

/* Finish snapshots whose rows have come; with @force all of drained epochs. */
void drain_snapshots(struct drain *drain, bool force);

/* Put everything of the closed epoch @epoch into the profile; @add is told each shard's counters. 0
 * or negative errno. */
typedef void drain_counters_fn(void *arg, uint32_t shard, const struct bp_event_counters *counters);
int drain_epoch(struct drain *drain, uint32_t epoch, drain_counters_fn *add, void *arg);

/* Epoch @epoch, which was drained, is kept elsewhere now: its shards are cleared, and where the
 * ring is held its records go. Can be done again. */
void drain_give_back(struct drain *drain, uint32_t epoch);

#endif
