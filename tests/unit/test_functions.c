/* SPDX-License-Identifier: Apache-2.0 */
/* Functions by address, and whether an instruction begins at an address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/functions.h"
#include "elf_image.h"
#include "event/code_check.h"

#define TEXT 0x401000

enum { FUNC = STT_FUNC, GLOBAL = STB_GLOBAL, LOCAL = STB_LOCAL, TEXT_SECTION = 1 };

/* 0: test %rdi,%rdi; 3: je +1; 5: push %rbp; 6: ret; 7: vzeroupper; 10: ret; 11: no instruction */
static const uint8_t code[16] = {0x48, 0x85, 0xff, 0x74, 0x01, 0x55, 0xc3, 0xc5,
				 0xf8, 0x77, 0xc3, 0x06, 0x06, 0x06, 0x06, 0x06};

static const struct image_symbol symbols[] = {
	{"__libc_alloc", TEXT, 7, FUNC, GLOBAL, TEXT_SECTION},
	{"alloc@@LIB_2.0", TEXT, 7, FUNC, GLOBAL, TEXT_SECTION},
	{"vector_end", TEXT + 7, 0, FUNC, LOCAL, TEXT_SECTION},
	{"choose", TEXT + 10, 1, STT_GNU_IFUNC, GLOBAL, TEXT_SECTION},
	{"broken", TEXT + 11, 3, FUNC, GLOBAL, TEXT_SECTION},
	{"local_label", TEXT + 5, 0, STT_NOTYPE, LOCAL, TEXT_SECTION},
};
static const struct image_symbol exported[] = {
	{"alloc", TEXT, 7, FUNC, GLOBAL, TEXT_SECTION},
};

struct opened {
	struct elf_image image;
	struct elf_file *elf;
	struct elf_segments segments;
	struct functions functions;
	int fd;
};

/* Half of .text's 16 bytes, in file and memory, where @has_symbols, are those of functions. */
static void open_image(struct opened *file, bool has_symbols)
{
	struct elf_image *image = &file->image;

	*file = (struct opened){0};
	image_init(image, EM_X86_64);
	image_text(image, ".text", TEXT, code, sizeof(code));
	image_segment(image, (Elf64_Phdr){.p_type = PT_LOAD,
					  .p_flags = PF_R | PF_X,
					  .p_offset = image->shdrs[1].sh_offset,
					  .p_vaddr = TEXT,
					  .p_filesz = sizeof(code),
					  .p_memsz = sizeof(code)});
	image_segment(image, (Elf64_Phdr){.p_type = PT_LOAD,
					  .p_flags = PF_R,
					  .p_offset = 0,
					  .p_vaddr = 0,
					  .p_filesz = 64,
					  .p_memsz = 64});
	if (has_symbols) {
		image_symbols(image, SHT_SYMTAB, symbols, sizeof(symbols) / sizeof(*symbols));
		image_symbols(image, SHT_DYNSYM, exported, 1);
	}
	image_finish(image);
	file->elf = elf_file_from_memory(image->bytes, image->len);
	assert_non_null(file->elf);
	file->fd = memfd_create("image", MFD_CLOEXEC);
	assert_true(file->fd >= 0);
	assert_int_equal(write(file->fd, image->bytes, image->len), image->len);
	assert_int_equal(elf_segments_read(file->fd, &file->segments), 0);
	assert_int_equal(functions_from_elf(file->elf, NULL, &file->functions), 0);
}

static void close_image(struct opened *file)
{
	functions_deinit(&file->functions);
	elf_segments_deinit(&file->segments);
	close(file->fd);
	elf_file_free(file->elf);
	image_deinit(&file->image);
}

static void test_names(void **state)
{
	struct opened file;

	open_image(&file, true);
	assert_int_equal(file.functions.cnt, 5); /* no local label */
	/* Of two names at one place the plain one, without its version. */
	assert_string_equal(functions_at(&file.functions, TEXT)->name, "alloc");
	assert_true(functions_at(&file.functions, TEXT + 10)->is_ifunc);
	close_image(&file);
}

