/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the map of kernel code (proc/kernel_map.h) up to date while we record: announcements as
 * they come, and readings of /proc/kallsyms, each in a thread of its own that ends with it, because
 * the kernel needs 40 ms to print it and the drain cannot wait. The first begins when sampling has;
 * another when a module was loaded or announcements were lost, but after the first few they take at
 * most a tenth of the time: what a module that is gone by then was called is not known.
 */
#ifndef BPFPROF_CAPTURE_KERNEL_WATCH_H
#define BPFPROF_CAPTURE_KERNEL_WATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/parse.h"
#include "capture/ksym_events.h"
#include "proc/kernel_map.h"

/* A reading: the thread's while it runs. */
struct kernel_reading {
	uint64_t from_ns; /* since when it holds */
	uint64_t start_ns, end_ns, cpu_ns;
	struct kallsyms *syms; /* owned; NULL: it failed */
};

struct kernel_watch {
	struct kernel_map *map; /* owned; NULL: nobody wants names */
	struct ksym_events events;
	struct kernel_reading reading; /* the last one */
	pthread_t thread;
	bool is_reading;
	uint64_t wanted_ns; /* since when another reading is due; 0: none is */
	uint64_t epoch_ns; /* when the epoch began that is being sampled */
	uint64_t cpu_ns; /* that readings have used, for whoever takes it */
	uint64_t begin_ns; /* of the recording */
	uint64_t spent_ns; /* on readings since then, by the clock */
	uint32_t module_loads; /* as of the last look */
	bool must_flip; /* an address has changed hands: the epoch should end */
};

/* 0 or -ENOMEM. Without kernel_watch_begin() it does nothing. */
int kernel_watch_init(struct kernel_watch *watch);
void kernel_watch_deinit(struct kernel_watch *watch);

/* Sampling has begun on @cpus: watch, and begin to read. What does not work out is logged, and has
 * the consequence that only one state of the symbols is known. */
void kernel_watch_begin(struct kernel_watch *watch, const struct number_set *cpus,
			uint64_t epoch_ns, uint32_t module_loads);

/* Take in what has happened. @module_loads counts on from kernel_watch_begin()'s. Never waits. */
void kernel_watch_take(struct kernel_watch *watch, uint32_t module_loads);

/* Before an epoch is drained that ended at @now_ns: as kernel_watch_take(), and wait some moments
 * for a reading that was due in it. */
void kernel_watch_flipped(struct kernel_watch *watch, uint32_t module_loads, uint64_t now_ns);

/* Before a window ends: whatever is due is read, and waited for. */
void kernel_watch_finish(struct kernel_watch *watch, uint32_t module_loads);

#endif
