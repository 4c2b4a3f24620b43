/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that answer what takes long: see lanes.h. */
#include "web/lanes.h"

static struct lane_job *take_job(struct lane *lane)
{
	struct lane_job *job;

	pthread_mutex_lock(&lane->lock);
	while (!lane->first && !lane->is_stopping)
		pthread_cond_wait(&lane->wake, &lane->lock);
	job = lane->first;
	if (job) {
		lane->first = job->next;
		if (!lane->first)
			lane->last = &lane->first;
	}
	pthread_mutex_unlock(&lane->lock);
	return job;
}

static void *run(void *arg)
{
	struct lane_thread *thread = arg;
	struct lane *lane = thread->lane;
	struct lane_job *job;

	while ((job = take_job(lane)) != NULL) {
		lane->work(job, &thread->site);
		pthread_mutex_lock(&lane->lock);
		lane->job_cnt--;
		pthread_mutex_unlock(&lane->lock);
	}
	return NULL;
}

int lane_start(struct lane *lane, size_t job_max, lane_work_fn *work, const struct web_host *host,
	       const char *store_url)
{
	int err = 0;

	*lane = (struct lane){.job_max = job_max, .work = work};
	lane->last = &lane->first;
	pthread_mutex_init(&lane->lock, NULL);
	pthread_cond_init(&lane->wake, NULL);
	for (size_t i = 0; i < LANE_THREADS && !err; i++) {
		struct lane_thread *thread = &lane->threads[i];

		web_site_init(&thread->site, host, store_url);
		thread->lane = lane;
		err = pthread_create(&thread->thread, NULL, run, thread);
		if (err)
			thread->lane = NULL;
	}
	return -err;
}

void lane_stop(struct lane *lane)
{
	if (!lane->work)
		return;
	pthread_mutex_lock(&lane->lock);
	lane->is_stopping = true;
	pthread_cond_broadcast(&lane->wake);
	pthread_mutex_unlock(&lane->lock);
	for (size_t i = 0; i < LANE_THREADS; i++) {
		if (lane->threads[i].lane)
			pthread_join(lane->threads[i].thread, NULL);
		web_site_deinit(&lane->threads[i].site);
	}
	pthread_cond_destroy(&lane->wake);
	pthread_mutex_destroy(&lane->lock);
	*lane = (struct lane){0};
}

bool lane_push(struct lane *lane, struct lane_job *job)
{
	bool has_room;

	job->next = NULL;
	pthread_mutex_lock(&lane->lock);
	has_room = !lane->is_stopping && lane->job_cnt < lane->job_max;
	if (has_room) {
		*lane->last = job;
		lane->last = &job->next;
		lane->job_cnt++;
		pthread_cond_signal(&lane->wake);
	}
	pthread_mutex_unlock(&lane->lock);
	return has_room;
}
