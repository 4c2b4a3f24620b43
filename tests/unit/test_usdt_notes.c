/* SPDX-License-Identifier: Apache-2.0 */
/* USDT notes of images made by hand, and functions and addresses of the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/segments.h"
#include "elf/symtab.h"
#include "elf/usdt_notes.h"
#include "elf_image.h"

enum { BASE = 0x2000, TEXT = 0x401000 };

static size_t pad4(uint8_t *out, size_t len)
{
	while (len % 4)
		out[len++] = 0;
	return len;
}

/* @strings: provider, name and arguments, each with its NUL, @strings_len bytes of them. */
static size_t put_probe(uint8_t *out, uint32_t type, const uint64_t addresses[3],
			const char *strings, uint32_t strings_len)
{
	const uint32_t head[3] = {8, 24 + strings_len, type};

	memcpy(out, head, sizeof(head));
	memcpy(out + 12, "stapsdt", 8);
	memcpy(out + 20, addresses, 24);
	memcpy(out + 44, strings, strings_len);
	return pad4(out, 44 + strings_len);
}

#define STRINGS(text) text, sizeof(text)

/* One of another type and one cut short among three that count. */
static size_t put_notes(uint8_t *out)
{
	const uint64_t first[3] = {0x1180, BASE, 0x3000}, second[3] = {0x1190, BASE, 0},
		       third[3] = {0x11a0, 0, 0};
	size_t len = 0;

	len += put_probe(out + len, 3, first, STRINGS("app\0start\0-4@%edi"));
	len += put_probe(out + len, 2, second, STRINGS("app\0other\0"));
	len += put_probe(out + len, 3, second, STRINGS("app\0start\0"));
	len += put_probe(out + len, 3, second, "app", 3);
	len += put_probe(out + len, 3, third, STRINGS("lib\0stop\0 8@%rax 4@$1"));
	return len;
}

struct told {
	char text[512];
	int cnt;
};

static int tell(void *arg, const struct usdt_note *note)
{
	struct told *told = arg;
	size_t len = strlen(told->text);

	snprintf(told->text + len, sizeof(told->text) - len, "%s:%s %" PRIx64 " %" PRIx64 " '%s'\n",
		 note->provider, note->name, note->pc_vaddr, note->semaphore_vaddr, note->args);
	told->cnt++;
	return 0;
}

static int stop(void *arg, const struct usdt_note *note)
{
	return 5;
}

/* @base: where .stapsdt.base lies; 0: the image has none. */
static void check_notes(uint64_t base, const char *expected)
{
	uint8_t notes[512];
	size_t len = put_notes(notes);
	struct told told = {""};
	struct elf_image image;
	struct elf_file *elf;

	image_init(&image, EM_X86_64);
	if (base)
		image_section(&image, ".stapsdt.base",
			      (Elf64_Shdr){.sh_type = SHT_PROGBITS,
					   .sh_flags = SHF_ALLOC,
					   .sh_addr = base},
			      "", 1);
	image_section(&image, ".note.stapsdt", (Elf64_Shdr){.sh_type = SHT_NOTE, .sh_addralign = 4},
		      notes, len);
	image_finish(&image);
	elf = elf_file_from_memory(image.bytes, image.len);
	assert_non_null(elf);
	assert_int_equal(usdt_notes_for_each(elf, tell, &told), 0);
	assert_string_equal(told.text, expected);
	assert_int_equal(usdt_notes_for_each(elf, stop, NULL), 5);
	elf_file_free(elf);
	image_deinit(&image);
}

static void test_notes(void **state)
{
	static const char as_written[] = "app:start 1180 3000 '-4@%edi'\n"
					 "app:start 1190 0 ''\n"
					 "lib:stop 11a0 0 ' 8@%rax 4@$1'\n";

	check_notes(0, as_written);
	check_notes(BASE, as_written);
}

static void test_moved_base(void **state)
{
	check_notes(BASE + 0x3000, "app:start 4180 6000 '-4@%edi'\n"
				   "app:start 4190 0 ''\n"
				   "lib:stop 11a0 0 ' 8@%rax 4@$1'\n");
	check_notes(BASE - 0x1000, "app:start 180 2000 '-4@%edi'\n"
				   "app:start 190 0 ''\n"
				   "lib:stop 11a0 0 ' 8@%rax 4@$1'\n");
}

