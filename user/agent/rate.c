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
		.quiet_ns = RATE_QUIET_MIN_NS,
	};
}

static bool is_bounded(const struct rate *rate)
{
	return rate->opts.max_share < 1;
}

/* --- Down --- */

/* A step up that is taken back within twice the quiet time was one too early. */
static void note_fall(struct rate *rate, uint64_t now_ns)
{
	if (rate->raised_ns && now_ns - rate->raised_ns < 2 * rate->quiet_ns)
		rate->quiet_ns = rate->quiet_ns < RATE_QUIET_MAX_NS / 2 ? 2 * rate->quiet_ns
									: RATE_QUIET_MAX_NS;
	else
		rate->quiet_ns = RATE_QUIET_MIN_NS;
	rate->raised_ns = 0;
	rate->calm_since_ns = 0;
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

static enum rate_step lower_waits(struct rate *rate, const struct rate_cost *cost)
{
	if (rate->permille > RATE_MIN_PERMILLE && thinning_can_do(rate, cost)) {
		rate->permille /= 2;
		return RATE_WAITS_LESS;
	}
	rate->permille = 0;
	return RATE_WAITS_OFF;
}

static enum rate_step lower(struct rate *rate, uint64_t now_ns, const struct rate_cost *cost)
{
	bool has_hz = rate->hz > RATE_MIN_HZ;

	note_fall(rate, now_ns);
	if (rate->permille && (!has_hz || cost->waits > cost->clock))
		return lower_waits(rate, cost);
	if (has_hz) {
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

/* Which is next: waits before the clock? */
static bool is_for_waits(const struct rate *rate, const struct rate_cost *cost)
{
	if (rate->permille == rate->opts.max_permille)
		return false;
	return !rate->permille || rate->hz == rate->opts.max_hz || cost->waits < cost->clock;
}

/* What all would cost at most after the next step, if the load stays; what waits cost that are not
 * recorded is to be found out. */
static double expected(const struct rate *rate, const struct rate_cost *cost)
{
	double more = (double)(next_permille(rate) - rate->permille) / 1000;

	if (!is_for_waits(rate, cost))
		return cost->all * (double)next_hz(rate) / (double)rate->hz;
	/* Twice the stacks, and twice the cost at most. */
	return cost->all + (more < cost->waits ? more : cost->waits);
}

static enum rate_step raise(struct rate *rate, uint64_t now_ns, const struct rate_cost *cost)
{
	bool is_on = rate->permille;

	rate->raised_ns = rate->calm_since_ns = now_ns;
	rate->is_told = false;
	if (!is_for_waits(rate, cost)) {
		rate->hz = next_hz(rate);
		return RATE_RAISED;
	}
	rate->permille = next_permille(rate);
	return is_on ? RATE_WAITS_MORE : RATE_WAITS_ON;
}

enum rate_step rate_step(struct rate *rate, uint64_t now_ns, const struct rate_cost *cost,
			 bool is_short_of_memory)
{
	bool is_lowered = rate->hz < rate->opts.max_hz || rate->permille < rate->opts.max_permille;

	if (is_short_of_memory || (is_bounded(rate) && cost->all > rate->opts.max_share))
		return lower(rate, now_ns, cost);
	if (!is_lowered ||
	    (is_bounded(rate) && expected(rate, cost) > room * rate->opts.max_share)) {
		rate->calm_since_ns = 0;
		return RATE_KEEP;
	}
	if (!rate->calm_since_ns)
		rate->calm_since_ns = now_ns;
	if (now_ns - rate->calm_since_ns < rate->quiet_ns)
		return RATE_KEEP;
	return raise(rate, now_ns, cost);
}
