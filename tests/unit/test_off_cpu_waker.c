/* SPDX-License-Identifier: Apache-2.0 */
/* Inlined calls in the stacks of waits, which in a waker's stand upside down. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "profile/off_cpu_stack.h"

struct fixture {
	struct profile prof;
	struct off_cpu_stacks stacks;
	uint32_t app, kernel;
	struct buf text;
};

static int setup(void **state)
{
	static struct fixture fix;

	assert_int_equal(profile_init(&fix.prof), 0);
	fix.app = profile_mapping(&fix.prof, "/usr/bin/app", "");
	fix.kernel = profile_mapping(&fix.prof, "[kernel.kallsyms]", "");
	buf_init(&fix.text, BUF_NO_MAX);
	*state = &fix;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fix = *state;

	off_cpu_stacks_deinit(&fix->stacks);
	profile_deinit(&fix->prof);
	buf_deinit(&fix->text);
	return 0;
}

/* A location whose lines are @inner, if it is not NULL, inlined in @outer. */
static uint32_t frame(struct fixture *fix, uint32_t mapping, const char *inner, const char *outer)
{
	struct profile_line lines[2] = {{0, 0}, {0, 0}};
	size_t cnt = 0;

	if (inner)
		lines[cnt++].function = profile_function(&fix->prof, inner, inner, "", 0);
	lines[cnt++].function = profile_function(&fix->prof, outer, outer, "", 0);
	return profile_location_lines(&fix->prof, mapping, 16,
				      mapping == fix->kernel ? LOCATION_KERNEL : 0, lines, cnt);
}

/* Root first, "<name" what is inlined, "name!" a waker's. */
static const char *text_of(struct fixture *fix, uint32_t stack)
{
	const struct profile *prof = &fix->prof;

	buf_reset(&fix->text);
	for (uint32_t i = prof->stacks[stack].cnt; i-- > 0;) {
		uint32_t location = prof->stack_locations[prof->stacks[stack].first + i];
		const struct profile_location *loc = &prof->locations[location];

		for (uint32_t line = loc->line_cnt; line-- > 0;)
			buf_printf(&fix->text, "%s%s%s ", line + 1 < loc->line_cnt ? "<" : "",
				   profile_location_name(prof, location, line),
				   loc->flags & LOCATION_WAKER ? "!" : "");
	}
	return buf_cstr(&fix->text);
}

static uint32_t waiter(struct fixture *fix)
{
	uint32_t locations[] = {
		frame(fix, fix->kernel, NULL, "__schedule"),
		frame(fix, fix->kernel, NULL, "futex_wait"),
		frame(fix, fix->app, "lock", "work"),
	};

	return profile_stack(&fix->prof, locations, 3);
}

static void test_states(void **state)
{
	struct fixture *fix = *state;
	uint32_t stack = waiter(fix);

	off_cpu_stacks_init(&fix->stacks, &fix->prof);
	assert_string_equal(text_of(fix, off_cpu_blocked_stack(&fix->stacks, stack, NULL)),
			    "work <lock futex_wait [blocked: futex] ");
	assert_string_equal(text_of(fix, off_cpu_runnable_stack(&fix->stacks, stack, "woken")),
			    "work <lock futex_wait [runnable: woken] ");
}

static void test_waker(void **state)
{
	struct fixture *fix = *state;
	uint32_t locations[] = {
		frame(fix, fix->kernel, NULL, "futex_wake"),
		frame(fix, fix->app, "unlock", "post"),
		frame(fix, fix->app, NULL, "main"),
	};
	struct off_cpu_waker waker = {
		.stack = profile_stack(&fix->prof, locations, 3),
		.comm = profile_string(&fix->prof, "writer"),
	};
	uint32_t stack = waiter(fix);

	off_cpu_stacks_init(&fix->stacks, &fix->prof);
	assert_string_equal(text_of(fix, off_cpu_blocked_stack(&fix->stacks, stack, &waker)),
			    "work <lock futex_wait [blocked: futex] -- futex_wake! unlock! post! "
			    "main! writer! ");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_states, setup, teardown),
		cmocka_unit_test_setup_teardown(test_waker, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
