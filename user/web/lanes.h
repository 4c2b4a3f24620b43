/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that answer what takes long, so that the threads of the server never wait. */
#ifndef BPFPROF_WEB_LANES_H
#define BPFPROF_WEB_LANES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "web/site.h"

enum { LANE_THREADS = 2, LANE_STORE_QUEUE_MAX = 64 };

/* What is to be done, as a part of what it belongs to. */
struct lane_job {
	struct lane_job *next;
};

/* Do @job with @site. It must not be touched by the lane afterwards, and is not. */
typedef void lane_work_fn(struct lane_job *job, struct web_site *site);

struct lane_thread {
	struct lane *lane; /* NULL: not started */
	pthread_t thread;
	struct web_site site;
};

struct lane {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct lane_job *first, **last;
	size_t job_cnt; /* that wait or are being done */
	size_t job_max;
	bool is_stopping;
	lane_work_fn *work;
	struct lane_thread threads[LANE_THREADS];
};

/* Start LANE_THREADS threads for at most @job_max jobs at once. 0 or negative errno; end with
 * lane_stop() in either case. */
int lane_start(struct lane *lane, size_t job_max, lane_work_fn *work, const struct web_host *host,
	       const char *store_url);

/* Take what waits to its end, and stop. */
void lane_stop(struct lane *lane);

/* False: there are too many, or it stops. */
bool lane_push(struct lane *lane, struct lane_job *job);

#endif
