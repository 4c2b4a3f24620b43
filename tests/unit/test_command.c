/* SPDX-License-Identifier: Apache-2.0 */
/* `-- COMMAND`: stopped until released, exec errors told apart, exit statuses, the sudo user. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "capture/command.h"

/* Start, release and wait for `sh -c @script`. */
static int run_shell(const char *script)
{
	char *argv[] = {"sh", "-c", (char *)script, NULL};
	struct command cmd;

	assert_int_equal(command_start(&cmd, argv), 0);
	assert_int_equal(command_release(&cmd), 0);
	return command_wait(&cmd);
}

static int setup(void **state)
{
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	return 0;
}

static void test_statuses(void **state)
{
	assert_int_equal(run_shell("exit 0"), 0);
	assert_int_equal(run_shell("exit 37"), 37);
	assert_int_equal(run_shell("kill -TERM $$"), 128 + SIGTERM);
}

static void test_stopped_until_released(void **state)
{
	char dir[] = "/tmp/bpfprof-command-XXXXXX", mark[64], script[96];
	char *argv[] = {"sh", "-c", script, NULL};
	struct command cmd;
	struct stat info;

	assert_non_null(mkdtemp(dir));
	snprintf(mark, sizeof(mark), "%s/mark", dir);
	snprintf(script, sizeof(script), "touch %s", mark);
	assert_int_equal(command_start(&cmd, argv), 0);
	usleep(100 * 1000);
	assert_int_equal(stat(mark, &info), -1);
	assert_int_equal(command_release(&cmd), 0);
	assert_int_equal(command_wait(&cmd), 0);
	assert_int_equal(stat(mark, &info), 0);
	unlink(mark);
	rmdir(dir);
}

static void test_abandoned_never_runs(void **state)
{
	char dir[] = "/tmp/bpfprof-command-XXXXXX", mark[64], script[96];
	char *argv[] = {"sh", "-c", script, NULL};
	struct command cmd;
	struct stat info;
	pid_t pid;

	assert_non_null(mkdtemp(dir));
	snprintf(mark, sizeof(mark), "%s/mark", dir);
	snprintf(script, sizeof(script), "touch %s", mark);
	assert_int_equal(command_start(&cmd, argv), 0);
	pid = cmd.pid;
	command_abandon(&cmd);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1); /* reaped */
	assert_int_equal(errno, ECHILD);
	assert_int_equal(stat(mark, &info), -1);
	rmdir(dir);
}

/* What happens when we are killed: the pipe closes without a byte. */
static void test_closed_pipe_ends_child(void **state)
{
	char *argv[] = {"true", NULL};
	struct command cmd;

	assert_int_equal(command_start(&cmd, argv), 0);
	close(cmd.go_fd);
	cmd.go_fd = -1;
	assert_int_equal(command_wait(&cmd), 125);
	command_abandon(&cmd);
}

static void test_exec_errors(void **state)
{
	char *missing[] = {"/nonexistent/program", NULL}, *unfound[] = {"no-such-program-7", NULL};
	char *folder[] = {"/tmp", NULL};
	struct command cmd;

	/* A folder in it that we may not read would be another error. */
	setenv("PATH", "/usr/bin:/bin", 1);
	assert_int_equal(command_start(&cmd, missing), 0);
	assert_int_equal(command_release(&cmd), -ENOENT);
	assert_int_equal(command_wait(&cmd), -ECHILD);
	assert_int_equal(command_start(&cmd, unfound), 0);
	assert_int_equal(command_release(&cmd), -ENOENT);
	assert_int_equal(command_start(&cmd, folder), 0);
	assert_int_equal(command_release(&cmd), -EACCES);
}

static void test_killed_before_release(void **state)
{
	char *argv[] = {"true", NULL};
	struct command cmd;

	assert_int_equal(command_start(&cmd, argv), 0);
	kill(cmd.pid, SIGKILL);
	usleep(50 * 1000);
	assert_int_equal(command_release(&cmd), 0);
	assert_int_equal(command_wait(&cmd), 128 + SIGKILL);
}

static void test_signals_are_default(void **state)
{
	sigset_t blocked, before;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	assert_int_equal(run_shell("kill -INT $$; exit 3"), 128 + SIGINT);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void test_sudo_user(void **state)
{
	if (geteuid() != 0)
		skip();
	setenv("SUDO_UID", "65534", 1);
	setenv("SUDO_GID", "65534", 1);
	setenv("BPFPROF_KEPT", "yes", 1);
	assert_int_equal(run_shell("test \"$(id -u):$(id -g)\" = 65534:65534"), 0);
	/* not one of root's groups is left */
	assert_int_equal(run_shell("! id -G | tr ' ' '\\n' | grep -qx 0"), 0);
	assert_int_equal(run_shell("test \"$BPFPROF_KEPT\" = yes"), 0);
	setenv("SUDO_UID", "4242424", 1); /* a user without an entry */
	setenv("SUDO_GID", "4242425", 1);
	assert_int_equal(run_shell("test \"$(id -u) $(id -G)\" = '4242424 4242425'"), 0);
	unsetenv("SUDO_UID");
	assert_int_equal(run_shell("test \"$(id -u)\" = 0"), 0);
}

static void test_bad_sudo_user(void **state)
{
	char *argv[] = {"true", NULL};
	static const char *const bad[] = {"", "-1", "1000x", "4294967295", "99999999999"};
	struct command cmd;

	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		setenv("SUDO_UID", bad[i], 1);
		setenv("SUDO_GID", "1000", 1);
		assert_int_equal(command_start(&cmd, argv), -EINVAL);
		setenv("SUDO_UID", "1000", 1);
		setenv("SUDO_GID", bad[i], 1);
		assert_int_equal(command_start(&cmd, argv), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_statuses, setup),
		cmocka_unit_test_setup(test_stopped_until_released, setup),
		cmocka_unit_test_setup(test_abandoned_never_runs, setup),
		cmocka_unit_test_setup(test_closed_pipe_ends_child, setup),
		cmocka_unit_test_setup(test_exec_errors, setup),
		cmocka_unit_test_setup(test_killed_before_release, setup),
		cmocka_unit_test_setup(test_signals_are_default, setup),
		cmocka_unit_test_setup(test_sudo_user, setup),
		cmocka_unit_test_setup(test_bad_sudo_user, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
