/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the file behind a mapping: the right one, none, another one, and what must not be opened.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "proc/module.h"

enum { FILE_BYTES = 8192 };

/* A folder with one file, and that file mapped. */
struct fixture {
	char folder[32];
	char path[64];
	struct module_identity identity;
	void *mapping;
};

static struct module_identity identity_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (struct module_identity){
		.ino = st.st_ino,
		.size_bytes = (uint64_t)st.st_size,
		.mtime_s = st.st_mtim.tv_sec,
		.mtime_ns = (uint32_t)st.st_mtim.tv_nsec,
		.dev = 12345, /* what the kernel side calls the device need not be what stat shows
			       */
	};
}

static void put_file(const char *path, char fill, size_t len)
{
	char bytes[FILE_BYTES];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_true(len <= sizeof(bytes));
	memset(bytes, fill, sizeof(bytes));
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}

static int setup(void **state)
{
	struct fixture *fix = calloc(1, sizeof(*fix));
	int fd;

	assert_non_null(fix);
	snprintf(fix->folder, sizeof(fix->folder), "/tmp/test_module.XXXXXX");
	assert_non_null(mkdtemp(fix->folder));
	snprintf(fix->path, sizeof(fix->path), "%s/lib.so", fix->folder);
	put_file(fix->path, 'a', FILE_BYTES);
	fix->identity = identity_of(fix->path);
	fd = open(fix->path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	fix->mapping = mmap(NULL, FILE_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(fix->mapping != MAP_FAILED);
	close(fd);
	*state = fix;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fix = *state;

	munmap(fix->mapping, FILE_BYTES);
	unlink(fix->path);
	rmdir(fix->folder);
	free(fix);
	return 0;
}

/* As its process has it mapped, and with only the path to go by. */
static struct module *open_mapped(const struct fixture *fix, const char *path)
{
	uint64_t start = (uint64_t)(uintptr_t)fix->mapping;

	return module_open(getpid(), start, start + FILE_BYTES, path, &fix->identity);
}

static struct module *open_path(const struct fixture *fix, const char *path)
{
	return module_open(getpid(), 0, 0, path, &fix->identity);
}

static void check_content(const struct module *module, char want)
{
	char byte = 0;

	assert_true(module->fd >= 0);
	assert_int_equal(module->absence, MODULE_PRESENT);
	assert_int_equal(pread(module->fd, &byte, 1, 0), 1);
	assert_int_equal(byte, want);
	assert_true(fcntl(module->fd, F_GETFD) & FD_CLOEXEC);
}

static void test_by_path(void **state)
{
	struct fixture *fix = *state;
	struct module *module = open_path(fix, fix->path);

	assert_non_null(module);
	assert_int_equal(module->kind, MODULE_FILE);
	assert_string_equal(module->path, fix->path);
	assert_true(module->is_verified);
	assert_int_equal(module->build_id_len, 0);
	assert_int_equal(module->identity.ino, fix->identity.ino);
	check_content(module, 'a');
	module_free(module);

	/* The process is gone: the path is what is left. */
	module = module_open(0, 0, 0, fix->path, &fix->identity);
	assert_non_null(module);
	check_content(module, 'a');
	module_free(module);
	module_free(NULL);
}

static void test_deleted_file(void **state)
{
	struct fixture *fix = *state;
	char path[96];
	struct module *module;

	unlink(fix->path);
	snprintf(path, sizeof(path), "%s (deleted)", fix->path);
	module = open_mapped(fix, path);
	assert_non_null(module);
	assert_string_equal(module->path, fix->path);
	if (access("/proc/self/map_files", X_OK) == 0 && geteuid() == 0)
		check_content(module, 'a');
	module_free(module);

	/* Its mapping is gone too. */
	module = open_path(fix, path);
	assert_non_null(module);
	assert_int_equal(module->fd, -1);
	assert_int_equal(module->absence, MODULE_NO_FILE);
	assert_false(module->is_verified);
	assert_string_equal(module->path, fix->path);
	module_free(module);
}

static void test_replaced_file(void **state)
{
	struct fixture *fix = *state;
	struct module *module;
	char other[64];

	snprintf(other, sizeof(other), "%s/new", fix->folder);
	put_file(other, 'b', FILE_BYTES);
	assert_int_equal(rename(other, fix->path), 0);
	module = open_path(fix, fix->path);
	assert_non_null(module);
	assert_int_equal(module->fd, -1);
	assert_int_equal(module->absence, MODULE_FILE_CHANGED);
	module_free(module);

	if (geteuid() == 0) { /* what is mapped is still the old one */
		module = open_mapped(fix, fix->path);
		assert_non_null(module);
		check_content(module, 'a');
		module_free(module);
	}
}

/* Same inode, other content: size or time tell. */
static void test_rewritten_file(void **state)
{
	struct fixture *fix = *state;
	struct timespec times[2] = {{.tv_sec = 1000000000, .tv_nsec = 5},
				    {.tv_sec = 1000000000, .tv_nsec = 5}};
	struct module *module;

	assert_int_equal(utimensat(AT_FDCWD, fix->path, times, 0), 0);
	module = open_mapped(fix, fix->path);
	assert_non_null(module);
	assert_int_equal(module->fd, -1);
	/* Only root may look through the mapping. */
	assert_int_equal(module->absence, geteuid() ? MODULE_NOT_PERMITTED : MODULE_FILE_CHANGED);
	module_free(module);

	fix->identity = identity_of(fix->path);
	fix->identity.size_bytes++;
	module = open_path(fix, fix->path);
	assert_non_null(module);
	assert_int_equal(module->absence, MODULE_FILE_CHANGED);
	module_free(module);
}

/* Somebody writes another version into the file that is open already. */
static void test_rewritten_while_open(void **state)
{
	struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
	struct fixture *fix = *state;
	struct module *module = open_path(fix, fix->path);

	assert_non_null(module);
	assert_false(module_is_rewritten(module));
	put_file(fix->path, 'b', FILE_BYTES);
	assert_int_equal(utimensat(AT_FDCWD, fix->path, times, 0), 0);
	assert_true(module_is_rewritten(module));
	/* Nothing was known of it, nothing can be said. */
	memset(&module->identity, 0, sizeof(module->identity));
	assert_false(module_is_rewritten(module));
	module_free(module);
}

/* Where there is a build-id, that alone tells: time and size change with `strip` and `touch`. */
static void test_build_id_stays(void **state)
{
	struct fixture *fix = *state;
	struct module *vdso = module_vdso();
	struct module *module;
	char image[64 * 1024];
	ssize_t len;
	int fd;

	assert_non_null(vdso);
	if (!vdso->build_id_len) {
		module_free(vdso);
		skip();
	}
	len = pread(vdso->fd, image, sizeof(image), 0);
	assert_true(len > 0);
	module_free(vdso);
	fd = open(fix->path, O_RDWR | O_TRUNC | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, image, (size_t)len, 0), len);
	fix->identity = identity_of(fix->path);
	module = open_path(fix, fix->path);
	assert_non_null(module);
	assert_true(module->build_id_len > 0);
	assert_int_equal(ftruncate(fd, len + 100), 0);
	assert_false(module_is_rewritten(module));
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_true(module_is_rewritten(module));
	module_free(module);
	close(fd);
}

static void test_partial_identity(void **state)
{
	struct fixture *fix = *state;
	struct module *module;

	/* overlayfs with xino: stat shows a layer number in the inode's top bits. */
	fix->identity.ino |= 1ULL << 62;
	module = open_path(fix, fix->path);
	assert_non_null(module);
	check_content(module, 'a');
	module_free(module);

	/* The kernel side could read nothing: better than no name, but it says so. */
	memset(&fix->identity, 0, sizeof(fix->identity));
	module = open_path(fix, fix->path);
	assert_non_null(module);
	check_content(module, 'a');
	assert_false(module->is_verified);
	module_free(module);
}

/* What must not be opened: it would hang, or do something. */
static void test_irregular_files(void **state)
{
	struct fixture *fix = *state;
	struct module *module;

	unlink(fix->path);
	assert_int_equal(mkfifo(fix->path, 0600), 0);
	fix->identity = identity_of(fix->path);
	module = open_path(fix, fix->path);
	assert_non_null(module);
	assert_int_equal(module->fd, -1);
	assert_int_equal(module->absence, MODULE_FILE_CHANGED);
	module_free(module);

	memset(&fix->identity, 0, sizeof(fix->identity));
	module = open_path(fix, "/dev/null");
	assert_non_null(module);
	assert_int_equal(module->fd, -1);
	module_free(module);
	module = open_path(fix, fix->folder);
	assert_non_null(module);
	assert_int_equal(module->fd, -1);
	module_free(module);
}

/* A process of a container: its root is kept, for what else lies there. Ours is not. */
static void test_other_root(void **state)
{
	struct fixture *fix = *state;
	struct module *module = open_path(fix, fix->path), *outside;
	struct stat st;
	int ready[2];
	char byte;
	pid_t pid;

	assert_non_null(module);
	check_content(module, 'a');
	assert_int_equal(module->root_fd, -1);
	module_free(module);
	if (geteuid() != 0)
		skip();

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (chroot(fix->folder) || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	module = module_open(pid, 0, 0, "/lib.so", &fix->identity);
	outside = module_open(pid, 0, 0, fix->path, &fix->identity); /* as the kernel side says */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_non_null(module);
	check_content(module, 'a');
	assert_true(module->root_fd >= 0);
	assert_true(fcntl(module->root_fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fstatat(module->root_fd, "lib.so", &st, 0), 0);
	assert_int_equal(st.st_ino, fix->identity.ino);
	assert_int_equal(module->path_in_root, 0);
	module_free(module);
	assert_non_null(outside);
	check_content(outside, 'a');
	assert_string_equal(outside->path, fix->path);
	assert_string_equal(outside->path + outside->path_in_root, "/lib.so");
	module_free(outside);
	close(ready[0]);
	close(ready[1]);
}

static void test_own_executable(void **state)
{
	struct module_identity identity = identity_of("/proc/self/exe");
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint8_t build_id[BUILD_ID_MAX];
	struct module *module;
	size_t len;

	assert_true(fd >= 0);
	len = elf_build_id_fd(fd, build_id, sizeof(build_id));
	close(fd);
	/* As from a mount namespace that is gone: the path leads nowhere, the exe link does. */
	module = module_open(getpid(), 0, 0, "/nonexistent/test_module", &identity);
	assert_non_null(module);
	assert_true(module->fd >= 0);
	assert_true(module->is_verified);
	assert_int_equal(module->build_id_len, len);
	assert_memory_equal(module->build_id, build_id, len);
	module_free(module);
}

static void test_anonymous_memory(void **state)
{
	static const char *const paths[] = {"//anon", "", "[heap]", "[anon:v8]"};
	struct module_identity none = {0}, shared = {.ino = 42};
	struct module *module;

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		module = module_open(getpid(), 0x1000, 0x2000, paths[i], &none);
		assert_non_null(module);
		assert_int_equal(module->kind, MODULE_ANON);
		assert_int_equal(module->fd, -1);
		module_free(module);
	}
	module = module_open(getpid(), 0x1000, 0x2000, "/memfd:doublemapper (deleted)", &shared);
	assert_non_null(module);
	assert_int_equal(module->kind, MODULE_ANON);
	module_free(module);
}

/* A program that runs from a memfd is a file like another. */
static void test_elf_in_memfd(void **state)
{
	static const char image[64] = "\177ELF\2\1\1";
	int fd = memfd_create("runc", MFD_CLOEXEC);
	struct module_identity identity;
	struct module *module;
	uint64_t start;
	struct stat st;
	void *mapping;

	if (geteuid() != 0) {
		print_message("skip - map_files needs root\n");
		skip();
	}
	assert_true(fd >= 0);
	assert_int_equal(write(fd, image, sizeof(image)), sizeof(image));
	assert_int_equal(fstat(fd, &st), 0);
	mapping = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(mapping != MAP_FAILED);
	close(fd);
	start = (uint64_t)(uintptr_t)mapping;
	identity = (struct module_identity){.ino = st.st_ino, .size_bytes = sizeof(image)};
	module = module_open(getpid(), start, start + 4096, "/memfd:runc (deleted)", &identity);
	assert_non_null(module);
	assert_int_equal(module->kind, MODULE_FILE);
	assert_true(module->fd >= 0);
	assert_string_equal(module->path, "/memfd:runc");
	module_free(module);
	munmap(mapping, 4096);
}

static void test_vdso(void **state)
{
	struct module *module = module_vdso();
	struct elf_file *elf;

	if (!module) {
		assert_int_equal(errno, ENOENT);
		print_message("skip - this kernel maps no vdso\n");
		skip();
	}
	assert_int_equal(module->kind, MODULE_VDSO);
	assert_string_equal(module->path, "[vdso]");
	assert_true(module->is_verified);
	elf = elf_file_open(module->fd);
	assert_non_null(elf);
	elf_file_free(elf);
	module_free(module);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_by_path, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deleted_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_replaced_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rewritten_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rewritten_while_open, setup, teardown),
		cmocka_unit_test_setup_teardown(test_build_id_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(test_partial_identity, setup, teardown),
		cmocka_unit_test_setup_teardown(test_irregular_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_root, setup, teardown),
		cmocka_unit_test(test_own_executable),
		cmocka_unit_test(test_anonymous_memory),
		cmocka_unit_test(test_elf_in_memfd),
		cmocka_unit_test(test_vdso),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
