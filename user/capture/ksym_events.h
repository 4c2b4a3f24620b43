/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel code that comes and goes, as the kernel announces it: a dummy perf event with attr.ksymbol
 * on every CPU, because an announcement goes to the events of the CPU that it is made on alone, and
 * a ring of records each. The events count nothing and sample nothing.
 */
#ifndef BPFPROF_CAPTURE_KSYM_EVENTS_H
#define BPFPROF_CAPTURE_KSYM_EVENTS_H

#include <stdint.h>

#include "base/parse.h"
#include "proc/ksym_record.h"

struct ksym_ring {
	uint32_t cpu;
	int fd; /* owned; -1 while the CPU is offline */
	void *mem; /* owned mapping; NULL while the CPU is offline */
};

struct ksym_events {
	struct ksym_ring *rings; /* owned */
	size_t cnt, cap;
	int epoll_fd; /* owned; -1: not open */
};

/*
 * Watch @cpus (those that are offline when they come). 0 or negative errno; to be closed also on
 * failure, and then without records.
 */
int ksym_events_open(struct ksym_events *events, const struct number_set *cpus);
void ksym_events_close(struct ksym_events *events);

/* Readable as soon as there is a record; -1: not open. */
int ksym_events_fd(const struct ksym_events *events);

/* CPU @cpu went away or came back. */
void ksym_events_cpu_offline(struct ksym_events *events, uint32_t cpu);
void ksym_events_cpu_online(struct ksym_events *events, uint32_t cpu);

/* Hand what has come to @fn, ordered by its time, which is CLOCK_MONOTONIC's. What cannot be read
 * is handed out as KSYM_RECORD_LOST. 0 or -ENOMEM: then some are missing. */
typedef void ksym_record_fn(void *arg, const struct ksym_record *record);
int ksym_events_read(struct ksym_events *events, ksym_record_fn *fn, void *arg);

#endif
