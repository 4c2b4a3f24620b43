/* SPDX-License-Identifier: Apache-2.0 */
/* Which symbol names an address: the rules of symbol_index.h and symtab.h, one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "elf/elf_file.h"
#include "elf/symbol_index.h"
#include "elf/symtab.h"
#include "elf_image.h"

#define TEXT 0x401000

enum { FUNC = STT_FUNC, GLOBAL = STB_GLOBAL, LOCAL = STB_LOCAL, WEAK = STB_WEAK, TEXT_SECTION = 1 };

struct opened {
	struct elf_image image;
	struct elf_file *elf;
	struct symtab *symtab;
};

static void open_image(struct opened *file)
{
	image_finish(&file->image);
	file->elf = elf_file_from_memory(file->image.bytes, file->image.len);
	assert_non_null(file->elf);
	assert_int_equal(symtab_from_elf(file->elf, NULL, &file->symtab), 0);
}

/* One code section of 4,096 bytes at TEXT, and @symbols. */
static void open_symbols(struct opened *file, uint16_t machine, uint32_t type,
			 const struct image_symbol *symbols, size_t cnt)
{
	image_init(&file->image, machine);
	image_text(&file->image, ".text", TEXT, NULL, 4096);
	image_symbols(&file->image, type, symbols, cnt);
	open_image(file);
}

static void close_image(struct opened *file)
{
	symtab_free(file->symtab);
	elf_file_free(file->elf);
	image_deinit(&file->image);
}

/* @name NULL: nothing is to be found. */
static void check_name(const struct opened *file, uint64_t vaddr, const char *name)
{
	struct symtab_name found;
	char text[128];

	if (!name) {
		assert_int_equal(symtab_find(file->symtab, vaddr, &found), -ENOENT);
		return;
	}
	assert_int_equal(symtab_find(file->symtab, vaddr, &found), 0);
	snprintf(text, sizeof(text), "%.*s%s", (int)found.len, found.str,
		 found.is_plt ? "@plt" : "");
	assert_string_equal(text, name);
	assert_true(vaddr >= found.start && vaddr < found.end);
}

static void test_order_of_aliases(void **state)
{
	static const struct image_symbol symbols[] = {
		{"shorter", TEXT, 0x10, FUNC, GLOBAL, TEXT_SECTION},
		{"longer", TEXT, 0x20, FUNC, LOCAL, TEXT_SECTION},
		{"a_local", TEXT + 0x100, 0x10, FUNC, LOCAL, TEXT_SECTION},
		{"weak", TEXT + 0x100, 0x10, FUNC, WEAK, TEXT_SECTION},
		{"__global", TEXT + 0x100, 0x10, FUNC, GLOBAL, TEXT_SECTION},
		{"_global", TEXT + 0x100, 0x10, FUNC, GLOBAL, TEXT_SECTION},
		{"first", TEXT + 0x200, 0x10, FUNC, GLOBAL, TEXT_SECTION},
		{"second", TEXT + 0x200, 0x10, FUNC, GLOBAL, TEXT_SECTION},
		{"unsized", TEXT + 0x200, 0, FUNC, GLOBAL, TEXT_SECTION},
	};
	struct opened file = {0};

	open_symbols(&file, EM_X86_64, SHT_SYMTAB, symbols, 9);
	assert_int_equal(symtab_source(file.symtab), SYMTAB_FULL);
	check_name(&file, TEXT, "longer");
	check_name(&file, TEXT + 0x1f, "longer");
	check_name(&file, TEXT + 0x105, "_global");
	check_name(&file, TEXT + 0x20f, "first");
	close_image(&file);
}

static void test_sizes_are_honoured(void **state)
{
	static const struct image_symbol symbols[] = {
		{"outer", TEXT + 0x10, 0x90, FUNC, GLOBAL, TEXT_SECTION},
		{"label", TEXT + 0x18, 0, STT_NOTYPE, LOCAL, TEXT_SECTION},
		{"inner", TEXT + 0x20, 0x10, FUNC, LOCAL, TEXT_SECTION},
		{"innermost", TEXT + 0x28, 0x04, FUNC, LOCAL, TEXT_SECTION},
		{"overlap", TEXT + 0x80, 0x80, FUNC, LOCAL, TEXT_SECTION},
	};
	struct opened file = {0};

	open_symbols(&file, EM_X86_64, SHT_SYMTAB, symbols, 5);
	check_name(&file, TEXT + 0x0f, NULL);
	check_name(&file, TEXT + 0x10, "outer");
	check_name(&file, TEXT + 0x18, "outer");
	check_name(&file, TEXT + 0x20, "inner");
	check_name(&file, TEXT + 0x2b, "innermost");
	check_name(&file, TEXT + 0x2c, "inner");
	check_name(&file, TEXT + 0x30, "outer");
	check_name(&file, TEXT + 0x7f, "outer");
	check_name(&file, TEXT + 0x80, "overlap");
	check_name(&file, TEXT + 0xff, "overlap");
	check_name(&file, TEXT + 0x100, NULL);
	close_image(&file);
}

