/* SPDX-License-Identifier: Apache-2.0 */
/* Naming by debugging information: a program's own, a file beside it, a library's package. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/fs.h"
#include "elf/elf_file.h"
#include "elf/symtab.h"
#include "symbolizer_fixture.h"

__attribute__((noinline)) int symbolizer_test_target(int value);

int symbolizer_test_target(int value)
{
	__asm__ volatile("" : "+r"(value));
	return value;
}

/* The address of an instruction of a function that is inlined here, and the lines of both. */
extern const uint64_t symbolizer_test_spot;
int symbolizer_test_outer(int value);

enum { INLINED_LINE = __LINE__ + 2 };

static inline __attribute__((always_inline)) int symbolizer_test_inlined(int value)
{
	__asm__ volatile("1: nop\n\t"
			 ".pushsection .data.rel.local,\"aw\"\n\t"
			 ".balign 8\n"
			 "symbolizer_test_spot: .quad 1b\n\t"
			 ".popsection"
			 : "+r"(value));
	return value;
}

enum { OUTER_LINE = __LINE__ + 2 };

__attribute__((noinline)) int symbolizer_test_outer(int value)
{
	return symbolizer_test_inlined(value);
}

static int own_base(struct dl_phdr_info *info, size_t size, void *arg)
{
	*(uint64_t *)arg = info->dlpi_addr;
	return 1; /* the first is the program */
}

/* This program itself, and the vdso, as they are mapped. */
static void test_own_process(void **state)
{
	struct fixture *fix = *state;
	struct module *vdso = module_vdso();
	struct symtab *symtab;
	struct elf_file *elf;
	struct symtab_name name = {0};
	uint32_t self, target, in_vdso;
	uint64_t base = 0, vaddr;
	char text[64];

	dl_iterate_phdr(own_base, &base);
	self = add_mapping(fix, "/proc/self/exe",
			   module_of_fd("/proc/self/exe",
					open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
					MODULE_PRESENT));
	vaddr = (uint64_t)(uintptr_t)symbolizer_test_target - base;
	target = profile_location(&fix->prof, self, vaddr + 1, 0);
	assert_non_null(vdso);
	elf = elf_file_open(vdso->fd);
	assert_non_null(elf);
	assert_int_equal(symtab_from_elf(elf, NULL, &symtab), 0);
	for (vaddr = 0; vaddr < 16384 && symtab_find(symtab, vaddr, &name); vaddr++)
		;
	assert_true(name.len > 0);
	snprintf(text, sizeof(text), "%.*s", (int)name.len, name.str);
	in_vdso = profile_location(&fix->prof, add_mapping(fix, "[vdso]", vdso), vaddr, 0);
	run(fix, false);
	check_location(fix, target, "symbolizer_test_target", "symbolizer_test_target");
	check_location(fix, in_vdso, text, text);
	symtab_free(symtab);
	elf_file_free(elf);
}

static uint32_t add_spot(struct fixture *fix)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t base = 0;
	uint32_t self = add_mapping(fix, "/proc/self/exe",
				    module_of_fd("/proc/self/exe", fd, MODULE_PRESENT));

	dl_iterate_phdr(own_base, &base);
	symbolizer_test_outer(0);
	return profile_location(&fix->prof, self, symbolizer_test_spot - base, 0);
}

static void check_line(const struct fixture *fix, const struct profile_line *line, const char *name,
		       uint32_t start_line)
{
	const struct profile_function *function = &fix->prof.functions[line->function];
	const char *file = profile_str(&fix->prof, function->file);

	assert_string_equal(profile_str(&fix->prof, function->name), name);
	assert_string_equal(profile_str(&fix->prof, function->system_name), name);
	assert_int_equal(function->start_line, start_line);
	assert_non_null(strstr(file, "test_symbolizer_debug.c"));
	/* The statement is one or two lines below, behind the brace. */
	assert_in_range(line->line, start_line + 1, start_line + 2);
}

/* This program's own debugging information: a call that is inlined is a line of its own. */
static void test_dwarf(void **state)
{
	struct fixture *fix = *state;
	uint32_t spot = add_spot(fix);
	const struct profile_location *loc = &fix->prof.locations[spot];

	run(fix, false);
	if (loc->line_cnt == 1 && !fix->prof.lines[loc->first_line].line)
		skip(); /* built without -g */
	assert_int_equal(loc->line_cnt, 2);
	check_line(fix, &fix->prof.lines[loc->first_line], "symbolizer_test_inlined", INLINED_LINE);
	check_line(fix, &fix->prof.lines[loc->first_line + 1], "symbolizer_test_outer", OUTER_LINE);
	assert_int_equal(fix->prof.mappings[loc->mapping].flags,
			 MAPPING_HAS_FUNCTIONS | MAPPING_HAS_FILENAMES | MAPPING_HAS_LINES |
				 MAPPING_HAS_INLINES);
	assert_int_equal(fix->frames.lines_cut, 0);
	check_books(fix);
}

