/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols that were split off an image: found where they may lie, refused when they are another
 * image's. The images are made by the compiler and binutils of this machine, as packagers make
 * them, below a folder that stands for a process's root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/debug_file.h"
#include "elf/elf_file.h"
#include "elf/symtab.h"
#include "elf_image.h"
#include "scratch.h"

/* As the process sees it; the image itself is opened from the work folder. */
#define TOOL_PATH "/opt/app/tool.so"

enum { PATH_BYTES = 512 };

/* Made once: with a build-id and without, whole, stripped, and what was split off. */
struct images {
	char folder[32];
	uint64_t hidden; /* vaddr of a function that only .symtab names, in both */
};

static struct images images;

/* A fresh root, and the image that is to be named. */
struct fixture {
	char root[64];
	int root_fd;
	int fd;
	struct elf_file *elf;
	uint8_t build_id[64];
	size_t build_id_len;
	struct debug_file found;
};

#define RUN(...) RUN_IN(images.folder, __VA_ARGS__)

static void put_bytes(const char *path, const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}

static void work_path(const char *name, char out[static PATH_BYTES])
{
	snprintf(out, PATH_BYTES, "%s/%s", images.folder, name);
}

static int open_work(const char *name)
{
	char path[PATH_BYTES];
	int fd;

	work_path(name, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* The first address that @symtab calls @wanted; 0 when there is none. */
static uint64_t vaddr_of(const struct symtab *symtab, const char *wanted)
{
	for (uint64_t vaddr = 0x100; vaddr < 0x8000; vaddr++) {
		struct symtab_name name;

		if (!symtab_find(symtab, vaddr, &name) && name.len == strlen(wanted) &&
		    !memcmp(name.str, wanted, name.len) && !name.is_plt)
			return vaddr;
	}
	return 0;
}

static uint64_t vaddr_in_file(const char *file, const char *name)
{
	int fd = open_work(file);
	struct elf_file *elf = elf_file_open(fd);
	struct symtab *symtab;
	uint64_t vaddr;

	assert_non_null(elf);
	assert_int_equal(symtab_from_elf(elf, NULL, &symtab), 0);
	vaddr = vaddr_of(symtab, name);
	symtab_free(symtab);
	elf_file_free(elf);
	close(fd);
	return vaddr;
}

/* NAME.so, and as packages have it: NAME.debug and NAME.stripped, which links to tool.debug. */
static void make_image(const char *name, const char *build_id_option, const char *value)
{
	char whole[64], debug[64], stripped[64], define[64];

	snprintf(whole, sizeof(whole), "%s.so", name);
	snprintf(debug, sizeof(debug), "%s.debug", name);
	snprintf(stripped, sizeof(stripped), "%s.stripped", name);
	snprintf(define, sizeof(define), "-DVALUE=%s", value);
	RUN("cc", "-O1", "-g", "-shared", "-fPIC", build_id_option, define, "-o", whole, "tool.c");
	RUN("objcopy", "--only-keep-debug", whole, debug);
	RUN("cp", debug, "tool.debug"); /* the link's name is the name that objcopy is given */
	RUN("objcopy", "--strip-all", "--add-gnu-debuglink=tool.debug", whole, stripped);
}

/* As Fedora's packages do: what .symtab names and .dynsym does not, by xz into a section. */
static void make_mini_image(void)
{
	static const char keep[] = "hidden\n";
	char path[PATH_BYTES];

	work_path("keep", path);
	put_bytes(path, keep, strlen(keep));
	RUN("objcopy", "-S", "--keep-symbols=keep", "built.debug", "mini");
	RUN("xz", "-f", "mini");
	RUN("objcopy", "--strip-all", "--add-section=.gnu_debugdata=mini.xz", "built.so",
	    "mini.stripped");
}

static int make_images(void **state)
{
	static const char source[] =
		"#include <stdlib.h>\n"
		"static __attribute__((noinline, noclone)) void *hidden(int value)\n"
		"{ __asm__ volatile(\"\" : \"+r\"(value)); return malloc(value + VALUE); }\n"
		"void *shown(int value);\n"
		"void *shown(int value) { return (char *)hidden(value) + 1; }\n";
	char path[PATH_BYTES];

	snprintf(images.folder, sizeof(images.folder), "/tmp/test_debug_file.XXXXXX");
	assert_non_null(mkdtemp(images.folder));
	work_path("tool.c", path);
	put_bytes(path, source, strlen(source));
	make_image("plain", "-Wl,--build-id=none", "1");
	make_image("other", "-Wl,--build-id=sha1", "2");
	make_image("built", "-Wl,--build-id=sha1", "1");
	make_mini_image();
	images.hidden = vaddr_in_file("built.so", "hidden");
	assert_true(images.hidden != 0);
	assert_int_equal(vaddr_in_file("built.stripped", "hidden"), 0);
	return 0;
}

static int remove_images(void **state)
{
	return remove_tree(images.folder);
}

static int setup(void **state)
{
	struct fixture *fix = calloc(1, sizeof(*fix));

	assert_non_null(fix);
	fix->fd = -1;
	snprintf(fix->root, sizeof(fix->root), "%s/root.XXXXXX", images.folder);
	assert_non_null(mkdtemp(fix->root));
	fix->root_fd = open(fix->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(fix->root_fd >= 0);
	*state = fix;
	return 0;
}

static void close_image(struct fixture *fix)
{
	debug_file_deinit(&fix->found);
	elf_file_free(fix->elf);
	fix->elf = NULL;
	if (fix->fd >= 0)
		close(fix->fd);
	fix->fd = -1;
}

static int teardown(void **state)
{
	struct fixture *fix = *state;

	close_image(fix);
	close(fix->root_fd);
	assert_int_equal(remove_tree(fix->root), 0);
	free(fix);
	return 0;
}

static void open_image(struct fixture *fix, const char *name)
{
	fix->fd = open_work(name);
	fix->elf = elf_file_open(fix->fd);
	assert_non_null(fix->elf);
	fix->build_id_len = elf_build_id(fix->elf, fix->build_id, sizeof(fix->build_id));
}

static int find_from(struct fixture *fix, const char *path, int root_fd)
{
	const struct debug_query query = {
		.elf = fix->elf,
		.path = path,
		.build_id = fix->build_id,
		.build_id_len = fix->build_id_len,
		.root_fd = root_fd,
	};

	debug_file_deinit(&fix->found);
	return debug_file_find(&query, DEBUG_WANT_SYMBOLS, &fix->found);
}

static int find(struct fixture *fix)
{
	return find_from(fix, TOOL_PATH, fix->root_fd);
}

/* The path of @place below the root, its folders made. */
static void root_path(const struct fixture *fix, const char *place, char out[static PATH_BYTES])
{
	snprintf(out, PATH_BYTES, "%s%s", fix->root, place);
	for (char *slash = out + strlen(fix->root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (mkdir(out, 0700))
			assert_int_equal(errno, EEXIST);
		*slash = '/';
	}
}

/* Copy the work folder's @name to @place below the root. */
static void install(const struct fixture *fix, const char *name, const char *place)
{
	char path[PATH_BYTES];

	root_path(fix, place, path);
	RUN("cp", name, path);
}

static void uninstall(const struct fixture *fix, const char *place)
{
	char path[PATH_BYTES];

	root_path(fix, place, path);
	assert_int_equal(unlink(path), 0);
}

static void build_id_place(const struct fixture *fix, char out[static PATH_BYTES])
{
	int len = snprintf(out, PATH_BYTES, "/usr/lib/debug/.build-id/%02x/", fix->build_id[0]);

	assert_true(fix->build_id_len > 1);
	for (size_t i = 1; i < fix->build_id_len; i++)
		len += snprintf(out + len, PATH_BYTES - (size_t)len, "%02x", fix->build_id[i]);
	snprintf(out + len, PATH_BYTES - (size_t)len, ".debug");
}

/* The function at @vaddr with what was found; @wanted NULL for none. */
static void check_name(const struct fixture *fix, uint64_t vaddr, const char *wanted)
{
	struct symtab_name name;
	struct symtab *symtab;
	char text[64];
	int err;

	assert_int_equal(symtab_from_elf(fix->elf, &fix->found, &symtab), 0);
	err = symtab_find(symtab, vaddr, &name);
	assert_int_equal(err, wanted ? 0 : -ENOENT);
	if (!err) {
		snprintf(text, sizeof(text), "%.*s", (int)name.len, name.str);
		assert_string_equal(text, wanted);
	}
	symtab_free(symtab);
}

/* Each place alone, and the build-id's before the others. */
static void test_places(void **state)
{
	char places[4][PATH_BYTES] = {
		"",
		"/opt/app/tool.debug",
		"/opt/app/.debug/tool.debug",
		"/usr/lib/debug/opt/app/tool.debug",
	};
	struct fixture *fix = *state;

	open_image(fix, "built.stripped");
	build_id_place(fix, places[0]);
	assert_int_equal(find(fix), -ENOENT);
	check_name(fix, images.hidden, NULL);
	for (int i = 0; i < 4; i++) {
		install(fix, "built.debug", places[i]);
		assert_int_equal(find(fix), 0);
		assert_int_equal(fix->found.kind, DEBUG_FULL);
		assert_true(fcntl(fix->found.fd, F_GETFD) & FD_CLOEXEC);
		check_name(fix, images.hidden, "hidden");
		uninstall(fix, places[i]);
		assert_int_equal(find(fix), -ENOENT);
	}
	assert_int_equal(find_from(fix, "[vdso]", fix->root_fd), -ENOENT);
	install(fix, "built.debug", places[0]);
	assert_int_equal(find_from(fix, "[vdso]", fix->root_fd), 0);
}

/* A process without a root of its own, and one whose root lacks what the host has. */
static void test_on_the_host(void **state)
{
	struct fixture *fix = *state;
	char path[PATH_BYTES];

	open_image(fix, "built.stripped");
	install(fix, "built.debug", "/.debug/tool.debug");
	snprintf(path, sizeof(path), "%s/tool.so", fix->root);
	assert_int_equal(find_from(fix, path, -1), 0);
	check_name(fix, images.hidden, "hidden");
	assert_int_equal(find_from(fix, path, fix->root_fd), 0);
	assert_int_equal(find_from(fix, TOOL_PATH, -1), -ENOENT);
}

static void test_stubs_and_exports(void **state)
{
	struct fixture *fix = *state;
	struct symtab *own, *both;
	uint64_t vaddr, stub_cnt = 0;
	struct symtab_name name;

	open_image(fix, "built.stripped");
	install(fix, "built.debug", "/opt/app/tool.debug");
	assert_int_equal(find(fix), 0);
	assert_int_equal(symtab_from_elf(fix->elf, NULL, &own), 0);
	assert_int_equal(symtab_from_elf(fix->elf, &fix->found, &both), 0);
	assert_int_equal(symtab_source(own), SYMTAB_DYNAMIC);
	assert_int_equal(symtab_source(both), SYMTAB_FULL);
	assert_true(symtab_range_cnt(both) > symtab_range_cnt(own));
	assert_int_equal(vaddr_of(own, "shown"), vaddr_of(both, "shown"));
	for (vaddr = 0x100; vaddr < 0x8000; vaddr++) { /* a stub of .plt, from the image itself */
		if (!symtab_find(both, vaddr, &name) && name.is_plt)
			stub_cnt += name.len == strlen("malloc") && !memcmp(name.str, "malloc", 6);
	}
	assert_true(stub_cnt > 0);
	symtab_free(own);
	symtab_free(both);
}

static void test_other_build_id(void **state)
{
	struct fixture *fix = *state;
	char place[PATH_BYTES];

	open_image(fix, "built.stripped");
	build_id_place(fix, place);
	install(fix, "other.debug", place);
	install(fix, "plain.debug", "/opt/app/tool.debug"); /* no build-id at all */
	assert_int_equal(find(fix), -ENOENT);
	install(fix, "built.debug", "/opt/app/.debug/tool.debug");
	assert_int_equal(find(fix), 0);
	check_name(fix, images.hidden, "hidden");
}

static void test_crc(void **state)
{
	static const char place[] = "/opt/app/tool.debug";
	struct fixture *fix = *state;
	char path[PATH_BYTES];
	int fd;

	open_image(fix, "plain.stripped");
	assert_int_equal(fix->build_id_len, 0);
	install(fix, "plain.debug", place);
	assert_int_equal(find(fix), 0);
	check_name(fix, vaddr_in_file("plain.so", "hidden"), "hidden");

	root_path(fix, place, path);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	assert_int_equal(find(fix), -ENOENT);
	assert_int_equal(truncate(path, 600LL << 20), 0); /* too large to be read for that */
	assert_int_equal(find(fix), -ENOENT);
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(find(fix), -ENOENT);
}

/* The image's own name: what is found there is stripped too. */
static void test_link_to_itself(void **state)
{
	struct fixture *fix = *state;
	char path[PATH_BYTES];

	RUN("objcopy", "--remove-section=.gnu_debuglink", "built.stripped", "tool.so");
	RUN("objcopy", "--add-gnu-debuglink=tool.so", "tool.so", "itself.stripped");
	open_image(fix, "itself.stripped");
	install(fix, "itself.stripped", TOOL_PATH);
	assert_int_equal(find(fix), -ENOENT);
	install(fix, "built.debug", "/usr/lib/debug" TOOL_PATH);
	assert_int_equal(find(fix), 0);
	uninstall(fix, "/usr/lib/debug" TOOL_PATH);

	/* A link of the file system in a ring. */
	root_path(fix, "/usr/lib/debug" TOOL_PATH, path);
	assert_int_equal(symlink("tool.so", path), 0);
	assert_int_equal(find(fix), -ENOENT);
}

static void test_no_regular_file(void **state)
{
	struct fixture *fix = *state;
	char path[PATH_BYTES];

	open_image(fix, "built.stripped");
	root_path(fix, "/opt/app/tool.debug", path);
	assert_int_equal(mkfifo(path, 0600), 0);
	root_path(fix, "/opt/app/.debug/tool.debug", path);
	assert_int_equal(mkdir(path, 0700), 0);
	root_path(fix, "/usr/lib/debug/opt/app/tool.debug", path);
	assert_int_equal(symlink("/opt/app/tool.debug", path), 0);
	alarm(20); /* a FIFO that is opened waits for a writer */
	assert_int_equal(find(fix), -ENOENT);
	alarm(0);
}

/* Links are followed inside the root, and lead nowhere outside it. */
static void test_links(void **state)
{
	struct fixture *fix = *state;
	char path[PATH_BYTES], outside[PATH_BYTES], place[PATH_BYTES];

	open_image(fix, "built.stripped");
	build_id_place(fix, place);
	root_path(fix, place, path);
	install(fix, "built.debug", "/usr/lib/debug/opt/app/real.debug");
	assert_int_equal(symlink("../../../../../usr/lib/debug/opt/app/real.debug", path), 0);
	assert_int_equal(find(fix), 0);
	unlink(path);
	assert_int_equal(symlink("/usr/lib/debug/opt/app/real.debug", path), 0);
	assert_int_equal(find(fix), 0);
	unlink(path);

	work_path("built.debug", outside);
	assert_int_equal(symlink(outside, path), 0);
	assert_int_equal(access(path, R_OK), 0);
	assert_int_equal(find(fix), -ENOENT);
	unlink(path);
	snprintf(outside, sizeof(outside), "../../../../../../built.debug");
	assert_int_equal(symlink(outside, path), 0);
	assert_int_equal(access(path, R_OK), 0);
	assert_int_equal(find(fix), -ENOENT);
	unlink(path);
	snprintf(outside, sizeof(outside), "/proc/self/fd/%d", fix->fd);
	assert_int_equal(symlink(outside, path), 0);
	assert_int_equal(find(fix), -ENOENT);
}

static void test_mini(void **state)
{
	struct fixture *fix = *state;
	char place[PATH_BYTES];
	struct symtab *symtab;

	open_image(fix, "mini.stripped");
	assert_int_equal(find(fix), 0);
	assert_int_equal(fix->found.kind, DEBUG_MINI);
	assert_int_equal(symtab_from_elf(fix->elf, &fix->found, &symtab), 0);
	assert_int_equal(symtab_source(symtab), SYMTAB_MINI);
	assert_int_equal(vaddr_of(symtab, "hidden"), images.hidden);
	assert_int_equal(vaddr_of(symtab, "shown"), vaddr_in_file("built.so", "shown"));
	symtab_free(symtab);

	build_id_place(fix, place); /* a whole file is better */
	install(fix, "built.debug", place);
	assert_int_equal(find(fix), 0);
	assert_int_equal(fix->found.kind, DEBUG_FULL);
	check_name(fix, images.hidden, "hidden");
}

static void test_not_stripped(void **state)
{
	struct fixture *fix = *state;
	char place[PATH_BYTES];

	open_image(fix, "built.so");
	build_id_place(fix, place);
	install(fix, "built.debug", place);
	assert_true(symtab_is_full(fix->elf));
	assert_int_equal(find(fix), -ENOENT);
	check_name(fix, images.hidden, "hidden");
}

/* .gnu_debugdata without names, of another machine, or no ELF file: as if there were none. */
static void test_useless_mini(void **state)
{
	struct fixture *fix = *state;
	uint8_t packed[4096];
	struct elf_image outer;

	for (int i = 0; i < 3; i++) {
		static const struct image_symbol symbol = {"f", 0x1000, 8, STT_FUNC, STB_LOCAL, 1};
		struct elf_image inner;
		size_t len = 0;

		image_init(&inner, i == 0 ? EM_AARCH64 : EM_X86_64);
		image_text(&inner, ".text", 0x1000, NULL, 64);
		image_symbols(&inner, SHT_SYMTAB, &symbol, i == 1 ? 0 : 1);
		image_finish(&inner);
		if (i == 2)
			inner.len = 3;
		assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, inner.bytes,
							 inner.len, packed, &len, sizeof(packed)),
				 LZMA_OK);
		fix->elf = image_with(&outer, ".gnu_debugdata", packed, len);
		assert_int_equal(find(fix), -ENOENT);
		close_image(fix);
		image_deinit(&inner);
		image_deinit(&outer);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_places),	    TEST(test_on_the_host),  TEST(test_stubs_and_exports),
		TEST(test_other_build_id),  TEST(test_crc),	     TEST(test_link_to_itself),
		TEST(test_no_regular_file), TEST(test_links),	     TEST(test_mini),
		TEST(test_not_stripped),    TEST(test_useless_mini),
	};

	return cmocka_run_group_tests(tests, make_images, remove_images);
}
