/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the agent's loop share, and nobody else may use. */
#ifndef BPFPROF_AGENT_AGENT_PRIV_H
#define BPFPROF_AGENT_AGENT_PRIV_H

#include <stdatomic.h>

#include "agent/agent_opts.h"
#include "agent/events.h"
#include "agent/identity.h"
#include "agent/metrics.h"
#include "agent/notify.h"
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
	uint64_t now_ns, cpu_ns, bpf_ns; /* CLOCK_MONOTONIC, our threads, our programs */
};

/* One recording: of a change of what is recorded there are two for a moment. */
struct agent_recording {
	struct capture *capture; /* owned; NULL: none */
	uint64_t window_nr; /* of its next window */
	const char *events[AGENT_EVENTS_MAX]; /* borrowed from @capture */
	uint32_t event_cnt;
	bool has_waits;
	char *pin_dir; /* owned: it outlives us there; NULL: it does not */
	size_t looked_cnt; /* label sets of the window that goes on whose process was looked up */
	struct ledger_cost cost; /* as read at the end of the last window */
	uint64_t started_ns; /* CLOCK_MONOTONIC */
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
	double share, bpf_share; /* of the machine's CPU time in the last window; programs' of it */
	bool is_forgetful; /* memory was beyond its bound at the last look */
	atomic_bool is_store_ill; /* it was told */
	bool is_broken; /* no recording goes on, and none could be begun */
	_Atomic uint64_t round_ns; /* CLOCK_MONOTONIC: when the loop came round last */

	struct recording_helper helper;
	struct shippings shippings;
	struct web_host host_of_web;
	struct web_server *web; /* owned; NULL: nobody asks */
};

/* --- agent_recording.c --- */

/* Open a recording as @opts say, and as the rate in force has it; nothing is sampled yet. 0, or
 * negative errno after log_error(). */
int agent_recording_open(struct agent *agent, const struct agent_opts *opts,
			 struct agent_recording *out);
int agent_recording_start(struct agent_recording *rec);
void agent_recording_close(struct agent_recording *rec);

/* Look up whoever has been sampled since the last call. */
void agent_look_up(struct agent *agent);

/* @rec, whose last window was taken, ends for good, also in the kernel. */
void agent_recording_end(struct agent_recording *rec);

/*
 * Another recording in the place of the one that goes on, whose last window is stored; @fresh
 * (taken, may be agent->opts itself) are the options of the new one. 0; negative errno after
 * log_error(): then the old one goes on.
 */
int agent_switch(struct agent *agent, const struct agent_opts *fresh);

/* --- agent_window.c --- */

/*
 * Store what was recorded since the last window. @is_last: of this recording, which has been
 * stopped. 0, or negative errno after log_error() when the recording cannot go on: what the store
 * cannot take is no such error.
 */
int agent_take_window(struct agent *agent, struct agent_recording *rec, bool is_last);

/* --- agent_rate.c --- */

/* Adapt the rate to what the window cost that has been taken. 0, or negative errno after
 * log_error(). */
int agent_adapt(struct agent *agent, struct agent_recording *rec, const struct ledger *ledger);

/* Begin to count what windows cost. */
void agent_mark(struct agent *agent, uint64_t bpf_ns);

/* --- agent_reload.c --- */

/* Read the configuration again; what is wrong with it is logged, and nothing changed then. */
void agent_reload(struct agent *agent);

struct rate_opts agent_rate_opts(const struct agent_opts *opts);

/* The labels that all samples get, from the options in force. 0 or -ENOMEM. */
int agent_set_labels(struct agent *agent, const struct agent_opts *opts);

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
