/* SPDX-License-Identifier: Apache-2.0 */
/* Who says that there is no such system call: the kernel, a filter or an emulation, by a folder
 * that looks like /proc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/absent_call.h"
#include "scratch.h"

#define PERF_SIGN "sys/kernel/perf_event_paranoid"
#define BPF_SIGN "sys/kernel/unprivileged_bpf_disabled"

struct proc {
	char root[64];
	struct buf why;
};

static int set_up(void **state)
{
	struct proc *proc = calloc(1, sizeof(*proc));

	assert_non_null(proc);
	snprintf(proc->root, sizeof(proc->root), "/tmp/bpfprof-absent-XXXXXX");
	assert_non_null(mkdtemp(proc->root));
	buf_init(&proc->why, BUF_NO_MAX);
	*state = proc;
	return 0;
}

static int tear_down(void **state)
{
	struct proc *proc = *state;

	remove_tree(proc->root);
	buf_deinit(&proc->why);
	free(proc);
	return 0;
}

static void put(const struct proc *proc, const char *path, const char *text)
{
	char full[256];
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", proc->root, path);
	for (char *slash = full + strlen(proc->root); (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* Mode of seccomp(2), as a kernel shows it among other lines. */
static void put_mode(const struct proc *proc, int mode)
{
	char text[128];

	snprintf(
		text, sizeof(text),
		"Name:\tbpfprof\nNoNewPrivs:\t0\nSeccomp:\t%d\nSeccomp_filters:\t%d\nThreads:\t2\n",
		mode, mode);
	put(proc, "self/status", text);
}

/* The line has @wanted, and none of what the other causes would say. */
static void check_says(struct proc *proc, enum absent_call call, const char *wanted)
{
	static const char *const causes[] = {"built without", "seccomp", "qemu-user",
					     "cannot be told"};
	const char *said;

	buf_reset(&proc->why);
	absent_call_explain("the call", call, proc->root, &proc->why);
	said = buf_cstr(&proc->why);
	assert_non_null(strstr(said, wanted));
	assert_memory_equal(said, "the call: ", 10);
	assert_null(strchr(said, '\n'));
	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++)
		assert_int_equal(strstr(said, causes[i]) != NULL, !strcmp(causes[i], wanted));
}

static void test_kernel(void **state)
{
	struct proc *proc = *state;

	put(proc, "sys/kernel/osrelease", "6.1.0\n");
	put_mode(proc, 0);
	check_says(proc, ABSENT_PERF_EVENT_OPEN, "built without");
	assert_non_null(strstr(buf_cstr(&proc->why), "CONFIG_PERF_EVENTS"));
	check_says(proc, ABSENT_BPF, "built without");
	assert_non_null(strstr(buf_cstr(&proc->why), "CONFIG_BPF_SYSCALL"));
	/* What a filter would do cannot be the first thing to mend. */
	put_mode(proc, 2);
	check_says(proc, ABSENT_PERF_EVENT_OPEN, "built without");
	/* Each call has a sign of its own. */
	put(proc, BPF_SIGN, "2\n");
	check_says(proc, ABSENT_PERF_EVENT_OPEN, "built without");
	check_says(proc, ABSENT_BPF, "seccomp");
}

static void test_filter(void **state)
{
	struct proc *proc = *state;

	put(proc, PERF_SIGN, "2\n");
	put(proc, BPF_SIGN, "2\n");
	put_mode(proc, 2);
	check_says(proc, ABSENT_PERF_EVENT_OPEN, "seccomp");
	assert_non_null(strstr(buf_cstr(&proc->why), "allow perf_event_open and bpf"));
	assert_non_null(strstr(buf_cstr(&proc->why), "SystemCallFilter="));
	check_says(proc, ABSENT_BPF, "seccomp");
}

static void test_emulation(void **state)
{
	struct proc *proc = *state;

	put(proc, PERF_SIGN, "2\n");
	put_mode(proc, 0);
	check_says(proc, ABSENT_PERF_EVENT_OPEN, "qemu-user");
	/* Mode 1 could not even ask. */
	put_mode(proc, 1);
	check_says(proc, ABSENT_PERF_EVENT_OPEN, "qemu-user");
	/* A kernel without CONFIG_SECCOMP. */
	put(proc, "self/status", "Name:\tbpfprof\nThreads:\t2\n");
	check_says(proc, ABSENT_PERF_EVENT_OPEN, "qemu-user");
}

static void test_no_proc(void **state)
{
	struct proc *proc = *state;

	check_says(proc, ABSENT_PERF_EVENT_OPEN, "cannot be told");
	check_says(proc, ABSENT_BPF, "cannot be told");
	put_mode(proc, 2);
	check_says(proc, ABSENT_PERF_EVENT_OPEN, "cannot be told");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_kernel, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_filter, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_emulation, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_proc, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
