/* SPDX-License-Identifier: Apache-2.0 */
/* Who processes are: this one and its children, those that have gone, and who takes their number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/identity.h"
#include "base/clock.h"

static const char child_env[] = "OTEL_SERVICE_NAME=child";

/* A process that sleeps, with one variable in its environment. */
static pid_t start_child(void)
{
	char *const argv[] = {(char *)"sleep", (char *)"600", NULL};
	char *const env[] = {(char *)child_env, NULL};
	pid_t pid = fork();

	if (!pid) {
		execve("/bin/sleep", argv, env);
		_exit(127);
	}
	/* Until it is another program than this. */
	for (int i = 0; i < 500; i++) {
		char path[64], exe[64] = "";

		snprintf(path, sizeof(path), "/proc/%d/exe", pid);
		if (readlink(path, exe, sizeof(exe) - 1) > 0 && strstr(exe, "sleep"))
			break;
		usleep(10000);
	}
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static struct identity_key key_of(pid_t pid)
{
	/* A start of 0 is not compared: of tests, which cannot know it to the nanosecond. */
	return (struct identity_key){.tgid = (uint32_t)pid, .comm = "thread"};
}

static void test_a_process_and_its_end(void **state)
{
	uint64_t now_ns = clock_monotonic_ns();
	pid_t pid = start_child();
	struct identity_key key = key_of(pid);
	struct identities ids;

	assert_int_equal(identities_init(&ids, "/nowhere"), 0);
	assert_string_equal(identities_get(&ids, &key, now_ns)->service.name, "child");
	assert_true(identities_get(&ids, &key, now_ns)->service.version[0]);
	assert_int_equal(identities_get(&ids, &key, now_ns)->cgroup[0], '/');
	assert_int_equal(ids.cnt, 1);
	end_child(pid);
	/* It is known although it has gone, also when it is looked for again. */
	now_ns += 3600 * NSEC_PER_SEC;
	assert_string_equal(identities_get(&ids, &key, now_ns)->service.name, "child");
	identities_end_window(&ids);
	assert_string_equal(identities_get(&ids, &key, now_ns)->service.name, "child");
	for (int i = 0; i < 3; i++)
		identities_end_window(&ids);
	assert_int_equal(ids.cnt, 0);
	assert_string_equal(identities_get(&ids, &key, now_ns)->service.name, "thread");
	identities_deinit(&ids);
}

static void test_a_number_is_not_a_process(void **state)
{
	uint64_t now_ns = clock_monotonic_ns();
	pid_t pid = start_child();
	struct identity_key key = key_of(pid);
	struct identities ids;

	/* One that started when the machine did had the number before. */
	key.start_ns = 1;
	assert_int_equal(identities_init(&ids, "/nowhere"), 0);
	assert_string_equal(identities_get(&ids, &key, now_ns)->service.name, "thread");
	assert_false(identities_get(&ids, &key, now_ns)->was_there);
	identities_deinit(&ids);
	end_child(pid);
}

static void test_gone_but_for_its_control_group(void **state)
{
	char root[] = "/tmp/bpfprof-cgroups-XXXXXX", path[200];
	struct identity_key key = {.tgid = 4194305, .start_ns = 5, .comm = "worker"};
	struct identities ids;
	struct stat st;

	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/system.slice", root);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/system.slice/shop.service", root);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(stat(path, &st), 0);
	key.cgroup_id = st.st_ino;
	assert_int_equal(identities_init(&ids, root), 0);
	assert_string_equal(identities_get(&ids, &key, NSEC_PER_SEC)->service.name, "shop");
	assert_string_equal(identities_get(&ids, &key, NSEC_PER_SEC)->names.unit, "shop.service");
	assert_string_equal(identities_get(&ids, &key, NSEC_PER_SEC)->cgroup,
			    "/system.slice/shop.service");
	/* Numbers that nobody knows do not have the tree walked again and again. */
	assert_null(cgroup_ids_find(&ids.cgroups, 77777777, 2 * NSEC_PER_SEC));
	assert_int_equal(ids.cgroups.walked_ns, NSEC_PER_SEC);
	assert_null(cgroup_ids_find(&ids.cgroups, 77777777, 12 * NSEC_PER_SEC));
	assert_int_equal(ids.cgroups.walked_ns, 12 * NSEC_PER_SEC);
	identities_deinit(&ids);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/system.slice", root);
	rmdir(path);
	rmdir(root);
}

static void test_bounds(void **state)
{
	struct identity_key key = {.comm = "many"};
	struct identities ids;

	assert_int_equal(identities_init(&ids, "/nowhere"), 0);
	for (uint32_t i = 0; i < 2 * IDENTITY_LOOKUPS_MAX; i++) {
		key.tgid = 5000000 + i;
		key.start_ns = 1;
		assert_string_equal(identities_get(&ids, &key, NSEC_PER_SEC)->service.name, "many");
	}
	/* No more are looked up in a second: the others are told by what is known anyway. */
	assert_int_equal(ids.cnt, IDENTITY_LOOKUPS_MAX);
	for (uint32_t i = 0; i < 2 * IDENTITIES_MAX; i++) {
		key.tgid = 5000000 + i;
		identities_get(&ids, &key, i * NSEC_PER_SEC);
	}
	assert_int_equal(ids.cnt, IDENTITIES_MAX);
	identities_forget(&ids);
	assert_int_equal(ids.cnt, 0);
	identities_deinit(&ids);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_process_and_its_end),
		cmocka_unit_test(test_a_number_is_not_a_process),
		cmocka_unit_test(test_gone_but_for_its_control_group),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
