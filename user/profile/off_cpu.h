/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time off the CPU: what capture recorded of threads' waits becomes samples of the profile once the
 * kernel's frames have names, because those say why a thread waited.
 *
 * Capture adds each kind of wait as a sample under off_cpu_labels(), beside it what the waits of
 * each thread add up to (exact, whatever was sampled) and the stacks of those who ended them.
 * off_cpu_finish() turns these into
 *
 *	a stack with a leaf "[blocked: CAUSE]" or "[runnable: woken|preempted|new]" and the labels
 *	state and cause, and, where it is known, "--" and the waker's stack behind it, leaf first;
 *	sums that are the exact ones: what was sampled says only which stacks they belong to.
 *
 * Where there were too many waits to record them all, chance has left out short ones (weight.bpf.h
 * of the kernel side), so that a cause's time is an estimate: with its variance comes how far off
 * it may be, off_cpu_error_ns().
 */
#ifndef BPFPROF_PROFILE_OFF_CPU_H
#define BPFPROF_PROFILE_OFF_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/hmap.h"
#include "profile/profile.h"

enum { OFF_CPU_LOG2_CNT = 40, OFF_CPU_CAUSES_MAX = 64 };

/* The state in which a thread left the CPU. */
enum off_cpu_state {
	OFF_CPU_INTERRUPTIBLE,
	OFF_CPU_UNINTERRUPTIBLE,
	OFF_CPU_STOPPED,
	OFF_CPU_PARKED, /* a kernel thread */
	OFF_CPU_PREEMPTED, /* runnable: it had to leave, or yielded */
	OFF_CPU_NEW, /* runnable: it has never run yet */
	OFF_CPU_STATE_CNT
};

struct off_cpu_total { /* ns */
	uint64_t cpu, blocked, runnable;
};

struct off_cpu_waker {
	uint64_t number;
	uint32_t stack;
	uint32_t comm; /* string */
};

/* Of one cause: how many waits were how long. */
struct off_cpu_hist {
	uint32_t cause; /* string */
	uint64_t waits[OFF_CPU_LOG2_CNT]; /* [i]: of 2^i ns and more */
	uint64_t total_ns; /* as sampled */
	double variance; /* of it, ns^2 */
};

struct off_cpu {
	struct off_cpu_total *totals; /* owned; by label set */
	size_t total_cnt, total_cap;
	struct off_cpu_waker *wakers; /* owned */
	size_t waker_cnt, waker_cap;
	struct hmap waker_index;
	double *variances; /* owned; by sample as capture adds them */
	size_t variance_cnt, variance_cap;
	/* No such time was left out by its wait's length or state: sums may be made exact. */
	bool has_all_blocked, has_all_runnable;
	bool has_all_cpu; /* samples of the CPU are of the time that the totals are of: likewise */
	bool has_totals; /* of all threads, by their labels: else sums stay as sampled */
	uint64_t run_delays[OFF_CPU_LOG2_CNT]; /* all waits on a run queue, by their length */
	uint64_t waits, thinned; /* that ended; those of them that chance left out */
	/* That ended while chance was at work; of the lengths below which it was, the sum. */
	uint64_t judged, threshold_sum_ns;
	uint32_t threshold_ns; /* from this length on, waits were recorded all the window long */
	/* After off_cpu_finish(): */
	struct off_cpu_hist hists[OFF_CPU_CAUSES_MAX]; /* most time first */
	size_t hist_cnt;
};

void off_cpu_init(struct off_cpu *off);
void off_cpu_deinit(struct off_cpu *off);

/* Declare the value types waits, blocked, runnable, and @sum for the sum of all time, which is the
 * default. Where there is one called "cpu" already, it belongs to the sum. */
void off_cpu_declare(struct profile *prof, const char *sum);

/* The labels under which capture adds a wait of @state that was @log2_ns long (a power of two) by
 * whom @who_set names; @waker: a number for off_cpu_add_waker(), 0 for none. */
uint32_t off_cpu_labels(struct profile *prof, uint32_t who_set, enum off_cpu_state state,
			uint32_t log2_ns, uint64_t waker);

/* Before off_cpu_finish(): the label set that says whose @label_set is, of a wait or of any sample.
 */
uint32_t off_cpu_who(const struct profile *prof, uint32_t label_set);

/* What one thread's time adds up to. 0 or -ENOMEM. */
int off_cpu_add_total(struct off_cpu *off, uint32_t who_set, const struct off_cpu_total *total);

/* Who ended waits: stack @stack of a thread called @comm (string). 0 or -ENOMEM. */
int off_cpu_add_waker(struct off_cpu *off, uint64_t number, uint32_t stack, uint32_t comm);

/* What was added to @sample's time blocked is an estimate of that much variance, ns^2; variances
 * add up. 0 or -ENOMEM. */
int off_cpu_add_variance(struct off_cpu *off, uint32_t sample, double variance);

/*
 * Waits that were recorded beside @prof, a profile of events: bring the samples of @waits, which
 * has waits alone, into it, and make @off, which belongs to @waits, belong to @prof. Both are as
 * capture has made them, and what @prof has then is what one recording of events and waits would
 * have; columns and all are those of off_cpu_declare("wall"). @mappings (@waits->mapping_cnt of
 * them) gets what its mappings are in @prof; PROFILE_NONE: nothing. 0, or prof->err.
 */
int off_cpu_join(struct profile *prof, const struct profile *waits, struct off_cpu *off,
		 uint32_t *mappings);

/* Make the samples of @prof, whose locations have their names, what users see. 0, or prof->err. */
int off_cpu_finish(struct profile *prof, struct off_cpu *off);

/*
 * The half-width of a confidence interval: in 95 of 100 recordings, or more, the time that threads
 * were blocked by the cause of @hist lies within hist->total_ns +- that. 0: it is exact. Not for
 * times that stacks were lost for, which the ledger counts.
 */
double off_cpu_error_ns(const struct off_cpu *off, const struct off_cpu_hist *hist);

/*
 * What the histograms say. As a comment of the profile, "bpfprof-waits: {...}": JSON with how many
 * waits ended, how many of them chance left out, and for "run_queue" and each cause the waits by
 * their length, log2_ns[i] of those of 2^i ns and more; for a cause also its time and the error of
 * that. And for the terminal, a line per cause, with errors that show in milliseconds.
 */
void off_cpu_add_comment(struct profile *prof, const struct off_cpu *off);
void off_cpu_format(const struct profile *prof, const struct off_cpu *off, struct buf *out);

#endif
