/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a process's jitdump: found by its mapping, its own, and what has been put in its place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/jitdump_file.h"

enum { OTHER_UID = 12345, PAGE_BYTES = 4096, MARKERS_MAX = 8 };

static char folder[32];
static char own_name[32]; /* of the file that is our own */
static void *markers[MARKERS_MAX];
static int marker_cnt;

static int setup(void **state)
{
	snprintf(folder, sizeof(folder), "/tmp/test_jitdump_file.XXXXXX");
	snprintf(own_name, sizeof(own_name), "jit-%d.dump", (int)getpid());
	marker_cnt = 0;
	return !mkdtemp(folder) || chmod(folder, 0755) || chdir(folder);
}

static int teardown(void **state)
{
	DIR *dir = opendir(".");
	struct dirent *entry;

	while (marker_cnt)
		munmap(markers[--marker_cnt], PAGE_BYTES);
	while (dir && (entry = readdir(dir)))
		unlink(entry->d_name);
	closedir(dir);
	return chdir("/") || rmdir(folder);
}

/* A file in the folder that says its own name. */
static void put_file(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, name, strlen(name)), (ssize_t)strlen(name));
	close(fd);
}

static void map_file(const char *name, int prot)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	void *marker = mmap(NULL, PAGE_BYTES, prot, MAP_PRIVATE, fd, 0);

	assert_true(fd >= 0 && marker != MAP_FAILED && marker_cnt < MARKERS_MAX);
	close(fd);
	markers[marker_cnt++] = marker;
}

static void mark(const char *name)
{
	put_file(name);
	map_file(name, PROT_READ | PROT_EXEC);
}

/* What was found says that it is @name. */
static bool is_file(int fd, const char *name)
{
	char text[64] = "";
	bool is_same = fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && !strcmp(text, name);

	if (fd >= 0)
		close(fd);
	return is_same;
}

static void test_found(void **state)
{
	assert_int_equal(jitdump_file_open(getpid()), -ENOENT);
	mark("jit-1.dump");
	assert_true(is_file(jitdump_file_open(getpid()), "jit-1.dump"));
	mark("jit-2.dump");
	mark(own_name);
	mark("jit-3.dump");
	assert_true(is_file(jitdump_file_open(getpid()), own_name));
}

static void test_other_names(void **state)
{
	static const char *const names[] = {"jit-.dump",   "jit-x.dump",   "jit-1.dump.old",
					    "ajit-1.dump", "jit-1.dump x", "jit--1.dump"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		mark(names[i]);
	put_file(own_name);
	map_file(own_name, PROT_READ);
	assert_int_equal(jitdump_file_open(getpid()), -ENOENT);
}

static void test_gone(void **state)
{
	assert_int_equal(jitdump_file_open(0), -ESRCH);
	assert_int_equal(jitdump_file_open(-1), -ESRCH);
	assert_int_equal(jitdump_file_open(5000000), -ENOENT);
}

static void test_owners(void **state)
{
	if (geteuid())
		skip();
	mark(own_name);
	assert_int_equal(chown(own_name, OTHER_UID, OTHER_UID), 0);
	assert_int_equal(jitdump_file_open(getpid()), -EPERM);
	assert_int_equal(chown(own_name, 0, 0), 0);
	assert_int_equal(chmod(own_name, 0666), 0);
	assert_int_equal(jitdump_file_open(getpid()), -EPERM);
	assert_int_equal(chmod(own_name, 0644), 0);
	assert_true(is_file(jitdump_file_open(getpid()), own_name));
}

/* The mapping is the file, whatever has become of its name. */
static void test_by_mapping(void **state)
{
	if (geteuid())
		skip();
	alarm(20);
	mark(own_name);
	assert_int_equal(unlink(own_name), 0);
	assert_true(is_file(jitdump_file_open(getpid()), own_name));
	assert_int_equal(mkfifo(own_name, 0600), 0);
	assert_true(is_file(jitdump_file_open(getpid()), own_name));
	alarm(0);
}

/* What a process without privileges, which must go by the path, gets of itself: 0, or an errno. */
static int open_unprivileged(void)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		int fd;

		alarm(20);
		if (!geteuid() && setresuid(OTHER_UID, OTHER_UID, OTHER_UID))
			_exit(255);
		fd = jitdump_file_open(getpid());
		_exit(fd < 0 ? -fd : !is_file(fd, own_name));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_by_path(void **state)
{
	mark(own_name);
	assert_int_equal(open_unprivileged(), 0);
	assert_int_equal(chmod(own_name, 0666), 0);
	assert_int_equal(open_unprivileged(), EPERM);
}

/* What is there by now is a link to it, a FIFO, or another file. */
static void test_replaced(void **state)
{
	mark(own_name);
	assert_int_equal(link(own_name, "kept"), 0);
	assert_int_equal(unlink(own_name), 0);
	assert_int_equal(open_unprivileged(), ENOENT);
	assert_int_equal(symlink("kept", own_name), 0);
	assert_int_equal(open_unprivileged(), EINVAL);
	assert_int_equal(unlink(own_name), 0);
	assert_int_equal(mkfifo(own_name, 0666), 0);
	assert_int_equal(open_unprivileged(), EINVAL);
	assert_int_equal(unlink(own_name), 0);
	put_file(own_name);
	assert_int_equal(open_unprivileged(), ESTALE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_found, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_owners, setup, teardown),
		cmocka_unit_test_setup_teardown(test_by_mapping, setup, teardown),
		cmocka_unit_test_setup_teardown(test_by_path, setup, teardown),
		cmocka_unit_test_setup_teardown(test_replaced, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
