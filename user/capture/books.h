/* SPDX-License-Identifier: Apache-2.0 */
/* The running account of one event: per CPU what ticked, what ran and what became of it, cumulated
 * and per window. */
#ifndef BPFPROF_CAPTURE_BOOKS_H
#define BPFPROF_CAPTURE_BOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "capture/idle.h"
#include "capture/perf_events.h"
#include "profile/ledger.h"

struct book { /* one CPU */
	uint32_t cpu;
	struct bp_event_counters window; /* since the last window */
	uint64_t ran_total, never_ran_total; /* of the windows handed out */
	struct idle idle; /* as of the beginning of the window */
	struct idle idle_end; /* as of its end, where that is marked */
};

struct books {
	struct book *items; /* owned; indexed by shard number */
	size_t cnt;
	int idle_fd; /* borrowed: program bp_idle_exits */
	bool is_marked; /* the window has ended, though it is not closed */
	uint64_t ran_off; /* runs that are none of the event's: see struct bp_event_counters */
	uint64_t misses_total; /* of the windows handed out: books_close_counted() */
	uint64_t between_cnt; /* of ran_off, in no window yet: see books_note_between() */
};

/* One book per CPU of @present, in shard order. @idle_fd: see idle.h. 0 or -ENOMEM. */
int books_init(struct books *books, const struct number_set *present, int idle_fd);
void books_deinit(struct books *books);

/* The events are about to be enabled: the first window begins. */
void books_start(struct books *books);

/* The window ends now, whenever it is closed. */
void books_mark_end(struct books *books);

/* Of the runs that are none of the event's, @cnt came when the recording before this one recorded
 * no longer, and this one not yet: the next window has them as lost. */
void books_note_between(struct books *books, uint64_t cnt);

/* Add a drained shard's counters. */
void books_add(struct books *books, uint32_t shard, const struct bp_event_counters *counters);

/*
 * Write the window's rows into @event and start the next window. @events gives the ticks so far.
 * @kernel_runs: the kernel's run count of the program when everything is at rest, 0 when it is not
 * known or sampling goes on. Ticks of a window whose seam fell between counter and drain are
 * carried: sums over windows are exact.
 */
int books_close_window(struct books *books, const struct perf_events *events, uint64_t kernel_runs,
		       struct ledger_event *event);

/*
 * The same for what nothing ticks for, waits and probes: @kernel_runs as above of the program that
 * counts them, @misses how often the kernel did not run it because it ran.
 */
int books_close_counted(struct books *books, uint64_t kernel_runs, uint64_t misses,
			struct ledger_event *event);

#endif
