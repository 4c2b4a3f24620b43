/* SPDX-License-Identifier: Apache-2.0 */
/* Small ELF64 images made by hand, for tests: headers first, then sections in the order they are
 * added. Include it after cmocka. */
#ifndef BPFPROF_TESTS_ELF_IMAGE_H
#define BPFPROF_TESTS_ELF_IMAGE_H

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"
#include "scratch.h"

enum {
	IMAGE_SECTIONS_MAX = 16,
	IMAGE_PHDRS_MAX = 8,
	IMAGE_BYTES_MAX = 64 * 1024,
};

struct elf_image {
	uint8_t *bytes; /* owned */
	size_t len;
	Elf64_Shdr shdrs[IMAGE_SECTIONS_MAX];
	unsigned int shdr_cnt;
	Elf64_Phdr phdrs[IMAGE_PHDRS_MAX];
	unsigned int phdr_cnt;
	char names[256];
	size_t names_len;
	uint16_t machine;
};

/* A symbol as the tests write it; @type and @bind as in elf.h. */
struct image_symbol {
	const char *name;
	uint64_t value, size;
	int type, bind;
	uint16_t shndx;
};

static inline void image_init(struct elf_image *image, uint16_t machine)
{
	*image = (struct elf_image){.machine = machine, .shdr_cnt = 1, .names_len = 1};
	image->bytes = calloc(1, IMAGE_BYTES_MAX);
	assert_non_null(image->bytes);
	image->len = sizeof(Elf64_Ehdr) + IMAGE_PHDRS_MAX * sizeof(Elf64_Phdr);
}

static inline uint64_t image_append(struct elf_image *image, const void *data, size_t len)
{
	uint64_t off;

	image->len = (image->len + 15) & ~(size_t)15;
	off = image->len;
	assert_true(off + len <= IMAGE_BYTES_MAX);
	if (len)
		memcpy(image->bytes + off, data, len);
	image->len += len;
	return off;
}

/* Add a section; its index. @shdr gives what the data does not. */
static inline unsigned int image_section(struct elf_image *image, const char *name, Elf64_Shdr shdr,
					 const void *data, size_t len)
{
	size_t name_len = strlen(name) + 1;

	assert_true(image->shdr_cnt < IMAGE_SECTIONS_MAX);
	assert_true(image->names_len + name_len <= sizeof(image->names));
	shdr.sh_name = (Elf64_Word)image->names_len;
	memcpy(image->names + image->names_len, name, name_len);
	image->names_len += name_len;
	shdr.sh_offset = image_append(image, data, len);
	if (!shdr.sh_size)
		shdr.sh_size = len;
	image->shdrs[image->shdr_cnt] = shdr;
	return image->shdr_cnt++;
}

/* A code section of @size bytes at @vaddr, filled with @data if that is not NULL. */
static inline unsigned int image_text(struct elf_image *image, const char *name, uint64_t vaddr,
				      const void *data, size_t size)
{
	static const uint8_t zeroes[4096];
	Elf64_Shdr shdr = {
		.sh_type = SHT_PROGBITS,
		.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		.sh_addr = vaddr,
	};

	assert_true(data || size <= sizeof(zeroes));
	return image_section(image, name, shdr, data ? data : zeroes, size);
}

/* A symbol table of @type with its string table; its index. */
static inline unsigned int image_symbols(struct elf_image *image, uint32_t type,
					 const struct image_symbol *symbols, size_t cnt)
{
	bool is_dynamic = type == SHT_DYNSYM;
	Elf64_Sym table[32] = {{0}};
	char strings[1024] = "";
	size_t len = 1;
	unsigned int strtab;

	assert_true(cnt < 32);
	for (size_t i = 0; i < cnt; i++) {
		const struct image_symbol *symbol = &symbols[i];
		size_t name_len = strlen(symbol->name) + 1;

		assert_true(len + name_len <= sizeof(strings));
		table[i + 1] = (Elf64_Sym){
			.st_name = (Elf64_Word)len,
			.st_info = ELF64_ST_INFO(symbol->bind, symbol->type),
			.st_shndx = symbol->shndx,
			.st_value = symbol->value,
			.st_size = symbol->size,
		};
		memcpy(strings + len, symbol->name, name_len);
		len += name_len;
	}
	strtab = image_section(image, is_dynamic ? ".dynstr" : ".strtab",
			       (Elf64_Shdr){.sh_type = SHT_STRTAB}, strings, len);
	return image_section(image, is_dynamic ? ".dynsym" : ".symtab",
			     (Elf64_Shdr){
				     .sh_type = type,
				     .sh_link = strtab,
				     .sh_entsize = sizeof(Elf64_Sym),
			     },
			     table, (cnt + 1) * sizeof(Elf64_Sym));
}

static inline void image_segment(struct elf_image *image, Elf64_Phdr phdr)
{
	assert_true(image->phdr_cnt < IMAGE_PHDRS_MAX);
	image->phdrs[image->phdr_cnt++] = phdr;
}

/* Write the headers. Call it once, last. */
static inline void image_finish(struct elf_image *image)
{
	Elf64_Ehdr ehdr = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = image->machine,
		.e_version = EV_CURRENT,
		.e_phoff = image->phdr_cnt ? sizeof(Elf64_Ehdr) : 0,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (Elf64_Half)image->phdr_cnt,
		.e_shentsize = sizeof(Elf64_Shdr),
	};

	ehdr.e_shstrndx =
		(Elf64_Half)image_section(image, ".shstrtab", (Elf64_Shdr){.sh_type = SHT_STRTAB},
					  image->names, sizeof(image->names));
	ehdr.e_shnum = (Elf64_Half)image->shdr_cnt;
	ehdr.e_shoff = image_append(image, image->shdrs, image->shdr_cnt * sizeof(image->shdrs[0]));
	memcpy(image->bytes, &ehdr, sizeof(ehdr));
	memcpy(image->bytes + sizeof(ehdr), image->phdrs, sizeof(image->phdrs));
}

/* An image of one section, opened; elf_file_free() it, then image_deinit(). */
static inline struct elf_file *image_with(struct elf_image *image, const char *name,
					  const void *data, size_t len)
{
	struct elf_file *elf;

	image_init(image, EM_X86_64);
	image_section(image, name, (Elf64_Shdr){.sh_type = SHT_PROGBITS}, data, len);
	image_finish(image);
	elf = elf_file_from_memory(image->bytes, image->len);
	assert_non_null(elf);
	return elf;
}

static inline void image_deinit(struct elf_image *image)
{
	free(image->bytes);
}

#endif