static void test_extent(void **state)
{
	struct opened file;

	open_image(&file, true);
	assert_string_equal(functions_at(&file.functions, TEXT + 3)->name, "alloc");
	assert_string_equal(functions_at(&file.functions, TEXT + 9)->name, "vector_end");
	assert_null(functions_at(&file.functions, TEXT - 1));
	assert_int_equal(functions_extent(&file.functions, functions_at(&file.functions, TEXT)), 7);
	assert_int_equal(functions_extent(&file.functions, functions_at(&file.functions, TEXT + 7)),
			 0);
	close_image(&file);
}

/* Names of one place are in the order of their underscores, lengths and letters; one that is
 * there with and without its version is one, and what the better of them says. */
static void test_aliases(void **state)
{
	static const struct image_symbol all[] = {
		{"same", TEXT + 4, 0, STT_NOTYPE, GLOBAL, TEXT_SECTION},
		{"same@@V1", TEXT + 4, 8, STT_GNU_IFUNC, GLOBAL, TEXT_SECTION},
		{"bb", TEXT + 4, 4, FUNC, GLOBAL, TEXT_SECTION},
		{"aa", TEXT + 4, 4, FUNC, GLOBAL, TEXT_SECTION},
		{"_a", TEXT + 4, 4, FUNC, GLOBAL, TEXT_SECTION},
		{"before", TEXT, 4, FUNC, GLOBAL, TEXT_SECTION},
	};
	static const char *const wanted[] = {"before", "aa", "bb", "same", "_a"};
	struct functions functions;
	struct elf_image image;
	struct elf_file *elf;

	image_init(&image, EM_X86_64);
	image_text(&image, ".text", TEXT, code, sizeof(code));
	image_symbols(&image, SHT_SYMTAB, all, sizeof(all) / sizeof(*all));
	image_finish(&image);
	elf = elf_file_from_memory(image.bytes, image.len);
	assert_non_null(elf);
	assert_int_equal(functions_from_elf(elf, NULL, &functions), 0);
	assert_int_equal(functions.cnt, sizeof(wanted) / sizeof(*wanted));
	for (size_t i = 0; i < functions.cnt; i++)
		assert_string_equal(functions.items[i].name, wanted[i]);
	assert_int_equal(functions.items[3].size, 8);
	assert_true(functions.items[3].is_ifunc);
	assert_false(functions.items[3].is_label);
	assert_int_equal(functions.end, TEXT + 12);
	functions_deinit(&functions);
	elf_file_free(elf);
	image_deinit(&image);
}

static void check_at(const struct opened *file, uint64_t vaddr, int err)
{
	struct code_image image = {.fd = file->fd,
				   .elf = file->elf,
				   .segments = &file->segments,
				   .functions = &file->functions};
	struct insn insn;
	struct buf why;

	buf_init(&why, 1024);
	assert_int_equal(code_check(&image, vaddr, &insn, &why), err);
	assert_int_equal(why.len > 0, err != 0);
	buf_deinit(&why);
}

static void test_code_check(void **state)
{
	struct opened file;
	uint64_t off;

	open_image(&file, true);
	check_at(&file, TEXT, 0);
	check_at(&file, TEXT + 1, -EINVAL);
	check_at(&file, TEXT + 2, -EINVAL);
	check_at(&file, TEXT + 3, 0);
	check_at(&file, TEXT + 4, -EINVAL);
	check_at(&file, TEXT + 5, 0);
	check_at(&file, TEXT + 7, -EOPNOTSUPP); /* vzeroupper */
	check_at(&file, TEXT + 10, 0);
	check_at(&file, TEXT + 12, -EBADMSG);
	check_at(&file, 0x10, -EFAULT);
	check_at(&file, TEXT + 16, -EFAULT);
	assert_int_equal(code_file_off(&file.segments, TEXT + 5, &off), 0);
	assert_int_equal(off, file.image.shdrs[1].sh_offset + 5);
	close_image(&file);

	open_image(&file, false);
	assert_int_equal(file.functions.cnt, 0);
	check_at(&file, TEXT, -ENOENT);
	close_image(&file);
}

