/* SPDX-License-Identifier: Apache-2.0 */
/* Whole reads, whole writes, and outputs that appear whole or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"

/* File systems and kernels that lack something, played by the calls defined below. */
static bool lacks_tmpfile;
static bool lacks_empty_path;
static bool lacks_noreplace;

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	if (lacks_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) {
		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
	if (lacks_empty_path && (flags & AT_EMPTY_PATH)) {
		errno = ENOENT;
		return -1;
	}
	return (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned int flags)
{
	if (lacks_noreplace && (flags & RENAME_NOREPLACE)) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

static char folder[64];

/* @name within the test's folder; good until the next but three. */
static const char *in_folder(const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned int turn;
	char *path = paths[turn++ % 4];

	snprintf(path, PATH_MAX, "%s/%s", folder, name);
	return path;
}

static void write_file(const char *path, const char *content)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, content, strlen(content)), 0);
}

static void assert_content(const char *path, const char *want)
{
	struct buf content;

	buf_init(&content, BUF_NO_MAX);
	assert_int_equal(fs_read_file(path, &content), 0);
	assert_string_equal(buf_cstr(&content), want);
	buf_deinit(&content);
}

/* Names in the test's folder, hidden ones too. */
static size_t count_names(void)
{
	DIR *dir = opendir(folder);
	size_t cnt = 0;

	assert_non_null(dir);
	while (readdir(dir))
		cnt++;
	closedir(dir);
	return cnt - 2; /* . and .. */
}

static int remove_names(void)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;

	if (!dir)
		return -1;
	while ((entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			remove(in_folder(entry->d_name));
	}
	closedir(dir);
	return 0;
}

static int setup(void **state)
{
	lacks_tmpfile = false;
	lacks_empty_path = false;
	lacks_noreplace = false;
	snprintf(folder, sizeof(folder), "/tmp/test_base_fs.XXXXXX");
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	return remove_names() || rmdir(folder);
}

/* Open, check that nothing shows, commit. */
static int write_output(const char *path, bool force, const char *content)
{
	size_t names = count_names();
	struct fs_output output;
	int err = fs_output_open(path, force, &output);

	if (err)
		return err;
	assert_int_equal(count_names(), names + (output.tmp_path ? 1 : 0));
	err = fs_output_commit(&output, content, strlen(content));
	assert_null(output.path);
	assert_null(output.tmp_path);
	assert_int_equal(output.fd, -1);
	return err;
}

static void test_read_proc(void **state)
{
	struct buf content;
	struct stat st;

	assert_int_equal(stat("/proc/self/status", &st), 0);
	assert_int_equal(st.st_size, 0);
	buf_init(&content, BUF_NO_MAX);
	assert_int_equal(fs_read_file("/proc/self/status", &content), 0);
	assert_memory_equal(buf_cstr(&content), "Name:", 5);
	assert_non_null(strstr(buf_cstr(&content), "\nThreads:\t1\n"));
	buf_deinit(&content);
}

static void test_read_appends_up_to_max(void **state)
{
	struct buf content;
	char *large = malloc(100001);

	assert_non_null(large);
	memset(large, 'x', 100000);
	large[100000] = '\0';
	write_file(in_folder("large"), large);
	buf_init(&content, 100003);
	buf_add_str(&content, "abc");
	assert_int_equal(fs_read_file(in_folder("large"), &content), 0);
	assert_int_equal(content.len, 100003);
	assert_memory_equal(content.data, "abc", 3);
	assert_string_equal(content.data + 3, large);
	buf_deinit(&content);

	buf_init(&content, 99999);
	assert_int_equal(fs_read_file(in_folder("large"), &content), -EFBIG);
	assert_true(content.len <= 99999);
	buf_deinit(&content);
	free(large);
}

static void test_read_errors(void **state)
{
	struct buf content;

	buf_init(&content, BUF_NO_MAX);
	assert_int_equal(fs_read_file(in_folder("none"), &content), -ENOENT);
	assert_int_equal(fs_read_file(folder, &content), -EISDIR);
	assert_int_equal(fs_read_fd(-1, &content), -EBADF);
	assert_int_equal(content.len, 0);
	buf_deinit(&content);
}

static void check_line(const char *content, const char *want)
{
	_cleanup_free_ char *line = NULL;

	write_file(in_folder("line"), content);
	line = fs_read_line(in_folder("line"));
	assert_non_null(line);
	assert_string_equal(line, want);
}

