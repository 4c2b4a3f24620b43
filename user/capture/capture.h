/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capture: owns the BPF object, the perf events and the maps; turns what the kernel aggregated into
 * a profile. The only folder (with the row loader) that knows libbpf.
 *
 *	capture_open()    checks, loads, attaches everything disabled (errors name the object and
 *	                  the fix)
 *	capture_start()   enables the events
 *	capture_run()     waits for signals' eventfd, deadline or the target's end; meanwhile drains
 *	capture_window()  --interval: one more drain, then hands out the profile so far and starts a
 *	                  new one
 *	capture_stop()    disables, last drain, closes the books
 *	capture_close()
 */
#ifndef BPFPROF_CAPTURE_CAPTURE_H
#define BPFPROF_CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/parse.h"
#include "event/event.h"
#include "proc/kernel_map.h"
#include "proc/module.h"
#include "profile/heap.h"
#include "profile/ledger.h"
#include "profile/off_cpu.h"
#include "profile/profile.h"

struct capture;
struct debuginfod;

/* What splits stacks (--by): bits. */
enum capture_by {
	BY_COMM = 1 << 0, /* the thread's name */
	BY_PROCESS = 1 << 1, /* the thread group leader's name */
	BY_PID = 1 << 2,
	BY_TID = 1 << 3,
	BY_CPU = 1 << 4,
	BY_CGROUP = 1 << 5,
	BY_UID = 1 << 6,
	BY_CALLER = 1 << 7, /* who calls a probed function */
	BY_START = 1 << 8, /* with BY_PID: label "start", CLOCK_BOOTTIME ns of the process' start,
			      which with the pid is its identity */
	BY_EVENT = 1 << 9, /* label "event" on samples of all events but the first */
};

/* What is recorded of the time that threads do not run. */
struct capture_wait_opts {
	bool is_wanted;
	bool is_alone; /* no event is sampled beside it */
	bool wakers; /* with the stack of who ended a wait */
	bool kernel_threads; /* theirs too */
	uint64_t min_ns, max_ns; /* of a wait; max_ns 0: no bound */
	uint32_t states; /* enum capture_wait_state, bits; 0: all */
	uint32_t max_cpu_permille; /* of each CPU's time for their stacks; 1000: no bound */
};

/* What waits are called in ledgers. */
#define CAPTURE_WAITS_EVENT "off-cpu"

/* --state: bits. */
enum capture_wait_state {
	WAIT_INTERRUPTIBLE = 1 << 0,
	WAIT_UNINTERRUPTIBLE = 1 << 1,
	WAIT_STOPPED = 1 << 2,
	WAIT_RUNNABLE = 1 << 3, /* without a CPU: woken, preempted or new */
};

/* What is recorded of the heap. */
struct capture_heap_opts {
	bool is_wanted;
	bool pairs; /* with the stacks that free */
	bool maps; /* mmap(), mremap(), munmap() and sbrk() instead of the allocator */
	uint64_t rate_bytes; /* one byte in so many is sampled; 0: every allocation */
	uint64_t leak_age_ns; /* live blocks as old as that are told apart; 0: not */
	const char *prefix; /* --alloc-prefix, or NULL */
	const char *command; /* what COMMAND runs; NULL: none */
};

