/* SPDX-License-Identifier: Apache-2.0 */
/* All names of this program, as a table that names its functions where the program is not. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbol/symbol_table.h"

extern const char __executable_start[];

static const struct symbol_sources nowhere = {.debug_dirs = NULL};

static volatile int sink;

__attribute__((noinline)) static void known_function(void)
{
	sink++;
}

static uint64_t known_vaddr(void)
{
	return (uint64_t)((uintptr_t)known_function - (uintptr_t)__executable_start);
}

/* The table of this program; its bytes are *owned*. */
static void *make(struct name_table *table, size_t *len)
{
	struct module *module = module_of_file("/bin/known", open("/proc/self/exe", O_RDONLY));
	void *data;

	assert_non_null(module);
	assert_true(symbol_table_is_there(module, &nowhere, true));
	data = symbol_table_make(module, &nowhere, true, len);
	assert_non_null(data);
	module_free(module);
	assert_int_equal(symbol_table_read(data, *len, table), 0);
	assert_true(symbol_table_has_lines(table));
	return data;
}

static void test_names(void **state)
{
	struct demangler *demangler = demangler_new();
	const struct profile_location *loc;
	struct name_table table;
	struct profile prof;
	uint32_t location, mapping;
	size_t len;
	void *data = make(&table, &len);

	assert_int_equal(profile_init(&prof), 0);
	mapping = profile_mapping(&prof, "/bin/known", "abcd");
	location = profile_location(&prof, mapping, known_vaddr(), 0);
	assert_true(symbol_table_name(&prof, location, &table, demangler));
	loc = &prof.locations[location];
	assert_int_equal(loc->line_cnt, 1);
	assert_string_equal(profile_location_name(&prof, location, 0), "known_function");
	assert_true(prof.lines[loc->first_line].line > 20);
	/* It has what the table knows. */
	assert_false(symbol_table_name(&prof, location, &table, demangler));
	/* Outside of all functions there is nothing. */
	location = profile_location(&prof, mapping, 1, 0);
	assert_false(symbol_table_name(&prof, location, &table, demangler));
	assert_int_equal(prof.locations[location].line_cnt, 0);
	profile_deinit(&prof);
	demangler_free(demangler);
	free(data);
}

/* A name without lines is bettered, one with lines stays. */
static void test_better(void **state)
{
	struct demangler *demangler = demangler_new();
	struct profile_line line;
	struct name_table table;
	struct profile prof;
	uint32_t bare, named, lined;
	size_t len;
	void *data = make(&table, &len);

	assert_int_equal(profile_init(&prof), 0);
	line = (struct profile_line){profile_function(&prof, "[known+0x10]", "", "", 0), 0};
	bare = profile_location_lines(&prof, PROFILE_NONE, known_vaddr(), 0, &line, 1);
	line = (struct profile_line){profile_function(&prof, "exported", "", "", 0), 0};
	named = profile_location_lines(&prof, PROFILE_NONE, known_vaddr(), 0, &line, 1);
	line = (struct profile_line){profile_function(&prof, "other", "", "", 0), 7};
	lined = profile_location_lines(&prof, PROFILE_NONE, known_vaddr(), 0, &line, 1);
	assert_true(symbol_table_name(&prof, bare, &table, demangler));
	assert_true(symbol_table_name(&prof, named, &table, demangler));
	assert_false(symbol_table_name(&prof, lined, &table, demangler));
	assert_string_equal(profile_location_name(&prof, bare, 0), "known_function");
	assert_string_equal(profile_location_name(&prof, named, 0), "known_function");
	assert_string_equal(profile_location_name(&prof, lined, 0), "other");
	profile_deinit(&prof);
	demangler_free(demangler);
	free(data);
}

static void test_foreign(void **state)
{
	struct name_table table;
	size_t len;
	char *data = make(&table, &len);

	data[len / 2] ^= 1;
	assert_int_equal(symbol_table_read(data, len, &table), -EBADMSG);
	data[len / 2] ^= 1;
	assert_int_equal(symbol_table_read(data, len - 1, &table), -EBADMSG);
	assert_int_equal(symbol_table_read(data, 3, &table), -EBADMSG);
	assert_int_equal(symbol_table_read(data, len, &table), 0);
	free(data);
}

static void test_nothing(void **state)
{
	struct module *module = module_of_file("/etc/passwd", open("/etc/passwd", O_RDONLY));
	size_t len;

	assert_non_null(module);
	assert_false(symbol_table_is_there(module, &nowhere, false));
	assert_null(symbol_table_make(module, &nowhere, false, &len));
	assert_int_equal(errno, ENOENT);
	module_free(module);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_better),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
