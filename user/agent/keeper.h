/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes beside the agent, which is confined and can fork nothing: a keeper, forked before that,
 * does nothing but begin a worker, again when it has died of a signal.
 *
 *	agent --pipe: it ends--> keeper --fork--> worker
 */
#ifndef BPFPROF_AGENT_KEEPER_H
#define BPFPROF_AGENT_KEEPER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct keeper {
	int (*work)(void *arg); /* the worker's life; it has said itself what went wrong */
	/* Has the agent ended? Waits up to @timeout_ms for it. */
	bool (*has_ended)(void *arg, int timeout_ms);
	void *arg;
	_Atomic uint64_t *restarts; /* counted there */
};

/* Be a keeper, at a lower priority, until the agent has ended or a worker has by itself. */
_Noreturn void keeper_run(const struct keeper *keeper);

#endif
