/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the recording share among themselves, and nobody else may use. */
#ifndef BPFPROF_CAPTURE_CAPTURE_PRIV_H
#define BPFPROF_CAPTURE_CAPTURE_PRIV_H

#include "capture/books.h"
#include "capture/capture.h"
#include "capture/drain.h"
#include "capture/guard.h"
#include "capture/heap.h"
#include "capture/kernel_watch.h"
#include "capture/loader.h"
#include "capture/pins.h"
#include "capture/rows_feed.h"
#include "capture/samplers.h"
#include "capture/targets.h"
#include "capture/waits.h"

struct capture {
	struct loader loader;
	struct samplers samplers;
	struct drain drain;
	struct rows_feed rows;
	struct targets targets;
	struct debuginfod *debuginfod; /* borrowed; may be NULL */
	struct kernel_watch kernel;
	struct capture_wait_opts wait_opts;
	bool watches_switches; /* the scheduler's programs are needed */
	struct waits waits;
	struct books wait_books;
	struct heap heap;
	struct guard guard;
	const struct number_set *heap_tgids; /* borrowed: whose heap */
	struct off_cpu *handed_off_cpu; /* owned: of the window handed out last */
	const char *program; /* borrowed: of COMMAND; NULL: none */
	int hotplug_fd;
	uint64_t drain_period_ns;
	uint64_t last_drain_ns, next_drain_ns;
	uint64_t start_ns; /* from process start to enabled */
	uint64_t window_start_ns; /* CLOCK_MONOTONIC */
	uint64_t replaced_ns; /* likewise: another took its place; 0: none did */
	uint64_t window_time_ns; /* CLOCK_REALTIME */
	uint64_t cpu_used_before_ns;
	uint64_t rss_anon_peak_bytes;
	uint64_t names_cpu_ns; /* of our CPU time, not the capture's */
	uint64_t samples; /* recorded in all windows */
	struct module **handed_modules; /* owned: per mapping of the window handed out last */
	size_t handed_cnt;
	bool is_stopped;
	bool is_pinned;
	struct pins pins;
	uint64_t lease_ns;
	struct capture_origin origin; /* of the window handed out last */
	bool is_handed; /* pinned: that one is not committed */
	bool is_closed; /* pinned: who was here before has closed an epoch and not committed it */
};

#define CAPTURE_DRAIN_PERIOD_MIN_NS (50 * NSEC_PER_MSEC)

/* One drain: flip, wait, read: the number of the epoch. When shards fill fast, the next one comes
 * sooner. 0 or negative errno, logged. */
int capture_drain(struct capture *cap, uint32_t *epoch);

/* Announcements at once, so that their rows come soon. 0 or negative errno. */
int capture_take_ring(struct capture *cap);

/* Tables that are finished go to the kernel, and finish what waits for them. */
void capture_take_rows(struct capture *cap);

/* For poll(2), from @now_ns until @until_ns, a minute at most. */
int capture_timeout_ms(uint64_t now_ns, uint64_t until_ns);

/* Probes sample in @next from now on, and in @old no longer; both are attached. The moment, of
 * CLOCK_MONOTONIC. */
uint64_t capture_hand_over(struct capture *old, struct capture *next);

/* capture_pinned.c: what is another with pins. */

/* Before anything is loaded. 0, or negative errno, logged. */
int capture_pins_open(struct capture *cap, const struct capture_opts *opts);

/* Everything is loaded and set up: go on where the last process was. 0, or negative errno, logged.
 */
int capture_pins_resume(struct capture *cap);

/* When the window began that is handed out next, CLOCK_MONOTONIC. */
uint64_t capture_pins_start_ns(const struct capture *cap);

/* Sampling has begun, at the window's start: from now on the recording can be gone on with. */
void capture_pins_begin(struct capture *cap);

/* We are alive. */
void capture_pins_renew_lease(struct capture *cap);

/* Should the window end? Records of the ring have been taken. */
bool capture_pins_are_full(const struct capture *cap);

/* End the open epoch, or the one that was found closed: its number, and when it ended. 0 or
 * negative errno; -EBUSY: the last is not committed. */
int capture_pins_end_epoch(struct capture *cap, uint32_t *epoch, uint64_t *end_ns);

/* Epoch @epoch is handed out, its books are closed. */
void capture_pins_handed(struct capture *cap, uint32_t epoch);

/* The books of the window that was drained last, into @ledger. 0 or -ENOMEM. */
int capture_fill_ledger(struct capture *cap, struct ledger *ledger);

#endif
