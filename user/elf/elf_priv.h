/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share and nobody else may see: libelf's handle. */
#ifndef BPFPROF_ELF_ELF_PRIV_H
#define BPFPROF_ELF_ELF_PRIV_H

#include <gelf.h>

#include "base/mapped_file.h"
#include "elf/elf_file.h"

struct elf_file {
	Elf *elf; /* owned */
	struct mapped_file map; /* owned: what it reads, where that is mapped */
	GElf_Ehdr ehdr;
	size_t phdr_cnt;
	size_t shstrndx; /* 0: sections have no names */
	bool is_copied; /* what is asked for is read into memory, not mapped */
	uint64_t file_bytes; /* where it is copied */
	int fd; /* where it is copied: borrowed, as the Elf's */
};

/*
 * May libelf open the file? It makes 150 bytes of memory for each section that the headers claim,
 * as long as the file reaches that far, and a sparse file reaches far for nothing. True also for
 * what is no ELF file.
 */
bool elf_counts_are_sane(int fd);

/* The number of the section that has the names of the others; 0 when there is none, or one larger
 * than any linker makes: libelf would read all of it for the first name. */
size_t elf_names_section(Elf *elf);

/* The content of @scn as it is in the file; NULL without any, or when it is larger than @max_bytes:
 * what is not mapped is copied. Borrowed. */
Elf_Data *elf_section_bytes(Elf_Scn *scn, uint64_t max_bytes);

/* Name of section @shdr, "" when it has none. Borrowed from the image. */
static inline const char *elf_section_name(const struct elf_file *elf, const GElf_Shdr *shdr)
{
	const char *name = NULL;

	if (elf->shstrndx)
		name = elf_strptr(elf->elf, elf->shstrndx, shdr->sh_name);
	return name ? name : "";
}

#endif
