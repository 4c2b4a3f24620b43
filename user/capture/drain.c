/* SPDX-License-Identifier: Apache-2.0 */
/* Reading shards and ring records into the profile. */
#include "capture/drain.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "capture/frames.h"
#include "capture/heap.h"
#include "capture/labels.h"
#include "capture/samplers.h"
#include "profile/timeline.h"
#include "profile/value_hist.h"

/*
 * Ring records that wait for their epoch to close. From FLIP on a flip is due; from FULL on the
 * ring is left alone until then, and what it cannot hold the kernel side counts as ring_full.
 */
enum { WAITING_FLIP_BYTES = 1 << 20, WAITING_FULL_BYTES = 16 << 20, WAITING_MAX_BYTES = 64 << 20 };

static void wait_for_epoch(struct drain *drain, const void *data, uint32_t len)
{
	buf_add(&drain->waiting, &len, sizeof(len));
	buf_add(&drain->waiting, data, len);
	drain->wants_flip |= drain->waiting.len > WAITING_FLIP_BYTES;
}

/* What a count in the kernel, or a record by itself, says. */
struct counted {
	uint32_t key;
	uint64_t count, weight, sum, sum2, variance;
};

/* The label set that a wait is added under; the others have @who_set itself. */
static uint32_t wait_labels(struct drain *drain, uint32_t who_set, const struct bp_who *who,
			    uint32_t key)
{
	static const uint8_t states[BP_PART_WAITS] = {
		[BP_PART_INTERRUPTIBLE] = OFF_CPU_INTERRUPTIBLE,
		[BP_PART_UNINTERRUPTIBLE] = OFF_CPU_UNINTERRUPTIBLE,
		[BP_PART_STOPPED] = OFF_CPU_STOPPED,
		[BP_PART_PARKED] = OFF_CPU_PARKED,
		[BP_PART_PREEMPTED] = OFF_CPU_PREEMPTED,
		[BP_PART_NEW] = OFF_CPU_NEW,
	};

	return off_cpu_labels(drain->prof, who_set, states[bp_key_part(key) % BP_PART_WAITS],
			      bp_key_log2(key), who->waker);
}

/* The values of a wait, or of an event's samples. */
static void fill_values(const struct drain *drain, const struct counted *counted, int64_t *values)
{
	const struct drain_columns *at = &drain->columns;
	int64_t sum = (int64_t)counted->sum, sum2 = (int64_t)counted->sum2;
	uint32_t event = bp_key_event(counted->key);

	if (event < BP_EVENTS_SAMPLED) {
		values[at->samples] = (int64_t)counted->count;
		values[at->events[event]] = sum;
		if (at->counts[event] != PROFILE_NONE)
			values[at->counts[event]] = (int64_t)counted->weight;
		if (at->parallel[event] != PROFILE_NONE)
			values[at->parallel[event]] = sum2;
		if (at->sum != PROFILE_NONE && drain->samplers->items[event].event.is_clock)
			values[at->sum] = sum;
		return;
	}
	values[at->waits] = (int64_t)counted->weight;
	values[at->blocked] = sum;
	values[at->runnable] = sum2;
	values[at->sum] = sum + sum2;
}

/* The begin of the bucket @nr, in the window: it is counted in whole buckets from the one in which
 * the window began. */
static uint64_t time_in_window(const struct drain *drain, uint64_t nr)
{
	uint64_t first = drain->window_start_ns / drain->bucket_ns;

	return nr > first ? (nr - first) * drain->bucket_ns : 0;
}

