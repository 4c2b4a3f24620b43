/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One recording takes the place of another, both attached to the same probes.
 *
 * A hit runs both programs, and each looks at its own bp_ctl.is_sampling, at its own moment: so the
 * two stores that switch from one to the other are not one moment for a hit that is under way, or
 * that comes between them. But no hit is out of sight: a program counts what it samples (ran), and
 * what it passes over (ran_off). From the first store on, of the hits of a probe that both have,
 *
 *	ran_off of the old one	has all that it did not sample
 *	ran of the next one	has all that it did
 *
 * and the difference, when both have seen the same hits, is the number that neither sampled (or, if
 * it is negative, that both did).
 *
 * On the kernels that we know a new uprobe is asked before the older ones; the old recording stops
 * first. So no hit can be sampled by both; by neither one that comes within some ten ns.
 */
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/priority.h"
#include "capture/capture_priv.h"

/* A hit is seen by one program before the other: nothing is under way when nothing was counted for
 * so long. Looked for so often. */
#define QUIET_NS (50 * NSEC_PER_USEC)
enum { READINGS_MAX = 1000 };

static uint64_t sum_ran(const struct capture *cap, uint32_t event)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < 2 * cap->loader.sizes.cpu_cnt; i++)
		sum += __atomic_load_n(&cap->loader.mem.shards[i].events[event].ran,
				       __ATOMIC_RELAXED);
	return sum;
}

static uint64_t sum_ran_off(const struct capture *cap, uint32_t event)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < 2 * cap->loader.sizes.cpu_cnt; i++)
		sum += __atomic_load_n(&cap->loader.mem.shards[i].events[event].ran_off,
				       __ATOMIC_RELAXED);
	return sum;
}

/* An event that both have. */
struct shared_event {
	uint32_t old_nr, next_nr;
	uint64_t off_before; /* of the old one: before its sampling began */
};

/* How many hits the old one did not sample and the next one neither; as of a moment at which no hit
 * is under way, unless there is none. */
static int64_t between(const struct capture *old, const struct capture *next,
		       const struct shared_event *event)
{
	uint64_t off = sum_ran_off(old, event->old_nr), ran = sum_ran(next, event->next_nr);

	for (int i = 0; i < READINGS_MAX; i++) {
		const struct timespec quiet = {.tv_nsec = QUIET_NS};
		uint64_t off_now, ran_now;

		nanosleep(&quiet, NULL);
		off_now = sum_ran_off(old, event->old_nr);
		ran_now = sum_ran(next, event->next_nr);
		if (off == off_now && ran == ran_now)
			break;
		off = off_now;
		ran = ran_now;
	}
	return (int64_t)(off - event->off_before - ran);
}

static void account(struct capture *old, struct capture *next, const struct shared_event *event)
{
	struct sampler *sampler = &next->samplers.items[event->next_nr];
	int64_t cnt = between(old, next, event);

	if (cnt > 0)
		books_note_between(&sampler->books, (uint64_t)cnt);
	else if (cnt < 0)
		log_warn("event '%s': %lld hits were sampled by the recording that has ended and "
			 "by the one that has begun",
			 sampler->event.name, (long long)-cnt);
}

static uint32_t find_shared(const struct capture *old, const struct capture *next,
			    struct shared_event *out)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < next->samplers.cnt; i++) {
		const struct sampler *like =
			samplers_find_like(&old->samplers, &next->samplers.items[i]);
		uint32_t nr = like ? (uint32_t)(like - old->samplers.items) : 0;

		if (like)
			out[cnt++] = (struct shared_event){nr, i, sum_ran_off(old, nr)};
	}
	return cnt;
}

uint64_t capture_hand_over(struct capture *old, struct capture *next)
{
	struct shared_event events[BP_EVENTS_SAMPLED];
	uint32_t cnt = find_shared(old, next, events);
	int priority = priority_raise();
	uint64_t now_ns;

	loader_set_sampling(&old->loader, false);
	loader_set_sampling(&next->loader, true);
	now_ns = clock_monotonic_ns();
	priority_restore(priority);
	for (uint32_t i = 0; i < cnt; i++)
		account(old, next, &events[i]);
	return now_ns;
}
