/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of this process, also those that a library has started: who they are, what they cost. */
#ifndef BPFPROF_BASE_THREADS_H
#define BPFPROF_BASE_THREADS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct threads {
	pid_t *tids; /* owned; ascending */
	size_t cnt, cap;
};

/* The threads that there are now, from /proc/self/task. *@out is to be released also after an
 * error. 0, or negative errno: -ENOMEM, or what opening the folder gave. */
int threads_list(struct threads *out);
void threads_deinit(struct threads *threads);

/* Take those of @others out of @threads. O(both). */
void threads_subtract(struct threads *threads, const struct threads *others);

/* User + system CPU time of all of them, nanoseconds; those that have ended count nothing. */
uint64_t threads_cpu_ns(const struct threads *threads);

#endif
