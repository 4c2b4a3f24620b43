/* SPDX-License-Identifier: Apache-2.0 */
/* Work beside its caller: once, by a thread that takes no signals, or by who waits for it. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/task.h"

struct seen {
	int cnt;
	pthread_t thread;
	bool takes_signals;
};

static void work(void *arg)
{
	struct seen *seen = arg;
	sigset_t blocked;

	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	seen->cnt++;
	seen->thread = pthread_self();
	seen->takes_signals = !sigismember(&blocked, SIGINT) || !sigismember(&blocked, SIGTERM);
}

static void a_thread_does_it_without_signals(void **state)
{
	struct seen seen = {.cnt = 0}, here = {.cnt = 0};
	struct task task;

	task_begin(&task, work, &seen);
	assert_true(task.is_running);
	task_end(&task);
	assert_false(task.is_running);
	assert_int_equal(seen.cnt, 1);
	assert_false(pthread_equal(seen.thread, pthread_self()));
	assert_false(seen.takes_signals);
	/* The caller takes them as before. */
	work(&here);
	assert_true(here.takes_signals);
}

static void without_a_thread_who_waits_does_it(void **state)
{
	struct seen seen = {.cnt = 0};
	struct task task = {.work = work, .arg = &seen};

	task_end(&task);
	assert_int_equal(seen.cnt, 1);
	assert_true(pthread_equal(seen.thread, pthread_self()));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_does_it_without_signals),
		cmocka_unit_test(without_a_thread_who_waits_does_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
