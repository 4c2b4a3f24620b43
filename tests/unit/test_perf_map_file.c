/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a process's perf map: its own, in its own root and under its own PID, and nothing that
 * somebody else has put there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/perf_map_file.h"

enum { OTHER_UID = 12345, FILE_MODE = 0644 };

struct fixture {
	char path[32]; /* our own map */
	char folder[32];
};

static int setup(void **state)
{
	struct fixture *fix = calloc(1, sizeof(*fix));

	assert_non_null(fix);
	snprintf(fix->path, sizeof(fix->path), "/tmp/perf-%d.map", (int)getpid());
	snprintf(fix->folder, sizeof(fix->folder), "/tmp/test_perf_map_file.XXXXXX");
	assert_non_null(mkdtemp(fix->folder));
	remove(fix->path);
	*state = fix;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fix = *state;

	remove(fix->path);
	assert_int_equal(rmdir(fix->folder), 0);
	free(fix);
	return 0;
}

/* A file that says its own path, with @mode whatever the umask. */
static void put_file(const char *path, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(write(fd, path, strlen(path)), (ssize_t)strlen(path));
	close(fd);
}

/* The map of @tgid is what put_file() made of @path. */
static void check_opened(pid_t tgid, const char *path)
{
	int fd = perf_map_file_open(tgid);
	char text[128] = "";

	if (fd < 0)
		fail_msg("%s: %s", path, strerror(-fd));
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(read(fd, text, sizeof(text) - 1), (ssize_t)strlen(path));
	assert_string_equal(text, path);
	close(fd);
}

static void test_own(void **state)
{
	struct fixture *fix = *state;

	assert_int_equal(perf_map_file_open(getpid()), -ENOENT);
	put_file(fix->path, FILE_MODE);
	check_opened(getpid(), fix->path);
	put_file(fix->path, 0664);
	check_opened(getpid(), fix->path);
	put_file(fix->path, 0666);
	assert_int_equal(perf_map_file_open(getpid()), -EPERM);
}

/* A FIFO that is opened ends it by a signal. */
static void test_not_regular(void **state)
{
	struct fixture *fix = *state;
	char target[64];

	alarm(20);
	assert_int_equal(mkdir(fix->path, 0700), 0);
	assert_int_equal(perf_map_file_open(getpid()), -EINVAL);
	assert_int_equal(rmdir(fix->path), 0);
	assert_int_equal(mkfifo(fix->path, 0600), 0);
	assert_int_equal(perf_map_file_open(getpid()), -EINVAL);
	assert_int_equal(unlink(fix->path), 0);
	snprintf(target, sizeof(target), "%s/target", fix->folder);
	put_file(target, FILE_MODE);
	assert_int_equal(symlink(target, fix->path), 0);
	assert_int_equal(perf_map_file_open(getpid()), -EINVAL);
	assert_int_equal(unlink(target), 0);
	assert_int_equal(perf_map_file_open(getpid()), -EINVAL);
	alarm(0);
}

/* A child that has done @prepare (0: well) and waits; its PID, or 0 when it could not. */
static pid_t start_child(int (*prepare)(const void *arg), const void *arg)
{
	int ready[2];
	char answer = 1;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		answer = prepare(arg) != 0;
		if (write(ready[1], &answer, 1) != 1)
			_exit(1);
		alarm(60);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &answer, 1) != 1)
		answer = 1;
	close(ready[0]);
	if (!answer)
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

static void stop_child(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int prepare_nothing(const void *arg)
{
	return 0;
}

static void test_gone(void **state)
{
	pid_t pid = start_child(prepare_nothing, NULL);
	char path[32];
	int err;

	assert_true(pid > 0);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
	put_file(path, FILE_MODE);
	check_opened(pid, path);
	stop_child(pid);
	err = perf_map_file_open(pid);
	assert_true(err == -ENOENT || err == -ESRCH);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(perf_map_file_open(0), -ESRCH);
	assert_int_equal(perf_map_file_open(-1), -ESRCH);
}

/* Without an exec, so that /proc/PID stays root's: its owner is not what counts. */
static int change_user(const void *arg)
{
	return setresuid(OTHER_UID, OTHER_UID, OTHER_UID);
}

static void test_owners(void **state)
{
	struct fixture *fix = *state;
	char path[32];
	pid_t pid;

	if (geteuid())
		skip();
	put_file(fix->path, FILE_MODE);
	assert_int_equal(chown(fix->path, OTHER_UID, OTHER_UID), 0);
	assert_int_equal(perf_map_file_open(getpid()), -EPERM);
	pid = start_child(change_user, NULL);
	assert_true(pid > 0);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
	put_file(path, FILE_MODE);
	check_opened(pid, path); /* root's */
	assert_int_equal(chown(path, OTHER_UID, OTHER_UID), 0);
	check_opened(pid, path);
	assert_int_equal(chown(path, OTHER_UID + 1, OTHER_UID), 0);
	assert_int_equal(perf_map_file_open(pid), -EPERM);
	stop_child(pid);
	assert_int_equal(unlink(path), 0);
}

static int change_root(const void *folder)
{
	return chroot(folder) || chdir("/");
}

/* A child with root @folder and a PID namespace of its own; 0 where there can be none. */
static pid_t start_namespace(const char *folder)
{
	int own_ns = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	pid_t pid = 0;

	assert_true(own_ns >= 0);
	if (unshare(CLONE_NEWPID)) {
		fprintf(stderr, "no PID namespace: %s\n", strerror(errno));
	} else {
		pid = start_child(change_root, folder);
		assert_int_equal(setns(own_ns, CLONE_NEWPID), 0);
	}
	close(own_ns);
	return pid;
}

/* The /tmp of the other root is a link, which must lead to what it names in there. */
static void test_other_root(void **state)
{
	struct fixture *fix = *state;
	char link[64], folder[64], path[128];
	pid_t pid;

	if (geteuid())
		skip();
	snprintf(link, sizeof(link), "%s/tmp", fix->folder);
	snprintf(folder, sizeof(folder), "%s/var", fix->folder);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(symlink("/../../var", link), 0);
	pid = start_namespace(fix->folder);
	if (pid) {
		snprintf(path, sizeof(path), "%s/perf-1.map", folder);
		put_file(path, FILE_MODE);
		check_opened(pid, path);
		assert_int_equal(unlink(path), 0);
		/* Under the PID that others see there is none. */
		snprintf(path, sizeof(path), "%s/perf-%d.map", folder, (int)pid);
		put_file(path, FILE_MODE);
		assert_int_equal(perf_map_file_open(pid), -ENOENT);
		assert_int_equal(unlink(path), 0);
		/* Followed out of its root this were our /tmp, where there is none (-ENOENT). */
		assert_int_equal(unlink(link), 0);
		assert_int_equal(symlink("/tmp", link), 0);
		assert_int_equal(perf_map_file_open(pid), -ELOOP);
		stop_child(pid);
	}
	assert_int_equal(unlink(link), 0);
	assert_int_equal(rmdir(folder), 0);
	if (!pid)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_own, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_regular, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_owners, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_root, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
