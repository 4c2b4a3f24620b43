/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small ELF image in memory with code, .eh_frame and .debug_frame, to be broken by tests.
 *
 *	file offset	vaddr		what
 *	0		-		headers
 *	TEXT_OFF	TEXT_VADDR	code, executable
 *	EH_OFF		SECTION_VADDR	.eh_frame
 *	DEBUG_OFF	-		.debug_frame
 *	HDR_OFF		HDR_VADDR	.eh_frame_hdr
 */
#ifndef BPFPROF_TESTS_CFI_IMAGE_H
#define BPFPROF_TESTS_CFI_IMAGE_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "cfi_bytes.h"

enum {
	TEXT_OFF = 0x1000,
	TEXT_BYTES = 0x40000,
	TEXT_VADDR = 0x101000,
	EH_OFF = TEXT_OFF + TEXT_BYTES,
	DEBUG_OFF = EH_OFF + CFI_BYTES_MAX,
	HDR_OFF = DEBUG_OFF + CFI_BYTES_MAX,
	HDR_VADDR = SECTION_VADDR - 0x1000,
	IMAGE_BYTES = HDR_OFF + 0x100,
	SHDRS_AT = 0x400,
	NAMES_AT = 0x800,
};

enum image_section {
	IMAGE_EH_FRAME = 1,
	IMAGE_DEBUG_FRAME,
	IMAGE_FINI,
	IMAGE_NAMES,
	IMAGE_SECTIONS,
};

struct image {
	_Alignas(16) uint8_t data[IMAGE_BYTES];
};

static inline Elf64_Ehdr *image_ehdr(struct image *image)
{
	return (Elf64_Ehdr *)image->data;
}

static inline Elf64_Phdr *image_phdr(struct image *image, unsigned int index)
{
	return (Elf64_Phdr *)(image->data + sizeof(Elf64_Ehdr)) + index;
}

static inline Elf64_Shdr *image_shdr(struct image *image, enum image_section section)
{
	return (Elf64_Shdr *)(image->data + SHDRS_AT) + section;
}

static inline void image_sections(struct image *image)
{
	static const char names[] = "\0.eh_frame\0.debug_frame\0.fini\0.shstrtab";
	Elf64_Ehdr *ehdr = image_ehdr(image);

	ehdr->e_shoff = SHDRS_AT;
	ehdr->e_shentsize = sizeof(Elf64_Shdr);
	ehdr->e_shnum = IMAGE_SECTIONS;
	ehdr->e_shstrndx = IMAGE_NAMES;
	memcpy(image->data + NAMES_AT, names, sizeof(names));
	*image_shdr(image, IMAGE_EH_FRAME) = (Elf64_Shdr){.sh_name = 1,
							  .sh_type = SHT_NULL,
							  .sh_flags = SHF_ALLOC,
							  .sh_addr = SECTION_VADDR,
							  .sh_offset = EH_OFF,
							  .sh_addralign = 8};
	*image_shdr(image, IMAGE_DEBUG_FRAME) = (Elf64_Shdr){
		.sh_name = 11, .sh_type = SHT_NULL, .sh_offset = DEBUG_OFF, .sh_addralign = 8};
	*image_shdr(image, IMAGE_FINI) = (Elf64_Shdr){
		.sh_name = 24, .sh_type = SHT_NULL, .sh_flags = SHF_ALLOC | SHF_EXECINSTR};
	*image_shdr(image, IMAGE_NAMES) = (Elf64_Shdr){.sh_name = 30,
						       .sh_type = SHT_STRTAB,
						       .sh_offset = NAMES_AT,
						       .sh_size = sizeof(names),
						       .sh_addralign = 1};
}

/* Code and no call frame information yet. */
static inline void image_init(struct image *image, uint16_t machine)
{
	Elf64_Ehdr *ehdr = image_ehdr(image);

	memset(image, 0, sizeof(*image));
	memcpy(ehdr->e_ident, ELFMAG, SELFMAG);
	ehdr->e_ident[EI_CLASS] = ELFCLASS64;
	ehdr->e_ident[EI_DATA] = ELFDATA2LSB;
	ehdr->e_ident[EI_VERSION] = EV_CURRENT;
	ehdr->e_type = ET_DYN;
	ehdr->e_machine = machine;
	ehdr->e_version = EV_CURRENT;
	ehdr->e_ehsize = sizeof(Elf64_Ehdr);
	ehdr->e_phoff = sizeof(Elf64_Ehdr);
	ehdr->e_phentsize = sizeof(Elf64_Phdr);
	ehdr->e_phnum = 3;
	*image_phdr(image, 0) = (Elf64_Phdr){.p_type = PT_LOAD,
					     .p_flags = PF_R | PF_X,
					     .p_offset = TEXT_OFF,
					     .p_vaddr = TEXT_VADDR,
					     .p_filesz = TEXT_BYTES,
					     .p_memsz = TEXT_BYTES};
	*image_phdr(image, 1) = (Elf64_Phdr){.p_type = PT_LOAD,
					     .p_flags = PF_R,
					     .p_offset = EH_OFF,
					     .p_vaddr = SECTION_VADDR,
					     .p_filesz = CFI_BYTES_MAX,
					     .p_memsz = CFI_BYTES_MAX};
	image_sections(image);
}

static inline void image_eh_frame(struct image *image, const struct cfi_bytes *bytes)
{
	memcpy(image->data + EH_OFF, bytes->data, bytes->len);
	image_shdr(image, IMAGE_EH_FRAME)->sh_type = SHT_PROGBITS;
	image_shdr(image, IMAGE_EH_FRAME)->sh_size = bytes->len;
}

static inline void image_debug_frame(struct image *image, const struct cfi_bytes *bytes)
{
	memcpy(image->data + DEBUG_OFF, bytes->data, bytes->len);
	image_shdr(image, IMAGE_DEBUG_FRAME)->sh_type = SHT_PROGBITS;
	image_shdr(image, IMAGE_DEBUG_FRAME)->sh_size = bytes->len;
}

/* Take the section headers away; a program header leads to .eh_frame instead. */
static inline void image_strip_sections(struct image *image)
{
	uint8_t *hdr = image->data + HDR_OFF;
	int32_t delta = SECTION_VADDR - (HDR_VADDR + 4);

	image_ehdr(image)->e_shoff = 0;
	image_ehdr(image)->e_shnum = 0;
	image_ehdr(image)->e_shstrndx = 0;
	memcpy(hdr, (uint8_t[]){1, 0x1b, 0x03, 0x3b}, 4);
	memcpy(hdr + 4, &delta, sizeof(delta));
	*image_phdr(image, 2) = (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
					     .p_flags = PF_R,
					     .p_offset = HDR_OFF,
					     .p_vaddr = HDR_VADDR,
					     .p_filesz = 12,
					     .p_memsz = 12};
}

#endif
