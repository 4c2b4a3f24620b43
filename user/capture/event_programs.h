/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs of the events: the object has one of every type for every number of an event, so
 * that each knows as a constant which it is; of a recording's events those are loaded that their
 * kinds need.
 */
#ifndef BPFPROF_CAPTURE_EVENT_PROGRAMS_H
#define BPFPROF_CAPTURE_EVENT_PROGRAMS_H

#include "abi.h"
#include "capture/expr_patch.h"

struct bpf_program;
struct bpfprof;
struct samplers;

/* By the event's number; borrowed from the object; NULL: none is needed. */
struct event_programs {
	struct bpf_program *samplers[BP_EVENTS_SAMPLED];
	struct bpf_program *calls[BP_EVENTS_SAMPLED]; /* at the entry of functions that are timed */
	struct expr_patch patch;
};

/* Around opening and loading: the events' expressions go into their programs. 0 or negative errno,
 * logged; after event_programs_begin() succeeded event_programs_end() must follow. */
int event_programs_begin(struct event_programs *programs, const struct samplers *samplers);
int event_programs_end(struct event_programs *programs);
void event_programs_abandon(struct event_programs *programs); /* instead, when loading failed */

/* Between opening and loading: choose from @skel what the events of @samplers need. */
void event_programs_choose(struct event_programs *programs, struct bpfprof *skel,
			   const struct samplers *samplers);

#endif
