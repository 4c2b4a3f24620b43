/* SPDX-License-Identifier: Apache-2.0 */
/* Tables kept on disk: what is read back equals what was compiled, and nothing else is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hmap.h"
#include "elf/elf_file.h"
#include "proc/module.h"
#include "scratch.h"
#include "table_equal.h"
#include "unwind/table_cache.h"
#include "unwind/table_file.h"

enum {
	NOBODY = 65534,
	DAY_S = 24 * 60 * 60,
	WRITERS = 4,
	WRITER_TURNS = 30,
};

/* Other users and a full disk, played by the calls defined below. */
static bool is_other_user;
static bool disk_is_full;

uid_t geteuid(void)
{
	return (uid_t)syscall(SYS_geteuid) + is_other_user;
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	if (disk_is_full) {
		errno = ENOSPC;
		return -1;
	}
	return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, 0);
}

/* A folder for the cache, and an executable of ours in it: a copy of libc. */
struct fixture {
	char base[32];
	char rows[64]; /* where the files come to be */
	char exe[64];
	int exe_fd;
	uint8_t id[BUILD_ID_MAX];
	size_t id_len;
};

static struct fixture fix;

/* The file that @symbol of this process is mapped from. */
static void path_of(uintptr_t symbol, char out[static PATH_MAX])
{
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	char line[PATH_MAX + 128];
	unsigned long start, end;
	int at;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &start, &end, &at) == 2 &&
		    symbol >= start && symbol < end) {
			line[strcspn(line, "\n")] = '\0';
			snprintf(out, PATH_MAX, "%s", line + at);
			return;
		}
	}
	fail_msg("nothing is mapped at %lx", (unsigned long)symbol);
}

static int open_libc(void)
{
	char path[PATH_MAX];
	int fd;

	path_of((uintptr_t)&fgets, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void copy_file(int from_fd, const char *to)
{
	_cleanup_close_ int to_fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	char chunk[65536];
	ssize_t got;

	assert_true(to_fd >= 0);
	while ((got = read(from_fd, chunk, sizeof(chunk))) > 0)
		assert_int_equal(write(to_fd, chunk, (size_t)got), got);
	assert_int_equal(got, 0);
}

static int setup(void **state)
{
	_cleanup_close_ int libc_fd = open_libc();

	is_other_user = disk_is_full = false;
	snprintf(fix.base, sizeof(fix.base), "/tmp/bpfprof-cache-XXXXXX");
	assert_non_null(mkdtemp(fix.base));
	snprintf(fix.rows, sizeof(fix.rows), "%s/bpfprof/rows", fix.base);
	snprintf(fix.exe, sizeof(fix.exe), "%s/exe", fix.base);
	copy_file(libc_fd, fix.exe);
	fix.exe_fd = open(fix.exe, O_RDONLY | O_CLOEXEC);
	assert_true(fix.exe_fd >= 0);
	fix.id_len = elf_build_id_fd(fix.exe_fd, fix.id, sizeof(fix.id));
	assert_true(fix.id_len >= TABLE_CACHE_ID_MIN);
	return 0;
}

static int teardown(void **state)
{
	close(fix.exe_fd);
	return remove_tree(fix.base);
}

static struct cache_dir *open_cache(void)
{
	struct cache_dir *cache = table_cache_open(fix.base, TABLE_CACHE_BYTES);

	assert_non_null(cache);
	return cache;
}

/* The path of the file for @id; good until the next call. */
static const char *kept_path(const uint8_t *id, size_t len)
{
	static char path[sizeof(fix.rows) + 2 * BUILD_ID_MAX + 8];
	int at = snprintf(path, sizeof(path), "%s/", fix.rows);

	for (size_t i = 0; i < len; i++)
		at += snprintf(path + at, sizeof(path) - (size_t)at, "%02x", id[i]);
	snprintf(path + at, sizeof(path) - (size_t)at, ".rows");
	return path;
}

static const char *kept(void)
{
	return kept_path(fix.id, fix.id_len);
}

static size_t files_kept(uint64_t *bytes_out)
{
	DIR *dir = opendir(fix.rows);
	struct dirent *entry;
	size_t cnt = 0;

	*bytes_out = 0;
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		struct stat st;

		assert_int_equal(fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW), 0);
		if (S_ISDIR(st.st_mode))
			continue;
		*bytes_out += (uint64_t)st.st_size;
		cnt++;
	}
	closedir(dir);
	return cnt;
}

