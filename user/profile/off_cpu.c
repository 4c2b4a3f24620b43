/* SPDX-License-Identifier: Apache-2.0 */
/* Waits as samples: causes, wakers, sums. */
#include "profile/off_cpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "profile/off_cpu_labels.h"
#include "profile/off_cpu_stack.h"
#include "profile/profile_priv.h"
#include "profile/timeline.h"

/* Indices of value types; PROFILE_NONE where the profile has none. */
struct columns {
	uint32_t samples, cpu, waits, blocked, runnable, sum;
};

void off_cpu_init(struct off_cpu *off)
{
	*off = (struct off_cpu){.has_all_blocked = true,
				.has_all_runnable = true,
				.has_all_cpu = true,
				.has_totals = true};
	hmap_init(&off->waker_index);
}

void off_cpu_deinit(struct off_cpu *off)
{
	free(off->totals);
	free(off->wakers);
	free(off->variances);
	hmap_deinit(&off->waker_index);
	*off = (struct off_cpu){0};
}

void off_cpu_declare(struct profile *prof, const char *sum)
{
	profile_add_value_type(prof, "waits", "count");
	profile_add_value_type(prof, "blocked", "nanoseconds");
	profile_add_value_type(prof, "runnable", "nanoseconds");
	prof->default_value = profile_add_value_type(prof, sum, "nanoseconds");
}

static struct columns find_columns(const struct profile *prof)
{
	return (struct columns){
		.samples = profile_find_value(prof, "samples"),
		.cpu = profile_find_value(prof, "cpu"),
		.waits = profile_find_value(prof, "waits"),
		.blocked = profile_find_value(prof, "blocked"),
		.runnable = profile_find_value(prof, "runnable"),
		.sum = prof->value_type_cnt - 1,
	};
}

int off_cpu_add_total(struct off_cpu *off, uint32_t who_set, const struct off_cpu_total *total)
{
	struct off_cpu_total *sum;

	if (who_set == PROFILE_NONE ||
	    array_reserve(&off->totals, &off->total_cap, (size_t)who_set + 1, sizeof(*off->totals)))
		return -ENOMEM;
	while (off->total_cnt <= who_set)
		off->totals[off->total_cnt++] = (struct off_cpu_total){0};
	sum = &off->totals[who_set];
	sum->cpu += total->cpu;
	sum->blocked += total->blocked;
	sum->runnable += total->runnable;
	return 0;
}

static bool waker_equal(const void *owner, uint32_t index, const void *key)
{
	return ((const struct off_cpu *)owner)->wakers[index].number == *(const uint64_t *)key;
}

static uint32_t find_waker(const struct off_cpu *off, uint64_t number)
{
	return hmap_find(&off->waker_index, hash_mix(0, number), waker_equal, off, &number);
}

int off_cpu_add_waker(struct off_cpu *off, uint64_t number, uint32_t stack, uint32_t comm)
{
	struct off_cpu_waker *waker;
	uint32_t known = find_waker(off, number);

	if (known != HMAP_NONE) {
		waker = &off->wakers[known];
		/* Two stacks of one number: neither is believed. */
		if (waker->stack != stack || waker->comm != comm)
			waker->stack = PROFILE_NONE;
		return 0;
	}
	if (array_reserve(&off->wakers, &off->waker_cap, off->waker_cnt + 1,
			  sizeof(*off->wakers)) ||
	    hmap_insert(&off->waker_index, hash_mix(0, number), (uint32_t)off->waker_cnt))
		return -ENOMEM;
	off->wakers[off->waker_cnt++] = (struct off_cpu_waker){number, stack, comm};
	return 0;
}

int off_cpu_add_variance(struct off_cpu *off, uint32_t sample, double variance)
{
	if (array_reserve(&off->variances, &off->variance_cap, (size_t)sample + 1,
			  sizeof(*off->variances)))
		return -ENOMEM;
	while (off->variance_cnt <= sample)
		off->variances[off->variance_cnt++] = 0;
	off->variances[sample] += variance;
	return 0;
}

/* The pass: from the samples as capture added them to those that users see. */
struct finish {
	struct profile *prof;
	struct off_cpu *off;
	struct columns columns;
	struct off_cpu_stacks stacks;
	struct profile_label *labels; /* owned: a set at work */
	size_t label_cap;
	/* The samples as they were, owned. */
	struct profile_sample *samples;
	int64_t *values;
	size_t sample_cnt;
	uint32_t *who_of; /* of the new ones: which totals they belong to; owned */
	size_t who_cap;
	size_t seen_cnt; /* of the new ones, those that who_of knows */
};

static struct profile_label string_label(struct profile *prof, const char *key, const char *str)
{
	return (struct profile_label){.key = profile_string(prof, key),
				      .str = profile_string(prof, str)};
}

