/* SPDX-License-Identifier: Apache-2.0 */
/* Waits as users see them: one as two samples, the stacks' ends, causes and wakers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "off_cpu_fixture.h"

/* One wait is two samples: the time blocked under its cause, the time runnable beside it; the
 * frames of the switch are not shown. */
static void test_split(void **state)
{
	struct fixture fix;

	begin(&fix, false);
	fix.off.has_all_blocked = fix.off.has_all_runnable = false;
	add(&fix, &(struct waits){.who = who_is(&fix, "a"),
				  .stack = stack_of(&fix, FUTEX, "lock main"),
				  .log2_ns = 10,
				  .cnt = 3,
				  .blocked = 5000,
				  .runnable = 70});
	finish(&fix);
	assert_int_equal(fix.prof.sample_cnt, 2);
	assert_values(&fix,
		      "cause=futex comm=a state=interruptible |[blocked: futex]|(futex_wait_queue)|"
		      "(futex_wait)|(do_futex)|(__x64_sys_futex)|(do_syscall_64)|"
		      "(entry_SYSCALL_64_after_hwframe)|lock|main",
		      3, 5000, 0);
	assert_values(&fix,
		      "cause=woken comm=a state=runnable |[runnable: woken]|(futex_wait_queue)|"
		      "(futex_wait)|(do_futex)|(__x64_sys_futex)|(do_syscall_64)|"
		      "(entry_SYSCALL_64_after_hwframe)|lock|main",
		      0, 0, 70);
	end(&fix);
}

