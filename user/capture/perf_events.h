/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One perf event per CPU that carries our program, and what its own counter says: the ledger's
 * ticks.
 *
 * Hotplug kills a perf event silently: its counter freezes, reading it still succeeds. So an event
 * belongs to one life of its CPU: it is closed when the CPU goes, its count is kept, and a new one
 * is opened when the CPU comes back.
 */
#ifndef BPFPROF_CAPTURE_PERF_EVENTS_H
#define BPFPROF_CAPTURE_PERF_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/parse.h"
#include "event/event.h"

struct event_cpu {
	uint32_t cpu;
	int fd; /* owned, -1 while the CPU is offline */
	bool is_pinned; /* there is one that another process has opened: no fd */
	uint64_t rate; /* of this life: the event's period, or where is_freq its frequency */
	uint64_t count; /* of that one, as of when it was read last */
	uint64_t ticks_closed; /* of earlier lives of the CPU, and of earlier periods */
	uint64_t count_closed; /* of this life's counter, what is in ticks_closed */
	uint64_t ticks; /* as of perf_events_read_ticks() */
};

struct pins;

struct perf_events {
	const struct event *event; /* borrowed; NULL: closed */
	int prog_fd; /* borrowed */
	struct pins *pins; /* borrowed; NULL: events end with their descriptors */
	uint32_t nr; /* of the event, in pins */
	bool enabled;
	struct event_cpu *cpus; /* owned */
	size_t cnt, cap;
};

/*
 * Open @event, a counter (borrowed until perf_events_close()), on every CPU of @cpus, disabled,
 * with @prog_fd attached. Where @pins (borrowed likewise; NULL: none) has it, as event @nr, and it
 * is alive, that one is left to count. 0 or negative errno, logged; -EOPNOTSUPP: it cannot be
 * pinned on this kernel.
 */
int perf_events_open(struct perf_events *events, const struct event *event,
		     const struct number_set *cpus, int prog_fd, struct pins *pins, uint32_t nr);

int perf_events_enable(struct perf_events *events); /* 0 or negative errno */
void perf_events_disable(struct perf_events *events);

/* They end, here and where they are pinned: what they have counted is kept, and they can be enabled
 * no more. */
void perf_events_end(struct perf_events *events);

/* CPU @cpu went away or came back. */
void perf_events_cpu_offline(struct perf_events *events, uint32_t cpu);
void perf_events_cpu_online(struct perf_events *events, uint32_t cpu);

/*
 * Read every CPU's ticks since the start into event_cpu.ticks: its counter divided by the period;
 * with is_freq the counter itself. To be called right before the epoch is flipped: what runs after
 * the flip belongs to the next window, and so do its ticks.
 */
void perf_events_read_ticks(struct perf_events *events);

/*
 * The event's freq_hz (of an is_freq one), or else its period, has changed: tell the kernel, which,
 * where they are pinned, takes new ones. What was counted until now is ticks of the rate before. 0
 * or negative errno.
 */
int perf_events_retune(struct perf_events *events);

/*
 * Software events with a frequency: let each CPU's next event be a sample, whatever period is left.
 * A burst makes the kernel choose a long one, and where events then come slowly, it may not be over
 * before the recording is: it is lowered at ticks, but what is left of it is not.
 */
void perf_events_nudge(struct perf_events *events);

void perf_events_close(struct perf_events *events);

#endif
