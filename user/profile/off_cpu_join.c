/* SPDX-License-Identifier: Apache-2.0 */
/* Events and waits of two recordings, as one recording of both would have them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/off_cpu.h"
#include "profile/off_cpu_labels.h"
#include "profile/profile_import.h"
#include "profile/profile_priv.h"

struct join {
	struct profile *prof;
	const struct profile *waits;
	struct off_cpu *off;
	struct profile_import import;
	uint32_t columns[PROFILE_VALUES_MAX]; /* of waits' values in prof */
};

/* The samples of events again, with room for those of waits; time on the CPU is of the sum. */
static int widen(struct profile *prof)
{
	_cleanup_free_ struct profile_sample *samples = NULL;
	_cleanup_free_ int64_t *values = NULL;
	uint32_t narrow = prof->value_type_cnt, cpu = profile_find_value(prof, "cpu");
	size_t cnt;

	profile_take_samples(prof, &samples, &values, &cnt);
	off_cpu_declare(prof, "wall");
	for (size_t i = 0; i < cnt && !prof->err; i++) {
		int64_t wide[PROFILE_VALUES_MAX] = {0};

		memcpy(wide, values + i * narrow, narrow * sizeof(*wide));
		if (cpu != PROFILE_NONE)
			wide[prof->value_type_cnt - 1] = wide[cpu];
		profile_sample(prof, samples[i].stack, samples[i].label_set, wide);
	}
	return prof->err;
}

/* By name, but for the sum, which is the last of both. */
static int match_columns(struct join *join)
{
	const struct profile *waits = join->waits;

	if (!waits->value_type_cnt)
		return -EINVAL;
	for (uint32_t i = 0; i + 1 < waits->value_type_cnt; i++) {
		join->columns[i] = profile_find_value(
			join->prof, profile_str(waits, waits->value_types[i].type));
		if (join->columns[i] == PROFILE_NONE)
			return -EINVAL;
	}
	join->columns[waits->value_type_cnt - 1] = join->prof->value_type_cnt - 1;
	return 0;
}

/* Label sets are named in labels, by their number. */
static uint32_t join_labels(struct join *join, uint32_t set)
{
	struct off_cpu_wait wait = {0};

	if (!off_cpu_read_labels(join->waits, set, &wait))
		return profile_import_label_set(&join->import, set);
	return off_cpu_labels(join->prof, profile_import_label_set(&join->import, wait.who_set),
			      wait.state, wait.log2_ns, wait.waker);
}

static int join_sample(struct join *join, size_t nr, double variance)
{
	const struct profile *waits = join->waits;
	const int64_t *from = waits->values + nr * waits->value_type_cnt;
	int64_t values[PROFILE_VALUES_MAX] = {0};
	uint32_t sample;

	for (uint32_t i = 0; i < waits->value_type_cnt; i++)
		values[join->columns[i]] = from[i];
	sample = profile_sample(join->prof,
				profile_import_stack(&join->import, waits->samples[nr].stack),
				join_labels(join, waits->samples[nr].label_set), values);
	if (sample == PROFILE_NONE || !(variance > 0))
		return join->prof->err;
	return off_cpu_add_variance(join->off, sample, variance);
}

static int join_samples(struct join *join)
{
	_cleanup_free_ double *variances = take_ptr(join->off->variances);
	size_t cnt = join->off->variance_cnt;
	int err = 0;

	join->off->variance_cnt = join->off->variance_cap = 0;
	for (size_t i = 0; i < join->waits->sample_cnt && !err; i++)
		err = join_sample(join, i, i < cnt ? variances[i] : 0);
	return err;
}

static int join_totals(struct join *join)
{
	_cleanup_free_ struct off_cpu_total *totals = take_ptr(join->off->totals);
	size_t cnt = join->off->total_cnt;
	int err = 0;

	join->off->total_cnt = join->off->total_cap = 0;
	for (uint32_t i = 0; i < cnt && !err; i++) {
		const struct off_cpu_total *total = &totals[i];

		if (total->cpu || total->blocked || total->runnable)
			err = off_cpu_add_total(join->off,
						profile_import_label_set(&join->import, i), total);
	}
	return err;
}

static void join_wakers(struct join *join)
{
	for (size_t i = 0; i < join->off->waker_cnt; i++) {
		struct off_cpu_waker *waker = &join->off->wakers[i];

		if (waker->stack != PROFILE_NONE)
			waker->stack = profile_import_stack(&join->import, waker->stack);
		waker->comm = profile_import_string(&join->import, waker->comm);
	}
}

int off_cpu_join(struct profile *prof, const struct profile *waits, struct off_cpu *off,
		 uint32_t *mappings)
{
	struct join join = {.prof = prof, .waits = waits, .off = off};
	int err = widen(prof);

	err = err ? err : match_columns(&join);
	err = err ? err : profile_import_init(&join.import, prof, waits);
	if (err)
		return err;
	err = join_samples(&join);
	err = err ? err : join_totals(&join);
	join_wakers(&join);
	memcpy(mappings, join.import.mappings, waits->mapping_cnt * sizeof(*mappings));
	profile_import_deinit(&join.import);
	return err ? err : prof->err;
}
