/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each call that SQLite makes of the system for a store fails, once or from then on: what was
 * acknowledged is in the store afterwards, whole; what was not can be stored again, and is then
 * there once.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/log.h"
#include "profile_dump.h"
#include "store_fixture.h"

enum { WINDOWS_BEFORE = 8, WINDOWS = 3, TRIES = 5, CALLS_MAX = 2000 };

/* The call that fails: the @nr-th from now on of this name, with @err; @lasts: those after it too.
 */
static struct {
	const char *name;
	long nr, seen;
	int err;
	bool lasts;
} fault;

static bool is_to_fail(const char *name)
{
	if (!fault.name || strcmp(fault.name, name))
		return false;
	fault.seen++;
	if (fault.lasts ? fault.seen < fault.nr : fault.seen != fault.nr)
		return false;
	errno = fault.err;
	return true;
}

/* What SQLite calls in the place of the C library's functions, see sqlite3_vfs.xSetSystemCall. */
static ssize_t pwrite_or_fail(int fd, const void *data, size_t len, off_t pos)
{
	return is_to_fail("pwrite64") ? -1 : pwrite(fd, data, len, pos);
}

static ssize_t pread_or_fail(int fd, void *data, size_t len, off_t pos)
{
	return is_to_fail("pread64") ? -1 : pread(fd, data, len, pos);
}

static int ftruncate_or_fail(int fd, off_t len)
{
	return is_to_fail("ftruncate") ? -1 : ftruncate(fd, len);
}

static int open_or_fail(const char *path, int flags, int mode)
{
	return is_to_fail("open") ? -1 : open(path, flags, mode);
}

/* Not among them: these are called instead of the C library's. What is written need not reach the
 * disk here. */
int fdatasync(int fd)
{
	(void)fd;
	return is_to_fail("sync") ? -1 : 0;
}

int fsync(int fd)
{
	return fdatasync(fd);
}

static int replace_calls(void **state)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	const struct {
		const char *name;
		sqlite3_syscall_ptr fn;
	} calls[] = {
		{"pwrite64", (sqlite3_syscall_ptr)pwrite_or_fail},
		{"pread64", (sqlite3_syscall_ptr)pread_or_fail},
		{"ftruncate", (sqlite3_syscall_ptr)ftruncate_or_fail},
		{"open", (sqlite3_syscall_ptr)open_or_fail},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		assert_int_equal(vfs->xSetSystemCall(vfs, calls[i].name, calls[i].fn), SQLITE_OK);
	log_set_level(LOG_QUIET);
	return 0;
}

static int store_nr(struct store *store, uint64_t nr)
{
	struct profile prof;
	int err;

	store_random_profile(&prof, nr);
	err = store_add_nr(store, &prof, nr);
	profile_deinit(&prof);
	return err;
}

/* Open, store, compact; which windows (a bit each) were acknowledged. In their order, so each is
 * tried until it is stored, or for good not. */
static unsigned write_windows(const struct store_folder *folder)
{
	static const struct store_limits limits = {.compact_after_ns = 60 * NSEC_PER_SEC};
	struct store *store;
	unsigned acked = 0;

	if (store_open(folder->path, STORE_WRITE, &store))
		return 0;
	for (unsigned i = 0, tries = 0; i < WINDOWS && tries < TRIES; tries++) {
		int err = store_nr(store, WINDOWS_BEFORE + i);

		if (err && err != -EEXIST)
			continue;
		acked |= 1U << i++;
		tries = 0;
	}
	store_maintain(store, &limits, STORE_NOON_NS + 3600 * NSEC_PER_SEC, NSEC_PER_SEC);
	store_close(store);
	return acked;
}

static void assert_whole(const struct store_folder *folder, const struct profile *want,
			 unsigned acked)
{
	struct store *store = store_must_open(folder, STORE_WRITE);
	struct profile got;
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	if (store_fsck(store, &out))
		fail_msg("%s %ld: %s", fault.name, fault.nr, buf_cstr(&out));
	buf_deinit(&out);
	for (unsigned i = 0; i < WINDOWS; i++) {
		int err = store_nr(store, WINDOWS_BEFORE + i);

		if (err != -EEXIST && (err || acked >> i & 1))
			fail_msg("%s %ld: window %u was%s acknowledged: %d", fault.name, fault.nr,
				 i, acked >> i & 1 ? "" : " not", err);
	}
	assert_int_equal(store_read(store, &store_everything, &got, NULL, NULL), 0);
	store_forget_header(&got);
	assert_same(want, &got);
	profile_deinit(&got);
	store_close(store);
}

/* Call @name fails with @err, for each of the times that it is called. */
static void fail_each(const char *name, int err, bool lasts)
{
	struct store_folder folder;
	struct profile want;
	struct store *store;
	long nr = 1, hit = 1;

	for (; hit; nr++) {
		unsigned acked;

		assert_true(nr < CALLS_MAX);
		store_folder_make(&folder);
		store = store_must_open(&folder, STORE_WRITE);
		profile_init(&want);
		store_add_random(store, 0, WINDOWS_BEFORE, &want);
		store_close(store);
		for (uint64_t i = WINDOWS_BEFORE; i < WINDOWS_BEFORE + WINDOWS; i++) {
			struct profile prof;

			store_random_profile(&prof, i);
			assert_int_equal(profile_merge(&want, &prof), 0);
			profile_deinit(&prof);
		}
		store_forget_header(&want);
		fault.name = name, fault.nr = nr, fault.err = err, fault.lasts = lasts;
		fault.seen = 0;
		acked = write_windows(&folder);
		hit = fault.seen >= nr;
		fault.name = NULL;
		assert_true(hit || acked == (1U << WINDOWS) - 1);
		assert_whole(&folder, &want, acked);
		profile_deinit(&want);
		store_folder_remove(&folder);
	}
	print_message("%s: %ld calls failed\n", name, nr - 2);
	assert_true(nr > 2);
}

static void test_write(void **state)
{
	(void)state;
	fail_each("pwrite64", EIO, false);
	fail_each("pwrite64", EROFS, true);
	fail_each("pwrite64", ENOSPC, true);
}

static void test_sync(void **state)
{
	(void)state;
	fail_each("sync", EIO, false);
	fail_each("sync", EIO, true);
}

static void test_read(void **state)
{
	(void)state;
	fail_each("pread64", EIO, false);
	fail_each("pread64", EIO, true);
}

static void test_truncate(void **state)
{
	(void)state;
	fail_each("ftruncate", EIO, false);
}

static void test_open(void **state)
{
	(void)state;
	fail_each("open", EROFS, false);
	fail_each("open", EMFILE, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write), cmocka_unit_test(test_sync),
		cmocka_unit_test(test_read),  cmocka_unit_test(test_truncate),
		cmocka_unit_test(test_open),
	};

	return cmocka_run_group_tests(tests, replace_calls, NULL);
}
