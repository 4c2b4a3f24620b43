/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs in a folder where everybody may put something: what others have put there is not used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"

enum { OTHER = 65534 };

static char folder[32], path[64], victim[64];

static int setup(void **state)
{
	unsetenv("SUDO_UID");
	snprintf(folder, sizeof(folder), "/tmp/bpfprof-planted-XXXXXX");
	if (!mkdtemp(folder) || chmod(folder, 01777))
		return -1;
	snprintf(path, sizeof(path), "%s/x.folded", folder);
	snprintf(victim, sizeof(victim), "%s/victim", folder);
	return 0;
}

static int teardown(void **state)
{
	unlink(path);
	unlink(victim);
	return rmdir(folder);
}

/* What opening @path gives; a reader keeps a FIFO from holding us up. */
static int open_status(bool force)
{
	int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct fs_output out;
	int err = fs_output_open(path, force, &out);

	if (reader >= 0)
		close(reader);
	if (!err)
		fs_output_abandon(&out);
	return err;
}

static void give_away(const char *name)
{
	assert_int_equal(lchown(name, OTHER, OTHER), 0);
}

static void test_fifo(void **state)
{
	assert_int_equal(mkfifo(path, 0666), 0);
	assert_int_equal(open_status(false), 0);
	if (geteuid())
		skip();
	give_away(path);
	assert_int_equal(open_status(false), -EREMCHG);
	assert_int_equal(open_status(true), -EREMCHG);
	/* Where nobody else can put anything, somebody's FIFO is there on purpose. */
	assert_int_equal(chmod(folder, 0755), 0);
	assert_int_equal(open_status(false), 0);
}

static void test_fifo_of_the_sudo_user(void **state)
{
	if (geteuid())
		skip();
	assert_int_equal(mkfifo(path, 0666), 0);
	give_away(path);
	setenv("SUDO_UID", "65533", 1);
	assert_int_equal(open_status(false), -EREMCHG);
	setenv("SUDO_UID", "65534", 1);
	assert_int_equal(open_status(false), 0);
}

static void test_link_to_a_device(void **state)
{
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(open_status(false), 0);
	if (geteuid())
		skip();
	give_away(path);
	/* Or the kernel itself does not follow it (fs.protected_symlinks). */
	assert_true(open_status(false) == -EREMCHG || open_status(false) == -EACCES);
}

static void test_link_to_a_file(void **state)
{
	_cleanup_(buf_deinit) struct buf kept;
	struct fs_output out;
	struct stat st;
	int fd = open(victim, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, "precious", 8), 8);
	close(fd);
	assert_int_equal(symlink(victim, path), 0);
	if (!geteuid())
		give_away(path);
	assert_int_not_equal(fs_output_open(path, false, &out), 0);
	/* Replaced itself, if at all. */
	if (!fs_output_open(path, true, &out))
		assert_int_equal(fs_output_commit(&out, "profile", 7), 0);
	buf_init(&kept, BUF_NO_MAX);
	assert_int_equal(fs_read_file(victim, &kept), 0);
	assert_string_equal(buf_cstr(&kept), "precious");
	assert_int_equal(lstat(victim, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_fifo, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fifo_of_the_sudo_user, setup, teardown),
		cmocka_unit_test_setup_teardown(test_link_to_a_device, setup, teardown),
		cmocka_unit_test_setup_teardown(test_link_to_a_file, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
