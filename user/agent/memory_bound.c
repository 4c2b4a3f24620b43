/* SPDX-License-Identifier: Apache-2.0 */
/* When to forget: see memory_bound.h. */
#include "agent/memory_bound.h"

void memory_bound_init(struct memory_bound *bound, uint64_t max_bytes)
{
	*bound = (struct memory_bound){
		.max_bytes = max_bytes ? max_bytes : MEMORY_MAX_DEFAULT_BYTES,
		.pause_ns = MEMORY_PAUSE_MIN_NS,
		.has_helped = true,
	};
}

/* Below the bound, but not calm. */
static bool is_time(struct memory_bound *bound, uint64_t now_ns)
{
	if (bound->forgot_ns && now_ns - bound->forgot_ns < bound->pause_ns)
		return false;
	if (!bound->has_helped)
		bound->pause_ns *= 2;
	if (bound->pause_ns > MEMORY_PAUSE_MAX_NS)
		bound->pause_ns = MEMORY_PAUSE_MAX_NS;
	return true;
}

enum memory_step memory_bound_step(struct memory_bound *bound, uint64_t now_ns, uint64_t rss_bytes)
{
	bool was_beyond = bound->is_beyond;

	bound->is_beyond = rss_bytes > bound->max_bytes;
	if (!bound->is_beyond && rss_bytes <= MEMORY_CALM_BYTES) {
		bound->has_helped = true;
		bound->pause_ns = MEMORY_PAUSE_MIN_NS;
		return MEMORY_KEEP;
	}
	if (!bound->is_beyond && !is_time(bound, now_ns))
		return MEMORY_KEEP;
	bound->forgot_ns = now_ns;
	bound->has_helped = false;
	if (!bound->is_beyond)
		return MEMORY_FORGET;
	return was_beyond ? MEMORY_SHORT : MEMORY_FORGET_BEYOND;
}
