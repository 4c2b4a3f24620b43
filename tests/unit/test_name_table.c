/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of names: built, searched, joined, written and read again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "symbol/name_file.h"
#include "symbol/name_table.h"

static const struct name_source a_source = {.file = {.uid = 1, .size_bytes = 2}, .places = 3};

static uint32_t add_function(struct name_builder *builder, const char *name, const char *file)
{
	const struct name_function rest = {.start_line = 7};

	return name_builder_function(builder, name, strlen(name), &rest, file);
}

static uint32_t add_site(struct name_builder *builder, uint32_t function, uint32_t line,
			 uint32_t caller)
{
	const struct name_site site = {function, line, caller};

	return name_builder_site(builder, &site);
}

/* The example of name_table.h, moved by @base; f is called @name. */
static void build(struct name_builder *builder, uint64_t base, const char *name)
{
	uint32_t f, g, at_f;

	assert_int_equal(name_builder_init(builder), 0);
	f = add_function(builder, name, "/src/f.c");
	g = add_function(builder, "g", "/src/g.h");
	at_f = add_site(builder, f, 1, NAME_NONE);
	assert_int_equal(name_builder_stretch(builder, base, base + 0x10, at_f), 0);
	assert_int_equal(name_builder_stretch(builder, base + 0x10, base + 0x18,
					      add_site(builder, g, 9, at_f)),
			 0);
	assert_int_equal(name_builder_stretch(builder, base + 0x18, base + 0x20,
					      add_site(builder, f, 2, NAME_NONE)),
			 0);
	assert_int_equal(name_builder_stretch(builder, base + 0x30, base + 0x31, NAME_NONE), 0);
}

static const char *name_at(const struct name_table *table, uint64_t vaddr)
{
	const struct name_stretch *stretch = name_table_find(table, vaddr);

	if (!stretch)
		return NULL;
	if (stretch->site == (uint32_t)NAME_NONE)
		return "";
	return table->strings + table->functions[table->sites[stretch->site].function].name;
}

static void test_find(void **state)
{
	struct name_builder builder;
	struct name_table table;

	build(&builder, 0x1000, "f");
	table = name_builder_table(&builder);
	assert_null(name_at(&table, 0xfff));
	assert_string_equal(name_at(&table, 0x1000), "f");
	assert_string_equal(name_at(&table, 0x1017), "g");
	assert_string_equal(name_at(&table, 0x101f), "f");
	assert_null(name_at(&table, 0x1020));
	assert_string_equal(name_at(&table, 0x1030), "");
	assert_null(name_at(&table, 0x1031));
	name_builder_deinit(&builder);
}

static void test_gap(void **state)
{
	uint64_t lo = 0, hi = UINT64_MAX;
	struct name_builder builder;
	struct name_table table;

	build(&builder, 0x1000, "f");
	table = name_builder_table(&builder);
	name_table_gap(&table, 0x1025, &lo, &hi);
	assert_int_equal(lo, 0x1020);
	assert_int_equal(hi, 0x1030);
	lo = 0x1022;
	hi = 0x1028;
	name_table_gap(&table, 0x1025, &lo, &hi);
	assert_int_equal(lo, 0x1022);
	assert_int_equal(hi, 0x1028);
	name_builder_deinit(&builder);
}

static void test_equal_ones(void **state)
{
	struct name_builder builder;

	build(&builder, 0x1000, "f");
	assert_int_equal(builder.functions_cnt, 2);
	assert_int_equal(builder.sites_cnt, 3);
	assert_int_equal(add_function(&builder, "g", "/src/g.h"), 1);
	assert_int_equal(add_function(&builder, "g", NULL), 2);
	assert_int_equal(add_site(&builder, 0, 1, NAME_NONE), 0);
	name_builder_cut(&builder, 1);
	assert_int_equal(name_builder_table(&builder).stretches_cnt, 1);
	name_builder_deinit(&builder);
}

static void test_join(void **state)
{
	struct name_builder low, high, both;
	struct name_table left, right, table;

	build(&low, 0x1000, "f");
	build(&high, 0x1040, "other");
	left = name_builder_table(&high);
	right = name_builder_table(&low);
	assert_int_equal(name_builder_init(&both), 0);
	assert_int_equal(name_builder_join(&both, &left, &right), 0);
	table = name_builder_table(&both);
	assert_int_equal(table.stretches_cnt, 8);
	assert_int_equal(table.functions_cnt, 3);
	for (uint32_t i = 1; i < table.stretches_cnt; i++)
		assert_true(table.stretches[i - 1].lo < table.stretches[i].lo);
	assert_string_equal(name_at(&table, 0x1001), "f");
	assert_string_equal(name_at(&table, 0x1041), "other");
	assert_string_equal(name_at(&table, 0x1051), "g");
	assert_int_equal(table.sites[name_table_find(&table, 0x1051)->site].caller,
			 name_table_find(&table, 0x1041)->site);
	name_builder_deinit(&low);
	name_builder_deinit(&high);
	name_builder_deinit(&both);
}

static void *encode(size_t *len)
{
	struct name_builder builder;
	struct name_table table;
	void *data;

	build(&builder, 0x1000, "f");
	table = name_builder_table(&builder);
	data = name_file_encode(&table, &a_source, len);
	assert_non_null(data);
	name_builder_deinit(&builder);
	return data;
}

static void test_file(void **state)
{
	struct name_table table;
	size_t len;
	void *data = encode(&len);

	assert_int_equal(name_file_decode(data, len, &a_source, &table), 0);
	assert_int_equal(table.stretches_cnt, 4);
	assert_string_equal(name_at(&table, 0x1017), "g");
	assert_int_equal(table.functions[1].start_line, 7);
	assert_string_equal(table.strings + table.functions[1].file, "/src/g.h");
	free(data);
}

static void test_stale(void **state)
{
	struct name_source other = a_source;
	struct name_table table;
	size_t len;
	void *data = encode(&len);

	other.places++;
	assert_int_equal(name_file_decode(data, len, &other, &table), -ESTALE);
	other = a_source;
	other.file.mtime_s++;
	assert_int_equal(name_file_decode(data, len, &other, &table), -ESTALE);
	free(data);
}

/* Whichever byte is changed, and wherever it ends, it is refused. */
static void test_damaged(void **state)
{
	struct name_table table;
	size_t len;
	uint8_t *data = encode(&len);

	for (size_t i = 0; i < len; i++) {
		data[i] ^= 0x40;
		assert_true(name_file_decode(data, len, &a_source, &table) < 0);
		data[i] ^= 0x40;
		assert_true(name_file_decode(data, i, &a_source, &table) < 0);
	}
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),	   cmocka_unit_test(test_gap),
		cmocka_unit_test(test_equal_ones), cmocka_unit_test(test_join),
		cmocka_unit_test(test_file),	   cmocka_unit_test(test_stale),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests_name("symbol/name_table", tests, NULL, NULL);
}
