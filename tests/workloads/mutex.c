/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mutex SECONDS: the thread `holder` holds a mutex for 20 ms each time, of which the thread waiter
 * waits nearly all. The stacks:
 *
 *	waiter: waiter_run > waiter_lock > pthread_mutex_lock, blocked
 *	holder: holder_run > holder_turn > holder_work, then > holder_unlock, which wakes
 *
 * The holder's truth has `held`, how long it held the mutex by its own clock.
 */
#include "keep_frame.h"
#include "truth.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

static const int64_t held_ns = 20 * NS_PER_MS;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t is_held, was_had;
static bool is_over;
static int64_t until_ns;

static __attribute__((noinline)) void holder_work(int64_t work_until_ns)
{
	work_until(work_until_ns);
	KEEP_FRAME();
}

static __attribute__((noinline)) void holder_unlock(void)
{
	pthread_mutex_unlock(&mutex);
	KEEP_FRAME();
}

static __attribute__((noinline)) int64_t holder_turn(void)
{
	int64_t begin_ns, len_ns;

	pthread_mutex_lock(&mutex);
	begin_ns = now_ns();
	is_over = begin_ns >= until_ns;
	sem_post(&is_held);
	holder_work(begin_ns + held_ns);
	len_ns = now_ns() - begin_ns;
	holder_unlock();
	KEEP_FRAME();
	return len_ns;
}

static void *holder_run(void *arg)
{
	struct truth truth;
	int64_t sum_ns = 0;

	(void)arg;
	truth_begin(&truth, "holder");
	do {
		sum_ns += holder_turn();
		wait_begin(&truth);
		while (sem_wait(&was_had))
			;
		wait_end(&truth);
	} while (!is_over);
	truth_tell(&truth, "cause=futex held=%lld", (long long)sum_ns);
	return NULL;
}

static __attribute__((noinline)) void waiter_lock(void)
{
	pthread_mutex_lock(&mutex);
	KEEP_FRAME();
}

static void *waiter_run(void *arg)
{
	struct truth truth;
	bool was_last;

	(void)arg;
	truth_begin(&truth, "waiter");
	do {
		while (sem_wait(&is_held))
			;
		wait_begin(&truth);
		waiter_lock();
		wait_end(&truth);
		was_last = is_over;
		pthread_mutex_unlock(&mutex);
		sem_post(&was_had);
	} while (!was_last);
	truth_tell(&truth, "cause=futex");
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t holder, waiter;

	until_ns = end_ns(argc, argv);
	sem_init(&is_held, 0, 0);
	sem_init(&was_had, 0, 0);
	if (pthread_create(&holder, NULL, holder_run, NULL) ||
	    pthread_create(&waiter, NULL, waiter_run, NULL))
		give_up("pthread_create");
	pthread_join(holder, NULL);
	pthread_join(waiter, NULL);
	return 0;
}
