/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the agent's loop share, and nobody else may use. */
#ifndef BPFPROF_AGENT_AGENT_PRIV_H
#define BPFPROF_AGENT_AGENT_PRIV_H

#include <stdatomic.h>

#include "agent/agent_opts.h"
#include "agent/events.h"
#include "agent/identity.h"
#include "agent/memory_bound.h"
#include "agent/metrics.h"
#include "agent/notify.h"
#include "agent/policy_fetch.h"
#include "agent/rate.h"
#include "agent/recording_helper.h"
#include "agent/relabel.h"
#include "agent/ship.h"
#include "agent/spool.h"
#include "capture/capture.h"
#include "store/store.h"
#include "symbol/jit_advice.h"
#include "symbol/name_memory.h"

enum { AGENT_EVENTS_MAX = 8, AGENT_HOST_MAX = 65 };

/* Counters of ours at some moment. */
struct agent_meters {
	uint64_t now_ns, cpu_ns; /* CLOCK_MONOTONIC, our threads but those of the HTTP server */
	uint64_t clock_bpf_ns, waits_bpf_ns; /* programs of either recording */
	uint64_t switches; /* of the machine: context switches; 0: not known */
};

/* What is recorded of one kind. */
struct agent_capture {
	struct capture *capture; /* owned; NULL: nothing */
	size_t looked_cnt; /* label sets of the window that goes on whose process was looked up */
	struct ledger_cost cost; /* as read at the end of the last window */
};

/*
 * What windows are made of: the clock and chosen events, which outlive us in the kernel where that
 * is possible, and beside them waits, which do not: what threads do now is in the memory of who
 * records it. A window is one epoch of the former, and carries its origin, so that it is stored
 * once, whoever dies; the waits of that time are added to it, and where there were none, its ledger
 * says for how long (absent_ns).
 *
 * Of a change of what is recorded there are two of them for a moment.
 */
struct agent_recording {
	struct agent_capture clock, waits;
	uint64_t window_nr; /* of its next window */
	const char *events[AGENT_EVENTS_MAX]; /* borrowed from @clock */
	uint32_t event_cnt;
	uint32_t permille; /* for stacks of waits; 0: they are not recorded */
	char *pin_dir; /* owned: it outlives us there; NULL: it does not */
	/* CLOCK_MONOTONIC until when windows have waits, or say that they have none; 0: from the
	 * start of the first. */
	uint64_t waits_until_ns;
	bool ends; /* with the next window, and we go on with no other */
};

struct agent {
	struct agent_opts *opts; /* borrowed */
	int argc;
	char **argv;
	struct agent_events events;
	struct notify notify;
	struct store *store; /* owned */
	char *store_path; /* owned: of the store that is open */
	struct spool spool;
	struct identities identities;
	struct rate rate;
	int stats_fd; /* owned: the kernel counts what programs cost; negative: it does not */
	struct agent_recording recording;
	struct name_memory *memory; /* owned */

	struct jit_advice jit_advice;
	struct metrics metrics;
	struct metrics_values values; /* the loop's own copy */
	struct agent_meters meters; /* when the last window had been taken */
	struct fixed_label *fixed; /* owned: the host's name, and those of the options */
	size_t fixed_cnt;
	char host[AGENT_HOST_MAX];
	uint64_t settles_ns; /* CLOCK_MONOTONIC until when what is recorded anew settles; 0: it has
			      */
	struct rate_cost cost; /* in the last windows that were judged */
	struct memory_bound memory_bound;
	atomic_bool is_store_ill; /* it was told */
	uint64_t policy_since_ns; /* CLOCK_MONOTONIC: since when the policy is in force */
	bool is_broken; /* no recording goes on, and none could be begun */
	_Atomic uint64_t round_ns; /* CLOCK_MONOTONIC: when the loop came round last */

	struct recording_helper helper;
	struct shippings shippings;
	struct policy_fetcher fetcher;
	struct web_host host_of_web;
	struct web_server *web; /* owned; NULL: nobody asks */
};

/* --- agent_recording.c --- */

/* Open a recording as @opts say, and as the rate in force has it, which will take the place of @old
 * (NULL: of none); nothing is sampled yet. 0, or negative errno after log_error(). */
int agent_recording_open(struct agent *agent, const struct agent_opts *opts,
			 const struct agent_recording *old, struct agent_recording *out);

/* Waits alone, beside @clock; and how many stacks of them there are to be. */
int agent_open_waits(const struct agent *agent, const struct agent_opts *opts,
		     const struct capture *clock, struct agent_capture *out);
uint32_t agent_wanted_permille(const struct agent *agent, const struct agent_opts *opts);

/* So long without an agent, and what is pinned stops by itself. */
uint64_t agent_lease_ns(const struct agent_opts *opts);

