/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings on demand for an agent that is confined: who makes them is a process that was forked
 * before, with all that the agent was given.
 *
 *	agent (seccomp, few capabilities)      helper              worker, one a request
 *	a thread of the web side  --request, client, pipe-->  --fork-->  on_demand_capture()
 *	       ^                                                                |
 *	       +---------------- the pipe: what it came to, pprof <-------------+
 *
 * The agent must never execute a program: what it reads was written by others, and its filter
 * (base/confine.h) ends it should it try. A thread that could do so would be the hole in it. The
 * helper reads nothing but requests (recording_message.h), from one socket, and believes none:
 * on_demand.h checks what is asked for here, behind the border, and bounds how many go on. Whoever
 * takes the agent over can have profiles made by it, which it could make itself, and nothing else.
 *
 * Each request has a worker, which is given the client's socket, so that it sees the client hang
 * up, and the end of a pipe. It is the parent of the recording and nobody else waits for that. All
 * ends with the agent, however the agent ends: helper, workers and recordings are each killed by
 * the kernel when their parent dies, and the helper ends when its socket does.
 */
#ifndef BPFPROF_AGENT_RECORDING_HELPER_H
#define BPFPROF_AGENT_RECORDING_HELPER_H

#include <sys/types.h>

#include "web/web.h"

struct recording_helper {
	pid_t pid; /* 0: none */
	int fd; /* owned: requests are written to it; -1: none */
};

/*
 * Fork it. Before there is a second thread, and before anything is open that it must not hold: it
 * keeps every descriptor. @program (borrowed for good; NULL: /proc/self/exe) is what records. 0, or
 * negative errno; end with recording_helper_stop().
 */
int recording_helper_start(const char *program, struct recording_helper *out);

/* End it, with all that it has recorded for somebody, and wait for it. Fine when never started on
 * {.fd = -1}. */
void recording_helper_stop(struct recording_helper *helper);

/* As web_host.capture; any thread, several at once. */
int recording_helper_capture(const struct recording_helper *helper,
			     const struct web_capture *capture, struct buf *out, struct buf *why);

#endif
