/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files by build-id through the real libdebuginfod, whose "server" is a folder (file://): asked for
 * when they are missed and only then, taken when they are what was asked for and only then. The
 * images are made by the compiler and binutils of this machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "elf/debug_file.h"
#include "elf/debuginfod.h"
#include "elf/elf_file.h"
#include "scratch.h"

#define TOOL_PATH "/opt/app/tool.so"
#define PATIENCE_NS (20 * NSEC_PER_SEC)

enum { PATH_BYTES = 512, WISHES_MAX = 1000 };

static char work[32]; /* the work folder, made once */

/* A server with tool.so's files, an empty cache, and an image that is to be named. */
struct fixture {
	struct debuginfod *client;
	int fd;
	struct elf_file *elf;
	uint8_t build_id[64];
	size_t build_id_len;
	char hex[129];
};

#define RUN(...) RUN_IN(work, __VA_ARGS__)

static int make_images(void **state)
{
	snprintf(work, sizeof(work), "/tmp/test_debuginfod.XXXXXX");
	assert_non_null(mkdtemp(work));
	RUN("sh", "-c",
	    "printf 'static __attribute__((noinline)) int hidden(int x) { return x * VALUE; }\\n"
	    "int shown(int x) { return hidden(x) + 1; }\\n' >tool.c && "
	    "cc -O1 -g -shared -fPIC -Wl,--build-id=sha1 -DVALUE=3 -o tool.so tool.c && "
	    "cc -O1 -g -shared -fPIC -Wl,--build-id=sha1 -DVALUE=5 -o other.so tool.c && "
	    "objcopy --only-keep-debug tool.so tool.debug && "
	    "objcopy --only-keep-debug other.so other.debug && "
	    "objcopy --strip-all tool.so stripped && objcopy --strip-debug tool.so no_lines");
	return 0;
}

static int remove_images(void **state)
{
	return remove_tree(work);
}

static void open_image(struct fixture *fix, const char *name)
{
	char path[PATH_BYTES];

	elf_file_free(fix->elf);
	if (fix->fd >= 0)
		close(fix->fd);
	snprintf(path, sizeof(path), "%s/%s", work, name);
	fix->fd = open(path, O_RDONLY | O_CLOEXEC);
	fix->elf = elf_file_open(fix->fd);
	assert_non_null(fix->elf);
	fix->build_id_len = elf_build_id(fix->elf, fix->build_id, sizeof(fix->build_id));
	assert_true(fix->build_id_len > 0);
	hex_format(fix->build_id, fix->build_id_len, fix->hex);
}

/* Where @name of the image's build-id lies: at the server, in the cache. */
static void place(const struct fixture *fix, const char *folder, const char *name,
		  char out[static PATH_BYTES])
{
	snprintf(out, PATH_BYTES, "%s/%s/%s/%s", work, folder, fix->hex, name);
}

static void serve(const struct fixture *fix, const char *file, const char *name)
{
	char to[PATH_BYTES];

	place(fix, "server/buildid", name, to);
	RUN("install", "-D", file, to);
}

static int setup(void **state)
{
	struct fixture *fix = calloc(1, sizeof(*fix));
	char url[PATH_BYTES], cache[PATH_BYTES];

	assert_non_null(fix);
	fix->fd = -1;
	RUN("rm", "-rf", "server", "cache", "root");
	snprintf(url, sizeof(url), "file://%s/server", work);
	snprintf(cache, sizeof(cache), "%s/cache", work);
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	open_image(fix, "stripped");
	serve(fix, "tool.debug", "debuginfo");
	serve(fix, "tool.so", "executable");
	fix->client = debuginfod_new();
	assert_non_null(fix->client);
	log_set_level(LOG_QUIET);
	*state = fix;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fix = *state;

	log_set_level(LOG_NORMAL);
	debuginfod_stop(fix->client);
	elf_file_free(fix->elf);
	close(fix->fd);
	free(fix);
	return 0;
}

static struct debuginfod_wish wish_of(const struct fixture *fix)
{
	return (struct debuginfod_wish){
		.kind = DEBUGINFOD_DEBUG_FILE,
		.build_id = fix->build_id,
		.build_id_len = fix->build_id_len,
		.path = TOOL_PATH,
		.fd = -1,
		.root_fd = -1,
	};
}

/* Ask, and wait until it is decided. */
static void ask(struct fixture *fix, const struct debuginfod_wish *wish)
{
	assert_int_equal(debuginfod_ask(fix->client, wish), 0);
	assert_int_equal(debuginfod_wait(fix->client, clock_monotonic_ns() + PATIENCE_NS), 0);
}

static int open_answer(struct fixture *fix, enum debuginfod_kind kind)
{
	char *path = NULL;
	int fd = debuginfod_open(fix->client, kind, fix->build_id, fix->build_id_len, &path);

	assert_int_equal(fd >= 0, path != NULL);
	free(path);
	return fd;
}

/* The answer is a file with the image's build-id. */
static void check_answer(struct fixture *fix, enum debuginfod_kind kind)
{
	uint8_t build_id[64];
	int fd = open_answer(fix, kind);
	struct elf_file *elf = elf_file_open(fd);

	assert_non_null(elf);
	assert_int_equal(elf_build_id(elf, build_id, sizeof(build_id)), fix->build_id_len);
	assert_memory_equal(build_id, fix->build_id, fix->build_id_len);
	elf_file_free(elf);
	close(fd);
}

static bool is_cached(const struct fixture *fix, const char *name)
{
	char path[PATH_BYTES];

	place(fix, "cache", name, path);
	return !access(path, F_OK);
}

static int find(const struct fixture *fix, enum debug_want want, struct debug_file *out)
{
	const struct debug_query query = {
		.elf = fix->elf,
		.path = TOOL_PATH,
		.build_id = fix->build_id,
		.build_id_len = fix->build_id_len,
		.root_fd = -1,
		.debuginfod = fix->client,
	};

	return debug_file_find(&query, want, out);
}

static void test_configured(void **state)
{
	unsetenv("DEBUGINFOD_URLS");
	assert_false(debuginfod_is_configured());
	setenv("DEBUGINFOD_URLS", "", 1);
	assert_false(debuginfod_is_configured());
	setenv("DEBUGINFOD_URLS", "  ", 1);
	assert_false(debuginfod_is_configured());
	setenv("DEBUGINFOD_URLS", " http://127.0.0.1:9", 1);
	assert_true(debuginfod_is_configured());
}

static void test_symbols(void **state)
{
	struct fixture *fix = *state;
	struct debuginfod_wish wish = wish_of(fix);
	struct debug_file found = {0};
	char path[PATH_BYTES];

	wish.fd = fix->fd;
	assert_int_equal(find(fix, DEBUG_WANT_SYMBOLS, &found), -ENOENT);
	ask(fix, &wish);
	check_answer(fix, DEBUGINFOD_DEBUG_FILE);
	assert_int_equal(open_answer(fix, DEBUGINFOD_EXECUTABLE), -ENOENT);

	assert_int_equal(find(fix, DEBUG_WANT_SYMBOLS, &found), 0);
	assert_int_equal(found.kind, DEBUG_FULL);
	place(fix, "cache", "debuginfo", path);
	assert_string_equal(found.path, path);
	assert_false(found.is_in_root);
	debug_file_deinit(&found);
}

static void test_lines(void **state)
{
	struct fixture *fix = *state;
	struct debuginfod_wish wish;
	struct debug_file found = {0};

	open_image(fix, "no_lines");
	wish = wish_of(fix);
	ask(fix, &wish);
	assert_int_equal(find(fix, DEBUG_WANT_SYMBOLS, &found), -ENOENT);
	assert_int_equal(find(fix, DEBUG_WANT_LINES, &found), 0);
	assert_int_equal(found.kind, DEBUG_FULL);
	debug_file_deinit(&found);
}

static void test_executable(void **state)
{
	struct fixture *fix = *state;
	struct debuginfod_wish wish = wish_of(fix);

	wish.kind = DEBUGINFOD_EXECUTABLE;
	ask(fix, &wish);
	check_answer(fix, DEBUGINFOD_EXECUTABLE);
	assert_int_equal(open_answer(fix, DEBUGINFOD_DEBUG_FILE), -ENOENT);
}

/* Kept for the next one. */
static void test_cache(void **state)
{
	struct fixture *fix = *state;
	struct debuginfod_wish wish = wish_of(fix);

	ask(fix, &wish);
	RUN("rm", "-r", "server");
	debuginfod_stop(fix->client);
	fix->client = debuginfod_new();
	assert_non_null(fix->client);
	ask(fix, &wish);
	check_answer(fix, DEBUGINFOD_DEBUG_FILE);
}

static void test_not_stripped(void **state)
{
	struct fixture *fix = *state;
	struct debuginfod_wish wish;

	open_image(fix, "no_lines");
	wish = wish_of(fix);
	wish.fd = fix->fd;
	ask(fix, &wish);
	assert_int_equal(open_answer(fix, DEBUGINFOD_DEBUG_FILE), -ENOENT);
	assert_false(is_cached(fix, "debuginfo"));
}

static void test_on_this_machine(void **state)
{
	struct fixture *fix = *state;
	struct debuginfod_wish wish = wish_of(fix);
	char name[PATH_BYTES], root[PATH_BYTES];

	snprintf(root, sizeof(root), "%s/root", work);
	snprintf(name, sizeof(name), "root/usr/lib/debug/.build-id/%.2s/%.100s.debug", fix->hex,
		 fix->hex + 2);
	RUN("install", "-D", "tool.debug", name);
	wish.fd = fix->fd;
	wish.root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(wish.root_fd >= 0);
	ask(fix, &wish);
	close(wish.root_fd);
	assert_int_equal(open_answer(fix, DEBUGINFOD_DEBUG_FILE), -ENOENT);
	assert_false(is_cached(fix, "debuginfo"));
}

static void test_nowhere(void **state)
{
	struct fixture *fix = *state;
	struct debuginfod_wish wish;

	open_image(fix, "other.so");
	wish = wish_of(fix);
	ask(fix, &wish);
	assert_int_equal(open_answer(fix, DEBUGINFOD_DEBUG_FILE), -ENOENT);
	/* The library's note that there is none. */
	assert_true(is_cached(fix, "debuginfo"));
}

/* What is no answer neither is taken nor stays. */
static void check_refused(struct fixture *fix, const char *file)
{
	struct debuginfod_wish wish = wish_of(fix);

	serve(fix, file, "debuginfo");
	ask(fix, &wish);
	assert_int_equal(open_answer(fix, DEBUGINFOD_DEBUG_FILE), -ENOENT);
	assert_false(is_cached(fix, "debuginfo"));
}

static void test_other_build_id(void **state)
{
	check_refused(*state, "other.debug");
}

static void test_no_elf_file(void **state)
{
	check_refused(*state, "tool.c");
}

static void test_link_in_cache(void **state)
{
	struct fixture *fix = *state;
	struct debuginfod_wish wish = wish_of(fix);
	char path[PATH_BYTES], target[PATH_BYTES];

	place(fix, "cache", "debuginfo", path);
	snprintf(target, sizeof(target), "%s/tool.debug", work);
	RUN("install", "-D", "tool.c", path);
	RUN("ln", "-sf", target, path);
	ask(fix, &wish);
	assert_int_equal(open_answer(fix, DEBUGINFOD_DEBUG_FILE), -ENOENT);
	assert_false(access(target, F_OK));
}

/* It has the build-id, but its tables are gone. */
static void test_cut_short(void **state)
{
	struct fixture *fix = *state;
	struct debuginfod_wish wish = wish_of(fix);
	struct debug_file found = {0};

	RUN("cp", "tool.debug", "short.debug");
	RUN("truncate", "-s", "2048", "short.debug");
	serve(fix, "short.debug", "debuginfo");
	ask(fix, &wish);
	check_answer(fix, DEBUGINFOD_DEBUG_FILE);
	assert_int_equal(find(fix, DEBUG_WANT_SYMBOLS, &found), -ENOENT);
}

static void test_cancelled(void **state)
{
	struct fixture *fix = *state;
	struct debuginfod_wish wish = wish_of(fix);

	debuginfod_cancel(fix->client);
	ask(fix, &wish);
	assert_int_equal(open_answer(fix, DEBUGINFOD_DEBUG_FILE), -ENOENT);
	assert_false(is_cached(fix, "debuginfo"));
}

static void test_odd_build_ids(void **state)
{
	static const uint8_t bytes[DEBUGINFOD_ID_MAX_BYTES + 1] = {1};
	struct fixture *fix = *state;
	struct debuginfod_wish wish = wish_of(fix);

	wish.build_id = bytes;
	wish.build_id_len = 0;
	assert_int_equal(debuginfod_ask(fix->client, &wish), -EINVAL);
	wish.build_id_len = DEBUGINFOD_ID_MAX_BYTES + 1;
	assert_int_equal(debuginfod_ask(fix->client, &wish), -EINVAL);
	wish.build_id_len = DEBUGINFOD_ID_MAX_BYTES;
	ask(fix, &wish);
}

static void test_too_many(void **state)
{
	struct fixture *fix = *state;
	struct debuginfod_wish wish = wish_of(fix);
	uint8_t build_id[8] = {0};

	wish.build_id = build_id;
	wish.build_id_len = sizeof(build_id);
	for (uint32_t i = 0; i < WISHES_MAX; i++) {
		memcpy(build_id, &i, sizeof(i));
		assert_int_equal(debuginfod_ask(fix->client, &wish), 0);
		assert_int_equal(debuginfod_ask(fix->client, &wish), 0);
	}
	build_id[7] = 1;
	assert_int_equal(debuginfod_ask(fix->client, &wish), -ENOSPC);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_configured),	    TEST(test_symbols),	      TEST(test_lines),
		TEST(test_executable),	    TEST(test_cache),	      TEST(test_not_stripped),
		TEST(test_on_this_machine), TEST(test_nowhere),	      TEST(test_other_build_id),
		TEST(test_no_elf_file),	    TEST(test_link_in_cache), TEST(test_cut_short),
		TEST(test_cancelled),	    TEST(test_odd_build_ids), TEST(test_too_many),
	};

	if (!dlopen("libdebuginfod.so.1", RTLD_NOW)) {
		puts("ok 1 # SKIP libdebuginfod1 is not installed");
		return 0;
	}
	return cmocka_run_group_tests(tests, make_images, remove_images);
}
