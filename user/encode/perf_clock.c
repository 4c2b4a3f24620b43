/* SPDX-License-Identifier: Apache-2.0 */
/* What the times of perf script's text mean. */
#include "encode/perf_clock.h"

#include <string.h>

#include "profile/timeline.h"

static bool cut_mark(struct perf_text *text, const char *mark)
{
	size_t len = strlen(mark);

	if (text->len < len || memcmp(text->str, mark, len))
		return false;
	text->str += len;
	text->len -= len;
	return true;
}

void perf_clock_note(struct perf_clock *clock, struct perf_text comment)
{
	int64_t bucket_ns;

	if (cut_mark(&comment, PERF_CLOCK_NONE))
		clock->has_none = true;
	else if (cut_mark(&comment, PERF_CLOCK_BUCKET) &&
		 perf_text_number(perf_text_trim(comment), 10, &bucket_ns))
		clock->bucket_ns = (uint64_t)bucket_ns;
}

void perf_clock_see(struct perf_clock *clock, const struct perf_header *header)
{
	if (!header->has_time || (clock->has_seen && header->time_ns >= clock->first_ns))
		return;
	clock->first_ns = header->time_ns;
	clock->has_seen = true;
}

bool perf_clock_read(const struct perf_clock *clock, const struct perf_header *header,
		     uint64_t *out)
{
	uint64_t first_ns = clock->bucket_ns ? 0 : clock->first_ns;
	uint64_t bucket_ns = clock->bucket_ns ? clock->bucket_ns : TIMELINE_BUCKET_NS;

	if (clock->has_none || !header->has_time)
		return false;
	*out = (header->time_ns - first_ns) / bucket_ns * bucket_ns;
	return true;
}
