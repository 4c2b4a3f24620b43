/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times in the text of perf script. perf's are seconds since boot or the like: they become times
 * since the earliest one, in buckets of TIMELINE_BUCKET_NS. What we write says in comments
 * which times it has:
 *
 *	# bucket_ns: 20000000		since the recording's start, in such buckets
 *	# no times were kept: ...	none: what stands there is to be left out
 */
#ifndef BPFPROF_ENCODE_PERF_CLOCK_H
#define BPFPROF_ENCODE_PERF_CLOCK_H

#include "encode/perf_header.h"

#define PERF_CLOCK_BUCKET "# bucket_ns: "
#define PERF_CLOCK_NONE "# no times were kept: "

struct perf_clock {
	uint64_t first_ns, bucket_ns; /* bucket_ns 0: nothing said so */
	bool has_none, has_seen;
};

/* The first pass: a comment, and a sample's line. */
void perf_clock_note(struct perf_clock *clock, struct perf_text comment);
void perf_clock_see(struct perf_clock *clock, const struct perf_header *header);

/* Then: when the sample was, nanoseconds since the start. False: that is not known. */
bool perf_clock_read(const struct perf_clock *clock, const struct perf_header *header,
		     uint64_t *out);

#endif