static void check_plain(const struct fixture *fix, uint32_t location)
{
	const struct profile_location *loc = &fix->prof.locations[location];
	const struct profile_line *line = &fix->prof.lines[loc->first_line];

	check_location(fix, location, "symbolizer_test_outer", "symbolizer_test_outer");
	assert_int_equal(line->line, 0);
	assert_int_equal(fix->prof.functions[line->function].start_line, 0);
	assert_int_equal(fix->prof.mappings[loc->mapping].flags, MAPPING_HAS_FUNCTIONS);
	check_books(fix);
}

static void test_no_inline(void **state)
{
	const struct symbolizer_opts opts = {.no_inline = true};
	struct fixture *fix = *state;
	uint32_t spot = add_spot(fix);

	run_with(fix, &opts);
	check_plain(fix, spot);
	assert_int_equal(fix->frames.lines_cut, 0);
}

/* A nanosecond is over before the first lookup: symbols, and a count of what was not looked at. */
static void test_budget(void **state)
{
	const struct symbolizer_opts opts = {.lines_budget_ns = 1};
	struct fixture *fix = *state;
	uint32_t spot = add_spot(fix);

	run_with(fix, &opts);
	check_plain(fix, spot);
	if (!fix->frames.lines_cut)
		skip(); /* built without -g */
	assert_int_equal(fix->frames.lines_cut, 1);
}

/* .gnu_debuglink to a file of @len bytes called @name, which takes all of its place but the end. */
static void add_debug_link(struct elf_image *image, const char *name, const void *bytes, size_t len)
{
	struct {
		char name[12];
		uint32_t crc;
	} link = {.crc = (uint32_t)crc32(0, bytes, (uInt)len)};

	assert_int_equal(snprintf(link.name, sizeof(link.name), "%s", name), sizeof(link.name) - 2);
	image_section(image, ".gnu_debuglink", (Elf64_Shdr){.sh_type = SHT_PROGBITS}, &link,
		      sizeof(link));
}

/*
 * A process's root with one file, the debug file of @image; remove_tree(). @folder is mkdtemp()'s
 * template. The image's module, of that root.
 */
static struct module *module_in_root(char *folder, const struct elf_image *image, const char *name,
				     const void *bytes, size_t len)
{
	struct module *module;
	char path[64];
	int fd;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	close(fd);
	module = module_of_fd("/image", bytes_to_fd(image->bytes, image->len), MODULE_PRESENT);
	module->root_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return module;
}

/* A stripped image that links to a debug file, which lies in its process's root. */
static void test_debug_file(void **state)
{
	static const struct image_symbol symbol = {"local", TEXT, 0x10, STT_FUNC, STB_LOCAL, 1};
	struct fixture *fix = *state;
	char folder[] = "/tmp/test_symbolizer_debug.XXXXXX";
	struct elf_image stripped, debug;
	struct module *module;
	uint32_t mapping, local;

	image_init(&debug, EM_X86_64);
	image_text(&debug, ".text", TEXT, NULL, 0x100);
	image_symbols(&debug, SHT_SYMTAB, &symbol, 1);
	image_finish(&debug);
	image_init(&stripped, EM_X86_64);
	image_text(&stripped, ".text", TEXT, NULL, 0x100);
	add_debug_link(&stripped, "demo.debug", debug.bytes, debug.len);
	image_finish(&stripped);

	module = module_in_root(folder, &stripped, "demo.debug", debug.bytes, debug.len);
	mapping = add_mapping(fix, module->path, module);
	local = profile_location(&fix->prof, mapping, TEXT + 8, 0);
	run(fix, false);
	assert_int_equal(remove_tree(folder), 0);
	check_location(fix, local, "local", "local");
	image_deinit(&stripped);
	image_deinit(&debug);
}

enum { SEED_CODE_AT = 0x401000, SEED_CODE_BYTES = 0x62 };

static void read_seed(struct buf *out)
{
	buf_init(out, BUF_NO_MAX);
	assert_int_equal(fs_read_file("tests/fuzz/corpus/dwarf/gcc5", out), 0);
}

