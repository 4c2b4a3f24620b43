/* SPDX-License-Identifier: Apache-2.0 */
/* Naming a profile's locations: what gets a name, what gets an address, and what is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer_fixture.h"

static void test_file(void **state)
{
	struct fixture *fix = *state;
	uint32_t mapping = add_mapping(fix, "/usr/bin/demo", module_with_symbols("/usr/bin/demo"));
	uint32_t outside = profile_location(&fix->prof, mapping, 0x10ff, 0);
	uint32_t last = profile_location(&fix->prof, mapping, 0x101f, 0);
	uint32_t first = profile_location(&fix->prof, mapping, 0x1000, 0);
	uint32_t second = profile_location(&fix->prof, mapping, 0x100f, 0);
	uint32_t stub = profile_location(&fix->prof, mapping, 0x2005, 0);

	run(fix, false);
	check_location(fix, first, "mycrate::foo [clone .cold]", "_RNvC7mycrate3foo.cold");
	check_location(fix, second, "mycrate::foo [clone .cold]", "_RNvC7mycrate3foo.cold");
	check_location(fix, last, "plain_c", "plain_c");
	check_location(fix, stub, "other::call@plt", "_RNvC5other4call@plt");
	check_location(fix, outside, "[demo+0x10ff]", "[demo+0x10ff]");
	assert_int_equal(fix->frames.distinct, 5);
	assert_int_equal(fix->frames.named, 4);
	assert_int_equal(unnamed_cnt(fix, "no_symbol"), 1);
	assert_int_equal(fix->prof.mappings[mapping].flags, MAPPING_HAS_FUNCTIONS);
	assert_int_equal(fix->prof.function_cnt, 4);
	check_books(fix);
}

/* Each way in which a location can stay without a name; none disturbs the others. */
static void test_reasons(void **state)
{
	struct fixture *fix = *state;
	int garbage = bytes_to_fd("no ELF file", 11);
	struct module *anon = module_of_fd("//anon", -1, MODULE_PRESENT);
	uint32_t gone = add_mapping(fix, "/a/gone", module_of_fd("/a/gone", -1, MODULE_NO_FILE));
	uint32_t changed =
		add_mapping(fix, "/a/new", module_of_fd("/a/new", -1, MODULE_FILE_CHANGED));
	uint32_t refused = add_mapping(fix, "/a/refused",
				       module_of_fd("/a/refused", -1, MODULE_NOT_PERMITTED));
	uint32_t bad = add_mapping(fix, "/a/bad", module_of_fd("/a/bad", garbage, MODULE_PRESENT));
	uint32_t unknown = add_mapping(fix, "[unknown]", NULL);
	uint32_t good = add_mapping(fix, "/a/good", module_with_symbols("/a/good"));
	uint32_t jit, locations[8];

	anon->kind = MODULE_ANON;
	jit = add_mapping(fix, "//anon", anon);
	locations[0] = profile_location(&fix->prof, gone, 0x10, 0);
	locations[1] = profile_location(&fix->prof, changed, 0x20, 0);
	locations[2] = profile_location(&fix->prof, bad, 0x30, 0);
	locations[3] = profile_location(&fix->prof, unknown, 0x40, 0);
	locations[4] = profile_location(&fix->prof, jit, 0x7f0000001000, LOCATION_JIT);
	locations[5] = profile_location(&fix->prof, PROFILE_NONE, 0x60, 0);
	locations[6] = profile_location(&fix->prof, good, 0x1010, 0);
	locations[7] = profile_location(&fix->prof, refused, 0x70, 0);
	run(fix, false);
	check_location(fix, locations[0], "[gone+0x10]", "[gone+0x10]");
	check_location(fix, locations[1], "[new+0x20]", "[new+0x20]");
	check_location(fix, locations[2], "[bad+0x30]", "[bad+0x30]");
	check_location(fix, locations[3], "[unknown+0x40]", "[unknown+0x40]");
	check_location(fix, locations[4], "[anon+0x7f0000001000]", "[anon+0x7f0000001000]");
	check_location(fix, locations[5], "[unknown+0x60]", "[unknown+0x60]");
	check_location(fix, locations[6], "plain_c", "plain_c");
	check_location(fix, locations[7], "[refused+0x70]", "[refused+0x70]");
	assert_int_equal(unnamed_cnt(fix, "no_file"), 1);
	assert_int_equal(unnamed_cnt(fix, "file_changed"), 1);
	assert_int_equal(unnamed_cnt(fix, "not_permitted"), 1);
	assert_int_equal(unnamed_cnt(fix, "bad_elf"), 1);
	assert_int_equal(unnamed_cnt(fix, "unknown_mapping"), 2);
	assert_int_equal(unnamed_cnt(fix, "jit"), 1);
	assert_int_equal(fix->frames.named, 1);
	assert_int_equal(fix->prof.mappings[gone].flags, 0);
	assert_int_equal(fix->prof.mappings[good].flags, MAPPING_HAS_FUNCTIONS);
	check_books(fix);
}

