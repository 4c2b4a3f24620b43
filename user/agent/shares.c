/* SPDX-License-Identifier: Apache-2.0 */
/* Which samples are stored: see shares.h. */
#include "agent/shares.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hmap.h"

static const double HOUR_NS = 3600.0 * NSEC_PER_SEC;

void shares_init(struct shares *shares, const struct shares_opts *opts)
{
	*shares = (struct shares){.opts = *opts};
}

void shares_deinit(struct shares *shares)
{
	free(shares->items);
	shares->items = NULL;
}

/* In [0, 1), another one for each value of each service. */
static double chance_of(const struct shares *shares, uint32_t service, uint32_t value)
{
	const uint64_t key[] = {shares->opts.seed, (uint64_t)service << 32 | value};

	return (double)(hash_bytes(key, sizeof(key)) >> 11) * 0x1p-53;
}

static void begin(const struct shares *shares, struct share *share, uint32_t service,
		  const char *name)
{
	const struct shares_opts *opts = &shares->opts;

	*share = (struct share){.service = service};
	policy_decide(opts->policy, &opts->facts, name, opts->now_ns, &share->verdict);
	for (uint32_t i = 0; i < PROFILE_VALUES_MAX; i++)
		share->carried[i] = chance_of(shares, service, i);
}

uint32_t shares_find(struct shares *shares, uint32_t service, const char *name)
{
	size_t nr = 0;

	/* Asked once for each label set, of some hundreds. */
	while (nr < shares->cnt && shares->items[nr].service != service)
		nr++;
	if (nr < shares->cnt)
		return (uint32_t)nr;
	if (array_reserve(&shares->items, &shares->cap, nr + 1, sizeof(*shares->items)))
		return PROFILE_NONE;
	begin(shares, &shares->items[shares->cnt++], service, name);
	return (uint32_t)nr;
}

void shares_count(struct shares *shares, uint32_t share, uint32_t kind, int64_t cnt)
{
	if (cnt > 0)
		shares->items[share].seen[kind] += (uint64_t)cnt;
}

/* Of a sample, to be stored. */
static double chance_of_sample(const struct shares_opts *opts, const struct share *share,
			       uint32_t nr)
{
	const struct policy_verdict *verdict = &share->verdict;
	double chance = 1;

	if (!verdict->is_on || (nr == opts->waits_kind && !verdict->has_waits))
		return 0;
	if (nr == opts->waits_kind)
		return 1;
	if (nr == 0 && verdict->freq_hz && opts->clock_hz > 0)
		chance = fmin(chance, (double)verdict->freq_hz / opts->clock_hz);
	if (verdict->samples_per_hour && opts->duration_ns && share->seen[nr])
		chance = fmin(chance, (double)verdict->samples_per_hour *
					      ((double)opts->duration_ns / HOUR_NS) /
					      (double)share->seen[nr]);
	return chance;
}

/* The integers of what comes one after another: what is left is carried. */
static int64_t next_integer(double exact, double *carried)
{
	double sum = exact + *carried, whole = floor(sum);

	/* Also what is no number. */
	if (!(whole < (double)INT64_MAX))
		return INT64_MAX;
	*carried = sum - whole;
	return (int64_t)whole;
}

/* Columns behind the first: those of waits have their sum as the last. */
static void scale(const struct store_kind *kind, bool is_waits, double factor, struct share *share,
		  int64_t *values)
{
	const uint32_t cnt = kind->column_cnt - is_waits;
	int64_t sum = 0;

	for (uint32_t i = 1; i < cnt; i++) {
		const uint32_t column = kind->columns[i];

		values[column] =
			next_integer((double)values[column] * factor, &share->carried[column]);
		sum = profile_value_sum(sum, values[column]);
	}
	if (is_waits)
		values[kind->columns[cnt]] = sum;
}

uint64_t shares_take(struct shares *shares, uint32_t share_nr, uint32_t nr,
		     const struct store_kind *kind, int64_t *values)
{
	struct share *share = &shares->items[share_nr];
	const uint32_t column = kind->columns[0];
	const int64_t seen = values[column];
	double chance = chance_of_sample(&shares->opts, share, nr), expected, factor;

	if (!(chance > 0)) {
		for (uint32_t i = 0; i < kind->column_cnt; i++)
			values[kind->columns[i]] = 0;
		return (uint64_t)seen;
	}
	expected = (double)seen * chance;
	if (chance < 1)
		values[column] = next_integer(expected, &share->carried[column]);
	factor = seen > 0 ? (double)values[column] / expected : 1;
	factor /= share->verdict.chance;
	if (chance < 1 || share->verdict.chance < 1)
		scale(kind, nr == shares->opts.waits_kind, factor, share, values);
	return (uint64_t)(seen - values[column]);
}