static void add_samples(struct drain *drain, uint32_t stack, uint32_t outcome,
			const struct bp_who *who, const struct counted *counted)
{
	uint32_t labels = labels_of(drain->prof, who, drain->by),
		 event = bp_key_event(counted->key);
	int64_t values[PROFILE_VALUES_MAX] = {0};
	uint32_t sample;

	fill_values(drain, counted, values);
	if (who->bucket)
		labels = timeline_labels(drain->prof, labels,
					 time_in_window(drain, who->bucket - 1));
	if (drain->by & BY_EVENT && event && event < BP_EVENTS_SAMPLED && labels != PROFILE_NONE)
		labels = labels_of_event(drain->prof, labels,
					 drain->samplers->items[event].event.name);
	if (event == BP_EVENT_SWITCH)
		labels = wait_labels(drain, labels, who, counted->key);
	else if (drain->has_hist)
		labels = value_hist_labels(drain->prof, labels, bp_key_log2(counted->key),
					   drain->hist_unit);
	sample = profile_sample(drain->prof, stack, labels, values);
	if (counted->variance && drain->off_cpu && sample != PROFILE_NONE &&
	    off_cpu_add_variance(drain->off_cpu, sample,
				 ldexp((double)counted->variance, BP_VARIANCE_SHIFT)))
		drain->prof->err = -ENOMEM;
	if (stack == drain->full_stack)
		outcome = BP_STACK_PROFILE_FULL;
	drain->outcomes[outcome < BP_STACK_OUTCOME_CNT ? outcome : BP_STACK_COMPLETE] +=
		counted->count;
	drain->recorded[event] += counted->count;
}

static void add_total(struct drain *drain, const struct bp_who *who, uint64_t cpu_ns,
		      uint64_t blocked_ns, uint64_t runnable_ns)
{
	const struct off_cpu_total total = {cpu_ns, blocked_ns, runnable_ns};

	if (drain->off_cpu &&
	    off_cpu_add_total(drain->off_cpu, labels_of(drain->prof, who, drain->by), &total))
		drain->prof->err = -ENOMEM;
}

/* Not a sample, but what others refer to. True when it was one. */
static bool add_reference(struct drain *drain, uint32_t stack, const struct bp_who *who,
			  const struct counted *counted)
{
	uint32_t part = bp_key_part(counted->key);

	if (part == BP_PART_TOTALS) {
		add_total(drain, who, counted->sum, counted->sum2, counted->weight);
	} else if (part == BP_PART_WAKER) {
		uint32_t comm = profile_stringn(drain->prof, who->comm,
						strnlen(who->comm, sizeof(who->comm)));

		if (drain->off_cpu && off_cpu_add_waker(drain->off_cpu, who->waker, stack, comm))
			drain->prof->err = -ENOMEM;
	} else {
		return false;
	}
	return true;
}

static void add_counted(struct drain *drain, uint32_t stack, uint32_t outcome,
			const struct bp_who *who, const struct counted *counted)
{
	if (!add_reference(drain, stack, who, counted))
		add_samples(drain, stack, outcome, who, counted);
}

/* Not a sample, but what stack a site of the heap is. True when it was one. */
static bool define_site(struct drain *drain, uint32_t key, const struct bp_stack *stack,
			const __u64 *frames, const struct bp_who *who)
{
	if (bp_key_event(key) != BP_EVENT_HEAP)
		return false;
	if (drain->heap && heap_define(drain->heap, bp_key_heap_site(key), stack, frames, who))
		drain->prof->err = -ENOMEM;
	return true;
}

static void add_record(struct drain *drain, const struct bp_record *rec)
{
	struct bp_stack stack = {
		.kernel_cnt = rec->kernel_cnt,
		.user_cnt = rec->user_cnt,
		.user_total = rec->user_total,
		.outcome = rec->outcome,
	};
	const struct counted counted = {rec->key,   1,		 rec->weight,
					rec->value, rec->value2, rec->variance};

	if (define_site(drain, rec->key, &stack, rec->frames, &rec->who))
		return;
	add_counted(drain, frames_to_stack(drain, &stack, rec->frames, &rec->who), rec->outcome,
		    &rec->who, &counted);
}

static void on_snapshot_done(void *arg, const struct bp_record *rec, bool is_closed)
{
	struct drain *drain = arg;

	drain->snapshot_cnt.taken++;
	drain->snapshot_cnt.completed += rec->outcome == BP_STACK_COMPLETE;
	if (is_closed)
		add_record(drain, rec);
	else
		wait_for_epoch(drain, rec,
			       BP_RECORD_HEAD_BYTES + 8 * (rec->kernel_cnt + rec->user_cnt));
}

void drain_snapshots(struct drain *drain, bool force)
{
	snapshots_resolve(&drain->snapshots, force, on_snapshot_done, drain);
}

/* Of an epoch, or of one long gone with the same number modulo 2, which was given back but not
 * written over yet? */