static void test_cut_anywhere(void **state)
{
	uint8_t notes[512];
	size_t len = put_notes(notes);

	for (size_t i = 0; i < len; i++) {
		uint8_t *cut = malloc(i + 1);
		struct told told = {""};

		assert_non_null(cut);
		memcpy(cut, notes, i);
		assert_int_equal(usdt_notes_parse(cut, i, tell, &told), 0);
		assert_true(told.cnt < 3 || i + 4 > len); /* but for padding */
		free(cut);
	}
}

/* --- What else probes are put by --- */

static int name_function(void *arg, const struct elf_function *function)
{
	struct told *told = arg;
	size_t len = strlen(told->text);

	snprintf(told->text + len, sizeof(told->text) - len, "%s %" PRIx64 "+%" PRIx64 "%s%s%s\n",
		 function->name, function->vaddr - TEXT, function->size_bytes,
		 function->is_ifunc ? " ifunc" : "", function->is_label ? " label" : "",
		 function->is_local ? " local" : "");
	told->cnt++;
	return 0;
}

static void check_functions(uint32_t type, enum symtab_source expected)
{
	static const struct image_symbol symbols[] = {
		{"plain", TEXT, 0x10, STT_FUNC, STB_GLOBAL, 1},
		{"alias", TEXT, 0x10, STT_FUNC, STB_WEAK, 1},
		{"chosen@@V_2", TEXT + 0x10, 8, STT_GNU_IFUNC, STB_GLOBAL, 1},
		{"hidden", TEXT + 0x20, 8, STT_FUNC, STB_LOCAL, 1},
		{"label", TEXT + 0x24, 0, STT_NOTYPE, STB_LOCAL, 1},
		{"data", 0x600000, 8, STT_NOTYPE, STB_GLOBAL, 2},
		{"imported", 0, 0, STT_FUNC, STB_GLOBAL, SHN_UNDEF},
	};
	enum symtab_source source = SYMTAB_NONE;
	struct told told = {""};
	struct elf_image image;
	struct elf_file *elf;

	image_init(&image, EM_X86_64);
	image_text(&image, ".text", TEXT, NULL, 256);
	image_symbols(&image, type, symbols, 7);
	image_finish(&image);
	elf = elf_file_from_memory(image.bytes, image.len);
	assert_non_null(elf);
	assert_int_equal(symtab_for_each(elf, NULL, name_function, &told, &source), 0);
	assert_int_equal(source, expected);
	assert_string_equal(told.text, "plain 0+10\nalias 0+10\nchosen 10+8 ifunc\n"
				       "hidden 20+8 local\nlabel 24+0 label local\n");
	elf_file_free(elf);
	image_deinit(&image);
}

static void test_functions(void **state)
{
	check_functions(SHT_SYMTAB, SYMTAB_FULL);
	check_functions(SHT_DYNSYM, SYMTAB_DYNAMIC);
}

static void test_file_offsets(void **state)
{
	struct elf_segment items[] = {
		{.file_off = 0x1000, .file_bytes = 0x100, .vaddr = 0x401000, .is_exec = true},
		{.file_off = 0x2000, .file_bytes = 0x80, .vaddr = 0x403000},
	};
	const struct elf_segments segments = {.items = items, .cnt = 2};
	uint64_t off;

	assert_int_equal(elf_segments_file_off(&segments, 0x401010, &off), 0);
	assert_int_equal(off, 0x1010);
	assert_int_equal(elf_segments_file_off(&segments, 0x40307f, &off), 0);
	assert_int_equal(off, 0x207f);
	assert_int_equal(elf_segments_file_off(&segments, 0x403080, &off), -ENOENT);
	assert_true(elf_segments_is_code(&segments, 0x4010ff));
	assert_false(elf_segments_is_code(&segments, 0x401100));
	assert_false(elf_segments_is_code(&segments, 0x403000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_notes),	     cmocka_unit_test(test_moved_base),
		cmocka_unit_test(test_cut_anywhere), cmocka_unit_test(test_functions),
		cmocka_unit_test(test_file_offsets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