struct capture_opts {
	const char *const *events; /* each as event_parse() has it, NULL-terminated; NULL or empty:
				      cycles where there is a PMU, else cpu-clock */
	uint64_t freq_hz; /* -F; 0: the event's default */
	bool freq_is_for_clocks; /* -F, and of counters of a PMU: all else is sampled each time */
	uint64_t period; /* -c; 0: likewise */
	bool is_forced; /* whatever the events cost */
	const char *where, *weight, *hist; /* expressions (event/expr.h); NULL: none */
	const char *weight_unit; /* of what @weight gives; NULL: none */
	bool elapsed; /* of probes: the value is the time of a call */
	const struct number_set *cpus; /* NULL: all */
	const struct number_set *tgids, *tids, *uids; /* NULL or empty: no filter of that kind */
	const char *const *comms; /* globs, NULL-terminated; NULL: no filter */
	const char *const *cgroups; /* paths, NULL-terminated; NULL: no filter */
	bool no_inherit; /* do not follow children of tgids */
	bool include_idle;
	bool no_kernel_stacks, no_user_stacks;
	bool no_kernel_names; /* nobody will ask for them: --no-symbols */
	uint32_t by; /* enum capture_by; 0: BY_COMM */
	uint64_t bucket_ns; /* --timeline: samples of one bucket are of one time; 0: no time is kept
			     */
	uint32_t max_depth; /* user frames kept; 0: the limit */
	uint64_t max_kernel_bytes; /* bound for our maps; 0: default */
	uint64_t max_own_bytes; /* of anonymous memory; beyond it recording ends; 0: no bound */
	double max_cpu_percent; /* of the machine's CPU time; likewise */
	const char *btf_path; /* --btf; NULL: the kernel's own */
	struct debuginfod *debuginfod; /* borrowed: asked for the symbols of stripped executables
					  as they are sampled; NULL: nobody is asked */
	bool follow_command; /* a COMMAND will be added with capture_add_command() */
	struct capture_wait_opts waits; /* --off-cpu, --wall */
	struct capture_heap_opts heap; /* --heap; waits.is_alone is set with it: no event */
	bool parallelism; /* a further value of samples: divided by the process' running threads */
	/*
	 * The recording outlives this process: its maps, programs and links are pinned in this
	 * folder (/sys/fs/bpf/bpfprof), and who opens it next with the same options goes on with
	 * it. NULL: it ends with the process.
	 */
	const char *pin_dir;
	/* Borrowed for the call: one that is pinned in the same folder, whose place this one will
	 * take (capture_take_over()); NULL: none. */
	const struct capture *replaces;
	uint64_t lease_ns; /* pinned: so long after the last sign of life recording stops, counted
			      as no_lease; 0: never */
	/*
	 * Borrowed until capture_close(): another recording of this process, which knows what code
	 * lay where in the kernel, and whose windows this one's samples are added to. NULL: none.
	 */
	const struct capture *beside;
	bool test_plain_scratch; /* tests only, see struct bp_config */
};

static inline bool capture_names_kernel(const struct capture_opts *opts)
{
	return !opts->no_kernel_stacks && !opts->no_kernel_names;
}

static inline bool capture_watches_kernel(const struct capture_opts *opts)
{
	return capture_names_kernel(opts) && !opts->beside;
}

/*
 * 0 or negative errno, after log_error() has said what failed, on which object and how to mend it.
 * *@out is *owned* (capture_close()). With opts->pin_dir, -EOPNOTSUPP: what is asked for cannot
 * outlive the process, on this kernel or at all; the caller may go on without.
 */
int capture_open(const struct capture_opts *opts, struct capture **out);

/* Add the stopped child @tgid (its children are followed), which will run @program (borrowed until
 * capture_start()), as a target before it is released. 0 or negative errno. */
int capture_add_command(struct capture *cap, pid_t tgid, const char *program);

/*
 * Enable all events. Sets the ledger's start_ns. Before it, the unwind rows of what is going to be
 * sampled are made, mostly within tens of milliseconds; those of a command are waited for for two
 * minutes, or until @wake_fd (as of capture_run(); -1: none) is readable.
 */
int capture_start(struct capture *cap, int wake_fd);

/*
 * The same in the place of @old (NULL: of none), which samples: its counters end where those of
 * @cap begin, and of probes and tracepoints that both have each hit is sampled by one of them. Hits
 * that were sampled by neither, between two stores to memory, are in @cap's ledger as lost to
 * "handover". @old has a last window then, after which it is to be closed; not pinned, it is to be
 * stopped before. On failure @old may have no counters any more.
 */
int capture_take_over(struct capture *cap, struct capture *old);

/* The one that opts->replaces meant is closed, and its last window stored: it is removed, and @cap
 * is found in its place from now on. 0, or negative errno after log_error(). */
int capture_move_in(struct capture *cap);

enum capture_wake {
	CAPTURE_DEADLINE, /* @deadline_ns reached */
	CAPTURE_WOKEN, /* @wake_fd became readable */
	CAPTURE_TARGET_GONE, /* every tgid of opts->tgids has exited */
	CAPTURE_EPOCH_FULL, /* pinned: the window should end now, whatever the deadline */
	CAPTURE_STOPPED, /* a bound was passed, or LEDGER_STOP_FILE is there: capture_stopped() */
};

/*
 * Sample until CLOCK_MONOTONIC @deadline_ns (UINT64_MAX: none), or until @wake_fd (signalfd,
 * eventfd; -1: none) is readable (it is not read), or until the -p targets are gone. Drains and
 * handles hotplug meanwhile. Returns an enum capture_wake or negative errno.
 */
int capture_run(struct capture *cap, uint64_t deadline_ns, int wake_fd);

enum { CAPTURE_TOGETHER_MAX = 2 };

/* The same with @cnt recordings, CAPTURE_TOGETHER_MAX at most: until one of them has a reason. */
int capture_run_together(struct capture *const *caps, size_t cnt, uint64_t deadline_ns,
			 int wake_fd);