static void test_unsized_in_symtab(void **state)
{
	static const struct image_symbol symbols[] = {
		{"asm_entry", TEXT + 0x10, 0, FUNC, GLOBAL, TEXT_SECTION},
		{"asm_next", TEXT + 0x40, 0, STT_NOTYPE, LOCAL, TEXT_SECTION},
		{"sized", TEXT + 0x80, 0x10, FUNC, GLOBAL, TEXT_SECTION},
		{"last", TEXT + 0x200, 0, FUNC, GLOBAL, TEXT_SECTION},
	};
	struct opened file = {0};

	open_symbols(&file, EM_X86_64, SHT_SYMTAB, symbols, 4);
	check_name(&file, TEXT + 0x3f, "asm_entry");
	check_name(&file, TEXT + 0x40, "asm_next");
	check_name(&file, TEXT + 0x7f, "asm_next");
	check_name(&file, TEXT + 0x90, NULL);
	check_name(&file, TEXT + 0xfff, "last");
	check_name(&file, TEXT + 0x1000, NULL); /* the section's end */
	close_image(&file);
}

/* A cgo binary showed OPENSSL_free for everything behind it: exported symbols are a selection. */
static void test_unsized_in_dynsym(void **state)
{
	static const struct image_symbol symbols[] = {
		{"exported", TEXT + 0x10, 0, FUNC, GLOBAL, TEXT_SECTION},
		{"sized", TEXT + 0x80, 0x10, FUNC, GLOBAL, TEXT_SECTION},
	};
	struct opened file = {0};

	open_symbols(&file, EM_X86_64, SHT_DYNSYM, symbols, 2);
	assert_int_equal(symtab_source(file.symtab), SYMTAB_DYNAMIC);
	check_name(&file, TEXT + 0x10, "exported");
	check_name(&file, TEXT + 0x11, NULL);
	check_name(&file, TEXT + 0x8f, "sized");
	close_image(&file);
}

static void test_which_symbols_count(void **state)
{
	static const struct image_symbol symbols[] = {
		{"GLIBC_2.2.5", TEXT, 0, STT_OBJECT, GLOBAL, SHN_ABS},
		{"absolute", TEXT, 0x10, FUNC, GLOBAL, SHN_ABS},
		{"imported", TEXT + 0x10, 0x10, FUNC, GLOBAL, SHN_UNDEF},
		{"object", TEXT + 0x20, 0x10, STT_OBJECT, GLOBAL, TEXT_SECTION},
		{"file.c", TEXT + 0x20, 0x10, STT_FILE, LOCAL, SHN_ABS},
		{"ifunc", TEXT + 0x30, 0x10, STT_GNU_IFUNC, GLOBAL, TEXT_SECTION},
		{"notype", TEXT + 0x40, 0x10, STT_NOTYPE, GLOBAL, TEXT_SECTION},
		{"in_data", 0x600000, 0x10, STT_NOTYPE, GLOBAL, 2},
		{"_etext", TEXT + 0x1000, 0, STT_NOTYPE, GLOBAL, TEXT_SECTION},
		{"unique", TEXT + 0x50, 0x10, FUNC, STB_GNU_UNIQUE, TEXT_SECTION},
		{"memcpy@@GLIBC_2.14", TEXT + 0x60, 0x10, FUNC, GLOBAL, TEXT_SECTION},
		{"memcpy@GLIBC_2.2.5", TEXT + 0x70, 0x10, FUNC, GLOBAL, TEXT_SECTION},
		{"$x", TEXT + 0x80, 0x10, FUNC, LOCAL, TEXT_SECTION},
		{"", TEXT + 0x90, 0x10, FUNC, LOCAL, TEXT_SECTION},
	};
	struct opened file = {0};

	open_symbols(&file, EM_X86_64, SHT_SYMTAB, symbols, 14);
	check_name(&file, TEXT, NULL);
	check_name(&file, TEXT + 0x10, NULL);
	check_name(&file, TEXT + 0x20, NULL);
	check_name(&file, TEXT + 0x30, "ifunc");
	check_name(&file, TEXT + 0x40, "notype");
	check_name(&file, 0x600000, NULL);
	check_name(&file, TEXT + 0x1000, NULL);
	check_name(&file, TEXT + 0x50, "unique");
	check_name(&file, TEXT + 0x60, "memcpy");
	check_name(&file, TEXT + 0x7f, "memcpy");
	check_name(&file, TEXT + 0x80, "$x"); /* a function's name on this machine */
	check_name(&file, TEXT + 0x90, NULL);
	close_image(&file);
}

