/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often tasks and all that they start hit a probe, exactly.
 *
 * perf's own counters cannot tell for probes: they are not inherited (event/counters.h), and on
 * CPUs they count everybody. So four small programs do: a set of threads lives in a map; a new
 * thread joins when its maker is in it, one that ends leaves, exec keeps a process in under its
 * new thread's number; and at the probe a hit counts when the thread is in the set. The numbers are
 * those of the first pid name space, so in a container with its own there is no such count.
 */
#ifndef BPFPROF_CAPTURE_TASK_COUNTS_H
#define BPFPROF_CAPTURE_TASK_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "event/event.h"

struct task_counts;

/*
 * For @event_cnt events. @why: one line. -EOPNOTSUPP where thread numbers are not ours to know.
 * *owned*
 */
int task_counts_open(size_t event_cnt, struct task_counts **out, struct buf *why);

/* Thread @tid is of the set, at once or (@on_exec) when it next calls exec. 0 or negative errno. */
int task_counts_add(struct task_counts *counts, uint32_t tid, bool on_exec);

/* Count the hits of all of @event's sites as number @index. 0; negative errno with @why. */
int task_counts_attach(struct task_counts *counts, size_t index, const struct event *event,
		       struct buf *why);

int task_counts_read(const struct task_counts *counts, size_t index, uint64_t *out);

void task_counts_close(struct task_counts *counts); /* NULL is fine */

#endif