/* Cuts the file short as soon as an address of it has no name. */
static bool cut_short(void *arg, uint32_t location)
{
	const struct module *module = arg;

	assert_int_equal(ftruncate(module->fd, 0), 0);
	return false;
}

static uint64_t same_address(void *arg, uint32_t mapping, uint64_t address)
{
	return address;
}

/* What was named before the file was cut short is no better than the rest of it. */
static void test_cut_short(void **state)
{
	struct fixture *fix = *state;
	struct module *module = module_with_symbols("/usr/bin/demo");
	uint32_t mapping = add_mapping(fix, "/usr/bin/demo", module);
	uint32_t other = add_mapping(fix, "/usr/bin/other", module_with_symbols("/usr/bin/other"));
	uint32_t before = profile_location(&fix->prof, mapping, 0x1004, 0);
	uint32_t outside = profile_location(&fix->prof, mapping, 0x10ff, 0);
	uint32_t after = profile_location(&fix->prof, mapping, 0x2005, 0);
	uint32_t safe = profile_location(&fix->prof, other, 0x1010, 0);
	const struct symbolizer_elsewhere elsewhere = {module, same_address, cut_short};
	const struct symbolizer_opts opts = {.elsewhere = &elsewhere};

	assert_int_equal(fchmod(module->fd, S_IRUSR | S_IWUSR), 0);
	run_with(fix, &opts);
	check_location(fix, before, "[demo+0x1004]", "[demo+0x1004]");
	check_location(fix, outside, "[demo+0x10ff]", "[demo+0x10ff]");
	check_location(fix, after, "[demo+0x2005]", "[demo+0x2005]");
	check_location(fix, safe, "plain_c", "plain_c");
	assert_int_equal(unnamed_cnt(fix, "file_changed"), 3);
	assert_int_equal(unnamed_cnt(fix, "no_symbol"), 0);
	assert_int_equal(fix->frames.named, 1);
	assert_int_equal(fix->prof.mappings[mapping].flags, 0);
	assert_int_equal(fix->prof.mappings[other].flags, MAPPING_HAS_FUNCTIONS);
	check_books(fix);
}

static void test_named_and_synthetic(void **state)
{
	struct fixture *fix = *state;
	uint32_t mapping = add_mapping(fix, "/a/good", module_with_symbols("/a/good"));
	uint32_t synthetic =
		profile_named_location(&fix->prof, "[truncated: x]", LOCATION_SYNTHETIC);
	uint32_t named = profile_named_location(&fix->prof, "from_a_file", 0);
	uint32_t fresh = profile_location(&fix->prof, mapping, 0x1010, 0);

	run(fix, false);
	check_location(fix, synthetic, "[truncated: x]", "[truncated: x]");
	check_location(fix, named, "from_a_file", "from_a_file");
	check_location(fix, fresh, "plain_c", "plain_c");
	assert_int_equal(fix->frames.distinct, 2);
	assert_int_equal(fix->frames.named, 2);
	check_books(fix);
}

static void test_no_symbols(void **state)
{
	struct fixture *fix = *state;
	uint32_t mapping = add_mapping(fix, "/a/good", module_with_symbols("/a/good"));
	uint32_t location = profile_location(&fix->prof, mapping, 0x1010, 0);

	run(fix, true);
	check_location(fix, location, "[good+0x1010]", "[good+0x1010]");
	assert_int_equal(unnamed_cnt(fix, "not_wanted"), 1);
	assert_int_equal(fix->prof.mappings[mapping].flags, 0);
	check_books(fix);
}