static bool is_given_back(struct drain *drain, uint32_t parity, uint64_t at)
{
	parity &= 1;
	if (at < drain->old_at && parity == drain->old_parity)
		return true;
	if (drain->first_at[parity] == UINT64_MAX)
		drain->first_at[parity] = at;
	return false;
}

static int take_record(struct drain *drain, const void *data, uint32_t len, uint64_t at)
{
	struct bp_record rec;
	int err = 0;

	if (len < sizeof(rec.type))
		return 0;
	memcpy(&rec, data, len < BP_RECORD_HEAD_BYTES ? len : BP_RECORD_HEAD_BYTES);
	if (rec.type == BP_RING_EXE)
		err = exes_announce(&drain->exes, data, len);
	if (len < BP_RECORD_HEAD_BYTES)
		return err;
	if (rec.type == BP_RING_SAMPLE && !is_given_back(drain, rec.epoch, at))
		wait_for_epoch(drain, data, len);
	else if (rec.type == BP_RING_SNAPSHOT && !is_given_back(drain, rec.epoch, at))
		err = snapshots_add(&drain->snapshots, data, len, on_snapshot_done, drain);
	return err ? err : drain->waiting.err;
}

int drain_init(struct drain *drain, struct loader *loader, const struct capture_opts *opts,
	       const struct samplers *samplers)
{
	int err;

	*drain = (struct drain){
		.loader = loader,
		.samplers = samplers,
		.first_at = {UINT64_MAX, UINT64_MAX},
		.by = opts->by,
		.bucket_ns = opts->bucket_ns,
		.max_depth = opts->max_depth,
		.wait_opts = opts->waits,
		.parallelism = opts->parallelism,
		.unit = opts->elapsed	    ? "nanoseconds"
			: opts->weight_unit ? opts->weight_unit
			: opts->weight	    ? "count"
					    : NULL,
		.has_hist = opts->elapsed || opts->hist,
		.hist_unit = opts->elapsed && !opts->hist ? "nanoseconds" : "",
	};
	buf_init(&drain->waiting, WAITING_MAX_BYTES);
	err = exes_init(&drain->exes);
	if (err)
		return err;
	drain->stack_ids = malloc(loader->sizes.stacks_cnt * sizeof(*drain->stack_ids));
	return drain->stack_ids ? ring_reader_open(&drain->ring, loader_ring_fd(loader),
						   loader->sizes.ring_bytes)
				: -ENOMEM;
}

void drain_deinit(struct drain *drain)
{
	ring_reader_close(&drain->ring);
	exes_deinit(&drain->exes);
	jit_deinit(&drain->jit);
	buf_deinit(&drain->waiting);
	snapshots_deinit(&drain->snapshots);
	asleep_deinit(&drain->asleep);
	free(drain->stack_ids);
	free(drain->modules);
	if (drain->off_cpu)
		off_cpu_deinit(drain->off_cpu);
	free(drain->off_cpu);
	if (drain->prof) {
		profile_deinit(drain->prof);
		free(drain->prof);
	}
	*drain = (struct drain){0};
}

/* Are waits in all of @states recorded, whatever their length? */
static bool has_all_waits(const struct capture_wait_opts *opts, uint32_t states)
{
	return !opts->min_ns && !opts->max_ns &&
	       (!opts->states || (opts->states & states) == states);
}

static int begin_off_cpu(struct drain *drain)
{
	const uint32_t blocked = WAIT_INTERRUPTIBLE | WAIT_UNINTERRUPTIBLE | WAIT_STOPPED;

	if (!drain->wait_opts.is_wanted)
		return 0;
	drain->off_cpu = malloc(sizeof(*drain->off_cpu));
	if (!drain->off_cpu)
		return -ENOMEM;
	off_cpu_init(drain->off_cpu);
	drain->off_cpu->has_all_blocked = has_all_waits(&drain->wait_opts, blocked);
	drain->off_cpu->has_all_runnable = has_all_waits(&drain->wait_opts, WAIT_RUNNABLE);
	/* A thread's totals are those of every CPU it was on. */
	drain->off_cpu->has_totals = !(drain->by & BY_CPU);
	drain->asleep_cnt = 0;
	return 0;
}

