/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small ELF images with the tables of a Go program, in all their layouts. Include it after cmocka.
 *
 *	main.main   [0x00, 0x40)   line 8
 *	  [0x00, 0x10)  main.go:10
 *	  [0x10, 0x20)  main.mid (line 18), called at 0x08      main.go:20
 *	  [0x20, 0x30)  main.leaf (line 28), called at 0x18     leaf.go:30
 *	  [0x30, 0x40)  main.go:12
 *	main.other  [0x40, 0x60)   without lines
 */
#ifndef BPFPROF_TESTS_GO_FIXTURE_H
#define BPFPROF_TESTS_GO_FIXTURE_H

#include <string.h>

#include "elf/gopclntab.h"
#include "elf_image.h"

enum {
	GO_TEXT = 0x401000,
	GO_DATA = 0x500000,
	GO_DATA_BYTES = 0x1000,

	/* In the data, .gopclntab first. */
	GO_NAMES_AT = 0x80,
	GO_CUTAB_AT = 0x180,
	GO_FILES_AT = 0x1a0,
	GO_PCTAB_AT = 0x200,
	GO_FUNCTAB_AT = 0x300,
	GO_FUNCTAB_1_2_AT = 0x10,
	GO_FUNCS_AT = 0x340,
	GO_PCLNTAB_BYTES = 0x800,
	GO_TREE_AT = 0x900,
	GO_MODULEDATA_AT = 0xa00,
	GO_DYNAMIC_AT = 0xc00,
	GO_RELA_AT = 0xd00,

	GO_NAME_MAIN = 1,
	GO_NAME_MID = 11,
	GO_NAME_LEAF = 20,
	GO_NAME_OTHER = 30,
};

struct go_fixture {
	enum go_version version;
	bool is_relocated; /* what an external linker makes of a position-independent program */
	bool has_no_sections, has_no_header_text, has_end_word, has_symtab;
	uint32_t tree_slot; /* of funcdata; 0: 3 */
	uint8_t data[GO_DATA_BYTES];
	size_t rela_cnt;
};

static inline void go_put(struct go_fixture *fix, size_t at, uint64_t value, size_t bytes)
{
	memcpy(fix->data + at, &value, bytes);
}

static inline void go_put_header(struct go_fixture *fix)
{
	static const uint32_t magics[] = {0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1};
	const uint64_t offsets[] = {GO_NAMES_AT, GO_CUTAB_AT, GO_FILES_AT, GO_PCTAB_AT,
				    GO_FUNCTAB_AT};
	size_t at = 24;

	go_put(fix, 0, magics[fix->version], 4);
	go_put(fix, 4, 0x08010000, 4);
	go_put(fix, 8, 2, 8);
	if (fix->version == GO_1_2) {
		go_put(fix, 56, GO_FILES_AT, 4); /* behind two functions and their end */
		return;
	}
	go_put(fix, 16, 2, 8);
	if (fix->version >= GO_1_18) {
		go_put(fix, at, fix->has_no_header_text ? 0 : GO_TEXT, 8);
		at += 8;
	}
	for (size_t i = 0; i < 5; i++)
		go_put(fix, at + i * 8, offsets[i], 8);
}

static inline void go_put_files(struct go_fixture *fix)
{
	memcpy(fix->data + GO_FILES_AT + 0x20, "main.go\0leaf.go", 16);
	if (fix->version == GO_1_2) {
		go_put(fix, GO_FILES_AT, 3, 4);
		go_put(fix, GO_FILES_AT + 4, GO_FILES_AT + 0x20, 4);
		go_put(fix, GO_FILES_AT + 8, GO_FILES_AT + 0x28, 4);
		return;
	}
	/* The unit's files are numbers 1 and 2 of the table. */
	go_put(fix, GO_CUTAB_AT + 4, 0x20, 4);
	go_put(fix, GO_CUTAB_AT + 8, 0x28, 4);
}

/* Where names, pc tables and struct _func count from. */
static inline uint32_t go_base(const struct go_fixture *fix, uint32_t base)
{
	return fix->version == GO_1_2 ? 0 : base;
}

