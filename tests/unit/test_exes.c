/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel side announces: executables that are known already, and records that are cut
 * short. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "abi.h"
#include "capture/exes.h"

enum { EXE_ID = 77 };

/* What a call leaves on the stack is what the next one finds in variables that it does not set. */
static __attribute__((noinline)) void dirty_stack(void)
{
	volatile char bytes[16384];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = 0x38;
}

static void announce(struct exes *exes, const struct bp_exe_event *event, size_t len)
{
	dirty_stack();
	assert_int_equal(exes_announce(exes, event, len), 0);
}

static void test_announced_twice(void **state)
{
	struct bp_exe_event event = {.tgid = (uint32_t)getpid(), .id = EXE_ID};
	struct exes exes;
	size_t cnt;

	assert_int_equal(exes_init(&exes), 0);
	announce(&exes, &event, sizeof(event));
	assert_non_null(exes_find(&exes, EXE_ID));
	cnt = exes.cnt;
	announce(&exes, &event, sizeof(event));
	assert_int_equal(exes.cnt, cnt);
	exes_deinit(&exes);
}

static void test_cut_short(void **state)
{
	struct bp_exe_event event = {.tgid = (uint32_t)getpid(), .id = EXE_ID};
	struct exes exes;

	assert_int_equal(exes_init(&exes), 0);
	announce(&exes, &event, offsetof(struct bp_exe_event, path) - 1);
	assert_null(exes_find(&exes, EXE_ID));
	exes_deinit(&exes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_announced_twice),
		cmocka_unit_test(test_cut_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