/* Get @fd's table under @id: the right one, and from the folder or not. */
static void check_get_id(struct cache_dir *cache, int fd, const uint8_t *id, size_t len,
			 bool want_read_back)
{
	struct unwind_table *want = unwind_table_open(fd);
	struct unwind_table *got = table_cache_get(cache, fd, id, len);

	assert_non_null(want);
	assert_non_null(got);
	assert_tables_equal(want, got);
	assert_int_equal(got->image != NULL, want_read_back);
	unwind_table_free(want);
	unwind_table_free(got);
}

static void check_get(struct cache_dir *cache, bool want_read_back)
{
	check_get_id(cache, fix.exe_fd, fix.id, fix.id_len, want_read_back);
}

static void test_round_trip(void **state)
{
	static const uint8_t dynamic_id[] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct cache_dir *cache = open_cache();
	_cleanup_close_ int dynamic_fd = -1;
	char path[PATH_MAX];
	struct stat st;

	path_of(getauxval(AT_BASE), path);
	dynamic_fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(dynamic_fd >= 0);
	check_get(cache, false);
	check_get_id(cache, dynamic_fd, dynamic_id, sizeof(dynamic_id), false);
	check_get(cache, true);
	check_get_id(cache, dynamic_fd, dynamic_id, sizeof(dynamic_id), true);
	cache_dir_close(cache);

	cache = open_cache();
	check_get(cache, true);
	cache_dir_close(cache);
	assert_int_equal(stat(fix.rows, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(kept(), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void put_file(const char *path, const void *data, size_t len, mode_t mode)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	assert_int_equal(fchmod(fd, mode), 0);
}

static void *read_file(const char *path, size_t *len_out)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *data;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	*len_out = (size_t)st.st_size;
	data = malloc(*len_out);
	assert_non_null(data);
	assert_int_equal(read(fd, data, *len_out), st.st_size);
	return data;
}

/* Bytes that are damaged at random places, or cut short: compiled anew, and kept whole again. */
static void test_random_damage(void **state)
{
	struct cache_dir *cache = open_cache();
	_cleanup_free_ uint8_t *good = NULL;
	uint64_t seed = 1;
	size_t len;

	check_get(cache, false);
	good = read_file(kept(), &len);
	for (int turn = 0; turn < 40; turn++) {
		uint8_t mask;
		size_t at;

		seed = hash_mix(seed, (uint64_t)turn + 1);
		at = turn % 4 ? seed % len : seed % sizeof(struct table_header);
		mask = (uint8_t)(seed >> 32 | 1);
		good[at] ^= mask;
		assert_int_equal(unlink(kept()), 0);
		put_file(kept(), good, turn % 5 ? len : at, 0600);
		good[at] ^= mask;
		check_get(cache, false);
		check_get(cache, true);
	}
	cache_dir_close(cache);
}

/* The same build-id does not make it the same file. */
static void test_other_source(void **state)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 12345}};
	struct cache_dir *cache = open_cache();

	check_get(cache, false);
	check_get(cache, true);
	assert_int_equal(futimens(fix.exe_fd, times), 0);
	check_get(cache, false);
	check_get(cache, true);
	times[1].tv_nsec = 1;
	assert_int_equal(futimens(fix.exe_fd, times), 0);
	check_get(cache, false);
	assert_int_equal(unlink(kept()), 0);
	assert_int_equal(fchmod(fix.exe_fd, 0757), 0);
	check_get(cache, false);
	assert_int_equal(access(kept(), F_OK), -1);
	cache_dir_close(cache);
}