static void test_arm_mapping_symbols(void **state)
{
	static const struct image_symbol symbols[] = {
		{"$x", TEXT, 0, STT_NOTYPE, LOCAL, TEXT_SECTION},
		{"$d.7", TEXT + 0x10, 0, STT_NOTYPE, LOCAL, TEXT_SECTION},
		{"entry", TEXT + 0x20, 0, STT_NOTYPE, LOCAL, TEXT_SECTION},
		{"$x.1", TEXT + 0x30, 0, STT_NOTYPE, LOCAL, TEXT_SECTION},
		{"$dollar", TEXT + 0x40, 0, STT_NOTYPE, LOCAL, TEXT_SECTION},
	};
	struct opened file = {0};

	open_symbols(&file, EM_AARCH64, SHT_SYMTAB, symbols, 5);
	check_name(&file, TEXT, NULL);
	check_name(&file, TEXT + 0x10, NULL);
	check_name(&file, TEXT + 0x30, "entry");
	check_name(&file, TEXT + 0x40, "$dollar");
	close_image(&file);
}

static void test_symtab_before_dynsym(void **state)
{
	static const struct image_symbol dynamic[] = {
		{"exported", TEXT, 0x10, FUNC, GLOBAL, TEXT_SECTION},
	};
	static const struct image_symbol full[] = {
		{"static_name", TEXT, 0x10, FUNC, LOCAL, TEXT_SECTION},
	};
	static const struct image_symbol data_only[] = {
		{"table", 0x600000, 0x10, STT_OBJECT, LOCAL, 2},
	};
	struct opened file = {0};

	image_init(&file.image, EM_X86_64);
	image_text(&file.image, ".text", TEXT, NULL, 64);
	image_symbols(&file.image, SHT_DYNSYM, dynamic, 1);
	image_symbols(&file.image, SHT_SYMTAB, full, 1);
	open_image(&file);
	check_name(&file, TEXT, "static_name");
	close_image(&file);

	image_init(&file.image, EM_X86_64);
	image_text(&file.image, ".text", TEXT, NULL, 64);
	image_symbols(&file.image, SHT_DYNSYM, dynamic, 1);
	image_symbols(&file.image, SHT_SYMTAB, data_only, 1);
	open_image(&file);
	assert_int_equal(symtab_source(file.symtab), SYMTAB_DYNAMIC);
	check_name(&file, TEXT, "exported");
	close_image(&file);
}

static void test_no_symbols(void **state)
{
	struct opened file = {0};

	image_init(&file.image, EM_X86_64);
	image_text(&file.image, ".text", TEXT, NULL, 64);
	open_image(&file);
	assert_int_equal(symtab_source(file.symtab), SYMTAB_NONE);
	check_name(&file, TEXT, NULL);
	check_name(&file, 0, NULL);
	check_name(&file, UINT64_MAX, NULL);
	close_image(&file);
}

