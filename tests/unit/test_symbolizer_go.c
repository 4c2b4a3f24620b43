/* SPDX-License-Identifier: Apache-2.0 */
/* Naming a Go program by its own tables: inlined calls, and lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "encode/decode.h"
#include "encode/encoder.h"
#include "go_fixture.h"
#include "symbolizer_fixture.h"

static struct module *module_of_go(const char *path, bool has_symtab)
{
	struct go_fixture go = {.version = GO_1_20, .has_symtab = has_symtab};
	struct elf_image image;
	int fd;

	go_fixture_fill(&go);
	image = go_fixture_image(&go);
	fd = bytes_to_fd(image.bytes, image.len);
	image_deinit(&image);
	return module_of_fd(path, fd, MODULE_PRESENT);
}

/* The only location of @prof: main.leaf in main.mid in main.main. */
static void check_go_lines(const struct profile *prof)
{
	static const uint32_t lines[] = {30, 20, 10}, start_lines[] = {28, 18, 8};
	static const char *const names[] = {"main.leaf", "main.mid", "main.main"};
	const struct profile_location *loc = &prof->locations[0];

	assert_int_equal(prof->location_cnt, 1);
	assert_int_equal(loc->line_cnt, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct profile_line *line = &prof->lines[loc->first_line + i];
		const struct profile_function *function = &prof->functions[line->function];

		assert_int_equal(line->line, lines[i]);
		assert_int_equal(function->start_line, start_lines[i]);
		assert_string_equal(profile_str(prof, function->name), names[i]);
		assert_string_equal(profile_str(prof, function->system_name), names[i]);
		assert_string_equal(profile_str(prof, function->file), i ? "main.go" : "leaf.go");
	}
	assert_int_equal(prof->mappings[0].flags, MAPPING_HAS_FUNCTIONS | MAPPING_HAS_FILENAMES |
							  MAPPING_HAS_LINES | MAPPING_HAS_INLINES);
}

/* Inlined calls are frames in all that is written. */
static void check_go_encoded(const struct profile *prof)
{
	const struct encoder_opts opts = {.annotate = true};
	struct profile copy;
	struct buf bytes;

	buf_init(&bytes, BUF_NO_MAX);
	assert_int_equal(encoder_folded.encode(prof, &opts, &bytes), 0);
	assert_string_equal(buf_cstr(&bytes), "main.main;main.mid_[i];main.leaf_[i] 1\n");
	buf_reset(&bytes);
	assert_int_equal(encoder_svg.encode(prof, &opts, &bytes), 0);
	assert_non_null(strstr(buf_cstr(&bytes), "main.main"));
	assert_non_null(strstr(buf_cstr(&bytes), "main.mid"));
	assert_non_null(strstr(buf_cstr(&bytes), "main.leaf"));
	buf_reset(&bytes);
	assert_int_equal(encoder_pprof.encode(prof, &opts, &bytes), 0);
	assert_int_equal(profile_init(&copy), 0);
	assert_int_equal(profile_decode(bytes.data, bytes.len, &copy, NULL), 0);
	check_go_lines(&copy);
	profile_deinit(&copy);
	buf_deinit(&bytes);
}

static void test_go(void **state)
{
	struct fixture *fix = *state;
	uint32_t mapping = add_mapping(fix, "/a/go", module_of_go("/a/go", false));
	uint32_t location = profile_location(&fix->prof, mapping, GO_TEXT + 0x20, 0);

	profile_add_value_type(&fix->prof, "samples", "count");
	profile_sample(&fix->prof, profile_stack(&fix->prof, &location, 1),
		       profile_labels(&fix->prof, NULL, 0), &(int64_t){1});
	run(fix, false);
	check_go_lines(&fix->prof);
	check_go_encoded(&fix->prof);
	check_books(fix);
}

/* What Go's tables do not know is no claim of lines; a .symtab beside them takes nothing away. */
static void test_go_partly(void **state)
{
	struct fixture *fix = *state;
	uint32_t stripped = add_mapping(fix, "/a/go", module_of_go("/a/go", false));
	uint32_t full = add_mapping(fix, "/a/full", module_of_go("/a/full", true));
	uint32_t inside = profile_location(&fix->prof, stripped, GO_TEXT, 0);
	uint32_t outside = profile_location(&fix->prof, stripped, GO_TEXT + 0x60, 0);
	uint32_t inlined = profile_location(&fix->prof, full, GO_TEXT + 0x20, 0);

	run(fix, false);
	check_location(fix, inside, "main.main", "main.main");
	check_location(fix, outside, "[go+0x401060]", "[go+0x401060]");
	assert_int_equal(fix->prof.locations[inlined].line_cnt, 3);
	assert_int_equal(fix->prof.mappings[stripped].flags, MAPPING_HAS_FUNCTIONS);
	assert_int_equal(fix->prof.mappings[full].flags,
			 MAPPING_HAS_FUNCTIONS | MAPPING_HAS_FILENAMES | MAPPING_HAS_LINES |
				 MAPPING_HAS_INLINES);
	assert_int_equal(unnamed_cnt(fix, "no_symbol"), 1);
	check_books(fix);
}

/* Without inlined calls the function itself is left, at the line of the call in it. */
static void test_go_no_inline(void **state)
{
	const struct symbolizer_opts opts = {.no_inline = true};
	struct fixture *fix = *state;
	uint32_t mapping = add_mapping(fix, "/a/go", module_of_go("/a/go", false));
	uint32_t location = profile_location(&fix->prof, mapping, GO_TEXT + 0x20, 0);

	run_with(fix, &opts);
	check_location(fix, location, "main.main", "main.main");
	assert_int_equal(fix->prof.lines[fix->prof.locations[location].first_line].line, 10);
	assert_int_equal(fix->prof.mappings[mapping].flags,
			 MAPPING_HAS_FUNCTIONS | MAPPING_HAS_FILENAMES | MAPPING_HAS_LINES);
	check_books(fix);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_go, setup, teardown),
		cmocka_unit_test_setup_teardown(test_go_partly, setup, teardown),
		cmocka_unit_test_setup_teardown(test_go_no_inline, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
