/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an ELF image keeps its call frame information, with or without section headers. Bytes are
 * read, not mapped: a file that somebody cuts short meanwhile is a short read and not a SIGBUS.
 */
#ifndef BPFPROF_ELF_CFI_SECTIONS_H
#define BPFPROF_ELF_CFI_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/segments.h"

/* A part of the image and the virtual address of its first byte; data NULL when it is absent. */
struct elf_bytes {
	const uint8_t *data; /* borrowed from the struct cfi_sections */
	size_t len;
	uint64_t vaddr;
};

enum { CFI_STUBS_MAX = 8 };

struct cfi_sections {
	struct Elf *elf; /* owned */
	struct elf_segments segments; /* of file_bytes that really are in the file */
	struct elf_bytes eh_frame;
	struct elf_bytes eh_frame_hdr; /* read only where no section header names .eh_frame */
	struct elf_bytes debug_frame; /* decompressed */
	/* eh_frame was found by PT_GNU_EH_FRAME: its length is unknown, its terminator ends it. */
	bool eh_frame_is_open;
	struct elf_bytes go_pclntab; /* .gopclntab */
	struct elf_bytes go_text; /* from .text on, where there is a go_pclntab */
	uint64_t text_vaddr; /* .text, the base of textrel pointers; 0 without section headers */
	/* .init, .fini and .plt*, code so short that between functions it would pass for padding;
	 * and .text of aarch64's vdso, which has none. */
	struct elf_bytes stubs[CFI_STUBS_MAX];
	size_t stubs_cnt;
	uint64_t got_vaddr; /* .got, the base of datarel pointers; 0 without */
	uint64_t entry_vaddr;
	uint16_t machine; /* EM_X86_64 or EM_AARCH64 */
	bool is_vdso; /* it came from memory */
};

/*
 * From a descriptor (borrowed; may be closed afterwards) or from memory (borrowed while @out is
 * used, as the vdso's). 0; -EBADMSG: not a 64-bit little-endian ELF file of these two machines;
 * -EFBIG: a section larger than any real one; -ENOMEM. An image without call frame information is
 * no error.
 */
int cfi_sections_open(int fd, struct cfi_sections *out);
int cfi_sections_from_memory(void *image, size_t len, struct cfi_sections *out);
void cfi_sections_deinit(struct cfi_sections *sections);

#endif
