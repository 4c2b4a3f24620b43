/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent: records for ever.
 *
 *	capture_run() slice by slice, whoever is sampled is looked up meanwhile -> capture_window()
 *	-> the rate for the next one -> names -> labels -> spool -> store, which is maintained
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