static void test_read_line(void **state)
{
	_cleanup_free_ char *line = NULL;
	char large[70000];

	check_line("one\ntwo\n", "one");
	check_line("no newline", "no newline");
	check_line("\n\n", "");
	check_line("", "");
	line = fs_read_line("/proc/sys/kernel/ostype");
	assert_string_equal(line, "Linux");
	errno = 0;
	assert_null(fs_read_line(in_folder("none")));
	assert_int_equal(errno, ENOENT);
	assert_null(fs_read_line(folder));
	assert_int_equal(errno, EISDIR);

	memset(large, 'x', sizeof(large));
	large[sizeof(large) - 1] = '\0';
	write_file(in_folder("line"), large);
	assert_null(fs_read_line(in_folder("line")));
	assert_int_equal(errno, EFBIG);
	large[20000] = '\n'; /* over more than one read, and only the line counts */
	write_file(in_folder("line"), large);
	free(line);
	line = fs_read_line(in_folder("line"));
	assert_int_equal(strlen(line), 20000);
}

static void *slow_reader(void *arg)
{
	char chunk[4096];
	size_t total = 0;
	ssize_t got;

	while ((got = read(*(int *)arg, chunk, sizeof(chunk))) > 0) {
		total += (size_t)got;
		usleep(500);
	}
	return (void *)total;
}

