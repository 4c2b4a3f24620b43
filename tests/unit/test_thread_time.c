/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's time as the kernel side keeps it: random lives, and what is told of them piece by
 * piece beside what was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/types.h>

#include "abi.h"

/* include/linux/sched.h */
enum {
	TASK_INTERRUPTIBLE = 0x1,
	TASK_UNINTERRUPTIBLE = 0x2,
	__TASK_STOPPED = 0x4,
	__TASK_TRACED = 0x8,
	TASK_PARKED = 0x40,
	TASK_DEAD = 0x80,
	TASK_WAKEKILL = 0x100,
	TASK_WAKING = 0x200,
};

static __u32 bpf_get_prandom_u32(void)
{
	return 1;
}

#include "weight.bpf.h"

#include "thread_time.bpf.h"

enum { LIVES = 2000, EVENTS = 300 };

static uint64_t next_u64(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* What a thread does, and what the kernel side knows of it. */
struct life {
	struct bp_thread thread;
	struct bp_totals truth, told;
	struct bp_totals most; /* of each total, the highest that was told at a time */
	uint64_t start_ns, now_ns;
	uint64_t random;
	bool is_running, is_woken; /* else it waits, and is blocked unless it is woken */
	uint32_t missing; /* of 256 events */
};

static uint64_t sum(const struct bp_totals *totals)
{
	return totals->cpu_ns + totals->blocked_ns + totals->runnable_ns;
}

/* Time passes, at times none, but some for whoever runs. */
static void pass(struct life *life)
{
	uint64_t ns = next_u64(&life->random) >> (next_u64(&life->random) % 40 + 24);

	if (next_u64(&life->random) % 8 == 0)
		ns = 0;
	ns += life->is_running;
	life->now_ns += ns;
	if (life->is_running)
		life->truth.cpu_ns += ns;
	else if (life->is_woken)
		life->truth.runnable_ns += ns;
	else
		life->truth.blocked_ns += ns;
}

static bool is_missed(struct life *life)
{
	return (next_u64(&life->random) & 0xff) < life->missing;
}

static void leave(struct life *life)
{
	uint32_t part = 1 + next_u64(&life->random) % (BP_PART_WAITS - 1);

	life->is_running = false;
	life->is_woken = !part_is_blocked(part);
	if (!is_missed(life))
		thread_leave(&life->thread, life->now_ns, part);
}

static void wake(struct life *life)
{
	life->is_woken = true;
	if (!is_missed(life))
		life->thread.wake_ns = life->now_ns;
}

static void come_back(struct life *life)
{
	life->is_running = true;
	if (!is_missed(life))
		thread_return(&life->thread, life->now_ns);
}

static void grow(__u64 *most, __u64 told)
{
	if (*most < told)
		*most = told;
}

/* Its totals, as they stand. */
static struct bp_totals totals_of(const struct life *life)
{
	struct bp_thread copy = life->thread;

	copy.told = (struct bp_totals){0};
	return thread_tell(&copy, life->now_ns);
}

static void tell(struct life *life)
{
	struct bp_totals all = totals_of(life);
	struct bp_totals more = thread_tell(&life->thread, life->now_ns);

	life->told.cpu_ns += more.cpu_ns;
	life->told.blocked_ns += more.blocked_ns;
	life->told.runnable_ns += more.runnable_ns;
	grow(&life->most.cpu_ns, all.cpu_ns);
	grow(&life->most.blocked_ns, all.blocked_ns);
	grow(&life->most.runnable_ns, all.runnable_ns);
}

static void live(struct life *life, uint64_t seed, uint32_t missing)
{
	*life = (struct life){
		.random = seed,
		.start_ns = 1000 + seed,
		.now_ns = 1000 + seed,
		.is_running = true,
		.missing = missing,
	};
	life->thread.since_ns = life->now_ns;
	life->thread.part = BP_PART_RUNNING;
}

/* One event, whichever can be. */
static void step(struct life *life)
{
	pass(life);
	if (next_u64(&life->random) % 4 == 0)
		tell(life);
	if (life->is_running)
		leave(life);
	else if (!life->is_woken)
		wake(life);
	else
		come_back(life);
}

static void assert_same(const struct bp_totals *left, const struct bp_totals *right)
{
	assert_true(left->cpu_ns == right->cpu_ns);
	assert_true(left->blocked_ns == right->blocked_ns);
	assert_true(left->runnable_ns == right->runnable_ns);
}

/* Where each event is seen, all is told as it was. */
static void test_all_is_told(void **state)
{
	for (uint64_t seed = 1; seed <= LIVES; seed++) {
		struct life life;

		live(&life, seed, 0);
		for (uint32_t i = 0; i < EVENTS; i++)
			step(&life);
		pass(&life);
		tell(&life);
		assert_same(&life.told, &life.truth);
		assert_true(sum(&life.told) == life.now_ns - life.start_ns);
	}
}

/* Where some are not, the totals still are what has passed; and none is told twice. */
static void test_missed_events(void **state)
{
	for (uint64_t seed = 1; seed <= LIVES; seed++) {
		struct life life;

		live(&life, seed, seed % 256);
		for (uint32_t i = 0; i < EVENTS; i++) {
			struct bp_totals totals;

			step(&life);
			totals = totals_of(&life);
			assert_true(sum(&totals) == life.now_ns - life.start_ns);
			assert_same(&life.told, &life.most);
		}
	}
}

/* Told while it seemed to wait for a CPU that it had: that is not told again. */
static void test_return_not_seen(void **state)
{
	struct bp_thread t = {.since_ns = 100, .part = BP_PART_RUNNING};
	struct bp_totals told;

	thread_leave(&t, 200, BP_PART_INTERRUPTIBLE);
	t.wake_ns = 300;
	told = thread_tell(&t, 400);
	assert_same(&told, &(struct bp_totals){100, 100, 100});
	thread_leave(&t, 500, BP_PART_PREEMPTED);
	told = thread_tell(&t, 500);
	assert_same(&told, &(struct bp_totals){200, 0, 0});
	thread_return(&t, 650);
	told = thread_tell(&t, 650);
	assert_same(&told, &(struct bp_totals){0, 0, 50});
}

/* Switched to between its making and the beginning of its time: it has not waited since boot. */
static void test_met_by_switch(void **state)
{
	struct bp_thread t = {0};
	struct bp_wait wait;

	thread_meet(&t, 5000);
	wait = thread_wait(&t, thread_wait_from(&t), 5000);
	assert_int_equal(wait.blocked_ns + wait.runnable_ns, 0);
	thread_leave(&t, 5000, BP_PART_INTERRUPTIBLE);
	thread_meet(&t, 5100);
	thread_return(&t, 5100);
	assert_int_equal(t.blocked_ns, 100);
	assert_int_equal(t.cpu_ns + t.runnable_ns, 0);
}

/* A wait that a window has ended is recorded once, piece by piece. */
static void test_wait_from(void **state)
{
	struct bp_thread t = {.since_ns = 1000, .part = BP_PART_UNINTERRUPTIBLE};
	struct bp_wait wait;

	assert_int_equal(thread_wait_from(&t), 1000);
	wait = thread_wait(&t, thread_wait_from(&t), 1500);
	assert_int_equal(wait.blocked_ns, 500);
	t.charged_ns = 1500;
	t.wake_ns = 1600;
	wait = thread_wait(&t, thread_wait_from(&t), 1750);
	assert_int_equal(wait.blocked_ns, 100);
	assert_int_equal(wait.runnable_ns, 150);
	/* Woken before the window's end. */
	t.charged_ns = 1700;
	wait = thread_wait(&t, thread_wait_from(&t), 1750);
	assert_int_equal(wait.blocked_ns, 0);
	assert_int_equal(wait.runnable_ns, 50);
	/* A window that ends after the thread came back. */
	t.charged_ns = 1800;
	wait = thread_wait(&t, thread_wait_from(&t), 1750);
	assert_int_equal(wait.blocked_ns, 0);
	assert_int_equal(wait.runnable_ns, 0);
}

/* The waking of an earlier wait, and one that is later than now. */
static void test_other_wakings(void **state)
{
	struct bp_thread t = {.since_ns = 1000, .wake_ns = 999, .part = BP_PART_INTERRUPTIBLE};
	struct bp_wait wait = thread_wait(&t, 1000, 1500);

	assert_int_equal(wait.blocked_ns, 500);
	t.wake_ns = 1501;
	wait = thread_wait(&t, 1000, 1500);
	assert_int_equal(wait.blocked_ns, 500);
	t.wake_ns = 1200;
	t.part = BP_PART_PREEMPTED;
	wait = thread_wait(&t, 1000, 1500);
	assert_int_equal(wait.blocked_ns, 0);
	assert_int_equal(wait.runnable_ns, 500);
}

static void test_states(void **state)
{
	assert_int_equal(part_of_state(0), BP_PART_PREEMPTED);
	assert_int_equal(part_of_state(TASK_INTERRUPTIBLE), BP_PART_INTERRUPTIBLE);
	assert_int_equal(part_of_state(TASK_WAKING), BP_PART_INTERRUPTIBLE);
	assert_int_equal(part_of_state(TASK_UNINTERRUPTIBLE), BP_PART_UNINTERRUPTIBLE);
	assert_int_equal(part_of_state(TASK_UNINTERRUPTIBLE | TASK_WAKEKILL),
			 BP_PART_UNINTERRUPTIBLE);
	assert_int_equal(part_of_state(__TASK_STOPPED | TASK_WAKEKILL), BP_PART_STOPPED);
	assert_int_equal(part_of_state(__TASK_TRACED), BP_PART_STOPPED);
	assert_int_equal(part_of_state(TASK_PARKED), BP_PART_PARKED);
	assert_int_equal(part_of_state(TASK_DEAD), BP_PART_DEAD);
}

/* The kernel's account is by a clock of its own, and starts anew on each run queue. */
static void test_queue(void **state)
{
	struct bp_thread t = {.since_ns = 1000, .part = BP_PART_INTERRUPTIBLE};

	t.left_clock_ns = 500000;
	t.left_delay_ns = 70;
	thread_note_queue(&t, 500300, 70, 2000);
	assert_int_equal(t.wake_ns, 1300);
	/* 50 ns on another queue before. */
	thread_note_queue(&t, 500300, 120, 2000);
	assert_int_equal(t.wake_ns, 1250);
	/* Not woken. */
	thread_note_queue(&t, 0, 70, 2000);
	assert_int_equal(t.wake_ns, 0);
	assert_int_equal(thread_wait(&t, 1000, 2000).blocked_ns, 1000);
	/* What the clocks cannot both have seen: it was woken while it left, or comes just now. */
	thread_note_queue(&t, 499000, 70, 2000);
	assert_int_equal(t.wake_ns, 1000);
	assert_int_equal(thread_wait(&t, 1000, 2000).runnable_ns, 1000);
	thread_note_queue(&t, 900000, 70, 2000);
	assert_int_equal(t.wake_ns, 2000);
	/* Moved while it was asleep: woken or not, it is known to have been once it is back. */
	thread_distrust_queue(&t);
	thread_note_queue(&t, 500300, 70, 2000);
	assert_int_equal(t.wake_ns, 0);
	assert_int_equal(thread_wait(&t, 1000, 2000).blocked_ns, 1000);
}

/* A return that was not seen, of a wait of 300 ns, 50 of them on a run queue; before it, the thread
 * was woken in another wait. */
static void test_return_late(void **state)
{
	struct bp_thread t = {.since_ns = 1000,
			      .wake_ns = 700,
			      .part = BP_PART_INTERRUPTIBLE,
			      .left_clock_ns = 500000,
			      .left_delay_ns = 70};
	const struct bp_thread before = t;

	thread_return_late(&t, 500300, 120, 2000);
	thread_leave(&t, 2000, BP_PART_PREEMPTED);
	assert_int_equal(t.blocked_ns, 250);
	assert_int_equal(t.runnable_ns, 50);
	assert_int_equal(t.cpu_ns, 700);
	/* Away for longer than has passed, by the other clock. */
	t = before;
	thread_return_late(&t, 510000, 70, 2000);
	thread_leave(&t, 2000, BP_PART_PREEMPTED);
	assert_int_equal(t.blocked_ns, 1000);
	assert_int_equal(t.cpu_ns + t.runnable_ns, 0);
	/* It had the CPU, and was preempted. */
	t = before;
	t.part = BP_PART_PREEMPTED;
	thread_return_late(&t, 500300, 370, 2000);
	thread_leave(&t, 2000, BP_PART_PREEMPTED);
	assert_int_equal(t.runnable_ns, 300);
	assert_int_equal(t.cpu_ns, 700);
	/* No account of this wait. */
	t = before;
	thread_return_late(&t, 400000, 120, 2000);
	assert_int_equal(t.part, BP_PART_INTERRUPTIBLE);
	thread_distrust_queue(&t);
	thread_return_late(&t, 500300, 120, 2000);
	assert_int_equal(t.part, BP_PART_INTERRUPTIBLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_return_late),	cmocka_unit_test(test_queue),
		cmocka_unit_test(test_all_is_told),	cmocka_unit_test(test_missed_events),
		cmocka_unit_test(test_return_not_seen), cmocka_unit_test(test_met_by_switch),
		cmocka_unit_test(test_wait_from),	cmocka_unit_test(test_other_wakings),
		cmocka_unit_test(test_states),
	};

	return cmocka_run_group_tests_name("thread_time", tests, NULL, NULL);
}
