/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of -p: they must exist at the start, and the recording ends when all of them have
 * exited. */
#ifndef BPFPROF_CAPTURE_TARGETS_H
#define BPFPROF_CAPTURE_TARGETS_H

#include <stdbool.h>

#include "base/parse.h"

struct targets {
	int epoll_fd; /* owned; -1 while there are none */
	int *pidfds; /* owned descriptors */
	size_t cnt, alive;
};

/* 0, or negative errno, logged: -ESRCH for a pid that does not exist. @tgids NULL or empty: no
 * targets. */
int targets_open(struct targets *targets, const struct number_set *tgids);

/* Readable when some target has exited; -1 without targets. */
int targets_poll_fd(const struct targets *targets);

/* Take note of exits; true when none is left. */
bool targets_all_gone(struct targets *targets);

void targets_deinit(struct targets *targets);

#endif