/* A non-blocking pipe takes the bytes in many short writes and EAGAINs. */
static void test_write_all_short(void **state)
{
	enum { LEN = 300000 };
	char *data = calloc(1, LEN);
	pthread_t thread;
	void *total;
	int pipe_fds[2];

	assert_non_null(data);
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	assert_int_equal(fcntl(pipe_fds[1], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(pthread_create(&thread, NULL, slow_reader, &pipe_fds[0]), 0);
	assert_int_equal(fs_write_all(pipe_fds[1], data, LEN), 0);
	close(pipe_fds[1]);
	assert_int_equal(pthread_join(thread, &total), 0);
	assert_int_equal((size_t)total, LEN);
	close(pipe_fds[0]);
	free(data);
}

static void test_write_all_errors(void **state)
{
	_cleanup_close_ int full = open("/dev/full", O_WRONLY);
	int pipe_fds[2];

	assert_int_equal(fs_write_all(full, "x", 1), -ENOSPC);
	assert_int_equal(fs_write_all(-1, "x", 1), -EBADF);
	assert_int_equal(fs_write_all(-1, NULL, 0), 0);
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	close(pipe_fds[0]);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(fs_write_all(pipe_fds[1], "x", 1), -EPIPE);
	signal(SIGPIPE, SIG_DFL);
	close(pipe_fds[1]);
}

/* New file, refused a second time, replaced with force: on whatever the file system offers. */
static void check_life_of_an_output(void)
{
	const char *path = in_folder("out.svg");
	struct stat before, after;

	assert_int_equal(write_output(path, false, "first"), 0);
	assert_content(path, "first");
	assert_int_equal(write_output(path, false, "second"), -EEXIST);
	assert_content(path, "first");
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(write_output(path, true, "third"), 0);
	assert_content(path, "third");
	assert_int_equal(stat(path, &after), 0);
	assert_int_not_equal(before.st_ino, after.st_ino); /* replaced, not overwritten */
	assert_int_equal(write_output(in_folder("new"), true, ""), 0);
	assert_content(in_folder("new"), "");
	assert_int_equal(count_names(), 2);
}

static void test_output_tmpfile(void **state)
{
	check_life_of_an_output();
}

static void test_output_through_proc(void **state)
{
	lacks_empty_path = true;
	check_life_of_an_output();
}

static void test_output_named(void **state)
{
	lacks_tmpfile = true;
	check_life_of_an_output();
}

static void test_output_named_plain_rename(void **state)
{
	lacks_tmpfile = true;
	lacks_noreplace = true;
	check_life_of_an_output();
}

/* The name is taken between open and commit: the other's file stays. */
static void test_output_overtaken(void **state)
{
	const char *path = in_folder("out");

	for (int way = 0; way < 3; way++) {
		struct fs_output output;

		lacks_tmpfile = way > 0;
		lacks_noreplace = way > 1;
		assert_int_equal(fs_output_open(path, false, &output), 0);
		write_file(path, "theirs");
		assert_int_equal(fs_output_commit(&output, "ours", 4), -EEXIST);
		assert_content(path, "theirs");
		assert_int_equal(count_names(), 1);
		assert_int_equal(unlink(path), 0);
	}
}

static void test_output_abandon(void **state)
{
	const char *path = in_folder("out");

	write_file(path, "old");
	for (int way = 0; way < 2; way++) {
		struct fs_output output;

		lacks_tmpfile = way > 0;
		assert_int_equal(fs_output_open(path, true, &output), 0);
		assert_content(path, "old");
		fs_output_abandon(&output);
		fs_output_abandon(&output); /* harmless */
		assert_int_equal(fs_output_open(in_folder("new"), false, &output), 0);
		fs_output_abandon(&output);
		assert_content(path, "old");
		assert_int_equal(count_names(), 1);
	}
}

static void check_refused(const char *path, bool force, int want)
{
	struct fs_output output, before;
	int err;

	memset(&output, 0x5a, sizeof(output));
	before = output;
	err = fs_output_open(path, force, &output);
	if (err != want)
		fail_msg("'%s': %d instead of %d", path, err, want);
	assert_memory_equal(&output, &before, sizeof(output));
}

static void test_output_refusals(void **state)
{
	char long_name[300];

	memset(long_name, 'n', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = '\0';
	write_file(in_folder("file"), "x");
	check_refused("", false, -ENOENT);
	check_refused(folder, false, -EISDIR);
	check_refused(folder, true, -EISDIR);
	check_refused(in_folder("new/"), true, -EISDIR);
	check_refused(in_folder("none/out"), false, -ENOENT);
	check_refused(in_folder("none/out"), true, -ENOENT);
	check_refused(in_folder("file/out"), true, -ENOTDIR);
	check_refused(in_folder("file"), false, -EEXIST);
	check_refused(in_folder(long_name), false, -ENAMETOOLONG);
	lacks_tmpfile = true;
	check_refused(in_folder("none/out"), false, -ENOENT);
	assert_int_equal(count_names(), 1);
}

/* No file can be made there, with or without a name; which error it is depends on the kernel. */
static void test_output_in_proc(void **state)
{
	struct fs_output output;

	assert_true(fs_output_open("/proc/bpfprof-out", false, &output) < 0);
	assert_true(fs_output_open("/proc/bpfprof-out", true, &output) < 0);
}

static void test_output_longest_name(void **state)
{
	char name[NAME_MAX + 1];

	memset(name, 'n', NAME_MAX);
	name[NAME_MAX] = '\0';
	lacks_tmpfile = true;
	assert_int_equal(write_output(in_folder(name), false, "x"), 0);
	lacks_tmpfile = false;
	assert_int_equal(write_output(in_folder(name), true, "y"), 0);
	assert_content(in_folder(name), "y");
}

/* A link is replaced itself; what it points to is not ours to touch. */
static void test_output_symlinks(void **state)
{
	const char *link = in_folder("link"), *target = in_folder("target");
	struct stat st;

	assert_int_equal(symlink("target", link), 0);
	check_refused(link, false, -EEXIST); /* points nowhere */
	write_file(target, "precious");
	check_refused(link, false, -EEXIST);
	assert_int_equal(write_output(link, true, "ours"), 0);
	assert_content(target, "precious");
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_content(link, "ours");
}

static void test_output_mode(void **state)
{
	mode_t old = umask(027);
	struct stat st;

	for (int way = 0; way < 2; way++) {
		lacks_tmpfile = way > 0;
		assert_int_equal(write_output(in_folder("out"), true, "x"), 0);
		assert_int_equal(stat(in_folder("out"), &st), 0);
		assert_int_equal(st.st_mode & 07777, 0640);
	}
	umask(old);
}

static void check_owner(const char *uid, const char *gid, uid_t want_uid, gid_t want_gid)
{
	struct stat st;

	setenv("SUDO_UID", uid, 1);
	setenv("SUDO_GID", gid, 1);
	assert_int_equal(write_output(in_folder("out"), true, "x"), 0);
	assert_int_equal(stat(in_folder("out"), &st), 0);
	assert_int_equal(st.st_uid, want_uid);
	assert_int_equal(st.st_gid, want_gid);
}

static void test_output_owner_under_sudo(void **state)
{
	if (geteuid() == 0)
		check_owner("12345", "54321", 12345, 54321);
	else
		check_owner("12345", "54321", geteuid(), getegid());
	check_owner("x", "54321", geteuid(), getegid());
	check_owner("12345", "", geteuid(), getegid());
	check_owner("4294967295", "0", geteuid(), getegid());
	check_owner("99999999999", "0", geteuid(), getegid());
}

static void *fifo_reader(void *arg)
{
	struct buf *content = arg;

	return (void *)(intptr_t)fs_read_file(in_folder("fifo"), content);
}

static void test_output_fifo(void **state)
{
	const char *path = in_folder("fifo");
	struct fs_output output;
	struct buf content;
	pthread_t thread;
	void *err;

	assert_int_equal(mkfifo(path, 0600), 0);
	buf_init(&content, BUF_NO_MAX);
	assert_int_equal(pthread_create(&thread, NULL, fifo_reader, &content), 0);
	assert_int_equal(fs_output_open(path, false, &output), 0);
	assert_true(output.is_direct);
	assert_int_equal(fs_output_commit(&output, "through", 7), 0);
	assert_int_equal(pthread_join(thread, &err), 0);
	assert_null(err);
	assert_string_equal(buf_cstr(&content), "through");
	assert_int_equal(count_names(), 1);
	buf_deinit(&content);
}

static void test_output_devices(void **state)
{
	struct fs_output output;
	struct stat st;

	for (int force = 0; force < 2; force++) {
		assert_int_equal(fs_output_open("/dev/null", force, &output), 0);
		assert_true(output.is_direct);
		assert_int_equal(fs_output_commit(&output, "x", 1), 0);
		assert_int_equal(stat("/dev/null", &st), 0);
		assert_true(S_ISCHR(st.st_mode));
	}
	assert_int_equal(fs_output_open("/dev/full", false, &output), 0);
	assert_int_equal(fs_output_commit(&output, "x", 1), -ENOSPC);
	assert_int_equal(output.fd, -1);
}

/*
 * All names of standard output, with it redirected to a regular file: appended where the file
 * stands, standard output itself stays open, and /dev/stdout stays what it is.
 */
static void test_output_stdout(void **state)
{
	static const char *const names[] = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
	int saved = dup(STDOUT_FILENO);
	int errs[4], alive;
	int file = open(in_folder("redirected"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	assert_true(file >= 0 && saved >= 0);
	fflush(stdout);
	dup2(file, STDOUT_FILENO);
	for (int i = 0; i < 4; i++) {
		struct fs_output output;

		errs[i] = fs_output_open(names[i], i % 2, &output);
		if (!errs[i])
			errs[i] = fs_output_commit(&output, "line\n", 5);
	}
	alive = fcntl(STDOUT_FILENO, F_GETFD);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(file);
	for (int i = 0; i < 4; i++)
		assert_int_equal(errs[i], 0);
	assert_true(alive >= 0);
	assert_content(in_folder("redirected"), "line\nline\nline\nline\n");
	check_refused("/dev/fd/999999", false, -EBADF);
}

/* A full disk, seen by the write: the old file stays, nothing else is left. */
static void test_output_no_space(void **state)
{
	const char *path = in_folder("out");
	struct fs_output output;
	int full;

	write_file(path, "old");
	for (int way = 0; way < 2; way++) {
		lacks_tmpfile = way > 0;
		assert_int_equal(fs_output_open(path, true, &output), 0);
		full = open("/dev/full", O_WRONLY | O_CLOEXEC);
		assert_true(dup2(full, output.fd) >= 0);
		close(full);
		assert_int_equal(fs_output_commit(&output, "new", 3), -ENOSPC);
		assert_content(path, "old");
		assert_int_equal(count_names(), 1);
	}
}

#define FS_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FS_TEST(test_read_proc),	   FS_TEST(test_read_appends_up_to_max),
		FS_TEST(test_read_errors),	   FS_TEST(test_read_line),
		FS_TEST(test_write_all_short),	   FS_TEST(test_write_all_errors),
		FS_TEST(test_output_tmpfile),	   FS_TEST(test_output_through_proc),
		FS_TEST(test_output_named),	   FS_TEST(test_output_named_plain_rename),
		FS_TEST(test_output_overtaken),	   FS_TEST(test_output_abandon),
		FS_TEST(test_output_refusals),	   FS_TEST(test_output_in_proc),
		FS_TEST(test_output_longest_name), FS_TEST(test_output_symlinks),
		FS_TEST(test_output_mode),	   FS_TEST(test_output_owner_under_sudo),
		FS_TEST(test_output_fifo),	   FS_TEST(test_output_devices),
		FS_TEST(test_output_stdout),	   FS_TEST(test_output_no_space),
	};

	return cmocka_run_group_tests_name("base/fs", tests, NULL, NULL);
}