static void test_not_kept(void **state)
{
	_cleanup_close_ int text_fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	struct cache_dir *cache = open_cache();
	uint8_t id[BUILD_ID_MAX + 1] = {0};
	uint64_t bytes;

	check_get_id(cache, fix.exe_fd, NULL, 0, false);
	check_get_id(cache, fix.exe_fd, id, TABLE_CACHE_ID_MIN - 1, false);
	check_get_id(cache, fix.exe_fd, id, sizeof(id), false);
	errno = 0;
	assert_null(table_cache_get(cache, text_fd, fix.id, fix.id_len));
	assert_int_equal(errno, EBADMSG);
	assert_int_equal(files_kept(&bytes), 0);
	check_get_id(NULL, fix.exe_fd, fix.id, fix.id_len, false);
	cache_dir_close(cache);
	cache_dir_close(NULL);
}

static void assert_no_cache(void)
{
	assert_null(table_cache_open(fix.base, TABLE_CACHE_BYTES));
}

static void test_unsafe_folder(void **state)
{
	char path[PATH_MAX], elsewhere[PATH_MAX];

	cache_dir_close(open_cache());
	is_other_user = true;
	assert_no_cache();
	is_other_user = false;
	for (mode_t bit = 02; bit <= 020; bit *= 8) {
		assert_int_equal(chmod(fix.rows, 0700 | bit), 0);
		assert_no_cache();
	}
	assert_int_equal(chmod(fix.rows, 0755), 0);
	snprintf(path, sizeof(path), "%s/bpfprof", fix.base);
	assert_int_equal(chmod(path, 0777), 0);
	assert_no_cache();
	assert_int_equal(chmod(path, 0700), 0);
	cache_dir_close(open_cache());

	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", fix.base);
	assert_int_equal(rename(fix.rows, elsewhere), 0);
	assert_int_equal(symlink(elsewhere, fix.rows), 0);
	assert_no_cache();
	assert_int_equal(unlink(fix.rows), 0);
	put_file(fix.rows, "", 0, 0600);
	assert_no_cache();
}

/* What is under the name, but is not a file that we alone can have written. */
static void test_unsafe_files(void **state)
{
	struct cache_dir *cache = open_cache();
	char elsewhere[PATH_MAX];
	struct stat st;

	check_get(cache, false);
	for (mode_t bit = 02; bit <= 020; bit *= 8) {
		assert_int_equal(chmod(kept(), 0600 | bit), 0);
		check_get(cache, false);
		check_get(cache, true);
	}
	is_other_user = true;
	check_get(cache, false);
	is_other_user = false;
	check_get(cache, true);

	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", fix.base);
	assert_int_equal(rename(kept(), elsewhere), 0);
	assert_int_equal(symlink(elsewhere, kept()), 0);
	check_get(cache, false);
	assert_int_equal(lstat(kept(), &st), 0);
	assert_true(S_ISREG(st.st_mode));

	assert_int_equal(unlink(kept()), 0);
	assert_int_equal(mkfifo(kept(), 0600), 0);
	check_get(cache, false);
	check_get(cache, true);
	cache_dir_close(cache);
}

/* A full disk ends the writing, not the reading, and leaves nothing behind. */
static void test_full_disk(void **state)
{
	static const uint8_t other_id[20] = {1};
	struct cache_dir *cache = open_cache();
	uint64_t bytes;

	check_get(cache, false);
	disk_is_full = true;
	check_get_id(cache, fix.exe_fd, other_id, sizeof(other_id), false);
	disk_is_full = false;
	assert_int_equal(files_kept(&bytes), 1);
	check_get_id(cache, fix.exe_fd, other_id, sizeof(other_id), false);
	assert_int_equal(files_kept(&bytes), 1);
	check_get(cache, true);
	cache_dir_close(cache);
}