/* What event @nr counts, and of time the same shared among the threads that run. */
static void declare_event(struct drain *drain, struct profile *prof, uint32_t nr)
{
	const struct event *event = &drain->samplers->items[nr].event;
	const char *name = event->is_clock ? "cpu" : event->name;
	const char *unit = drain->unit ? drain->unit : event->is_clock ? "nanoseconds" : "count";
	char parallel[LEDGER_NAME_MAX + 16], calls[LEDGER_NAME_MAX + 16];

	if (drain->unit) {
		snprintf(calls, sizeof(calls), "%s_calls", name);
		drain->columns.counts[nr] = profile_add_value_type(prof, calls, "count");
	}
	drain->columns.events[nr] = profile_add_value_type(prof, name, unit);
	if (!drain->parallelism)
		return;
	snprintf(parallel, sizeof(parallel), "%s_parallel", name);
	drain->columns.parallel[nr] = profile_add_value_type(prof, parallel, unit);
}

static void declare_events(struct drain *drain, struct profile *prof)
{
	const struct samplers *samplers = drain->samplers;
	struct drain_columns *at = &drain->columns;

	if (!samplers->cnt)
		return;
	at->samples = profile_add_value_type(prof, "samples", "count");
	for (uint32_t i = 0; i < samplers->cnt; i++)
		declare_event(drain, prof, i);
	prof->period_type = prof->value_types[at->events[0]];
	prof->period = (int64_t)samplers->items[0].event.period;
	/* Of time, the samples are what people count; one of another event may stand for many, and
	 * of several events, samples add up what is not alike. */
	if (samplers->cnt > 1 || !samplers->items[0].event.is_clock)
		prof->default_value = at->events[0];
}

static void declare_values(struct drain *drain, struct profile *prof)
{
	struct drain_columns *at = &drain->columns;

	memset(at, 0xff, sizeof(*at));
	declare_events(drain, prof);
	if (drain->heap)
		heap_declare(prof, drain->heap->opts.leak_age_ns, drain->heap->opts.pairs);
	if (!drain->off_cpu)
		return;
	off_cpu_declare(prof, drain->wait_opts.is_alone ? "off_cpu" : "wall");
	at->waits = profile_find_value(prof, "waits");
	at->blocked = profile_find_value(prof, "blocked");
	at->runnable = profile_find_value(prof, "runnable");
	at->sum = prof->value_type_cnt - 1;
}

int drain_begin_window(struct drain *drain)
{
	struct profile *prof = malloc(sizeof(*prof));

	if (!prof || profile_init(prof) || begin_off_cpu(drain)) {
		free(prof);
		return -ENOMEM;
	}
	declare_values(drain, prof);
	drain->kernel_mapping = profile_mapping(prof, "[kernel.kallsyms]", "");
	drain->anon_mapping = PROFILE_NONE;
	drain->unknown_mapping = PROFILE_NONE;
	jit_begin_window(&drain->jit);
	drain->deepest = 0;
	memset(drain->recorded, 0, sizeof(drain->recorded));
	drain->full_stack = PROFILE_NONE;
	memset(drain->outcomes, 0, sizeof(drain->outcomes));
	drain->snapshot_cnt = (struct ledger_snapshots){0};
	drain->prof = prof;
	return prof->err;
}

struct module **drain_take_modules(struct drain *drain, size_t *cnt)
{
	jit_refresh(&drain->jit);
	*cnt = drain->module_cnt;
	drain->module_cnt = drain->module_cap = 0;
	return take_ptr(drain->modules);
}

/* Take up to one ring's worth, and so all that was in it before the call: a producer faster than we
 * are would keep us here for ever. What lies before @end is waited for. */
static int take_ring(struct drain *drain, uint64_t end)
{
	uint64_t begin = drain->ring.pos, at;
	const void *data;
	uint32_t len;
	int err = 0;

	while (!err && drain->ring.pos - begin < drain->loader->sizes.ring_bytes) {
		int more = ring_reader_next_before(&drain->ring, end, &data, &len, &at);

		if (more <= 0) {
			err = more;
			break;
		}
		err = take_record(drain, data, len, at);
		if (!drain->holds_ring)
			ring_reader_release(&drain->ring, drain->ring.pos);
	}
	if (err == -EBADMSG)
		log_error("the ring buffer of samples is damaged: begin the recording anew");
	return err;
}

