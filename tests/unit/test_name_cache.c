/* SPDX-License-Identifier: Apache-2.0 */
/* Names that are kept from run to run: what is found again, and what is not believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/fs.h"
#include "elf/elf_file.h"
#include "scratch.h"
#include "symbol/name_file.h"
#include "symbol/name_keeper.h"
#include "symbol/symbolizer.h"

enum {
	CODE_AT = 0x401000,
	CODE_BYTES = 512,
	LOADED_BYTES = 0x1060, /* of the file: what comes next is debugging information */
};

static const char seed_path[] = "tests/fuzz/corpus/dwarf/gcc5last";

static struct fixture {
	struct name_keeper *keeper; /* owned */
	char base[32];
	char exe[64];
	char kept[64]; /* the folder of names */
	const char *path; /* as the process saw it */
	struct symbolizer_opts opts;
} fix;

static void write_file(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, data, len), 0);
	close(fd);
}

static void read_seed(struct buf *out)
{
	buf_init(out, BUF_NO_MAX);
	assert_int_equal(fs_read_file(seed_path, out), 0);
}

static int setup(void **state)
{
	struct buf seed;

	fix = (struct fixture){.path = "/usr/bin/seed"};
	snprintf(fix.base, sizeof(fix.base), "/tmp/bpfprof-names-XXXXXX");
	assert_non_null(mkdtemp(fix.base));
	snprintf(fix.exe, sizeof(fix.exe), "%s/exe", fix.base);
	snprintf(fix.kept, sizeof(fix.kept), "%s/bpfprof/names", fix.base);
	fix.keeper = name_keeper_new(fix.base);
	assert_non_null(fix.keeper);
	fix.opts = (struct symbolizer_opts){.keeper = fix.keeper};
	read_seed(&seed);
	write_file(fix.exe, seed.data, seed.len);
	buf_deinit(&seed);
	return 0;
}

static int teardown(void **state)
{
	name_keeper_free(fix.keeper);
	return remove_tree(fix.base);
}

static struct module *open_exe(void)
{
	struct module *module = calloc(1, sizeof(*module));

	assert_non_null(module);
	module->kind = MODULE_FILE;
	module->path = strdup(fix.path);
	module->fd = open(fix.exe, O_RDONLY | O_CLOEXEC);
	module->root_fd = -1;
	module->build_id_len =
		(uint32_t)elf_build_id_fd(module->fd, module->build_id, sizeof(module->build_id));
	return module;
}

static void add_names(const struct profile *prof, uint32_t location, struct buf *out)
{
	const struct profile_location *loc = &prof->locations[location];

	for (uint32_t i = 0; i < loc->line_cnt; i++) {
		const struct profile_line *line = &prof->lines[loc->first_line + i];
		const struct profile_function *function = &prof->functions[line->function];

		buf_printf(out, "%s(%s)@%s:%u/%u;", profile_str(prof, function->name),
			   profile_str(prof, function->system_name),
			   profile_str(prof, function->file), line->line, function->start_line);
	}
	buf_add_char(out, '\n');
}

/* All names in the code of the file, into @out. How many locations have got one. */
static uint64_t name_all(struct buf *out)
{
	struct module *module = open_exe();
	struct ledger_frames frames = {0};
	struct profile prof;

	buf_init(out, BUF_NO_MAX);
	assert_int_equal(profile_init(&prof), 0);
	profile_mapping(&prof, fix.path, "");
	for (uint64_t i = 0; i < CODE_BYTES; i++)
		profile_location(&prof, 0, CODE_AT + i, 0);
	assert_int_equal(symbolizer_run(&prof, &module, 1, &fix.opts, &frames), 0);
	name_keeper_save(fix.keeper);
	for (uint32_t i = 0; i < CODE_BYTES; i++)
		add_names(&prof, i, out);
	profile_deinit(&prof);
	module_free(module);
	return frames.named;
}

/* The only file that is kept, as a path; "" when there is none. Good until the next call. */
static const char *kept_file(void)
{
	static char path[PATH_MAX];
	DIR *dir = opendir(fix.kept);
	struct dirent *entry;

	path[0] = '\0';
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			snprintf(path, sizeof(path), "%s/%s", fix.kept, entry->d_name);
	if (dir)
		closedir(dir);
	return path;
}

