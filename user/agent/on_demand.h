/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings that clients of the agent ask for: each a child that is this program's own `record`,
 * which writes pprof into a pipe. The agent goes on recording beside it. What a client may say is
 * checked here; no shell is involved, and nothing that places probes into programs.
 */
#ifndef BPFPROF_AGENT_ON_DEMAND_H
#define BPFPROF_AGENT_ON_DEMAND_H

#include <stdatomic.h>

#include "web/web.h"

enum { ON_DEMAND_AT_ONCE_MAX = 2, ON_DEMAND_ARGS_MAX = 20 };

struct on_demand {
	const char *program; /* borrowed; NULL: the running one, /proc/self/exe */
	atomic_uint running; /* 0 at first */
};

/* The command line of a recording. */
struct on_demand_args {
	char *items[ON_DEMAND_ARGS_MAX + 1]; /* owned; NULL-terminated */
	size_t cnt;
	int err;
};

/* What @request means as arguments of bpfprof. 0; -EINVAL with a line in @why; -ENOMEM. Release
 * with on_demand_args_deinit() in either case. */
int on_demand_args_make(const struct web_capture *request, struct on_demand_args *out,
			struct buf *why);
void on_demand_args_deinit(struct on_demand_args *args);

/*
 * web_host.capture; @arg is a struct on_demand. It takes as long as is recorded, and at most half
 * as long again: then, or when the client hangs up, the child is killed. What it is told by its
 * child's SIGCHLD is waited for here: nobody else may reap it.
 */
int on_demand_capture(void *arg, const struct web_capture *request, struct buf *out,
		      struct buf *why);

#endif