int drain_ring(struct drain *drain)
{
	if (drain->waiting.len < WAITING_FULL_BYTES)
		return take_ring(drain, 0);
	drain->wants_flip = true;
	return 0;
}

static void drain_waiting(struct drain *drain, uint32_t epoch)
{
	struct buf keep = drain->waiting;
	size_t pos = 0;

	buf_init(&drain->waiting, WAITING_MAX_BYTES);
	while (pos < keep.len) {
		struct bp_record rec;
		uint32_t len;

		memcpy(&len, keep.data + pos, sizeof(len));
		memcpy(&rec, keep.data + pos + sizeof(len), len < sizeof(rec) ? len : sizeof(rec));
		if ((rec.epoch & 1) != (epoch & 1)) {
			buf_add(&drain->waiting, keep.data + pos, sizeof(len) + len);
		} else {
			add_record(drain, &rec);
		}
		pos += sizeof(len) + len;
	}
	buf_deinit(&keep);
}

static void drain_shard_counts(struct drain *drain, uint32_t shard, const struct bp_shard *head)
{
	const struct sizes *sizes = &drain->loader->sizes;
	const struct shard_memory *mem = &drain->loader->mem;
	const struct bp_stack *stacks = mem->stacks + (size_t)shard * sizes->stacks_cnt;
	const struct bp_count *counts = mem->counts + (size_t)shard * sizes->counts_cnt;
	const __u64 *arena = mem->arenas + (size_t)shard * sizes->arena_cnt;

	for (uint64_t i = 0; i < head->stack_cnt; i++)
		drain->stack_ids[i] = PROFILE_NONE;
	for (uint64_t i = 0; i < head->count_cnt; i++) {
		const struct bp_count *count = &counts[i];
		const struct bp_stack *stack = &stacks[count->stack];
		const __u64 *frames = arena + stack->frames_off;
		uint32_t *id = &drain->stack_ids[count->stack];

		if (define_site(drain, count->key, stack, frames, &count->who))
			continue;
		/* The same raw frames are other code in another process. */
		if (*id == PROFILE_NONE || stack_has_raw(stack, frames))
			*id = frames_to_stack(drain, stack, frames, &count->who);
		add_counted(drain, *id, stack->outcome, &count->who,
			    &(struct counted){count->key, count->count, count->weight, count->sum,
					      count->sum2, count->variance});
	}
}

static void take_wait_counters(struct off_cpu *off, const struct bp_shard *head)
{
	off->thinned += head->thinned;
	if (head->totals_lost)
		off->has_totals = false;
	off->judged += head->judged;
	off->threshold_sum_ns += head->threshold_sum_ns;
	if (off->threshold_ns < head->threshold_max_ns)
		off->threshold_ns = (uint32_t)head->threshold_max_ns;
	for (uint32_t i = 0; i < BP_LOG2_CNT; i++) {
		off->run_delays[i] += head->run_delays[i];
		off->waits += head->run_delays[i];
	}
}

static void take_counters(struct drain *drain, const struct bp_shard *head)
{
	drain->vma_misses += head->vma_misses;
	drain->exe_misses += head->exe_misses;
	drain->targets_full += head->targets_full;
	drain->snapshot_cnt.refused += head->snapshots_refused;
	drain->totals_lost += head->totals_lost;
	if (drain->off_cpu)
		take_wait_counters(drain->off_cpu, head);
}

/* Give the shard back empty. Only what was used is touched; entries need no clearing, the index and
 * the fill marks do, these last: who dies in between begins again. */
static void clear_shard(struct drain *drain, uint32_t shard, uint32_t epoch)
{
	struct bp_shard *head = &drain->loader->mem.shards[shard];
	const struct sizes *sizes = &drain->loader->sizes;
	const struct shard_memory *mem = &drain->loader->mem;
	size_t stack_slots = 2 * (size_t)sizes->stacks_cnt,
	       count_slots = 2 * (size_t)sizes->counts_cnt;

	if (head->stack_cnt)
		memset(mem->stack_index + shard * stack_slots, 0, stack_slots * sizeof(uint64_t));
	if (head->count_cnt)
		memset(mem->count_index + shard * count_slots, 0, count_slots * sizeof(uint64_t));
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	head->stack_cnt = head->count_cnt = head->arena_cnt = 0;
	head->ring_records = head->vma_misses = head->exe_misses = head->targets_full =
		head->snapshots_refused = head->thinned = head->judged = head->threshold_sum_ns =
			head->threshold_max_ns = head->totals_lost = 0;
	memset(head->run_delays, 0, sizeof(head->run_delays));
	memset(head->events, 0, sizeof(head->events));
	head->committed = epoch;
}