/* twice() in both() in the function, which is @outer. */
static void check_seed_chain(const struct fixture *fix, const struct profile_location *loc,
			     const char *outer)
{
	const char *names[] = {"twice", "both", outer};

	assert_int_equal(loc->line_cnt, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct profile_line *line = &fix->prof.lines[loc->first_line + i];
		const struct profile_function *function = &fix->prof.functions[line->function];

		assert_string_equal(profile_str(&fix->prof, function->name), names[i]);
		assert_string_equal(profile_str(&fix->prof, function->file), "/src/t.c");
		assert_int_equal(function->start_line, i + 1);
		assert_int_equal(line->line, i + 1);
	}
}

/* All addresses of the seed's code; how many of them are twice() in both() in @outer? */
static int count_seed_chains(struct fixture *fix, struct module *module, const char *outer)
{
	uint32_t mapping = add_mapping(fix, module->path, module), first = 0;
	int cnt = 0;

	for (uint32_t i = 0; i < SEED_CODE_BYTES; i++) {
		uint32_t location = profile_location(&fix->prof, mapping, SEED_CODE_AT + i, 0);

		first = i ? first : location;
	}
	run(fix, false);
	for (uint32_t i = 0; i < SEED_CODE_BYTES; i++) {
		const struct profile_location *loc = &fix->prof.locations[first + i];

		if (loc->line_cnt < 3)
			continue;
		if (!strcmp(profile_location_name(&fix->prof, first + i, 2), outer)) {
			check_seed_chain(fix, loc, outer);
			cnt++;
		}
	}
	check_books(fix);
	return cnt;
}

/* Where there are no symbols the function's name is DWARF's as well. */
static void test_dwarf_alone(void **state)
{
	struct fixture *fix = *state;
	struct buf seed;

	read_seed(&seed);
	assert_true(count_seed_chains(fix,
				      module_of_fd("/seed", bytes_to_fd(seed.data, seed.len),
						   MODULE_PRESENT),
				      "shared") > 3);
	buf_deinit(&seed);
}

/* `strip -g`: symbols in the image, which say what the function is, lines in a file beside it. */
static void test_lines_file(void **state)
{
	static const struct image_symbol symbol = {
		"_RNvC7mycrate3foo.cold", SEED_CODE_AT, SEED_CODE_BYTES, STT_FUNC, STB_LOCAL, 1,
	};
	char folder[] = "/tmp/test_symbolizer_debug.XXXXXX";
	struct fixture *fix = *state;
	struct elf_image image;
	struct module *module;
	struct buf seed;
	int cnt;

	read_seed(&seed);
	image_init(&image, EM_X86_64);
	image_text(&image, ".text", SEED_CODE_AT, NULL, SEED_CODE_BYTES);
	image_symbols(&image, SHT_SYMTAB, &symbol, 1);
	add_debug_link(&image, "seed.debug", seed.data, seed.len);
	image_finish(&image);

	module = module_in_root(folder, &image, "seed.debug", seed.data, seed.len);
	cnt = count_seed_chains(fix, module, "mycrate::foo [clone .cold]");
	assert_int_equal(remove_tree(folder), 0);
	assert_true(cnt > 3);
	buf_deinit(&seed);
	image_deinit(&image);
}

static void *main_return; /* in the C library: who called main() */

/* What calls main() has no exported name: it needs the package with the library's symbols. */
static void test_libc(void **state)
{
	struct fixture *fix = *state;
	char path[PATH_MAX], debug_path[PATH_MAX] = "/usr/lib/debug/.build-id/";
	size_t len = strlen(debug_path);
	struct module *module;
	uint32_t caller;
	Dl_info info;
	int fd;

	assert_true(dladdr(main_return, &info));
	assert_non_null(realpath(info.dli_fname, path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	module = module_of_fd(path, fd, MODULE_PRESENT);
	module->build_id_len = (uint32_t)elf_build_id_fd(fd, module->build_id, BUILD_ID_MAX);
	caller = profile_location(&fix->prof, add_mapping(fix, path, module),
				  (uint64_t)((char *)main_return - (char *)info.dli_fbase) - 1, 0);
	for (uint32_t i = 0; i < module->build_id_len; i++)
		len += (size_t)snprintf(debug_path + len, sizeof(debug_path) - len,
					i == 1 ? "/%02x" : "%02x", module->build_id[i]);
	snprintf(debug_path + len, sizeof(debug_path) - len, ".debug");
	if (access(debug_path, R_OK))
		skip();
	run(fix, false);
	check_location(fix, caller, "__libc_start_call_main", "__libc_start_call_main");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_own_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dwarf, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_inline, setup, teardown),
		cmocka_unit_test_setup_teardown(test_budget, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dwarf_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lines_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_debug_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_libc, setup, teardown),
	};

	main_return = __builtin_return_address(0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
