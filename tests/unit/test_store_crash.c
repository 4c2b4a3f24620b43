/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a store holds after its writer was killed, its disk was full, its file was cut or changed:
 * every window that was acknowledged, whole, and nothing that was not stored; or an error.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/fs.h"
#include "profile_dump.h"
#include "store_fixture.h"

enum { KILLS = 25 };

static int set_up(void **state)
{
	static struct store_folder folder;

	store_folder_make(&folder);
	*state = &folder;
	return 0;
}

static int tear_down(void **state)
{
	store_folder_remove(*state);
	return 0;
}

static void assert_sound(struct store *store)
{
	struct buf out;

	buf_init(&out, BUF_NO_MAX);
	if (store_fsck(store, &out))
		fail_msg("%s", buf_cstr(&out));
	buf_deinit(&out);
}

static void add_nr(struct store *store, uint64_t nr)
{
	struct profile prof;

	store_random_profile(&prof, nr);
	if (store_add_nr(store, &prof, nr))
		_exit(3);
	profile_deinit(&prof);
}

/* Store windows from @nr on, tell each through @fd, compact between them, until killed. */
static void write_until_killed(const struct store_folder *folder, uint64_t nr, int fd)
{
	static const struct store_limits limits = {.compact_after_ns = 120 * NSEC_PER_SEC};
	struct store *store;

	if (store_open(folder->path, STORE_WRITE, &store))
		_exit(2);
	for (;; nr++) {
		add_nr(store, nr);
		if (write(fd, &nr, sizeof(nr)) != sizeof(nr))
			_exit(4);
		store_maintain(store, &limits, STORE_NOON_NS + nr * STORE_WINDOW_NS, 0);
	}
}

/* One life of a writer, killed after some milliseconds; how many windows are there for sure. */
static uint64_t live_and_die(const struct store_folder *folder, uint64_t next, uint64_t *seed)
{
	uint64_t told = next;
	int pipes[2], status;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid)
		write_until_killed(folder, next, pipes[1]);
	close(pipes[1]);
	usleep(3000 + random_below(seed, 120000));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	while (read(pipes[0], &told, sizeof(told)) == sizeof(told))
		next = told + 1;
	close(pipes[0]);
	return next;
}

static void test_kill(void **state)
{
	struct store *store;
	struct profile sum, prof, got;
	uint64_t next = 0, seed = 4711;

	profile_init(&sum);
	for (int i = 0; i < KILLS; i++) {
		uint64_t before = next;
		struct store_origin origin = {.boot_id = "0f0f0f0f-0000-4000-8000-000000000001",
					      .instance = 7};

		next = live_and_die(*state, next, &seed);
		store = store_must_open(*state, STORE_WRITE);
		/* The last may be there without having been told. */
		origin.epoch = next;
		next += store_has_origin(store, &origin);
		for (uint64_t nr = before; nr < next; nr++) {
			store_random_profile(&prof, nr);
			assert_int_equal(profile_merge(&sum, &prof), 0);
			profile_deinit(&prof);
		}
		assert_sound(store);
		store_close(store);
	}
	assert_true(next > KILLS);
	store = store_must_open(*state, STORE_READ);
	assert_int_equal(store_read(store, &store_everything, &got, NULL, NULL), 0);
	store_forget_header(&got);
	store_forget_header(&sum);
	assert_same(&sum, &got);
	profile_deinit(&got);
	profile_deinit(&sum);
	store_close(store);
}

/* In a child, whose files may not grow beyond @max_bytes: how many windows it could store. */
static uint64_t fill(const struct store_folder *folder, rlim_t max_bytes)
{
	const struct rlimit limit = {.rlim_cur = max_bytes, .rlim_max = max_bytes};
	int pipes[2], status;
	uint64_t stored = 0;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		struct store *store = store_must_open(folder, STORE_WRITE);
		struct profile prof;
		int err = 0;

		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &limit);
		for (; !err && stored < 10000; stored += !err) {
			store_random_profile(&prof, stored);
			err = store_add_nr(store, &prof, stored);
			profile_deinit(&prof);
		}
		/* Once more: the store is as it was, and the failure the same. */
		random_profile(&prof, 1);
		if (err != -ENOSPC || store_add_nr(store, &prof, 20000) != -ENOSPC)
			_exit(1);
		_exit(write(pipes[1], &stored, sizeof(stored)) != sizeof(stored));
	}
	close(pipes[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(pipes[0], &stored, sizeof(stored)), sizeof(stored));
	close(pipes[0]);
	return stored;
}

static void test_disk_full(void **state)
{
	uint64_t stored = fill(*state, 300 << 10);
	struct store *store = store_must_open(*state, STORE_WRITE);
	struct store_coverage coverage;

	assert_int_equal(store_coverage(store, 0, UINT64_MAX, &coverage), 0);
	assert_true(stored > 3);
	assert_int_equal(coverage.window_cnt, stored);
	assert_sound(store);
	/* There is room again: the next ones come in, the gap has a tombstone. */
	assert_int_equal(store_add_tombstone(store, 1, 2, 1, 200, "ENOSPC"), 0);
	store_add_random(store, 20001, 20005, NULL);
	assert_sound(store);
	store_close(store);
}

