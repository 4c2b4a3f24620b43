/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger: where every tick of every event went. The equations, per event and CPU and in sum,
 * hold to the unit:
 *
 *	ran = recorded + sum(lost by reason) + filtered
 *	never_ran = ticks - ran = never_ran_busy + never_ran_idle
 *
 * `ran` is counted by the program itself and compared with the kernel's run count of it, so the
 * books can fail (kernel_runs, checked by ledger_balances()). The same struct is printed in one
 * line, written by --stats, and stored in every pprof as one comment line of JSON.
 */
#ifndef BPFPROF_PROFILE_LEDGER_H
#define BPFPROF_PROFILE_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"

enum { LEDGER_REASONS_MAX = 32, LEDGER_EVENTS_MAX = 8, LEDGER_NAME_MAX = 64 };

/* While this file is there (root's, and nobody else may write it) nothing is recorded. */
#define LEDGER_STOP_FILE "/run/bpfprof/stop"

/* What the comment of a profile begins with that holds its ledger. */
#define LEDGER_COMMENT "bpfprof-ledger: "

/* A count under a name from outcomes.def ("map_full", "fp_lost"); in a ledger read from a file,
 * whatever name stood there. */
struct ledger_reason {
	char name[32];
	uint64_t cnt;
};

struct ledger_reasons {
	struct ledger_reason items[LEDGER_REASONS_MAX];
	uint32_t cnt;
};

/* One event on one CPU, or (cpu == -1) their sum. */
struct ledger_row {
	int32_t cpu;
	uint64_t ticks;
	uint64_t ran;
	uint64_t filtered;
	uint64_t recorded;
	uint64_t never_ran_busy;
	uint64_t never_ran_idle;
	uint64_t kernel_runs; /* sum row only: the kernel's count of our program's runs; 0 when it
				 is not to be had */
	struct ledger_reasons lost;
};

struct ledger_event {
	char name[LEDGER_NAME_MAX]; /* "cpu-clock" */
	char unit[16]; /* "samples" */
	uint64_t period; /* ns for clocks, else events */
	uint64_t thinned; /* of filtered, in sum: waits that chance left out by their length */
	uint64_t thinned_below_ns; /* from this length on, waits were not left to chance */
	uint64_t passed_over; /* of filtered, in sum: hits of a probe that the next sample counts
				 for */
	uint64_t asleep; /* beside recorded: waits that had not ended with the window */
	uint64_t absent_ns; /* of the duration: how long nobody was there to record it */
	struct ledger_row sum;
	struct ledger_row *per_cpu; /* owned; in ascending order of cpu */
	size_t per_cpu_cnt, per_cpu_cap;
};

/* Samples of executables met for the first time, walked on in userspace. */
struct ledger_snapshots {
	uint64_t taken;
	uint64_t completed; /* of taken: reached the stack's bottom */
	uint64_t refused; /* walked without rows instead: rate, room */
};

struct ledger_stacks {
	uint64_t complete;
	uint64_t no_user_stack;
	struct ledger_reasons truncated;
	uint64_t distinct;
	uint64_t deepest; /* frames */
	struct ledger_snapshots snapshots;
};

struct ledger_frames {
	uint64_t distinct;
	uint64_t named;
	uint64_t lines_cut; /* whose debugging information there was no time for */
	struct ledger_reasons unnamed;
};

struct ledger_cost {
	uint64_t bpf_run_ns, bpf_runs, capture_cpu_ns, symbolize_cpu_ns, rss_anon_peak_bytes,
		kernel_bytes, start_ns, finish_ns;
	uint64_t verifier_insns;
};

/* What ended a recording before its time; "" where nothing did. Observed and allowed are percent of
 * the machine's CPU time under "max_cpu", bytes under "max_memory", and 0 under "stop_file". */
struct ledger_stopped {
	char reason[16];
	double observed, allowed;
};

struct ledger {
	char kernel[64];
	char arch[16];
	double duration_s;
	struct ledger_event events[LEDGER_EVENTS_MAX];
	uint32_t event_cnt;
	struct ledger_stacks stacks;
	struct ledger_frames frames;
	struct ledger_cost cost;
	struct ledger_stopped stopped;
};

void ledger_init(struct ledger *ledger); /* all zero */
void ledger_deinit(struct ledger *ledger);

/* Copy a name into a field of @size bytes, cut between two UTF-8 characters where it is longer, the
 * rest zeroed. */
void ledger_copy_name(char *dst, size_t size, const char *src);

/* Add @cnt under @name; a zero count still makes the name appear. Names beyond LEDGER_REASONS_MAX
 * add up under "other". */
void ledger_reason_add(struct ledger_reasons *reasons, const char *name, uint64_t cnt);
uint64_t ledger_reasons_sum(const struct ledger_reasons *reasons);

/* Row for @cpu in @event, made when it is new (rows stay in the order of their CPUs); NULL on
 * -ENOMEM. Borrowed until the next call. */
struct ledger_row *ledger_row(struct ledger_event *event, int32_t cpu);

/* Recompute the sum rows from the per-CPU rows (kernel_runs is kept). */
void ledger_sum(struct ledger *ledger);

/* Do the equations hold, and do the kernel's run counts agree? When not, @why (may be NULL) says
 * which, in one line. */
bool ledger_balances(const struct ledger *ledger, struct buf *why);

/* --strict: lost > 0, or busy never_ran > 0.5 % of ticks, or unbalanced. */
bool ledger_is_strictly_clean(const struct ledger *ledger);

/* One line for the terminal and the flame graph's subtitle, in words. */
void ledger_format_line(const struct ledger *ledger, struct buf *out);

/* What @stopped says, in words without an end; nothing where nothing was stopped. */
void ledger_format_stopped(const struct ledger_stopped *stopped, struct buf *out);

/* The object of cli.md, on one line without newline. Keys as documented there; "kernel_runs" beside
 * "ran". */
void ledger_to_json(const struct ledger *ledger, struct buf *out);

/* Parse what ledger_to_json() wrote (hostile input: it comes from a file). Keys that are missing
 * count as 0, unknown keys are skipped, names are cut to their fields, numbers beyond 2^53 are
 * rounded. 0; -EBADMSG when it is not
 * a ledger, or memory for it ran out in the JSON parser; -ENOMEM. @out is initialised by the call
 * on success. */
int ledger_from_json(const char *json, size_t len, struct ledger *out);

/*
 * Events of the same name are added, others appended. Associative; durations and costs in time add,
 * peaks (memory, start, finish, instructions, deepest) become the larger one. Per-CPU rows are
 * dropped where only one side has them, because they could not add up to the sum any more. What
 * differs and cannot be added becomes "several" (kernel, arch), "" (unit) or 0 (period); of two
 * that were stopped @dst's reason stays. `distinct` adds, and so is an upper bound afterwards.
 * 0; -ENOMEM; -E2BIG beyond LEDGER_EVENTS_MAX events, @dst is then unchanged.
 */
int ledger_merge(struct ledger *dst, const struct ledger *src);

#endif