static void test_empty_profile(void **state)
{
	struct fixture *fix = *state;

	run(fix, false);
	assert_int_equal(fix->frames.distinct, 0);
}

/* Time that is over for all names. */
static void test_names_budget(void **state)
{
	const struct symbolizer_opts opts = {.names_budget_ns = 1};
	struct fixture *fix = *state;
	uint32_t mapping = add_mapping(fix, "/a/demo", module_with_symbols("/a/demo"));
	uint32_t location = profile_location(&fix->prof, mapping, 0x1010, 0);

	run_with(fix, &opts);
	check_location(fix, location, "[demo+0x1010]", "[demo+0x1010]");
	assert_int_equal(unnamed_cnt(fix, "no_time"), 1);
	check_books(fix);
}

/* The time goes first to what most samples are of. */
static void test_order(void **state)
{
	struct fixture *fix = *state;
	uint32_t cold = add_mapping(fix, "/a/cold", module_with_symbols("/a/cold"));
	uint32_t hot = add_mapping(fix, "/a/hot", module_with_symbols("/a/hot"));
	const uint32_t stacks[][2] = {
		{profile_location(&fix->prof, cold, 0x1010, 0)},
		{profile_location(&fix->prof, hot, 0x2000, 0)},
	};

	profile_add_value_type(&fix->prof, "samples", "count");
	for (int i = 0; i < 2; i++)
		profile_sample(&fix->prof, profile_stack(&fix->prof, stacks[i], 1),
			       profile_labels(&fix->prof, NULL, 0), &(int64_t){i + 1});
	run(fix, false);
	assert_int_equal(fix->prof.function_cnt, 2);
	assert_string_equal(profile_str(&fix->prof, fix->prof.functions[0].name),
			    "other::call@plt");
}

/* A part of a function is called as the function, if that is wanted; its symbol stays known. */
static void test_merge_clones(void **state)
{
	const struct symbolizer_opts opts = {.merge_clones = true};
	struct fixture *fix = *state;
	uint32_t mapping = add_mapping(fix, "/usr/bin/demo", module_with_symbols("/usr/bin/demo"));
	uint32_t part = profile_location(&fix->prof, mapping, TEXT + 4, 0);

	run_with(fix, &opts);
	check_location(fix, part, "mycrate::foo", "_RNvC7mycrate3foo.cold");
}

/* Functions at TEXT and, with a byte between, at TEXT + 0x11. */
static struct module *module_with_gap(const char *second)
{
	const struct image_symbol symbols[] = {
		{"first", TEXT, 0x10, STT_FUNC, STB_GLOBAL, 1},
		{second, TEXT + 0x11, 9, STT_FUNC, STB_LOCAL, 1},
	};
	struct elf_image image;
	int fd;

	image_init(&image, EM_X86_64);
	image_text(&image, ".text", TEXT, NULL, 0x100);
	image_symbols(&image, SHT_SYMTAB, symbols, 2);
	image_finish(&image);
	fd = bytes_to_fd(image.bytes, image.len);
	image_deinit(&image);
	return module_of_fd("/lib/c.so", fd, MODULE_PRESENT);
}

/* What a signal handler returns to, moved back onto a call that is none. */
static void test_signal_return(void **state)
{
	struct fixture *fix = *state;
	uint32_t libc = add_mapping(fix, "/lib/c.so", module_with_gap("__restore_rt"));
	uint32_t other = add_mapping(fix, "/lib/d.so", module_with_gap("second"));
	uint32_t returns = profile_location(&fix->prof, libc, TEXT + 0x10, 0);
	uint32_t between = profile_location(&fix->prof, other, TEXT + 0x10, 0);

	run(fix, false);
	check_location(fix, returns, "__restore_rt", "__restore_rt");
	check_location(fix, between, "[d.so+0x1010]", "[d.so+0x1010]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reasons, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut_short, setup, teardown),
		cmocka_unit_test_setup_teardown(test_named_and_synthetic, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_symbols, setup, teardown),
		cmocka_unit_test_setup_teardown(test_empty_profile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_budget, setup, teardown),
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_merge_clones, setup, teardown),
		cmocka_unit_test_setup_teardown(test_signal_return, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