static uint32_t labels_with(struct finish *fin, uint32_t who_set, const char *state,
			    const char *cause)
{
	struct profile *prof = fin->prof;
	const struct profile_label_set set = prof->label_sets[who_set];

	if (array_reserve(&fin->labels, &fin->label_cap, (size_t)set.cnt + 2,
			  sizeof(*fin->labels))) {
		prof->err = -ENOMEM;
		return PROFILE_NONE;
	}
	if (set.cnt)
		memcpy(fin->labels, prof->labels + set.first, set.cnt * sizeof(*fin->labels));
	fin->labels[set.cnt] = string_label(prof, "state", state);
	fin->labels[set.cnt + 1] = string_label(prof, "cause", cause);
	return profile_labels(prof, fin->labels, (size_t)set.cnt + 2);
}

/* Add a sample whose sums belong to the totals of @who_set, whenever it was. */
static void add(struct finish *fin, uint32_t stack, uint32_t labels, uint32_t who_set,
		const int64_t *values)
{
	uint32_t sample = profile_sample(fin->prof, stack, labels, values);

	who_set = timeline_without(fin->prof, who_set);

	if (sample == PROFILE_NONE)
		return;
	if (array_reserve(&fin->who_of, &fin->who_cap, (size_t)sample + 1, sizeof(*fin->who_of))) {
		fin->prof->err = -ENOMEM;
		return;
	}
	fin->who_of[sample] = who_set;
}

/* What a sample of waits was blocked. */
struct blocked {
	uint64_t waits, ns;
	double variance;
};

static void count_in_hist(struct finish *fin, const char *cause, uint32_t log2_ns,
			  const struct blocked *blocked)
{
	uint32_t name = profile_string(fin->prof, cause);
	struct off_cpu *off = fin->off;
	size_t i = 0;

	while (i < off->hist_cnt && off->hists[i].cause != name)
		i++;
	if (i == OFF_CPU_CAUSES_MAX)
		return;
	if (i == off->hist_cnt)
		off->hists[off->hist_cnt++] = (struct off_cpu_hist){.cause = name};
	off->hists[i].waits[log2_ns < OFF_CPU_LOG2_CNT ? log2_ns : OFF_CPU_LOG2_CNT - 1] +=
		blocked->waits;
	off->hists[i].total_ns += blocked->ns;
	off->hists[i].variance += blocked->variance;
}

static void add_blocked(struct finish *fin, uint32_t stack, const struct off_cpu_wait *wait,
			const struct blocked *blocked)
{
	static const char *const states[OFF_CPU_STATE_CNT] = {
		[OFF_CPU_INTERRUPTIBLE] = "interruptible",
		[OFF_CPU_UNINTERRUPTIBLE] = "uninterruptible",
		[OFF_CPU_STOPPED] = "stopped",
		[OFF_CPU_PARKED] = "parked",
	};
	const char *state = states[wait->state] ? states[wait->state] : "interruptible";
	const char *cause = off_cpu_cause(&fin->stacks, stack);
	const struct off_cpu_waker *waker = NULL;
	int64_t values[PROFILE_VALUES_MAX] = {0};
	uint32_t number = wait->waker ? find_waker(fin->off, wait->waker) : HMAP_NONE;

	if (number != HMAP_NONE && fin->off->wakers[number].stack != PROFILE_NONE)
		waker = &fin->off->wakers[number];
	values[fin->columns.waits] = (int64_t)blocked->waits;
	values[fin->columns.blocked] = values[fin->columns.sum] = (int64_t)blocked->ns;
	add(fin, off_cpu_blocked_stack(&fin->stacks, stack, waker),
	    labels_with(fin, wait->who_set, state, cause), wait->who_set, values);
	count_in_hist(fin, cause, wait->log2_ns, blocked);
}

static void add_runnable(struct finish *fin, uint32_t stack, const struct off_cpu_wait *wait,
			 int64_t waits, int64_t ns)
{
	const char *why = wait->state == OFF_CPU_PREEMPTED ? "preempted"
			  : wait->state == OFF_CPU_NEW	   ? "new"
							   : "woken";
	int64_t values[PROFILE_VALUES_MAX] = {0};

	values[fin->columns.waits] = waits;
	values[fin->columns.runnable] = values[fin->columns.sum] = ns;
	add(fin, off_cpu_runnable_stack(&fin->stacks, stack, why),
	    labels_with(fin, wait->who_set, "runnable", why), wait->who_set, values);
}

static void finish_sample(struct finish *fin, size_t i)
{
	const struct profile_sample *sample = &fin->samples[i];
	const int64_t *values = fin->values + i * fin->prof->value_type_cnt;
	struct off_cpu_wait wait = {0};
	struct blocked blocked = {0};
	int64_t waits, runnable;

	if (!off_cpu_read_labels(fin->prof, sample->label_set, &wait)) {
		add(fin, sample->stack, sample->label_set, sample->label_set, values);
		return;
	}
	waits = values[fin->columns.waits];
	blocked.ns = (uint64_t)values[fin->columns.blocked];
	blocked.waits = (uint64_t)waits;
	if (i < fin->off->variance_cnt)
		blocked.variance = fin->off->variances[i];
	runnable = values[fin->columns.runnable];
	if (blocked.ns)
		add_blocked(fin, sample->stack, &wait, &blocked);
	if (runnable || !blocked.ns)
		add_runnable(fin, sample->stack, &wait, blocked.ns ? 0 : waits, runnable);
}