/* Begin to sample, in the place of @old where that is not NULL: capture_take_over(). 0, or negative
 * errno after log_error(). */
int agent_recording_start(struct agent_recording *rec, struct agent_recording *old);
int agent_start_waits(struct agent_capture *waits);

void agent_recording_close(struct agent_recording *rec);

/* Look up whoever has been sampled since the last call. */
void agent_look_up(struct agent *agent);

/* Sample until CLOCK_MONOTONIC @until_ns at most: an enum capture_wake or negative errno. */
int agent_recording_run(struct agent *agent, uint64_t until_ns);

/* Nothing is sampled any more but for what is pinned: then comes the last window. */
void agent_recording_stop(struct agent_recording *rec);

/* @rec, whose last window was taken, ends for good, also in the kernel. */
void agent_recording_end(struct agent_recording *rec);

/* --- agent_switch.c --- */

/*
 * Another recording in the place of the one that goes on, whose last window is stored; @fresh are
 * its options. 0; negative errno after log_error(): then the old one goes on, or agent->is_broken.
 */
int agent_switch(struct agent *agent, const struct agent_opts *fresh);

/* The same of waits alone: as @fresh and the rate in force have them, which may be not at all. */
int agent_switch_waits(struct agent *agent, const struct agent_opts *fresh);

/* Does the rate in force have waits recorded otherwise than they are? */
bool agent_wants_other_waits(const struct agent *agent);

/* --- agent_join.c --- */

/* What capture hands out of a window. */
struct raw_window {
	struct profile *prof; /* owned */
	struct ledger *ledger; /* owned */
	struct capture_origin origin; /* of the clock's recording */
	/* Of waits; NULL: there are none. */
	struct profile *waits; /* owned, until they are joined */
	struct ledger *waits_ledger; /* owned */
	struct off_cpu *off_cpu; /* borrowed from the recording */
	struct module **modules; /* owned: of the mappings of @prof, when joined */
	size_t module_cnt;
};

void raw_window_deinit(struct raw_window *raw);

/* The window of both recordings ends. 0 or negative errno. */
int raw_window_take(struct agent_recording *rec, struct raw_window *out);

/*
 * What was taken becomes one: profile, ledger, modules. Where @wants_waits, the ledger says how
 * long there were none. 0 or negative errno.
 */
int raw_window_join(struct agent_recording *rec, bool wants_waits, struct raw_window *raw);

/* --- agent_window.c --- */

/*
 * Store what was recorded since the last window. @is_last: of this recording, which has been
 * stopped. 0, or negative errno after log_error() when the recording cannot go on: what the store
 * cannot take is no such error.
 */
int agent_take_window(struct agent *agent, struct agent_recording *rec, bool is_last);

/* --- agent_rate.c --- */

/* Adapt the rate to what the window cost that has been taken, or more of them. 0, or negative errno
 * after log_error(). */
int agent_adapt(struct agent *agent, struct agent_recording *rec, const struct raw_window *raw);

/* Something is recorded anew: what that costs by itself does not count. */
void agent_settle(struct agent *agent);

/* Time has passed: begin to count where it has settled. */
void agent_note_settled(struct agent *agent);

/* --- agent_reload.c --- */

/* Read the configuration again; what is wrong with it is logged, and nothing changed then. */
void agent_reload(struct agent *agent);

/* Nothing is recorded yet, and cannot be as the policy has it: go on without one. 0 or negative
 * errno. */
int agent_forgo_policy(struct agent *agent);

struct rate_opts agent_rate_opts(const struct agent_opts *opts);

/* The labels that all samples get, from the options in force. 0 or -ENOMEM. */
int agent_set_labels(struct agent *agent, const struct agent_opts *opts);

/* --- agent_policy.c --- */

/* Does the policy have us record now? */
bool agent_policy_records(const struct agent *agent);

/* CLOCK_MONOTONIC at which that may be otherwise; UINT64_MAX: never. */
uint64_t agent_policy_change_ns(const struct agent *agent);

/* Another one is in force, or the first. */
void agent_policy_note(struct agent *agent, const struct agent_opts *fresh);

/* What is told of it, into agent->values. */
void agent_policy_tell(struct agent *agent);

/* --- agent_web.c --- */

/* Before there are threads, or descriptors that are ours alone. 0, or negative errno after
 * log_error(). */
int agent_web_prepare(struct agent *agent);

/* Listen, before the agent is confined. 0, also where a default address cannot be had, after
 * log_warn(); negative errno after log_error(). */
int agent_web_open(struct agent *agent);

/* Answer, when it is confined. 0 or negative errno as above. */
int agent_web_run(struct agent *agent);

/* Fine where nothing was begun but {.helper = {.fd = -1}}. */
void agent_web_close(struct agent *agent);

#endif
