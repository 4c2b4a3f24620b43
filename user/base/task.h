/* SPDX-License-Identifier: Apache-2.0 */
/* One piece of work that a thread does beside its caller. */
#ifndef BPFPROF_BASE_TASK_H
#define BPFPROF_BASE_TASK_H

#include <pthread.h>
#include <stdbool.h>

struct task {
	void (*work)(void *arg);
	void *arg; /* borrowed */
	pthread_t thread;
	bool is_running; /* in the thread; else it is still to be done */
};

/* Begin @work(@arg), where @arg stays until task_end(). Nothing fails: where there is no thread to
 * be had, task_end() does it. The thread takes no signals: these are for whoever waits. */
void task_begin(struct task *task, void (*work)(void *arg), void *arg);

/* Wait until it is done. Once. */
void task_end(struct task *task);

#endif
