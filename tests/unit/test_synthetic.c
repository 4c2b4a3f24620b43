/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that are no code, by their names; and through a file and back, with the wakers' flags. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "encode/decode.h"
#include "encode/encoder.h"
#include "encode/pprof.h"
#include "profile/synthetic.h"

static void test_kinds(void **state)
{
	static const struct {
		const char *name;
		enum synthetic kind;
	} cases[] = {
		{"[truncated: no_rows]", SYNTHETIC_INCOMPLETE},
		{"[3 frames elided]", SYNTHETIC_INCOMPLETE},
		{"[running: not sampled]", SYNTHETIC_RUNNING},
		{"[blocked: futex]", SYNTHETIC_BLOCKED},
		{"[blocked: disk I/O]", SYNTHETIC_BLOCKED},
		{"[runnable: woken]", SYNTHETIC_RUNNABLE},
		{"--", SYNTHETIC_WAKER},
		{"", SYNTHETIC_NOT},
		{"-", SYNTHETIC_NOT},
		{"---", SYNTHETIC_NOT},
		{"[blocked: futex", SYNTHETIC_NOT},
		{"[blocked: ]", SYNTHETIC_NOT},
		{"[blocked]", SYNTHETIC_NOT},
		{"blocked: futex]", SYNTHETIC_NOT},
		{"[ elided]", SYNTHETIC_NOT},
		{"[libc.so.6+0x1234]", SYNTHETIC_NOT},
		{"main", SYNTHETIC_NOT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(synthetic_of(cases[i].name, strlen(cases[i].name)), cases[i].kind);
	/* no byte behind the length is looked at */
	assert_int_equal(synthetic_of("--x", 2), SYNTHETIC_WAKER);
	assert_int_equal(synthetic_of("[blocked: a];b", 12), SYNTHETIC_BLOCKED);
	assert_int_equal(synthetic_of("[blocked: a]", 11), SYNTHETIC_NOT);
}

static void test_states(void **state)
{
	(void)state;
	assert_true(synthetic_is_state("[blocked: futex]"));
	assert_true(synthetic_is_state("[runnable: new]"));
	assert_true(synthetic_is_state("[running: not sampled]"));
	assert_false(synthetic_is_state("[truncated: no_rows]"));
	assert_false(synthetic_is_state("--"));
	assert_false(synthetic_is_state("futex_wait"));
}

/* A wait's state and its waker, of the kernel and of a program; what looks like one and is code. */
static void test_pprof_keeps_them(void **state)
{
	static const uint16_t flags[] = {LOCATION_WAKER, LOCATION_WAKER | LOCATION_KERNEL,
					 LOCATION_SYNTHETIC, LOCATION_SYNTHETIC, 0};
	const struct encoder_opts opts = {.value = PROFILE_NONE};
	struct profile prof, copy;
	struct buf file;
	uint32_t stack[5];
	int64_t one = 1;

	(void)state;
	assert_int_equal(profile_init(&prof), 0);
	assert_int_equal(profile_init(&copy), 0);
	profile_add_value_type(&prof, "off_cpu", "nanoseconds");
	stack[0] = profile_named_location(&prof, "sh", flags[0]);
	stack[1] = profile_location(&prof, profile_mapping(&prof, "[kernel.kallsyms]", ""), 16,
				    flags[1]);
	stack[2] = profile_named_location(&prof, "--", flags[2]);
	stack[3] = profile_named_location(&prof, "[blocked: futex]", flags[3]);
	stack[4] = profile_named_location(&prof, "[runnable: code]", flags[4]);
	profile_sample(&prof, profile_stack(&prof, stack, 5), profile_labels(&prof, NULL, 0), &one);
	buf_init(&file, BUF_NO_MAX);
	assert_int_equal(encoder_pprof.encode(&prof, &opts, &file), 0);
	assert_int_equal(profile_decode(file.data, file.len, &copy, NULL), 0);
	assert_int_equal(copy.stacks[0].cnt, 5);
	for (size_t i = 0; i < 5; i++) {
		uint32_t location = copy.stack_locations[copy.stacks[0].first + i];

		assert_int_equal(copy.locations[location].flags, flags[i]);
	}
	assert_int_equal(pprof_implied_flags(&prof, PROFILE_NONE, "--"), LOCATION_SYNTHETIC);
	assert_int_equal(pprof_implied_flags(&prof, PROFILE_NONE, "[runnable: new]"),
			 LOCATION_SYNTHETIC);
	assert_int_equal(pprof_implied_flags(&prof, PROFILE_NONE, "main"), 0);
	buf_deinit(&file);
	profile_deinit(&copy);
	profile_deinit(&prof);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_pprof_keeps_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
