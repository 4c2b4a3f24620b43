/* SPDX-License-Identifier: Apache-2.0 */
/* Which threads there are, and what some of them have cost. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/threads.h"

enum { BUSY_MS = 50 };

struct worker {
	pthread_t thread;
	atomic_bool is_done, may_end;
};

static void burn(uint64_t cpu_ns)
{
	uint64_t until_ns = clock_thread_cpu_ns() + cpu_ns;

	while (clock_thread_cpu_ns() < until_ns)
		;
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	burn(BUSY_MS * NSEC_PER_MSEC);
	atomic_store(&worker->is_done, true);
	while (!atomic_load(&worker->may_end))
		usleep(1000);
	return NULL;
}

static void start(struct worker *worker)
{
	atomic_init(&worker->is_done, false);
	atomic_init(&worker->may_end, false);
	assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
}

static void end(struct worker *worker)
{
	atomic_store(&worker->may_end, true);
	pthread_join(worker->thread, NULL);
}

static void test_cost_of_some(void **state)
{
	struct threads before, after;
	struct worker worker;
	uint64_t cpu_ns;

	assert_int_equal(threads_list(&before), 0);
	assert_int_equal(before.cnt, 1);
	assert_int_equal(before.tids[0], getpid());
	start(&worker);
	while (!atomic_load(&worker.is_done))
		usleep(1000);
	assert_int_equal(threads_list(&after), 0);
	assert_int_equal(after.cnt, 2);
	threads_subtract(&after, &before);
	assert_int_equal(after.cnt, 1);
	assert_true(after.tids[0] != getpid());
	cpu_ns = threads_cpu_ns(&after);
	assert_true(cpu_ns >= BUSY_MS * NSEC_PER_MSEC);
	/* What others take is not in it. */
	burn(2 * BUSY_MS * NSEC_PER_MSEC);
	assert_true(threads_cpu_ns(&after) < cpu_ns + BUSY_MS * NSEC_PER_MSEC);
	assert_true(threads_cpu_ns(&before) >= 2 * BUSY_MS * NSEC_PER_MSEC);
	end(&worker);
	/* It is joined a moment before the kernel has let go of it. */
	for (int i = 0; i < 10000 && threads_cpu_ns(&after); i++)
		usleep(1000);
	assert_int_equal(threads_cpu_ns(&after), 0);
	threads_deinit(&before);
	threads_deinit(&after);
}

static void test_subtract(void **state)
{
	pid_t all[] = {1, 3, 5, 7, 9}, some[] = {0, 3, 4, 9, 12}, rest[] = {1, 5, 7};
	struct threads threads = {.tids = all, .cnt = 5};
	const struct threads others = {.tids = some, .cnt = 5}, none = {.tids = NULL};

	threads_subtract(&threads, &none);
	assert_int_equal(threads.cnt, 5);
	threads_subtract(&threads, &others);
	assert_int_equal(threads.cnt, 3);
	assert_memory_equal(threads.tids, rest, sizeof(rest));
	threads_subtract(&threads, &threads);
	assert_int_equal(threads.cnt, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cost_of_some),
		cmocka_unit_test(test_subtract),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
