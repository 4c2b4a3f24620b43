/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ends a recording for the host's sake: its CPU time, its memory, or a file.
 *
 * CPU time is what the kernel says that our programs ran, and our own while we record: row tables
 * and drains, in all threads. Ours is not counted for the names and files of a window, nor in the
 * first GUARD_SETTLED_S, when tables are made of what runs already (0.2 s of CPU time, once). The
 * sum over a window may not be more than the bound of a whole one, so that a young recording may
 * use in a second what is for five:
 *
 *	over the last 5 s: programs + own <= percent / 100 * 5 s * CPUs online
 *
 * What interrupts and probes cost by themselves, before a program is entered, nobody counts.
 */
#ifndef BPFPROF_CAPTURE_GUARD_H
#define BPFPROF_CAPTURE_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"
#include "profile/ledger.h"

enum {
	GUARD_WINDOW_S = 5,
	GUARD_SETTLED_S = 2,
	GUARD_CHECK_MS = 500,
	GUARD_READINGS = GUARD_WINDOW_S * 1000 / GUARD_CHECK_MS + 1,
	/* Tables and names of a usual machine take some 40 MiB: less is no bound, but a refusal. */
	GUARD_MEMORY_LEAST = 64 << 20,
};

/* CPU time used until then. */
struct guard_reading {
	uint64_t time_ns, used_ns;
};

struct guard {
	double max_cpu_percent; /* 0: no bound */
	uint64_t max_own_bytes; /* 0: no bound */
	uint64_t next_ns; /* CLOCK_MONOTONIC of the next look */
	struct guard_reading readings[GUARD_READINGS]; /* a ring */
	uint32_t reading_cnt; /* so far */
	uint64_t begun_ns; /* CLOCK_MONOTONIC of the first look */
	uint64_t settling_ns; /* CPU time of ours until it had settled */
	uint64_t own_ns; /* CPU time of ours in spans that are over */
	uint64_t resumed_ns; /* process CPU time at the beginning of this span */
	bool is_running;
	struct ledger_stopped stopped; /* reason "": not stopped */
};

/* Bounds from @opts. 0, or -EPERM after log_error() while LEDGER_STOP_FILE forbids recording. */
int guard_open(struct guard *guard, const struct capture_opts *opts);

/* Our own CPU time counts from resume to pause. */
void guard_resume(struct guard *guard);
void guard_pause(struct guard *guard);

struct loader;

/* Look, where it is time; once stopped it stays so. True: the recording is to end, @guard->stopped
 * says why. */
bool guard_check(struct guard *guard, const struct loader *loader, uint64_t now_ns);

/* Take the reading (@now_ns, @used_ns), times never going back; does it pass the bound on
 * @cpu_cnt CPUs? Then *@percent_out is the share of the window. */
bool guard_add_reading(struct guard *guard, uint64_t now_ns, uint64_t used_ns, uint32_t cpu_cnt,
		       double *percent_out);

/* Does the file @path, in a folder that is as trustworthy, forbid recording? It must be root's, a
 * regular file, and writable by nobody else. Where it is there and does not count, *@why_not
 * (static; may be NULL) says so; else it is NULL. */
bool guard_file_counts(const char *path, const char **why_not);

#endif