/* Samples of window @nr, which is all that a store of the first windows can have of its time. */
static void check_window(struct store *store, uint64_t nr, int64_t total)
{
	const struct store_query query = {
		.from_ns = STORE_NOON_NS + nr * STORE_WINDOW_NS,
		.to_ns = STORE_NOON_NS + (nr + 1) * STORE_WINDOW_NS,
	};
	struct store_coverage coverage;
	struct profile got;

	if (store_read(store, &query, &got, NULL, &coverage))
		return;
	if (coverage.window_cnt && !coverage.damaged_cnt)
		assert_int_equal(profile_total(&got, 0), total);
	else
		assert_int_equal(got.sample_cnt, 0);
	profile_deinit(&got);
}

/* A copy of the store with a change; a reader, then a writer that goes on. */
static void check_broken(const char *bytes, size_t len, const int64_t *totals, uint64_t cnt)
{
	struct store_folder own;
	struct store *store = NULL;
	struct profile prof;
	struct buf out;
	int fd;

	store_folder_make(&own);
	fd = open(own.path, O_CREAT | O_WRONLY, 0600);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	close(fd);
	if (!store_open(own.path, STORE_READ, &store)) {
		for (uint64_t nr = 0; nr < cnt; nr++)
			check_window(store, nr, totals[nr]);
		buf_init(&out, BUF_NO_MAX);
		store_fsck(store, &out);
		buf_deinit(&out);
		store_close(store);
	}
	if (!store_open(own.path, STORE_WRITE, &store)) {
		random_profile(&prof, 1);
		store_add_nr(store, &prof, cnt);
		profile_deinit(&prof);
		store_close(store);
	}
	store_folder_remove(&own);
}

static void test_broken_files(void **state)
{
	struct store *store = store_must_open(*state, STORE_WRITE);
	const struct store_folder *folder = *state;
	enum { WINDOWS = 8 };
	int64_t totals[WINDOWS];
	uint64_t seed = 99;
	struct buf file;
	int quiet;

	for (uint64_t nr = 0; nr < WINDOWS; nr++) {
		struct profile one;

		profile_init(&one);
		store_add_random(store, nr, nr + 1, &one);
		totals[nr] = profile_total(&one, 0);
		profile_deinit(&one);
	}
	store_close(store);
	buf_init(&file, BUF_NO_MAX);
	assert_int_equal(fs_read_file(folder->path, &file), 0);
	/* The messages of hundreds of broken stores help nobody. */
	fflush(stderr);
	quiet = dup(STDERR_FILENO);
	assert_non_null(freopen("/dev/null", "w", stderr));
	for (int i = 0; i < 60; i++)
		check_broken(file.data, random_below(&seed, (uint32_t)file.len), totals, WINDOWS);
	for (int i = 0; i < 120; i++) {
		uint32_t at = random_below(&seed, (uint32_t)file.len);
		char old = file.data[at];

		file.data[at] ^= (char)(1 << random_below(&seed, 8));
		check_broken(file.data, file.len, totals, WINDOWS);
		file.data[at] = old;
	}
	fflush(stderr);
	dup2(quiet, STDERR_FILENO);
	close(quiet);
	buf_deinit(&file);
}

/* A file that is no store at all: it is set aside, and another program's is left alone. */
static void test_set_aside(void **state)
{
	const struct store_folder *folder = *state;
	struct store *store, *second;
	FILE *file = fopen(folder->path, "w");

	for (int i = 0; i < 1000; i++)
		fputs("This was a database once. ", file);
	fclose(file);
	assert_int_equal(store_open(folder->path, STORE_READ, &store), -EBADMSG);
	store = store_must_open(folder, STORE_WRITE);
	store_add_random(store, 0, 2, NULL);
	assert_sound(store);
	assert_int_equal(store_open(folder->path, STORE_WRITE, &second), -EBUSY);
	store_close(store);
	RUN_IN(folder->folder, "sh", "-c", "grep -q 'database once' store.db.damaged-*Z");
}

static void test_clock_set_back(void **state)
{
	struct store *store = store_must_open(*state, STORE_WRITE);
	struct profile sum, got;

	profile_init(&sum);
	store_add_random(store, 5000, 5010, &sum);
	store_add_random(store, 20, 30, &sum);
	store_close(store);
	store = store_must_open(*state, STORE_WRITE);
	store_add_random(store, 5010, 5020, &sum);
	assert_int_equal(store_read(store, &store_everything, &got, NULL, NULL), 0);
	store_forget_header(&got);
	store_forget_header(&sum);
	assert_same(&sum, &got);
	assert_sound(store);
	profile_deinit(&got);
	profile_deinit(&sum);
	store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_kill, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_disk_full, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_broken_files, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_set_aside, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_clock_set_back, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