static inline void go_put_func(struct go_fixture *fix, size_t index, uint32_t start, uint32_t name,
			       bool has_tables)
{
	bool is_new = fix->version >= GO_1_18;
	size_t at = GO_FUNCS_AT + index * 0x80, number = is_new ? 4 : 8;
	size_t functab = fix->version == GO_1_2 ? GO_FUNCTAB_1_2_AT : GO_FUNCTAB_AT;
	uint64_t entry = is_new ? start : GO_TEXT + start;
	uint32_t pctab = GO_PCTAB_AT - go_base(fix, GO_PCTAB_AT);
	uint32_t slot = fix->tree_slot ? fix->tree_slot : 3;

	go_put(fix, functab + index * 2 * number, entry, number);
	go_put(fix, functab + (index * 2 + 1) * number, at - go_base(fix, GO_FUNCTAB_AT), number);
	go_put(fix, functab + (index + 1) * 2 * number, (is_new ? 0 : GO_TEXT) + 0x60, number);
	go_put(fix, at, entry, number);
	at += number;
	go_put(fix, at, name + GO_NAMES_AT - go_base(fix, GO_NAMES_AT), 4);
	if (has_tables) {
		go_put(fix, at + 16, pctab + 0x10, 4);
		go_put(fix, at + 20, pctab + 0x20, 4);
		go_put(fix, at + 24, 3, 4);
	}
	at += 28;
	if (fix->version >= GO_1_16) {
		go_put(fix, at, 1, 4);
		at += 4;
	}
	if (fix->version >= GO_1_20) {
		go_put(fix, at, has_tables ? 8 : 48, 4);
		at += 4;
	}
	if (!has_tables)
		return;
	go_put(fix, at + 3, slot + 1, 1);
	go_put(fix, at + 4 + 8, pctab + 0x30, 4);
	at += 4 + 12;
	if (is_new) {
		for (uint32_t i = 0; i < slot; i++)
			go_put(fix, at + i * 4, UINT32_MAX, 4);
		go_put(fix, at + slot * 4, 0x10, 4);
	} else {
		at = (at + 7) & ~(size_t)7;
		go_put(fix, at + slot * 8, GO_DATA + GO_TREE_AT + 0x10, 8);
	}
}

static inline void go_put_tables(struct go_fixture *fix)
{
	/* Of files the first is number 0; before 1.16 it was 1. */
	const char *file =
		fix->version == GO_1_2 ? "\x04\x20\x02\x10\x01\x10" : "\x02\x20\x02\x10\x01\x10";

	memcpy(fix->data + GO_NAMES_AT + 1, "main.main\0main.mid\0main.leaf\0main.other", 40);
	memcpy(fix->data + GO_PCTAB_AT + 0x10, file, 7);
	memcpy(fix->data + GO_PCTAB_AT + 0x20, "\x16\x10\x14\x10\x14\x10\x23\x10", 9);
	memcpy(fix->data + GO_PCTAB_AT + 0x30, "\x00\x10\x02\x10\x02\x10\x03\x10", 9);
}

static inline void go_put_inlined(struct go_fixture *fix, size_t index, uint32_t name,
				  uint32_t parent, uint32_t call_line, uint32_t start_line)
{
	size_t at = GO_TREE_AT + 0x10;

	name += GO_NAMES_AT - go_base(fix, GO_NAMES_AT);
	if (fix->version == GO_1_20) {
		at += index * 16;
		go_put(fix, at + 4, name, 4);
		go_put(fix, at + 8, parent, 4);
		go_put(fix, at + 12, start_line, 4);
		return;
	}
	at += index * 20;
	go_put(fix, at + 8, call_line, 4);
	go_put(fix, at + 12, name, 4);
	go_put(fix, at + 16, parent, 4);
}

