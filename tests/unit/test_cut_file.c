/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are cut short while they are read: mapped bytes, images, probes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/mapped_file.h"
#include "base/task.h"
#include "elf/elf_file.h"
#include "elf/symtab.h"
#include "elf_image.h"
#include "event/probe_image.h"

enum { PAGES = 4, TEXT_BYTES = 32 * 1024 };

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* PAGES pages of 'a', and one byte more. */
static int filled_fd(void)
{
	size_t len = PAGES * page_bytes() + 1;
	char *bytes = malloc(len);
	int fd;

	assert_non_null(bytes);
	memset(bytes, 'a', len);
	fd = bytes_to_fd(bytes, len);
	free(bytes);
	return fd;
}

static char byte_at(const struct mapped_file *file, size_t off)
{
	return ((const volatile char *)file->bytes)[off];
}

static void test_bytes(void **state)
{
	struct mapped_file file, whole;
	int fd = filled_fd(), other_fd = filled_fd();

	assert_int_equal(mapped_file_open(fd, &file), 0);
	assert_int_equal(mapped_file_open(other_fd, &whole), 0);
	assert_int_equal(file.len, PAGES * page_bytes() + 1);
	assert_int_equal(byte_at(&file, file.len - 1), 'a');
	assert_int_equal(ftruncate(fd, (off_t)page_bytes() + 1), 0);
	assert_false(mapped_file_is_cut(&file));
	/* The rest of a page that is there, too, as of any file. */
	assert_int_equal(byte_at(&file, page_bytes()), 'a');
	assert_int_equal(byte_at(&file, page_bytes() + 1), 0);
	assert_false(mapped_file_is_cut(&file));
	assert_int_equal(byte_at(&file, file.len - 1), 0);
	assert_true(mapped_file_is_cut(&file));
	assert_int_equal(byte_at(&file, 2 * page_bytes() + 7), 0);
	assert_int_equal(byte_at(&file, 0), 'a');
	assert_int_equal(byte_at(&whole, whole.len - 1), 'a');
	assert_false(mapped_file_is_cut(&whole));
	mapped_file_close(&file);
	mapped_file_close(&whole);
	assert_false(mapped_file_is_cut(&file));
	close(fd);
	close(other_fd);
}

/* What one file has seen is not said of the next. */
static void test_again(void **state)
{
	for (int round = 0; round < 3; round++) {
		struct mapped_file file;
		int fd = filled_fd();

		assert_int_equal(mapped_file_open(fd, &file), 0);
		assert_false(mapped_file_is_cut(&file));
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(byte_at(&file, 0), 0);
		assert_true(mapped_file_is_cut(&file));
		mapped_file_close(&file);
		close(fd);
	}
}

static void read_last(void *arg)
{
	const struct mapped_file *file = arg;

	assert_int_equal(byte_at(file, file->len - 1), 0);
}

/* A thread without signals has those of its own faults. */
static void test_thread(void **state)
{
	struct mapped_file file;
	int fd = filled_fd();
	struct task task;

	assert_int_equal(mapped_file_open(fd, &file), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	task_begin(&task, read_last, &file);
	assert_true(task.is_running);
	task_end(&task);
	assert_true(mapped_file_is_cut(&file));
	mapped_file_close(&file);
	close(fd);
}

static void test_nothing(void **state)
{
	struct mapped_file file;
	int fd = bytes_to_fd("", 0);

	assert_int_equal(mapped_file_open(fd, &file), -ENODATA);
	close(fd);
	assert_int_equal(mapped_file_open(fd, &file), -EBADF);
}

enum bus_error { OF_ANOTHER_MAPPING, SENT };

/* A bus error that is none of ours, with a file of ours mapped. */
static _Noreturn void have_bus_error(enum bus_error which)
{
	const struct rlimit no_core = {0, 0};
	struct mapped_file file;
	int fd = filled_fd();
	const volatile char *bytes = mmap(NULL, page_bytes(), PROT_READ, MAP_SHARED, fd, 0);

	setrlimit(RLIMIT_CORE, &no_core);
	/* No sanitizer's report of it, which is another way to end. */
	signal(SIGBUS, SIG_DFL);
	if (mapped_file_open(fd, &file) || ftruncate(fd, 0))
		_exit(1);
	if (which == SENT)
		_exit(raise(SIGBUS));
	_exit(bytes[0]);
}

static void check_ends(enum bus_error which)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		have_bus_error(which);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
}

