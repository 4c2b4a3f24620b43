/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact counts of an event, without samples: perf events that only count, on CPUs or on threads.
 *
 * Those on threads are inherited by the threads and children made from then on. Probes are the
 * exception: an inherited probe is made anew in the forking task, from a pointer into *our* memory,
 * so that its fork fails with EFAULT (6.18 still). Here probes count on CPUs, or on the named
 * threads alone.
 */
#ifndef BPFPROF_EVENT_COUNTERS_H
#define BPFPROF_EVENT_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/parse.h"
#include "event/event.h"

/* Whose events. */
struct counter_target {
	const struct number_set *cpus; /* borrowed: these CPUs; NULL: the threads @tids */
	const struct number_set *tids; /* borrowed */
	bool inherit; /* their threads and children too */
	bool on_exec; /* begin when the thread calls exec */
};

struct counter {
	const struct event *event; /* borrowed */
	int *fds; /* owned: one for each thread or CPU, and tracepoint or site */
	size_t cnt, cap;
};

struct counter_value {
	uint64_t count; /* scaled up where other events had the PMU meanwhile */
	uint64_t enabled_ns, running_ns; /* summed over threads or CPUs */
};

/* Open @event disabled. 0; negative errno with one line in @why. counter_close() in either case. */
int counter_open(struct counter *counter, const struct event *event,
		 const struct counter_target *target, struct buf *why);

int counter_enable(struct counter *counter); /* 0 or negative errno */
void counter_disable(struct counter *counter);
int counter_read(const struct counter *counter, struct counter_value *out); /* 0, negative errno */
void counter_close(struct counter *counter);

/* @raw of an event that had its PMU for @running_ns of @enabled_ns; 0 when it never had. */
uint64_t counter_scale(uint64_t raw, uint64_t enabled_ns, uint64_t running_ns);

#endif
