/* SPDX-License-Identifier: Apache-2.0 */
/* The books of a window, and what the recording costs. */
#include <errno.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/capture_priv.h"
#include "capture/frames.h"

static void fill_stacks(const struct drain *drain, struct ledger_stacks *stacks)
{
	for (uint32_t i = 0; i < BP_STACK_OUTCOME_CNT; i++) {
		if (i == BP_STACK_COMPLETE)
			stacks->complete = drain->outcomes[i];
		else if (i == BP_STACK_NO_USER_STACK)
			stacks->no_user_stack = drain->outcomes[i];
		else if (drain->outcomes[i])
			ledger_reason_add(&stacks->truncated, stack_outcome_name(i),
					  drain->outcomes[i]);
	}
	stacks->distinct = drain->prof->stack_cnt;
	stacks->deepest = drain->deepest;
	stacks->snapshots = drain->snapshot_cnt;
}

static int fill_events(struct capture *cap, struct ledger *ledger)
{
	bool is_at_rest = cap->is_stopped && cap->loader.stats_fd >= 0;
	int err = 0;

	for (uint32_t i = 0; i < cap->samplers.cnt && !err; i++)
		err = sampler_close_window(&cap->samplers.items[i], is_at_rest,
					   &ledger->events[ledger->event_cnt++]);
	return err;
}

/* What the programs say they recorded against what arrived: the sum rows show the latter. */
static void fill_sums(const struct capture *cap, struct ledger *ledger)
{
	const uint64_t *recorded = cap->drain.recorded;
	uint32_t cnt = cap->samplers.cnt;

	ledger_sum(ledger);
	for (uint32_t i = 0; i < cnt; i++)
		ledger->events[i].sum.recorded = recorded[i];
	if (cap->wait_opts.is_wanted)
		ledger->events[cnt].sum.recorded =
			recorded[BP_EVENT_SWITCH] - ledger->events[cnt].asleep;
}

static int fill_waits(struct capture *cap, struct ledger *ledger)
{
	struct ledger_event *event = &ledger->events[ledger->event_cnt++];
	uint64_t runs, misses;
	int err;

	snprintf(event->name, sizeof(event->name), "%s", CAPTURE_WAITS_EVENT);
	snprintf(event->unit, sizeof(event->unit), "waits");
	waits_runs(&cap->waits, &runs, &misses);
	if (!cap->is_stopped || cap->loader.stats_fd < 0)
		runs = 0;
	err = books_close_counted(&cap->wait_books, runs, misses, event);
	if (cap->drain.totals_lost)
		log_warn("the times of %llu threads found no room: sums are too small by them",
			 (unsigned long long)cap->drain.totals_lost);
	cap->drain.totals_lost = 0;
	event->thinned = cap->drain.off_cpu->thinned;
	event->thinned_below_ns = cap->drain.off_cpu->threshold_ns;
	event->asleep = cap->drain.asleep_cnt;
	return err;
}

/* Processes, not CPUs, have counted it. */
static int fill_heap(struct capture *cap, struct ledger *ledger)
{
	struct ledger_event *event = &ledger->events[ledger->event_cnt++];
	struct ledger_row *row = ledger_row(event, 0);
	const struct heap_summary *heap = &cap->heap.summary;
	uint64_t ran = heap->ran - cap->heap.ran_before;
	uint64_t recorded = heap->recorded - cap->heap.recorded_before;
	uint64_t lost = heap->no_thread - cap->heap.lost_before;

	if (!row)
		return -ENOMEM;
	snprintf(event->name, sizeof(event->name), "%s", HEAP_EVENT);
	snprintf(event->unit, sizeof(event->unit), "allocations");
	row->ticks = row->ran = ran + lost;
	row->recorded = recorded;
	row->filtered = ran - recorded;
	if (lost)
		ledger_reason_add(&row->lost, loss_name(BP_LOST_NO_THREAD), lost);
	event->sum.cpu = -1;
	cap->heap.ran_before = heap->ran;
	cap->heap.recorded_before = heap->recorded;
	cap->heap.lost_before = heap->no_thread;
	return 0;
}

int capture_fill_ledger(struct capture *cap, struct ledger *ledger)
{
	struct utsname uts;
	int err;

	if (!uname(&uts)) {
		snprintf(ledger->kernel, sizeof(ledger->kernel), "%.63s", uts.release);
		snprintf(ledger->arch, sizeof(ledger->arch), "%.15s", uts.machine);
	}
	ledger->stopped = cap->guard.stopped;
	err = fill_events(cap, ledger);
	if (!err && cap->wait_opts.is_wanted)
		err = fill_waits(cap, ledger);
	if (!err && cap->heap.opts.is_wanted)
		err = fill_heap(cap, ledger);
	fill_sums(cap, ledger);
	fill_stacks(&cap->drain, &ledger->stacks);
	capture_cost(cap, &ledger->cost);
	return err;
}

void capture_cost(struct capture *cap, struct ledger_cost *cost)
{
	struct program_stats stats;

	loader_cost(&cap->loader, &stats);
	cost->bpf_run_ns = stats.run_ns;
	cost->bpf_runs = stats.runs;
	cost->capture_cpu_ns = clock_process_cpu_ns() - cap->names_cpu_ns - cap->kernel.cpu_ns;
	cost->rss_anon_peak_bytes = cap->rss_anon_peak_bytes;
	cost->kernel_bytes = loader_kernel_bytes(&cap->loader);
	cost->verifier_insns = loader_verified_insns(&cap->loader);
	cost->start_ns = cap->start_ns;
}