static void test_states(void **state)
{
	static const struct {
		enum off_cpu_state state;
		const char *blocked, *runnable;
	} cases[] = {
		{OFF_CPU_INTERRUPTIBLE, "interruptible", "woken"},
		{OFF_CPU_UNINTERRUPTIBLE, "uninterruptible", "woken"},
		{OFF_CPU_STOPPED, "stopped", "woken"},
		{OFF_CPU_PARKED, "parked", "woken"},
		{OFF_CPU_PREEMPTED, NULL, "preempted"},
		{OFF_CPU_NEW, NULL, "new"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fixture fix;
		char text[128];

		begin(&fix, false);
		add(&fix, &(struct waits){.who = who_is(&fix, "a"),
					  .stack = stack_of(&fix, "", "f"),
					  .state = cases[i].state,
					  .cnt = 2,
					  .blocked = cases[i].blocked ? 30 : 0,
					  .runnable = 4});
		finish(&fix);
		snprintf(text, sizeof(text), "cause=%s comm=a state=runnable |[runnable: %s]|f",
			 cases[i].runnable, cases[i].runnable);
		assert_values(&fix, text, cases[i].blocked ? 0 : 2, 0, 4);
		assert_int_equal(fix.prof.sample_cnt, cases[i].blocked ? 2 : 1);
		if (cases[i].blocked) {
			snprintf(text, sizeof(text),
				 "cause=unknown comm=a state=%s |[blocked: unknown]|f",
				 cases[i].blocked);
			assert_values(&fix, text, 2, 30, 0);
		}
		end(&fix);
	}
}

/* Woken before it had left: a wait of no time is still one. */
static void test_no_time(void **state)
{
	struct fixture fix;

	begin(&fix, false);
	add(&fix,
	    &(struct waits){.who = who_is(&fix, "a"), .stack = stack_of(&fix, "", "f"), .cnt = 1});
	finish(&fix);
	assert_values(&fix, "cause=woken comm=a state=runnable |[runnable: woken]|f", 1, 0, 0);
	end(&fix);
}

/* Whatever took the stack, and the scheduler by whatever name a compiler gave it, are cut off. */
static void test_switch_is_cut(void **state)
{
	static const char *const leaves[] = {
		"",
		"__schedule schedule ",
		"bpf_prog_1_bp_resumed bpf_trace_run1 __traceiter_sched_exit_tp __schedule ",
		"__schedule.isra.0 schedule schedule_timeout ",
		"schedule_hrtimeout_range_clock.part.0 schedule_hrtimeout_range ",
	};

	for (size_t i = 0; i < sizeof(leaves) / sizeof(*leaves); i++) {
		struct fixture fix;
		char names[256];

		begin(&fix, false);
		snprintf(names, sizeof(names), "%sdo_epoll_wait " SYSCALL, leaves[i]);
		add(&fix, &(struct waits){.who = who_is(&fix, "a"),
					  .stack = stack_of(&fix, names, "f"),
					  .cnt = 1,
					  .blocked = 10});
		finish(&fix);
		assert_values(&fix,
			      "cause=epoll comm=a state=interruptible |[blocked: epoll]|"
			      "(do_epoll_wait)|(do_syscall_64)|(entry_SYSCALL_64_after_hwframe)|f",
			      1, 10, 0);
		end(&fix);
	}
}

/* The same stack of two samples, of which one is trimmed already: they become one. */
static void test_stacks_meet(void **state)
{
	struct fixture fix;
	struct waits waits = {.cnt = 1, .blocked = 10};

	begin(&fix, false);
	waits.who = who_is(&fix, "a");
	waits.stack = stack_of(&fix, PIPE, "f");
	add(&fix, &waits);
	waits.stack = stack_of(&fix, strstr(PIPE, "pipe_read"), "f");
	waits.log2_ns = 20;
	add(&fix, &waits);
	finish(&fix);
	assert_int_equal(fix.prof.sample_cnt, 1);
	assert_int_equal(fix.off.hist_cnt, 1);
	assert_int_equal(fix.off.hists[0].waits[0], 1);
	assert_int_equal(fix.off.hists[0].waits[20], 1);
	assert_int_equal(fix.off.hists[0].total_ns, 20);
	end(&fix);
}

static void test_without_names(void **state)
{
	struct fixture fix;

	begin(&fix, false);
	add(&fix, &(struct waits){.who = who_is(&fix, "a"),
				  .stack = stack_of(&fix, "- - -", "-"),
				  .cnt = 1,
				  .blocked = 10});
	add(&fix, &(struct waits){.who = who_is(&fix, "b"),
				  .stack = stack_of(&fix, "- - pipe_read -", "f"),
				  .cnt = 1,
				  .blocked = 10});
	add(&fix, &(struct waits){.who = who_is(&fix, "c"),
				  .stack = profile_stack(&fix.prof, NULL, 0),
				  .cnt = 1,
				  .blocked = 10});
	add(&fix, &(struct waits){.who = who_is(&fix, "d"),
				  .stack = stack_of(&fix, "no_such_function", "f"),
				  .cnt = 1,
				  .blocked = 10});
	finish(&fix);
	assert_values(&fix,
		      "cause=unknown comm=a state=interruptible |[blocked: unknown]|()|()|()|", 1,
		      10, 0);
	assert_values(
		&fix,
		"cause=pipe comm=b state=interruptible |[blocked: pipe]|()|()|(pipe_read)|()|f", 1,
		10, 0);
	assert_values(&fix, "cause=unknown comm=c state=interruptible |[blocked: unknown]", 1, 10,
		      0);
	assert_values(
		&fix,
		"cause=other comm=d state=interruptible |[blocked: other]|(no_such_function)|f", 1,
		10, 0);
	end(&fix);
}

static void add_waker(struct fixture *fix, uint64_t number, const char *kernel, const char *user,
		      const char *comm)
{
	assert_int_equal(off_cpu_add_waker(&fix->off, number, stack_of(fix, kernel, user),
					   profile_string(&fix->prof, comm)),
			 0);
}

/* Upside down below "--", and only where the time was blocked. */
static void test_waker(void **state)
{
	struct fixture fix;

	begin(&fix, false);
	add_woken(&fix);
	add_waker(&fix, 7,
		  "bpf_prog_1_bp_waking __traceiter_sched_waking try_to_wake_up pipe_write",
		  "write main", "writer");
	add_waker(&fix, 8, "try_to_wake_up", "other", "another");
	finish(&fix);
	assert_int_equal(fix.prof.sample_cnt, 2);
	assert_values(&fix,
		      WOKEN "|<writer>|<main>|<write>|<pipe_write>|<try_to_wake_up>|--|" WAITER, 1,
		      10, 0);
	assert_values(&fix, "cause=woken comm=a state=runnable |[runnable: woken]|(pipe_read)|f", 0,
		      0, 3);
	end(&fix);
}

/* Whoever an interrupt has interrupted has woken nobody, not even when he was leaving the CPU. */
static void test_waker_interrupt(void **state)
{
	static const char *const interrupted[] = {"", " get_page do_fault", " __schedule schedule"};
	static const char irq[] = "try_to_wake_up hrtimer_wakeup sysvec_apic_timer_interrupt "
				  "asm_sysvec_apic_timer_interrupt";

	for (size_t i = 0; i < sizeof(interrupted) / sizeof(*interrupted); i++) {
		struct fixture fix;
		char names[256];

		begin(&fix, false);
		snprintf(names, sizeof(names), "%s%s", irq, interrupted[i]);
		add_woken(&fix);
		add_waker(&fix, 7, names, "innocent main", "bystander");
		finish(&fix);
		assert_values(&fix,
			      WOKEN "|<[interrupt]>|<asm_sysvec_apic_timer_interrupt>|"
				    "<sysvec_apic_timer_interrupt>|<hrtimer_wakeup>|"
				    "<try_to_wake_up>|--|" WAITER,
			      1, 10, 0);
		end(&fix);
	}
}

/* A user function of an interrupt's name is none. */
static void test_waker_user_names(void **state)
{
	struct fixture fix;

	begin(&fix, false);
	add_woken(&fix);
	add_waker(&fix, 7, "try_to_wake_up", "bpf_call asm_sysvec_mine", "writer");
	finish(&fix);
	assert_values(&fix,
		      WOKEN "|<writer>|<asm_sysvec_mine>|<bpf_call>|<try_to_wake_up>|--|" WAITER, 1,
		      10, 0);
	end(&fix);
}

static void test_waker_not_believed(void **state)
{
	struct fixture fix;

	begin(&fix, false);
	add_woken(&fix);
	finish(&fix);
	assert_values(&fix, WOKEN "|" WAITER, 1, 10, 0);
	end(&fix);

	/* The same told twice is one; another under its number is none. */
	begin(&fix, false);
	add_woken(&fix);
	add_waker(&fix, 7, "try_to_wake_up", "", "writer");
	add_waker(&fix, 7, "try_to_wake_up", "", "writer");
	finish(&fix);
	assert_values(&fix, WOKEN "|<writer>|<try_to_wake_up>|--|" WAITER, 1, 10, 0);
	end(&fix);

	begin(&fix, false);
	add_woken(&fix);
	add_waker(&fix, 7, "try_to_wake_up", "", "writer");
	add_waker(&fix, 7, "try_to_wake_up", "", "another");
	add_waker(&fix, 7, "try_to_wake_up", "", "writer");
	finish(&fix);
	assert_values(&fix, WOKEN "|" WAITER, 1, 10, 0);
	end(&fix);
}

/* "NAME0 NAME1 ...": so many. */
static void deep(const char *name, uint32_t cnt, struct buf *out)
{
	for (uint32_t i = 0; i < cnt; i++)
		buf_printf(out, "%s%u ", name, i);
}

/* As deep as capture takes stacks, of the waiter and of the waker. */
static void test_deep_stacks(void **state)
{
	const struct profile_stack *stack;
	struct buf kernel, user;
	struct fixture fix;

	begin(&fix, false);
	buf_init(&kernel, BUF_NO_MAX);
	buf_init(&user, BUF_NO_MAX);
	buf_add_str(&kernel, "__schedule ");
	deep("k", KERNEL_MAX - 2, &kernel);
	buf_add_str(&kernel, "pipe_read");
	deep("u", USER_MAX, &user);
	add(&fix, &(struct waits){
			  .who = who_is(&fix, "a"),
			  .stack = stack_of(&fix, buf_cstr(&kernel), buf_cstr(&user)),
			  .waker = 7,
			  .cnt = 1,
			  .blocked = 10,
		  });
	add_waker(&fix, 7, buf_cstr(&kernel), buf_cstr(&user), "writer");
	finish(&fix);
	assert_int_equal(fix.prof.sample_cnt, 1);
	stack = &fix.prof.stacks[fix.prof.samples[0].stack];
	/* Twice all, without the waiter's __schedule; the name, "--" and the cause. */
	assert_int_equal(stack->cnt, 2 * (KERNEL_MAX + USER_MAX) - 1 + 3);
	assert_string_equal(profile_str(&fix.prof, fix.off.hists[0].cause), "pipe");
	buf_deinit(&kernel);
	buf_deinit(&user);
	end(&fix);
}

/* Inlined calls stay; the location is a waker's now, and the waiter's own is not. */
static void test_waker_inlines(void **state)
{
	enum { LINES = 300 };
	struct profile_line lines[LINES];
	struct fixture fix;
	uint32_t location;
	size_t seen = 0;

	begin(&fix, false);
	for (uint32_t i = 0; i < LINES; i++) {
		char name[NAME_BYTES];

		snprintf(name, sizeof(name), "inlined%u", i);
		lines[i] = (struct profile_line){profile_function(&fix.prof, name, name, "", 0), i};
	}
	location = profile_location(&fix.prof, PROFILE_NONE, 0x1234, 0);
	profile_set_lines(&fix.prof, location, lines, LINES);
	add_woken(&fix);
	off_cpu_add_waker(&fix.off, 7, profile_stack(&fix.prof, &location, 1),
			  profile_string(&fix.prof, "writer"));
	finish(&fix);
	assert_int_equal(fix.prof.locations[location].flags, 0);
	for (size_t i = 0; i < fix.prof.location_cnt; i++) {
		const struct profile_location *loc = &fix.prof.locations[i];

		if (loc->address != 0x1234 || !(loc->flags & LOCATION_WAKER))
			continue;
		/* Outermost first: the frames stand upside down. */
		assert_int_equal(loc->line_cnt, 1);
		assert_memory_equal(fix.prof.lines + loc->first_line, &lines[LINES - 1 - seen],
				    sizeof(*lines));
		seen++;
	}
	assert_int_equal(seen, LINES);
	end(&fix);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_no_time),
		cmocka_unit_test(test_switch_is_cut),
		cmocka_unit_test(test_stacks_meet),
		cmocka_unit_test(test_without_names),
		cmocka_unit_test(test_waker),
		cmocka_unit_test(test_waker_interrupt),
		cmocka_unit_test(test_waker_user_names),
		cmocka_unit_test(test_waker_not_believed),
		cmocka_unit_test(test_deep_stacks),
		cmocka_unit_test(test_waker_inlines),
	};

	return cmocka_run_group_tests_name("off_cpu_stack", tests, NULL, NULL);
}
