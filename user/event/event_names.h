/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of counters that every kernel knows: hardware, software and cache events. Which of them
 * this machine has is another question: event_resolve() tries.
 */
#ifndef BPFPROF_EVENT_EVENT_NAMES_H
#define BPFPROF_EVENT_EVENT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/nearest.h"

enum { EVENT_NAME_MAX = 40 };

struct event_name {
	char name[EVENT_NAME_MAX];
	uint32_t type; /* PERF_TYPE_* */
	uint64_t config;
	bool is_clock; /* counts nanoseconds of CPU time */
	bool is_alias; /* another name of the row before */
};

/*
 * Find @name into @out. Hardware and software events are written as they are; cache events as
 * CACHE, CACHE-misses, CACHE-OPs or CACHE-OP-misses in letters of either case.
 */
bool event_name_find(const char *name, struct event_name *out);

/* The @index'th name into @out: every hardware, software and cache event in this order. False
 * beyond the last. */
bool event_name_at(size_t index, struct event_name *out);

/* "hw", "sw" or "cache". */
const char *event_name_class(uint32_t type);

/* The name most like @typed into @out; false when none is near. */
bool event_name_nearest(const char *typed, char out[static EVENT_NAME_MAX]);

#endif