/* Word @index of moduledata: an address, which is a relocation's where there are any. */
static inline void go_put_word(struct go_fixture *fix, size_t index, uint64_t value)
{
	size_t at = GO_MODULEDATA_AT + index * 8, rela = GO_RELA_AT + fix->rela_cnt * 24;

	if (!fix->is_relocated) {
		go_put(fix, at, value, 8);
		return;
	}
	go_put(fix, rela, GO_DATA + at, 8);
	go_put(fix, rela + 8, R_X86_64_RELATIVE, 8);
	go_put(fix, rela + 16, value, 8);
	fix->rela_cnt++;
}

static inline void go_put_moduledata(struct go_fixture *fix)
{
	size_t gofunc = fix->version == GO_1_18 ? 38 : 40;

	go_put_word(fix, 0, GO_DATA);
	go_put_word(fix, 1, GO_DATA + GO_NAMES_AT);
	go_put_word(fix, 13, GO_DATA + GO_FUNCTAB_AT);
	go_put(fix, GO_MODULEDATA_AT + 14 * 8, 0x100, 8);
	go_put_word(fix, 22, GO_TEXT);
	if (fix->has_end_word) { /* more fields, then the table's end behind gofunc */
		gofunc += 2;
		go_put_word(fix, gofunc + 1, GO_DATA + GO_PCLNTAB_BYTES);
	}
	go_put_word(fix, gofunc, GO_DATA + GO_TREE_AT);
	go_put(fix, GO_DYNAMIC_AT, DT_RELA, 8);
	go_put(fix, GO_DYNAMIC_AT + 8, GO_DATA + GO_RELA_AT, 8);
	go_put(fix, GO_DYNAMIC_AT + 16, DT_RELASZ, 8);
	go_put(fix, GO_DYNAMIC_AT + 24, fix->rela_cnt * 24, 8);
}

/* Fill in the data from what has been set before. */
static inline void go_fixture_fill(struct go_fixture *fix)
{
	go_put_header(fix);
	go_put_files(fix);
	go_put_tables(fix);
	go_put_func(fix, 0, 0, GO_NAME_MAIN, true);
	go_put_func(fix, 1, 0x40, GO_NAME_OTHER, false);
	go_put_inlined(fix, 0, GO_NAME_MID, 0x08, 10, 18);
	go_put_inlined(fix, 1, GO_NAME_LEAF, 0x18, 20, 28);
	if (fix->version >= GO_1_18)
		go_put_moduledata(fix);
}

/* The image around the data; *owned* (image_deinit()). */
static inline struct elf_image go_fixture_image(const struct go_fixture *fix)
{
	Elf64_Shdr shdr = {.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC, .sh_addr = GO_DATA};
	const struct image_symbol symbol = {"main.main", GO_TEXT, 0x40, STT_FUNC, STB_GLOBAL, 2};
	struct elf_image image;
	uint64_t off;

	image_init(&image, EM_X86_64);
	if (fix->has_no_sections) {
		off = image_append(&image, fix->data, sizeof(fix->data));
	} else {
		/* The section is shorter than what is appended: more data follows it. */
		shdr.sh_size = GO_PCLNTAB_BYTES;
		image_section(&image, ".gopclntab", shdr, fix->data, sizeof(fix->data));
		off = image.shdrs[1].sh_offset;
	}
	if (fix->has_symtab) {
		image_text(&image, ".text", GO_TEXT, NULL, 0x60);
		image_symbols(&image, SHT_SYMTAB, &symbol, 1);
	}
	image_segment(&image, (Elf64_Phdr){.p_type = PT_LOAD,
					   .p_flags = PF_R | PF_W,
					   .p_offset = off,
					   .p_vaddr = GO_DATA,
					   .p_filesz = GO_DATA_BYTES,
					   .p_memsz = GO_DATA_BYTES});
	image_segment(&image, (Elf64_Phdr){.p_type = PT_DYNAMIC,
					   .p_offset = off + GO_DYNAMIC_AT,
					   .p_filesz = 48,
					   .p_vaddr = GO_DATA + GO_DYNAMIC_AT});
	image_finish(&image);
	if (fix->has_no_sections) {
		Elf64_Ehdr *ehdr = (Elf64_Ehdr *)image.bytes;

		ehdr->e_shoff = ehdr->e_shnum = ehdr->e_shstrndx = 0;
	}
	return image;
}

#endif
