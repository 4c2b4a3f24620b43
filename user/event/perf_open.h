/* SPDX-License-Identifier: Apache-2.0 */
/* perf_event_open(2), which libc has no function for, and what an event is to it. */
#ifndef BPFPROF_EVENT_PERF_OPEN_H
#define BPFPROF_EVENT_PERF_OPEN_H

#include <linux/perf_event.h>
#include <sys/types.h>

#include "event/event.h"

/*
 * Of @attr (its size is set here) for thread @pid (-1: any) on @cpu (-1: any). @flags:
 * PERF_FLAG_*; the descriptor is closed on exec anyway. *Owned* descriptor or negative errno.
 */
int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags);

/* The highest frequency that the kernel takes now, which it lowers itself when sampling takes too
 * much of a CPU (kernel.perf_event_max_sample_rate); UINT64_MAX where it does not say. */
uint64_t perf_max_rate_hz(void);

/* @event, disabled, without a rate: counters and tracepoints. */
void perf_attr_init(const struct event *event, struct perf_event_attr *out);

/* ... and with its rate. */
void perf_attr_sampling(const struct event *event, struct perf_event_attr *out);

/*
 * A probe at @site as the PMU of its kind takes it, at the function's return if @at_return; @out
 * borrows the path or the symbol. 0; -EOPNOTSUPP: the kernel has no such PMU (4.17 and
 * CONFIG_UPROBE_EVENTS, CONFIG_KPROBE_EVENTS), or not what @site needs of it.
 */
int perf_attr_probe(const struct event_site *site, bool at_return, struct perf_event_attr *out);

#endif
