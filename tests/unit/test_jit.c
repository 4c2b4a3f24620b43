/* SPDX-License-Identifier: Apache-2.0 */
/* Which process JIT code belongs to, from window to window. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "capture/jit.h"
#include "profile/profile.h"

/* No such processes: Linux's pids end at 2^22. */
enum { A = 5000000, B = 5000001 };

static struct jit jit;

static int setup(void **state)
{
	jit = (struct jit){0};
	jit_begin_window(&jit);
	return 0;
}

static int teardown(void **state)
{
	jit_deinit(&jit);
	return 0;
}

static void test_process(void **state)
{
	struct jit_process *process = jit_find(&jit, (uint32_t)getpid(), 7);
	char path[32];

	assert_non_null(process);
	assert_int_equal(process->mapping, PROFILE_NONE);
	assert_int_equal(process->module->kind, MODULE_JIT);
	assert_int_equal(process->module->fd, -1);
	assert_int_equal(process->module->dump_fd, -1);
	assert_string_equal(process->module->program, "test_jit");
	snprintf(path, sizeof(path), "//anon:%d", (int)getpid());
	assert_string_equal(process->module->path, path);
	assert_true(profile_path_is_anon(path));
	assert_true(profile_path_is_anon("//anon"));
	assert_false(profile_path_is_anon("//anonymous"));
	assert_false(profile_path_is_anon("/anon"));
}

static void test_same_and_other(void **state)
{
	struct module *module = jit_find(&jit, A, 1)->module;

	assert_ptr_not_equal(jit_find(&jit, B, 1)->module, module);
	assert_ptr_equal(jit_find(&jit, A, 1)->module, module);
	assert_int_equal(jit.cnt, 2);
}

/* A process number that is used again: never the old one's names. */
static void test_number_used_again(void **state)
{
	assert_non_null(jit_find(&jit, A, 1));
	assert_null(jit_find(&jit, A, 2));
	jit_begin_window(&jit);
	assert_non_null(jit_find(&jit, A, 2));
}

/* The modules of a window that is over are still to be named; those before it are not. */
static void test_windows(void **state)
{
	struct jit_process *process = jit_find(&jit, A, 1);

	process->mapping = 3;
	jit_begin_window(&jit);
	assert_int_equal(jit.cnt, 1);
	assert_int_equal(jit_find(&jit, A, 1)->mapping, PROFILE_NONE);
	jit_begin_window(&jit);
	assert_int_equal(jit.cnt, 1);
	jit_begin_window(&jit);
	assert_int_equal(jit.cnt, 0);
}

static void put_list(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	close(fd);
}

/* After one drain, two more, four more: what is written in between is not there before. */
static void test_look_again(void **state)
{
	struct module *module;
	char path[32];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	module = jit_find(&jit, (uint32_t)getpid(), 7)->module;
	for (int drain = 1; drain <= 7; drain++) {
		bool is_due = drain == 1 || drain == 3 || drain == 7;

		put_list(path);
		jit_look_again(&jit);
		assert_int_equal(module->fd >= 0, is_due);
		assert_int_equal(unlink(path), 0);
		if (module->fd >= 0)
			close(module->fd);
		module->fd = -1;
	}
	put_list(path);
	jit_refresh(&jit);
	assert_true(module->fd >= 0);
	assert_int_equal(unlink(path), 0);
}

static void test_bounded(void **state)
{
	uint32_t cnt = 0;

	while (cnt < 10000 && jit_find(&jit, A + cnt, 1))
		cnt++;
	assert_int_equal(cnt, jit.cnt);
	assert_true(cnt >= 100 && cnt < 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_same_and_other, setup, teardown),
		cmocka_unit_test_setup_teardown(test_number_used_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_windows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_look_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bounded, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
