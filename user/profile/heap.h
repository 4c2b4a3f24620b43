/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations as samples: what of a process' heap each stack has allocated, has live now, and had
 * live when the process had most. The value types are those of other heap profilers (pprof's four,
 * and three more):
 *
 *	alloc_objects, alloc_space	allocated in the window
 *	inuse_objects, inuse_space	live at its end; of a process that is gone: never freed
 *	peak_objects, peak_space	live when the process had most, since the recording began
 *	temporary			of alloc_objects: freed with no allocation and no other
 *					free of the thread in between
 *	old_objects, old_space		of inuse: older than --leak-age
 *	freed_objects, freed_space	--heap=sites: freed since the recording began, of samples
 *					whose stacks are "ALLOCATES;--;FREES"
 *
 * The peaks of several processes are of several moments; their sum is of none.
 */
#ifndef BPFPROF_PROFILE_HEAP_H
#define BPFPROF_PROFILE_HEAP_H

#include "base/buf.h"
#include "profile/profile.h"

enum { HEAP_LIFETIMES = 16 };

struct heap_values {
	uint64_t alloc_objects, alloc_bytes;
	uint64_t inuse_objects, inuse_bytes;
	uint64_t peak_objects, peak_bytes;
	uint64_t temporary;
	uint64_t old_objects, old_bytes;
	uint64_t freed_objects, freed_bytes;
};

/* A window's heap, all sites and processes together. */
struct heap_summary {
	struct heap_values sum;
	uint64_t rate_bytes; /* 0: exact */
	uint64_t old_ns; /* --leak-age; 0: not asked */
	double variance; /* of sum.alloc_bytes as an estimate */
	/* As counted at every call, in either mode, since the recording began. */
	uint64_t ran; /* entries of allocating functions, one inside another too */
	uint64_t recorded;
	uint64_t calls, asked_bytes; /* those not inside another that may have succeeded */
	uint64_t frees, failed, cut_short;
	uint64_t unknown_frees; /* of blocks that were not recorded: older, or not sampled */
	/* Processes that came by fork; those that ended before they were probed, and the longest
	 * from fork to probes. */
	uint64_t children, children_missed, children_lag_ns;
	/* What makes it a lower bound. no_thread: calls of which nothing else is known. */
	uint64_t overflows, unseen_frees, sites_full, procs_full, no_thread;
	uint64_t lifetimes[HEAP_LIFETIMES]; /* since the recording began:
						  freed objects by 1 us, 4 us, ... */
};

/* The value types of an empty profile; the default one is alloc_space, or the last that is asked.
 */
void heap_declare(struct profile *prof, bool with_old, bool with_freed);

/* Add @values to the sample (@stack, @labels) and to @summary. Nothing for all zero. */
void heap_add(struct profile *prof, struct heap_summary *summary, uint32_t stack, uint32_t labels,
	      const struct heap_values *values);

/* Is something live, or was allocated, that the tables do not show? */
bool heap_is_lower_bound(const struct heap_summary *summary);

/* For the terminal: the sums, what they are worth, and how long blocks lived. Appended to @out. */
void heap_format(const struct heap_summary *summary, struct buf *out);

/* What the profile says of itself: mode, error, bounds; comments. */
void heap_add_comments(struct profile *prof, const struct heap_summary *summary);

#endif