/* .eh_frame_hdr as GNU ld writes it, with functions at TEXT and TEXT + 7. */
static void test_unwind_table(void **state)
{
	enum { HDR = 0x402000 };
	const int32_t words[] = {0x3b031b01, 0, 2, TEXT - HDR, 0, TEXT + 7 - HDR, 0};
	struct elf_image image;
	struct elf_file *elf;
	uint64_t start;

	image_init(&image, EM_X86_64);
	image_section(&image, ".eh_frame_hdr", (Elf64_Shdr){.sh_type = SHT_PROGBITS}, words,
		      sizeof(words));
	image_segment(&image, (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
					   .p_offset = image.shdrs[1].sh_offset,
					   .p_vaddr = HDR,
					   .p_filesz = sizeof(words)});
	image_finish(&image);
	elf = elf_file_from_memory(image.bytes, image.len);
	assert_non_null(elf);
	assert_int_equal(unwind_table_start(elf, TEXT - 1, &start), -ENOENT);
	assert_int_equal(unwind_table_start(elf, TEXT + 6, &start), 0);
	assert_int_equal(start, TEXT);
	assert_int_equal(unwind_table_start(elf, TEXT + 9, &start), 0);
	assert_int_equal(start, TEXT + 7);
	elf_file_free(elf);
	image_deinit(&image);
}

/* Tables that are cut, of another form, or that say that they have more than they do. */
static void test_hostile_unwind_table(void **state)
{
	enum { HDR = 0x402000 };
	static const struct {
		uint32_t words[5];
		size_t len;
		int err;
	} cases[] = {
		{{0x3b031b01, 0, 0xffffffff, 0, 0}, 20, 0}, {{0x3b031b01, 0, 0, 0, 0}, 20, -ENOENT},
		{{0x3b031b01, 0, 1, 0, 0}, 19, -ENOENT},    {{0x3b031b01, 0, 1, 0, 0}, 11, -ENOENT},
		{{0x3b031b02, 0, 1, 0, 0}, 20, -ENOENT},    {{0x3b041b01, 0, 1, 0, 0}, 20, -ENOENT},
		{{0x1b031b01, 0, 1, 0, 0}, 20, -ENOENT},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct elf_image image;
		struct elf_file *elf;
		uint64_t start = 0;

		image_init(&image, EM_X86_64);
		image_section(&image, ".eh_frame_hdr", (Elf64_Shdr){.sh_type = SHT_PROGBITS},
			      cases[i].words, cases[i].len);
		image_segment(&image, (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
						   .p_offset = image.shdrs[1].sh_offset,
						   .p_vaddr = HDR,
						   .p_filesz = cases[i].len});
		image_finish(&image);
		elf = elf_file_from_memory(image.bytes, image.len);
		assert_non_null(elf);
		assert_int_equal(unwind_table_start(elf, HDR + 5, &start), cases[i].err);
		if (!cases[i].err)
			assert_int_equal(start, HDR);
		elf_file_free(elf);
		image_deinit(&image);
	}
}

/* One that is not in the file, and none. */
static void test_no_unwind_table(void **state)
{
	for (int has_segment = 0; has_segment < 2; has_segment++) {
		struct elf_image image;
		struct elf_file *elf;
		uint64_t start;

		image_init(&image, EM_X86_64);
		if (has_segment)
			image_segment(&image, (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
							   .p_offset = IMAGE_BYTES_MAX,
							   .p_filesz = 20});
		image_segment(&image, (Elf64_Phdr){.p_type = PT_LOAD});
		image_finish(&image);
		elf = elf_file_from_memory(image.bytes, image.len);
		assert_non_null(elf);
		assert_int_equal(unwind_table_start(elf, TEXT, &start), -ENOENT);
		elf_file_free(elf);
		image_deinit(&image);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),		cmocka_unit_test(test_extent),
		cmocka_unit_test(test_aliases),		cmocka_unit_test(test_code_check),
		cmocka_unit_test(test_unwind_table),	cmocka_unit_test(test_hostile_unwind_table),
		cmocka_unit_test(test_no_unwind_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