static bool shard_is_half_full(const struct bp_shard *head, const struct sizes *sizes)
{
	return head->ring_records || head->stack_cnt > sizes->stacks_cnt / 2 ||
	       head->count_cnt > sizes->counts_cnt / 2 || head->arena_cnt > sizes->arena_cnt / 2;
}

bool drain_is_half_full(const struct drain *drain, uint32_t epoch)
{
	const struct loader *loader = drain->loader;

	for (uint32_t shard = epoch & 1; shard < 2 * loader->sizes.cpu_cnt; shard += 2)
		if (shard_is_half_full(&loader->mem.shards[shard], &loader->sizes))
			return true;
	return false;
}

int drain_epoch(struct drain *drain, uint32_t epoch, drain_counters_fn *add, void *arg)
{
	/* The epoch's records are all finished, but may stand behind one of the next. */
	int err = take_ring(drain, ring_reader_end(&drain->ring));

	if (err)
		return err;
	drain->wants_flip = drain_is_half_full(drain, epoch);
	drain_snapshots(drain, false);
	drain_waiting(drain, epoch);
	snapshots_close_epoch(&drain->snapshots, epoch & 1);
	for (uint32_t shard = epoch & 1; shard < 2 * drain->loader->sizes.cpu_cnt; shard += 2) {
		const struct bp_shard *head = &drain->loader->mem.shards[shard];

		drain_shard_counts(drain, shard, head);
		add(arg, shard / 2, head->events);
		take_counters(drain, head);
	}
	jit_look_again(&drain->jit);
	return drain->prof->err;
}

void drain_give_back(struct drain *drain, uint32_t epoch)
{
	uint64_t open_at = drain->first_at[(epoch + 1) & 1];

	for (uint32_t shard = epoch & 1; shard < 2 * drain->loader->sizes.cpu_cnt; shard += 2)
		clear_shard(drain, shard, epoch);
	drain->first_at[epoch & 1] = UINT64_MAX;
	ring_reader_release(&drain->ring, open_at);
}

/* Its wait, whose user stack could not be read. */
static void add_kernel_part(struct drain *drain, const struct bp_asleep *thread, uint32_t outcome)
{
	struct bp_record rec;

	memcpy(&rec, thread->head, BP_RECORD_HEAD_BYTES);
	memcpy(rec.frames, thread->kernel, rec.kernel_cnt * sizeof(*rec.frames));
	rec.outcome = outcome;
	add_record(drain, &rec);
}

int drain_thread(struct drain *drain, const struct bp_asleep *thread)
{
	static const uint8_t outcomes[] = {
		[ASLEEP_KERNEL_ONLY] = BP_STACK_COMPLETE,
		[ASLEEP_NO_REGS] = BP_STACK_NO_USER_REGS,
		[ASLEEP_GONE] = BP_STACK_GONE,
	};
	struct bp_record head;
	enum asleep_result result;
	size_t len;

	memcpy(&head, thread->head, BP_RECORD_HEAD_BYTES);
	add_total(drain, &head.who, thread->cpu_ns, thread->blocked_ns, thread->runnable_ns);
	if (!head.key)
		return drain->prof->err;
	drain->asleep_cnt++;
	result = asleep_read(&drain->asleep, thread, &len);
	if (result != ASLEEP_SNAPSHOT) {
		add_kernel_part(drain, thread, outcomes[result]);
		return drain->prof->err;
	}
	/* What it is in is drained next. */
	drain->asleep.snap.record[0] |= (uint64_t)(drain->loader->mem.ctl->epoch & 1) << 32;
	return snapshots_walk_or_add(&drain->snapshots, &drain->asleep.snap, len, on_snapshot_done,
				     drain);
}