/* Three imports; their GOT slots are filled out of order. */
static void add_imports(struct elf_image *image, uint32_t jump_slot, uint32_t glob_dat)
{
	static const struct image_symbol imports[] = {
		{"malloc", 0, 0, FUNC, GLOBAL, SHN_UNDEF},
		{"free", 0, 0, FUNC, GLOBAL, SHN_UNDEF},
		{"__cxa_finalize", 0, 0, FUNC, WEAK, SHN_UNDEF},
	};
	const Elf64_Rela plt[] = {
		{.r_offset = 0x404008, .r_info = ELF64_R_INFO(2UL, jump_slot)},
		{.r_offset = 0x404000, .r_info = ELF64_R_INFO(1UL, jump_slot)},
	};
	const Elf64_Rela dyn[] = {
		{.r_offset = 0x404010, .r_info = ELF64_R_INFO(3UL, glob_dat)},
		{.r_offset = 0x404018, .r_info = ELF64_R_INFO(999999UL, glob_dat)},
	};
	Elf64_Shdr shdr = {.sh_type = SHT_RELA, .sh_entsize = sizeof(Elf64_Rela)};

	shdr.sh_link = image_symbols(image, SHT_DYNSYM, imports, 3);
	image_section(image, ".rela.plt", shdr, plt, sizeof(plt));
	image_section(image, ".rela.dyn", shdr, dyn, sizeof(dyn));
}

static void put_x86_stub(uint8_t *at, uint64_t vaddr, uint64_t slot, bool has_endbr)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t pos = 0;
	int32_t rel;

	if (has_endbr) {
		memcpy(at, endbr64, sizeof(endbr64));
		pos = sizeof(endbr64);
	}
	at[pos++] = 0xff;
	at[pos++] = 0x25;
	rel = (int32_t)(slot - (vaddr + pos + 4));
	memcpy(at + pos, &rel, sizeof(rel));
}

static void test_plt_x86(void **state)
{
	uint8_t plt_sec[48] = {0}, plt_got[16] = {0};
	struct opened file = {0};

	put_x86_stub(plt_sec, 0x401100, 0x404000, true);
	put_x86_stub(plt_sec + 16, 0x401110, 0x404008, true);
	put_x86_stub(plt_sec + 32, 0x401120, 0x405555, true); /* no such slot */
	put_x86_stub(plt_got, 0x401200, 0x404010, false);
	put_x86_stub(plt_got + 8, 0x401208, 0x404018, false); /* a forged symbol number */
	image_init(&file.image, EM_X86_64);
	image_text(&file.image, ".plt.sec", 0x401100, plt_sec, sizeof(plt_sec));
	image_text(&file.image, ".plt.got", 0x401200, plt_got, sizeof(plt_got));
	file.image.shdrs[2].sh_entsize = 8;
	add_imports(&file.image, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT);
	open_image(&file);
	check_name(&file, 0x401100, "malloc@plt");
	check_name(&file, 0x40110f, "malloc@plt");
	check_name(&file, 0x401110, "free@plt");
	check_name(&file, 0x401120, NULL);
	check_name(&file, 0x401207, "__cxa_finalize@plt");
	check_name(&file, 0x401208, NULL);
	close_image(&file);
}

static void test_plt_aarch64(void **state)
{
	/* 0x401020: adrp x16, 0x404000; ldr x17, [x16, #8]; add x16, x16, #8; br x17 */
	static const uint32_t stubs[] = {
		0xd503245f, /* bti c, of a stub in the BTI layout */
		0xf0000010 & ~0x60000000u,
		0xf9400211,
		0x91000210,
		0xd61f0220,
		0xd503201f,
		0xd503245f,
		0xf0000010 & ~0x60000000u,
		0xf9400611,
		0x91002210,
		0xd61f0220,
		0xd503201f,
	};
	uint32_t code[12];
	struct opened file = {0};

	memcpy(code, stubs, sizeof(code));
	/* Three pages ahead: immlo (bits 30:29) = 3, immhi = 0. */
	code[1] |= 3u << 29;
	code[7] |= 3u << 29;
	image_init(&file.image, EM_AARCH64);
	image_text(&file.image, ".plt", 0x401020, code, sizeof(code));
	file.image.shdrs[1].sh_entsize = 24;
	add_imports(&file.image, R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT);
	open_image(&file);
	check_name(&file, 0x401020, "malloc@plt");
	check_name(&file, 0x401037, "malloc@plt");
	check_name(&file, 0x401038, "free@plt");
	check_name(&file, 0x40104f, "free@plt");
	check_name(&file, 0x401050, NULL);
	close_image(&file);
}

