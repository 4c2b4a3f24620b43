/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes and tracepoints: a program attached to all places of an event at once, on every CPU and
 * for every process. What is not asked for the program filters; it does nothing until bp_ctl's
 * is_sampling is set, so that all of an event's places begin and end together.
 *
 * Unless they are pinned the kernel removes what is here with the descriptors, however we end.
 */
#ifndef BPFPROF_CAPTURE_PROBES_H
#define BPFPROF_CAPTURE_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct pins;

struct probes {
	int *fds; /* owned */
	size_t cnt, cap;
};

/* Under what names the links are pinned. */
struct probe_pins {
	struct pins *pins; /* borrowed; NULL: nothing is pinned */
	char kind; /* what is attached */
	uint32_t event; /* its number */
};

enum probes_where {
	PROBES_AT_KIND, /* as the event says */
	PROBES_AT_ENTRY, /* at the entries of functions whose return is the event */
};

/*
 * Attach program @prog_fd to every place of @event. With @pins (NULL: none) what is pinned already
 * is left as it is, and what is attached is pinned. 0, or negative errno after log_error();
 * -EOPNOTSUPP: such links are newer than this kernel. @probes is to be probes_close()d also on
 * failure.
 */
int probes_open(const struct event *event, int prog_fd, enum probes_where where,
		const struct probe_pins *pins, struct probes *probes);

/* Removing a uprobe waits for the kernel: up to 0.1 s for each. */
void probes_close(struct probes *probes);

/* Can one link hold many uprobes (BPF_TRACE_UPROBE_MULTI, since 6.6)? Tried once. Then programs of
 * user probes are loaded with the attach type UPROBE_MULTI_ATTACH_TYPE. */
bool probes_have_multi(void);

enum { UPROBE_MULTI_ATTACH_TYPE = 48 }; /* newer than our headers */

#endif
