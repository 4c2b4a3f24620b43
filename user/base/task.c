/* SPDX-License-Identifier: Apache-2.0 */
/* One piece of work that a thread does beside its caller. */
#include "base/task.h"

#include "base/signals.h"

static void *thread_main(void *arg)
{
	const struct task *task = arg;

	task->work(task->arg);
	return NULL;
}

void task_begin(struct task *task, void (*work)(void *arg), void *arg)
{
	sigset_t all, before;

	*task = (struct task){.work = work, .arg = arg};
	signals_fill_but_faults(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	task->is_running = !pthread_create(&task->thread, NULL, thread_main, task);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void task_end(struct task *task)
{
	if (task->is_running)
		pthread_join(task->thread, NULL);
	else
		task->work(task->arg);
	task->is_running = false;
}