/* One kind of time of one who: what is known exactly, and what the samples say. */
struct share {
	uint64_t exact, sampled;
	uint64_t passed, given; /* so far, of sampled and of exact */
};

/* @value's part of the exact sum. Rounding is carried on, so that the parts add up to it. */
static int64_t share_of(struct share *share, int64_t value)
{
	uint64_t before = share->given;

	share->passed += (uint64_t)value;
	share->given = (uint64_t)((unsigned __int128)share->passed * share->exact / share->sampled);
	return (int64_t)(share->given - before);
}

/* A kind of time, and what stands for that of it which was seen in none of the samples. */
struct unseen {
	uint32_t column;
	size_t offset; /* of its exact sum in a struct off_cpu_total */
	const char *leaf;
	const char *state; /* NULL: on the CPU */
};

/* It has no stack. */
static void add_unseen(struct finish *fin, uint32_t who_set, const struct unseen *unseen,
		       uint64_t ns)
{
	int64_t values[PROFILE_VALUES_MAX] = {0};
	uint32_t location = profile_named_location(fin->prof, unseen->leaf, LOCATION_SYNTHETIC);

	values[unseen->column] = values[fin->columns.sum] = (int64_t)ns;
	if (unseen->state)
		who_set = labels_with(fin, who_set, unseen->state, "not sampled");
	profile_sample(fin->prof, profile_stack(fin->prof, &location, 1), who_set, values);
}

/* Bring a kind of time to its exact sums. */
static void make_exact(struct finish *fin, const struct unseen *unseen)
{
	uint32_t column = unseen->column;
	size_t width = fin->prof->value_type_cnt, cnt = fin->seen_cnt;
	_cleanup_free_ struct share *shares = calloc(fin->off->total_cnt + 1, sizeof(*shares));

	if (!shares) {
		fin->prof->err = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < fin->off->total_cnt; i++)
		shares[i].exact = *(uint64_t *)((char *)&fin->off->totals[i] + unseen->offset);
	for (size_t i = 0; i < cnt; i++)
		if (fin->who_of[i] < fin->off->total_cnt)
			shares[fin->who_of[i]].sampled +=
				(uint64_t)fin->prof->values[i * width + column];
	for (size_t i = 0; i < cnt; i++) {
		int64_t *values = fin->prof->values + i * width, was = values[column];

		if (fin->who_of[i] >= fin->off->total_cnt || !was)
			continue;
		/* Nothing was told of him: then what was sampled is better than nothing. */
		if (!shares[fin->who_of[i]].exact)
			continue;
		values[column] = share_of(&shares[fin->who_of[i]], was);
		values[fin->columns.sum] += values[column] - was;
	}
	for (uint32_t i = 0; i < fin->off->total_cnt; i++)
		if (!shares[i].sampled && shares[i].exact)
			add_unseen(fin, i, unseen, shares[i].exact);
}

static int by_time(const void *left, const void *right)
{
	uint64_t a = ((const struct off_cpu_hist *)left)->total_ns;
	uint64_t b = ((const struct off_cpu_hist *)right)->total_ns;

	return (a < b) - (a > b);
}

static void make_sums_exact(struct finish *fin)
{
	const struct unseen running = {fin->columns.cpu, offsetof(struct off_cpu_total, cpu),
				       "[running: not sampled]", NULL};
	const struct unseen blocked = {fin->columns.blocked,
				       offsetof(struct off_cpu_total, blocked),
				       "[blocked: not sampled]", "unknown"};
	const struct unseen runnable = {fin->columns.runnable,
					offsetof(struct off_cpu_total, runnable),
					"[runnable: not sampled]", "runnable"};

	if (!fin->off->has_totals)
		return;
	if (fin->columns.cpu != PROFILE_NONE && fin->off->has_all_cpu)
		make_exact(fin, &running);
	if (fin->off->has_all_blocked)
		make_exact(fin, &blocked);
	if (fin->off->has_all_runnable)
		make_exact(fin, &runnable);
}

int off_cpu_finish(struct profile *prof, struct off_cpu *off)
{
	struct finish fin = {.prof = prof, .off = off, .columns = find_columns(prof)};

	off->hist_cnt = 0;
	off_cpu_stacks_init(&fin.stacks, prof);
	profile_take_samples(prof, &fin.samples, &fin.values, &fin.sample_cnt);
	for (size_t i = 0; i < fin.sample_cnt && !prof->err; i++)
		finish_sample(&fin, i);
	fin.seen_cnt = prof->sample_cnt;
	if (!prof->err)
		make_sums_exact(&fin);
	qsort(off->hists, off->hist_cnt, sizeof(*off->hists), by_time);
	off_cpu_stacks_deinit(&fin.stacks);
	free(fin.samples);
	free(fin.values);
	free(fin.who_of);
	free(fin.labels);
	return prof->err;
}