/* Every byte of the image forged in turn: nothing is read outside it (ASan), nothing hangs. */
static void test_damaged_image(void **state)
{
	static const struct image_symbol symbols[] = {
		{"one", TEXT, 0x10, FUNC, GLOBAL, TEXT_SECTION},
		{"two", TEXT + 0x10, 0, FUNC, GLOBAL, TEXT_SECTION},
	};
	struct opened file = {0};
	size_t opened_cnt = 0;

	image_init(&file.image, EM_X86_64);
	image_text(&file.image, ".text", TEXT, NULL, 64);
	add_imports(&file.image, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT);
	image_symbols(&file.image, SHT_SYMTAB, symbols, 2);
	image_finish(&file.image);
	for (size_t pos = 0; pos < file.image.len; pos++) {
		uint8_t *copy = malloc(file.image.len);
		struct symtab *symtab = NULL;
		struct symtab_name name;
		struct elf_file *elf;

		assert_non_null(copy);
		memcpy(copy, file.image.bytes, file.image.len);
		copy[pos] ^= 0xff;
		elf = elf_file_from_memory(copy, file.image.len);
		if (elf) {
			assert_int_equal(symtab_from_elf(elf, NULL, &symtab), 0);
			for (uint64_t vaddr = TEXT - 1; vaddr < TEXT + 65; vaddr++)
				symtab_find(symtab, vaddr, &name);
			opened_cnt++;
		}
		symtab_free(symtab);
		elf_file_free(elf);
		free(copy);
	}
	assert_true(opened_cnt > file.image.len / 2);
	image_deinit(&file.image);
}

static const char *no_name(const void *arg, uint32_t name)
{
	return "";
}

/* Against the rule itself: the innermost of the symbols around an address is the one that begins
 * last. */
static void test_index_against_scan(void **state)
{
	enum { CNT = 3000, SPAN = 20000 };
	static struct symbol symbols[CNT], shuffled[CNT];
	struct symbol_index index;

	srand(1);
	for (size_t i = 0; i < CNT; i++) {
		uint32_t start = (uint32_t)(rand() % SPAN);

		symbols[i] = (struct symbol){
			.start = start,
			.end = start + 1 + (uint32_t)(rand() % 40),
			.name = (uint32_t)i,
			.is_sized = true,
		};
	}
	memcpy(shuffled, symbols, sizeof(symbols));
	assert_int_equal(symbol_index_build(shuffled, CNT, no_name, NULL, &index), 0);
	for (uint32_t rel = 0; rel < SPAN + 50; rel++) {
		const struct symbol_range *found = symbol_index_find(&index, rel);
		const struct symbol *best = NULL;

		for (size_t i = 0; i < CNT; i++) {
			const struct symbol *symbol = &symbols[i];
			bool is_longest = true;

			if (rel < symbol->start || rel >= symbol->end)
				continue;
			for (size_t j = 0; j < CNT; j++)
				is_longest = is_longest && (symbols[j].start != symbol->start ||
							    symbols[j].end <= symbol->end);
			if (is_longest && (!best || symbol->start > best->start))
				best = symbol;
		}
		assert_int_equal(found != NULL, best != NULL);
		if (found)
			assert_int_equal(found->name, best->name);
	}
	symbol_index_deinit(&index);
}

/* Deeper than anything real: the innermost 32 still count, and memory stays bounded. */
static void test_deep_nesting(void **state)
{
	enum { CNT = 100 };
	struct symbol symbols[CNT];
	struct symbol_index index;

	for (uint32_t i = 0; i < CNT; i++)
		symbols[i] = (struct symbol){i, 1000 - i, i, SYMBOL_GLOBAL, true};
	assert_int_equal(symbol_index_build(symbols, CNT, no_name, NULL, &index), 0);
	assert_int_equal(symbol_index_find(&index, 50)->name, 50);
	assert_int_equal(symbol_index_find(&index, 99)->name, 99);
	assert_int_equal(symbol_index_find(&index, 1000 - 99)->name, 98);
	assert_true(index.cnt <= 2 * CNT);
	symbol_index_deinit(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_of_aliases),
		cmocka_unit_test(test_sizes_are_honoured),
		cmocka_unit_test(test_unsized_in_symtab),
		cmocka_unit_test(test_unsized_in_dynsym),
		cmocka_unit_test(test_which_symbols_count),
		cmocka_unit_test(test_arm_mapping_symbols),
		cmocka_unit_test(test_symtab_before_dynsym),
		cmocka_unit_test(test_no_symbols),
		cmocka_unit_test(test_plt_x86),
		cmocka_unit_test(test_plt_aarch64),
		cmocka_unit_test(test_damaged_image),
		cmocka_unit_test(test_index_against_scan),
		cmocka_unit_test(test_deep_nesting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
