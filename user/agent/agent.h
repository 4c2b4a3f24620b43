/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent: records for ever.
 *
 *	both recordings run slice by slice, whoever is sampled is looked up meanwhile -> their
 *	windows -> the rate for the next one -> one window of both -> names -> labels -> spool ->
 *	store, which is maintained -> the kernel's side may go
 *
 * All of it in one thread; metrics are read by others.
 */
#ifndef BPFPROF_AGENT_AGENT_H
#define BPFPROF_AGENT_AGENT_H

#include "agent/agent_opts.h"

/* Record as @opts say, until SIGTERM or SIGINT. @argc and @argv are read again at SIGHUP, and @opts
 * are what is in force then. The exit status; errors are logged. */
int agent_run(struct agent_opts *opts, int argc, char **argv);

#endif