static void test_foreign(void **state)
{
	check_ends(OF_ANOTHER_MAPPING);
	check_ends(SENT);
}

/* A file of ours alone, which is mapped: its last pages have the names of its symbols. */
static int image_fd(void)
{
	static const struct image_symbol symbols[] = {
		{"first", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, 1},
		{"second", 0x1010, 0x10, STT_FUNC, STB_GLOBAL, 1},
	};
	static const uint8_t code[TEXT_BYTES];
	struct elf_image image;
	int fd;

	image_init(&image, EM_X86_64);
	image_text(&image, ".text", 0x1000, code, sizeof(code));
	image_symbols(&image, SHT_SYMTAB, symbols, 2);
	image_segment(&image, (Elf64_Phdr){.p_type = PT_LOAD, .p_align = 4096});
	image_finish(&image);
	fd = bytes_to_fd(image.bytes, image.len);
	image_deinit(&image);
	assert_int_equal(fchmod(fd, S_IRUSR | S_IWUSR), 0);
	return fd;
}

static void test_image(void **state)
{
	int fd = image_fd();
	struct elf_file *elf = elf_file_open_wary(fd, false);
	struct symtab *symtab = NULL;
	struct symtab_name name;

	assert_non_null(elf);
	assert_false(elf_file_is_cut(elf));
	assert_false(elf_file_is_cut(NULL));
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(symtab_from_elf(elf, NULL, &symtab), 0);
	assert_int_not_equal(symtab_find(symtab, 0x1000, &name), 0);
	assert_true(elf_file_is_cut(elf));
	symtab_free(symtab);
	elf_file_free(elf);
	close(fd);
}

static int count(void *arg, const struct elf_function *function)
{
	++*(int *)arg;
	return 0;
}

/* Where a probe goes is not believed then. */
static void test_probe_image(void **state)
{
	char path[] = "/tmp/cut_file.XXXXXX";
	int from = image_fd(), fd = mkstemp(path), cnt = 0;
	struct probe_image image;
	enum symtab_source source;
	struct buf why;
	struct stat st;
	char *bytes;

	assert_true(fd >= 0);
	assert_int_equal(fstat(from, &st), 0);
	bytes = malloc((size_t)st.st_size);
	assert_non_null(bytes);
	assert_int_equal(pread(from, bytes, (size_t)st.st_size, 0), st.st_size);
	assert_int_equal(write(fd, bytes, (size_t)st.st_size), st.st_size);
	buf_init(&why, BUF_NO_MAX);
	assert_int_equal(probe_image_open(path, 0, &image, &why), 0);
	assert_int_equal(probe_image_functions(&image, count, &cnt, &source), 0);
	assert_int_equal(cnt, 2);
	assert_int_equal(probe_image_verify(&image, -ENOENT, &why), -ENOENT);
	assert_int_equal(why.len, 0);
	probe_image_deinit(&image);

	assert_int_equal(probe_image_open(path, 0, &image, &why), 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	probe_image_functions(&image, count, &cnt, &source);
	assert_int_equal(cnt, 2);
	assert_int_equal(probe_image_verify(&image, 0, &why), -ESTALE);
	assert_non_null(strstr(buf_cstr(&why), path));
	assert_non_null(strstr(buf_cstr(&why), "cut short"));
	probe_image_deinit(&image);
	buf_deinit(&why);
	unlink(path);
	free(bytes);
	close(fd);
	close(from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),	    cmocka_unit_test(test_again),
		cmocka_unit_test(test_thread),	    cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_foreign),	    cmocka_unit_test(test_image),
		cmocka_unit_test(test_probe_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
