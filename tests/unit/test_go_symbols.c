/* SPDX-License-Identifier: Apache-2.0 */
/* Names, lines and inlined calls from Go's tables: every layout, every way to find them, and tables
 * that are damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "elf/go_symbols.h"
#include "go_fixture.h"

struct open_image {
	struct elf_image image;
	struct elf_file *elf;
	struct go_symbols *syms;
};

static int image_open(const struct go_fixture *fix, struct open_image *out)
{
	int err;

	*out = (struct open_image){.image = go_fixture_image(fix)};
	out->elf = elf_file_from_memory(out->image.bytes, out->image.len);
	assert_non_null(out->elf);
	err = go_symbols_from_elf(out->elf, &out->syms);
	return err;
}

static void image_close(struct open_image *open)
{
	go_symbols_free(open->syms);
	elf_file_free(open->elf);
	image_deinit(&open->image);
}

static void check_frame(const struct go_frame *frame, const char *name, const char *file,
			uint32_t line, uint32_t start_line)
{
	assert_string_equal(frame->name, name);
	assert_string_equal(frame->file, file);
	assert_int_equal(frame->line, line);
	assert_int_equal(frame->start_line, start_line);
}

/* All of what the fixture's comment says. @is_new: the tables tell where functions start. */
static void check_all(const struct go_symbols *syms, bool is_new)
{
	uint32_t main_line = is_new ? 8 : 0, mid_line = is_new ? 18 : 0,
		 leaf_line = is_new ? 28 : 0;
	struct go_chain chain;

	assert_int_equal(go_symbols_func_cnt(syms), 2);
	assert_int_equal(go_symbols_find(syms, GO_TEXT, &chain), 0);
	assert_int_equal(chain.cnt, 1);
	check_frame(&chain.frames[0], "main.main", "main.go", 10, main_line);
	assert_false(chain.frames[0].is_inlined);

	assert_int_equal(go_symbols_find(syms, GO_TEXT + 0x1f, &chain), 0);
	assert_int_equal(chain.cnt, 2);
	check_frame(&chain.frames[0], "main.mid", "main.go", 20, mid_line);
	check_frame(&chain.frames[1], "main.main", "main.go", 10, main_line);
	assert_true(chain.frames[0].is_inlined);
	assert_false(chain.frames[1].is_inlined);

	assert_int_equal(go_symbols_find(syms, GO_TEXT + 0x20, &chain), 0);
	assert_int_equal(chain.cnt, 3);
	check_frame(&chain.frames[0], "main.leaf", "leaf.go", 30, leaf_line);
	check_frame(&chain.frames[1], "main.mid", "main.go", 20, mid_line);
	check_frame(&chain.frames[2], "main.main", "main.go", 10, main_line);

	assert_int_equal(go_symbols_find(syms, GO_TEXT + 0x3f, &chain), 0);
	assert_int_equal(chain.cnt, 1);
	check_frame(&chain.frames[0], "main.main", "main.go", 12, main_line);

	assert_int_equal(go_symbols_find(syms, GO_TEXT + 0x5f, &chain), 0);
	assert_int_equal(chain.cnt, 1);
	check_frame(&chain.frames[0], "main.other", "", 0, is_new ? 48 : 0);

	assert_int_equal(go_symbols_find(syms, GO_TEXT - 1, &chain), -ENOENT);
	assert_int_equal(go_symbols_find(syms, GO_TEXT + 0x60, &chain), -ENOENT);
	assert_int_equal(go_symbols_find(syms, 0, &chain), -ENOENT);
	assert_int_equal(go_symbols_find(syms, UINT64_MAX, &chain), -ENOENT);
}

static void check_fixture(struct go_fixture *fix)
{
	struct open_image open;

	go_fixture_fill(fix);
	assert_int_equal(image_open(fix, &open), 0);
	check_all(open.syms, fix->version == GO_1_20);
	image_close(&open);
}

static void every_version(void **state)
{
	for (enum go_version version = GO_1_2; version <= GO_1_20; version++) {
		struct go_fixture fix = {.version = version};
		struct go_fixture bare = {.version = version, .has_no_sections = true};

		check_fixture(&fix);
		check_fixture(&bare);
	}
}

/* Go 1.13 and 1.14 have the tree one place further on. */
static void tree_of_1_13(void **state)
{
	struct go_fixture fix = {.version = GO_1_2, .tree_slot = 4};

	check_fixture(&fix);
}

static void text_from_moduledata(void **state)
{
	struct go_fixture fix = {.version = GO_1_20, .has_no_header_text = true};
	struct go_fixture later = {
		.version = GO_1_20,
		.has_no_header_text = true,
		.has_end_word = true,
	};

	check_fixture(&fix);
	check_fixture(&later);
}

static void moduledata_from_relocations(void **state)
{
	struct go_fixture fix = {.is_relocated = true, .has_no_header_text = true};

	fix.version = GO_1_18;
	check_fixture(&fix);
	fix = (struct go_fixture){
		.version = GO_1_20,
		.is_relocated = true,
		.has_no_header_text = true,
		.has_no_sections = true,
	};
	check_fixture(&fix);
}

