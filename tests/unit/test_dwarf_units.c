/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of several units at one place: DWARF 4 units written here, without lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "elf/dwarf_index.h"
#include "dwarf_chain.h"
#include "elf_image.h"

enum { TEXT = 0x1000, TEXT_BYTES = 0x100 };

enum abbrev { UNIT = 1, FUNC };

/* clang-format off: an attribute with its form in each pair */
static const uint8_t abbrevs[] = {
	/* DW_TAG_compile_unit with children: low_pc addr, high_pc data4 */
	UNIT,
	0x11,
	1,
	0x11,
	0x01,
	0x12,
	0x06,
	0,
	0,
	/* DW_TAG_subprogram with children: name string, low_pc, high_pc */
	FUNC,
	0x2e,
	1,
	0x03,
	0x08,
	0x11,
	0x01,
	0x12,
	0x06,
	0,
	0,
	0,
};
/* clang-format on */

static void add_number(struct buf *info, uint64_t number, size_t bytes)
{
	buf_add(info, &number, bytes);
}

/* A unit's header; its place. end_unit() writes the length. */
static size_t begin_unit(struct buf *info, uint64_t low_pc, uint32_t size)
{
	size_t at = info->len;

	add_number(info, 0, 4);
	add_number(info, 4, 2); /* version */
	add_number(info, 0, 4); /* abbreviations */
	add_number(info, 8, 1); /* bytes of an address */
	add_number(info, UNIT, 1);
	add_number(info, low_pc, 8);
	add_number(info, size, 4);
	return at;
}

static void add_func(struct buf *info, const char *name, uint64_t low_pc, uint32_t size)
{
	add_number(info, FUNC, 1);
	buf_add(info, name, strlen(name) + 1);
	add_number(info, low_pc, 8);
	add_number(info, size, 4);
}

static void end_children(struct buf *info)
{
	add_number(info, 0, 1);
}

static void end_unit(struct buf *info, size_t at)
{
	uint32_t len;

	end_children(info);
	len = (uint32_t)(info->len - at - 4);
	memcpy(info->data + at, &len, sizeof(len));
}

static struct dwarf_index *open_info(const struct buf *info)
{
	static const uint8_t text[TEXT_BYTES];
	struct dwarf_index_opts opts = {.alt_fd = -1, .root_fd = -1};
	struct dwarf_index *index = NULL;
	struct elf_image image;
	int fd;

	image_init(&image, EM_X86_64);
	image_segment(&image, (Elf64_Phdr){.p_type = PT_LOAD,
					   .p_flags = PF_R | PF_X,
					   .p_vaddr = TEXT,
					   .p_offset = image_append(&image, text, TEXT_BYTES),
					   .p_filesz = TEXT_BYTES,
					   .p_memsz = TEXT_BYTES});
	image_section(&image, ".debug_abbrev", (Elf64_Shdr){.sh_type = SHT_PROGBITS}, abbrevs,
		      sizeof(abbrevs));
	image_section(&image, ".debug_info", (Elf64_Shdr){.sh_type = SHT_PROGBITS}, info->data,
		      info->len);
	image_finish(&image);
	fd = bytes_to_fd(image.bytes, image.len);
	assert_int_equal(dwarf_index_open(fd, &opts, &index), 0);
	close(fd);
	image_deinit(&image);
	return index;
}

static void check_name(struct dwarf_index *index, uint64_t vaddr, const char *name)
{
	struct dwarf_frame frame;

	assert_int_equal(chain_find(index, vaddr, &frame, 1), 1);
	assert_string_equal(frame.name, name);
}

/*
 * Of a function that several units have (a template), GNU ld keeps the first, and lets the
 * descriptions of the others point to that as well where they are of the same size.
 */
static void test_dropped_copy(void **state)
{
	static const char *const names[] = {"kept", "dropped", "dropped too"};
	struct dwarf_index *index;
	struct buf info;

	buf_init(&info, 4096);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t unit_at = begin_unit(&info, TEXT + i, 0x40);

		add_func(&info, names[i], TEXT + i, 0x40);
		end_children(&info);
		end_unit(&info, unit_at);
	}
	assert_int_equal(info.err, 0);
	index = open_info(&info);
	check_name(index, TEXT, "kept");
	check_name(index, TEXT + 0x3f, "kept");
	check_name(index, TEXT + 0x40, "dropped");
	check_name(index, TEXT + 0x41, "dropped too");
	dwarf_index_free(index);
	buf_deinit(&info);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dropped_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
