/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler's programs (bpf/entry_sched.bpf.h): attached, told which threads there are, asked
 * at the end of a window for the threads that are asleep then.
 */
#ifndef BPFPROF_CAPTURE_WAITS_H
#define BPFPROF_CAPTURE_WAITS_H

#include <stdint.h>

#include "abi.h"
#include "base/parse.h"
#include "capture/capture.h"
#include "capture/iterate.h"

struct bpfprof;
struct loader;

struct waits {
	struct loader *loader; /* borrowed; NULL: no waits are recorded */
	struct bell *bells; /* owned */
	size_t bell_cnt;
};

/* Before loading: what @opts say, into @cfg; and which programs and maps there are.
 * @has_task_storage: where the kernel knows it. */
void waits_configure(const struct capture_opts *opts, bool has_task_storage, struct bp_config *cfg);
void waits_choose_programs(struct bpfprof *skel, const struct capture_opts *opts);

/*
 * After loading: can a thread have its storage? Since "bpf: Use kmalloc_nolock() in bpf local
 * storage" (6.19) it needs a 128-bit compare-and-exchange, which some (virtual) CPUs lack. If not,
 * the object is to be loaded with @has_task_storage false.
 */
bool waits_storage_works(const struct bpfprof *skel);

/* Are the scheduler's programs needed? */
static inline bool waits_are_attached(const struct capture_opts *opts)
{
	return opts->waits.is_wanted || opts->parallelism;
}

/*
 * Begin: every thread that there is gets its times, and from here on they are kept. @cpus: those
 * present. 0, or negative errno after log_error().
 */
int waits_start(struct waits *waits, struct loader *loader, const struct number_set *cpus);

/* The times end: what happens from now on is not recorded. waits_collect() gets the last. */
void waits_end(struct waits *waits);

/* Nothing is attached any more. */
void waits_stop(struct waits *waits);
void waits_deinit(struct waits *waits);

/* Each thread, at the end of a window: its times in it, and where it sleeps. Borrowed for the call.
 * 0 or negative errno, which ends it. */
int waits_collect(struct waits *waits, iterate_fn *fn, void *arg);

/* How waits are recorded on this kernel, for people. Static. */
const char *waits_describe(const struct loader *loader);

/* The kernel's run count of the switch program, and how often it was not run because it ran. */
void waits_runs(const struct waits *waits, uint64_t *runs, uint64_t *misses);

#endif
