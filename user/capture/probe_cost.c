/* SPDX-License-Identifier: Apache-2.0 */
/* The rate of hits before sampling begins, and what it will come to. */
#include "capture/probe_cost.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"

enum {
	TRIAL_MS = 100,
	/* A hit: entering the kernel and leaving it, where the place's own cost is not known, and
	 * walking a stack of 15 frames (tests/live/speed.sh). */
	HIT_NS = 650,
	STACK_NS = 1500,
	NOTICEABLE_PERMILLE = 10, /* of the machine's CPU time */
	REFUSED_PERMILLE = 250,
};

/* How often the program of event @nr has been run so far, for nothing. */
static uint64_t idle_runs(const struct loader *loader, uint32_t nr)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < 2 * loader->sizes.cpu_cnt; i++)
		sum += __atomic_load_n(&loader->mem.shards[i].events[nr].ran_off, __ATOMIC_RELAXED);
	return sum;
}

/* Of the dearest of its places; which of them is hit is not known. */
static uint64_t hit_ns(const struct event *event)
{
	uint64_t most_ns = HIT_NS;

	for (size_t i = 0; i < event->site_cnt; i++)
		if (event->sites[i].cost_ns > most_ns)
			most_ns = event->sites[i].cost_ns;
	return most_ns;
}

static int judge(const struct event *event, uint64_t hits_per_s, uint32_t cpu_cnt, bool is_forced)
{
	uint64_t stacks_per_s = event->is_freq	    ? event->freq_hz * cpu_cnt
				: event->period > 1 ? hits_per_s / event->period
						    : hits_per_s;
	uint64_t cost_ns = hits_per_s * hit_ns(event) + stacks_per_s * STACK_NS;
	uint64_t permille = cost_ns * 1000 / (cpu_cnt * NSEC_PER_SEC);

	if (permille >= REFUSED_PERMILLE && !is_forced) {
		log_error("event '%s': %llu hits a second would cost about %llu %% of this "
			  "machine's CPU time, mostly for the hits themselves: choose a rarer "
			  "place, or --force",
			  event->name, (unsigned long long)hits_per_s,
			  (unsigned long long)permille / 10);
		return -EBUSY;
	}
	if (permille >= NOTICEABLE_PERMILLE)
		log_info("event '%s': %llu hits a second cost about %llu %% of this machine's CPU "
			 "time",
			 event->name, (unsigned long long)hits_per_s,
			 (unsigned long long)permille / 10);
	else
		log_debug("event '%s': %llu hits a second, %llu ns each", event->name,
			  (unsigned long long)hits_per_s, (unsigned long long)hit_ns(event));
	return 0;
}

int probe_cost_check(const struct samplers *samplers, const struct loader *loader, bool is_forced)
{
	const struct timespec trial = {.tv_nsec = TRIAL_MS * NSEC_PER_MSEC};
	uint64_t before[BP_EVENTS_SAMPLED] = {0};
	int err = 0;

	if (!samplers_have_probes(samplers))
		return 0;
	for (uint32_t i = 0; i < samplers->cnt; i++)
		before[i] = idle_runs(loader, i);
	nanosleep(&trial, NULL);
	for (uint32_t i = 0; i < samplers->cnt && !err; i++)
		if (samplers->items[i].event.spec.kind != EVENT_COUNTER)
			err = judge(&samplers->items[i].event,
				    (idle_runs(loader, i) - before[i]) * 1000 / TRIAL_MS,
				    loader->sizes.cpu_cnt, is_forced);
	return err;
}