/* Why the recording may not go on: looked for at most twice a second, within capture_run() and by
 * this. A reason of "" says that it may. */
struct ledger_stopped capture_stopped(struct capture *cap);

/* Samples recorded so far, for a progress line. Cheap. */
uint64_t capture_samples(const struct capture *cap);

/*
 * From now on events whose rate is that of -F come @freq_hz (1 or more) times a second. To be
 * called right after capture_window(), so that all but the samples of that moment are of one
 * period; each sample counts for the period that it had. 0, or negative
 * errno after log_error(): the rate may then be the new one on some CPUs only.
 */
int capture_set_freq(struct capture *cap, uint64_t freq_hz);

/* What was drained of the window that goes on: its label sets say who was sampled. Borrowed until
 * the next call of capture_run() or capture_window(). */
const struct profile *capture_so_far(const struct capture *cap);

/* Event @nr of those that are sampled, as it is on this machine; NULL: there are fewer. Borrowed
 * from @cap. */
const struct event *capture_event(const struct capture *cap, uint32_t nr);

/*
 * Flip, drain, and hand out everything since the last call: *@out_profile (owned by the caller:
 * profile_deinit + free) without names,
 * *@out_ledger (ledger_deinit + free) for that window. Sampling goes on; no sample is lost or
 * counted twice at the seam.
 *
 * Pinned, a window is one epoch, and stays in the kernel until capture_commit(): -EBUSY before
 * that. The first window of a process may be one that its predecessor handed out and did not
 * commit (capture_run() returns CAPTURE_EPOCH_FULL at once then): by capture_origin() the caller
 * knows whether it is stored already. After any other error close and open again: what was not
 * handed out is still there.
 */
int capture_window(struct capture *cap, struct profile **out_profile, struct ledger **out_ledger);

/* Which window was handed out last: never the same for two of them. */
struct capture_origin {
	char boot_id[40]; /* as /proc/sys/kernel/random/boot_id has it */
	uint64_t instance; /* random, of the recording; the same for all who go on with it */
	uint64_t epoch; /* rises within an instance, by 1 */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	bool is_again; /* it was closed by who recorded before us, who may have stored it */
};
void capture_origin(const struct capture *cap, struct capture_origin *out);

/* The window handed out last is kept elsewhere, on the disk: the kernel's may go. 0; -EINVAL: there
 * is none. Not pinned there is nothing to do. */
int capture_commit(struct capture *cap);

/* End and remove all recordings pinned in @pin_dir, and it. 0, also when there is none; negative
 * errno after log_error(), -EBUSY: a process records with it. */
int capture_detach_pinned(const char *pin_dir);

/* Disable the events and close the books; then a last capture_window() gets the rest. Pinned,
 * nothing is disabled: the next process goes on, or capture_detach_pinned() ends it. */
int capture_stop(struct capture *cap);

/* modules[i] of the profile handed out last: borrowed until the next capture_window() or
 * capture_close(). */
struct module *const *capture_modules(const struct capture *cap, size_t *cnt);

/* The waits of the window handed out last, for off_cpu_finish() when the profile has its names;
 * borrowed as they are. NULL: none were recorded. */
struct off_cpu *capture_off_cpu(struct capture *cap);

/* The heap of the window handed out last, borrowed; NULL: it was not recorded. */
const struct heap_summary *capture_heap(const struct capture *cap);

/* What kernel code lay where in the window handed out last, for its names; borrowed as they are.
 * NULL: nobody wanted it. */
struct kernel_map *capture_kernel(struct capture *cap);

/* CPU time that reading the kernel's symbols has taken beside the recording, since the last call:
 * symbolizing's, and not in capture_cost(). */
uint64_t capture_take_names_cpu_ns(struct capture *cap);

/* The command line's --strict and the summary need no more than the ledger; this adds our own
 * process' cost so far to it. */
void capture_cost(struct capture *cap, struct ledger_cost *cost);

/* Have the kernel count what programs cost, which takes 110 ns of each of their runs, until the
 * descriptor is closed that is returned, *owned*. Negative errno: -EPERM without CAP_SYS_ADMIN. */
int capture_count_cost(void);

/* NULL is fine. Nothing of ours stays in the kernel but what is pinned. */
void capture_close(struct capture *cap);

/* What `doctor` asks about this machine, each probed by trying. */
struct capture_probe {
	const char *name; /* "BTF", "load a BPF program", ... */
	bool ok;
	bool is_required; /* recording fails without it */
	char detail[160]; /* what was found */
	char fix[320]; /* how to mend it; "" when ok */
};
size_t capture_doctor(struct capture_probe *out, size_t max);

#endif
