/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time, where it was kept (record --timeline, the text of perf script): the numeric label "time" of
 * a sample, in nanoseconds since the profile's start, so that time_ns + time is UTC. Samples of one
 * bucket have the time at which it begins. Of samples that last (waits) it is when they began.
 */
#ifndef BPFPROF_PROFILE_TIMELINE_H
#define BPFPROF_PROFILE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

/* Of a recording and of perf's texts, unless they say otherwise: the rows of a sub-second heat map
 * are as high. */
enum { TIMELINE_BUCKET_NS = 20000000 };

/* The labels of @set and @time_ns. PROFILE_NONE: no memory, which the profile's err says. */
uint32_t timeline_labels(struct profile *prof, uint32_t set, uint64_t time_ns);

/* The labels of @set but its time. As timeline_labels(). */
uint32_t timeline_without(struct profile *prof, uint32_t set);

/* The time of @set; false: it has none. */
bool timeline_time(const struct profile *prof, uint32_t set, uint64_t *out);

/* What all times are a multiple of: the width of the buckets. 0: no time was kept, or none but 0.
 */
uint64_t timeline_bucket_ns(const struct profile *prof);

/* Have any samples a time? */
bool timeline_is_kept(const struct profile *prof);

/* The samples in the order of their times; those without one are first, and else they stay as they
 * are. @out: sample_cnt of them. 0 or -ENOMEM. */
int timeline_order(const struct profile *prof, uint32_t *out);

#endif
