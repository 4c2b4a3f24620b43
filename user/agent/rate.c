/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/rate.h"

void rate_init(struct rate *rate, const struct rate_opts *opts)
{
	*rate = (struct rate){
		.opts = *opts,
		.hz = opts->max_hz,
		.waits = opts->has_waits,
		.quiet_ns = RATE_QUIET_MIN_NS,
	};
}

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

static enum rate_step lower(struct rate *rate, uint64_t now_ns)
{
	note_fall(rate, now_ns);
	if (rate->hz > RATE_MIN_HZ) {
		rate->hz /= 2;
		return RATE_LOWERED;
	}
	if (rate->waits) {
		rate->waits = false;
		return RATE_WAITS_OFF;
	}
	if (rate->is_told)
		return RATE_KEEP;
	rate->is_told = true;
	return RATE_STUCK;
}

static uint64_t next_hz(const struct rate *rate)
{
	uint64_t next = rate->hz + (rate->hz + 1) / 2;

	return next < rate->opts.max_hz ? next : rate->opts.max_hz;
}

static enum rate_step raise(struct rate *rate, uint64_t now_ns)
{
	rate->raised_ns = rate->calm_since_ns = now_ns;
	rate->is_told = false;
	if (rate->opts.has_waits && !rate->waits) {
		rate->waits = true;
		return RATE_WAITS_ON;
	}
	rate->hz = next_hz(rate);
	return RATE_RAISED;
}

enum rate_step rate_step(struct rate *rate, uint64_t now_ns, double share, bool is_short_of_memory)
{
	bool is_lowered = rate->hz < rate->opts.max_hz || rate->waits != rate->opts.has_waits;
	double bound = rate->opts.max_share;

	if (is_short_of_memory || (bound < 1 && share > bound))
		return lower(rate, now_ns);
	/* What the next step would cost at most, were all of the cost proportional to it. */
	share *= (double)next_hz(rate) / (double)rate->hz;
	if (!is_lowered || (bound < 1 && share > 0.75 * bound)) {
		rate->calm_since_ns = 0;
		return RATE_KEEP;
	}
	if (!rate->calm_since_ns)
		rate->calm_since_ns = now_ns;
	if (now_ns - rate->calm_since_ns < rate->quiet_ns)
		return RATE_KEEP;
	return raise(rate, now_ns);
}