/* Without moduledata the header's text is enough for all but the inlined calls. */
static void no_moduledata(void **state)
{
	struct go_fixture fix = {.version = GO_1_20};
	struct open_image open;
	struct go_chain chain;

	go_fixture_fill(&fix);
	go_put(&fix, GO_MODULEDATA_AT, 0, 8);
	assert_int_equal(image_open(&fix, &open), 0);
	assert_int_equal(go_symbols_find(open.syms, GO_TEXT + 0x20, &chain), 0);
	assert_int_equal(chain.cnt, 1);
	check_frame(&chain.frames[0], "main.main", "leaf.go", 30, 8);
	image_close(&open);

	go_put(&fix, 24, 0, 8);
	assert_int_equal(image_open(&fix, &open), -ENOENT);
	image_close(&open);
}

/* An inlined call that says it is its own caller is one frame; where it was called is not known. */
static void endless_chain(void **state)
{
	struct go_fixture fix = {.version = GO_1_20};
	struct open_image open;
	struct go_chain chain;

	go_fixture_fill(&fix);
	go_put_inlined(&fix, 0, GO_NAME_MID, 0x18, 10, 18);
	assert_int_equal(image_open(&fix, &open), 0);
	assert_int_equal(go_symbols_find(open.syms, GO_TEXT + 0x20, &chain), 0);
	assert_int_equal(chain.cnt, 3);
	check_frame(&chain.frames[0], "main.leaf", "leaf.go", 30, 28);
	check_frame(&chain.frames[1], "main.mid", "main.go", 20, 18);
	check_frame(&chain.frames[2], "main.main", "main.go", 0, 8);
	image_close(&open);

	/* main.mid within main.mid */
	go_fixture_fill(&fix);
	go_put_inlined(&fix, 1, GO_NAME_MID, 0x18, 20, 18);
	assert_int_equal(image_open(&fix, &open), 0);
	assert_int_equal(go_symbols_find(open.syms, GO_TEXT + 0x20, &chain), 0);
	assert_int_equal(chain.cnt, 2);
	check_frame(&chain.frames[0], "main.mid", "leaf.go", 30, 18);
	check_frame(&chain.frames[1], "main.main", "main.go", 0, 8);
	image_close(&open);
}

/* Calls with a name that is none, or from outside the function, are not believed. */
static void wrong_tree(void **state)
{
	struct open_image open;
	struct go_chain chain;

	for (int i = 0; i < 2; i++) {
		struct go_fixture fix = {.version = GO_1_20};

		go_fixture_fill(&fix);
		go_put_inlined(&fix, 0, i ? GO_NAME_MID : GO_NAME_MID + 1, i ? 0x40 : 8, 10, 18);
		assert_int_equal(image_open(&fix, &open), 0);
		assert_int_equal(go_symbols_find(open.syms, GO_TEXT + 0x10, &chain), 0);
		assert_int_equal(chain.cnt, 1);
		check_frame(&chain.frames[0], "main.main", "main.go", 20, 8);
		image_close(&open);
	}
}

/* One byte of the table changed at a time: whatever is still found is in order. */
static void damaged_tables(void **state)
{
	for (enum go_version version = GO_1_2; version <= GO_1_20; version++) {
		for (size_t at = 0; at < GO_MODULEDATA_AT; at++) {
			struct go_fixture fix = {.version = version};
			struct open_image open;
			struct go_chain chain;

			go_fixture_fill(&fix);
			fix.data[at] ^= 0xff;
			if (image_open(&fix, &open)) {
				image_close(&open);
				continue;
			}
			for (uint64_t off = 0; off < 0x60; off += 0x0f) {
				if (go_symbols_find(open.syms, GO_TEXT + off, &chain))
					continue;
				assert_in_range(chain.cnt, 1, GO_FRAMES_MAX);
				for (size_t i = 0; i < chain.cnt; i++) {
					assert_non_null(chain.frames[i].name);
					assert_non_null(chain.frames[i].file);
					assert_int_equal(chain.frames[i].is_inlined,
							 i + 1 < chain.cnt);
				}
			}
			image_close(&open);
		}
	}
}

/* A stripped program of C is not searched through. */
static void not_go(void **state)
{
	struct go_fixture fix = {.version = GO_1_20};
	struct elf_image image;
	struct go_symbols *syms = NULL;
	struct elf_file *elf;

	go_fixture_fill(&fix);
	image = go_fixture_image(&fix);
	memcpy(image.bytes + image.shdrs[image.shdr_cnt - 1].sh_offset + 1, ".rodata\0\0", 10);
	elf = elf_file_from_memory(image.bytes, image.len);
	assert_non_null(elf);
	assert_int_equal(go_symbols_from_elf(elf, &syms), -ENOENT);
	assert_null(syms);
	elf_file_free(elf);
	image_deinit(&image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_version),
		cmocka_unit_test(tree_of_1_13),
		cmocka_unit_test(text_from_moduledata),
		cmocka_unit_test(moduledata_from_relocations),
		cmocka_unit_test(no_moduledata),
		cmocka_unit_test(endless_chain),
		cmocka_unit_test(wrong_tree),
		cmocka_unit_test(damaged_tables),
		cmocka_unit_test(not_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