static void set_age(const char *path, time_t age_s)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - age_s}};

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Room for four: the fifth takes the place of those that were not used for longest. */
static void test_bound(void **state)
{
	uint8_t ids[5][20] = {{1}, {2}, {3}, {4}, {5}};
	struct cache_dir *cache = open_cache();
	uint64_t bytes, max_bytes;
	struct stat st;

	check_get(cache, false);
	assert_int_equal(files_kept(&bytes), 1);
	assert_int_equal(unlink(kept()), 0);
	cache_dir_close(cache);
	max_bytes = (bytes + 4096) * 4;

	cache = table_cache_open(fix.base, max_bytes);
	for (int i = 0; i < 4; i++) {
		check_get_id(cache, fix.exe_fd, ids[i], 20, false);
		set_age(kept_path(ids[i], 20), (10 - i) * DAY_S);
	}
	assert_int_equal(files_kept(&bytes), 4);
	check_get_id(cache, fix.exe_fd, ids[0], 20, true);
	assert_int_equal(stat(kept_path(ids[0], 20), &st), 0);
	assert_true(time(NULL) - st.st_mtime < DAY_S);

	check_get_id(cache, fix.exe_fd, ids[4], 20, false);
	files_kept(&bytes);
	assert_true(bytes <= max_bytes);
	assert_int_equal(access(kept_path(ids[1], 20), F_OK), -1);
	assert_int_equal(access(kept_path(ids[0], 20), F_OK), 0);
	assert_int_equal(access(kept_path(ids[4], 20), F_OK), 0);
	cache_dir_close(cache);

	cache = table_cache_open(fix.base, 4096);
	check_get(cache, false);
	assert_int_equal(access(kept(), F_OK), -1);
	cache_dir_close(cache);
}

/* mtime is a note of the day, not of each use. */
static void test_use_is_noted_once_a_day(void **state)
{
	struct cache_dir *cache = open_cache();
	struct stat st;

	check_get(cache, false);
	set_age(kept(), DAY_S / 2);
	check_get(cache, true);
	assert_int_equal(stat(kept(), &st), 0);
	assert_true(time(NULL) - st.st_mtime >= DAY_S / 2);
	cache_dir_close(cache);
}

/* In a process of its own, which has no cmocka: 0 when all tables were right. */
static int writer(const struct unwind_table *want, int nr)
{
	struct cache_dir *cache = table_cache_open(fix.base, TABLE_CACHE_BYTES);

	for (int i = 0; i < WRITER_TURNS; i++) {
		struct unwind_table *got = table_cache_get(cache, fix.exe_fd, fix.id, fix.id_len);
		bool is_right = got && got->rows.cnt == want->rows.cnt &&
				!memcmp(got->rows.items, want->rows.items,
					want->rows.cnt * sizeof(*want->rows.items));

		unwind_table_free(got);
		if (!is_right)
			return 1;
		if ((i + nr) % 3 == 0)
			unlink(kept());
	}
	cache_dir_close(cache);
	return 0;
}

static void test_concurrent_writers(void **state)
{
	struct unwind_table *want = unwind_table_open(fix.exe_fd);
	uint64_t bytes;

	assert_non_null(want);
	for (int i = 0; i < WRITERS; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid)
			_exit(writer(want, i));
	}
	for (int i = 0; i < WRITERS; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	unwind_table_free(want);
	assert_true(files_kept(&bytes) <= 1);
}

static bool is_folder(const char *parent, const char *child)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", parent, child);
	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* As an ordinary user: a bit for each place that is wrong. */
static int default_places(void)
{
	int wrong = 0;

	if (!getuid() && (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY)))
		return 64;
	setenv("HOME", fix.base, 1);
	setenv("XDG_CACHE_HOME", "relative", 1);
	cache_dir_close(table_cache_open(NULL, TABLE_CACHE_BYTES));
	wrong |= !is_folder(fix.base, ".cache/bpfprof/rows");
	setenv("XDG_CACHE_HOME", fix.base, 1);
	cache_dir_close(table_cache_open(NULL, TABLE_CACHE_BYTES));
	wrong |= !is_folder(fix.base, "bpfprof/rows") << 1;
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	wrong |= (table_cache_open(NULL, TABLE_CACHE_BYTES) != NULL) << 2;
	return wrong;
}

static void test_default_places(void **state)
{
	int status;
	pid_t pid;

	if (!getuid())
		assert_int_equal(chown(fix.base, NOBODY, NOBODY), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(default_places());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_round_trip),
		TEST(test_random_damage),
		TEST(test_other_source),
		TEST(test_not_kept),
		TEST(test_unsafe_folder),
		TEST(test_unsafe_files),
		TEST(test_full_disk),
		TEST(test_bound),
		TEST(test_use_is_noted_once_a_day),
		TEST(test_concurrent_writers),
		TEST(test_default_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
