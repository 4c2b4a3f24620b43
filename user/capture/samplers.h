/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of a recording, each with its program and its books. Counters (timers, PMU and
 * software events) are a perf event per CPU, which says itself how often it ticked; probes and
 * tracepoints are attached once, and the program counts them.
 */
#ifndef BPFPROF_CAPTURE_SAMPLERS_H
#define BPFPROF_CAPTURE_SAMPLERS_H

#include <stdint.h>

#include "abi.h"
#include "capture/books.h"
#include "capture/capture.h"
#include "capture/perf_events.h"
#include "capture/probes.h"
#include "capture/sampler_exprs.h"
#include "event/event.h"

struct loader;
struct pins;

struct sampler {
	struct event event; /* *owned* */
	struct sampler_exprs exprs;
	int prog_fd; /* borrowed */
	struct perf_events counters; /* of a counter */
	struct probes probes; /* of the others */
	struct probes call_probes; /* --elapsed: at the entries */
	struct books books;
	uint64_t misses_before; /* of the program, before sampling began */
	uint64_t misses_end; /* as of the window's end, where that is marked */
	bool is_marked;
};

struct samplers {
	struct sampler items[BP_EVENTS_SAMPLED]; /* in the order of their programs */
	uint32_t cnt;
};

/* What opts->events name, on this machine; none when only waits are recorded. 0, or negative errno
 * after log_error(). */
int samplers_resolve(struct samplers *samplers, const struct capture_opts *opts);

/* Before loading: what the programs are to know of each event. */
void samplers_configure(const struct samplers *samplers, const struct capture_opts *opts,
			struct bp_event_config *out);

/*
 * Open everything, nothing sampled yet: counters on @cpus, books for all of @present. 0, or
 * negative errno after log_error().
 */
int samplers_open(struct samplers *samplers, struct loader *loader, const struct number_set *cpus,
		  const struct number_set *present);

/* Is there one that is not a counter? */
bool samplers_have_probes(const struct samplers *samplers);

/* Counters sample from here on, all else when loader_set_sampling() says so. 0 or negative errno.
 */
int samplers_enable(struct samplers *samplers, struct loader *loader);

/* Counters sample no more: see perf_events_end(). */
void samplers_end_counters(struct samplers *samplers);

/* The event of @samplers that is the same as @wanted, of another recording, where the program
 * counts it; NULL: there is none, or a counter has counted it. */
const struct sampler *samplers_find_like(const struct samplers *samplers,
					 const struct sampler *wanted);
void samplers_disable(struct samplers *samplers, struct loader *loader);
void samplers_close(struct samplers *samplers);

void samplers_cpu_online(struct samplers *samplers, uint32_t cpu);
void samplers_cpu_offline(struct samplers *samplers, uint32_t cpu);

/* Events whose rate is that of -F get another. 0, or negative errno after log_error(). */
int samplers_set_freq(struct samplers *samplers, uint64_t freq_hz);

/* See perf_events_nudge(). */
void samplers_nudge(struct samplers *samplers);

/* See perf_events_read_ticks(). */
void samplers_read_ticks(struct samplers *samplers);

/* Add a drained shard's counters, all of them; what was recorded is returned. */
uint64_t samplers_add(struct samplers *samplers, uint32_t shard,
		      const struct bp_event_counters *counters);

/* The window ends now: what is counted elsewhere is read. To be called right before the epoch is
 * flipped, as perf_events_read_ticks(). */
void samplers_mark_end(struct samplers *samplers);

/*
 * What the books stand at, in @pins, under the last bit of the number of the epoch that begins
 * there: its marks (as the window before it ends) and its totals (when that is closed); and back:
 * the beginning of a window from both, its end from the marks.
 */
void samplers_save_marks(const struct samplers *samplers, struct pins *pins, uint32_t parity);
void samplers_save_totals(const struct samplers *samplers, struct pins *pins, uint32_t parity);
void samplers_load_begin(struct samplers *samplers, struct pins *pins, uint32_t parity);
void samplers_load_end(struct samplers *samplers, struct pins *pins, uint32_t parity);

/* The rows of one event's window. @is_at_rest: nothing runs any more, and the kernel's run counts
 * can be asked. 0 or -ENOMEM. */
int sampler_close_window(struct sampler *sampler, bool is_at_rest, struct ledger_event *event);

#endif
