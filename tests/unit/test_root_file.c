/* SPDX-License-Identifier: Apache-2.0 */
/* Opening files below a root that is not ours: with openat2(), and where the kernel or a filter has
 * none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf/root_file.h"

/* Below the root; what is not a folder points to the third column, or is a FIFO. */
static const struct {
	char kind; /* d folder, f file, p FIFO, l symbolic link */
	const char *path, *target;
} tree[] = {
	{'d', "opt", NULL},
	{'d', "opt/app", NULL},
	{'f', "opt/app/file", NULL},
	{'p', "opt/fifo", NULL},
	{'l', "opt/link", "app/file"},
	{'l', "linked", "/opt/app"},
	{'l', "climbing", "../../../../opt/app/file"},
	{'l', "ring", "ring"},
	{'l', "outside", "/etc/passwd"},
	{'l', "magic", "/proc/self/exe"},
};

enum { TREE_CNT = sizeof(tree) / sizeof(*tree) };

/* What each path gives; 0 for a descriptor. */
struct expectation {
	const char *path;
	int result;
};

static const struct expectation everywhere[] = {
	{"/opt/app/file", 0},	{"opt//app/file", 0}, {"./opt/./app/file", 0},
	{"/opt/fifo", -EINVAL}, {"/", -EINVAL},
};

static const struct expectation with_openat2[] = {
	{"/opt/link", 0},    {"/linked/file", 0},
	{"/climbing", 0},    {"/opt/../../opt/app/file", 0},
	{"/ring", -ELOOP},   {"/outside", -ENOENT},
	{"/magic", -ENOENT},
};

static const struct expectation without_openat2[] = {
	{"/opt/link", -EINVAL}, {"/linked/file", -ENOTDIR},
	{"/climbing", -EINVAL}, {"/opt/../../opt/app/file", -EXDEV},
	{"/ring", -EINVAL},	{"/outside", -EINVAL},
	{"/magic", -EINVAL},
};

static const struct expectation nofollow[] = {
	{"/opt/app/file", 0},	{"/linked/file", 0},   {"/opt/link", -EINVAL},
	{"/climbing", -EINVAL}, {"/outside", -EINVAL}, {"/opt/fifo", -EINVAL},
};

struct fixture {
	char folder[32];
	int fd;
};

static int setup(void **state)
{
	struct fixture *fix = calloc(1, sizeof(*fix));

	assert_non_null(fix);
	snprintf(fix->folder, sizeof(fix->folder), "/tmp/test_root_file.XXXXXX");
	assert_non_null(mkdtemp(fix->folder));
	fix->fd = open(fix->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(fix->fd >= 0);
	for (size_t i = 0; i < TREE_CNT; i++) {
		int err = 0;

		switch (tree[i].kind) {
		case 'd':
			err = mkdirat(fix->fd, tree[i].path, 0700);
			break;
		case 'l':
			err = symlinkat(tree[i].target, fix->fd, tree[i].path);
			break;
		default:
			err = mknodat(fix->fd, tree[i].path,
				      (tree[i].kind == 'f' ? S_IFREG : S_IFIFO) | 0600, 0);
		}
		assert_int_equal(err, 0);
	}
	*state = fix;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fix = *state;

	for (size_t i = TREE_CNT; i-- > 0;)
		unlinkat(fix->fd, tree[i].path, tree[i].kind == 'd' ? AT_REMOVEDIR : 0);
	close(fix->fd);
	assert_int_equal(rmdir(fix->folder), 0);
	free(fix);
	return 0;
}

/* How many of @wanted do not come true; they are told. A FIFO that is opened ends it by a signal.
 */
static int failure_cnt(int (*open_fn)(int root_fd, const char *path), int root_fd,
		       const struct expectation *wanted, size_t cnt)
{
	int failures = 0;

	alarm(20);
	for (size_t i = 0; i < cnt; i++) {
		int fd = open_fn(root_fd, wanted[i].path);

		if ((fd < 0 ? fd : 0) != wanted[i].result) {
			fprintf(stderr, "%s: %d\n", wanted[i].path, fd);
			failures++;
		}
		if (fd >= 0 && !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
			failures++;
		if (fd >= 0)
			close(fd);
	}
	alarm(0);
	return failures;
}

#define FAILURES_OF(open_fn, root_fd, list) \
	failure_cnt(open_fn, root_fd, list, sizeof(list) / sizeof(*(list)))
#define FAILURES(root_fd, list) FAILURES_OF(root_file_open, root_fd, list)

static void test_with_openat2(void **state)
{
	struct fixture *fix = *state;

	assert_int_equal(FAILURES(fix->fd, everywhere), 0);
	assert_int_equal(FAILURES(fix->fd, with_openat2), 0);
	assert_int_equal(FAILURES_OF(root_file_open_nofollow, fix->fd, nofollow), 0);
	assert_int_equal(root_file_open(-1, "/opt/app/file"), -EBADF);
}

/* Have the kernel answer openat2() with @error, in this process from now on. */
static void forbid_openat2(unsigned int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = {.len = sizeof(code) / sizeof(*code), .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &prog))
		_exit(100);
}

static void test_without_openat2(void **state)
{
	static const unsigned int errors[] = {ENOSYS, EPERM};
	struct fixture *fix = *state;

	for (size_t i = 0; i < 2; i++) {
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (!pid) {
			forbid_openat2(errors[i]);
			_exit(FAILURES(fix->fd, everywhere) + FAILURES(fix->fd, without_openat2));
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_with_openat2, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_openat2, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