/* Other debugging information, but nothing that stat shows, and no program header, is changed. */
static void blank_exe(void)
{
	struct timespec times[2];
	struct stat st;
	Elf64_Ehdr ehdr;
	char *blank;
	int fd;

	assert_int_equal(stat(fix.exe, &st), 0);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	fd = open(fix.exe, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, &ehdr, sizeof(ehdr), 0), sizeof(ehdr));
	assert_true(ehdr.e_shoff > LOADED_BYTES);
	blank = calloc(1, ehdr.e_shoff);
	assert_int_equal(pwrite(fd, blank, ehdr.e_shoff - LOADED_BYTES, LOADED_BYTES),
			 (ssize_t)(ehdr.e_shoff - LOADED_BYTES));
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
	free(blank);
}

static void test_kept(void **state)
{
	struct buf first, second;
	uint64_t named_cnt = name_all(&first);

	assert_true(named_cnt > 10);
	assert_non_null(strstr(buf_cstr(&first), "twice(twice)@/src/t.c:1/1;both"));
	assert_string_not_equal(kept_file(), "");
	blank_exe();
	assert_int_equal(name_all(&second), named_cnt);
	assert_string_equal(buf_cstr(&first), buf_cstr(&second));
	buf_deinit(&first);
	buf_deinit(&second);
}

/* Keep @shown as the demangled form of @name, as if an earlier run had made it. */
static void keep_shown(const char *name, const char *shown)
{
	struct name_table none = {0}, table;
	struct name_builder both;
	struct name_header header;
	struct buf kept;
	size_t len;
	void *data;

	buf_init(&kept, BUF_NO_MAX);
	assert_int_equal(fs_read_file(kept_file(), &kept), 0);
	assert_true(kept.len > sizeof(header));
	memcpy(&header, kept.data, sizeof(header));
	assert_int_equal(name_file_decode(kept.data, kept.len, &header.source, &table), 0);
	assert_int_equal(name_builder_init(&both), 0);
	assert_int_equal(name_builder_join(&both, &table, &none), 0);
	for (uint32_t i = 0; i < both.functions_cnt; i++) {
		const char *str = name_builder_table(&both).strings + both.functions[i].name;

		if (!strcmp(str, name))
			assert_int_equal(name_builder_show(&both, i, shown), 0);
	}
	table = name_builder_table(&both);
	data = name_file_encode(&table, &header.source, &len);
	assert_non_null(data);
	write_file(kept_file(), data, len);
	free(data);
	name_builder_deinit(&both);
	buf_deinit(&kept);
}

/* What was demangled once is taken from there, but not where clones are merged. */
static void test_shown(void **state)
{
	struct buf names;

	name_all(&names);
	buf_deinit(&names);
	keep_shown("twice", "long twice()");
	name_all(&names);
	assert_non_null(strstr(buf_cstr(&names), "long twice()(twice)@/src/t.c:1/1;both"));
	buf_deinit(&names);
	fix.opts.merge_clones = true;
	name_all(&names);
	assert_non_null(strstr(buf_cstr(&names), "twice(twice)@/src/t.c:1/1;both"));
	assert_null(strstr(buf_cstr(&names), "long"));
	buf_deinit(&names);
}

static void test_damaged(void **state)
{
	struct buf first, second;

	name_all(&first);
	assert_int_equal(truncate(kept_file(), 100), 0);
	name_all(&second);
	assert_string_equal(buf_cstr(&first), buf_cstr(&second));
	buf_deinit(&first);
	buf_deinit(&second);
}

static void test_changed_file(void **state)
{
	const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	struct buf first, second;

	name_all(&first);
	blank_exe();
	assert_int_equal(utimensat(AT_FDCWD, fix.exe, times, 0), 0);
	name_all(&second);
	assert_null(strstr(buf_cstr(&second), "twice("));
	buf_deinit(&first);
	buf_deinit(&second);
}

/* A file that anybody may change is not trusted to be the same. */
static void test_writable_file(void **state)
{
	struct buf names;

	assert_int_equal(chmod(fix.exe, 0666), 0);
	name_all(&names);
	assert_non_null(strstr(buf_cstr(&names), "twice("));
	assert_string_equal(kept_file(), "");
	buf_deinit(&names);
}

static void test_no_inline(void **state)
{
	struct buf names;

	name_all(&names);
	assert_non_null(strstr(buf_cstr(&names), "twice("));
	buf_deinit(&names);
	fix.opts.no_inline = true;
	name_all(&names);
	assert_null(strstr(buf_cstr(&names), "twice("));
	buf_deinit(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shown, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_changed_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_writable_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_inline, setup, teardown),
	};

	return cmocka_run_group_tests_name("symbol/name_cache", tests, NULL, NULL);
}
