/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that fetches an agent's policy by HTTP(S), beside it as those that ship are.
 *
 *	server <--GET, If-None-Match-- fetcher --a right one--> file beside the store --> agent
 *
 * The agent reads the file, when it changes and when it begins: so it goes on with the last policy
 * that was right while the server is away. One that is wrong is told, with its line, and the file
 * stays as it is. Hosts ask at times of their own: between half and one and a half times the
 * interval after the last time, or as long as the server asks to be left alone.
 */
#ifndef BPFPROF_AGENT_POLICY_FETCH_H
#define BPFPROF_AGENT_POLICY_FETCH_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/agent_opts.h"

/* What it tells. */
struct policy_counts {
	_Atomic uint64_t fetched, unchanged, failed, refused; /* answers */
	_Atomic uint64_t asked_ns; /* CLOCK_MONOTONIC of the last right answer; 0: none yet */
	_Atomic uint64_t restarts;
};

struct policy_fetcher {
	pid_t pid; /* of the keeper; 0: none */
	int fd; /* owned: closed when the agent ends */
	struct policy_counts *counts; /* owned: shared; NULL: none */
};

/* Begin it where @opts have a URL, before there is a second thread; the descriptors @others, of
 * which negative ones are none, are closed in it. 0, or negative errno; end with
 * policy_fetcher_stop() in any case. */
int policy_fetcher_start(const struct agent_opts *opts, const int *others, size_t other_cnt,
			 struct policy_fetcher *out);

/* Fine on {.counts = NULL}. */
void policy_fetcher_stop(struct policy_fetcher *fetcher);

#endif
