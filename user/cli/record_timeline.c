/* SPDX-License-Identifier: Apache-2.0 */
/* record --timeline: how wide the buckets of time are, and what splits stacks with it. */
#include <errno.h>

#include "base/clock.h"
#include "base/parse.h"
#include "cli/record.h"
#include "profile/timeline.h"

static const uint64_t bucket_max_ns = 3600 * NSEC_PER_SEC;

int record_timeline_check(struct record_opts *opts, struct buf *why)
{
	uint64_t bucket_ns = TIMELINE_BUCKET_NS;

	if (!opts->timeline)
		return 0;
	if (opts->heap)
		buf_add_str(why, "option '--timeline': not with --heap, which counts what lives");
	else if (*opts->timeline && (parse_duration_ns(opts->timeline, &bucket_ns) ||
				     bucket_ns < NSEC_PER_MSEC || bucket_ns > bucket_max_ns))
		buf_printf(why, "option '--timeline': '%s' is no time from 1ms to 1h",
			   opts->timeline);
	else {
		opts->bucket_ns = bucket_ns;
		return 0;
	}
	return -EINVAL;
}

/* A timeline has lanes. Those of waits are not of a CPU. */
uint32_t record_timeline_by(const struct record_opts *opts)
{
	uint32_t by = opts->by.bits;

	if (!opts->bucket_ns)
		return by;
	by |= BY_PID | BY_TID;
	return opts->off_cpu || opts->wall ? by : by | BY_CPU;
}
