/* SPDX-License-Identifier: Apache-2.0 */
/* Names that are remembered: by module, joined, and not without end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "symbol/name_memory.h"

/* Remember that @cnt functions @name lie side by side from @lo on, 16 bytes each. */
static void learn(struct name_memory *memory, const struct module *module, uint64_t lo,
		  uint32_t cnt, const char *name)
{
	const struct name_function rest = {0};
	struct name_builder builder;
	struct name_table table;
	struct name_site site = {.caller = NAME_NONE};
	uint32_t at;

	assert_int_equal(name_builder_init(&builder), 0);
	site.function = name_builder_function(&builder, name, strlen(name), &rest, NULL);
	at = name_builder_site(&builder, &site);
	for (uint32_t i = 0; i < cnt; i++)
		assert_int_equal(name_builder_stretch(&builder, lo + 16 * i, lo + 16 * i + 16, at),
				 0);
	table = name_builder_table(&builder);
	assert_int_equal(name_memory_add(memory, module, &table), 0);
	name_builder_deinit(&builder);
}

/* "" when nothing is known at @vaddr. */
static const char *name_at(const struct name_memory *memory, const struct module *module,
			   uint64_t vaddr)
{
	const struct name_table table = name_memory_find(memory, module);
	const struct name_stretch *stretch = name_table_find(&table, vaddr);

	if (!stretch)
		return "";
	return table.strings + table.functions[table.sites[stretch->site].function].name;
}

static void test_remembered(void **state)
{
	struct module app = {.path = (char *)"/app", .identity = {.ino = 1}};
	struct module other = {.path = (char *)"/app", .identity = {.ino = 2}};
	struct module lib = {.path = (char *)"/lib", .build_id = {1, 2}, .build_id_len = 2};
	struct module same = {.path = (char *)"/copy", .build_id = {1, 2}, .build_id_len = 2};
	struct module longer = {.path = (char *)"/lib", .build_id = {1, 2}, .build_id_len = 3};
	struct name_memory *memory = name_memory_new();

	assert_non_null(memory);
	assert_string_equal(name_at(memory, &app, 0x1000), "");
	learn(memory, &app, 0x2000, 1, "late");
	learn(memory, &app, 0x1000, 1, "early");
	assert_string_equal(name_at(memory, &app, 0x1008), "early");
	assert_string_equal(name_at(memory, &app, 0x200f), "late");
	assert_string_equal(name_at(memory, &app, 0x2010), "");
	assert_string_equal(name_at(memory, &other, 0x1008), "");
	learn(memory, &lib, 0x1000, 1, "f");
	assert_string_equal(name_at(memory, &same, 0x1000), "f");
	assert_string_equal(name_at(memory, &longer, 0x1000), "");
	name_memory_free(memory);
	name_memory_free(NULL);
}

static void test_bounded(void **state)
{
	struct module app = {.path = (char *)"/app"};
	struct name_memory *memory = name_memory_new();

	assert_non_null(memory);
	learn(memory, &app, 0x1000, NAME_MEMORY_STRETCHES_MAX, "f");
	assert_string_equal(name_at(memory, &app, 0x1000), "f");
	learn(memory, &app, 0x10, 1, "g");
	assert_string_equal(name_at(memory, &app, 0x10), "g");
	assert_string_equal(name_at(memory, &app, 0x1000), "");
	name_memory_free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_remembered),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
