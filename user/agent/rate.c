/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/rate.h"

/* A step up may bring what is used to this part of the bound. */
static const double room = 0.75;

void rate_init(struct rate *rate, const struct rate_opts *opts)
{
	*rate = (struct rate){
		.opts = *opts,
		.hz = opts->max_hz,
		.permille = opts->max_permille,
		.clock.quiet_ns = RATE_QUIET_MIN_NS,
		.waits.quiet_ns = RATE_QUIET_MIN_NS,
	};
}

static bool is_bounded(const struct rate *rate)
{
	return rate->opts.max_share < 1;
}

/* --- Down --- */

/* A step up that is taken back within twice the quiet time was one too early. */
static void note_fall(struct rate_ladder *ladder, uint64_t now_ns)
{
	if (ladder->raised_ns && now_ns - ladder->raised_ns < 2 * ladder->quiet_ns)
		ladder->quiet_ns = ladder->quiet_ns < RATE_QUIET_MAX_NS / 2 ? 2 * ladder->quiet_ns
									    : RATE_QUIET_MAX_NS;
	else
		ladder->quiet_ns = RATE_QUIET_MIN_NS;
	ladder->raised_ns = 0;
}

/* Could it be enough to take the fewest stacks? Programs use no more than their time for them; all
 * else is of every switch. */
static bool thinning_can_do(const struct rate *rate, const struct rate_cost *cost)
{
	double most = (double)(rate->permille - RATE_MIN_PERMILLE) / 1000;

	if (most > cost->waits)
		most = cost->waits;
	return !is_bounded(rate) || cost->all - most <= rate->opts.max_share;
}

static enum rate_step lower_waits(struct rate *rate, uint64_t now_ns, const struct rate_cost *cost)
{
	note_fall(&rate->waits, now_ns);
	if (rate->permille > RATE_MIN_PERMILLE && thinning_can_do(rate, cost)) {
		rate->permille /= 2;
		return RATE_WAITS_LESS;
	}
	rate->permille = 0;
	rate->waits_per_switch = cost->switches > 0 ? cost->waits / cost->switches : 0;
	return RATE_WAITS_OFF;
}

static enum rate_step lower(struct rate *rate, uint64_t now_ns, const struct rate_cost *cost)
{
	bool has_hz = rate->hz > RATE_MIN_HZ;

	rate->clock.calm_since_ns = rate->waits.calm_since_ns = 0;
	if (rate->permille && (!has_hz || cost->waits > cost->clock))
		return lower_waits(rate, now_ns, cost);
	if (has_hz) {
		note_fall(&rate->clock, now_ns);
		rate->hz /= 2;
		return RATE_LOWERED;
	}
	if (rate->is_told)
		return RATE_KEEP;
	rate->is_told = true;
	return RATE_STUCK;
}

/* --- Up --- */

static uint64_t next_hz(const struct rate *rate)
{
	uint64_t next = rate->hz + (rate->hz + 1) / 2;

	return next < rate->opts.max_hz ? next : rate->opts.max_hz;
}

static uint32_t next_permille(const struct rate *rate)
{
	uint32_t next = rate->permille ? 2 * rate->permille : RATE_MIN_PERMILLE;

	return next < rate->opts.max_permille ? next : rate->opts.max_permille;
}

/* What all would cost at most after the next step of the clock, if the load stays. */
static double expected_of_clock(const struct rate *rate, const struct rate_cost *cost)
{
	return cost->all * (double)next_hz(rate) / (double)rate->hz;
}

/* The same of waits: twice the stacks, and twice the cost at most. */
static double expected_of_waits(const struct rate *rate, const struct rate_cost *cost)
{
	double more = (double)(next_permille(rate) - rate->permille) / 1000;

	if (!rate->permille)
		return cost->all + rate->waits_per_switch * cost->switches;
	return cost->all + (more < cost->waits ? more : cost->waits);
}

/* Has there been room for @ladder's next step, after which all is @expected, for long enough? */
static bool may_rise(const struct rate *rate, struct rate_ladder *ladder, bool is_lowered,
		     double expected, uint64_t now_ns)
{
	if (!is_lowered || (is_bounded(rate) && expected > room * rate->opts.max_share)) {
		ladder->calm_since_ns = 0;
		return false;
	}
	if (!ladder->calm_since_ns)
		ladder->calm_since_ns = now_ns;
	return now_ns - ladder->calm_since_ns >= ladder->quiet_ns;
}

/* The step before has stood, if there was one. */
static void note_rise(struct rate *rate, struct rate_ladder *ladder, uint64_t now_ns)
{
	if (ladder->raised_ns && ladder->quiet_ns >= 2 * RATE_QUIET_MIN_NS)
		ladder->quiet_ns /= 2;
	ladder->raised_ns = now_ns;
	rate->clock.calm_since_ns = rate->waits.calm_since_ns = now_ns;
	rate->is_told = false;
}

static enum rate_step raise(struct rate *rate, bool is_for_waits, uint64_t now_ns)
{
	bool is_on = rate->permille;

	note_rise(rate, is_for_waits ? &rate->waits : &rate->clock, now_ns);
	if (!is_for_waits) {
		rate->hz = next_hz(rate);
		return RATE_RAISED;
	}
	rate->permille = next_permille(rate);
	return is_on ? RATE_WAITS_MORE : RATE_WAITS_ON;
}

enum rate_step rate_step(struct rate *rate, uint64_t now_ns, const struct rate_cost *cost,
			 bool is_short_of_memory)
{
	bool clock_may, waits_may;

	if (is_short_of_memory || (is_bounded(rate) && cost->all > rate->opts.max_share))
		return lower(rate, now_ns, cost);
	clock_may = may_rise(rate, &rate->clock, rate->hz < rate->opts.max_hz,
			     expected_of_clock(rate, cost), now_ns);
	waits_may = may_rise(rate, &rate->waits, rate->permille < rate->opts.max_permille,
			     expected_of_waits(rate, cost), now_ns);
	if (!clock_may && !waits_may)
		return RATE_KEEP;
	return raise(rate, waits_may && (!clock_may || cost->waits < cost->clock), now_ns);
}
